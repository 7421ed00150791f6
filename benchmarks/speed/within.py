"""Linking within a branch: the same answers as a linker of the branch alone, and what it costs.

python benchmarks/speed/within.py

Writes results/within.json. The MEDIC of 2017 by static vectors, without annotated mentions; the
development mentions of both corpora, five concepts each. A linker of the branch alone has a
dictionary of its concepts only, and the same encoders, which encode its names again.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
from collections.abc import Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, medic
from benchmarks.lib.measure import timed
from linker import Dictionary, Linker, Prediction, Selection
from linker.candidates.hybrid import HybridGenerator, encode_names
from linker.candidates.sparse import SparseGenerator
from linker.dictionary.building import Builder
from linker.errors import stop
from linker.persistence import to_fp16

BRANCHES = {  # children of the root from the largest to the smallest, then deeper ones
    "MESH:D009358": "Congenital, Hereditary, and Neonatal Diseases and Abnormalities",
    "MESH:D009422": "Nervous System Diseases",
    "MESH:D009369": "Neoplasms",
    "MESH:D014777": "Virus Diseases",
    "MESH:D009784": "Occupational Diseases",
    "MESH:D007280": "Disorders of Environmental Origin",
    "MESH:D001927": "Brain Diseases",
    "MESH:D009370": "Neoplasms by Histologic Type",
    "MESH:D003920": "Diabetes Mellitus",
    "MESH:D001941": "Breast Diseases",
}
TOLERANCE = 2e-6  # of scores, which are rounded to 1e-6
K, ROUNDS, FIRSTS = 5, 3, 9


def alone(whole: Linker, ids: set[str]) -> Linker:
    """The linker of some concepts only, with the encoders and weights of another one."""
    first = whole.generator
    assert isinstance(first, HybridGenerator)
    assert isinstance(first.sparse, SparseGenerator)
    assert not first.bias.any()
    concepts = map(whole.dictionary.concept, range(len(whole.dictionary)))
    builder = Builder(frozenset(), frozenset(), stop)
    builder.add(
        (dataclasses.replace(c, parents=(), alt_ids=()) for c in concepts if c.id in ids),
        "branch",
        "medic",
        "",
    )
    branch = Dictionary(*builder.build())
    sparse = SparseGenerator.index(branch.table(whole.normalize), branch, first.sparse.encoder)
    vectors = to_fp16(encode_names(first.encoder, list(sparse.table.texts)))  # as in training
    generator = HybridGenerator(sparse, first.encoder, vectors, first.sparse_weight)
    return Linker(branch, generator, whole.options, whole.seen, {}, whole.encoder)


def fresh(linker: Linker) -> Linker:
    """The same linker with empty caches."""
    parts = linker.generator, linker.options, linker.seen
    return Linker(linker.dictionary, *parts, {}, linker.encoder)


def same(one: Prediction, other: Prediction) -> bool:
    """Whether two predictions have the same parts, ids and matched names, and the same scores."""
    pairs = [
        [
            (part.text, [(c.concept_id, c.matched_name) for c in part.candidates])
            for part in prediction.parts
        ]
        for prediction in (one, other)
    ]
    scores = [
        [c.score for part in prediction.parts for c in part.candidates]
        for prediction in (one, other)
    ]
    return pairs[0] == pairs[1] and bool(np.allclose(*scores, rtol=0, atol=TOLERANCE))


def measure(linker: Linker, items: Sequence[Any]) -> tuple[float, list[Prediction]]:
    """Mentions linked a second, by new caches, and the predictions."""
    linker = fresh(linker)
    seconds, predictions = timed(lambda: list(linker.link(items, k=K)))
    return len(predictions) / seconds, predictions


def branch(whole: Linker, items: Sequence[Any], identifier: str) -> dict[str, Any]:
    """The figures of one branch."""
    within = Selection(under=(identifier,))
    firsts = [timed(partial(fresh(whole).restricted, within)) for _ in range(FIRSTS)]
    part = firsts[0][1]
    rates, unrestricted = [], []
    for _ in range(ROUNDS):
        unrestricted.append(measure(whole, items)[0])
        rate, restricted = measure(part, items)
        rates.append(rate)
    ids = {part.dictionary.ids[row] for row in part.linkable.tolist()}
    twin = list(alone(whole, ids).link(items, k=K))
    right = [same(one, other) for one, other in zip(restricted, twin, strict=True)]
    return {
        "id": identifier,
        "branch": BRANCHES[identifier],
        "concepts": len(ids),
        "names": len(part.generator.table),
        "same": sum(right),
        "first_use_ms": [round(1000 * seconds, 1) for seconds, _ in firsts],
        "mentions_per_second": [round(value) for value in rates],
        "unrestricted_per_second": [round(value) for value in unrestricted],
        "times_faster_median": round(
            statistics.median(a / b for a, b in zip(rates, unrestricted, strict=True)), 2
        ),
    }


def main() -> None:
    """Measure all branches."""
    whole = Linker.train(medic("2017"), encoder="static")
    items = list(chain.from_iterable(documents(corpus, "devel") for corpus in TITLES))
    mentions, _ = len([m for d in items for m in d.mentions]), measure(whole, items)  # warm
    rows = []
    for identifier in BRANCHES:
        rows.append(branch(whole, items, identifier))
        print(rows[-1], flush=True)
    figures = {"mentions": mentions, "k": K, "tolerance": TOLERANCE, "rows": rows}
    results.save("within", figures)


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    main()
