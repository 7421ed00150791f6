"""Which names that people use a dictionary is lent, below its own names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from linker.dictionary.dictionary import Dictionary
from linker.dictionary.lookup import doubt
from linker.dictionary.names import NameTable
from linker.text.everyday import EverydayName, EverydayNames, Meaning, by_form

LEAST_SHARE = 0.05
"""The share of a dictionary's concepts that names must stand for, if fewer pairs are there."""
LEAST_PAIRS = 200
"""Pairs whose target is a name of a dictionary of any size."""


def lent(
    dictionary: Dictionary,
    table: NameTable,
    normalize: Callable[[str], str],
    names: Iterable[EverydayName],
) -> EverydayNames:
    """The names that a dictionary is lent; none where it is of another domain.

    A name that the dictionary has itself is left out, unless it has it as a short form in other
    case only ("COLD"). A name with several meanings keeps all that the dictionary has, and none of
    them is sure.

    Args:
        dictionary: which is lent the names.
        table: its names.
        normalize: gives the normal form of a text.
        names: which may be lent.
    """
    pairs = tuple(names)
    concepts_of: dict[str, tuple[int, ...]] = {}
    for target in dict.fromkeys(pair.target for pair in pairs):
        row = table.row(normalize(target))
        concepts_of[target] = tuple(table.concepts_of(row).tolist()) if row >= 0 else ()
    wanted = frozenset().union(*concepts_of.values())
    known = [pair for pair in pairs if concepts_of[pair.target]]
    if len(known) < LEAST_PAIRS and len(wanted) < LEAST_SHARE * len(dictionary):
        return EverydayNames()
    meanings: dict[str, Sequence[Meaning]] = {}
    for form, of_form in by_form(pairs).items():
        if not any(concepts_of[pair.target] for pair in of_form):
            continue
        row = table.row(normalize(of_form[0].name))
        own = table.concepts_of(row).tolist() if row >= 0 else []
        if own and any(doubt(dictionary, of_form[0].name, c) != "other case" for c in own):
            continue
        meanings[form] = _meanings(of_form, concepts_of, is_recased=bool(own))
    short_forms = [pair for pair in pairs if pair.is_short_form]
    return EverydayNames(meanings, short_forms)


def _meanings(
    pairs: Sequence[EverydayName], concepts_of: dict[str, tuple[int, ...]], *, is_recased: bool
) -> list[Meaning]:
    """What a name means in a dictionary, each concept once.

    Args:
        pairs: of the name.
        concepts_of: the concepts that have each target as a name.
        is_recased: whether the dictionary has the name as a short form in other case.
    """
    by_concepts: dict[tuple[int, ...], EverydayName] = {}
    missing = 0
    for pair in pairs:
        concepts = concepts_of[pair.target]
        if concepts:
            by_concepts.setdefault(concepts, pair)
        else:
            missing += 1
    is_single = len(by_concepts) + missing == 1
    return [
        Meaning(pair, is_single and pair.kind != "short", is_recased)
        for pair in by_concepts.values()
    ]
