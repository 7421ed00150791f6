"""Character n-gram TF-IDF, the sparse encoder of BioSyn (Sung et al. 2020, section 3.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass
from scipy.sparse import csr_matrix

from linker.encoders.base import SparseEncoder
from linker.errors import LinkerError
from linker.io import persistence
from linker.io.option_group import OptionGroup

_DIGITS = 30  # the longest n-gram: with two known characters its code is below 2^62
_BATCH = 100_000  # names whose n-grams are in memory at once while fitting


@dataclass(frozen=True, slots=True)
class TfidfOptions(OptionGroup):
    """The settings of TF-IDF: what a term is, and how it is weighted.

    The defaults had the best MRR on development data (benchmarks/accuracy/ncbi_disease.py).
    """

    group: ClassVar[str] = "sparse"

    # char_wb: n-grams within words, each word between two blanks; BioSyn char
    analyzer: Literal["char", "char_wb"] = "char_wb"
    ngram_min: Annotated[int, Field(ge=1, le=_DIGITS)] = 3  # shortest n-gram, characters; BioSyn 1
    ngram_max: Annotated[int, Field(ge=1, le=_DIGITS)] = 3  # longest n-gram, characters; BioSyn 2
    sublinear: bool = True  # 1 + ln(tf) instead of tf; BioSyn not

    def __post_init__(self) -> None:
        if self.ngram_min > self.ngram_max:
            raise LinkerError(
                f"sparse.ngram_min {self.ngram_min} and ngram_max {self.ngram_max}: "
                "1 <= ngram_min <= ngram_max is wanted"
            )


class TfidfEncoder(SparseEncoder):
    """Sparse: character n-gram TF-IDF; needs no download and no torch.

    A term weighs tf x (ln((1 + n) / (1 + df)) + 1), and rows have unit length, as scikit-learn
    defines it. An n-gram is coded as one integer whose digits are the places of its
    characters in `_characters`, so that arrays suffice to count them.

    Args:
        options: what a term is, and how it is weighted.
    """

    def __init__(self, options: TfidfOptions | None = None) -> None:
        self.options = options or TfidfOptions()
        self._characters: NDArray[np.uint32] = np.empty(0, np.uint32)
        self._terms: NDArray[np.int64] = np.empty(0, np.int64)
        self._idf: NDArray[np.float64] = np.empty(0)

    def fit(self, names: Sequence[str]) -> None:
        characters = {" "}
        for i in range(0, len(names), _BATCH):
            characters.update(*names[i : i + _BATCH])
        self._characters = np.array(sorted(map(ord, characters)), np.uint32)
        digits = self.options.ngram_max
        if (len(self._characters) + 2) ** digits >= 2**62:
            raise LinkerError(
                f"sparse.ngram_max {digits} is too long for {len(self._characters)} "
                "distinct characters; take a smaller one"
            )
        terms, df = np.empty(0, np.int64), np.empty(0, np.int64)
        for i in range(0, len(names), _BATCH):
            batch = names[i : i + _BATCH]
            owners, grams = self._grams(batch)
            new, columns = np.unique(grams, return_inverse=True)
            shape = len(batch), max(1, len(new))
            counts = csr_matrix((np.ones(len(grams), np.int8), (owners, columns)), shape=shape)
            of_batch = np.bincount(counts.indices, minlength=len(new))  # each name once
            terms, place = np.unique(np.concatenate([terms, new]), return_inverse=True)
            df = np.bincount(place, np.concatenate([df, of_batch]), len(terms)).astype(np.int64)
        self._terms = terms
        self._idf = np.log((1 + len(names)) / (1 + df)) + 1

    def encode(self, names: Sequence[str]) -> csr_matrix:
        weights = self._counts(names)
        if self.options.sublinear:
            weights.data = 1 + np.log(weights.data)
        weights.data *= self._idf[weights.indices]
        rows = np.repeat(np.arange(len(names)), np.diff(weights.indptr))
        norms = np.sqrt(np.bincount(rows, weights.data**2, len(names)))
        weights.data /= norms[rows]
        return weights.astype(np.float32)

    def _counts(self, names: Sequence[str]) -> csr_matrix:
        """How often each known term stands in each name, float64 (len(names), terms)."""
        rows, grams = self._grams(names)
        columns = np.searchsorted(self._terms, grams)
        known = columns < len(self._terms)
        known[known] = self._terms[columns[known]] == grams[known]
        counts = csr_matrix(
            (np.ones(known.sum()), (rows[known], columns[known])),
            shape=(len(names), len(self._terms)),
        )
        counts.sort_indices()
        return counts

    def _points(
        self, names: Sequence[str]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
        """The code points of all pieces in a row; the piece and the name that each stands in.

        A piece is a name, or a word between two blanks.
        """
        if self.options.analyzer == "char":
            pieces, owners = list(names), np.arange(len(names))
        else:
            words = [name.split() for name in names]
            shortest = self.options.ngram_min  # a shorter word is one term, padded
            pieces = [f" {word} ".ljust(shortest) for name in words for word in name]
            owners = np.repeat(np.arange(len(names)), [len(name) for name in words])
        lengths = np.array([len(piece) for piece in pieces], np.int64)
        points = np.frombuffer("".join(pieces).encode("utf-32-le", "surrogatepass"), np.uint32)
        piece = np.repeat(np.arange(len(pieces)), lengths)
        return points, piece, np.asarray(owners, np.int64)[piece]

    def _grams(self, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All n-grams of all names: the name of each, and its code."""
        points, piece, owner = self._points(names)
        place = np.searchsorted(self._characters, points)
        known = place < len(self._characters)
        known[known] = self._characters[place[known]] == points[known]
        digit: NDArray[np.int64] = np.where(known, place + 2, 1).astype(
            np.int64
        )  # 1 is every unknown character, 0 none
        base = len(self._characters) + 2
        codes: NDArray[np.int64] = np.zeros(len(digit), np.int64)
        rows, grams = [], []
        for n in range(1, self.options.ngram_max + 1):
            size = len(digit) - n + 1
            if size <= 0:
                break
            codes = codes[:size] * base + digit[n - 1 :]
            if n >= self.options.ngram_min:
                whole = piece[:size] == piece[n - 1 :]
                rows.append(owner[:size][whole])
                grams.append(codes[whole])
        empty = [np.empty(0, np.int64)]
        return np.concatenate(rows or empty), np.concatenate(grams or empty)

    def save(self, folder: Path) -> None:
        persistence.save_arrays(
            folder, {"characters": self._characters, "terms": self._terms, "idf": self._idf}
        )
        persistence.save_json(folder / "options.json", dataclasses.asdict(self.options))

    @classmethod
    def load(cls, folder: Path) -> TfidfEncoder:
        encoder = cls(TfidfOptions(**persistence.load_json(folder / "options.json")))
        arrays = persistence.load_arrays(folder)
        characters, terms, idf = (arrays[name] for name in ("characters", "terms", "idf"))
        is_flat = characters.ndim == terms.ndim == 1 and idf.shape == terms.shape
        if not (is_flat and np.isfinite(idf).all()):
            raise ValueError("the terms and their weights do not fit together")
        encoder._characters, encoder._terms, encoder._idf = characters, terms, idf
        return encoder
