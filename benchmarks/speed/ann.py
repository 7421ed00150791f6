"""Approximate indexes of a million vectors: how many queries a second, and what they find.

The names are those of MEDIC, the Disease Ontology and HPO, recombined; their vectors are those of
the default encoder (`static`) made for MEDIC. The queries are names with one slip. All indexes use
one thread, and times are those of the processor, so that other work on the machine counts little.
Every index proposes names that are scored again with their float16 vectors; recall is that of the
20 best names, where equal products count the same. usearch is measured where it is installed.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import importlib.util
import itertools
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.data import medic
from benchmarks.lib.measure import Figures
from benchmarks.lib.recombined import concepts, perturbed
from linker.candidates.ann import K, build, recall
from linker.candidates.index import Floats, Hits, IndexOptions, VectorIndex
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
Search = Callable[[int], NDArray[Any]]
"""The rows of so many proposed names of each query, (queries, names)."""


def ann(given: argparse.Namespace) -> Figures:
    """Measure linker's own index, whole and within parts of the names, and others."""
    faiss.omp_set_num_threads(1)
    vectors, queries = encoded(200_000 if given.quick else 1_000_000)
    exact = VectorIndex(vectors).search(queries, K)
    rate_of_exact = rate(lambda: VectorIndex(vectors).search(queries, K))
    figures: Figures = {"names": len(vectors), "dim": vectors.shape[1], "k": K}
    figures |= {"exact": {"queries_per_second": rate_of_exact}}
    figures["linker"] = by_linker(vectors, queries, exact)
    worst = exact.scores[exact.indptr[1:] - 1]
    made = [by_faiss(spec, vectors, queries) for spec in FAISS]
    made += [by_usearch(vectors, queries)] if importlib.util.find_spec("usearch") else []
    figures["indexes"] = [
        row | {"queries_per_second": rate(partial(search, row["proposed"]))}
        | {"recall": share(vectors, queries, search(row["proposed"]), worst)}
        for row, search in itertools.chain(*made)
    ]  # fmt: skip
    return figures


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


def by_faiss(spec: str, vectors: NDArray[Any], queries: Floats) -> Iterator[tuple[Figures, Search]]:
    """A row for each setting of one index of faiss, and its search."""
    index = faiss.index_factory(vectors.shape[1], spec, faiss.METRIC_INNER_PRODUCT)
    start = time.process_time()
    if hasattr(index, "cp"):
        index.cp.niter, index.cp.spherical = 8, True
    size = min(len(vectors), 163_840)
    sample = np.random.default_rng(0).choice(len(vectors), size, replace=False)
    index.train(vectors[np.sort(sample)].astype(np.float32))
    for i in range(0, len(vectors), 65_536):
        index.add(vectors[i : i + 65_536].astype(np.float32))
    row: Figures = {
        "index": f"faiss {spec}",
        "build_seconds": round(time.process_time() - start, 1),
    }
    row["bytes_per_name"] = round(len(faiss.serialize_index(index)) / len(vectors), 1)
    for setting, number in itertools.product(*FAISS[spec]):
        if hasattr(index, "hnsw"):
            index.hnsw.efSearch = setting
        else:
            index.nprobe = setting
        print(spec, setting, number, file=sys.stderr)
        yield row | {"setting": setting, "proposed": number}, lambda n: index.search(queries, n)[1]


def by_usearch(vectors: NDArray[Any], queries: Floats) -> Iterator[tuple[Figures, Search]]:
    """A row for each breadth of usearch's graph over int8 vectors, of a file that it maps."""
    from usearch.index import Index

    start = time.process_time()
    index = Index(ndim=vectors.shape[1], metric="ip", dtype="i8")
    index.add(np.arange(len(vectors)), vectors, threads=1)
    row: Figures = {"index": "usearch i8, view", "proposed": 30}
    row["build_seconds"] = round(time.process_time() - start, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.usearch"
        index.save(path)
        row["bytes_per_name"] = round(path.stat().st_size / len(vectors), 1)
        mapped = Index.restore(path, view=True)
        for breadth in (64, 256, 1024):
            mapped.expansion_search = breadth
            search = lambda n: mapped.search(queries, n, threads=1).keys.astype(np.int64)  # noqa: E731
            yield row | {"setting": breadth}, search


def by_linker(vectors: NDArray[Any], queries: Floats, exact: Hits) -> Figures:
    """Linker's own index: built, searched whole and within parts of the names."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        index = build(Path(folder) / "i", vectors, IndexOptions(), queries, "")
        seconds = time.process_time() - start
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.npy"))
        return {
            "build_seconds": round(seconds, 1),
            "bytes_per_name": round(size / len(vectors), 1),
            "lists": index.record.lists,
            "probes": index.record.probes,
            "queries_per_second": rate(lambda: index.search(queries, K)),
            "recall": round(recall(index.search(queries, K), exact), 4),
            "within": list(within(index, queries)),
        }


def within(index: VectorIndex, queries: Floats) -> Iterator[Figures]:
    """A row for each part of the names: random ones, and those most like one direction."""
    count = len(index)
    direction = index.vectors[:100].astype(np.float32).mean(axis=0)
    likeness = index.vectors @ direction.astype(np.float16)
    orders = {"random": np.random.default_rng(0).permutation(count)}
    orders["similar"] = np.argsort(-likeness)
    for part, (kind, order) in itertools.product(PARTS, orders.items()):
        among: NDArray[np.int64] = np.sort(order[: int(part * count)])
        exact = VectorIndex(index.vectors).search(queries, K, among)
        yield {
            "share": part,
            "names": kind,
            "queries_per_second": rate(partial(index.search, queries, K, among)),
            "recall": round(recall(index.search(queries, K, among), exact), 4),
        }
