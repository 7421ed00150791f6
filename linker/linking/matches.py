"""Candidates described in numbers: how a text and a name of a concept match, a batch at once.

Every column means the same in any dictionary, so that a ranker fitted to one serves another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary, NameTable
from linker.dictionary.columns import RaggedArray
from linker.linking.ancestors import Ancestors, climb
from linker.linking.lists import PLACE
from linker.linking.words import Words, sequences
from linker.records import NAME_KINDS
from linker.search.concepts import Candidates, ends, looked_up, ranges
from linker.search.hybrid import NameVectors

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

_SHARPNESS = 6.0  # of the softmax of scores
SHORT_FORM = re.compile(r"[A-Z0-9-]{1,8}s?")
_COORDINATED = re.compile(r"\b(?:and|or)\b|[/&]", re.IGNORECASE)
_EQUAL = 1e-5  # of a cosine of characters
_KINDS = {name: place for place, name in enumerate(NAME_KINDS)}

TEXT_COLUMNS = PLACE["agreement"]  # those before it depend on nothing but the text


@dataclass(frozen=True, slots=True)
class _WordsOfTexts:
    """The words of some texts."""

    lists: RaggedArray  # the words of each text, as numbers
    total: NDArray[np.float64]  # their weight, (texts,)
    numbers: NDArray[Any]  # how many of them are numbers, (texts,)
    seen: NDArray[np.int32]  # the words that occur, in order
    present: NDArray[np.bool_]  # (texts, seen)

    @classmethod
    def of(cls, words: Words, texts: Sequence[str]) -> _WordsOfTexts:
        own = words.of_texts(texts)
        known = np.minimum(own.indices, len(words.texts) - 1)
        is_known = own.indices < len(words.texts)
        weight = np.where(is_known, words.weight[known], words.unknown_weight)
        is_number = is_known & words.is_number[known]
        owner = np.repeat(np.arange(len(texts)), own.sizes)
        seen, local = np.unique(own.indices, return_inverse=True)
        present = np.zeros((len(texts), max(1, len(seen))), bool)
        present[owner, local] = True
        total = np.bincount(owner, weight.astype(np.float64), len(texts))
        numbers = np.bincount(owner, is_number, len(texts))
        return cls(own, total.astype(np.float64), numbers, seen, present)

    def shared(
        self, lists: RaggedArray, rows: NDArray[Any], query: Rows
    ) -> tuple[NDArray[Any], Rows, NDArray[np.bool_]]:
        """The words of some lists, the row that each is of, and whether the text has them.

        Args:
            lists: words, as numbers.
            rows: of the lists.
            query: the text that each row is compared with.
        """
        starts, sizes = lists.indptr[rows], lists.sizes[rows]
        row = np.repeat(np.arange(len(rows)), sizes)
        word = lists.indices[ranges(starts, sizes)]
        at = np.minimum(np.searchsorted(self.seen, word), max(0, len(self.seen) - 1))
        is_there = np.zeros(len(word), bool) if not len(self.seen) else self.seen[at] == word
        is_there[is_there] = self.present[query[row[is_there]], at[is_there]]
        return word, row, is_there


class Matches:
    """Describes candidates.

    Args:
        dictionary: the concepts and names, annotated mentions among them.
        table: its distinct normalised names.
        words: of its names.
        sparse_weight: λ of the scores of candidates; 1 where characters alone make them.
        second: the names by a second encoder; None: there is none.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        table: NameTable,
        words: Words,
        sparse_weight: float = 1.0,
        second: NameVectors | None = None,
    ) -> None:
        self._dictionary, self._table, self._words = dictionary, table, words
        self._sparse_weight, self._second = sparse_weight, second

    @cached_property
    def ancestors(self) -> Ancestors:
        """What stands above the concepts."""
        return Ancestors(self._dictionary, self._table)

    @cached_property
    def _annotated(self) -> NDArray[Any]:
        """How often each name was annotated with its concept, (names of the dictionary,)."""
        names = self._dictionary.columns.names
        return (
            np.zeros(len(names.concept), np.int32) if names.annotated is None else names.annotated
        )

    @cached_property
    def _of_concept(self) -> Floats:
        """log(1 + how often any name was annotated with each concept), (concepts,)."""
        counts = self._annotated[self._table.entries].astype(np.float64)
        total = np.bincount(self._table.concepts, counts, len(self._dictionary))
        return np.log1p(total).astype(np.float32)

    @cached_property
    def _names_of_concepts(self) -> RaggedArray:
        """The rows of the names of each concept, the preferred one first."""
        table = self._table
        names = np.repeat(np.arange(len(table)), np.diff(table.indptr))
        is_other = table.entries != self._dictionary.preferred[table.concepts]
        order = np.lexsort((names, is_other, table.concepts))
        sizes = np.bincount(table.concepts, minlength=len(self._dictionary))
        return RaggedArray(ends(sizes), names[order].astype(np.int32))

    def written(self, form: str) -> str:
        """A name in normal form, which the dictionary has, as it is written there."""
        row = self._table.row(form)
        return self._dictionary.names[int(self._table.entries[self._table.indptr[row]])]

    def describe(
        self, texts: Sequence[tuple[str, str]], found: Candidates, steps: Rows | int = 0
    ) -> tuple[Floats, NDArray[np.float64]]:
        """Describe the candidates of some texts.

        Args:
            texts: in normal form, and as they are written.
            found: their candidates.
            steps: (candidates,) as `Ancestors.appended` gives them; 0: all were found.

        Returns:
            (rows, `TEXT_COLUMNS`), and the weight of the words of each text, (texts,).
        """
        values = np.zeros((len(found.concepts), TEXT_COLUMNS), np.float32)
        column = {name: values[:, place] for name, place in PLACE.items() if place < TEXT_COLUMNS}
        counts = np.diff(found.indptr)
        query = np.repeat(np.arange(len(texts)), counts)
        place = np.arange(len(query)) - found.indptr[query]
        column["steps"][:] = steps
        _scores(column, found, query, place, self._sparse_weight)
        weight = self._compare_words(column, [form for form, _ in texts], found, query)
        self._compare_forms(column, texts, found, query)
        self._look_around(column, found, query, place)
        self._remember(column, [form for form, _ in texts], found, query)
        if self._second:
            self._compare_vectors(column, self._second, texts, found)
        return values, weight

    def _compare_words(
        self, column: Mapping[str, Floats], texts: Sequence[str], found: Candidates, query: Rows
    ) -> NDArray[np.float64]:
        """Which words the texts share with names and concepts; the weight of each text's words."""
        words, count = self._words, len(query)
        own = _WordsOfTexts.of(words, texts)
        total = own.total[query]
        word, row, is_there = own.shared(words.names, found.entries, query)
        of_word = words.weight[word]
        both = np.bincount(row[is_there], of_word[is_there], count)
        of_name = np.bincount(row, of_word, count)
        column["of_mention"][:] = _share(both, total)
        column["of_name"][:] = _share(both, of_name)
        column["only_mention"][:] = np.maximum(0, total - both)
        column["only_name"][:] = of_name - both
        numbers = np.bincount(row, words.is_number[word], count)
        numbers_both = np.bincount(row[is_there], words.is_number[word[is_there]], count)
        column["numbers_common"][:] = numbers_both
        column["numbers_mention"][:] = np.maximum(0, own.numbers[query] - numbers_both)
        column["numbers_name"][:] = numbers - numbers_both
        self._compare_order(column, own.lists, found, query, word)
        common = np.bincount(row[is_there], minlength=count)
        size = words.names.sizes[found.entries]
        column["common"][:] = common
        column["extra"][:] = size - common
        column["same_words"][:] = (common == size) & (column["words"] == size)
        word, row, is_there = own.shared(
            words.names, self._dictionary.preferred[found.concepts], query
        )
        both = np.bincount(row[is_there], words.weight[word[is_there]], count)
        column["of_preferred"][:] = _share(both, np.bincount(row, words.weight[word], count))
        word, row, is_there = own.shared(words.concepts, found.concepts, query)
        covered = np.bincount(row[is_there], words.weight[word[is_there]], count)
        column["of_concept"][:] = _share(covered, total)
        column["only_concept"][:] = np.maximum(0, total - covered)
        return own.total

    def _compare_order(
        self,
        column: Mapping[str, Floats],
        own: RaggedArray,
        found: Candidates,
        query: Rows,
        word: NDArray[Any],
    ) -> None:
        """How many words there are, and whether they stand in the same order.

        Args:
            column: the columns that are filled.
            own: the words of the texts.
            found: the candidates.
            query: the text of each candidate.
            word: the words of the candidates' names, one name behind another.
        """
        sizes = self._words.names.sizes[found.entries]
        names = RaggedArray(ends(sizes), word)
        column["words"][:] = own.sizes[query]
        column["same_order"][:] = sequences(names) == sequences(own)[query]
        (last, first), (last_name, first_name) = _ends(own), _ends(names)
        column["same_last"][:] = (last[query] == last_name) & (last_name >= 0)
        column["same_first"][:] = (first[query] == first_name) & (first_name >= 0)
        row = np.repeat(np.arange(len(query)), sizes)
        is_last = word == last[query][row]
        column["head_inside"][:] = np.bincount(row[is_last], minlength=len(query)) > 0

    def _compare_forms(
        self,
        column: Mapping[str, Floats],
        texts: Sequence[tuple[str, str]],
        found: Candidates,
        query: Rows,
    ) -> None:
        """Lengths, kinds of the names, and what the texts look like."""
        names = self._dictionary.columns.names
        length = np.log1p(np.array([len(form) for form, _ in texts]))[query]
        offsets = self._table.texts.offsets
        of_name = np.log1p(offsets[found.names + 1] - offsets[found.names])
        column["length"][:] = length
        column["longer"][:] = of_name - length
        looks = [
            (bool(SHORT_FORM.fullmatch(text)), bool(_COORDINATED.search(text))) for _, text in texts
        ]
        short, coordinated = np.array(looks, np.float32).reshape(-1, 2).T
        heads = [self._words.head_facts(form, text) for form, text in texts]
        facts = np.array(heads, np.float32).reshape(-1, 3)[query].T
        column["head"][:], column["head_share"][:], column["head_ending"][:] = facts
        column["short_form"][:] = short[query]
        column["coordinated"][:] = coordinated[query]
        kind = names.kind[found.entries]
        column["preferred"][:] = kind == _KINDS["preferred"]
        column["training"][:] = kind == _KINDS["training"]
        column["inexact"][:] = ~np.isin(
            kind, [_KINDS[k] for k in ("exact", "preferred", "training")]
        )
        if names.lent is not None:
            column["lent"][:] = names.lent[found.entries]
        keys = query * np.int64(len(self._table)) + found.names
        _, place, bearers = np.unique(keys, return_inverse=True, return_counts=True)
        column["meanings"][:] = np.log(bearers[place])

    def _compare_vectors(
        self,
        column: Mapping[str, Floats],
        second: NameVectors,
        texts: Sequence[tuple[str, str]],
        found: Candidates,
    ) -> None:
        """How near the mention is to the names of each concept by the second encoder."""
        vectors, query = second.encode([form for form, _ in texts]), found.queries
        names = self._names_of_concepts
        starts, sizes = names.indptr[found.concepts], names.sizes[found.concepts]
        row = np.repeat(np.arange(len(query)), sizes)
        products = second.products(vectors, query[row], names.indices[ranges(starts, sizes)])
        first = ends(sizes)[:-1]
        highest = products[np.lexsort((-products, row))]
        best, next_best, third = (highest[first + np.minimum(n, sizes - 1)] for n in range(3))
        column["second_encoder"][:] = 1
        column["second_name"][:] = second.products(vectors, query, found.names)
        column["second_preferred"][:] = products[first]
        column["second_best"][:], column["second_next"][:] = best, next_best
        column["second_mean"][:] = (best + next_best + third) / 3

    def _look_around(
        self, column: Mapping[str, Floats], found: Candidates, query: Rows, place: Rows
    ) -> None:
        """Which of the candidates of a list stand above and below each other."""
        size = np.int64(len(self._dictionary))
        keys = query * size + found.concepts
        rows = np.argsort(keys)
        keys = keys[rows]
        concepts = found.concepts.astype(np.int64)
        climbed = climb(self._dictionary.columns.parents, np.arange(len(query)), concepts)
        below = climbed.owners
        wanted = query[below] * size + climbed.concepts
        at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
        is_there = keys[at] == wanted if len(keys) else np.zeros(0, bool)
        below, above = below[is_there], rows[at[is_there]]
        below, above = below[below != above], above[below != above]
        count = len(query)
        column["below"][:] = np.bincount(above, minlength=count)
        column["above"][:] = np.bincount(below, minlength=count)
        column["size"][:] = np.log1p(self.ancestors.sizes[found.concepts])
        np.maximum.at(column["score_below"], above, column["score"][below])
        alike = np.exp(_SHARPNESS * column["score"].astype(np.float64))
        alike /= np.bincount(query, alike, len(found.indptr) - 1)[query]
        column["likeness"][:] = alike + np.bincount(above, alike[below], count)
        column["below_first"][below[place[above] == 0]] = 1
        column["above_first"][above[place[below] == 0]] = 1

    def _remember(
        self, column: Mapping[str, Floats], forms: Sequence[str], found: Candidates, query: Rows
    ) -> None:
        """How often names and concepts were annotated."""
        if self._dictionary.columns.names.annotated is None:
            return
        table, size = self._table, np.int64(len(self._dictionary))
        rows = table.rows(forms)
        known = np.flatnonzero(rows >= 0)
        counts = (table.indptr[rows + 1] - table.indptr[rows])[known]
        pairs = ranges(table.indptr[rows[known]], counts)
        keys = np.repeat(known, counts) * size + table.concepts[pairs]
        of_text = self._annotated[table.entries[pairs]].astype(np.float64)
        same = looked_up(keys, of_text, query * size + found.concepts)
        total = np.bincount(keys // size, of_text, len(forms))[query]
        column["annotated"][:] = np.log1p(self._annotated[found.entries])
        column["annotated_same"][:] = np.log1p(same)
        column["annotated_share"][:] = _share(same, total)
        column["annotated_concept"][:] = self._of_concept[found.concepts]


def _scores(
    column: Mapping[str, Floats], found: Candidates, query: Rows, place: Rows, weight: float
) -> None:
    """What the generator says, as shares of what it would say of a name that is the mention.

    So encoders whose vectors have different lengths, and different λ, are alike to a ranker.

    Args:
        column: to fill; `steps` is filled.
        found: the candidates.
        query: of each.
        place: of each among those of its query, from 0.
        weight: λ; 1 for a generator without vectors.
    """
    own = found.encoded.squares if found.encoded else None
    if own is None:
        own = np.zeros(len(found.indptr) - 1, np.float32)
    full = np.maximum(own + max(0.0, weight), _EQUAL)[query]
    scores, second = found.scores / full, found.second / full
    sparse = found.scores if found.sparse is None else found.sparse
    column["score"][:] = scores
    column["sparse"][:] = sparse
    if found.dense is not None:
        column["dense"][:] = found.dense / np.maximum(own, _EQUAL)[query]
    filled = np.flatnonzero(np.diff(found.indptr) > 0)
    first = found.indptr[:-1][filled]
    has_second = np.diff(found.indptr)[filled] > 1
    has_second[has_second] = column["steps"][first[has_second] + 1] == 0
    next_score = np.where(has_second, scores[np.minimum(first + 1, len(query) - 1)], 0)
    column["lead"][first] = scores[first] - next_score
    column["place"][:] = np.log1p(place)
    column["matches"][:] = np.log(found.matches)
    column["second"][:] = second - scores
    column["same_letters"][:] = sparse > 1 - _EQUAL


def _share(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """part / whole, at most 1; 0 where the whole is 0."""
    share: NDArray[np.float64] = np.zeros(len(part))
    np.divide(part, whole, out=share, where=whole > 0)
    return np.minimum(1.0, share, out=share)


def _ends(lists: RaggedArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The last and the first number of each list; -1 for an empty one."""
    indices = np.append(lists.indices.astype(np.int64), -1)
    is_filled = lists.sizes > 0
    last = np.where(is_filled, indices[lists.indptr[1:] - 1], -1)
    return last, np.where(is_filled, indices[lists.indptr[:-1]], -1)
