"""What decides between equal scores: the kind of name, how often it was annotated, or both.

python benchmarks/accuracy/ties.py    by characters, on development mentions (strict)

Writes results/ties.json. NCBI Disease and BC5CDR with the MEDIC of 2017; and MedMentions, its
development documents in two parts, of which the first names the concepts: there the same words are
annotated with several concepts more often. There is no ranker: it orders only the candidates that
this order puts among the first ten.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, locate, medic
from benchmarks.lib.linkers import by_score
from linker import Dictionary
from linker.evaluation import protocols
from linker.ids import parse_gold
from linker.metrics import paired_difference
from linker.types import NAME_KINDS, Mention

FIRST = ("training", "preferred", "exact")  # kinds of names, the best first; then all others


def medmentions() -> tuple[Dictionary, list[Mention], list[Mention]]:
    """A dictionary, the mentions that name its concepts, and other mentions of these concepts.

    Concepts are named as the first four fifths of the development documents name them.
    """
    with gzip.open(locate("medmentions/dev.txt.gz"), "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    ids = list(dict.fromkeys(row[0] for row in rows))
    first = set(ids[: len(ids) * 4 // 5])
    parts: tuple[list[Mention], list[Mention]] = ([], [])
    for document, text, identifier in rows:
        mention = Mention(text, gold=parse_gold(identifier), document_id=document)
        parts[document not in first].append(mention)
    names = {mention.gold[0].ids[0]: mention.text for mention in reversed(parts[0]) if mention.gold}
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"{i}||{text.replace('|', ' ')}\n" for i, text in names.items())
        file.flush()
        dictionary = Dictionary.read(file.name)
    others = [mention for mention in parts[1] if mention.gold and mention.gold[0].ids[0] in names]
    return dictionary, parts[0], others


def ranks(dictionary: Dictionary) -> dict[str, NDArray[np.int32]]:
    """How the names of a dictionary rank among equal scores, by the orders that are compared."""
    kinds = [NAME_KINDS[kind] for kind in dictionary.name_kind]
    kind = np.array([FIRST.index(k) if k in FIRST else len(FIRST) for k in kinds], np.int32)
    times = np.asarray(dictionary.columns.names.annotated, np.int32)
    return {
        "kind": kind,
        "kind, then annotations": kind * (times.max() + 1) - times,
        "annotations, then kind": dictionary.entry_rank,
    }


def evaluate(
    name: str, dictionary: Dictionary, training: list[Any], development: list[Any]
) -> dict[str, Any]:
    """Acc@1 by each order, its difference to the first, and how many mentions change."""
    linker = by_score(dictionary, "tfidf", training)
    right: dict[str, NDArray[np.float64]] = {}
    for order, values in ranks(linker.dictionary).items():
        linker.generator._entry_rank = values
        outcomes = list(protocols.strict(linker, development, 5))
        right[order] = np.array([outcome.rank == 1 for outcome in outcomes], float)
    texts = np.array([linker.normalize(outcome.mention.text) for outcome in outcomes])
    rows: dict[str, Any] = {}
    for order, hits in right.items():
        difference, low, high = paired_difference(hits[None], right["kind"][None])
        changed = {"better": texts[hits > right["kind"]], "worse": texts[hits < right["kind"]]}
        row = {"acc1": round(hits.mean(), 4), "difference": difference, "interval": [low, high]}
        rows[order] = row | {
            way: {"mentions": len(names), "distinct": len(set(names))}
            for way, names in changed.items()
        }
        print(name, order, rows[order], flush=True)
    return {"mentions": len(hits), "orders": rows}


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    tasks = {
        TITLES[corpus]: (medic("2017"), documents(corpus, "train"), documents(corpus, "devel"))
        for corpus in TITLES
    } | {"MedMentions": medmentions()}
    results.save("ties", {name: evaluate(name, *task) for name, task in tasks.items()})
