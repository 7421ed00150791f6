"""What stands above concepts: further rows of a list, and which of them are too wide to say much.

A mention whose concept the dictionary lacks, or the search missed, often means something below a
concept that stands above the best match. So the ancestors of the first candidate of each text are
candidates, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary, NameTable
from linker.dictionary.columns import RaggedArray
from linker.search.concepts import Candidates, Generator, distinct, ends, ranges
from linker.search.index import is_first

_MOST = 6  # ancestors that a list is given
_STEPS = 4  # up the hierarchy
_WIDEST = 0.2  # share of the concepts, of which one that stands above more says nothing
_EQUAL = 1 - 1e-5  # similarity of characters from which a text is word for word a name

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Climbed:
    """Concepts above those of some owners, such as texts, each once for an owner.

    Attributes:
        owners: (ancestors,) the number of each owner.
        concepts: (ancestors,) rows of the dictionary.
        steps: (ancestors,) how many lie between the concept of the owner and this one, at least 1.
    """

    owners: Rows
    concepts: Rows
    steps: Rows


def climb(parents: RaggedArray, owners: Rows, concepts: Rows) -> Climbed:
    """Go some steps up the hierarchy from one concept of each owner.

    Args:
        parents: of each concept of the dictionary.
        owners: rising numbers.
        concepts: rows of the dictionary, one for each owner.
    """
    size = np.int64(len(parents.sizes))
    seen = owners * size + concepts
    levels = []
    for _ in range(_STEPS):
        starts = parents.indptr[concepts].astype(np.int64)
        sizes = parents.indptr[concepts + 1] - starts
        above = parents.indices[ranges(starts, sizes)]
        keys = distinct(np.repeat(owners, sizes) * size + above)
        keys = np.setdiff1d(keys, seen, assume_unique=True)
        seen = np.concatenate([seen, keys])
        owners, concepts = np.divmod(keys, size)
        levels.append(keys)
    every = np.concatenate(levels)
    owners, concepts = np.divmod(every, size)
    steps = np.repeat(np.arange(1, _STEPS + 1), [len(level) for level in levels])
    return Climbed(owners, concepts, steps)


class Ancestors:
    """The concepts that stand above others and can be answered with.

    Args:
        dictionary: the concepts and their hierarchy.
        table: the names of the concepts that can be answered with.

    Attributes:
        sizes: (concepts,) how many concepts that can be answered with are, or stand below, each.
        is_narrow: (concepts,) whether each can be answered with, and does not stand above so many
            concepts that it says nothing.
    """

    def __init__(self, dictionary: Dictionary, table: NameTable) -> None:
        self._parents = dictionary.columns.parents
        self._id_rank = dictionary.id_rank
        self._table = table
        is_linkable = np.zeros(len(dictionary), np.int32)
        is_linkable[table.concepts] = 1
        above = dictionary.hierarchy.closure
        self._starts = above.indptr.astype(np.int64)
        self._above = above.indices
        self.sizes: NDArray[np.int64] = is_linkable @ above
        self.is_narrow = (is_linkable > 0) & (self.sizes <= _WIDEST * is_linkable.sum())
        self._name = _preferred_names(dictionary, table)

    def at_or_above(self, concepts: NDArray[Any]) -> tuple[Rows, Rows]:
        """All that concepts are, or stand below.

        Args:
            concepts: rows of the dictionary.

        Returns:
            The place in `concepts` and the concept at or above it, of each such pair.
        """
        starts = self._starts[concepts]
        sizes = self._starts[concepts + 1] - starts
        place = np.repeat(np.arange(len(concepts)), sizes)
        return place, self._above[ranges(starts, sizes)].astype(np.int64)

    def appended(self, found: Candidates, generator: Generator) -> tuple[Candidates, Rows]:
        """Put ancestors of the first candidate of each text behind its candidates.

        The nearest come first, then those whose ids do; a text that is word for word a name gets
        none. Each has the scores of its preferred name.

        Args:
            found: candidates of some texts, as `generator` found them.
            generator: scores the names.

        Returns:
            All candidates, and how many steps above the first of its text each appended one stands,
            (candidates,); 0 for those that were found.
        """
        nothing = np.zeros(len(found), np.int64)
        if not len(self._parents.indices) or not len(found) or found.encoded is None:
            return found, nothing
        climbed = climb(self._parents, *_open_texts(found))
        size = np.int64(len(self._id_rank))
        keys = climbed.owners * size + climbed.concepts
        is_new = ~np.isin(keys, found.queries * size + found.concepts)
        wanted = np.flatnonzero(is_new & self.is_narrow[climbed.concepts])
        ranks = self._id_rank[climbed.concepts[wanted]]
        order = np.lexsort((ranks, climbed.steps[wanted], climbed.owners[wanted]))
        chosen = wanted[order]
        chosen = chosen[is_first(climbed.owners[chosen], _MOST)]
        texts = climbed.owners[chosen]
        place = self._name[climbed.concepts[chosen]]
        names = _names_of(self._table, place)
        scores = generator.score_pairs(found.encoded, texts, names)
        counts = np.bincount(texts, minlength=len(found.indptr) - 1)
        others = Candidates(
            indptr=ends(counts),
            concepts=self._table.concepts[place],
            names=names,
            entries=self._table.entries[place],
            scores=scores.scores,
            sparse=scores.sparse,
            dense=scores.dense,
            matches=np.ones(len(place), np.int32),
            second=scores.scores,
        )
        both = found.followed_by(others)
        steps = np.zeros(len(both), np.int64)
        steps[ranges(both.indptr[1:] - counts, counts)] = climbed.steps[chosen]
        return both, steps


def _open_texts(found: Candidates) -> tuple[Rows, Rows]:
    """The texts that no candidate is word for word, and the first concept of each."""
    sparse = found.scores if found.sparse is None else found.sparse
    is_named = np.zeros(len(found.indptr) - 1, bool)
    is_named[found.queries[sparse >= _EQUAL]] = True
    texts = np.flatnonzero((np.diff(found.indptr) > 0) & ~is_named)
    return texts, found.concepts[found.indptr[texts]].astype(np.int64)


def _preferred_names(dictionary: Dictionary, table: NameTable) -> Rows:
    """The place in `table.concepts` of the preferred name of each concept, (concepts,).

    Where the table lacks it, it is that of the first name of the concept; -1 where it has none.
    """
    places = np.full(len(dictionary), -1, np.int64)
    every = np.arange(len(table.concepts))
    places[table.concepts[::-1]] = every[::-1]  # the first one is written last
    is_preferred = table.entries == dictionary.preferred[table.concepts]
    places[table.concepts[is_preferred]] = every[is_preferred]
    return places


def _names_of(table: NameTable, places: Rows) -> NDArray[np.int32]:
    """The rows of the names that some places in `table.concepts` are of."""
    rows = np.searchsorted(table.indptr, places, "right") - 1
    return rows.astype(np.int32)
