"""Static vectors: a name is the sum of the vectors of its sub-words; needs neither torch nor hub.

The vectors are those that a sentence encoder makes of single words, brought to sub-words once and
for all (`scripts/make_wordpieces.py`). They are fitted to a dictionary by two closed forms.
"""

from __future__ import annotations

import dataclasses
import logging
import re
import unicodedata
from array import array
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass
from scipy.sparse import csr_matrix

from linker.dictionary import NameTable
from linker.dictionary.classes import Floats, of_concepts
from linker.encoders.base import Changes, Encoder, EncoderContext, Preset, merged
from linker.encoders.words import unit
from linker.errors import LinkerError, of_package
from linker.io import files, persistence
from linker.io.option_group import OptionGroup
from linker.io.persistence import Strings

logger = logging.getLogger(__name__)

CONTINUED = "##"  # what begins a sub-word that does not begin a word, as in BERT's vocabularies

_KIND, _OPTIONS = "wordpieces", "static.json"
_WORD = re.compile(r"[^\W_]+")
_LONGEST = 64  # characters of a word that are cut into sub-words
_FITTED = 200_000  # names that the vectors are fitted to, at most
_ENOUGH = 100  # names for each component that is kept; with fewer all components are
# share of the identity in the covariance of names of one concept, which vectors are whitened by
_SHRINKAGE = 0.5
_SMALL = 1e-6  # variance that rounding alone makes

_UNTRAINED: Changes = {"training": {"epochs": 0}, "recipe": {"sparse_weight": 10}}  # λ = 10 / 20
_TUNED: Changes = {
    "training": {"epochs": 1, "learning_rate": 3e-3, "dictionary_queries": 0},
}


@dataclass(frozen=True, slots=True)
class StaticOptions(OptionGroup):
    """Static vectors: how the table of sub-words is fitted to the dictionary."""

    group: ClassVar[str] = "static"

    # components of a vector, at most; small dictionaries keep all of the table's
    dim: Annotated[int, Field(ge=1, le=4096)] = 128
    normalize: ClassVar[bool] = True  # unit vectors, so that the dense score is a cosine


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
        fits = vectors.dtype == np.int8 and vectors.shape[:-1] == scales.shape == (len(pieces),)
        if not (fits and scales.dtype == np.float32 and np.isfinite(scales).all()):
            raise ValueError("the vectors and their scales do not fit the sub-words")
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
        scales = np.asarray(largest / 127, np.float32)
        scales[scales == 0] = 1
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
        counts = csr_matrix((ones, columns, np.asarray(ends)), shape=shape)
        counts.sort_indices()  # names of the same words in another order have the same sums
        return counts, used

    def floats(self, rows: NDArray[np.int64] | slice = slice(None)) -> Floats:
        """The vectors of some sub-words, float32 (rows, dim)."""
        return np.asarray(self.vectors[rows] * self.scales[rows][:, None], np.float32)

    def sums(self, names: Sequence[str]) -> Floats:
        """The sum of the vectors of each name's sub-words, float32 (names, dim)."""
        counts, used = self.counts(names)
        return np.asarray(counts @ self.floats(used), np.float32)

    def write(self, folder: Path) -> None:
        """Write what `open` needs into a folder that is being saved."""
        columns = Strings.of(self.pieces).arrays("piece")
        arrays = {**columns, "vectors": self.vectors, "scales": self.scales}
        persistence.save_arrays(folder, arrays)

    @classmethod
    def open(cls, folder: Path) -> WordPieces:
        """Memory-map what `write` wrote."""
        arrays = persistence.load_arrays(folder)
        pieces = Strings.from_arrays(arrays, "piece")
        pieces.check()
        return cls(list(pieces), arrays["vectors"], arrays["scales"])

    def save(self, folder: files.Pathlike, config: Mapping[str, Any]) -> None:
        """Write the table to a folder of its own.

        Args:
            folder: the folder.
            config: what it was made of, for `config.json`.
        """
        with persistence.saving(folder, _KIND, config, lambda aside, _: self.open(aside)) as aside:
            self.write(aside)

    @classmethod
    def read(cls, folder: files.Pathlike) -> WordPieces:
        """Memory-map a table that `save` wrote."""
        return persistence.load(folder, _KIND, lambda inside, _: cls.open(inside))


def words(name: str) -> list[str]:
    """The words of a name: lower case, without accents and punctuation."""
    if not name.isascii():
        letters = unicodedata.normalize("NFD", name)
        name = "".join(c for c in letters if not unicodedata.combining(c))
    return _WORD.findall(name.lower())


class StaticEncoder(Encoder):
    """Dense: static vectors of sub-words, fitted to the dictionary in seconds; no torch, no hub.

    `f(n) = unit(Σ t_w)` over the sub-words w of n. A name without sub-words has a vector of zeros.
    Make one with `create` or `load`.

    Args:
        table: the sub-words and their vectors t_w.
        options: how the table was made.
    """

    Options = StaticOptions
    presets: ClassVar[Mapping[str, Preset]] = {
        "static": Preset(
            "Dense: static vectors of sub-words, fitted to the dictionary; no torch, no download; "
            "the default.",
            _UNTRAINED,
        ),
        "static-tuned": Preset(
            "Dense: static, whose vectors torch trains further, by synonyms and by mentions; links "
            "without torch.",
            merged(_UNTRAINED, _TUNED),
        ),
    }
    trained_as = "static-tuned"
    covers_characters = True

    def __init__(self, table: WordPieces, options: StaticOptions) -> None:
        self.table, self.options = table, options

    @classmethod
    def create(cls, context: EncoderContext) -> StaticEncoder:
        """Fit the shipped table to the names of a dictionary.

        Where no name has a sub-word with a vector, as in other scripts, a warning says so.

        Raises:
            LinkerError: the table is missing or damaged.
        """
        options, table = context.options, WordPieces.shipped()
        vectors = table.floats() @ _fit(table, context.table, options.dim)
        return cls(WordPieces.of(table.pieces, vectors), options)

    @classmethod
    def check(cls, options: StaticOptions) -> None:
        """Open the table, which may be damaged."""
        WordPieces.shipped()

    @property
    def dim(self) -> int:
        return self.table.dim

    def encode(self, names: Sequence[str]) -> Floats:
        return unit(self.table.sums(names))

    def save(self, folder: Path) -> None:
        self.table.write(folder)
        persistence.save_json(folder / _OPTIONS, dataclasses.asdict(self.options))

    @classmethod
    def load(cls, folder: Path) -> StaticEncoder:
        return cls(
            WordPieces.open(folder), StaticOptions(**persistence.load_json(folder / _OPTIONS))
        )


def _fit(table: WordPieces, names: NameTable, dim: int, shrinkage: float = _SHRINKAGE) -> Floats:
    """The weights (dim of the table, dim) that the vectors of sub-words are multiplied by.

    They whiten the vectors of names, and keep the components with the largest variance.
    """
    classes = of_concepts(names)
    if len(classes) > _FITTED:  # the first concepts, with all their names
        classes = classes[np.flatnonzero(classes.labels < np.sort(classes.labels)[_FITTED])]
    vectors = unit(table.sums(classes.texts))
    known = np.asarray(vectors.any(axis=1))
    if not known.all():
        logger.warning(
            "%d of %d names have no word with a static vector; only characters find them",
            np.sum(~known),
            len(known),
        )
    weights = _whitening(vectors[known], classes.labels[known], shrinkage)
    if dim >= table.dim or known.sum() < _ENOUGH * dim:
        return weights
    whitened = unit(vectors @ weights)
    _, axes = np.linalg.eigh(whitened.T @ whitened)  # the largest component last
    return np.asarray(weights @ axes[:, : -dim - 1 : -1], np.float32)


def _whitening(vectors: Floats, labels: NDArray[np.int64], shrinkage: float) -> Floats:
    """S^(-1/2), S the covariance of names within their concepts, shrunk towards the identity.

    Directions in which synonyms differ count less then (WCCN, Hatch et al. 2006). Each concept
    counts alike. With few concepts of several names S is shrunk more.

    Args:
        vectors: of names, (n, dim), of length 1.
        labels: the concepts of the names, (n,).
        shrinkage: the share of the identity, at least; 1: no whitening.
    """
    order = np.argsort(labels, kind="stable")
    _, start, counts = np.unique(labels[order], return_index=True, return_counts=True)
    dim, several = vectors.shape[1], counts > 1
    shrinkage = max(shrinkage, dim / (dim + int(several.sum())))
    if shrinkage == 1 or not several.any():
        return np.eye(dim, dtype=np.float32)
    means = np.add.reduceat(vectors[order], start) / counts[:, None]
    apart = vectors[order] - np.repeat(means, counts, axis=0)
    apart /= np.sqrt(np.repeat(np.maximum(counts - 1, 1), counts))[:, None]
    covariance = apart.T @ apart / several.sum()
    mean = np.trace(covariance) / dim
    if mean * dim < _SMALL:  # synonyms have the same vectors
        return np.eye(dim, dtype=np.float32)
    covariance = (1 - shrinkage) * covariance + shrinkage * mean * np.eye(dim)
    variance, axes = np.linalg.eigh(covariance)
    return np.asarray((axes / np.sqrt(variance)) @ axes.T, np.float32)
