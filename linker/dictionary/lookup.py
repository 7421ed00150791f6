"""A dictionary asked by people and programs: a concept by its id, concepts by their names."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from linker.dictionary.columns import ALTERNATIVE, MERGED, OBSOLETE
from linker.dictionary.dictionary import Dictionary
from linker.dictionary.names import NameTable
from linker.errors import LinkerError
from linker.types import Concept, Prediction, Reference
from linker.vocabularies import of_prefix

_STATUS = {ALTERNATIVE: "current", OBSOLETE: "obsolete", MERGED: "merged"}
_WAYS = 3  # from a root to a concept that are shown
_CHILDREN = 500  # that are shown
_MATCHES = 2_000  # names that fit the text of a search, at most
_POOR = 0.15  # how well a name must fit, as a share of the best
_CONFIDENCE = 0.6  # what the confidence of a linker counts beside how well a name fits
_GUESS = 0.05  # the confidence that a concept needs of which no name fits
_BELOW = 0.03  # what the number of concepts below one counts, by its logarithm


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
    score: float  # how well the name fits, 0 to 1; 1 for an id


def search(
    dictionary: Dictionary,
    table: NameTable,
    form: Callable[[str], str],
    text: str,
    linked: Iterable[Prediction] = (),
) -> Iterator[Hit]:
    """Find concepts by an id, also an old one, or by their names, of which words may be only begun.

    Words may have errors, and stand in another order; see `words`. Of names that fit equally, those
    of concepts with more others below them come first.

    Args:
        dictionary: which has the concepts.
        table: its distinct names in normal form.
        form: gives the normal form of a text.
        text: what is looked for.
        linked: what a linker predicts for the text; its candidates are found, too, and their
            confidences count.

    Yields:
        Each concept once, the best first: those with the id, then those with a name that fits.
    """
    found = set[int]()
    for row in dictionary.rows(text):
        found.add(row)
        yield Hit(row, text.strip(), 1.0)
    hits = {hit.row: hit for hit in _fitting(dictionary, table, form(text))}
    ranks = {row: hit.score for row, hit in hits.items()}
    for candidate in (c for p in linked for part in p.parts for c in part.candidates):
        confidence = candidate.confidence or 0.0
        for row in dictionary.rows(candidate.concept_id):
            if row in hits or confidence >= _GUESS:
                hits.setdefault(row, Hit(row, candidate.matched_name, round(confidence, 4)))
                ranks[row] = ranks.get(row, 0.0) + _CONFIDENCE * confidence
    rows = [*hits]
    for row, below in zip(rows, dictionary.hierarchy.children(rows), strict=True):
        ranks[row] += _BELOW * math.log1p(len(below))
    yield from (hits[row] for row in sorted(rows, key=lambda r: -ranks[r]) if row not in found)


def _fitting(dictionary: Dictionary, table: NameTable, wanted: str) -> list[Hit]:
    """Concepts with a name that fits a normalised text, each once, the best first."""
    fits = table.words.fits(wanted)
    rows = np.flatnonzero(fits > max(0.0, _POOR * fits.max(initial=0)))
    order = np.argsort(-fits[rows], kind="stable")[:_MATCHES]
    hits: dict[int, Hit] = {}
    for name in rows[order].tolist():
        score = round(float(fits[name]), 4)
        for at in range(*table.indptr[name : name + 2].tolist()):
            row = int(table.concepts[at])
            if row not in hits:
                hits[row] = Hit(row, dictionary.names[int(table.entries[at])], score)
    return [*hits.values()]
