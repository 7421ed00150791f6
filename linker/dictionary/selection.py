"""Selections: which concepts of a dictionary are in a part of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from linker.dictionary.dictionary import Dictionary
from linker.errors import LinkerError, shorten
from linker.ids import counted, namespace, prefixes
from linker.types import Selection

logger = logging.getLogger(__name__)

_TYPES = 300  # characters of the types that a message lists

Mask = NDArray[np.bool_]
"""Whether each concept of a dictionary belongs to a part of it, (concepts,)."""


def selected(dictionary: Dictionary, selections: Sequence[Selection], linkable: Mask) -> Mask:
    """Find the concepts that fit all selections.

    An alternative, obsolete or merged id stands for the concepts that have its place now, and a
    warning says so. A hierarchy with a cycle has all concepts of the cycle under each of them.
    Types are compared as they are written, prefixes without case and colon, as
    `Dictionary.read` does.

    Args:
        dictionary: the dictionary.
        selections: what is asked for.
        linkable: the concepts to choose from.

    Raises:
        LinkerError: an id, type or prefix is not there, an id stands for no current concept, or no
            concept fits all selections.
    """
    masks = [
        (what, mask)
        for selection in selections
        for what, mask in _masks(dictionary, selection, linkable)
    ]
    fitting: Mask = np.logical_and.reduce([linkable, *(mask for _, mask in masks)])
    if not fitting.any():
        counts = ", ".join(
            f"{np.count_nonzero(mask & linkable):,} {shorten(what)}" for what, mask in masks
        )
        raise LinkerError(
            f"the selection is empty: of {np.count_nonzero(linkable):,} concepts {counts}, "
            "and none is left; select more"
        )
    return fitting


def _masks(
    dictionary: Dictionary, selection: Selection, linkable: Mask
) -> Iterator[tuple[str, Mask]]:
    """The concepts that fit each list of a selection, with the list in words."""
    for texts, what, mask in (
        (selection.under, "are under", _under),
        (selection.not_under, "are not under", lambda *asked: ~_under(*asked)),
        (selection.types, "have the type", _of_types),
        (selection.namespaces, "have the prefix", _with_prefixes),
    ):
        if texts:
            yield f"{what} {' or '.join(texts)}", mask(dictionary, texts, linkable)


def _under(dictionary: Dictionary, identifiers: Sequence[str], _: Mask) -> Mask:
    """The concepts that ids stand for, and those below them."""
    rows = sorted({row for text in identifiers for row in _rows(dictionary, text)})
    under: Mask = np.diff(dictionary.hierarchy.under(rows).indptr) > 0
    return under


def _rows(dictionary: Dictionary, text: str) -> tuple[int, ...]:
    """The rows of the current concepts that an id stands for."""
    identifier = dictionary.identify(text) or text
    rows = dictionary.rows(identifier)
    ids = ", ".join(dictionary.ids[row] for row in rows)
    if not rows:
        known = identifier in dictionary.old_ids
        problem = "is obsolete, and nothing replaces it" if known else "is not in the dictionary"
        raise LinkerError(f"{shorten(identifier)} {problem}; select by the id of a concept")
    if ids != identifier:
        logger.warning("%s is an alternative or old id; it stands for %s", identifier, ids)
    return rows


def _of_types(dictionary: Dictionary, types: Sequence[str], linkable: Mask) -> Mask:
    """The concepts that have one of the types."""
    column = dictionary.columns.types
    owner = np.repeat(np.arange(len(dictionary)), column.sizes)
    labels = column.indices[linkable[owner]]
    there = {dictionary.labels[label] for label in np.unique(labels).tolist()}
    if unknown := sorted({*types} - there):
        raise LinkerError(
            f"the model has no concept of type {', '.join(unknown)}; "
            f"it has: {shorten(', '.join(sorted(there)), _TYPES) or 'none'}"
        )
    is_wanted = np.array([label in types for label in dictionary.labels], bool)
    mask = np.zeros(len(dictionary), bool)
    mask[owner[is_wanted[column.indices]]] = True
    return mask


def _with_prefixes(dictionary: Dictionary, names: Sequence[str], linkable: Mask) -> Mask:
    """The concepts whose ids have one of the prefixes."""
    wanted, rows = prefixes(names), np.flatnonzero(linkable)
    there = [namespace(dictionary.ids[row]) for row in rows.tolist()]
    if unknown := sorted(wanted - prefixes(there)):
        raise LinkerError(
            f"the model has no concept with the prefix "
            f"{', '.join(prefix or 'none' for prefix in unknown)}; it has: {counted(there)}"
        )
    mask = np.zeros(len(dictionary), bool)
    mask[rows] = [prefix.upper() in wanted for prefix in there]
    return mask
