"""Splitting composite mentions without gold, on the NCBI Disease corpus.

python benchmarks/text/composites.py                 precision and recall on train and dev
python benchmarks/text/composites.py --show          also prints what was split wrongly
python benchmarks/text/composites.py --split test    on test

Writes results/composites.json (composites_test.json). A composite is a mention whose gold is
`A|B`; its split is right when it has as many parts as the gold has ids. Some texts are annotated
both as a composite and as one concept ("breast and ovarian cancer"), so that no splitter that sees
the text alone can be right on all; the share of wrong splits is given with and without them.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, documents, locate
from linker import LinkerOptions
from linker.readers import medic
from linker.text.abbreviations import expand
from linker.text.composites import split
from linker.text.mentions import TextOptions, definitions_of
from linker.text.normalize import normalize
from linker.training.data import collect

SPLITS = {"train": "train", "dev": "devel", "test": "test"}


def main() -> None:
    """Split the mentions of the splits that are asked for."""
    parser = results.parser(__doc__)
    parser.add_argument("--split", nargs="+", choices=SPLITS, default=["train", "dev"])
    shown = "print the wrong splits and the composites left whole"
    parser.add_argument("--show", action="store_true", help=shown)
    options = parser.parse_args()
    dictionary = locate(MEDIC["2017"])
    names = {normalize(name.text) for concept in medic.read(dictionary) for name in concept.names}
    mentions = [m for name in options.split for m in read(name)]
    start = time.perf_counter()
    parts = [split(text, lambda name: normalize(name) in names) for text, _ in mentions]
    seconds = time.perf_counter() - start
    figures = score(mentions, parts) | {"dev_trained_on_train": trained(names)}
    figures |= {
        "dictionary": dictionary.name,
        "mentions_per_second": round(len(mentions) / seconds),
    }
    for key, value in figures.items():
        print(f"{key:40} {value}")
    if options.show:
        show(mentions, parts)
    results.save("composites" + ("_test" if "test" in options.split else ""), figures)


def trained(names: set[str]) -> dict[str, Any]:
    """The development mentions, by a linker that also knows the names of training mentions."""
    training = documents("ncbi", "train")
    known = names | {normalize(one.name) for one in collect(training, LinkerOptions())}
    mentions = list(read("dev"))
    return score(
        mentions, [split(text, lambda name: normalize(name) in known) for text, _ in mentions]
    )


def read(name: str) -> Iterator[tuple[str, int]]:
    """Each mention, its short forms expanded, and how many parts its gold has."""
    for document in documents("ncbi", SPLITS[name]):
        definitions = definitions_of(document, TextOptions())
        for mention in document.mentions:
            yield expand(mention.text, definitions), len(mention.gold or ())


def score(mentions: list[tuple[str, int]], parts: list[list[str]]) -> dict[str, Any]:
    """The figures of all mentions, and of those whose text is annotated one way."""
    composite = [
        (text, gold, len(p)) for (text, gold), p in zip(mentions, parts, strict=True) if gold > 1
    ]
    single = [(text, len(p)) for (text, gold), p in zip(mentions, parts, strict=True) if gold < 2]
    both_ways = {text for text, *_ in composite} & {text for text, _ in single}
    one_way = (
        [row for row in composite if row[0] not in both_ways],
        [row for row in single if row[0] not in both_ways],
    )
    return count(composite, single) | {
        "texts_annotated_both_ways": len(both_ways),
        "of_texts_annotated_one_way": count(*one_way),
    }


def count(composite: list[tuple[str, int, int]], single: list[tuple[str, int]]) -> dict[str, Any]:
    """Precision and recall of splits, and single mentions that were split.

    A split is right where the number of parts is that of the gold.
    """
    right = sum(gold == n for _, gold, n in composite)
    wrong = sum(n > 1 for _, n in single)
    return {
        "composites": len(composite),
        "composites_split_right": right,
        "recall": right / len(composite),
        "precision": right / (sum(n > 1 for *_, n in composite) + wrong),
        "single": len(single),
        "single_split": wrong,
        "single_split_share": wrong / len(single),
    }


def show(mentions: list[tuple[str, int]], parts: list[list[str]]) -> None:
    """Print what was split wrongly, the most frequent first."""
    wrong, whole = Counter[str](), Counter[str]()
    for (text, gold), names in zip(mentions, parts, strict=True):
        if gold < 2 and len(names) > 1:
            wrong[f"{text!r} -> {names}"] += 1
        elif gold > 1 and len(names) != gold:
            whole[f"{text!r} -> {names}, gold {gold}"] += 1
    for title, lines in (
        ("single mentions that were split", wrong),
        ("composites that were not split right", whole),
    ):
        print(f"{title}:")
        for line, count in lines.most_common():
            print(f"  {count} × {line}")


if __name__ == "__main__":
    main()
