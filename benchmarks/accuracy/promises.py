"""What an answer promises, against what is true: sets of answers, and how many answers are right.

python benchmarks/accuracy/promises.py    5 minutes

Writes results/promises.json. Mentions of a corpus are linked with weights, and a calibration, that
know nothing of the corpus: with MEDIC 2017 and names lent by DOID and HPO alone, after training on
the corpus, after training on the other one, and without a tenth of the concepts. Names held out of
HPO are linked with what ships.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import held_out, ranker_weights
from benchmarks.lib import ranker_lists, results
from benchmarks.lib.data import TITLES, documents
from benchmarks.lib.linkers import ONTOLOGIES, with_lent
from linker import Document, Linker, Mention, Prediction
from linker.evaluation import protocols, sets
from linker.io import outputs
from linker.linking.ranker import Ranker
from linker.linking.ranking import DEPTH
from linker.linking.tally import Tally
from linker.records import GoldGroup
from linker.training.pipeline import train

COVERAGES = (0.8, 0.9, 0.95)
LEAST = (0.0, 0.9)  # confidences of the linked answers that are counted
MISSING = 0.1  # share of the concepts that a dictionary lacks
OTHER = {"ncbi": "bc5cdr", "bc5cdr": "ncbi"}
Items = Sequence[Document | Mention]


@cache
def learnt(corpus: str, asked: str) -> Linker:
    """A model of the training mentions of a corpus, to be asked those of another one, or its own.

    Weights and calibration know nothing of the corpus that is asked.
    """
    mentions = documents(corpus, "train")
    return ranker_weights.trained(asked, with_lent(), "static", mentions, say=lambda _: None)


def alone(corpus: str) -> Linker:
    """A model of the dictionary alone."""
    weights = Ranker.load(ranker_weights.without(corpus))
    return ranker_weights.of_names("static").with_ranker(weights)


def lacking(linker: Linker) -> Linker:
    """A model that lacks a tenth of the concepts."""
    is_out = np.random.default_rng(0).random(len(linker.dictionary)) < MISSING
    return ranker_lists.without_names(linker, np.zeros(0, np.int64), is_out)


def slices() -> Iterator[tuple[str, str, Linker, Items]]:
    """What is asked, what was learnt, the model, and the mentions."""
    for corpus, title in TITLES.items():
        for split, words in (("devel", "development"), ("train", "training")):
            asked, items = f"{title}, {words}", documents(corpus, split)
            yield asked, "dictionary", alone(corpus), items
            if split == "devel":
                yield asked, "its training mentions", learnt(corpus, corpus), items
                yield asked, "a tenth of the concepts missing", lacking(alone(corpus)), items
            other = OTHER[corpus]
            yield asked, f"mentions of {TITLES[other]}", learnt(other, corpus), items
    task = held_out.of_file(ONTOLOGIES[1])
    names = [
        Mention(text, gold=(GoldGroup((i,)),)) for text, i in zip(task.texts, task.ids, strict=True)
    ]
    yield "names held out of HPO", "dictionary", train(task.dictionary), names


def of_sets(linker: Linker, items: Items) -> dict[str, Any]:
    """How many sets hold the right answer, how many name the concept, and how large they are."""
    resolve = linker.dictionary.resolve
    every = {}
    for coverage in COVERAGES:
        linked = linker.link(iter(items), k=DEPTH, threshold=0.0, coverage=coverage)
        every[str(coverage)] = dataclasses.asdict(sets.figures(linked, resolve))
    return every


def tallied(predictions: Iterable[Prediction]) -> Tally:
    """What became of mentions."""
    tally = Tally()
    for prediction in predictions:
        tally.outcomes[outputs.outcome(prediction)] += 1
        tally.see(prediction)
    return tally


def of_answers(linker: Linker, items: Items) -> dict[str, Any]:
    """Of how many linked mentions the answer is said to be right, and is."""
    assert linker.ranker
    predictions = [p for p in linker.link(iter(items), k=1) if p.mention.gold is not None]
    found = list(protocols.outcomes(predictions, linker))
    tally = tallied(predictions)
    every = {}
    for least in LEAST:
        if expected := tally.expected(linker.ranker.calibration, least):
            right = [
                outcome.rank == 1
                for outcome, prediction in zip(found, predictions, strict=True)
                if (kept := outputs.outcome(prediction)).kind == "linked"
                and (kept.weakest or 0.0) >= least
            ]
            said = [p.confidence or 0.0 for p in predictions if outputs.outcome(p).kind == "linked"]
            every[str(least)] = dataclasses.asdict(expected) | {
                "right": sum(right) / len(right),
                "confidence": sum(c for c in said if c >= least) / len(right),
            }
    return every


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    rows = []
    for asked, known, linker, items in slices():
        row = {"asked": asked, "learnt": known}
        rows.append(row | {"sets": of_sets(linker, items), "answers": of_answers(linker, items)})
        print(rows[-1], flush=True)
    results.save("promises", {"rows": rows})
