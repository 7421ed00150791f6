"""Abbreviation definitions on the Ab3P and the Schwartz and Hearst gold files, by three finders.

python benchmarks/text/abbreviations.py    precision and recall of ours and of two other finders

Writes results/abbreviations.json. Pairs are counted once a document, and are right when short and
long form equal the gold letter for letter.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bioc import biocxml

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import locate
from linker.text.abbreviations import find

FILES = {"ab3p": "Ab3P_bioc_gold.xml.gz", "sh": "SH_bioc_gold.xml.gz"}
Pair = tuple[str, str]
Finder = Callable[[str], set[Pair]]


def read(path: Any) -> list[tuple[list[str], set[Pair]]]:
    """The passages' texts and the gold pairs of each document."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        collection = biocxml.load(file)
    documents = []
    for document in collection.documents:
        pairs = set()
        for passage in document.passages:
            texts = {a.id: a.text for a in passage.annotations}
            for relation in passage.relations:
                roles = {node.role: texts[node.refid] for node in relation.nodes}
                pairs.add((roles["ShortForm"], roles["LongForm"]))
        documents.append(([p.text or "" for p in document.passages], pairs))
    return documents


def score(documents: list[tuple[list[str], set[Pair]]], finder: Finder) -> dict[str, Any]:
    """Precision, recall and F1 of a finder."""
    pairs = [(set().union(*map(finder, texts)), gold) for texts, gold in documents]
    right = sum(len(ours & gold) for ours, gold in pairs)
    count = sum(len(ours) for ours, _ in pairs)
    precision, recall = right / count, right / sum(len(gold) for _, gold in pairs)
    f1 = 2 * precision * recall / (precision + recall)
    return {"precision": precision, "recall": recall, "f1": f1, "right": right, "found": count}


def finders() -> dict[str, Finder]:
    """Ours, a plain Schwartz and Hearst, and Ab3P where pyab3p is installed."""
    table: dict[str, Finder] = {
        "linker": lambda text: {(d.short, d.long) for d in find(text)},
        "schwartz_hearst": schwartz_hearst,
    }
    try:
        import pyab3p
    except ImportError:
        return table
    ab3p = pyab3p.Ab3p()
    return table | {
        "pyab3p": lambda text: {(a.short_form, a.long_form) for a in ab3p.get_abbrs(text)}
    }


def schwartz_hearst(text: str) -> set[Pair]:
    """The published algorithm for "long form (SF)": the short form's letters, from the right."""
    pairs = set()
    for match in re.finditer(r"\(([^()]*)\)", text):
        short = re.split(r"[,;]", match[1])[0].strip()
        if not (
            2 <= len(short) <= 10
            and len(short.split()) <= 2
            and re.search("[A-Za-z]", short)
            and short[0].isalnum()
        ):
            continue
        words = re.split(r"[.!?]\s", text[: match.start()])[-1].split()
        before = " ".join(words[-min(len(short) + 5, 2 * len(short)) :])
        at = from_the_right(short.lower(), before.lower())
        if at is not None and len(before[at:]) > len(short):
            pairs.add((short, before[at:]))
    return pairs


def from_the_right(short: str, before: str) -> int | None:
    """Where the long form begins that has the letters of a short form; None where there is none."""
    at = len(before)
    for i in range(len(short) - 1, -1, -1):
        if not short[i].isalnum():
            continue
        at -= 1
        while at >= 0 and (
            before[at] != short[i] or (i == 0 and at > 0 and before[at - 1].isalnum())
        ):
            at -= 1
        if at < 0:
            return None
    return before.rfind(" ", 0, at) + 1


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    figures: dict[str, Any] = {}
    for corpus, file in FILES.items():
        documents = read(locate(f"abbreviations/{file}"))
        pairs = sum(len(gold) for _, gold in documents)
        figures[corpus] = {"documents": len(documents), "pairs": pairs}
        figures[corpus] |= {name: score(documents, of) for name, of in finders().items()}
    results.save("abbreviations", figures)
