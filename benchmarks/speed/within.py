"""Linking within a branch: the same answers as a linker of the branch alone, and what it costs."""

from __future__ import annotations

import argparse
import dataclasses
import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lib.data import development, medic
from benchmarks.lib.measure import Figures, ratio, timed
from linker import Dictionary, Linker, Prediction, Selection
from linker.candidates.hybrid import HybridGenerator, encode_names
from linker.candidates.sparse import SparseGenerator
from linker.dictionary.building import Builder
from linker.errors import stop
from linker.persistence import to_fp16
from linker.training.pipeline import train

BRANCHES = (  # children of the root from the largest to the smallest, then deeper ones
    *("MESH:D009358", "MESH:D009422", "MESH:D009369", "MESH:D014777", "MESH:D009784"),
    *("MESH:D007280", "MESH:D001927", "MESH:D009370", "MESH:D003920", "MESH:D001941"),
)
TOLERANCE = 2e-6  # of scores, which are rounded to 1e-6
K, ROUNDS, FIRSTS = 5, 3, 9


def within(given: argparse.Namespace) -> Figures:
    """Each branch, by static vectors without annotated mentions; the mentions of both corpora.

    A linker of the branch alone has a dictionary of its concepts only, and the same encoders, which
    encode its names again.
    """
    whole, items = train(medic("2017"), encoder="static"), development()
    measure(whole, items)  # warm
    rows = [branch(whole, items, i) for i in (BRANCHES[-1:] if given.quick else BRANCHES)]
    mentions = sum(len(document.mentions) for document in items)
    return {"mentions": mentions, "k": K, "tolerance": TOLERANCE, "rows": rows}


def branch(whole: Linker, items: Sequence[Any], identifier: str) -> Figures:
    """The figures of one branch."""
    selection = Selection(under=(identifier,))
    firsts = [timed(partial(fresh(whole).restricted, selection)) for _ in range(FIRSTS)]
    part = firsts[0][1]
    pairs = [(measure(part, items), measure(whole, items)[0]) for _ in range(ROUNDS)]
    rates, others = [rate for (rate, _), _ in pairs], [rate for _, rate in pairs]
    ids = {part.dictionary.ids[row] for row in part.linkable.tolist()}
    twin = alone(whole, ids).link(items, k=K)
    return {
        "id": identifier,
        "branch": whole.dictionary.preferred_name(whole.dictionary.rows(identifier)[0]),
        "concepts": len(ids),
        "same": sum(same(one, other) for one, other in zip(pairs[0][0][1], twin, strict=True)),
        "first_use_ms": [round(1000 * seconds, 1) for seconds, _ in firsts],
        "mentions_per_second": round(statistics.median(rates)),
        "times_faster_median": ratio(rates, others),
    }


def alone(whole: Linker, ids: set[str]) -> Linker:
    """The linker of some concepts only, with the encoders and weights of another one."""
    first = whole.generator
    assert isinstance(first, HybridGenerator)
    assert isinstance(first.sparse, SparseGenerator)
    assert not first.bias.any()
    concepts = map(whole.dictionary.concept, range(len(whole.dictionary)))
    builder = Builder(frozenset(), frozenset(), stop)
    kept = (dataclasses.replace(c, parents=(), alt_ids=()) for c in concepts if c.id in ids)
    builder.add(kept, "branch", "medic", "")
    branch = Dictionary(*builder.build())
    sparse = SparseGenerator.index(branch.table(whole.normalize), branch, first.sparse.encoder)
    vectors = to_fp16(encode_names(first.encoder, list(sparse.table.texts)))  # as in training
    generator = HybridGenerator(sparse, first.encoder, vectors, first.sparse_weight)
    return Linker(branch, generator, whole.options, whole.seen, {}, whole.encoder)


def fresh(linker: Linker) -> Linker:
    """The same linker with empty caches."""
    parts = linker.generator, linker.options, linker.seen
    return Linker(linker.dictionary, *parts, {}, linker.encoder)


def measure(linker: Linker, items: Sequence[Any]) -> tuple[float, list[Prediction]]:
    """Mentions linked a second, by new caches, and the predictions."""
    linker = fresh(linker)
    seconds, predictions = timed(lambda: list(linker.link(items, k=K)))
    return len(predictions) / seconds, predictions


def same(one: Prediction, other: Prediction) -> bool:
    """Whether two predictions have the same parts, ids and matched names, and the same scores."""
    names, scores = [], []
    for prediction in (one, other):
        parts = [(part.text, part.candidates) for part in prediction.parts]
        names.append([(t, [(c.concept_id, c.matched_name) for c in found]) for t, found in parts])
        scores.append([c.score for _, found in parts for c in found])
    return names[0] == names[1] and bool(np.allclose(*scores, rtol=0, atol=TOLERANCE))
