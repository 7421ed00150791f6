"""linker words, and linker train with word vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gensim")
pytest.importorskip("torch")

from linker import Linker
from linker.encoders.words import CONCEPT, NAME, WordVectors

from .conftest import typed

Run = Callable[..., Any]

NAMES = "id\tname\tsynonyms\nD1\tbreast neoplasms\tbreast cancer|mammary tumor\nD2\tfever\tpyrexia|high temperature|fevers\n"
TEXT = "A high fever.\nBreast cancer and fever; no breast cancer.\n" * 5
SMALL = ("--set", "words.dim=8", "--set", "words.min_count=1", "--set", "words.epochs=1")
FEW = typed(
    "--set dan.cca=false --set dan.hidden=8 --set ground.epochs=1 --set training.epochs=1 "
    "--device cpu"
)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def dan(run: Run, folder: Path) -> Run:
    """Train a `dan` on the names of the folder, into m."""
    given = ("train", "--dict", folder / "names.tsv", "--encoder", "dan", "-o", folder / "m")
    return lambda *options: run(*given, *options)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "names.tsv").write_text(NAMES)
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "v.txt").write_text("3 2\nfever 1 0\ncold 0 1\nbreast 2 2\n")
    return tmp_path


def test_training_on_text(run: Run, folder: Path) -> None:
    done = run("words", "train", folder / "text.txt", *SMALL, "-o", folder / "w")
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith(f"words: {folder / 'w'} (7 words, 8 components)\n")
    quiet = run("words", "train", folder / "text.txt", *SMALL, "-o", folder / "w", "-q")
    assert quiet == (0, "", "")
    assert {*WordVectors.read(folder / "w").words} == {*typed("a high fever breast cancer and no")}


def test_names_and_concepts_among_the_words(run: Run, folder: Path) -> None:
    train = ("words", "train", folder / "text.txt", "--set", "words.tokens=concepts")
    given = ("--dict", folder / "names.tsv", *SMALL)
    assert run(*train, *given, "-o", folder / "w").code == 0
    found = set(WordVectors.read(folder / "w").words)
    assert {NAME + "breast cancer", CONCEPT + "D1", "mammary"} <= found


def test_converting_a_file_and_keeping_what_a_dictionary_needs(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linker.cli.words.FREQUENT", 0)
    names = ("--dict", folder / "names.tsv")
    for options, kept in (((), ["fever", "cold", "breast"]), (names, ["fever", "breast"])):
        assert run("words", "convert", folder / "v.txt", *options, "-o", folder / "w").code == 0
        assert list(WordVectors.read(folder / "w").words) == kept


@pytest.mark.parametrize(("words", "dim"), [(SMALL, 8), (("--words", "v.txt"), 2)])
def test_training_with_words(
    run: Run, dan: Run, folder: Path, words: tuple[str, ...], dim: int
) -> None:
    done = dan(*(str(folder / w) if w == "v.txt" else w for w in words), *FEW)
    assert done.code == 0, done.err
    assert "encoder: dan, trained on cpu" in done.err
    encoder = Linker.load(folder / "m").generator.encoder  # type: ignore[attr-defined]
    assert encoder.dim == dim
    (folder / "mentions.txt").write_text("breast tumor\n")
    linked = run("link", folder / "mentions.txt", "--model", folder / "m", "-k", 1)
    assert linked.out.splitlines()[1].split("\t")[2] == "D1"
