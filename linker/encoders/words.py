"""Word vectors; a name is the mean of those of its words (Fivez et al. 2021a, eq. 1)."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linker import files, persistence
from linker.errors import LinkerError
from linker.persistence import Strings
from linker.text.normalize import normalize
from linker.types import Activity

if TYPE_CHECKING:
    from linker.encoders.word_training import WordsRecipe

Floats = NDArray[np.float32]
Pieces = tuple[Any, Any]
"""The vector of a name as a sum: rows of `WordVectors.vectors`, and the weight of each.

They are an array "i" and an array "f".
"""

# words that a model keeps besides those of its names, since mentions have them too
FREQUENT = 20_000
# prefixes of tokens that are no words; words are lower case, without spaces
NAME, CONCEPT = "NAME ", "CONCEPT "

_KIND = "words"  # of the folder


@dataclass(frozen=True, slots=True)
class Subwords:
    """Character n-grams as fastText cuts and hashes them (Bojanowski et al. 2017, section 3.2)."""

    min_n: int
    max_n: int
    buckets: int

    def __post_init__(self) -> None:
        numbers = self.min_n, self.max_n, self.buckets
        if any(type(number) is not int for number in numbers) or self.buckets < 1:
            raise ValueError(f"n-grams of {numbers}; expected: lengths and buckets, whole numbers")

    def hashes(self, word: str) -> list[int]:
        """The bucket of each n-gram of `<word>`; n-grams are counted in characters.

        A boundary alone is no n-gram.
        """
        marked = f"<{word}>"
        ends = range(len(marked) + 1)
        spans = (
            (a, b)
            for a in ends
            for b in range(a + max(1, self.min_n), min(a + self.max_n, len(marked)) + 1)
        )
        return [
            _fnv(marked[a:b]) % self.buckets
            for a, b in spans
            if not (b - a == 1 and (a == 0 or b == len(marked)))
        ]


def _fnv(text: str) -> int:
    """The hash of fastText, FNV-1a over signed bytes; the import of gensim's takes seconds."""
    value = 2166136261
    for byte in text.encode("utf-8", "replace"):
        value = ((value ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619) & 0xFFFFFFFF
    return value


class WordVectors:
    """Vectors of words, and of character n-grams for unknown ones.

    Args:
        words: the vocabulary; tokens that are names or concepts begin with `NAME` and `CONCEPT`.
        vectors: float32 or float16 (len(words) + len(buckets), dim), the n-grams behind the words;
            may be memory-mapped.
        subwords: the settings of the n-grams; None: there are none.
        buckets: sorted hashes of the n-grams that have a vector.

    Raises:
        ValueError: the arrays do not fit each other.
        LinkerError: there is no word, or a number is not finite.
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: NDArray[Any],
        subwords: Subwords | None = None,
        buckets: NDArray[np.int64] | None = None,
    ) -> None:
        self.buckets = np.empty(0, np.int64) if buckets is None else buckets
        self.words, self.subwords = words, subwords
        self.stored = np.asarray(vectors)  # plain, since slices of a memmap are slow
        self.row: dict[str, int] = {}
        for row, word in enumerate(words):
            # of words that differ in case only the first, as the more frequent
            self.row.setdefault(word, row)
        if (
            vectors.ndim != 2
            or len(vectors) != len(words) + len(self.buckets)
            or vectors.dtype not in (np.float32, np.float16)
        ):
            shape = f"({len(words)} words + {len(self.buckets)} n-grams, dim)"
            raise ValueError(
                f"the word vectors are {vectors.dtype} {vectors.shape}, expected: float32 {shape}"
            )
        if not len(words):
            raise LinkerError(
                "there is no word with a vector; give more text, or a smaller words.min_count"
            )
        if not isinstance(vectors, np.memmap):  # of which parts are checked when they are read
            _checked(self.stored)

    @property
    def dim(self) -> int:
        """The number of components of a vector."""
        return int(self.stored.shape[1])

    @cached_property
    def vectors(self) -> Floats:
        """All vectors as float32; linking asks for those of some rows, by `floats`."""
        return _checked(persistence.from_storage(self.stored))

    def floats(self, rows: NDArray[Any]) -> Floats:
        """The vectors of some rows as float32 (len(rows), dim)."""
        return _checked(persistence.from_storage(self.stored[rows]))

    @property
    def checksum(self) -> str:
        """A fingerprint of the vectors."""
        digest = hashlib.sha256("\n".join(self.words).encode("utf-8", "replace"))
        for values in (self.buckets, self.vectors):
            digest.update(np.ascontiguousarray(values).data)
        return digest.hexdigest()

    def pieces(self, name: str) -> Pieces:
        """The vectors that a name is the weighted sum of.

        Each of its words has the same weight; an unknown word is the mean of its n-grams. Words
        without any vector are left out; a name of nothing else has no pieces, and the zero vector.
        """
        rows_of_words = [rows for word in tokens(name) if len(rows := self._rows(word))]
        rows, weights = array("i", itertools.chain.from_iterable(rows_of_words)), array("f")
        for word_rows in rows_of_words:
            weights.extend([1 / (len(rows_of_words) * len(word_rows))] * len(word_rows))
        return rows, weights

    def _rows(self, word: str) -> Sequence[int]:
        row = self.row.get(word)
        if row is not None:
            return (row,)
        if self.subwords is None:
            return ()
        first, buckets, hashes = len(self.words), self.buckets, self.subwords.hashes(word)
        places = np.searchsorted(buckets, np.array(hashes, np.int64)).tolist()
        return [
            first + place
            for place, wanted in zip(places, hashes, strict=True)
            if place < len(buckets) and buckets[place] == wanted
        ]

    def means(self, names: Sequence[str]) -> Floats:
        """The mean word vector u_n of each name (Fivez et al. 2021a, eq. 1).

        Returns:
            float32 (len(names), dim).
        """
        means = np.zeros((len(names), self.dim), np.float32)
        for i, name in enumerate(names):
            rows, weights = self.pieces(name)
            if rows:
                means[i] = np.asarray(weights, np.float32) @ self.floats(np.asarray(rows))
        return means

    def of(self, token: str) -> Floats | None:
        """The vector of a token: a word, or `NAME` or `CONCEPT` and a name or an id; or None."""
        row = self.row.get(token)
        return None if row is None else self.floats(np.array([row]))[0]

    def named(self, names: Sequence[str]) -> Floats:
        """The vector of each name as a token (`NAME`), or the mean of its words where it has none.

        Returns:
            float32 (len(names), dim).
        """
        vectors = self.means(names)
        for row, name in enumerate(names):
            vector = self.of(NAME + " ".join(tokens(name)))
            if vector is not None:
                vectors[row] = vector
        return vectors

    def pruned(self, names: Iterable[str], frequent: int = FREQUENT) -> WordVectors:
        """Keep only the words of some names, the frequent words, and the n-grams of all these.

        Of the tokens that are no words, those of the names and of all concepts stay.

        Args:
            names: whose words are kept.
            frequent: how many of the first words of the vocabulary are kept.
        """
        cut = [tokens(name) for name in names]
        kept_words = {word for name in cut for word in name} | set(self.words[:frequent])
        named = {NAME + " ".join(name) for name in cut} | {
            word for word in self.words if word.startswith(CONCEPT)
        }
        words = [word for word in self.row if word in kept_words or word in named]
        if self.subwords is None:
            return WordVectors(words, self.vectors[[self.row[word] for word in words]])
        used = {h for word in kept_words for h in self.subwords.hashes(word)}
        ngrams = np.array(
            [place for place, h in enumerate(self.buckets.tolist()) if h in used], np.int64
        )
        rows = np.concatenate(
            [np.array([self.row[word] for word in words], np.int64), len(self.words) + ngrams]
        )
        return WordVectors(words, self.vectors[rows], self.subwords, self.buckets[ngrams])

    def to_fp16(self) -> WordVectors:
        """The same vectors, rounded to half precision, as a model stores them."""
        return WordVectors(
            self.words, persistence.to_fp16(self.vectors), self.subwords, self.buckets
        )

    def write(self, folder: Path) -> None:
        """Write what `open` needs into a folder that is being saved."""
        columns = Strings.of(self.words).arrays("word")
        persistence.save_arrays(
            folder,
            {**columns, "vectors": persistence.to_storage(self.stored), "buckets": self.buckets},
        )
        persistence.save_json(
            folder / "subwords.json", self.subwords and dataclasses.asdict(self.subwords)
        )

    @classmethod
    def open(cls, folder: Path) -> WordVectors:
        """Read what `write` wrote; the vectors stay memory-mapped."""
        arrays = persistence.load_arrays(folder)
        saved = persistence.load_json(folder / "subwords.json")
        subwords = None if saved is None else Subwords(**saved)
        words = list(Strings.from_arrays(arrays, "word"))
        return cls(words, arrays["vectors"], subwords, arrays["buckets"])

    def save(self, folder: files.Pathlike) -> None:
        """Write the vectors to a folder of their own; an existing one is replaced at the end."""
        config = {"words": len(self.words), "dim": self.dim}
        with persistence.saving(folder, _KIND, config, lambda aside, _: self.open(aside)) as aside:
            self.write(aside)

    @classmethod
    def read(cls, path: files.Pathlike) -> WordVectors:
        """Read a folder that `save` wrote, or a file of another program (`word_training.read`).

        Raises:
            LinkerError: it is neither, or a line of it is broken.
        """
        from linker.encoders import word_training

        if Path(path).is_dir():
            return persistence.load(path, _KIND, lambda folder, _: cls.open(folder))
        return word_training.read(path)

    @classmethod
    def of_names(
        cls,
        names: Iterable[str],
        options: WordsRecipe,
        on_activity: Callable[[Activity], None] = lambda part: None,
    ) -> WordVectors:
        """Train vectors on nothing but names; see `word_training.train`.

        Raises:
            LinkerError: the options require texts, or as for `train`.
        """
        from linker.encoders import word_training

        if options.tokens != "words":
            raise LinkerError(
                f"words.tokens={options.tokens} finds names in texts, and there are none; "
                "give some with --text"
            )
        return word_training.train(map(tokens, names), options, on_activity)


def joined(
    names: Iterable[Sequence[Any]],
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """The `Pieces` of n names one after another.

    Returns:
        The rows of all pieces and their weights, (pieces,) each, and where each name begins and the
        last one ends, (n + 1,).
    """
    rows, weights, ends = array("i"), array("f"), array("q", [0])
    for name_rows, name_weights in names:
        rows.extend(name_rows)
        weights.extend(name_weights)
        ends.append(len(rows))
    return np.asarray(rows, np.int64), np.asarray(weights, np.float32), np.asarray(ends)


def _checked(vectors: NDArray[Any]) -> NDArray[Any]:
    """The vectors, all of which are finite."""
    if vectors.size and not np.isfinite([vectors.min(), vectors.max()]).all():
        raise LinkerError("the word vectors are not finite; their file is damaged")
    return vectors


def unit(vectors: Floats) -> Floats:
    """Vectors (n, dim) brought to length 1; zero vectors stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths, lengths, 1), np.float32)


def tokens(text: str) -> list[str]:
    """The words of a text or a name: lower case, without punctuation."""
    return normalize(text).split()
