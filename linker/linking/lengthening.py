"""Names of the dictionary for texts whose words are cut off: "acute myel leuk", "Becker MD"."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary
from linker.linking.words import Words, stem
from linker.search.concepts import ranges
from linker.text.readings import Lengthened
from linker.text.word_forms import is_common

_TOKEN = re.compile(r"[^\W_]+\.?")
_MOST_TOKENS = 6
_REMEMBERED = 30_000  # words of texts that are kept
_SHORTEST = 3  # letters that a word is cut to; 2 where a point shows that it is cut
_INITIALS = range(2, 5)  # capitals that stand for as many words
_MOST_WORDS = 2_000  # that may begin as a cut word does
_LONG_ENOUGH = 6  # letters of a word that is seldom a cut one
_RARER = 5  # times that a known word is rarer than one that it begins, if it is cut
_MUCH_RARER = 100  # the same of a word that is long enough
_EXTRA = 3  # small words that a name has beside those of the text
_MOST_NAMES = 4_000  # that are compared with a text
_MOST = 3  # names of different concepts that a text may be
_IN_ORDER = 0.1  # how much more a word fits that stands in the order of the text
_FAR = math.log(5)  # how much more frequent words must be to leave the others out
_SMALL = ("of", "the", "and", "in", "with", "due", "to", "for", "by", "a")


@dataclass(frozen=True, slots=True)
class _Token:
    """A word of a text."""

    text: str
    words: frozenset[int]  # that it may be
    is_cut: bool  # whether it may be only the beginning of a word
    is_no_word: bool  # whether it is cut, as it is no common word, or has a point
    is_initials: bool  # whether its letters may stand for a word each


class Lengthening:
    """Finds names by the beginnings of their words.

    Args:
        dictionary: that has the names.
        words: of its names.
    """

    def __init__(self, dictionary: Dictionary, words: Words) -> None:
        self._dictionary = dictionary
        self._words = words
        self._token = lru_cache(_REMEMBERED)(self._token_of)

    @cached_property
    def _sorted(self) -> tuple[list[str], NDArray[np.int64]]:
        """The words in order, and the number of each."""
        texts = list(self._words.texts)
        order = sorted(range(len(texts)), key=texts.__getitem__)
        return [texts[number] for number in order], np.array(order, np.int64)

    @cached_property
    def _names_of_words(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the names of each word begin, and the rows of the names, word after word."""
        names = self._words.names
        owners = np.repeat(np.arange(len(names.indptr) - 1), names.sizes)
        order = np.argsort(names.indices, kind="stable")
        counts = np.bincount(names.indices, minlength=len(self._words.texts))
        return np.append(0, np.cumsum(counts)), owners[order]

    @cached_property
    def _content_sizes(self) -> NDArray[np.int64]:
        """How many words each name has without small ones, (names,)."""
        names = self._words.names
        is_content = ~self._is_small[names.indices]
        owners = np.repeat(np.arange(len(names.indptr) - 1), names.sizes)
        return np.bincount(owners[is_content], minlength=len(names.indptr) - 1)

    @cached_property
    def _small(self) -> frozenset[int]:
        """The words that a text may leave out."""
        places = self._words.places
        rows = (places.row(word, self._words.texts) for word in _SMALL)
        return frozenset(row for row in rows if row >= 0)

    def lengthened(self, text: str, is_expanded: bool) -> list[Lengthened]:
        """The names that a text may be, whose words it has cut off, in any order.

        Args:
            text: as it is written, with long forms in the place of listed short ones.
            is_expanded: whether there were short ones, so that no further word need be cut.

        Returns:
            Names of different concepts, those with the most frequent words first; no name where a
            word is none of the dictionary and the beginning of none.
        """
        pieces = _TOKEN.findall(text)
        if not 1 < len(pieces) <= _MOST_TOKENS:
            return []
        tokens = []
        for piece in pieces:
            token = self._token(piece)
            if token is None:
                return []
            tokens.append(token)
        if not (is_expanded or any(token.is_no_word or token.is_initials for token in tokens)):
            return []
        found: dict[frozenset[int], tuple[float, int, int]] = {}  # by their words
        tokens.sort(key=lambda token: token.is_initials)
        for row in self._names_with(tokens).tolist():
            words = self._content(row)
            fit = self._fit(tokens, words)
            key = frozenset(words)
            if fit is None:
                continue
            size = len(self._words.names[row])  # names without small words are clearer
            found[key] = max((fit, -size, -row), found.get(key, (fit, -size, -row)))
        ranked = sorted(found.values(), reverse=True)
        best = [-row for fit, _, row in ranked if fit >= ranked[0][0] - _FAR]
        concepts = {int(self._dictionary.name_concept[row]) for row in best}
        return [
            Lengthened(
                self._dictionary.names[row],
                self._has_initials(tokens, self._content(row)),
                len(concepts) == 1,
            )
            for row in best[:_MOST]
        ]

    def _content(self, row: int) -> list[int]:
        """The words of a name without small ones, in order."""
        return [word for word in self._words.names[row].tolist() if word not in self._small]

    def _has_initials(self, tokens: Sequence[_Token], words: Sequence[int]) -> bool:
        """Whether a token of a text stands for several words of a name."""
        return any(token.is_initials and token.words.isdisjoint(words) for token in tokens)

    def _token_of(self, piece: str) -> _Token | None:
        """What a word of a text may be; None where it is no word and begins none."""
        text = piece.rstrip(".").lower()
        has_point = piece.endswith(".")
        is_initials = len(text) in _INITIALS and text.isalpha() and piece.rstrip(".").isupper()
        number = self._words.places.row(stem(text), self._words.texts)
        known = frozenset((number,)) if number >= 0 else frozenset[int]()
        begun = frozenset[int]()
        if text.isalpha() and len(text) >= _SHORTEST - has_point:
            # as `stem` spells words; `american` leaves short ones ("haem", "oede") as they are
            begun = self._beginning_with(text.replace("ae", "e").replace("oe", "e"))
        if known and not has_point:
            times = int(self._words.times[number])
            most = max((int(self._words.times[word]) for word in begun), default=0)
            least = _MUCH_RARER if len(text) >= _LONG_ENOUGH else _RARER
            if most < least * times:
                begun = frozenset()
        if not known and not begun and not is_initials:
            return None
        is_cut = bool(begun - known)
        is_no_word = is_cut and (has_point or not is_common(text))
        return _Token(text, known | begun, is_cut, is_no_word, is_initials)

    def _beginning_with(self, text: str) -> frozenset[int]:
        """The words that begin with a text."""
        words, numbers = self._sorted
        start = bisect_left(words, text)
        end = bisect_left(words, text + "\U0010ffff")
        if end - start > _MOST_WORDS:
            return frozenset()
        return frozenset(numbers[start:end].tolist())

    def _names_with(self, tokens: Sequence[_Token]) -> NDArray[np.int64]:
        """The rows of the names that have a word of each token but initials, in order."""
        # initials may be no word
        written_out = [token for token in tokens if not token.is_initials]
        if not written_out:
            return np.empty(0, np.int64)
        rarest = min(written_out, key=self._times_of)
        names = self._wanted_sizes(self._names_of(rarest), tokens)
        for token in written_out:
            if token is not rarest:
                names = names[self._have_word(names, token)]
        for token in tokens:
            if token.is_initials:
                names = names[self._may_have_initials(names, token)]
        return names[:_MOST_NAMES]

    def _times_of(self, token: _Token) -> int:
        """How often names have a word of a token."""
        _, sizes = self._spans_of(token)
        return int(sizes.sum())

    def _names_of(self, token: _Token) -> NDArray[np.int64]:
        """The rows of the names that have a word of a token, in order."""
        _, rows = self._names_of_words
        return np.unique(rows[ranges(*self._spans_of(token))])

    def _spans_of(self, token: _Token) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the names of each word of a token begin in the list of all, and how many it has."""
        starts, _ = self._names_of_words
        words = np.fromiter(token.words, np.int64, len(token.words))
        return starts[words], starts[words + 1] - starts[words]

    def _wanted_sizes(
        self, names: NDArray[np.int64], tokens: Sequence[_Token]
    ) -> NDArray[np.int64]:
        """Those of some names that have as many words as a text may stand for."""
        letters = sum(len(token.text) - 1 for token in tokens if token.is_initials)
        content = self._content_sizes[names]
        is_wanted = (content >= len(tokens)) & (content <= len(tokens) + letters)
        is_wanted &= self._sizes(names) <= len(tokens) + letters + _EXTRA
        return names[is_wanted]

    def _sizes(self, names: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many words each of some names has, (names,)."""
        indptr = self._words.names.indptr
        return (indptr[names + 1] - indptr[names]).astype(np.int64)

    def _words_of(self, names: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The words of some names, each with the place of its name among these."""
        sizes = self._sizes(names)
        words = self._words.names.indices[ranges(self._words.names.indptr[names], sizes)]
        return np.repeat(np.arange(len(names)), sizes), words

    def _is_of(self, token: _Token) -> NDArray[np.bool_]:
        """Whether each word is one that a token may be, (words,)."""
        is_of_token = np.zeros(len(self._words.texts), bool)
        is_of_token[list(token.words)] = True
        return is_of_token

    def _have_word(self, names: NDArray[np.int64], token: _Token) -> NDArray[np.bool_]:
        """Whether each of some names has a word of a token, (names,)."""
        owners, words = self._words_of(names)
        has_word = np.zeros(len(names), bool)
        has_word[owners[self._is_of(token)[words]]] = True
        return has_word

    @cached_property
    def _is_small(self) -> NDArray[np.bool_]:
        """Whether each word is one that a text may leave out, (words,)."""
        return np.isin(np.arange(len(self._words.texts)), list(self._small))

    @cached_property
    def _first_letters(self) -> NDArray[np.int64]:
        """The code of the first letter of each word, (words,); 0 for an empty one."""
        return np.array([ord(text[0]) if text else 0 for text in self._words.texts], np.int64)

    def _may_have_initials(self, names: NDArray[np.int64], token: _Token) -> NDArray[np.bool_]:
        """Whether names have a word of a token, or words that begin with its letters, (names,).

        Args:
            names: their rows.
            token: that may stand for several words.
        """
        owners, words = self._words_of(names)
        is_content = ~self._is_small[words]
        words = words[is_content]
        owners = owners[is_content]
        has_token = np.zeros(len(names), bool)
        has_token[owners[self._is_of(token)[words]]] = True
        starts = len(words) - len(token.text) + 1
        if starts <= 0:
            return has_token
        letters = self._first_letters[words]
        is_start = owners[:starts] == owners[len(token.text) - 1 :]
        for place, letter in enumerate(token.text):
            is_start &= letters[place : place + starts] == ord(letter)
        has_token[owners[:starts][is_start]] = True
        return has_token

    def _fit(self, tokens: Sequence[_Token], words: Sequence[int]) -> float | None:
        """How well a name fits a text, by how frequent the words are; None where it does not.

        Args:
            tokens: of the text, initials last.
            words: of the name, in order, without small ones.
        """
        left = [*words]
        fit = 0.0
        last = -1
        for token in tokens:
            place = self._place(token, left)
            if place is None:
                return None
            at, size = place
            for word in left[at : at + size]:
                if token.is_cut or size > 1:
                    fit += math.log(1 + int(self._words.times[word]))
            fit += _IN_ORDER * (at >= last)
            last = at
            left[at : at + size] = [-1] * size
        return fit if all(word < 0 for word in left) else None

    def _place(self, token: _Token, left: Sequence[int]) -> tuple[int, int] | None:
        """Where a token stands among words of a name that are left, and for how many of them."""
        for at, word in enumerate(left):
            if word in token.words:
                return at, 1
        size = len(token.text)
        for at in range(len(left) - size + 1) if token.is_initials else ():
            if self._are_initials(token.text, left[at : at + size]):
                return at, size
        return None

    def _are_initials(self, text: str, words: Sequence[int]) -> bool:
        """Whether the letters of a text begin words of a name."""
        pairs = zip(words, text, strict=True)
        return all(w >= 0 and self._words.texts[w].startswith(letter) for w, letter in pairs)
