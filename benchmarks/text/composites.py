"""Splitting composite mentions without gold, on the training and development mentions of NCBI.

python benchmarks/text/composites.py

Writes results/composites.json. A composite is a mention whose gold is `A|B`; its split is right
when it has as many parts as the gold has ids. Some texts are annotated both as a composite and as
one concept ("breast and ovarian cancer"), so that no splitter that sees the text alone can be right
on all; the share of wrong splits is given with and without them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import documents, medic
from linker import LinkerOptions
from linker.text.composites import split
from linker.text.mentions import TextOptions, definitions_of, expanded
from linker.text.normalize import normalize
from linker.training.data import collect

Split = tuple[str, int, int]  # a text, how many parts its gold has, and how many it is split into


def splits(names: set[str], *parts: str) -> Iterator[Split]:
    """Each mention, its short forms expanded, as it is split where some names are known."""
    for document in documents("ncbi", *parts):
        definitions = definitions_of(document, TextOptions())
        for mention in document.mentions:
            text = expanded(mention, definitions, TextOptions())
            found = split(text, lambda name: normalize(name) in names)
            yield text, len(mention.gold or ()), len(found)


def count(found: list[Split]) -> dict[str, Any]:
    """Precision and recall of splits, and single mentions that were split.

    A split is right where the number of parts is that of the gold.
    """
    composite = [(gold, parts) for _, gold, parts in found if gold > 1]
    right = sum(gold == parts for gold, parts in composite)
    single = [parts for _, gold, parts in found if gold < 2]
    wrong = sum(parts > 1 for parts in single)
    return {
        "composites": len(composite),
        "composites_split_right": right,
        "recall": right / len(composite),
        "precision": right / (sum(parts > 1 for _, parts in composite) + wrong),
        "single": len(single),
        "single_split": wrong,
        "single_split_share": wrong / len(single),
    }


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    names = set(map(normalize, medic("2017").names))
    found = list(splits(names, "train", "devel"))
    ways = [{text for text, gold, _ in found if (gold > 1) is way} for way in (False, True)]
    one_way = [row for row in found if row[0] not in ways[0] & ways[1]]
    known = {normalize(one.name) for one in collect(documents("ncbi", "train"), LinkerOptions())}
    figures = count(found) | {
        "dev_trained_on_train": count(list(splits(names | known, "devel"))),
        "of_texts_annotated_one_way": count(one_way),
    }
    results.save("composites", figures)
