"""linker train without --encoder: characters and static vectors are both tried, and what is right more often is taken."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.encoders.wordpieces import WordPieces
from linker.errors import LinkerError
from linker.training import trial
from linker.training.trial import Choice

Run = Callable[..., Any]
NAMES = 1530  # of the sample dictionary
ADDED = "encoder: static (with λ = {}, the weight of characters)\n"
NOTHING = "encoder: tfidf (with static no more is found)\n"


@pytest.fixture
def common(sample: Path, tmp_path: Path) -> tuple[object, ...]:
    """A training in which nobody says which encoder."""
    return ("train", "--dict", sample, "-o", tmp_path / "model")


def rig(monkeypatch: pytest.MonkeyPatch, takes: bool, factor: float = 1.0) -> list[Any]:
    """Decide what a trial says; gives the linkers and the trials that it was asked of."""
    asked: list[Any] = []

    def choose(linker: Linker, questions: trial.Trial[Any]) -> Choice:
        asked.append((linker, questions))
        return Choice(takes, factor, ["what each got right"])

    monkeypatch.setattr(trial, "choose", choose)
    return asked


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def write(path: Path, rows: Sequence[str]) -> Path:
    path.write_text("id\tname\tsynonyms\n" + "\n".join(rows) + "\n", "utf-8")
    return path


# ------------------------------------------------------------------------------------------------------------- the choice


def test_what_is_tried_is_said(run: Run, common: tuple[object, ...], tmp_path: Path) -> None:
    result = run(*common)
    assert result.code == 0
    assert (
        "encoder: static (needs no download and no torch; compared with characters first)\n"
        in result.err
    )
    said = re.search(
        r"share linked right of (\d+) names held out of the dictionary \(half the weight is on the "
        r"(\d+) that are spelt unlike the other names of their concept\):\n"
        r"  characters +(0\.\d{3}) .*\n  static alone +0\.\d{3} .*\n  both +(0\.\d{3}) .*\n",
        result.err,
    )
    assert said, result.err
    count, unlike, characters, both = map(float, said.groups())
    assert count >= trial.FEWEST
    assert 0 < unlike < count
    model = Linker.load(tmp_path / "model")
    assert model.encoder == ("static" if both > characters else "tfidf")
    assert len(model.dictionary.names) == NAMES
    assert not (tmp_path / "model.training").exists()


def test_static_is_taken_where_it_wins_and_links_to_all_names(
    run: Run, common: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = rig(monkeypatch, True, 4.0)
    result = run(*common)
    assert "what each got right\n" + ADDED.format(2) in result.err
    model = Linker.load(tmp_path / "model")
    assert (model.encoder, len(model.dictionary.names)) == ("static", NAMES)
    assert model.generator.sparse_weight == 2  # type: ignore[attr-defined]
    assert model.options.training.sparse_weight == 40
    [(tried, questions)] = asked
    assert len(tried.dictionary.names) == len(questions.dictionary.names) < NAMES


def test_characters_are_taken_where_static_adds_nothing(
    run: Run, common: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig(monkeypatch, False, 4.0)
    assert "what each got right\n" + NOTHING in run(*common).err
    model = Linker.load(tmp_path / "model")
    assert (model.encoder, len(model.dictionary.names)) == ("tfidf", NAMES)
    assert model.options.encoder is None


def test_development_mentions_tell_where_there_are_any(
    run: Run,
    common: tuple[object, ...],
    sample: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The refit learns them too."""
    asked = rig(monkeypatch, True)
    lines = sample.with_name("sample_mentions.tsv").read_text("utf-8").splitlines()
    dev, train = tmp_path / "dev.tsv", tmp_path / "train.tsv"
    dev.write_text("\n".join(lines[:20]) + "\n")
    train.write_text("\n".join(lines[20:]) + "\n")
    given = (*common, "--mentions", train, "--dev", dev)
    alone = run(*given)
    learnt = Linker.load(tmp_path / "model").seen.mentions
    refitted = run(*given, "--refit")
    assert alone.code == refitted.code == 0
    assert "development mentions, protocol strict:\n" in alone.err
    assert {questions.what for _, questions in asked} == {"development mentions"}
    assert all(len(questions.right(tried)) == 20 for tried, questions in asked)
    everything = Linker.load(tmp_path / "model").seen.mentions
    normalize = Linker.load(tmp_path / "model").normalize
    assert learnt == {normalize(line.split("\t")[0]) for line in lines[20:]}
    assert everything == {normalize(line.split("\t")[0]) for line in lines}


def test_annotated_mentions_tell_where_there_are_enough(
    run: Run, common: tuple[object, ...], sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = rig(monkeypatch, True)
    mentions = sample.with_name("sample_mentions.tsv")
    assert run(*common, "--mentions", mentions).code == 0
    monkeypatch.setattr(trial, "FEWEST", 10)
    assert run(*common, "--mentions", mentions).code == 0
    (_, names), (tried, some) = asked
    assert names.what == "names held out of the dictionary"
    assert some.what == "annotated mentions held out"
    assert len(some.right(tried)) == 62 // 4
    assert len(some.mentions) == 62 - 62 // 4


def test_a_development_file_of_the_library_without_annotations_asks_nothing(sample: Path) -> None:
    from linker import Dictionary, Mention

    linker = Linker.train(
        Dictionary.read(sample), encoder=None, dev=[Mention("fever")], extend=False
    )
    assert linker.encoder in ("static", "tfidf")


@pytest.mark.parametrize(
    "asked", [("--encoder", "static"), ("--set", "static.dim=64"), ("--encoder", "tfidf")]
)
def test_who_asks_for_an_encoder_gets_it(
    run: Run, common: tuple[object, ...], tmp_path: Path, asked: tuple[str, ...]
) -> None:
    result = run(*common, *asked)
    assert result.code == 0
    assert "share linked right of" not in result.err
    assert Linker.load(tmp_path / "model").encoder == ("tfidf" if "tfidf" in asked else "static")


def test_the_same_seed_makes_the_same_model(
    run: Run, common: tuple[object, ...], tmp_path: Path
) -> None:
    one = run(*common, "--seed", "3")
    first = contents(tmp_path / "model")
    two = run(*common, "--seed", "3")
    assert (one.code, one.err) == (0, two.err)
    assert contents(tmp_path / "model") == first
    assert run(*common, "--seed", "4").err != one.err


@pytest.mark.parametrize(
    "flags",
    [("--epochs", "3"), ("--device", "cpu"), ("--loss", "marginal"), ("--top-k", "5")],
)
@pytest.mark.parametrize("encoder", [(), ("--encoder", "static")])
def test_flags_of_gradients_are_refused(
    run: Run, common: tuple[object, ...], flags: tuple[str, str], encoder: tuple[str, ...]
) -> None:
    result = run(*common, *encoder, *flags)
    message = "only an encoder with weights is trained, not static; choose --encoder transformer, dan or static-tuned, or do without"
    assert result.code == 2
    assert result.err.endswith(f"Error: {' '.join(flags)}: {message}\n")


# ------------------------------------------------------------------------------------- dictionaries that it cannot work with


@pytest.mark.parametrize(
    ("first", "other", "letters"),
    [
        ("болезнь", "недуг", "абвгдежзклмнопрстуфх"),
        ("病", "症", "一丁丂七丄丅丆万丈三上下丌不与丏丐丑丒专"),
    ],
)
def test_a_dictionary_in_another_script(
    run: Run, tmp_path: Path, first: str, other: str, letters: str
) -> None:
    """No word has a vector: a warning says so, and characters alone are chosen."""
    codes = [left + right for left in letters for right in letters]
    rows = [f"X:{i}\t{first} {code}\t{code}{code} {other}" for i, code in enumerate(codes)]
    path = write(tmp_path / "d.tsv", rows)
    result = run("train", "--dict", path, "-o", tmp_path / "m")
    assert result.code == 0
    assert re.search(r"(\d+) of \1 names have no word with a static vector", result.err)
    assert "  static alone   0.000" in result.err
    assert NOTHING in result.err
    assert Linker.load(tmp_path / "m").encoder == "tfidf"


@pytest.mark.parametrize(
    "rows",
    [
        [f"X:{i}\tfever {i}\t" for i in range(1000)],
        ["X:1\tfever\t"],
        ["X:1\tfever\t—|?!|fever fever"],
    ],
    ids=["a name for each of 1,000 concepts", "one name", "punctuation"],
)
def test_too_few_names_mean_that_nothing_is_asked(
    run: Run, tmp_path: Path, rows: list[str]
) -> None:
    result = run("train", "--dict", write(tmp_path / "d.tsv", rows), "-o", tmp_path / "m")
    assert result.code == 0
    assert (
        "encoder: static (fewer than 50 names can be held out to compare it with characters; "
        "--encoder tfidf takes these alone)\n" in result.err
    )
    assert Linker.load(tmp_path / "m").encoder == "static"


def test_a_dictionary_of_punctuation(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "d.tsv", ["X:1\t—\t?!"])
    result = run("train", "--dict", path, "-o", tmp_path / "m")
    assert result.code == 1
    assert "no name of the dictionary is left once normalised" in result.err


def test_a_shipped_table_that_is_missing_is_said_before_the_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shipped() -> None:
        raise LinkerError("install linker again")

    monkeypatch.setattr(WordPieces, "shipped", shipped)
    result = run("train", "--dict", "nowhere", "-o", tmp_path / "m")
    assert (result.code, result.err) == (1, "linker: install linker again\n")


# --------------------------------------------------------------------------------------------------------------- no torch


def test_the_default_needs_neither_torch_nor_transformers_nor_tokenizers(
    sample: Path, tmp_path: Path
) -> None:
    missing = (
        "torch",
        "transformers",
        "tokenizers",
        "huggingface_hub",
        "accelerate",
        "safetensors",
    )
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name.partition('.')[0] in {missing!r}:\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from linker.cli import main\n"
        "sys.argv = ['linker', *sys.argv[1:]]\n"
        "main()"
    )

    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
        )

    trained = call("train", "--dict", sample, "-o", tmp_path / "m")
    assert trained.returncode == 0, trained.stderr
    assert "share linked right of" in trained.stderr
    asked = call("train", "--dict", sample, "--encoder", "static", "-o", tmp_path / "m")
    assert asked.returncode == 0, asked.stderr
    (tmp_path / "mentions.txt").write_text("kidney failure\n")
    linked = call("link", "--model", tmp_path / "m", tmp_path / "mentions.txt")
    assert linked.returncode == 0, linked.stderr
    assert "MESH:" in linked.stdout
