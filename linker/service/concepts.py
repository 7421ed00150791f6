"""Concepts as the service shows them, and the search for them by name or id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np

from linker import ids
from linker.dictionary import Dictionary
from linker.dictionary.columns import ALTERNATIVE, MERGED, OBSOLETE
from linker.errors import LinkerError
from linker.linking.linker import Linker

_PAGES = {  # public pages of concepts, by prefix; {} is the id without it, or with it: {curie}
    "MESH": "https://meshb.nlm.nih.gov/record/ui?ui={}",
    "OMIM": "https://www.omim.org/entry/{}",
    "UMLS": "https://uts.nlm.nih.gov/uts/umls/concept/{}",
    "DOID": "https://disease-ontology.org/term/{curie}",
    "MONDO": "https://monarchinitiative.org/{curie}",
    "HP": "https://hpo.jax.org/browse/term/{curie}",
    "ORPHA": "https://www.orpha.net/en/disease/detail/{}",
    "ORPHANET": "https://www.orpha.net/en/disease/detail/{}",
}
_STATUS = {ALTERNATIVE: "current", OBSOLETE: "obsolete", MERGED: "merged"}
_WAYS = 3  # from a root to a concept that are shown
_CHILDREN = 500  # that are shown
_MATCHES = 5_000  # names that hold the text of a search, at most


def public_page(identifier: str) -> str | None:
    """The public page of a concept; None where it is not known."""
    page = _PAGES.get(ids.namespace(identifier).upper())
    if page is None:
        return None
    local = identifier.partition(":")[2]
    return page.format(quote(local, safe=""), curie=quote(identifier, safe=":"))


def described(dictionary: Dictionary, asked: str) -> dict[str, Any] | None:
    """A concept as the service shows it; None for an id that the dictionary does not know.

    Args:
        dictionary: which has the concept.
        asked: its id, or an old or alternative one.

    Raises:
        LinkerError: the id stands for several concepts.
    """
    if (identifier := dictionary.identify(asked)) is None:
        return None
    rows = dictionary.rows(identifier)
    if not rows:
        return _without_successor(dictionary, identifier, asked)
    if len(rows) > 1:
        several = ", ".join(dictionary.ids[row] for row in rows)
        raise LinkerError(f"the id stands for several concepts ({several}); ask for one of them")
    concept, hierarchy = dictionary.concept(rows[0]), dictionary.hierarchy
    parents, children = (
        step([rows[0]])[0].tolist() for step in (hierarchy.parents, hierarchy.children)
    )
    return {
        "id": concept.id,
        "name": concept.name,
        "names": [{"text": n.text, "kind": n.kind, "source": n.source} for n in concept.names],
        "definition": concept.definition,
        "parents": [place(dictionary, row) for row in parents],
        "children": [place(dictionary, row) for row in children[:_CHILDREN]],
        "path": [
            [place(dictionary, row) for row in (*hierarchy.way_up(parent)[::-1], rows[0])]
            for parent in parents[:_WAYS]
        ],
        "types": list(concept.types),
        "xrefs": list(concept.xrefs),
        "alt_ids": list(concept.alt_ids),
        "url": public_page(concept.id),
        "asked": asked,
        "status": "current" if identifier == concept.id else _status(dictionary, identifier),
    }


def place(dictionary: Dictionary, row: int) -> dict[str, str]:
    """The id and the name of a concept."""
    return {"id": dictionary.ids[row], "name": dictionary.preferred_name(row)}


def _status(dictionary: Dictionary, identifier: str) -> str:
    """What became of an old or alternative id."""
    number = list(dictionary.old_ids).index(identifier)
    return _STATUS[int(dictionary.columns.old.status[number])]


def _without_successor(dictionary: Dictionary, identifier: str, asked: str) -> dict[str, Any]:
    """An obsolete id that no concept has taken the place of."""
    lists = ("names", "parents", "children", "path", "types", "xrefs", "alt_ids")
    return {
        "id": identifier,
        "name": "",
        **{name: [] for name in lists},
        "definition": "",
        "url": public_page(identifier),
        "asked": asked,
        "status": _status(dictionary, identifier),
    }


def search(linker: Linker, text: str, limit: int) -> list[dict[str, Any]]:
    """Concepts that have an id, or a name, or a part of a name, the best first.

    Args:
        linker: which can answer with them.
        text: the id, or the text to look for in names.
        limit: how many, at most.
    """
    dictionary, results = linker.dictionary, dict[int, dict[str, Any]]()
    for row in dictionary.rows(text):
        results[row] = place(dictionary, row) | {"matched_name": text.strip(), "score": 1.0}
    table, wanted = linker.generator.table, linker.normalize(text)
    for name in _holding(linker, wanted) if wanted else ():
        score = round(len(wanted) / len(table.texts[name]), 4)
        for at in range(*table.indptr[name : name + 2].tolist()):
            matched = dictionary.names[int(table.entries[at])]
            row = int(table.concepts[at])
            entry = place(dictionary, row) | {"matched_name": matched, "score": score}
            results.setdefault(row, entry)
        if len(results) >= limit:
            break
    return list(results.values())[:limit]


def _holding(linker: Linker, wanted: str) -> list[int]:
    """The rows of the names that hold a text: the same, those that begin with it, the shortest."""
    texts = linker.generator.table.texts

    def rank(row: int) -> tuple[bool, bool, int]:
        name = texts[row]
        at_word = name.startswith(wanted) or f" {wanted}" in name
        return not name.startswith(wanted), not at_word, len(name)

    rows = dict.fromkeys(_matches(linker, wanted.encode()))
    exact = linker.generator.table.row(wanted)
    return [exact] * (exact >= 0) + sorted(rows.keys() - {exact}, key=rank)


def _matches(linker: Linker, wanted: bytes) -> Iterator[int]:
    """The rows of the first names that hold a text; no text is decoded."""
    texts = linker.generator.table.texts
    for count, match in enumerate(re.finditer(re.escape(wanted), texts.data.data)):
        row = int(np.searchsorted(texts.offsets, match.start(), "right")) - 1
        if match.end() <= texts.offsets[row + 1]:
            yield row
        if count == _MATCHES:
            return
