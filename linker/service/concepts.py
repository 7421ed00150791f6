"""GET /concepts/{id} and /search: what the dictionary has, and names that hold a text."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Path, Query

from linker import ids
from linker.dictionary import Dictionary
from linker.dictionary.columns import ALTERNATIVE, MERGED, OBSOLETE
from linker.errors import LinkerError
from linker.linking.linker import Linker
from linker.service.errors import ERRORS, Failure
from linker.service.state import Service
from linker.types import Concept

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


def router(service: Service) -> APIRouter:
    """The routes of the dictionary."""
    routes = APIRouter(tags=["dictionary"], responses=ERRORS)

    @routes.get("/concepts/{id:path}")
    async def concept(
        asked: Annotated[
            str, Path(alias="id", min_length=1, max_length=200, examples=["MESH:D001943"])
        ],
    ) -> dict[str, Any]:
        """A concept by its id, or an old or alternative one; an id alone is one of MeSH or OMIM."""
        return await asyncio.to_thread(_described, service.linker.dictionary, asked)

    @routes.get("/search")
    async def search(
        q: Annotated[str, Query(min_length=1, max_length=1_000, examples=["breast"])],
        limit: Annotated[int, Query(ge=1, le=100)] = 10,
    ) -> dict[str, Any]:
        """Concepts by a name, a part of a name, or an id."""
        return {"concepts": await asyncio.to_thread(_search, service.linker, q, limit)}

    return routes


def _described(dictionary: Dictionary, asked: str) -> dict[str, Any]:
    """A concept as the service shows it.

    Args:
        dictionary: which has the concept.
        asked: its id, or an old or alternative one; one that no concept has taken the place of has
            an id and a status alone.

    Raises:
        Failure: the dictionary does not know the id.
        LinkerError: the id stands for several concepts.
    """
    if (identifier := dictionary.identify(asked)) is None:
        raise Failure(404, "no concept has this id", "id")
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
        "names": [{"text": n.text, "kind": n.kind, "source": n.source} for n in concept.names],
        "definition": concept.definition,
        "parents": [reference(dictionary, row) for row in parents],
        "children": [reference(dictionary, row) for row in children[:_CHILDREN]],
        "path": [[reference(dictionary, row) for row in way] for way in ways],
        "types": list(concept.types),
        "xrefs": list(concept.xrefs),
        "alt_ids": list(concept.alt_ids),
        "url": _public_page(concept.id),
        "asked": asked,
        "status": "current" if is_current else _status(dictionary, identifier),
    }


def _status(dictionary: Dictionary, identifier: str) -> str:
    """What became of an old or alternative id."""
    number = list(dictionary.old_ids).index(identifier)
    return _STATUS[int(dictionary.columns.old_status[number])]


def _public_page(identifier: str) -> str | None:
    """The public page of a concept; None where it is not known."""
    page, local = _PAGES.get(ids.namespace(identifier).upper()), identifier.partition(":")[2]
    return page and page.format(quote(local, safe=""), curie=quote(identifier, safe=":"))


def reference(dictionary: Dictionary, row: int) -> dict[str, str]:
    """The id and the name of a concept."""
    return {"id": dictionary.ids[row], "name": dictionary.preferred_name(row)}


def _search(linker: Linker, text: str, limit: int) -> list[dict[str, Any]]:
    """Concepts that have an id, or a name, or a part of a name, the best first."""
    dictionary, table = linker.dictionary, linker.generator.table
    results: dict[int, dict[str, Any]] = {}
    for row in dictionary.rows(text):
        results[row] = reference(dictionary, row) | {"matched_name": text.strip(), "score": 1.0}
    wanted = linker.normalize(text)
    for name in _names_with(linker, wanted) if wanted else ():
        score = round(len(wanted) / len(table.texts[name]), 4)
        for at in range(*table.indptr[name : name + 2].tolist()):
            matched, row = dictionary.names[int(table.entries[at])], int(table.concepts[at])
            found = reference(dictionary, row) | {"matched_name": matched, "score": score}
            results.setdefault(row, found)
        if len(results) >= limit:
            break
    return list(results.values())[:limit]


def names_starting_with(linker: Linker, wanted: str) -> list[int]:
    """The rows of the names that start with a normalised text, the shortest first."""
    texts, start = linker.generator.table.texts, wanted.encode()
    lengths = np.diff(texts.offsets)
    rows = np.flatnonzero(lengths >= max(1, len(start)))
    for place, byte in enumerate(start):
        rows = rows[texts.data[texts.offsets[rows] + place] == byte]
    ordered: list[int] = rows[np.argsort(lengths[rows], kind="stable")].tolist()
    return ordered


def _names_with(linker: Linker, wanted: str) -> Iterator[int]:
    """The rows of the names that hold a normalised text.

    First come those that start with it, then those of which a word does; the shortest first.
    """
    texts, starting = linker.generator.table.texts, names_starting_with(linker, wanted)
    yield from starting
    rows, pattern = set[int](), re.escape(wanted.encode())
    for match in itertools.islice(re.finditer(pattern, texts.data.data), _MATCHES):
        row = int(np.searchsorted(texts.offsets, match.start(), "right")) - 1
        if match.end() <= texts.offsets[row + 1]:
            rows.add(row)
    others = sorted(rows - set(starting))
    yield from sorted(others, key=lambda row: (f" {wanted}" not in texts[row], len(texts[row])))
