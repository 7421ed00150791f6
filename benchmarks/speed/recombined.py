"""A dictionary of any size, made by recombining the names of MEDIC, the Disease Ontology and HPO.

The real concepts come first, as they are. Copies of them follow, round after round: copy 3 of
MESH:D001260 is MESH:D001260.3 and has as many names. Each of its names begins like the name of the
original and ends like another real name of as many words; a single word begins and ends with the
halves of two words of about the same length. So a dictionary of ten million names has lengths,
words and names for each concept as real ones have. It is written as it is made, the same for the
same seed, and names that a copy repeats are left out.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.lib.data import MEDIC, locate
from linker import Dictionary

SOURCES = (MEDIC["2017"], "ontologies/doid.obo.gz", "ontologies/hp.obo.gz")
_WORDS = 12  # names with as many words or more are one group
_LETTERS = 4  # lengths of single words in a group

Concept: TypeAlias = tuple[str, list[str]]
"""The id of a concept and its names, the preferred one first."""


def real() -> list[Concept]:
    """The concepts of the three vocabularies, with the names that need no escaping in a table."""
    concepts = []
    for source in SOURCES:
        dictionary = Dictionary.read(locate(source))
        for row in range(len(dictionary)):
            rows = dictionary.name_rows(row).tolist()
            texts = [dictionary.preferred_name(row), *(dictionary.names[r] for r in rows)]
            names = [text for text in dict.fromkeys(texts) if not set("|\\\t") & set(text)]
            concepts.append((dictionary.ids[row], names))
    return [concept for concept in concepts if concept[1]]


def concepts(count: int, seed: int = 0) -> Iterator[Concept]:
    """Concepts with `count` names in all: the real ones, then copies with recombined names."""
    originals = real()
    rounds, left = _rounds(originals, seed), count
    for identifier, names in rounds:
        yield identifier, names[:left]
        left -= len(names)
        if left <= 0:
            return


def write(path: Path, count: int, seed: int = 0) -> None:
    """Write a table of concepts with `count` names, as `linker train --dict` reads it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".part")
    with aside.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(("id", "name", "synonyms"))
        for identifier, (name, *synonyms) in concepts(count, seed):
            table.writerow((identifier, name, "|".join(synonyms)))
    aside.rename(path)


def _rounds(originals: Sequence[Concept], seed: int) -> Iterator[Concept]:
    """The real concepts, and without end copies of them."""
    yield from originals
    words = [name.split() for _, names in originals for name in names]
    groups = _groups(words)
    copy = 0
    while True:
        copy += 1
        made = _recombined(words, groups, np.random.default_rng([seed, copy]))
        for identifier, names in originals:
            yield f"{identifier}.{copy}", list(dict.fromkeys(next(made) for _ in names))


def _groups(words: Sequence[list[str]]) -> list[np.ndarray]:
    """For each name the rows of the names that it may be joined with."""
    keys = [
        (min(len(name), _WORDS), len(name[0]) // _LETTERS if len(name) == 1 else 0)
        for name in words
    ]
    members: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(keys):
        members.setdefault(key, []).append(row)
    arrays = {key: np.array(rows) for key, rows in members.items()}
    return [arrays[key] for key in keys]


def _recombined(
    words: Sequence[list[str]], groups: Sequence[np.ndarray], draw: np.random.Generator
) -> Iterator[str]:
    """A made name for each real one, in their order."""
    picks, cuts = draw.random(len(words)).tolist(), draw.random(len(words)).tolist()
    for name, group, pick, cut in zip(words, groups, picks, cuts, strict=True):
        other = words[group[int(pick * len(group))]]
        if len(name) == 1:
            yield name[0][: (len(name[0]) + 1) // 2] + other[0][len(other[0]) // 2 :]
        else:
            at = 1 + int(cut * (min(len(name), len(other)) - 1))
            yield " ".join([*name[:at], *other[at:]])


def perturbed(names: Sequence[str], seed: int = 0) -> list[str]:
    """Names with one slip each: a letter left out, doubled or swapped, or a word left out."""
    draw = random.Random(seed)
    return [_slip(name, draw) for name in names]


def _slip(name: str, draw: random.Random) -> str:
    at, words = draw.randrange(max(1, len(name) - 1)), name.split()
    kind = draw.choice(("drop", "double", "swap", "word"))
    if kind == "word" and len(words) > 2:
        words.pop(draw.randrange(len(words)))
        return " ".join(words)
    middle = {"drop": "", "double": 2 * name[at : at + 1]}.get(kind, name[at : at + 2][::-1])
    return name[:at] + middle + name[at + (2 if kind in ("swap", "word") else 1) :]
