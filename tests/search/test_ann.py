"""The approximate index against exact search, as it is built, saved, loaded, copied and damaged."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from linker import LinkerError
from linker.io import persistence
from linker.search import ann
from linker.search.ann import IvfIndex, build, lists_for
from linker.search.index import Hits, IndexOptions, VectorIndex

NAMES, DIM = 3000, 16


def like_names(count: int = NAMES, seed: int = 0) -> NDArray[np.float16]:
    """Unit vectors of 60 groups."""
    random = np.random.default_rng(seed)
    middles = random.standard_normal((60, DIM))
    vectors = middles[random.integers(0, 60, count)] + 0.4 * random.standard_normal((count, DIM))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


VECTORS = like_names()
QUERIES = like_names(200, seed=1).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index; not to be changed."""
    folder = tmp_path_factory.mktemp("ann") / "index"
    build(folder, VECTORS, IndexOptions(kind="ivf"), QUERIES, "checksum")
    return folder


@pytest.fixture
def index(folder: Path) -> IvfIndex:
    return IvfIndex.load(folder, VECTORS, "checksum")


def share_found(
    index: IvfIndex, queries: NDArray[np.float32], k: int, among: NDArray[np.int64] | None = None
) -> float:
    """The share of the best names that are found; checks order and scores of what is found."""
    exact, hits = VectorIndex(VECTORS).search(queries, k, among), index.search(queries, k, among)
    found = 0
    for i in range(len(queries)):
        rows = hits.rows[hits.indptr[i] : hits.indptr[i + 1]]
        scores = hits.scores[hits.indptr[i] : hits.indptr[i + 1]]
        assert scores == pytest.approx(VECTORS[rows].astype(float) @ queries[i], abs=1e-5)
        assert (np.diff(scores) <= 0).all()
        assert len(set(rows.tolist())) == len(rows) <= k
        assert among is None or np.isin(rows, among).all()
        found += len(np.intersect1d(rows, exact.rows[exact.indptr[i] : exact.indptr[i + 1]]))
    assert (hits.rows.dtype, hits.scores.dtype) == (np.int32, np.float32)
    return found / len(exact.rows)


def test_the_recall_in_the_record_is_reached(index: IvfIndex) -> None:
    assert 0.97 <= index.record.recall <= 1
    assert share_found(index, QUERIES, ann.K) == pytest.approx(index.record.recall, abs=0.002)
    assert index.record.probes < index.record.lists == lists_for(NAMES) == 256


@pytest.mark.parametrize("size", [1, 40, 1000, 2500])
@pytest.mark.parametrize("few", [0, 10**6])  # below it all are scored
def test_among_some(index: IvfIndex, size: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ann, "_FEW", few)
    rows = np.sort(np.random.default_rng(0).choice(NAMES, size, replace=False))
    assert share_found(index, QUERIES, ann.K, rows) >= (1 if few else 0.97)


def test_the_lists_stay_on_the_disk(folder: Path) -> None:
    path, index = folder / "lists.npy", IvfIndex.load(folder, VECTORS, "checksum")
    maps = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(path) in line]
    assert len(maps) >= 2  # one for numpy, one for faiss
    copy = pickle.loads(pickle.dumps(index))
    assert copy.search(QUERIES, 5).rows.tolist() == index.search(QUERIES, 5).rows.tolist()


# ----------------------------------------------------------------------------- damaged indexes


def copied(folder: Path, target: Path) -> dict[str, NDArray[Any]]:
    arrays = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    target.mkdir()
    (target / "index.json").write_bytes((folder / "index.json").read_bytes())
    return arrays


Damage = Callable[[dict[str, Any]], None]
# what `persistence.load` turns into a message
DAMAGED = (LookupError, TypeError, ValueError)
DAMAGE: dict[str, Damage] = {
    "short lists": lambda a: a.update(lists=a["lists"][:-1]),
    "sizes that overflow": lambda a: a["sizes"].__setitem__([0, 1], 2**62),
    "fewer centroids": lambda a: a.update(centroids=a["centroids"][1:]),
    "a centroid of no number": lambda a: a["centroids"].fill(np.nan),
    "no codebooks": lambda a: a.update(codebooks=np.float32(1)),
    "lists that are missing": lambda a: a.pop("lists"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_arrays_that_do_not_fit(folder: Path, tmp_path: Path, name: str) -> None:
    arrays = copied(folder, tmp_path / "index")
    DAMAGE[name](arrays)
    persistence.save_arrays(tmp_path / "index", arrays)
    with pytest.raises(DAMAGED):
        IvfIndex.load(tmp_path / "index", VECTORS, "checksum")


def test_rows_that_are_not_there_are_found_by_a_search(folder: Path, tmp_path: Path) -> None:
    arrays = copied(folder, tmp_path / "index")
    start, width = 0, len(arrays["codebooks"]) // 2  # two parts share a byte
    for size in arrays["sizes"].tolist():  # the rows of each list stand behind its codes
        room = -(-size // 32) * 32
        rows = arrays["lists"][start + room * width : start + room * (width + 8)].view(np.int64)
        rows += 2**40
        start += room * (width + 8)
    persistence.save_arrays(tmp_path / "index", arrays)
    index = IvfIndex.load(tmp_path / "index", VECTORS, "checksum")
    with pytest.raises(LinkerError):
        index.search(QUERIES, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"probes": 257},
        {"probes": "8"},
        {"lists": 2**70},
        {"vectors": "another"},
        {"further": 1},
    ],
)
def test_records_that_do_not_fit(folder: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    persistence.save_arrays(tmp_path / "index", copied(folder, tmp_path / "index"))
    record = json.loads((folder / "index.json").read_text())
    (tmp_path / "index" / "index.json").write_text(json.dumps(record | change))
    with pytest.raises(DAMAGED):
        IvfIndex.load(tmp_path / "index", VECTORS, "checksum")


def test_recall_counts_equal_scores_alike() -> None:
    exact = Hits(np.array([0, 3, 3]), np.array([4, 7, 8]), np.array([0.9, 0.5, 0.5], np.float32))
    scores = np.array([0.9, 0.5, 0.4], np.float32)
    hits = Hits(np.array([0, 3, 3]), np.array([4, 9, 6], np.int32), scores)
    assert ann.recall(hits, exact) == pytest.approx(2 / 3)
