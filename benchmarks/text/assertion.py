"""What running text says of the diseases that it names, compared with 200 sentences read by hand.

python benchmarks/text/assertion.py

Writes results/assertion.json. The sentences are those of assertion.tsv, which has places in the
texts of $LINKER_DATA and no text; they were annotated before there was a rule. Each class is
counted over its mentions, and "not present" over all other classes together.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import locate
from linker.io.files import read_lines
from linker.records import ASSERTIONS
from linker.text import assertion

ANNOTATED = Path(__file__).with_suffix(".tsv")


def rows() -> list[dict[str, str]]:
    """The annotated mentions."""
    with ANNOTATED.open(encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        return list(csv.DictReader(lines, delimiter="\t"))


def compared() -> Iterator[tuple[dict[str, str], str, str]]:
    """Each mention with its sentence, and what the rules say of it."""
    by_file = defaultdict(list)
    for row in rows():
        by_file[row["file"]].append(row)
    for file, of_file in by_file.items():
        wanted = {int(row["line"]) for row in of_file}
        texts = {n: text for n, text in read_lines(locate(f"text/{file}")) if n in wanted}
        for row in of_file:
            text = texts[int(row["line"])]
            sentence = text[int(row["sentence_start"]) : int(row["sentence_end"])]
            digest = hashlib.sha1(sentence.encode()).hexdigest()
            assert digest.startswith(row["sha1"]), f"{file}:{row['line']}: another text"
            span = int(row["start"]), int(row["end"])
            (told,) = assertion.in_text(text, [span], ("en",))
            yield row, sentence, told


def figures(pairs: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """Precision and recall of each class, given what was read and what was told of each mention."""
    table = []
    for name in (*ASSERTIONS, "not present"):
        read, told = (
            [(value != "present") if name == "not present" else value == name for value in side]
            for side in zip(*pairs, strict=True)
        )
        both = sum(r and t for r, t in zip(read, told, strict=True))
        table.append(
            {
                "assertion": name,
                "mentions": sum(read),
                "told": sum(told),
                "precision": round(both / max(1, sum(told)), 3),
                "recall": round(both / max(1, sum(read)), 3),
            }
        )
    return table


if __name__ == "__main__":
    given = results.parser(__doc__)
    given.add_argument("-v", "--verbose", action="store_true", help="print what is told wrongly")
    verbose = given.parse_args().verbose
    found = list(compared())
    for row, sentence, told in found:
        if verbose and row["assertion"] != told:
            print(f"{row['assertion']} told {told}: {sentence}")
    pairs = {"all": [(row["assertion"], told) for row, _, told in found]}
    for stratum in ("random", "cue"):
        pairs[stratum] = [(r["assertion"], told) for r, _, told in found if r["stratum"] == stratum]
    print(Counter(pairs["all"]))
    record = {name: figures(of_one) for name, of_one in pairs.items()}
    for line in record["all"]:
        print(line)
    results.save("assertion", record)
