"""A dictionary asked by people and programs: a concept by its id, concepts by a part of a name."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from linker.dictionary.columns import ALTERNATIVE, MERGED, OBSOLETE
from linker.dictionary.dictionary import Dictionary
from linker.dictionary.names import NameTable
from linker.errors import LinkerError
from linker.types import Concept, Reference
from linker.vocabularies import of_prefix

_STATUS = {ALTERNATIVE: "current", OBSOLETE: "obsolete", MERGED: "merged"}
_WAYS = 3  # from a root to a concept that are shown
_CHILDREN = 500  # that are shown
_MATCHES = 5_000  # names that hold the text of a search, at most


def reference(dictionary: Dictionary, row: int) -> dict[str, str]:
    """The id and the name of a concept."""
    return {"id": dictionary.ids[row], "name": dictionary.preferred_name(row)}


def described(dictionary: Dictionary, asked: str) -> dict[str, Any] | None:
    """A concept, its names, its place in the hierarchy and its other ids, for JSON.

    Of a name that another vocabulary lent, `source` is the file that lent it. `also` are all other
    ids that are known, with their public pages; `xrefs` and `alt_ids` those of its own file.

    Args:
        dictionary: which has the concept.
        asked: its id, or an old or alternative one; one that no concept has taken the place of has
            an id and a status alone.

    Returns:
        The record; None for an unknown id.

    Raises:
        LinkerError: the id stands for several concepts.
    """
    if (identifier := dictionary.identify(asked)) is None:
        return None
    rows, hierarchy = dictionary.rows(identifier), dictionary.hierarchy
    if len(rows) > 1:
        several = ", ".join(dictionary.ids[row] for row in rows)
        raise LinkerError(f"the id stands for several concepts ({several}); ask for one of them")
    concept = dictionary.concept(rows[0]) if rows else Concept(identifier, "")
    parents, children = (
        step(rows)[0].tolist() if rows else [] for step in (hierarchy.parents, hierarchy.children)
    )
    ways = ((*hierarchy.way_up(parent)[::-1], *rows) for parent in parents[:_WAYS])
    is_current = bool(rows) and identifier == concept.id
    return {
        "id": concept.id,
        "name": concept.name,
        "names": _names(dictionary, rows[0]) if rows else [],
        "definition": concept.definition,
        "parents": [reference(dictionary, row) for row in parents],
        "children": [reference(dictionary, row) for row in children[:_CHILDREN]],
        "path": [[reference(dictionary, row) for row in way] for way in ways],
        "types": list(concept.types),
        "xrefs": list(concept.xrefs),
        "alt_ids": list(concept.alt_ids),
        "also": [_other_id(other) for other in dictionary.references(rows[0])] if rows else [],
        "url": _public_page(concept.id),
        "asked": asked,
        "status": "current" if is_current else _status(dictionary, identifier),
    }


def _names(dictionary: Dictionary, row: int) -> list[dict[str, Any]]:
    """The names of a concept, the preferred one first."""
    names = sorted(dictionary.name_rows(row).tolist(), key=lambda n: n != dictionary.preferred[row])
    return [
        {"text": n.text, "kind": n.kind, "source": n.source, "lent": bool(dictionary.lender(name))}
        for name, n in zip(names, map(dictionary.name, names), strict=True)
    ]


def _other_id(reference: Reference) -> dict[str, str | None]:
    """An id of another vocabulary, who says it, and the public page that it has."""
    return dataclasses.asdict(reference) | {"url": _public_page(reference.id)}


def _status(dictionary: Dictionary, identifier: str) -> str:
    """What became of an old or alternative id."""
    number = list(dictionary.old_ids).index(identifier)
    return _STATUS[int(dictionary.columns.old_status[number])]


def _public_page(identifier: str) -> str | None:
    """The public page of a concept, or of a reference, which may be one; None for none known."""
    if identifier.startswith(("https://", "http://")):
        return identifier
    prefix, _, local = identifier.partition(":")
    page = of_prefix(prefix).page
    return page.format(quote(local, safe=""), curie=quote(identifier, safe=":")) or None


class Hit(NamedTuple):
    """A concept that a search found."""

    row: int
    matched_name: str  # as written, or the id
    score: float  # the share of the name that the text is; 1 for an id


def search(
    dictionary: Dictionary, table: NameTable, form: Callable[[str], str], text: str
) -> Iterator[Hit]:
    """Find concepts by an id, also an old one, or by a name that holds a text.

    Args:
        dictionary: which has the concepts.
        table: its distinct names in normal form.
        form: gives the normal form of a text.
        text: what is looked for.

    Yields:
        Each concept once, the best first: those with the id, those with a name that starts with the
        text, those with one of whose words does, the rest; shorter names first.
    """
    found = set[int]()
    for row in dictionary.rows(text):
        found.add(row)
        yield Hit(row, text.strip(), 1.0)
    wanted = form(text)
    for name in _names_with(table, wanted) if wanted else ():
        score = round(len(wanted) / len(table.texts[name]), 4)
        for at in range(*table.indptr[name : name + 2].tolist()):
            if (row := int(table.concepts[at])) not in found:
                found.add(row)
                yield Hit(row, dictionary.names[int(table.entries[at])], score)


def names_starting_with(table: NameTable, wanted: str) -> list[int]:
    """The rows of the names that start with a normalised text, the shortest first."""
    texts, start = table.texts, wanted.encode()
    lengths = np.diff(texts.offsets)
    rows = np.flatnonzero(lengths >= max(1, len(start)))
    for place, byte in enumerate(start):
        rows = rows[texts.data[texts.offsets[rows] + place] == byte]
    ordered: list[int] = rows[np.argsort(lengths[rows], kind="stable")].tolist()
    return ordered


def _names_with(table: NameTable, wanted: str) -> Iterator[int]:
    """The rows of the names that hold a normalised text.

    First come those that start with it, then those of which a word does; the shortest first.
    """
    texts, starting = table.texts, names_starting_with(table, wanted)
    yield from starting
    rows, pattern = set[int](), re.escape(wanted.encode())
    for match in itertools.islice(re.finditer(pattern, texts.data.data), _MATCHES):
        row = int(np.searchsorted(texts.offsets, match.start(), "right")) - 1
        if match.end() <= texts.offsets[row + 1]:
            rows.add(row)
    others = sorted(rows - set(starting))
    yield from sorted(others, key=lambda row: (f" {wanted}" not in texts[row], len(texts[row])))
