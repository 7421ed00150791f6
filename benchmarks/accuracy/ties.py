"""What decides between equal scores: kind of name, how often the name was annotated with the concept, or one after the other.

python benchmarks/accuracy/ties.py        by characters, judged on development mentions (strict) -> results/ties.json

NCBI Disease and BC5CDR with the MEDIC of 2017; and MedMentions, its development documents in two parts, of which the first names the
concepts: there the same words are annotated with several concepts more often.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.common import DATA, medic, save
from linker import Dictionary, Linker
from linker.evaluation import protocols
from linker.ids import parse_gold
from linker.metrics import paired_difference
from linker.readers import mentions
from linker.types import NAME_KINDS, Mention

KINDS = {"training": 0, "preferred": 1, "exact": 2}  # all others: 3
Ranks = NDArray[np.int32]
ORDERS: dict[
    str, Callable[[Ranks, Ranks], tuple[Ranks, Ranks]]
] = {  # the keys of lexsort, the last one first
    "kind": lambda kinds, times: (kinds, kinds),
    "kind, then annotations": lambda kinds, times: (-times, kinds),
    "annotations, then kind": lambda kinds, times: (kinds, -times),
}


def ranks(keys: tuple[Ranks, Ranks]) -> Ranks:
    """Dense ranks by the last key, then the first."""
    return np.asarray(np.unique(np.stack(keys[::-1]), axis=1, return_inverse=True)[1], np.int32)


def disease(corpus: str, train: str, devel: str) -> tuple[Dictionary, list[Any], list[Any]]:
    """The MEDIC of 2017, with training and development documents."""
    return medic("2017"), *(
        list(mentions.read(DATA / corpus / name, type="Disease")) for name in (train, devel)
    )


def medmentions() -> tuple[Dictionary, list[Mention], list[Mention]]:
    """Concepts named as the first four fifths of the development documents name them, the mentions of these, and of the other documents."""
    with gzip.open(DATA / "medmentions" / "dev.txt.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    documents = list(dict.fromkeys(row[0] for row in rows))
    first = set(documents[: len(documents) * 4 // 5])
    split: tuple[list[Mention], list[Mention]] = ([], [])
    for document, text, identifier in rows:
        split[document not in first].append(
            Mention(text, gold=parse_gold(identifier), document_id=document)
        )
    named = {mention.gold[0].ids[0]: mention.text for mention in reversed(split[0]) if mention.gold}
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(
            f"{identifier}||{text.replace('|', ' ')}\n" for identifier, text in named.items()
        )
        file.flush()
        dictionary = Dictionary.read(file.name)
    return (
        dictionary,
        split[0],
        [mention for mention in split[1] if mention.gold and mention.gold[0].ids[0] in named],
    )


def judge(
    name: str, dictionary: Dictionary, training: list[Any], development: list[Any]
) -> dict[str, Any]:
    """Acc@1 by each order, its difference to the first, and how many mentions change."""
    linker = Linker.train(dictionary, mentions=training)
    times = linker.dictionary.columns["name.annotated"]
    kinds = np.array(
        [KINDS.get(NAME_KINDS[kind], len(KINDS)) for kind in linker.dictionary.name_kind], np.int32
    )
    right: dict[str, NDArray[np.float64]] = {}
    for order, keys in ORDERS.items():
        linker.generator._entry_rank = ranks(keys(kinds, times))
        linker._cache.clear()
        outcomes = list(protocols.strict(linker, development, 5))
        right[order] = np.array([outcome.rank == 1 for outcome in outcomes], float)
    texts = np.array([linker.normalize(outcome.mention.text) for outcome in outcomes])
    rows: dict[str, Any] = {}
    for order, values in right.items():
        difference, low, high = paired_difference(values[None], right["kind"][None])
        changed = {"better": texts[values > right["kind"]], "worse": texts[values < right["kind"]]}
        change = {
            way: {"mentions": len(some), "distinct": len(set(some))}
            for way, some in changed.items()
        }
        rows[order] = {
            "acc1": round(values.mean(), 4),
            "difference": difference,
            "interval": [low, high],
            **change,
        }
        print(
            f"{name:12} {order:24} {values.mean():.4f}  {difference:+.4f} [{low:+.4f}, {high:+.4f}] {change}",
            flush=True,
        )
    return {"mentions": len(values), "orders": rows}


if __name__ == "__main__":
    tasks = {
        "NCBI Disease": disease(
            "ncbi-disease", "NCBI_train.pubtator.txt.gz", "NCBI_devel.pubtator.txt.gz"
        ),
        "BC5CDR": disease(
            "bc5cdr", "CDR_TrainingSet.PubTator.txt.gz", "CDR_DevelopmentSet.PubTator.txt.gz"
        ),
        "MedMentions": medmentions(),
    }
    save("ties", {name: judge(name, *task) for name, task in tasks.items()})
