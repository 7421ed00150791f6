"""Agreement of our preprocessing under the BioSyn protocol with the published preprocessed NCBI Disease corpus, mention by mention.

Short forms come from each document's text by our finder, composites are split by their gold ids, and spelling is corrected by a
list, since the published files were made with one.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.common import DATA, save
from linker.readers import pubtator
from linker.text import spelling
from linker.text.abbreviations import find, table
from linker.text.biosyn import biosyn_parts

FILES = {"train": "NCBI_train", "dev": "NCBI_devel", "test": "NCBI_test"}
SPELLING = {"tumour": "tumor", "tumours": "tumors"}
"""The entries of the published list that make a difference here; --spelling reads a list of `wrong||right` lines instead."""

Key = tuple[str, int, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", nargs="+", choices=FILES, default=["train", "dev"])
    parser.add_argument("--spelling", metavar="FILE", help="a list of wrong||right lines")
    options = parser.parse_args()
    corrections = spelling.read(options.spelling) if options.spelling else SPELLING
    figures = {split: compare(split, corrections) for split in options.split}
    save("preprocessing" + ("_test" if "test" in options.split else ""), figures)


def compare(split: str, corrections: dict[str, str]) -> dict[str, Any]:
    published = read_published(split)
    ours, uncorrected = preprocess(split, corrections), preprocess(split, {})
    differing = {
        key: reason(text, published.get(key), plain)
        for key, (_, text, plain) in ours.items()
        if text != published.get(key)
    }
    equal, total = len(ours) - len(differing), len(ours)
    without = sum(text == published.get(key) for key, (_, text, _) in uncorrected.items())
    print(
        f"{split}: {equal} of {total} mentions equal ({equal / total:.4f}); without a spelling list {without / total:.4f}"
    )
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
    """By place: the mention as written, preprocessed, and preprocessed without expanding short forms."""
    result = {}
    for document in pubtator.read(DATA / "ncbi-disease" / f"{FILES[split]}.pubtator.txt.gz"):
        definitions = table(find(document.text))
        for mention in document.mentions:
            ids = [i for group in mention.gold or () for i in group.ids]
            texts = (
                "|".join(biosyn_parts(mention.text, d, ids, corrections)) for d in (definitions, {})
            )
            result[(document.id, *mention.spans[0])] = (mention.text, *texts)
    return result


def read_published(split: str) -> dict[Key, str]:
    return {(pmid, start, end): text for pmid, start, end, text in published_lines(split)}


def published_lines(split: str) -> Iterator[tuple[str, int, int, str]]:
    with tarfile.open(DATA / "biosyn-ncbi-disease" / "ncbi-disease.tar.gz") as archive:
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
