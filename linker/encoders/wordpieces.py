"""Vectors of sub-words, from which the vector of any name is made without torch."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linker import files, persistence
from linker.errors import LinkerError, of_package
from linker.persistence import Strings

KIND = "wordpieces"
CONTINUED = "##"  # what begins a sub-word that does not begin a word, as in BERT's vocabularies

_WORD = re.compile(r"[^\W_]+")
_ALPHABET = re.compile(r"[a-z0-9]+|[α-ω]")  # of the sub-words that are kept
_LONGEST = 64  # characters of a word that are cut into sub-words

Floats = NDArray[np.float32]


class WordPieces:
    """A table of sub-words (WordPieces) with a vector for each.

    A word is cut into the longest sub-words from its beginning, as BERT does (Wu et al. 2016,
    section 4.1). The vector of a name is the sum of the vectors of all its sub-words.

    Args:
        pieces: the sub-words; those that do not begin a word begin with `##`.
        vectors: int8 (pieces, dim); may be memory-mapped.
        scales: float32 (pieces,), by which the vectors are multiplied.

    Raises:
        ValueError: the arrays do not fit together.
    """

    def __init__(self, pieces: Sequence[str], vectors: NDArray[np.int8], scales: Floats) -> None:
        if vectors.dtype != np.int8 or vectors.shape[:-1] != (len(pieces),):
            raise ValueError(
                f"they are {vectors.dtype} {vectors.shape}, expected: int8 ({len(pieces)}, dim)"
            )
        if scales.dtype != np.float32 or scales.shape != (len(pieces),):
            raise ValueError(f"the scales are {scales.dtype} {scales.shape}")
        if not np.isfinite(scales).all():
            raise ValueError("the scales are not finite")
        self.pieces, self.vectors, self.scales = pieces, np.asarray(vectors), scales
        self._row = {piece: row for row, piece in enumerate(pieces)}

    @classmethod
    def of(cls, pieces: Sequence[str], vectors: Floats) -> WordPieces:
        """Round each vector to 8 bits a component.

        Args:
            pieces: the sub-words.
            vectors: float32 (pieces, dim), finite.
        """
        largest = np.abs(vectors).max(axis=1, initial=0)
        scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
        return cls(pieces, np.rint(vectors / scales[:, None]).astype(np.int8), scales)

    @classmethod
    def shipped(cls) -> WordPieces:
        """The table that comes with the package (scripts/make_wordpieces.py makes it).

        Raises:
            LinkerError: it is missing or damaged.
        """
        with resources.as_file(resources.files("linker.encoders") / "wordpieces_data") as folder:
            try:
                return cls.read(folder)
            except LinkerError as error:
                raise of_package("the table of sub-words", error) from None

    @property
    def dim(self) -> int:
        """The number of components of a vector."""
        return int(self.vectors.shape[1])

    @property
    def checksum(self) -> str:
        """A fingerprint of the table."""
        digest = hashlib.sha256("\n".join(self.pieces).encode())
        for values in (self.vectors, self.scales):
            digest.update(np.ascontiguousarray(values).data)
        return digest.hexdigest()

    def cut(self, word: str) -> list[int]:
        """The rows of the sub-words of a word; none where a part of it is no sub-word."""
        rows: list[int] = []
        start, word = 0, word[:_LONGEST]
        while start < len(word):
            prefix = CONTINUED if start else ""
            for end in range(len(word), start, -1):
                row = self._row.get(prefix + word[start:end])
                if row is not None:
                    rows.append(row)
                    start = end
                    break
            else:
                return []
        return rows

    def counts(self, names: Sequence[str]) -> tuple[csr_matrix, NDArray[np.int64]]:
        """Count the sub-words of names.

        Returns:
            float32 (names, used): how often each name has each sub-word, and the rows of these in
            the table (used,).
        """
        known: dict[str, list[int]] = {}
        rows, ends = array("q"), array("q", [0])
        for name in names:
            for word in words(name):
                if word not in known:
                    known[word] = self.cut(word)
                rows.extend(known[word])
            ends.append(len(rows))
        used, columns = np.unique(np.asarray(rows, np.int64), return_inverse=True)
        ones = np.ones(len(columns), np.float32)
        shape = len(names), len(used)
        return csr_matrix((ones, columns, np.asarray(ends)), shape=shape), used

    def floats(self, rows: NDArray[np.int64] | slice = slice(None)) -> Floats:
        """The vectors of some sub-words, float32 (rows, dim)."""
        return np.asarray(self.vectors[rows] * self.scales[rows][:, None], np.float32)

    def sums(self, names: Sequence[str]) -> Floats:
        """The sum of the vectors of each name's sub-words, float32 (names, dim)."""
        counts, used = self.counts(names)
        return np.asarray(counts @ self.floats(used), np.float32)

    def projected(self, weights: Floats) -> WordPieces:
        """The table with each vector multiplied by weights (dim, new dim)."""
        return WordPieces.of(self.pieces, self.floats() @ weights)

    def write(self, folder: Path) -> None:
        """Write what `open` needs into a folder that is being saved."""
        columns = Strings.of(self.pieces).arrays("piece")
        arrays = {**columns, "vectors": self.vectors, "scales": self.scales}
        persistence.save_arrays(folder, arrays)

    @classmethod
    def open(cls, folder: Path) -> WordPieces:
        """Memory-map what `write` wrote."""
        arrays = persistence.load_arrays(folder)
        try:
            pieces = Strings.from_arrays(arrays, "piece")
            pieces.check()
            return cls(list(pieces), arrays["vectors"], arrays["scales"])
        except (KeyError, TypeError, ValueError) as error:
            raise LinkerError(
                f"{folder}: holds no sub-words as linker writes them ({error}); make it again"
            ) from None

    def save(self, folder: files.Pathlike, config: Mapping[str, Any]) -> None:
        """Write the table to a folder of its own.

        Args:
            folder: the folder.
            config: what it was made of, for `config.json`.
        """
        with persistence.saving(folder, KIND, config, self._loaded) as aside:
            self.write(aside)

    @classmethod
    def read(cls, folder: files.Pathlike) -> WordPieces:
        """Memory-map a table that `save` wrote."""
        return persistence.load(folder, KIND, cls._loaded)

    @classmethod
    def _loaded(cls, folder: Path, _: dict[str, Any]) -> WordPieces:
        return cls.open(folder)


def words(name: str) -> list[str]:
    """The words of a name: lower case, without accents and punctuation."""
    if not name.isascii():
        letters = unicodedata.normalize("NFD", name)
        name = "".join(c for c in letters if not unicodedata.combining(c))
    return _WORD.findall(name.lower())


def is_kept(piece: str) -> bool:
    """Whether a sub-word has letters that the table knows: Latin ones, digits, one Greek letter."""
    return bool(_ALPHABET.fullmatch(piece.removeprefix(CONTINUED)))
