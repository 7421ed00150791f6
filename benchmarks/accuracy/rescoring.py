"""What else could be added to the score of a name, on development mentions of NCBI Disease and BC5CDR; none of the levers is trained.

python benchmarks/accuracy/rescoring.py      -> results/rescoring.json

The model is self-aligned on the names of 2012 (BC5CDR: of 2017) and has seen no mention. To the score of each of its 60 best names is added
  characters  weight · the sparse score, of their characters: λ, which the list-wise phase learns
  frequency   weight · log(1 + how often one of the name's concepts is annotated in the training set)
  other names weight · the mean of the two best scores of the name's concept
  document    weight · the best score that one of the name's concepts has as the first answer to another mention of the document;
              nothing for a mention that the dictionary has as it is
  both        weight · that of the document, and our default · that of the frequency
"""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.ncbi_disease import chosen
from benchmarks.lib import dense_accuracy
from benchmarks.lib.common import medic, save
from linker import Linker, LinkerOptions, matching, metrics
from linker.candidates.hybrid import HybridGenerator
from linker.evaluation.protocols import biosyn_queries
from linker.options import changed
from linker.text.mentions import grouped
from linker.training.settings import RunSettings

DEPTH = 60
SCALE = 20  # what training multiplies cosines by; the weights are in these units
FREQUENCY = LinkerOptions().training.frequency_weight
WEIGHTS = {
    "none": (0.0,),
    "characters": (0.5, 1.0, 2.0, 4.0),
    "frequency": (0.1, 0.2, 0.3, 0.4, 0.6),
    "other names": (0.2, 0.5, 1.0),
    "document": (0.01, 0.02, 0.03, 0.05, 0.1),
    "both": (0.0, 0.01, 0.02, 0.03, 0.05, 0.1),
}

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Query:
    """The best names of a query: the first of them, and their concepts, scores, sparse scores and log(1 + annotations)."""

    first: str
    ids: Sequence[frozenset[str]]
    scores: Scores
    characters: Scores
    frequency: Scores


@dataclass(frozen=True, slots=True)
class Judged:
    """A development mention: its document, its queries, and what is right."""

    document: str
    queries: Sequence[str]
    gold: Any


def model(corpus: str) -> Linker:
    """The aligned model; its alignment is that of the accuracy runs with seed 0, where there is one."""
    default = {c.medic: c for c in dense_accuracy.ours(chosen("biosyn")) if c.name == "default"}
    configuration = default["2012" if corpus == "ncbi" else "2017"]
    options = changed(configuration.options, {"training": {"epochs": 0, "frequency_weight": 1}})
    folder = dense_accuracy.WORK / dense_accuracy.key(configuration, 0)
    known = dense_accuracy.Task(corpus, "devel").known
    work = RunSettings(folder, resume=True)
    return Linker.train(
        medic(configuration.medic),
        encoder="transformer",
        mentions=known,
        options=options,
        work=work,
    )


def main() -> None:
    """Judge every lever and weight."""
    rows, options = [], {}
    for corpus in dense_accuracy.FILES:
        linker = model(corpus)
        rows += judged_rows(linker, corpus)
        options[corpus] = dataclasses.asdict(linker.options)
    save("rescoring", {"options": options, "rows": rows}, seed=0)


def judged_rows(linker: Linker, corpus: str) -> list[dict[str, Any]]:
    """Accuracy on the development mentions of a corpus, by lever and weight."""
    task = dense_accuracy.Task(corpus, "devel")
    judged = [
        Judged(
            document.id if document else "",
            biosyn_queries(linker, mention, definitions),
            mention.gold,
        )
        for document, mentions, definitions in grouped(task.judged, linker.options.text)
        for mention in mentions
        if mention.gold
    ]
    found = queried(linker, sorted({query for mention in judged for query in mention.queries}))
    together: dict[str, set[str]] = defaultdict(set)
    for mention in judged:
        together[mention.document].update(mention.queries)
    around = {
        (i, query): support(query, some, found) for i, some in together.items() for query in some
    }
    levers: dict[str, Callable[[float, str, str], Scores]] = {
        "none": lambda weight, _, query: np.zeros(1),
        "characters": lambda weight, _, query: weight * found[query].characters,
        "frequency": lambda weight, _, query: weight * found[query].frequency,
        "other names": lambda weight, _, query: weight * others(found[query]),
        "document": lambda weight, document, query: weight * around[document, query],
        "both": lambda weight, document, query: (
            weight * around[document, query] + FREQUENCY * found[query].frequency
        ),
    }
    rows = []
    for name, add in levers.items():
        for weight in WEIGHTS[name]:
            figures = accuracy(linker, judged, found, partial(add, weight))
            rows.append(
                {"corpus": corpus, "mentions": len(judged), "lever": name, "weight": weight}
                | figures
            )
            print(rows[-1], flush=True)
    return rows


def queried(linker: Linker, queries: Sequence[str]) -> dict[str, Query]:
    """The best names of each query."""
    generator, ids = linker.generator, linker.dictionary.ids
    assert isinstance(generator, HybridGenerator)
    table = generator.table
    found = {}
    weights = generator.sparse.encoder.encode(queries)
    for i, (rows, scores) in enumerate(generator.names(queries, DEPTH)):
        concepts = [
            frozenset(ids[c] for c in table.concepts[table.indptr[r] : table.indptr[r + 1]])
            for r in rows
        ]
        frequency = SCALE * generator.bias[rows].astype(np.float64)
        characters = generator.sparse.products(
            weights, np.full(len(rows), i, np.int32), rows
        ).astype(np.float64)
        found[queries[i]] = Query(
            table.texts[rows[0]],
            concepts,
            SCALE * scores.astype(np.float64) - frequency,
            characters,
            frequency,
        )
    return found


def best(ids: Sequence[frozenset[str]], values: dict[str, float]) -> Scores:
    """Of each name's concepts the highest value."""
    return np.array([max((values.get(i, 0.0) for i in some), default=0.0) for some in ids])


def others(query: Query) -> Scores:
    """Of each name's concepts the highest mean of two scores; a concept with one name has the worst score for the second."""
    scores = defaultdict(list)
    for some, score in zip(query.ids, query.scores, strict=True):
        for i in some:
            scores[i].append(score)
    worst = query.scores.min(initial=0)
    return best(
        query.ids,
        {i: float(np.mean([*sorted(values)[-2:], worst][:2])) for i, values in scores.items()},
    )


def support(query: str, document: Collection[str], found: dict[str, Query]) -> Scores:
    """For each name the highest score with which one of its concepts stands first for another query of the document."""
    values: dict[str, float] = {}
    for other in document if found[query].first != query else ():
        for i in found[other].ids[0] if other != query else ():
            values[i] = max(values.get(i, 0.0), float(found[other].scores[0]))
    return best(found[query].ids, values)


def accuracy(
    linker: Linker,
    judged: Sequence[Judged],
    found: dict[str, Query],
    add: Callable[[str, str], Scores],
) -> dict[str, float]:
    """Acc@k by the protocol `biosyn`."""
    ranks = []
    for mention in judged:
        parts = []
        for query in mention.queries:
            order = np.argsort(-(found[query].scores + add(mention.document, query)), kind="stable")
            parts.append([found[query].ids[i] for i in order[: max(dense_accuracy.KS)]])
        ranks.append(matching.biosyn_rank(parts, mention.gold, linker.dictionary.resolve) or 0)
    return {f"acc{k}": round(float(np.mean(metrics.hits(ranks, k))), 5) for k in dense_accuracy.KS}


if __name__ == "__main__":
    main()
