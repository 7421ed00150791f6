"""Candidates described in numbers: how a text and a name of a concept match, a batch at once.

Every column means the same in any dictionary, so that a ranker fitted to one serves another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.candidates.concepts import Candidates, ranges
from linker.dictionary import Dictionary, NameTable
from linker.dictionary.columns import Lists
from linker.ranker.words import Words, sequences
from linker.types import NAME_KINDS

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]

NEAR = 10  # candidates of a list among which ancestors and descendants are looked for
_STEPS = 4  # up the hierarchy
_SHORT_FORM = re.compile(r"[A-Z0-9-]{1,8}s?")
_COORDINATED = re.compile(r"\b(?:and|or)\b|[/&]", re.IGNORECASE)
_EQUAL = 1e-5  # of a cosine of characters
_KINDS = {name: place for place, name in enumerate(NAME_KINDS)}

COLUMNS = (
    "score",  # dense + λ · sparse
    "sparse",  # cosine of character n-grams
    "dense",  # product of the vectors; 0 where there are none
    "behind",  # score, less the best of the list
    "sparse_behind",
    "dense_behind",
    "lead",  # of the first to the second score; 0 for the others
    "place",  # log(1 + place in the order of scores)
    "matches",  # log of the names of the concept that were found
    "second",  # second best score of these, less the best
    "of_mention",  # share of the mention's words, by weight, that the name has
    "of_name",  # share of the name's words, by weight, that the mention has
    "only_mention",  # weight of the mention's words that the name lacks
    "only_name",  # weight of the name's words that the mention lacks
    "of_concept",  # share of the mention's words, by weight, that any name of the concept has
    "only_concept",  # weight of the mention's words that no name of the concept has
    "common",  # words that both have
    "extra",  # words of the name that the mention lacks
    "of_preferred",  # share of the preferred name's words, by weight, that the mention has
    "same_words",  # whether both have the same words, in any order
    "same_order",  # and in the same order
    "same_letters",  # whether both have the same n-grams of characters
    "same_last",  # whether the last words are the same
    "same_first",
    "head_inside",  # whether the mention's last word is in the name
    "numbers_common",  # numbers and single letters that both have
    "numbers_mention",  # those of the mention that the name lacks
    "numbers_name",  # those of the name that the mention lacks
    "length",  # log of the mention's characters
    "words",  # of the mention
    "longer",  # log of the name's characters, less that of the mention's
    "short_form",  # whether the mention is one word in capitals, of few characters
    "preferred",  # whether the name is the preferred one
    "training",  # whether it is known from annotated mentions alone
    "inexact",  # whether its source calls it narrow, broad, related or an abbreviation
    "lent",  # whether another vocabulary lent it
    "meanings",  # log of the concepts of the list that bear the matched name
    "below",  # candidates near the top that are descendants of this one
    "above",  # candidates near the top that are ancestors of this one
    "below_first",  # whether it is a descendant of the first one
    "above_first",  # whether it is an ancestor of the first one
    "annotated",  # log(1 + how often the matched name was annotated with the concept)
    "annotated_same",  # the same, where the matched name is the mention
    "annotated_share",  # of the annotations of the mention, those with this concept
    "annotated_concept",  # log(1 + how often any name was annotated with the concept)
    "coordinated",  # whether the mention holds "and", "or" or a slash
    "agreement",  # other mentions of the document, spelt otherwise, for which it comes first: log
    "usual",  # whether the mention is read in the most usual way
    "expanded",  # whether a short form was expanded
    "shortened",  # whether first words were left out to find a name
    "split",  # whether the mention is read as several parts
    "parts",  # how many
    "dropped",  # words that were left out
)
PLACE = {name: place for place, name in enumerate(COLUMNS)}
TEXT_COLUMNS = PLACE["agreement"]  # those before it depend on nothing but the text


class Matches:
    """Describes candidates.

    Args:
        dictionary: the concepts and names, annotated mentions among them.
        table: its distinct normalised names.
        words: of its names.
    """

    def __init__(self, dictionary: Dictionary, table: NameTable, words: Words) -> None:
        self._dictionary, self._table, self._words = dictionary, table, words

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

    def describe(self, texts: Sequence[str], written: Sequence[str], found: Candidates) -> Floats:
        """Describe the candidates of some texts, (rows, `TEXT_COLUMNS`).

        Args:
            texts: in normal form.
            written: the same as they are written.
            found: their candidates.
        """
        values = np.zeros((len(found.concepts), TEXT_COLUMNS), np.float32)
        column = {name: values[:, place] for name, place in PLACE.items() if place < TEXT_COLUMNS}
        counts = np.diff(found.indptr)
        query = np.repeat(np.arange(len(texts)), counts)
        place = np.arange(len(query)) - found.indptr[query]
        _scores(column, found, query, place)
        self._compare_words(column, texts, found, query)
        self._compare_forms(column, texts, written, found, query)
        self._look_around(column, found, query, place)
        self._remember(column, found, query)
        return values

    def _compare_words(
        self, column: Mapping[str, Floats], texts: Sequence[str], found: Candidates, query: Rows
    ) -> None:
        """Which words the texts share with the matched names, and with the concepts."""
        words = self._words
        own = words.of_texts(texts)
        known = np.minimum(own.indices, len(words.texts))
        weight, is_number = words.weight[known], words.is_number[known]
        owner = np.repeat(np.arange(len(texts)), own.sizes)
        total = np.bincount(owner, weight, len(texts))[query]
        distinct, local = np.unique(own.indices, return_inverse=True)
        present = np.zeros((len(texts), max(1, len(distinct))), bool)
        present[owner, local] = True

        def shared(
            lists: Lists, rows: NDArray[Any]
        ) -> tuple[NDArray[Any], Rows, NDArray[np.bool_]]:
            """The words of some lists, the row that each is of, and whether the text has them."""
            starts, sizes = lists.indptr[rows], lists.sizes[rows]
            row = np.repeat(np.arange(len(rows)), sizes)
            word = lists.indices[ranges(starts, sizes)]
            at = np.minimum(np.searchsorted(distinct, word), max(0, len(distinct) - 1))
            is_there = np.zeros(len(word), bool) if not len(distinct) else distinct[at] == word
            is_there[is_there] = present[query[row[is_there]], at[is_there]]
            return word, row, is_there

        count = len(query)
        word, row, is_there = shared(words.names, found.entries)
        of_word = words.weight[word]
        both = np.bincount(row[is_there], of_word[is_there], count)
        of_name = np.bincount(row, of_word, count)
        common = np.bincount(row[is_there], minlength=count)
        size = words.names.sizes[found.entries]
        column["of_mention"][:] = _share(both, total)
        column["of_name"][:] = _share(both, of_name)
        column["only_mention"][:] = np.maximum(0, total - both)
        column["only_name"][:] = of_name - both
        column["common"][:] = common
        column["extra"][:] = size - common
        numbers = np.bincount(row, words.is_number[word], count)
        numbers_both = np.bincount(row[is_there], words.is_number[word[is_there]], count)
        of_text = np.bincount(owner, is_number, len(texts))[query]
        column["numbers_common"][:] = numbers_both
        column["numbers_mention"][:] = np.maximum(0, of_text - numbers_both)
        column["numbers_name"][:] = numbers - numbers_both
        column["words"][:] = own.sizes[query]
        column["same_words"][:] = (common == size) & (own.sizes[query] == size)
        column["same_order"][:] = words.order[found.entries] == sequences(own)[query]
        last, first = _ends(own)
        last_name, first_name = _ends(words.names)
        column["same_last"][:] = last[query] == last_name[found.entries]
        column["same_first"][:] = first[query] == first_name[found.entries]
        is_last = word == last[query][row]
        column["head_inside"][:] = np.bincount(row[is_last], minlength=count) > 0
        word, row, is_there = shared(words.names, self._dictionary.preferred[found.concepts])
        both = np.bincount(row[is_there], words.weight[word[is_there]], count)
        column["of_preferred"][:] = _share(both, np.bincount(row, words.weight[word], count))
        word, row, is_there = shared(words.concepts, found.concepts)
        covered = np.bincount(row[is_there], words.weight[word[is_there]], count)
        column["of_concept"][:] = _share(covered, total)
        column["only_concept"][:] = np.maximum(0, total - covered)

    def _compare_forms(
        self,
        column: Mapping[str, Floats],
        texts: Sequence[str],
        written: Sequence[str],
        found: Candidates,
        query: Rows,
    ) -> None:
        """Lengths, kinds of the names, and what the texts look like."""
        names = self._dictionary.columns.names
        length = np.log1p(np.array([len(text) for text in texts]))[query]
        offsets = self._table.texts.offsets
        of_name = np.log1p(offsets[found.names + 1] - offsets[found.names])
        column["length"][:] = length
        column["longer"][:] = of_name - length
        looks = [
            (bool(_SHORT_FORM.fullmatch(text)), bool(_COORDINATED.search(text))) for text in written
        ]
        short, coordinated = np.array(looks, np.float32).reshape(-1, 2).T
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

    def _look_around(
        self, column: Mapping[str, Floats], found: Candidates, query: Rows, place: Rows
    ) -> None:
        """Which of the first candidates of a list stand above and below each other."""
        parents, size = self._dictionary.columns.parents, np.int64(len(self._dictionary))
        near = np.flatnonzero(place < NEAR)
        keys = query[near] * size + found.concepts[near]
        order = np.argsort(keys)
        keys, rows = keys[order], near[order]
        row, concept = near, found.concepts[near].astype(np.int64)
        seen = np.empty(0, np.int64)
        for _ in range(_STEPS):
            starts, sizes = parents.indptr[concept], parents.sizes[concept]
            at = np.repeat(np.arange(len(row)), sizes)
            above = parents.indices[ranges(starts, sizes)]
            pairs = np.setdiff1d(np.unique(row[at] * size + above), seen)
            seen = np.concatenate([seen, pairs])
            row, concept = np.divmod(pairs, size)
        below, above_concept = np.divmod(seen, size)
        wanted = query[below] * size + above_concept
        at = np.minimum(np.searchsorted(keys, wanted), max(0, len(keys) - 1))
        is_there = keys[at] == wanted if len(keys) else np.zeros(0, bool)
        below, above = below[is_there], rows[at[is_there]]
        below, above = below[below != above], above[below != above]
        count = len(query)
        column["below"][:] = np.bincount(above, minlength=count)
        column["above"][:] = np.bincount(below, minlength=count)
        column["below_first"][below[place[above] == 0]] = 1
        column["above_first"][above[place[below] == 0]] = 1

    def _remember(self, column: Mapping[str, Floats], found: Candidates, query: Rows) -> None:
        """How often names and concepts were annotated."""
        if self._dictionary.columns.names.annotated is None:
            return
        times = self._annotated[found.entries].astype(np.float64)
        same = np.where(column["same_letters"] * column["same_words"] > 0, times, 0.0)
        total = np.bincount(query, same, int(query.max(initial=-1)) + 1)[query]
        column["annotated"][:] = np.log1p(times)
        column["annotated_same"][:] = np.log1p(same)
        column["annotated_share"][:] = _share(same, total)
        column["annotated_concept"][:] = self._of_concept[found.concepts]


def _scores(column: Mapping[str, Floats], found: Candidates, query: Rows, place: Rows) -> None:
    """What the generator says."""
    sparse = found.scores if found.sparse is None else found.sparse
    dense = np.zeros_like(found.scores) if found.dense is None else found.dense
    for name, scores in (("score", found.scores), ("sparse", sparse), ("dense", dense)):
        column[name][:] = scores
        column["behind" if name == "score" else f"{name}_behind"][:] = (
            scores - largest(scores[:, None], found.indptr)[query, 0]
        )
    first = found.indptr[:-1][np.diff(found.indptr) > 0]
    second = np.minimum(first + 1, len(query) - 1)
    has_second = np.diff(found.indptr)[np.diff(found.indptr) > 0] > 1
    lead = found.scores[first] - np.where(has_second, found.scores[second], 0)
    column["lead"][first] = lead
    column["place"][:] = np.log1p(place)
    column["matches"][:] = np.log(found.matches)
    column["second"][:] = found.second - found.scores
    column["same_letters"][:] = sparse > 1 - _EQUAL


def largest(values: NDArray[Any], indptr: Rows) -> Floats:
    """The largest value of each column in each list, (lists, columns); 0 for an empty list."""
    result = np.zeros((len(indptr) - 1, values.shape[1]), np.float32)
    is_filled = np.diff(indptr) > 0
    if is_filled.any():
        result[is_filled] = np.maximum.reduceat(values, indptr[:-1][is_filled], axis=0)
    return result


def _share(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    """part / whole, at most 1; 0 where the whole is 0."""
    share: NDArray[np.float64] = np.zeros(len(part))
    np.divide(part, whole, out=share, where=whole > 0)
    return np.minimum(1.0, share, out=share)


def _ends(lists: Lists) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The last and the first number of each list; -1 and -2 for an empty one, which equals none."""
    indices = np.append(lists.indices.astype(np.int64), -1)
    is_filled = lists.sizes > 0
    last = np.where(is_filled, indices[lists.indptr[1:] - 1], -1)
    return last, np.where(is_filled, indices[lists.indptr[:-1]], -2)
