"""Cells as people write them: the right concept, no disease, a denial, and how sure answers are.

python benchmarks/accuracy/cells.py                            all parts, of a model trained here
python benchmarks/accuracy/cells.py --model DIR --only typing  one part; others of the result stay

Writes results/cells.json. The model is what `linker train` makes of the MEDIC of 2026 with names
lent by DOID and HPO. It is asked for rows of a registry (field/cells.tsv beside the data; those
that fail are printed), and for what `cell_lists.py` has: names in wrappings, what is no disease,
assertions, several names in a cell; and for names with typing errors. The ranker that is shipped
was fitted to mentions of these names. A share is [how many, of how many].
"""

from __future__ import annotations

import csv
import random
import re
import string
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.cell_lists import ASSERTIONS, NO_DISEASE, SEVERAL, WRAPPINGS
from benchmarks.lib import results
from benchmarks.lib.data import DATA, TITLES, documents
from benchmarks.lib.linkers import with_lent
from linker import Linker, Prediction, matching
from linker.records import Gold, GoldGroup
from linker.training import fit_ranker
from linker.training.pipeline import train

SEED = 0
SURE, LIKELY = 0.8, 0.5
ALL = "all"  # the row, or column, of the total
NAMES = 200  # of each corpus, in wrappings
ASSERTED = 40  # names, in assertions
PAIRS, TRIPLES = 70, 30  # of names, in one cell
LENGTHS = {"5-7": range(5, 8), "8-10": range(8, 11), "11 and more": range(11, 100)}
Share = list[int]  # how many, of how many
Row = dict[str, Any]


def share(values: Iterable[object]) -> Share:
    """How many are true, of how many."""
    listed = [bool(value) for value in values]
    return [sum(listed), len(listed)]


def ids(prediction: Prediction) -> list[str]:
    """The first concepts of the parts that have one."""
    return [part.best.concept_id for part in prediction.parts if part.best]


def most(prediction: Prediction, but: Sequence[str] = ()) -> float:
    """The highest confidence of an answer; 0 where there is none.

    Args:
        prediction: that has the answers.
        but: ids whose answers do not count.
    """
    best = [part.best for part in prediction.parts if part.best]
    return max((one.confidence or 0 for one in best if one.concept_id not in but), default=0)


def rejected(prediction: Prediction) -> list[str]:
    """The concepts that come first in the parts without an answer."""
    return [part.rejected.concept_id for part in prediction.parts if part.rejected]


def is_sure(prediction: Prediction) -> bool:
    """Whether all parts are surely answered."""
    return len(ids(prediction)) == len(prediction.parts) and (prediction.confidence or 0) >= SURE


class Asked:
    """A model, and the development mentions of both corpora, which all parts share."""

    def __init__(self, linker: Linker) -> None:
        self.linker = linker

    def link(self, texts: Iterable[str]) -> list[Prediction]:
        """The answers for some cells."""
        return list(self.linker.link(list(texts), k=1))

    def is_right(self, prediction: Prediction, gold: Gold) -> bool:
        """Whether the answers are the annotated concepts; parts without one do not count."""
        answers = [[one] for one in ids(prediction)]
        return matching.strict_rank(answers, gold, self.linker.dictionary.resolve) == 1

    def is_known(self, text: str) -> bool:
        """Whether a text is a name of the dictionary."""
        return self.linker.normalize(text) in self.linker.generator.table

    @cached_property
    def documents(self) -> dict[str, list[Any]]:
        """The development documents of each corpus."""
        return {corpus: documents(corpus, "devel") for corpus in TITLES}

    @cached_property
    def annotated(self) -> dict[str, dict[str, set[Gold]]]:
        """The distinct texts of the mentions of each corpus, and what each is annotated with."""
        found: dict[str, dict[str, set[Gold]]] = {}
        for corpus, texts in self.documents.items():
            of_corpus = found[corpus] = defaultdict(set)
            for mention in (mention for text in texts for mention in text.mentions):
                of_corpus[mention.text].add(mention.gold)
        return found

    @cached_property
    def plain(self) -> dict[str, Prediction]:
        """The answer for each distinct text."""
        texts = sorted({text for of_corpus in self.annotated.values() for text in of_corpus})
        return dict(zip(texts, self.link(texts), strict=True))

    @cached_property
    def single(self) -> dict[str, dict[str, Gold]]:
        """The texts of each corpus that are annotated with one concept alone, the same always."""
        return {
            corpus: {
                text: gold
                for text, (gold, *others) in sorted(of_corpus.items())
                if not others and [len(group.ids) for group in gold] == [1]
            }
            for corpus, of_corpus in self.annotated.items()
        }

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """Some of them, without short forms in capitals; no two differ in case alone."""
        chosen = {}
        for corpus, golds in self.single.items():
            texts = {text.lower(): text for text in golds if len(text) > 3 and not text.isupper()}
            chosen[corpus] = random.Random(SEED).sample(sorted(texts.values()), NAMES)
        return chosen

    def sure(self, number: int) -> list[str]:
        """At most so many names that are right and sure as they are, half of each corpus."""
        chosen = []
        for corpus, names in self.names.items():
            golds = self.single[corpus]
            sure = [name for name in names if is_sure(self.plain[name])]
            right = [name for name in sure if self.is_right(self.plain[name], golds[name])]
            chosen += right[: number // 2]
        return chosen


def field(asked: Asked) -> list[Row]:
    """Rows of a registry by kind; prints those that fail."""
    path = DATA.parent / "field" / "cells.tsv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    kinds: dict[str, list[dict[str, bool]]] = {}
    for row, prediction in zip(rows, asked.link(row["text"] for row in rows), strict=True):
        wanted = [] if row["concepts"] == "none" else row["concepts"].split(" + ")
        gold = tuple(GoldGroup(tuple(group.split("|"))) for group in wanted)
        right = asked.is_right(prediction, gold)
        checks = {"right": right, "assertion": prediction.assertion == row["assertion"]}
        if right and row["least"]:
            checks["least_reached"] = most(prediction) >= float(row["least"])
        if not right and row["most"]:
            checks["most_not_passed"] = most(prediction) <= float(row["most"].split()[0])
        if failed := [check for check, holds in checks.items() if not holds]:
            print(f"not {', '.join(failed)}: {row['kind']}: {prediction}, {prediction.assertion}")
        kinds.setdefault(row["kind"], []).append(checks)
    figures = []
    for kind, every in kinds.items():
        names = ("right", "assertion", "least_reached", "most_not_passed")
        shares = {name: share(of[name] for of in every if name in of) for name in names}
        figures.append({"kind": kind} | shares)
    return figures


def wrapped(pattern: str, name: str) -> str:
    """A name in a wrapping."""
    longest = max(name.split(), key=len)
    half = len(longest) // 2
    before, _, after = name.partition(longest)
    before, after = before + longest[:half], longest[half:] + after
    return pattern.format(
        name=name,
        upper=name.upper(),
        title=name.title(),
        zero_width=f"{before}\u200b{after}",
        soft=f"{before}\xad{after}",
    )


def wrappings(asked: Asked) -> list[Row]:
    """Names in each wrapping, beside the same names as they are, and the total."""
    names = [name for of_corpus in asked.names.values() for name in of_corpus]
    rows, every = [], []
    for kind, pattern in ((kind, one) for kind, of_kind in WRAPPINGS.items() for one in of_kind):
        cells = asked.link(wrapped(pattern, name) for name in names)
        pairs = [(asked.plain[name], cell) for name, cell in zip(names, cells, strict=True)]
        rows.append({"kind": kind, "wrapping": pattern} | beside(pairs))
        every += pairs
    return [*rows, {"kind": ALL, "wrapping": ""} | beside(every)]


def beside(pairs: Sequence[tuple[Prediction, Prediction]]) -> dict[str, Share]:
    """The answers for names in a wrapping beside those for the names alone.

    Returns:
        How many are the same; how many are the same and sure, of the names that are sure alone; how
        many have another concept, at `LIKELY` or more, than the one that comes first for the name.
    """
    sure = [(bare, cell) for bare, cell in pairs if is_sure(bare)]
    return {
        "same": share(ids(bare) == ids(cell) for bare, cell in pairs),
        "sure": share(is_sure(cell) and ids(bare) == ids(cell) for bare, cell in sure),
        "another": share(
            most(cell, [*ids(bare), *rejected(bare)]) >= LIKELY for bare, cell in pairs
        ),
    }


def no_disease(asked: Asked) -> list[Row]:
    """What is no disease by kind, and the total; not what the ranker was fitted to."""
    fitted, rows, every = (
        {text.casefold() for text in [row[0] for row in fit_ranker.table("no_disease.tsv")[1:]]},
        [],
        [],
    )
    for kind, texts in NO_DISEASE.items():
        cells = asked.link(text for text in texts if text.casefold() not in fitted)
        rows.append({"kind": kind} | answered(cells))
        every += cells
    return [*rows, {"kind": ALL} | answered(every)]


def answered(cells: Sequence[Prediction]) -> dict[str, Share]:
    """How many cells have no answer, and how many have one of some confidence."""
    return {
        "no_concept": share(not ids(cell) for cell in cells),
        "likely": share(most(cell) >= LIKELY for cell in cells),
        "sure": share(most(cell) >= SURE for cell in cells),
    }


def assertions(asked: Asked) -> list[Row]:
    """How often each assertion is told by each cue, and whether the concept stays; with totals."""
    names, rows = asked.sure(ASSERTED), []
    for wanted, patterns in ASSERTIONS.items():
        of_class = []
        for pattern in patterns:
            cells = asked.link(pattern.format(name=name) for name in names)
            same = [ids(asked.plain[n]) == ids(cell) for n, cell in zip(names, cells, strict=True)]
            row = {"told": share(cell.assertion == wanted for cell in cells), "same": share(same)}
            of_class.append({"assertion": wanted, "cue": pattern} | row)
        every = {key: total(of_class, key) for key in ("told", "same")}
        rows += [*of_class, {"assertion": wanted, "cue": ALL} | every]
    return rows


def total(rows: Iterable[Row], key: str) -> Share:
    """The sum of the shares that some rows have under a key."""
    return [sum(numbers) for numbers in zip(*(row[key] for row in rows), strict=True)]


ERRORS: dict[str, Callable[[str, int, str], str]] = {  # of a word, at a place; another letter
    "transposed": lambda word, at, _: word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    "dropped": lambda word, at, _: word[:at] + word[at + 1 :],
    "doubled": lambda word, at, _: word[: at + 1] + word[at:],
    "replaced": lambda word, at, letter: word[:at] + letter + word[at + 1 :],
}


def misspelt(asked: Asked, word: str, kind: str, chance: random.Random) -> str:
    """A word with an error that makes no other name, not in its first letter."""
    while True:
        at, letter = chance.randrange(1, len(word)), chance.choice(string.ascii_lowercase)
        cell = ERRORS[kind](word, at, letter)
        if cell != word and not asked.is_known(cell):
            return cell


def typing(asked: Asked) -> list[Row]:
    """Names of one word, which are known and right, with an error; by its kind and their length."""
    chance, rows = random.Random(SEED), []
    golds = {text: gold for of_corpus in asked.single.values() for text, gold in of_corpus.items()}
    words = [
        word
        for word, gold in sorted(golds.items())
        if re.fullmatch("[a-z]{5,}", word) and asked.is_known(word)
        if asked.is_right(asked.plain[word], gold)
    ]
    for kind in ERRORS:
        cells = asked.link(misspelt(asked, word, kind, chance) for word in words)
        right = {w: asked.is_right(cell, golds[w]) for w, cell in zip(words, cells, strict=True)}
        row: Row = {"kind": kind, ALL: share(right.values())}
        for label, lengths in LENGTHS.items():
            row[label] = share(is_right for word, is_right in right.items() if len(word) in lengths)
        rows.append(row)
    return rows


def together(asked: Asked) -> Iterator[list[str]]:
    """Pairs and triples of names of different concepts; none is a part of another."""
    chance = random.Random(SEED)
    names = [n for n in asked.sure(2 * NAMES) if not re.search(r"[^\w' -]|\b(and|or)\b", n)]
    for size, wanted in ((2, PAIRS), (3, TRIPLES)):
        count = 0
        while count < wanted:
            chosen = chance.sample(names, size)
            concepts = {one for name in chosen for one in ids(asked.plain[name])}
            inside = [name.lower() in other.lower() for name in chosen for other in chosen]
            if len(concepts) == size == sum(inside):  # each name is in itself alone
                count += 1
                yield chosen


def several(asked: Asked) -> list[Row]:
    """How often all names of a cell are found, and nothing else, by what stands between them."""
    groups, rows = list(together(asked)), []
    for separator, patterns in SEVERAL.items():
        cells = asked.link(patterns[len(names) - 2].format(*names) for names in groups)
        found = []
        for names, cell in zip(groups, cells, strict=True):
            wanted = [one for name in names for one in ids(asked.plain[name])]
            found.append(sorted(ids(cell)) == sorted(wanted))
        rows.append({"separator": separator, "all_found": share(found)})
    return [*rows, {"separator": ALL, "all_found": total(rows, "all_found")}]


PARTS: dict[str, Callable[[Asked], list[Row]]] = {
    one.__name__: one for one in (field, wrappings, no_disease, assertions, typing, several)
}


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--model", type=Path, metavar="DIR", help="default: one is trained")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    given = parser.parse_args()
    model = Linker.load(given.model) if given.model else train(with_lent("2026"))
    asked, figures = Asked(model), {}
    for part in given.only or PARTS:
        figures[part] = PARTS[part](asked)
        print(f"{part}:", *figures[part], sep="\n  ", flush=True)
    old = results.figures("cells") if given.only and results.exists("cells") else {}
    merged = {part: value for part in PARTS if (value := figures.get(part) or old.get(part))}
    results.save("cells", merged, seed=SEED)
