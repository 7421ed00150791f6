"""Whether an encoder finds more names than characters do: names that it was not trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from linker.candidates.base import Generator
from linker.dictionary import Dictionary
from linker.training.randomness import Stream, rng
from linker.types import Lookup

if TYPE_CHECKING:
    from typing_extensions import Self

FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of λ; with more, characters decide alone
FEWEST, MOST = 50, 1000  # names to hold out: fewer tell nothing, more are missed in training
SHARE = 0.2  # of the names that may be held out, at most


class Trialled(Protocol):
    """What is tried: a linker."""

    @property
    def generator(self) -> Generator: ...

    def normalize(self, text: str) -> str: ...

    def by_characters(self) -> Self: ...

    def weighted(self, factor: float) -> Self: ...


_Linker = TypeVar("_Linker", bound=Trialled)


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Names that were left out of a dictionary, one of a concept, each the name of one concept."""

    dictionary: Dictionary  # without them
    names: Sequence[str]
    concepts: NDArray[np.int32]  # (names,) rows

    def right(self, linker: Trialled) -> NDArray[np.bool_]:
        """Whether a linker over the smaller dictionary puts the concept of each name first."""
        lookups = [Lookup.of(linker.normalize(name)) for name in self.names]
        rankings = linker.generator.rank(lookups, 1, "concepts")
        pairs = zip(self.concepts.tolist(), rankings, strict=True)
        return np.array([row in ranked.concepts for row, ranked in pairs], bool)


@dataclass(frozen=True, slots=True)
class Comparison(Generic[_Linker]):
    """How many mentions characters and an encoder get right, and which of the two wins."""

    linker: _Linker  # the winner
    mentions: int
    sparse: int  # right by characters
    dense: int  # right by the encoder with the best λ
    factor: float  # what λ is multiplied by then


def hold_out(dictionary: Dictionary, normalize: Callable[[str], str], seed: int) -> HeldOut | None:
    """Leave a sample of names out of a dictionary; None where fewer than `FEWEST` can be spared.

    Args:
        dictionary: all names; a preferred name is never left out, and neither is one that another
            vocabulary lent: what is asked is how the dictionary's own names are found.
        normalize: gives the normal form of a name; all names of one form are left out together.
        seed: of the sample.
    """
    table = dictionary.table(normalize)
    row_of = {text: row for row, text in enumerate(table.texts)}
    rows = np.array([row_of[normalize(text)] for text in dictionary.names], np.int64)
    is_kept = np.zeros(len(table), bool)
    is_kept[rows[dictionary.preferred]] = True
    is_kept[rows[dictionary.lent_rows]] = True
    spare = np.flatnonzero((np.diff(table.indptr) == 1) & ~is_kept)
    spare = rng(seed, Stream.TRIAL).permutation(spare)
    concepts, first = np.unique(table.concepts[table.indptr[spare]], return_index=True)
    count = min(MOST, len(concepts), int(SHARE * len(spare)))
    if count < FEWEST:
        return None
    out = spare[np.sort(first)[:count]]  # a name for each concept, in the order of the sample
    smaller = dictionary.without(np.flatnonzero(np.isin(rows, out)))
    names = [table.texts[row] for row in out.tolist()]
    return HeldOut(smaller, names, table.concepts[table.indptr[out]])


def compare(dense: _Linker, right: Callable[[_Linker], NDArray[np.bool_]]) -> Comparison[_Linker]:
    """Compare an encoder with characters over the same names.

    Of the factors of λ the one with most mentions right is taken, of equal ones the largest. The
    encoder costs more: it wins by more than one standard error of the difference, which is the root
    of the number of mentions that only one of the two gets right.

    Args:
        dense: links by the encoder and λ.
        right: returns whether a linker gets each mention right, (mentions,).
    """
    sparse = dense.by_characters()
    baseline = right(sparse)
    tried = {factor: right(dense.weighted(factor)) for factor in FACTORS}
    factor = max(tried, key=lambda factor: (tried[factor].sum(), factor))
    best = tried[factor]
    gain, error = int(best.sum()) - int(baseline.sum()), np.sqrt((best != baseline).sum())
    winner = dense.weighted(factor) if gain > error else sparse
    return Comparison(winner, len(baseline), int(baseline.sum()), int(best.sum()), factor)
