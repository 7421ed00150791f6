"""What is trained in which order, and on what: the choice of the encoder, the training, the refit."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from linker import Dictionary
from linker.options import preset
from linker.training import calibrating, trial
from linker.training.course import Course
from linker.training.plan import TrainingPlan
from linker.training.settings import RunSettings
from linker.types import GoldGroup, Mention

TRAIN = [Mention(f"m{i}", gold=(GoldGroup(("X:1",)),)) for i in range(300)]
DEV = [Mention("d", gold=(GoldGroup(("X:1",)),)), Mention("e")]


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    rows = [f"X:{i}\tname {i}\tother {i}" for i in range(300)]
    (tmp_path / "d.tsv").write_text("id\tname\tsynonyms\n" + "\n".join(rows) + "\n")
    return Dictionary.read(tmp_path / "d.tsv")


class Log:
    """Runs a course whose trainings and whose trial only leave a note."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, dictionary: Dictionary) -> None:
        self.fits: list[tuple[str, float, int, int, bool]] = []
        self.said: list[str] = []
        self.trials: list[trial.Trial[Any]] = []
        self.dictionary, self.choice = dictionary, trial.Choice(True, 4.0, ["line"])
        monkeypatch.setattr(trial, "choose", self.choose)
        monkeypatch.setattr(calibrating, "calibrated", lambda *_: None)

    def choose(self, _: Any, asked: trial.Trial[Any]) -> trial.Choice:
        self.trials.append(asked)
        return self.choice

    def fit(self, plan: TrainingPlan, dictionary: Any, mentions: Any, settings: Any, _: Any) -> Any:
        weight = plan.options.training.sparse_weight
        note = (plan.encoder, weight, len(dictionary.names), len(mentions), settings.refit)
        self.fits.append(note)
        linker = SimpleNamespace(history=[], best_epoch=0, calibration=None)
        linker.calibrated = lambda calibration: linker
        return linker

    def run(
        self, mentions: Any = (), dev: Any = (), *, refit: bool = False, compare: bool = True
    ) -> list[tuple[str, float, int, int, bool]]:
        options = preset("default", "static")
        plan = TrainingPlan("static", options, refit=refit, compare=compare)
        settings = RunSettings(say=self.said.append, on_trained=lambda _: self.said.append("made"))
        Course(
            plan,
            self.dictionary,
            mentions,
            dev,
            settings,
            self.fit,
            None,
            lambda *_: np.ones(1, bool),
        ).run()
        return self.fits


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, dictionary: Dictionary) -> Log:
    return Log(monkeypatch, dictionary)


def test_names_are_held_out_for_the_choice_and_learnt_in_the_end(log: Log) -> None:
    assert log.run() == [("static", 10, 540, 0, False), ("static", 40, 600, 0, False)]
    assert [asked.what for asked in log.trials] == ["names held out of the dictionary"]
    assert log.said == ["line", "encoder: static (with λ = 2, the weight of characters)", "made"]


def test_so_are_annotated_mentions(log: Log) -> None:
    assert log.run(TRAIN) == [("static", 10, 600, 225, False), ("static", 40, 600, 300, False)]
    assert [asked.what for asked in log.trials] == ["annotated mentions held out"]
    log.fits.clear()
    assert [note[2:4] for note in log.run(TRAIN[:99])] == [(540, 99), (600, 99)]


def test_with_development_mentions_nothing_is_held_out(log: Log) -> None:
    assert log.run(TRAIN, DEV) == [("static", 10, 600, 300, False), ("static", 40, 600, 300, False)]
    assert [asked.what for asked in log.trials] == ["development mentions"]


def test_a_refit_learns_the_development_mentions_too(log: Log) -> None:
    assert log.run(TRAIN, DEV, refit=True)[1:] == [
        ("static", 40, 600, 300, False),
        ("static", 40, 600, 302, True),
    ]
    assert log.said[-1] == "made"  # once, before the refit


def test_development_mentions_without_annotations_ask_nothing(log: Log) -> None:
    log.run((), DEV[1:])
    assert [asked.what for asked in log.trials] == ["names held out of the dictionary"]


def test_where_the_encoder_adds_nothing_characters_are_taken(log: Log) -> None:
    log.choice = trial.Choice(False, 8.0, ["line"])
    assert [note[0] for note in log.run(TRAIN, DEV, refit=True)] == ["static", "tfidf", "tfidf"]
    assert log.said == ["line", "encoder: tfidf (with static no more is found)", "made"]


def test_where_nothing_can_be_asked_the_encoder_is_taken(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "FEWEST", 61)
    assert [note[0] for note in log.run()] == ["static"]
    assert log.said[0] == (
        "encoder: static (fewer than 61 names can be held out to compare it with characters; "
        "--encoder tfidf takes these alone)"
    )
    assert not log.trials


def test_an_encoder_that_was_asked_for_is_not_tried(log: Log) -> None:
    assert log.run(compare=False) == [("static", 10, 600, 0, False)]
    assert log.said == ["made"]
