"""Splitting composite mentions without gold, on the NCBI Disease corpus: precision and recall, and single mentions split wrongly.

A composite is a mention whose gold is `A|B`; its split is right when it has as many parts as the gold has ids. Some texts are
annotated both as a composite and as one concept ("breast and ovarian cancer"), so that no splitter that sees the text alone can
be right on all; the share of wrong splits is given with and without them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.common import DATA, save
from linker import LinkerOptions
from linker.readers import medic, pubtator
from linker.text.abbreviations import expand
from linker.text.composites import split
from linker.text.mentions import TextOptions, definitions_of
from linker.text.normalize import normalize
from linker.training.supervision import collect

FILES = {"train": "NCBI_train", "dev": "NCBI_devel", "test": "NCBI_test"}
DICTIONARY = DATA / "medic" / "CTD_diseases_2017-06-06.tsv.gz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", nargs="+", choices=FILES, default=["train", "dev"])
    parser.add_argument(
        "--show", action="store_true", help="print the wrong splits and the composites left whole"
    )
    options = parser.parse_args()
    names = {normalize(name.text) for concept in medic.read(DICTIONARY) for name in concept.names}
    mentions = [m for name in options.split for m in read(name)]
    start = time.perf_counter()
    parts = [split(text, lambda name: normalize(name) in names) for text, _ in mentions]
    seconds = time.perf_counter() - start
    figures = score(mentions, parts) | {"dev_trained_on_train": trained(names)}
    figures |= {
        "dictionary": DICTIONARY.name,
        "mentions_per_second": round(len(mentions) / seconds),
    }
    for key, value in figures.items():
        print(f"{key:40} {value}")
    if options.show:
        show(mentions, parts)
    save("composites" + ("_test" if "test" in options.split else ""), figures)


def trained(names: set[str]) -> dict[str, Any]:
    """The development mentions, by a linker that also knows the names that the training mentions gave it."""
    documents = pubtator.read(DATA / "ncbi-disease" / f"{FILES['train']}.pubtator.txt.gz")
    known = names | {normalize(one.name) for one in collect(documents, LinkerOptions())}
    mentions = list(read("dev"))
    return score(
        mentions, [split(text, lambda name: normalize(name) in known) for text, _ in mentions]
    )


def read(name: str) -> Iterator[tuple[str, int]]:
    """Each mention, its short forms expanded, and how many parts its gold has."""
    for document in pubtator.read(DATA / "ncbi-disease" / f"{FILES[name]}.pubtator.txt.gz"):
        definitions = definitions_of(document, TextOptions())
        for mention in document.mentions:
            yield expand(mention.text, definitions), len(mention.gold or ())


def score(mentions: list[tuple[str, int]], parts: list[list[str]]) -> dict[str, Any]:
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
    """Precision and recall of splits, right where the number of parts is that of the gold, and single mentions split."""
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
