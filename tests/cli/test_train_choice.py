"""linker train without --encoder: characters and dan are both tried, and what is right more often is taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linker import Linker, registry

for package in ("torch", "accelerate", "matplotlib", "gensim"):
    pytest.importorskip(package)

from linker.training import trial  # noqa: E402

Run = Callable[..., Any]
QUICK = """
words = {dim = 8, epochs = 1, buckets = 100, min_count = 1}
dan = {hidden = 8}
ground = {epochs = 1, held_out = 5}
training = {epochs = 1, dictionary_queries = 20, device = "cpu", top_k = 4, patience = 0}
"""

pytestmark = pytest.mark.usefixtures("one_thread", "no_accelerator_state")


@pytest.fixture
def common(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[object, ...]:
    """A quick training, in which nobody says which encoder."""
    monkeypatch.setattr(registry, "best", lambda: ("dan", "it knows more"))
    (tmp_path / "quick.toml").write_text(QUICK)
    return (
        "train",
        "--dict",
        sample,
        "--config",
        tmp_path / "quick.toml",
        "-o",
        tmp_path / "model",
    )


def rig(monkeypatch: pytest.MonkeyPatch, winner: str) -> None:
    """Let one encoder know all that is asked, with a λ four times that of the training, and the other one nothing."""
    weighted, given = Linker.weighted, {}

    def remember(linker: Linker, factor: float) -> Linker:
        given[id(made := weighted(linker, factor))] = factor
        return made

    def right(held: trial.HeldOut, linker: Linker) -> np.ndarray:
        return np.full(
            len(held.names), linker.encoder == winner and given.get(id(linker), 4.0) == 4.0
        )

    monkeypatch.setattr(Linker, "weighted", remember)
    monkeypatch.setattr(trial.HeldOut, "right", right)


def test_dan_is_taken_where_it_wins_and_links_to_all_names(
    run: Run, common: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig(monkeypatch, "dan")
    result = run(*common)
    assert result.code == 0
    assert (
        "names held out of the dictionary: 223; characters get 0 right, dan 223 (with λ multiplied by 4)\nencoder: dan\n"
        in result.err
    )
    model = Linker.load(tmp_path / "model")
    assert model.encoder == "dan"
    assert len(model.dictionary.names) == 1530  # all of the dictionary
    assert model.generator.sparse_weight > 1  # type: ignore[attr-defined]
    assert not (tmp_path / "model.training").exists()


def test_characters_are_taken_where_dan_does_not_win(
    run: Run, common: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig(monkeypatch, "tfidf")
    result = run(*common)
    assert (
        "characters get 223 right, dan 0 (with λ multiplied by 8)\nencoder: tfidf\n" in result.err
    )
    model = Linker.load(tmp_path / "model")
    assert (model.encoder, len(model.dictionary.names)) == ("tfidf", 1530)
    assert not (tmp_path / "model.training").exists()


def test_too_few_synonyms_mean_characters(
    run: Run, common: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "FEWEST", 224)
    result = run(*common)
    assert (
        "encoder: tfidf (fewer than 224 names can be held out to compare it with dan; --encoder dan trains dan anyway)\n"
        in result.err
    )
    assert Linker.load(tmp_path / "model").encoder == "tfidf"


@pytest.mark.parametrize("refit", [False, True])
def test_development_mentions_tell_where_there_are_any(
    run: Run, common: tuple[object, ...], sample: Path, tmp_path: Path, refit: bool
) -> None:
    mentions = sample.with_name("sample_mentions.tsv")
    result = run(
        *common, "--mentions", mentions, "--dev", mentions, *(["--refit"] if refit else [])
    )
    assert result.code == 0
    assert "development mentions: " in result.err
    model = Linker.load(tmp_path / "model")
    assert len(model.dictionary.names) > 1530  # with the mentions


@pytest.mark.parametrize(
    "asked", [("--encoder", "dan"), ("--epochs", "1"), ("--set", "dan.hidden=4")]
)
def test_who_asks_for_dan_gets_it(
    run: Run, common: tuple[object, ...], tmp_path: Path, asked: tuple[str, ...]
) -> None:
    result = run(*common, *asked)
    assert "held out of the dictionary" not in result.err
    assert Linker.load(tmp_path / "model").encoder == "dan"


def test_an_interrupted_comparison_goes_on_to_the_same_model(
    run: Run, common: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def contents() -> dict[str, bytes]:
        return {
            str(path.relative_to(tmp_path)): path.read_bytes()
            for path in (tmp_path / "model").rglob("*")
            if path.is_file()
        }

    rig(monkeypatch, "dan")
    assert run(*common).code == 0
    whole = contents()
    with monkeypatch.context() as patch:
        patch.setattr(trial, "compare", lambda *_: 1 / 0)
        with pytest.raises(AssertionError):  # what the fixture says of a failure that is not ours
            run(*common)
    assert (tmp_path / "model.training").is_dir()
    result = run(*common, "--resume")
    assert result.code == 0
    assert "names held out of the dictionary: 223" in result.err
    assert contents() == whole
