"""What is trained in which order, and on what: the training, the ranker, the refit."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linker import Dictionary, Linker
from linker.evaluation import protocols
from linker.linking.options import changed, preset
from linker.linking.ranker import Ranker
from linker.records import GoldGroup, Mention
from linker.training import pipeline
from linker.training import plan as plans
from linker.training.fit_ranker import RankerLists
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
def test_the_report_comes_before_anything_learns_the_development_mentions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, refit: bool
) -> None:
    (tmp_path / "d.tsv").write_text("id\tname\nX:1\tfever\n")
    dictionary, notes, said = Dictionary.read(tmp_path / "d.tsv"), list[Any](), list[str]()

    def training_lists(_: Any, __: Dictionary, mentions: Any, ___: Any) -> RankerLists:
        return RankerLists(described=[f"{len(mentions)} training"])

    def development_lists(_: Any, dev: Any) -> RankerLists:
        return RankerLists(described=[f"{len(dev)} development"])

    def fitted(lists: RankerLists, start: Ranker, _: int, __: Any) -> Ranker:
        notes.append(("ranker", *lists.described))
        return dataclasses.replace(start, provenance={"fitted_to": [*lists.described]})

    def fit(plan: Any, _: Any, mentions: Any, settings: Any, validate: Any = None) -> Made:
        notes.append((plan.options.training.epochs, len(mentions), settings.refit, bool(validate)))
        phase = "refit" if settings.refit else "rank"
        return Made([{"phase": "align", "epoch": 1}, {"phase": phase, "epoch": 1}])

    functions = (training_lists, development_lists, fitted)
    fake = SimpleNamespace(**{function.__name__: function for function in functions})
    monkeypatch.setattr(pipeline, "fit_ranker", fake)
    monkeypatch.setattr(pipeline, "without_ranker", fit)
    options = changed(preset("default", "dan"), {"training": {"epochs": 9}})
    settings = RunSettings(
        say=said.append, on_trained=lambda one: notes.append(one.ranker.provenance["fitted_to"])
    )
    plan = TrainingPlan("dan", options, refit=refit)
    linker = pipeline.run(plan, dictionary, TRAIN, DEV, settings)
    once = [(9, 30, False, True), ("ranker", "30 training"), ["30 training"]]
    # for as many epochs as were best
    again = [("ranker", "30 training", "2 development"), (3, 32, True, False)]
    assert notes == once + again * refit
    learnt = ["30 training"] + ["2 development"] * refit
    assert linker.ranker is not None
    assert linker.ranker.provenance == {"fitted_to": learnt}
    phases = [record["phase"] for record in linker.history]
    assert phases == ["align", "rank"] + ["refit"] * refit
    assert len(said) == 1 + 2 * refit


# ------------------------------------------------------ labels of development mentions are not learnt

WORDS = ("fever", "gout", "stroke", "asthma", "measles", "mumps", "rabies", "scurvy", "flu", "tic")


def acc1(linker: Linker, mentions: list[Mention]) -> float:
    """The share of the mentions whose first answer is right."""
    ranks = [outcome.rank for outcome in protocols.strict(linker, mentions, 20)]
    return ranks.count(1) / len(ranks)


def test_wrong_labels_of_development_mentions_gain_nothing(tmp_path: Path) -> None:
    rows = ["id\tname", *(f"X:{place}\t{word} disease" for place, word in enumerate(WORDS))]
    (tmp_path / "d.tsv").write_text("\n".join(rows) + "\n")
    dictionary, reported = Dictionary.read(tmp_path / "d.tsv"), list[Linker]()
    settings = RunSettings(on_trained=reported.append)
    names = (f"a {WORDS[place % 10]} disease {place}" for place in range(1000))
    wrong = [Mention(name, gold=()) for name in names]  # all of them have a concept
    plan = plans.make("tfidf")
    without = pipeline.run(plan, dictionary)
    kept = pipeline.run(plan, dictionary, (), wrong, settings)
    refit = pipeline.run(dataclasses.replace(plan, refit=True), dictionary, (), wrong, settings)
    accuracies = [acc1(linker, wrong) for linker in (without, kept, *reported)]
    assert accuracies == [0, 0, 0, 0]
    assert acc1(refit, wrong) > 0.5  # which has learnt them
