"""The search by torch, on its CPU device, against the search without it and a full sort."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from linker import Dictionary, Linker  # noqa: E402
from linker.encoders import trainable  # noqa: E402
from linker.search import torch_index  # noqa: E402
from linker.search.hybrid import HybridGenerator  # noqa: E402
from linker.search.index import VectorIndex  # noqa: E402
from linker.search.torch_index import TorchIndex  # noqa: E402
from linker.training.pipeline import train  # noqa: E402

from .small import check_batches, found, matrix, sorted_fully  # noqa: E402

CPU = torch.device("cpu")
MENTIONS = ["breast cancers", "tumour", "haemophilia", "hepatitis B/C", "a cup of tea", "", "AIDS"]

pytestmark = pytest.mark.usefixtures("one_thread")


def by_torch(vectors: NDArray[Any]) -> TorchIndex:
    return TorchIndex(VectorIndex(vectors), CPU)


@given(st.data())
@settings(max_examples=60)
def test_a_search_is_a_full_sort_whatever_the_blocks(data: st.DataObject) -> None:
    dim, k = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 45))
    queries, names = (data.draw(matrix(st.integers(0, n), dim)) for n in (5, 40))
    among = np.flatnonzero(data.draw(arrays.arrays(bool, len(names))))
    blocks = {
        "_CELLS": data.draw(st.sampled_from([1, 7, 90, 10**6])),
        "_NAMES": data.draw(st.sampled_from([1, 3, 10**6])),
    }
    with mock.patch.multiple(torch_index, **blocks):
        assert found(by_torch(names).search(queries, k)) == sorted_fully(queries, names, k)
        made = by_torch(names.astype(np.float16))
        assert found(made.search(queries, k)) == sorted_fully(queries, names, k)
        assert found(made.search(queries, k, among)) == sorted_fully(queries, names, k, among)


@given(st.data())
@settings(max_examples=20)
def test_a_query_finds_the_same_in_any_batch(data: st.DataObject) -> None:
    check_batches(by_torch, data)


@pytest.fixture(scope="module")
def folder(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with vectors of the sample dictionary."""
    path = tmp_path_factory.mktemp("static") / "model"
    train(Dictionary.read(sample), encoder="static").save(path)
    return path


@pytest.fixture
def cpu_as_gpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices that were asked for; each is the CPU of torch."""
    asked: list[str] = []
    monkeypatch.setattr(trainable, "pick_device", lambda choice: asked.append(choice) or CPU)
    return asked


def answers(linker: Linker, **options: Any) -> list[Any]:
    """What a linker answers: ids in order, with scores that may differ by rounding."""
    return [
        (c.concept_id, c.matched_name, pytest.approx(c.score, abs=1e-5))
        for prediction in linker.link(MENTIONS, **options)
        for part in prediction.parts
        for c in part.candidates
    ]


def test_a_linker_answers_the_same(folder: Path, cpu_as_gpu: list[str], tmp_path: Path) -> None:
    linker = Linker.load(folder)
    generator = linker.generator
    assert isinstance(generator, HybridGenerator)
    before, here = answers(linker, k=10), generator.dense
    part = linker.generator.among(np.arange(len(linker.dictionary)) % 2 == 0)
    assert linker.use("fp32", "auto") == "fp32"
    assert generator.dense is here
    assert linker.use("auto", "cuda") == "fp32"  # numpy encodes these
    assert cpu_as_gpu == ["cuda"]
    assert isinstance(generator.dense, TorchIndex)
    assert answers(linker, k=10) == before
    halved = generator.among(np.arange(len(linker.dictionary)) % 2 == 0)
    assert isinstance(halved, HybridGenerator)
    assert halved.dense is generator.dense
    of_part, of_halved = (g.score(["cancer", "anemia"], 9) for g in (part, halved))
    assert of_halved.rows.tolist() == of_part.rows.tolist()
    linker.save(tmp_path / "model")
    loaded = Linker.load(tmp_path / "model")
    assert isinstance(loaded.generator.dense, VectorIndex)  # type: ignore[attr-defined]
    assert answers(loaded, k=10) == before
    linker.use("fp32", "cpu")
    assert generator.dense is here
    assert answers(linker, k=10) == before
