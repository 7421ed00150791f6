"""What else could be added to the score of a name; none of the levers is trained.

python benchmarks/accuracy/rescoring.py    development mentions of NCBI Disease and BC5CDR

Writes results/rescoring.json. The model is self-aligned on the names of 2012 (BC5CDR: of 2017) and
has seen no mention. To the score of each of its 60 best names is added
  characters  weight · the sparse score, of their characters: λ, which the list-wise phase learns
  frequency   weight · log(1 + how often one of the name's concepts is annotated in training)
  other names weight · the mean of the two best scores of the name's concept
"""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import configurations
from benchmarks.lib import dense_runs, results
from benchmarks.lib.data import CORPORA, medic
from linker import Linker, matching, metrics
from linker.candidates.hybrid import HybridGenerator
from linker.evaluation.protocols import biosyn_queries
from linker.options import changed
from linker.text.mentions import grouped
from linker.training.settings import RunSettings
from linker.types import Lookup

DEPTH = 60
SCALE = 20  # what training multiplies cosines by; the weights are in these units
WEIGHTS = {
    "none": (0.0,),
    "characters": (0.5, 1.0, 2.0, 4.0),
    "frequency": (0.1, 0.2, 0.3, 0.4, 0.6),
    "other names": (0.2, 0.5, 1.0),
}

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Query:
    """The best names of a query, the best first."""

    ids: Sequence[frozenset[str]]  # the concepts of each
    scores: Scores
    characters: Scores  # sparse scores
    frequency: Scores  # log(1 + annotations)


@dataclass(frozen=True, slots=True)
class Test:
    """A development mention: its queries, and what is right."""

    queries: Sequence[str]
    gold: Any


def model(corpus: str) -> Linker:
    """The aligned model; its alignment is that of the accuracy runs with seed 0, if any."""
    default = {c.medic: c for c in configurations.ours() if c.name == "default"}
    configuration = default["2012" if corpus == "ncbi" else "2017"]
    options = changed(configuration.options, {"training": {"epochs": 0, "frequency_weight": 1}})
    return Linker.train(
        medic(configuration.medic),
        encoder="transformer",
        mentions=dense_runs.Task(corpus, "devel").known,
        options=options,
        settings=RunSettings(dense_runs.checkpoints(configuration, 0), resume=True),
    )


def main() -> None:
    """Evaluate every lever and weight."""
    results.parser(__doc__).parse_args()
    rows, options = [], {}
    for corpus in CORPORA:
        linker = model(corpus)
        rows += evaluate(linker, corpus)
        options[corpus] = dataclasses.asdict(linker.options)
    results.save("rescoring", {"options": options, "rows": rows}, seed=0)


def tests(linker: Linker, corpus: str) -> list[Test]:
    """The development mentions of a corpus."""
    documents = dense_runs.Task(corpus, "devel").test
    return [
        Test(biosyn_queries(linker, m, definitions), m.gold)
        for _, mentions, definitions in grouped(documents, linker.options.text)
        for m in mentions
        if m.gold
    ]


def evaluate(linker: Linker, corpus: str) -> list[dict[str, Any]]:
    """Accuracy on the development mentions of a corpus, by lever and weight."""
    mentions = tests(linker, corpus)
    answers = queried(linker, sorted({query for mention in mentions for query in mention.queries}))
    added, rows = levers(answers), []
    for name, add in added.items():
        for weight in WEIGHTS[name]:
            figures = accuracy(linker, mentions, answers, partial(add, weight))
            row = {"corpus": corpus, "mentions": len(mentions), "lever": name, "weight": weight}
            rows.append(row | figures)
            print(rows[-1], flush=True)
    return rows


def levers(answers: dict[str, Query]) -> dict[str, Callable[[float, str], Scores]]:
    """What each lever adds for a weight and a query."""
    return {
        "none": lambda weight, query: np.zeros(1),
        "characters": lambda weight, query: weight * answers[query].characters,
        "frequency": lambda weight, query: weight * answers[query].frequency,
        "other names": lambda weight, query: weight * others(answers[query]),
    }


def queried(linker: Linker, queries: Sequence[str]) -> dict[str, Query]:
    """The best names of each query."""
    generator, ids = linker.generator, linker.dictionary.ids
    assert isinstance(generator, HybridGenerator)
    table = generator.table
    answers = {}
    weights = generator.sparse.encoder.encode(queries)
    for i, one in enumerate(generator.rank([Lookup.of(q) for q in queries], DEPTH, "names")):
        rows, scores = one.names, one.scores
        concepts = [
            frozenset(ids[c] for c in table.concepts[table.indptr[r] : table.indptr[r + 1]])
            for r in rows
        ]
        frequency = SCALE * generator.bias[rows].astype(np.float64)
        characters = generator.sparse.products(
            weights, np.full(len(rows), i, np.int32), rows
        ).astype(np.float64)
        answers[queries[i]] = Query(
            concepts,
            SCALE * scores.astype(np.float64) - frequency,
            characters,
            frequency,
        )
    return answers


def best(ids: Sequence[frozenset[str]], values: dict[str, float]) -> Scores:
    """Of each name's concepts the highest value."""
    return np.array([max((values.get(i, 0.0) for i in owners), default=0.0) for owners in ids])


def others(query: Query) -> Scores:
    """Of each name's concepts the highest mean of two scores.

    A concept with one name has the worst score for the second.
    """
    scores = defaultdict(list)
    for owners, score in zip(query.ids, query.scores, strict=True):
        for i in owners:
            scores[i].append(score)
    worst = query.scores.min(initial=0)
    return best(
        query.ids,
        {i: float(np.mean([*sorted(values)[-2:], worst][:2])) for i, values in scores.items()},
    )


def accuracy(
    linker: Linker,
    mentions: Sequence[Test],
    answers: dict[str, Query],
    add: Callable[[str], Scores],
) -> dict[str, float]:
    """Acc@k by the protocol `biosyn`."""
    ranks = []
    for mention in mentions:
        parts = []
        for query in mention.queries:
            scores = answers[query].scores + add(query)
            order = np.argsort(-scores, kind="stable")
            parts.append([answers[query].ids[i] for i in order[: max(dense_runs.KS)]])
        ranks.append(matching.biosyn_rank(parts, mention.gold, linker.dictionary.resolve) or 0)
    return {f"acc{k}": round(float(np.mean(metrics.hits(ranks, k))), 5) for k in dense_runs.KS}


if __name__ == "__main__":
    main()
