"""Agreement of our preprocessing with the published preprocessed NCBI Disease corpus.

python benchmarks/text/preprocessing.py                 mention by mention, on train and dev
python benchmarks/text/preprocessing.py --split test    on test

Writes results/preprocessing.json (preprocessing_test.json). Under the protocol `biosyn`: short
forms come from each document's text by our finder, composites are split by their gold ids, and
spelling is corrected by a list, since the published files were made with one.
"""

from __future__ import annotations

import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import documents, locate
from linker.text.abbreviations import find, table
from linker.text.biosyn import biosyn_parts

SPLITS = {"train": "train", "dev": "devel", "test": "test"}
SPELLING = {"tumour": "tumor", "tumours": "tumors"}
"""The entries of the published list that make a difference here."""


def compare(split: str) -> dict[str, Any]:
    """How many mentions of a split are equal, and why the others differ."""
    published, reasons, equal, plain = dict(published_lines(split)), Counter[str](), 0, 0
    items = [(d, mention) for d in documents("ncbi", SPLITS[split]) for mention in d.mentions]
    mentions = {(d.id, *mention.spans[0]): (d, mention) for d, mention in items}
    for place, (document, mention) in mentions.items():
        definitions = table(find(document.text))
        ids = [i for group in mention.gold or () for i in group.ids]
        text, uncorrected, unexpanded = (
            "|".join(biosyn_parts(mention.text, *how))
            for how in ((definitions, ids, SPELLING), (definitions, ids, {}), ({}, ids, SPELLING))
        )
        theirs = published.get(place)
        equal, plain = equal + (text == theirs), plain + (uncorrected == theirs)
        if text != theirs:
            reasons[reason(text, theirs, unexpanded)] += 1
            print(f"{reason(text, theirs, unexpanded)}: {mention.text!r}, {text!r}, {theirs!r}")
    return {
        "mentions": len(mentions),
        "equal": equal,
        "agreement": equal / len(mentions),
        "agreement_without_spelling": plain / len(mentions),
        "reasons": reasons,
    }


def published_lines(split: str) -> Iterator[tuple[tuple[str, int, int], str]]:
    """Document, start and end of each published mention, and its text."""
    with tarfile.open(locate("biosyn-ncbi-disease/ncbi-disease.tar.gz")) as archive:
        for member in archive:
            if f"/processed_{split}/" in f"/{member.name}" and (
                file := archive.extractfile(member)
            ):
                for line in file.read().decode().splitlines():
                    pmid, place, _, text, _ = line.split("||")
                    start, end = map(int, place.split("|"))
                    yield (pmid, start, end), text


def reason(text: str, published: str | None, plain: str) -> str:
    """Why a mention differs, as far as the three texts tell."""
    if published is None:
        return "a mention that the published files lack"
    if text.count("|") != published.count("|"):
        return "another split of a composite"
    if text == plain:
        return "a short form that we do not expand"
    return "a short form that we alone expand" if published == plain else "another long form"


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--split", nargs="+", choices=SPLITS, default=["train", "dev"])
    chosen = parser.parse_args().split
    figures = {split: compare(split) for split in chosen}
    results.save("preprocessing" + ("_test" if "test" in chosen else ""), figures)
