"""What is trained in which order, and on what: the training, the ranker, the refit."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linker import Dictionary
from linker.linking.options import changed, preset
from linker.records import GoldGroup, Mention
from linker.training import pipeline
from linker.training.plan import RunSettings, TrainingPlan

TRAIN = [Mention(f"m{i}", gold=(GoldGroup(("X:1",)),)) for i in range(30)]
DEV = [Mention("d", gold=(GoldGroup(("X:1",)),)), Mention("e")]


@dataclasses.dataclass
class Made:
    """As much of a linker as a training looks at."""

    history: list[Any]
    best_epoch: int = 3
    ranker: Any = None

    def with_ranker(self, ranker: Any) -> Made:
        return dataclasses.replace(self, ranker=ranker)


@pytest.mark.parametrize("refit", [False, True])
def test_the_ranker_is_fitted_once_and_a_refit_learns_the_development_mentions_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refit: bool
) -> None:
    (tmp_path / "d.tsv").write_text("id\tname\nX:1\tfever\n")
    dictionary, notes, said = Dictionary.read(tmp_path / "d.tsv"), list[Any](), list[str]()

    def fitted(linker: Any, _: Dictionary, mentions: Any, dev: Any, __: Any) -> str:
        notes.append(("ranker", len(mentions), len(dev)))
        return "a ranker"

    def fit(plan: Any, _: Any, mentions: Any, settings: Any, validate: Any = None) -> Made:
        notes.append((plan.options.training.epochs, len(mentions), settings.refit, bool(validate)))
        phase = "refit" if settings.refit else "rank"
        return Made([{"phase": "align", "epoch": 1}, {"phase": phase, "epoch": 1}])

    monkeypatch.setattr(pipeline, "fit_ranker", SimpleNamespace(fitted=fitted))
    monkeypatch.setattr(pipeline, "without_ranker", fit)
    options = changed(preset("default", "dan"), {"training": {"epochs": 9}})
    settings = RunSettings(say=said.append, on_trained=lambda one: notes.append(one.ranker))
    plan = TrainingPlan("dan", options, refit=refit)
    linker = pipeline.run(plan, dictionary, TRAIN, DEV, settings)
    once = [(9, 30, False, True), ("ranker", 30, 2), "a ranker"]
    again = [(3, 32, True, False)]  # for as many epochs as were best
    assert notes == once + again * refit
    assert linker.ranker == "a ranker"
    phases = [record["phase"] for record in linker.history]
    assert phases == ["align", "rank"] + ["refit"] * refit
    assert len(said) == refit
