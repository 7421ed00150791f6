"""Whole trainings on a small dictionary: what they end with, how they are interrupted and resumed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linker import Dictionary  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.records import Activity  # noqa: E402
from linker.search.hybrid import HybridGenerator  # noqa: E402
from linker.search.index import Floats  # noqa: E402
from linker.training.data import TrainingData  # noqa: E402
from linker.training.encoder import Validate  # noqa: E402

from .small import MENTIONS, Letters, Plain, Setup, a_setup, data_of, fit, read, trained  # noqa: E402

HALF = 2**-12  # the most that half precision moves a number below 1

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_generator_has_trained_weights_and_indexes_mentions_too(dictionary: Dictionary) -> None:
    data = data_of(dictionary)
    generator, history = fit(Letters(dropout=0.2), data, a_setup())
    texts = list(data.indexed.table.texts)
    assert texts[-5:] == [
        "burkitts",
        "lymph tumor",
        "a fever",
        "hay allergy",
        "viral illness",
    ]  # "mass" is one of its names
    assert generator.table is data.indexed.table
    assert generator.encoder.encode(texts) == pytest.approx(generator.vectors, abs=HALF)
    assert (generator.vectors == generator.vectors.astype(np.float16)).all()
    assert not generator.encoder.training  # type: ignore[attr-defined]
    assert generator.sparse_weight == pytest.approx(history[-1]["sparse_weight"] / 20)


def test_bf16_is_for_training_and_what_is_kept_is_made_in_fp32(dictionary: Dictionary) -> None:
    data, encoder = data_of(dictionary), Letters()
    judged: list[Floats] = []

    def validate(generator: HybridGenerator) -> dict[str, float]:
        judged.append(generator.vectors)
        return {"dev_acc1": 0.0}

    generator, _ = fit(encoder, data, a_setup(epochs=1, precision="bf16"), validate)
    exact = encoder.encode(list(data.indexed.table.texts))
    assert encoder.precision == "fp32"
    assert generator.vectors == pytest.approx(exact, abs=HALF)
    assert HALF < np.abs(judged[0] - exact).max() < 0.05


@pytest.mark.parametrize(
    ("length", "published", "expected"), [(1.0, False, 20.0), (3.0, False, 1.0), (1.0, True, 1.0)]
)
def test_an_encoder_without_weights_is_used_as_it_is(
    dictionary: Dictionary,
    caplog: pytest.LogCaptureFixture,
    length: float,
    published: bool,
    expected: float,
) -> None:
    data, encoder = data_of(dictionary), Plain(length)
    with caplog.at_level(logging.WARNING):
        setup = a_setup(sparse_weight=0.5, published=published)
        generator, history = fit(encoder, data, setup)
    assert not caplog.records
    assert history == []
    assert generator.sparse_weight == 0.5 / expected
    exact = encoder.encode(list(data.indexed.table.texts))
    assert generator.vectors.tolist() == exact.astype(np.float16).astype(np.float32).tolist()


def test_mentions_that_give_no_query_are_refused_before_any_work(dictionary: Dictionary) -> None:
    seen: list[Any] = []
    setup = a_setup(align=1).to(on_event=seen.append, on_activity=seen.append)
    with pytest.raises(LinkerError):
        fit(Letters(), data_of(dictionary, [("unheard of", "D:99")]), setup)
    assert seen == []


def test_one_concept_with_one_name(tmp_path: Path) -> None:
    one = read("D:0\tfever\t\t", tmp_path)
    assert fit(Letters(), data_of(one, None), a_setup(align=1))[1] == []
    _, history = fit(Letters(), data_of(one, [("a fever", "D:0")]), a_setup(align=1))
    assert [record["loss"] for record in history] == [
        0,
        0,
    ]  # one candidate is right for sure; there are no two names to align
    # nothing is to be trained
    assert fit(Letters(), data_of(one, None), a_setup(align=1, epochs=0))[1] == []


@pytest.mark.parametrize("mentions", [MENTIONS, None], ids=["mentions", "dictionary"])
def test_the_seed_decides(dictionary: Dictionary, mentions: list[tuple[str, str]] | None) -> None:
    runs = [
        trained(data_of(dictionary, mentions), a_setup(align=1, seed=seed), dropout=0.2)
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1]
    for part in range(4):
        assert runs[0][part] != runs[2][part]


def judged(accuracies: Sequence[float], kept: list[tuple[list[list[float]], float]]) -> Validate:
    """Says what it is told of the epochs, and keeps the generators."""

    def validate(generator: HybridGenerator) -> Mapping[str, float]:
        kept.append((generator.vectors.tolist(), generator.sparse_weight))
        return {"dev_acc1": accuracies[len(kept) - 1], "dev_acc5": 1.0}

    return validate


@pytest.mark.parametrize(
    ("options", "epochs", "chosen"),
    [
        ({}, 4, 1),  # the first of two that are equally good
        ({"published": True}, 4, 3),
        ({"patience": 1}, 3, 1),
        ({"patience": 2}, 4, 1),
    ],
)
def test_the_best_epoch_is_kept(
    dictionary: Dictionary, options: dict[str, Any], epochs: int, chosen: int
) -> None:
    kept: list[tuple[list[list[float]], float]] = []
    setup = a_setup(**{"epochs": 4, "patience": 0} | options)
    generator, history = fit(
        Letters(), data_of(dictionary), setup, judged([0.2, 0.9, 0.5, 0.9], kept)
    )
    assert [(record["dev_acc1"], record["dev_acc5"]) for record in history] == [
        (accuracy, 1.0) for accuracy in [0.2, 0.9, 0.5, 0.9][:epochs]
    ]
    scale = 1 if options.get("published") else 20
    assert [record["sparse_weight"] / scale for record in history] == [w for _, w in kept]
    assert len(history) == len(kept) == epochs
    assert (generator.vectors.tolist(), generator.sparse_weight) == kept[chosen]


class Stop(Exception):
    """What an interruption is here."""


def interrupted(data: TrainingData, setup: Setup, epoch: int, **encoder: Any) -> None:
    """Train until the record of this number (from 1) is reported."""
    records: list[object] = []

    def on_event(record: object) -> None:
        records.append(record)
        if len(records) == epoch:
            raise Stop

    with pytest.raises(Stop):
        fit(Letters(**encoder), data, setup.to(on_event=on_event))


def count_steps(activities: Sequence[Activity]) -> int:
    """The optimizer steps among what was reported."""
    return sum(", loss " in activity.at for activity in activities)


@pytest.mark.parametrize(("epoch", "left"), [(1, 6), (2, 4), (4, 0)])
def test_what_was_interrupted_ends_as_what_was_left_alone(
    dictionary: Dictionary, tmp_path: Path, epoch: int, left: int
) -> None:
    """Of four epochs of two steps, two of each phase."""
    data = data_of(dictionary)
    setup = a_setup(align=2, checkpoints=tmp_path / "c", clip=1.0, warmup=0.2)
    whole = trained(data, setup.to(checkpoints=None), dropout=0.2)
    interrupted(data, setup, epoch, dropout=0.2)
    records, activities = list[Any](), list[Activity]()
    resumed = setup.to(resume=True, on_event=records.append, on_activity=activities.append)
    assert trained(data, resumed, dropout=0.2) == whole
    assert [record["phase"] for record in records] == ["align", "align", "rank", "rank"]
    assert count_steps(activities) == left


@pytest.mark.parametrize(
    ("epoch", "changes", "message"),
    [
        (3, {"seed": 1}, r"training\.seed"),
        (1, {"precision": "bf16"}, r"training\.precision"),
        (1, {"align": 3}, r"align\.epochs, epochs"),
    ],
)
def test_other_options_refuse_to_resume(
    dictionary: Dictionary, tmp_path: Path, epoch: int, changes: dict[str, Any], message: str
) -> None:
    data = data_of(dictionary)
    interrupted(data, a_setup(align=2, checkpoints=tmp_path), epoch)
    other = a_setup(**{"align": 2, "checkpoints": tmp_path, "resume": True} | changes)
    with pytest.raises(LinkerError, match=message):
        fit(Letters(), data, other)


def test_another_phase_goes_on_from_the_alignment(dictionary: Dictionary, tmp_path: Path) -> None:
    data, other = data_of(dictionary), data_of(dictionary, MENTIONS[1:])
    setup = a_setup(align=2, checkpoints=tmp_path)
    fit(Letters(), data, setup)
    activities: list[Activity] = []
    refit = setup.to(resume=True, refit=True, on_activity=activities.append)
    weights, sparse_weight, vectors, history = trained(other, refit)
    expected = trained(other, a_setup(align=2))
    assert (weights, sparse_weight, vectors) == expected[:3]
    assert [record["phase"] for record in history] == ["align", "align", "refit", "refit"]
    assert count_steps(activities) == 4  # none of them aligns


def test_training_anew_forgets_all_checkpoints(dictionary: Dictionary, tmp_path: Path) -> None:
    data = data_of(dictionary)
    fit(Letters(), data, a_setup(align=2, checkpoints=tmp_path))
    setup = a_setup(align=2, checkpoints=tmp_path, top_k=4)
    interrupted(data, setup, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["align"]
    assert trained(data, setup.to(resume=True)) == trained(data, a_setup(align=2, top_k=4))
