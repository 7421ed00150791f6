"""Whole trainings on a small dictionary: what they end with, how they are interrupted and resumed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linker import Dictionary  # noqa: E402
from linker.records import Activity  # noqa: E402
from linker.training.data import TrainingData  # noqa: E402

from .small import MENTIONS, Letters, Setup, a_setup, data_of, fit, trained  # noqa: E402

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


@pytest.mark.parametrize("mentions", [MENTIONS, None], ids=["mentions", "dictionary"])
def test_the_seed_decides(dictionary: Dictionary, mentions: list[tuple[str, str]] | None) -> None:
    runs = [
        trained(data_of(dictionary, mentions), a_setup(align=1, seed=seed), dropout=0.2)
        for seed in (0, 0, 1)
    ]
    assert runs[0] == runs[1]
    for part in range(4):
        assert runs[0][part] != runs[2][part]


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
