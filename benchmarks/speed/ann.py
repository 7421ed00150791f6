"""Approximate indexes of a million vectors: how many queries a second, and what they find.

python benchmarks/speed/ann.py [--names N] [--usearch]

Writes results/ann.json. The names are those of MEDIC, the Disease Ontology and HPO, recombined up
to N; their vectors are those of the default encoder (`static`) made for MEDIC. The queries are
names with one slip. All indexes use one thread, and times are those of the processor, so that
other work on the machine counts little. Every index proposes names that are scored again with
their float16 vectors, except where the result says otherwise; recall is that of the 20 best names,
where equal products count the same. Then linker's own index is made, and searched within random
parts of the names and within parts of similar names.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.lib import results
from benchmarks.lib.data import medic
from benchmarks.lib.recombined import concepts, perturbed
from linker.candidates import ann
from linker.candidates.ann import IvfIndex, K
from linker.candidates.index import Floats, Hits, IndexOptions, VectorIndex, recall
from linker.encoders.base import EncoderContext
from linker.options import preset
from linker.registry import load
from linker.text.normalize import normalize

QUERIES = 300
FAISS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    # index -> lists that are read, or the breadth of the search in a graph; names that are proposed
    "IVF4096,SQ8": ((128, 512, 1024), (30,)),
    "IVF4096,PQ64x4fsr": ((128, 512, 1024), (100, 200, 400)),
    "IVF4096,PQ32x4fsr": ((512, 1024), (200, 400)),
    "IVF4096,RaBitQfs": ((512, 1024), (200, 400)),
    "HNSW16_SQ8": ((64, 256, 1024), (30,)),
}
PARTS = (0.05, 0.2, 0.5)  # shares of the names that a search is restricted to


def main() -> None:
    """Measure all indexes, and save what was found."""
    parser = results.parser(__doc__)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--usearch", action="store_true", help="measure usearch too, if installed")
    given = parser.parse_args()
    faiss.omp_set_num_threads(1)
    vectors, queries = encoded(given.names)
    exact = VectorIndex(vectors).search(queries, K)
    worst = exact.scores[exact.indptr[1:] - 1]
    figures: dict[str, Any] = {"names": len(vectors), "dim": vectors.shape[1], "k": K}
    figures["exact"] = {"queries_per_second": rate(lambda: VectorIndex(vectors).search(queries, K))}
    figures["linker"] = by_linker(vectors, queries, exact)
    rows = figures["indexes"] = []
    for spec in FAISS:
        rows += by_faiss(spec, vectors, queries, worst)
        results.save("ann", figures, seed=0)  # what was found is kept where the rest is stopped
    if given.usearch:
        rows += by_usearch(vectors, queries, worst)
        results.save("ann", figures, seed=0)


def encoded(count: int) -> tuple[NDArray[np.float16], Floats]:
    """The vectors of so many names, and those of the queries."""
    texts = (normalize(name) for _, names in concepts(count) for name in names)
    names = list(dict.fromkeys(filter(None, texts)))
    table, kind = medic("2017").table(normalize), load("static")
    options = preset("default", "static").encoder
    encoder = kind.create(EncoderContext(options, table, None, 0))
    steps = range(0, len(names), 50_000)
    vectors = [encoder.encode(names[i : i + 50_000]).astype(np.float16) for i in steps]
    chosen = np.random.default_rng(0).choice(len(names), QUERIES, replace=False)
    return np.concatenate(vectors), encoder.encode(perturbed([names[i] for i in chosen.tolist()]))


def rate(search: Callable[[], Any]) -> float:
    """Queries a second of the processor's time, for a function that answers all of them."""
    start = time.process_time()
    search()
    return round(QUERIES / (time.process_time() - start), 1)


def share(vectors: NDArray[Any], queries: Floats, rows: NDArray[Any], worst: Floats) -> float:
    """The recall of proposed names, (queries, names), after they are scored again."""
    right = 0
    for query, proposed, least in zip(queries, rows, worst, strict=True):
        scores = vectors[proposed[proposed >= 0]].astype(np.float32) @ query
        right += min(K, int((scores >= least - 1e-5).sum()))
    return round(right / (K * len(queries)), 4)


def by_faiss(
    spec: str, vectors: NDArray[Any], queries: Floats, worst: Floats
) -> Iterator[dict[str, Any]]:
    """A row for each setting of one index of faiss."""
    index = faiss.index_factory(vectors.shape[1], spec, faiss.METRIC_INNER_PRODUCT)
    start = time.process_time()
    if hasattr(index, "cp"):
        index.cp.niter, index.cp.spherical = 8, True
    sample = np.random.default_rng(0).choice(
        len(vectors), min(len(vectors), 163_840), replace=False
    )
    index.train(vectors[np.sort(sample)].astype(np.float32))
    for i in range(0, len(vectors), 65_536):
        index.add(vectors[i : i + 65_536].astype(np.float32))
    seconds, settings, proposed = time.process_time() - start, *FAISS[spec]
    size = len(faiss.serialize_index(index)) / len(vectors)
    for setting, number in itertools.product(settings, proposed):
        if hasattr(index, "hnsw"):
            index.hnsw.efSearch = setting
        else:
            index.nprobe = setting
        rows = index.search(queries, number)[1]
        yield {
            "index": f"faiss {spec}",
            "setting": setting,
            "proposed": number,
            "build_seconds": round(seconds, 1),
            "bytes_per_name": round(size, 1),
            "queries_per_second": rate(lambda n=number: index.search(queries, n)),
            "recall": share(vectors, queries, rows, worst),
        }
        print(spec, setting, number, file=sys.stderr)


def by_usearch(vectors: NDArray[Any], queries: Floats, worst: Floats) -> Iterator[dict[str, Any]]:
    """A row for each breadth of usearch's graph over int8 vectors, of a file that it maps."""
    from usearch.index import Index

    start = time.process_time()
    index = Index(ndim=vectors.shape[1], metric="ip", dtype="i8")
    index.add(np.arange(len(vectors)), vectors, threads=1)
    seconds = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.usearch"
        index.save(path)
        mapped = Index.restore(path, view=True)
        for breadth in (64, 256, 1024):
            mapped.expansion_search = breadth
            rows = mapped.search(queries, 30, threads=1).keys.astype(np.int64)
            yield {
                "index": "usearch i8, view",
                "setting": breadth,
                "proposed": 30,
                "build_seconds": round(seconds, 1),
                "bytes_per_name": round(path.stat().st_size / len(vectors), 1),
                "queries_per_second": rate(lambda: mapped.search(queries, 30, threads=1)),
                "recall": share(vectors, queries, rows, worst),
            }


def by_linker(vectors: NDArray[Any], queries: Floats, exact: Hits) -> dict[str, Any]:
    """Linker's own index: built, searched whole and within parts of the names."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        index = ann.build(Path(folder) / "i", vectors, IndexOptions(), queries, "")
        seconds = time.process_time() - start
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.npy"))
        start = time.process_time()
        IvfIndex(vectors, index.arrays, index.record, Path(folder) / "i" / "lists.npy")
        return {
            "build_seconds": round(seconds, 1),
            "bytes_per_name": round(size / len(vectors), 1),
            "open_seconds": round(time.process_time() - start, 3),
            "lists": index.record.lists,
            "probes": index.record.probes,
            "queries_per_second": rate(lambda: index.search(queries, K)),
            "recall": round(recall(index.search(queries, K), exact), 4),
            "within": list(within(index, queries)),
        }


def within(index: VectorIndex, queries: Floats) -> Iterator[dict[str, Any]]:
    """A row for each part of the names: random ones, and those most like one direction."""
    count, random = len(index), np.random.default_rng(0)
    direction = index.vectors[:100].astype(np.float32).mean(axis=0)
    likeness = index.vectors @ direction.astype(np.float16)
    for part, (kind, order) in itertools.product(
        PARTS, {"random": random.permutation(count), "similar": np.argsort(-likeness)}.items()
    ):
        among: NDArray[np.int64] = np.sort(order[: int(part * count)])
        exact = VectorIndex(index.vectors).search(queries, K, among)
        yield {
            "share": part,
            "names": kind,
            "queries_per_second": rate(lambda a=among: index.search(queries, K, a)),
            "recall": round(recall(index.search(queries, K, among), exact), 4),
        }


if __name__ == "__main__":
    main()
