"""Kinds of cells: how often what is denied, normal, a relative's or no disease is given as one.

python benchmarks/accuracy/cell_kinds.py                           both halves, trains the models
python benchmarks/accuracy/cell_kinds.py --models FOLDER           of models that are kept
python benchmarks/accuracy/cell_kinds.py --half chosen --failures  one half; prints what is wrong

Writes results/cell_kinds.json; the other half of the result stays. `cell_kinds.tsv` has the half
for choosing, `cell_kinds_kept.tsv` the half that is kept back, of which no single text is printed.
FOLDER holds the models m (MEDIC of 2026 with names lent by DOID and HPO), hp (HPO) and m0 (MEDIC).
The common words are counted in every second line of the files of shared/data/text, from the second
one on; the others are for the list of words of linker (scripts/make_common_words.py).

Of each kind: how many cells; how many are wrong with a confidence of `LIKELY` or more, or of `SURE`
or more; in how many all that is said of the names is told; in how many each name keeps the concept
that it has alone; and in how many it does so and is sure. A share is [how many, of how many].
"""

from __future__ import annotations

import csv
import itertools
import random
import re
import string
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.cells import LIKELY, SEED, SURE, Row, ids, share
from benchmarks.lib import results
from benchmarks.lib.data import locate, medic
from benchmarks.lib.linkers import ONTOLOGIES, with_lent
from linker import Dictionary, Linker, Part, Prediction
from linker.io.files import read_lines
from linker.records import ASSERTIONS
from linker.training.pipeline import train

HERE = Path(__file__).resolve().parent
HALVES = {"chosen": HERE / "cell_kinds.tsv", "kept": HERE / "cell_kinds_kept.tsv"}
NAME = "cell_kinds"  # of the result
BEFORE = "before"  # what the result has of another commit
NAMES, PAIRS, TRIPLES = 20, 25, 15  # of each half
QUALIFIED, WITHOUT, TIED = 150, 80, 600  # names of a dictionary, of both halves
WORDS = 5000  # the commonest, of both halves
ANY = ""  # whatever is said of a name
WANTED = ("any", "none", "undenied", "not", "perhaps", "tied")  # beside assertions and ids
FILL = "fill"
# fmt: off
MODIFIERS = frozenset([
    "acute", "chronic", "subacute", "recurrent", "mild", "moderate", "severe", "profound",
    "bilateral", "unilateral", "congenital", "progressive", "transient", "intermittent",
    "persistent", "generalized", "focal", "diffuse", "partial", "complete", "proximal", "distal",
    "neonatal", "infantile", "juvenile", "childhood", "episodic", "paroxysmal", "nocturnal",
    "global", "multifocal", "isolated", "primary", "secondary", "central", "peripheral", "anterior",
    "posterior", "nonprogressive", "exertional", "borderline", "localized",
])
# fmt: on
MODELS: dict[str, Callable[[], Dictionary]] = {
    "m": lambda: with_lent("2026"),
    "hp": lambda: Dictionary.read(locate(ONTOLOGIES[1])),
    "m0": lambda: medic("2026"),
}


class Line(NamedTuple):
    """A line of a file of cells."""

    kind: str
    wanted: str
    model: str
    text: str


class Filling(NamedTuple):
    """What is put into the fields of a text, and the concepts of the names among it."""

    values: Mapping[str, str]
    concepts: tuple[frozenset[str], ...] = ()


class Expected(NamedTuple):
    """A name that a cell has: its concepts, and what the cell says of it."""

    concepts: frozenset[str]
    assertion: str  # ANY: it does not matter


class Cell(NamedTuple):
    """A cell, and what is wanted of it."""

    kind: str
    model: str
    text: str
    wanted: str  # a word of WANTED, or empty
    expected: tuple[Expected, ...]
    word: str = ""  # which a concept may have in a name


def read(path: Path) -> list[Line]:
    """Read a file of cells."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [Line(row["kind"], row["wanted"], row["model"], row["text"]) for row in rows]


def fields(text: str) -> list[str]:
    """The names of the fields of a text, each once."""
    named = (field for _, field, _, _ in string.Formatter().parse(text) if field)
    return list(dict.fromkeys(named))


def half_of(values: Sequence[Any], half: str) -> list[Any]:
    """Every second value, so that no other half has it."""
    return list(values[list(HALVES).index(half) :: len(HALVES)])


class Models:
    """The models by their names; each is loaded, or trained, when it is first asked."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._linkers: dict[str, Linker] = {}
        self._names: dict[str, dict[str, frozenset[str]]] = {}

    def linker(self, model: str) -> Linker:
        """The linker of a name in `MODELS`."""
        if model not in self._linkers:
            kept = self.folder and Linker.load(self.folder / model)
            self._linkers[model] = kept or train(MODELS[model]())
        return self._linkers[model]

    def link(self, model: str, texts: Sequence[str]) -> list[Prediction]:
        """The answers for some cells."""
        return list(self.linker(model).link(list(texts), k=1))

    def names(self, model: str) -> dict[str, frozenset[str]]:
        """The distinct names of a dictionary in normal form, and the concepts of each."""
        if model not in self._names:
            table = self.linker(model).generator.table
            identifiers = self.linker(model).dictionary.ids
            concepts = np.split(table.concepts, table.indptr[1:-1])
            self._names[model] = {
                text: frozenset(identifiers[row] for row in rows.tolist())
                for text, rows in zip(table.texts[:], concepts, strict=True)
                if text.strip()
            }
        return self._names[model]

    def concept_names(self, model: str, concept: str) -> list[str]:
        """The names of a concept, in small letters."""
        dictionary = self.linker(model).dictionary
        rows = [name for row in dictionary.rows(concept) for name in dictionary.name_rows(row)]
        return [dictionary.names[row].lower() for row in rows]


class Fillings:
    """What is put into the texts of one half."""

    def __init__(self, models: Models, half: str, lists: Mapping[str, Sequence[Line]]) -> None:
        self.models = models
        self.half = half
        self.lists = lists

    def of(self, text: str, model: str) -> Iterator[Filling]:
        """Yield what is put into a text: all combinations of what its fields may be.

        Raises:
            ValueError: a field is known neither here nor in the file.
        """
        asked = fields(text)
        together = []
        for group, fillings in self.groups(model).items():
            if chosen := [field for field in asked if field in group]:
                together.append(fillings(len(chosen)))
                asked = [field for field in asked if field not in group]
        for field in asked:
            if field not in self.lists:
                raise ValueError(f"{text!r} has the field {field!r}, of which there is no list")
            together.append(self.listed(field))
        for combination in itertools.product(*together):
            values: dict[str, str] = {}
            concepts: tuple[frozenset[str], ...] = ()
            for filling in combination:
                values.update(filling.values)
                concepts += filling.concepts
            yield Filling(values, concepts)

    def groups(self, model: str) -> dict[tuple[str, ...], Callable[[int], Sequence[Filling]]]:
        """What makes the fillings of the fields that are no lists, from how many there are."""
        return {
            ("name", "other", "third"): lambda size: self.names[size],
            ("first", "second"): lambda _: self.related,
            ("head", "modifier"): lambda _: self.qualified(model),
            ("before", "after"): lambda _: self.without(model),
            ("word",): lambda _: self.words,
            ("tied",): lambda _: self.tied(model),
        }

    @cached_property
    def names(self) -> dict[int, list[Filling]]:
        """One name, two and three of the file: of other concepts, and none a part of another."""
        names = self.listed("name")
        keys = ("name", "other", "third")
        chance = random.Random(SEED)
        drawn: dict[int, list[Filling]] = {}
        for size, wanted in ((1, NAMES), (2, PAIRS), (3, TRIPLES)):
            drawn[size] = []
            while len(drawn[size]) < wanted:
                chosen = chance.sample(names, size)
                texts = [one.values["name"] for one in chosen]
                concepts = tuple(concept for one in chosen for concept in one.concepts)
                filling = Filling(dict(zip(keys[:size], texts, strict=True)), concepts)
                if are_apart(texts, concepts) and filling not in drawn[size]:
                    drawn[size].append(filling)
        return drawn

    @cached_property
    def related(self) -> list[Filling]:
        """The pairs of the file."""
        fillings = []
        for line in self.lists["pair"]:
            first, second = line.text.split(" | ")
            concepts = [frozenset(one.split("|")) for one in line.wanted.split()[1:]]
            fillings.append(Filling({"first": first, "second": second}, tuple(concepts)))
        return fillings

    def listed(self, kind: str) -> list[Filling]:
        """The texts of a list of the file; ids behind `fill` are the concepts of each."""
        fillings = []
        for line in self.lists[kind]:
            concepts = frozenset(line.wanted.removeprefix(FILL).strip().split("|")) - {""}
            fillings.append(Filling({kind: line.text}, (concepts,) if concepts else ()))
        return fillings

    def drawn(self, fillings: Sequence[Filling], number: int) -> list[Filling]:
        """Some of what a dictionary offers, so many for all halves."""
        listed = sorted(fillings, key=lambda filling: sorted(filling.values.items()))
        chosen = random.Random(SEED).sample(listed, min(number, len(listed)))
        return half_of(chosen, self.half)

    def qualified(self, model: str) -> list[Filling]:
        """Names of a modifier and another name, `acute sinusitis` or `Sinusitis, acute`."""
        names = self.models.names(model)
        fillings: dict[tuple[str, str], Filling] = {}
        for text, concepts in names.items():
            words = text.split()
            for modifier, rest in ((words[0], words[1:]), (words[-1], words[:-1])):
                head = " ".join(rest)
                others = names.get(head, concepts)
                if modifier in MODIFIERS and not others & concepts:
                    values = {"head": head, "modifier": modifier}
                    fillings[head, modifier] = Filling(values, (concepts,))
        return self.drawn(list(fillings.values()), QUALIFIED)

    def without(self, model: str) -> list[Filling]:
        """Names with `without`, and not with `with or without`."""
        fillings = []
        for text, concepts in self.models.names(model).items():
            before, cue, after = text.partition(" without ")
            if cue and len(concepts) == 1 and not before.endswith(" or"):
                fillings.append(Filling({"before": before, "after": after}, (concepts,)))
        return self.drawn(fillings, WITHOUT)

    def tied(self, model: str) -> list[Filling]:
        """Names of two concepts."""
        fillings = []
        for text, concepts in self.models.names(model).items():
            if len(concepts) > 1 and len(text) > 4:
                fillings.append(Filling({"tied": text}, (concepts,)))
        return self.drawn(fillings, TIED)

    @cached_property
    def words(self) -> list[Filling]:
        """The commonest words of the lines that the list of linker is not counted in."""
        counts: Counter[str] = Counter()
        for path in sorted(locate("text").glob("*.txt.gz")):
            for number, line in read_lines(path):
                if number % 2 == 0:  # counted from 1
                    counts.update(re.findall("[a-z]{3,}", line.lower()))
        common = [word for word, _ in sorted(counts.items(), key=lambda at: (-at[1], at[0]))]
        return [Filling({"word": word}) for word in half_of(common[:WORDS], self.half)]


def are_apart(texts: Sequence[str], concepts: Sequence[frozenset[str]]) -> bool:
    """Whether names have concepts of their own, and none is a part of another."""
    inside = [text.lower() in other.lower() for text in texts for other in texts]
    return len(set(concepts)) == len(texts) == sum(inside)


def cells(lines: Sequence[Line], fillings: Fillings) -> list[Cell]:
    """The cells of the lines that are no members of lists."""
    made = []
    for line in lines:
        if line.wanted.split()[0] == FILL:
            continue
        for filling in fillings.of(line.text, line.model):
            made.append(cell(line, filling))
    return made


def cell(line: Line, filling: Filling) -> Cell:
    """A text with its fields filled, and what is wanted of it.

    Raises:
        ValueError: what is wanted is unknown, or not of as many names as the text has.
    """
    text = line.text.format(**filling.values)
    word, *rest = line.wanted.split()
    given = frozenset(line.wanted.split()[-1].split("|")) if ":" in line.wanted else frozenset()
    expected: list[Expected] = []
    wanted = word if word in WANTED else ""
    if word in ASSERTIONS and not given:
        for concepts, assertion in zip(filling.concepts, [word, *rest], strict=True):
            expected.append(Expected(concepts, assertion))
    elif word in ASSERTIONS:
        expected.append(Expected(given, word))
    elif word in ("any", "tied", "perhaps"):
        expected += [Expected(concepts, ANY) for concepts in filling.concepts]
    elif word == "not":
        expected.append(Expected(given, "absent"))
    elif given:
        expected.append(Expected(given, "present"))
    elif word not in WANTED:
        raise ValueError(f"{line.wanted!r} is wanted of {line.text!r}, which is none of {WANTED}")
    named = filling.values.get("word") or filling.values.get("gene") or ""
    return Cell(line.kind, line.model, text, wanted, tuple(expected), named)


def is_contrary(part: Part, asked: Cell, names: Callable[[str], Sequence[str]]) -> bool:
    """Whether the answer of a part is not what is wanted of the cell.

    Args:
        part: that has an answer.
        asked: the cell.
        names: gives the names of a concept.

    Returns:
        Whether something else is said of its concept than the cell says; or, of a concept that the
        cell does not name, that it is not absent.
    """
    concept = part.best.concept_id if part.best else ""
    if asked.wanted == "undenied":
        return part.assertion == "absent"
    told = [one.assertion for one in asked.expected if concept in one.concepts]
    if told:
        return part.assertion not in told and ANY not in told
    if asked.wanted == "not" or part.assertion == "absent":
        return False
    return not (asked.word and has_word(names(concept), asked.word))


# fmt: off
ENDINGS = (
    "ias", "ically", "ical", "ic", "tic", "ia", "sis", "sy", "ies", "y", "es", "e", "s", "ed",
    "ing", "al", "ally", "ous", "us", "um", "a", "ness", "ity", "ive", "ion", "ions",
)
# fmt: on
SHORTEST = 3  # letters of a stem


def has_word(names: Sequence[str], word: str) -> bool:
    """Whether a word, in any inflection and in British or American spelling, is in a name."""
    asked = stems(word)
    return any(asked & stems(one) for name in names for one in re.findall(r"\w+", name))


def stems(word: str) -> set[str]:
    """A word in American spelling, with and without what may be its ending."""
    american = word.lower().replace("ae", "e").replace("oe", "e").replace("our", "or")
    cut = {american.removesuffix(ending) for ending in ENDINGS}
    return {american} | {stem for stem in cut if len(stem) >= SHORTEST}


def is_wrong(
    prediction: Prediction, asked: Cell, names: Callable[[str], Sequence[str]], least: float
) -> bool:
    """Whether an answer of such a confidence is not what is wanted.

    A name of two concepts should have an answer that is not sure.
    """
    if asked.wanted == "tied":
        is_sure = (prediction.confidence or 0) >= SURE
        return is_sure if least == SURE else not ids(prediction)
    likely = [
        part for part in prediction.parts if part.best and (part.best.confidence or 0) >= least
    ]
    return any(is_contrary(part, asked, names) for part in likely)


def is_told(prediction: Prediction, asked: Cell) -> bool:
    """Whether the parts say what the cell says of its names, all of it and nothing else."""
    told = {part.assertion for part in prediction.parts}
    return told == {one.assertion for one in asked.expected}


def is_kept(prediction: Prediction, asked: Cell, least: float) -> bool:
    """Whether each name of the cell has its concept, with such a confidence."""
    best = [part.best for part in prediction.parts if part.best]
    given = {one.concept_id for one in best if (one.confidence or 0) >= least}
    return all(given & one.concepts for one in asked.expected)


def figures_of(
    kind: str,
    pairs: Sequence[tuple[Cell, Prediction]],
    names: Callable[[str], Sequence[str]],
) -> Row:
    """The counts of a kind of one model."""

    def wrong(least: float) -> list[int]:
        return share(is_wrong(answer, one, names, least) for one, answer in pairs)

    row: Row = {"kind": kind, "model": pairs[0][0].model, "cells": len(pairs)}
    row |= {"wrong": wrong(LIKELY), "wrong_sure": wrong(SURE)}
    named = [
        (one, answer) for one, answer in pairs if one.expected and one.wanted in ("", "any", "tied")
    ]
    asserted = [
        (one, answer) for one, answer in named if ANY not in {e.assertion for e in one.expected}
    ]
    if asserted:
        row["told"] = share(is_told(answer, one) for one, answer in asserted)
    if named:
        row["kept"] = share(is_kept(answer, one, 0) for one, answer in named)
        row["kept_sure"] = share(is_kept(answer, one, SURE) for one, answer in named)
    return row


def of_half(models: Models, half: str, shows: bool) -> list[Row]:
    """The figures of one half, a row for each kind and model.

    Args:
        models: that are asked.
        half: a key of `HALVES`.
        shows: whether cells that are wrong are printed.
    """
    lines = read(HALVES[half])
    lists: dict[str, list[Line]] = {}
    for line in lines:
        if line.wanted.split()[0] == FILL:
            lists.setdefault(line.kind, []).append(line)
    made = cells(lines, Fillings(models, half, lists))
    rows = []
    for kind, model in dict.fromkeys((one.kind, one.model) for one in made):
        asked = [one for one in made if (one.kind, one.model) == (kind, model)]
        answers = models.link(model, [one.text for one in asked])
        pairs = list(zip(asked, answers, strict=True))
        rows.append(figures_of(kind, pairs, partial(models.concept_names, model)))
        print(half, rows[-1], flush=True)
        if shows:
            show(pairs, models)
    return rows


def show(pairs: Sequence[tuple[Cell, Prediction]], models: Models) -> None:
    """Print the cells that are wrong, not told or not kept."""
    for one, answer in pairs:
        names = partial(models.concept_names, one.model)
        row = figures_of(one.kind, [(one, answer)], names)
        wrong = [name for name in ("wrong", "wrong_sure") if row[name][0]]
        wrong += [f"not {name}" for name in ("told", "kept") if name in row and not row[name][0]]
        if wrong:
            parts = "; ".join(f"{part} [{part.assertion}]" for part in answer.parts)
            print(f"  {', '.join(wrong)}: {one.text!r}: {parts}")


def main() -> None:
    """Measure the halves that are asked for, and write the result."""
    parser = results.parser(__doc__)
    parser.add_argument("--half", choices=HALVES, help="default: both")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="default: they are trained")
    parser.add_argument(
        "--failures", action="store_true", help="print them, of the half for choosing"
    )
    parser.add_argument("--before", action="store_true", help="keep the figures as those of before")
    parser.add_argument("--dry", action="store_true", help="write no result")
    given = parser.parse_args()
    models = Models(given.models)
    halves = [given.half] if given.half else list(HALVES)
    found = {half: of_half(models, half, given.failures and half != "kept") for half in halves}
    if given.dry:
        return
    old = results.figures(NAME) if results.exists(NAME) else {}
    if given.before:
        commit = results.record(NAME, {}, SEED)["commit"]
        merged = old | {BEFORE: old.get(BEFORE, {}) | {"commit": commit} | found}
    else:
        merged = old | found
    results.save(NAME, merged, seed=SEED)


if __name__ == "__main__":
    main()
