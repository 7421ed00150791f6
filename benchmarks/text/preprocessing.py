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
from linker.text import spelling
from linker.text.abbreviations import find, table
from linker.text.biosyn import biosyn_parts

SPLITS = {"train": "train", "dev": "devel", "test": "test"}
SPELLING = {"tumour": "tumor", "tumours": "tumors"}
"""The entries of the published list that make a difference here; --spelling reads another list."""

Key = tuple[str, int, int]


def main() -> None:
    """Compare the splits that are asked for."""
    parser = results.parser(__doc__)
    parser.add_argument("--split", nargs="+", choices=SPLITS, default=["train", "dev"])
    parser.add_argument("--spelling", metavar="FILE", help="a list of wrong||right lines")
    options = parser.parse_args()
    corrections = spelling.read(options.spelling) if options.spelling else SPELLING
    figures = {split: compare(split, corrections) for split in options.split}
    results.save("preprocessing" + ("_test" if "test" in options.split else ""), figures)


def compare(split: str, corrections: dict[str, str]) -> dict[str, Any]:
    """How many mentions of a split are equal, and why the others differ."""
    published = read_published(split)
    ours, uncorrected = preprocess(split, corrections), preprocess(split, {})
    differing = {
        key: reason(text, published.get(key), plain)
        for key, (_, text, plain) in ours.items()
        if text != published.get(key)
    }
    equal, total = len(ours) - len(differing), len(ours)
    without = sum(text == published.get(key) for key, (_, text, _) in uncorrected.items())
    shares = f"({equal / total:.4f}); without a spelling list {without / total:.4f}"
    print(f"{split}: {equal} of {total} mentions equal {shares}")
    for why, count in Counter(differing.values()).most_common():
        print(f"  {count} by {why}")
        lines = Counter(
            f"{ours[k][0]!r}: {ours[k][1]!r}, published {published.get(k)!r}"
            for k, w in differing.items()
            if w == why
        )
        for line, times in lines.most_common():
            print(f"    {times} × {line}")
    return {
        "mentions": total,
        "published": len(published),
        "equal": equal,
        "agreement": equal / total,
        "agreement_without_spelling": without / total,
        "reasons": Counter(differing.values()),
    }


def preprocess(split: str, corrections: dict[str, str]) -> dict[Key, tuple[str, str, str]]:
    """By place: the mention as written, preprocessed, and without expanding short forms."""
    result = {}
    for document in documents("ncbi", SPLITS[split]):
        definitions = table(find(document.text))
        for mention in document.mentions:
            ids = [i for group in mention.gold or () for i in group.ids]
            texts = (
                "|".join(biosyn_parts(mention.text, d, ids, corrections)) for d in (definitions, {})
            )
            result[(document.id, *mention.spans[0])] = (mention.text, *texts)
    return result


def read_published(split: str) -> dict[Key, str]:
    """The published text of each mention, by its place."""
    return {(pmid, start, end): text for pmid, start, end, text in published_lines(split)}


def published_lines(split: str) -> Iterator[tuple[str, int, int, str]]:
    """Document, start, end and text of each published mention."""
    with tarfile.open(locate("biosyn-ncbi-disease/ncbi-disease.tar.gz")) as archive:
        for member in archive:
            file = (
                archive.extractfile(member) if f"/processed_{split}/" in f"/{member.name}" else None
            )
            for line in file.read().decode().splitlines() if file else []:
                pmid, place, _, text, _ = line.split("||")
                start, end = place.split("|")
                yield pmid, int(start), int(end), text


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
    main()
