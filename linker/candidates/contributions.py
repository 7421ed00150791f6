"""What the n-grams and the words of a looked-up text give to the scores of names."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from linker.candidates.base import Generator
from linker.candidates.hybrid import HybridGenerator, encode_names
from linker.candidates.index import Floats
from linker.candidates.sparse import SparseGenerator
from linker.explanation import Share

_MOST_WORDS = 40  # of a text whose words are left out one by one


class Contributions:
    """What each piece of one text gives to the score of a name.

    Args:
        generator: it scores the names.
        text: in normal form.
    """

    def __init__(self, generator: Generator, text: str) -> None:
        self._hybrid = generator if isinstance(generator, HybridGenerator) else None
        sparse = self._hybrid.sparse if self._hybrid else generator
        if not isinstance(sparse, SparseGenerator):
            raise TypeError(f"{type(generator).__name__} has no n-grams")
        self._sparse, self._text = sparse, text
        self._weights = sparse.encoder.encode([text])

    def ngrams(self, row: int) -> list[Share]:
        """The terms that text and name share, the largest product first; the sum is the score.

        Args:
            row: of the name in the name table.
        """
        return self._shares(self._weights.multiply(self._sparse.by_name[row]))

    def unmatched(self, row: int) -> list[Share]:
        """The terms of a name that the text lacks, each with the square of its weight.

        The squares of all terms of a name sum to 1.

        Args:
            row: of the name in the name table.
        """
        name = self._sparse.by_name[row]
        shared = name.multiply(self._weights != 0)
        return self._shares((name - shared).power(2))

    def _shares(self, values: csr_matrix) -> list[Share]:
        """The terms of a matrix of one row, the largest value first."""
        values = csr_matrix(values)
        values.eliminate_zeros()
        texts = self._sparse.encoder.terms(values.indices)
        shares = map(Share, texts, values.data.astype(float).round(6).tolist())
        return sorted(shares, key=lambda share: (-share.value, share.text))

    def words(self, row: int) -> list[Share]:
        """The words of the text, each with what the dense product loses without it.

        The largest loss comes first. The losses do not sum to the product, as words depend on each
        other. There are none without dense vectors, or where the text has very many words.

        Args:
            row: of the name in the name table.
        """
        if self._hybrid is None or not len(self._vectors):
            return []
        count = len(self._vectors)
        products = self._hybrid.products(self._vectors, np.arange(count), np.full(count, row))
        losses = products[0] - products[1:]
        shares = map(Share, self._text.split(), losses.astype(float).round(6).tolist())
        return sorted(shares, key=lambda share: -share.value)

    @cached_property
    def _vectors(self) -> Floats:
        """The vector of the text, and those of the text without each of its words."""
        words = self._text.split()
        if self._hybrid is None or not 0 < len(words) <= _MOST_WORDS:
            return np.empty((0, 0), np.float32)
        shorter = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
        vectors = encode_names(self._hybrid.encoder, [self._text, *shorter])
        if len(words) == 1:
            vectors[1] = 0  # nothing is left
        return vectors
