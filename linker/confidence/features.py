"""What a linker knows of its own answer: the features of the probability that it is right."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.candidates.base import Ranked
from linker.dictionary import Dictionary, NameTable
from linker.types import NAME_KINDS, Lookup, ReadingKind

_REMEMBERED = 10_000  # texts, and pairs of a text and a name, of which it is known what they say
DEPTH = 5  # concepts that are compared, however few are returned
NAMES = (
    "score",  # of the first concept
    "margin",  # of the first concept to the second
    "sparse",  # the part of the score that characters give
    "dense",  # the part that vectors give
    "sparse_lead",  # by how much the first concept is ahead by characters alone, of those compared
    "dense_lead",  # the same by vectors alone
    "exact",  # whether the matched name is the mention, in normal form
    "meanings",  # log of the number of compared concepts that bear the matched name
    "preferred",  # whether the matched name is a preferred one
    "training",  # whether it is known from annotated mentions alone
    "inexact",  # whether its source calls it narrow, broad, related or an abbreviation
    "lent",  # whether another vocabulary lent it
    "annotated",  # log(1 + how often the matched name was annotated with the concept)
    "without_concept",  # log(1 + how often the mention was annotated as having no concept)
    "letters",  # log of the number of characters of the mention
    "words",  # of the mention
    "short_form",  # whether the mention is one word in capitals, of few characters
    "of_mention",  # the share of the mention's words that the matched name has
    "of_name",  # the share of the matched name's words that the mention has
    "coordinated",  # whether the mention holds "and", "or" or a slash
    "usual",  # whether the mention is read in the most usual of the ways it can be read in
    "expanded",  # whether a short form was expanded
    "dropped",  # words of the mention that were left out to find a name
    "agreement",  # whether another mention of the document, spelt otherwise, has the same concept
)
RISING = (  # features with which the probability never falls
    "score",
    "margin",
    "sparse",
    "dense",
    "sparse_lead",
    "dense_lead",
    "exact",
    "annotated",
    "of_mention",
    "of_name",
    "agreement",
)
_SHORT_FORM = re.compile(r"[A-Z0-9-]{1,8}s?")
_COORDINATED = re.compile(r"\b(?:and|or)\b|[/&]", re.IGNORECASE)
_KINDS = {name: place for place, name in enumerate(NAME_KINDS)}
_EXACT = (_KINDS["exact"], _KINDS["preferred"], _KINDS["training"])


class Features:
    """Makes the features of answers.

    Args:
        dictionary: the concepts and their names.
        table: the normalised names.
        without_concept: how often a normalised mention was annotated as having no concept.
    """

    def __init__(
        self, dictionary: Dictionary, table: NameTable, without_concept: Mapping[str, int]
    ) -> None:
        self._texts, self._without_concept = table.texts, without_concept
        names = dictionary.columns.names
        self._kind, self._lent, self._annotated = names.kind, names.lent, names.annotated
        self._compared = lru_cache(_REMEMBERED)(self._words_in_common)
        self._arguments = dictionary, table, without_concept

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with an empty cache
        return Features, self._arguments

    def of_answer(
        self, lookup: Lookup, ranked: Ranked, kind: ReadingKind, usual: bool, agrees: bool
    ) -> list[float]:
        """The features of the first concept of a ranking, in the order of `NAMES`.

        Args:
            lookup: the mention or a part of it.
            ranked: the ranking of its concepts, `DEPTH` of them if there are so many.
            kind: how the mention is read.
            usual: whether that is the most usual way to read it.
            agrees: whether another mention of the document has the same first concept.
        """
        scores = ranked.scores[:DEPTH].tolist()
        sparse, dense = (
            [0.0] if part is None else part[:DEPTH].tolist()
            for part in (ranked.sparse, ranked.dense)
        )
        rows = ranked.names[:DEPTH].tolist()
        entry, text = int(ranked.entries[0]), lookup.normalized
        read = lookup.text if kind == "split" else lookup.expanded or lookup.mention.text
        letters, words, short_form, coordinated = _of_text(text, lookup.text, read)
        is_exact, shared, others = self._compared(text, rows[0])
        name_kind = int(self._kind[entry])
        annotated = 0 if self._annotated is None else int(self._annotated[entry])
        return [
            scores[0],
            _lead(scores),
            sparse[0],
            dense[0],
            _lead(sparse),
            _lead(dense),
            is_exact,
            math.log(rows.count(rows[0])),
            name_kind == _KINDS["preferred"],
            name_kind == _KINDS["training"],
            name_kind not in _EXACT,
            self._lent is not None and bool(self._lent[entry]),
            math.log1p(annotated),
            math.log1p(self._without_concept.get(text, 0)),
            letters,
            words,
            short_form,
            shared / max(1, words),
            shared / max(1, others),
            coordinated,
            usual,
            kind == "expanded",
            len(read.split()) - len(lookup.text.split()) if kind == "shortened" else 0,
            agrees,
        ]

    def _words_in_common(self, text: str, row: int) -> tuple[bool, int, int]:
        """Whether a name is a text, the words that both have, and the words of the name."""
        name = self._texts[row]
        words = name.split()
        return name == text, len(set(text.split()).intersection(words)), len(words)


@lru_cache(_REMEMBERED)
def _of_text(normalized: str, written: str, read: str) -> tuple[float, int, bool, bool]:
    """What the texts of a lookup say: letters, words, short form, coordinated."""
    return (
        math.log1p(len(normalized)),
        len(normalized.split()),
        _SHORT_FORM.fullmatch(written) is not None,
        _COORDINATED.search(read) is not None,
    )


def stacked(values: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """The features of several answers, (answers, features)."""
    return np.array(values, np.float64).reshape(len(values), len(NAMES))


def _lead(values: Sequence[float]) -> float:
    """How much the first value is above the largest of the others; itself, where it is alone."""
    return values[0] - max(values[1:], default=0.0)
