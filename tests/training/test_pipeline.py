"""What is trained in which order, and on what: the training, the ranker, the refit."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary
from linker.linking.options import preset
from linker.records import GoldGroup, Mention
from linker.training import fit_ranker, pipeline
from linker.training.plan import RunSettings, TrainingPlan

TRAIN = [Mention(f"m{i}", gold=(GoldGroup(("X:1",)),)) for i in range(30)]
DEV = [Mention("d", gold=(GoldGroup(("X:1",)),)), Mention("e")]


@dataclasses.dataclass
class Made:
    """As much of a linker as a training looks at."""

    history: list[Any]
    best_epoch: int
    ranker: Any = None

    def with_ranker(self, ranker: Any) -> Made:
        return dataclasses.replace(self, ranker=ranker)


class Log:
    """Runs a course whose trainings, and the fitting of the ranker, only leave a note."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, dictionary: Dictionary) -> None:
        self.notes: list[Any] = []
        self.said: list[str] = []
        self.epochs, self.dictionary = 0, dictionary
        monkeypatch.setattr(fit_ranker, "fitted", self.fitted)
        monkeypatch.setattr(pipeline, "without_ranker", self.fit)

    def fitted(self, linker: Any, dictionary: Dictionary, mentions: Any, dev: Any, say: Any) -> str:
        assert (dictionary, say) == (self.dictionary, self.said.append)
        assert linker.ranker is None
        self.notes.append(("ranker", len(mentions), len(dev)))
        return "a ranker"

    def fit(self, plan: Any, _: Any, mentions: Any, settings: Any, validate: Any = None) -> Any:
        epochs = plan.options.training.epochs
        self.notes.append(("fit", epochs, len(mentions), settings.refit, bool(validate)))
        phase = "refit" if settings.refit else "rank"
        history = [{"phase": "align", "epoch": 1}, {"phase": phase, "epoch": 1}]
        return Made(history, self.epochs)

    def run(self, mentions: Any = (), dev: Any = (), *, refit: bool = False) -> Any:
        options = preset("default", "dan")
        training = dataclasses.replace(options.training, epochs=9)
        options = dataclasses.replace(options, training=training)
        plan = TrainingPlan("dan", options, refit=refit)
        trained: list[Any] = []
        settings = RunSettings(say=self.said.append, on_trained=trained.append)
        linker = pipeline.run(plan, self.dictionary, mentions, dev, settings)
        assert [one.ranker for one in trained] == ["a ranker"]  # once, before the refit
        return linker


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Log:
    (tmp_path / "d.tsv").write_text("id\tname\nX:1\tfever\n")
    return Log(monkeypatch, Dictionary.read(tmp_path / "d.tsv"))


def test_it_is_trained_once_and_then_the_ranker(log: Log) -> None:
    linker = log.run(TRAIN, DEV)
    assert linker.ranker == "a ranker"
    assert log.notes == [("fit", 9, 30, False, True), ("ranker", 30, 2)]
    assert log.said == []


def test_a_refit_learns_the_development_mentions_too(log: Log) -> None:
    """The ranker is kept, and the epochs are as many as were best."""
    log.epochs = 3
    linker = log.run(TRAIN, DEV, refit=True)
    assert log.notes[1:] == [("ranker", 30, 2), ("fit", 3, 32, True, False)]
    assert log.said == ["refit: 3 epochs on the training and the development mentions"]
    assert linker.ranker == "a ranker"
    assert [record["phase"] for record in linker.history] == ["align", "rank", "refit"]
