"""Whether an encoder finds more of the names that it was not trained on than characters do, and with which λ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary
from linker.linker import Linker
from linker.types import Lookup

FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of λ; with more, characters decide alone
LEAST, MOST, SHARE = (
    50,
    1000,
    0.2,
)  # names that are held out: of fewer nothing can be told; more cost names to train on

Right = Callable[[Linker], NDArray[np.bool_]]
"""Which of some mentions a linker puts in the right place, (mentions,)."""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Names that were left out of a dictionary, each the only one of its concept that was, and the name of no other concept."""

    dictionary: Dictionary  # without them
    names: Sequence[str]
    concepts: NDArray[np.int32]  # (names,) rows

    def right(self, linker: Linker) -> NDArray[np.bool_]:
        """Whether a linker over the smaller dictionary puts the concept of each name first."""
        lookups = [Lookup.of(linker.normalize(name)) for name in self.names]
        ranked = linker.generator.rank(lookups, 1, "concepts")
        return np.array(
            [
                row in found.concepts
                for row, found in zip(self.concepts.tolist(), ranked, strict=True)
            ],
            bool,
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many of `asked` mentions characters and an encoder put in the right place, and what follows."""

    linker: Linker  # what is to be taken
    asked: int
    sparse: int  # right by characters
    dense: int  # right by the encoder with the best λ
    factor: float  # what its λ is multiplied by then


def hold_out(dictionary: Dictionary, form: Callable[[str], str], seed: int) -> HeldOut | None:
    """Leave a sample of names out of a dictionary; None where fewer than `LEAST` can be spared.

    Args:
        form: the normal form of a name; all names of a form are left out together.
    """
    table = dictionary.table(form)
    forms = {text: row for row, text in enumerate(table.texts)}
    rows = np.array([forms[form(text)] for text in dictionary.names], np.int64)  # of each name
    preferred = np.zeros(len(table), bool)
    preferred[rows[dictionary.preferred]] = True
    spare = np.flatnonzero((np.diff(table.indptr) == 1) & ~preferred)
    spare = np.random.default_rng(seed).permutation(spare)
    concepts, first = np.unique(table.concepts[table.indptr[spare]], return_index=True)
    count = min(MOST, len(concepts), int(SHARE * len(spare)))
    if count < LEAST:
        return None
    drawn = np.sort(first)[:count]  # the order of the permutation, a name for each concept
    out = spare[drawn]
    smaller = dictionary.without(np.flatnonzero(np.isin(rows, out)))
    return HeldOut(
        smaller, [table.texts[row] for row in out.tolist()], table.concepts[table.indptr[out]]
    )


def compare(dense: Linker, right: Right) -> Comparison:
    """Compare an encoder with characters over the same names, and take it where it wins by more than chance may give.

    The factor of λ is the one with most mentions right, of equal ones the largest. The encoder costs more, and so it must win by more than
    one standard error of the difference: the root of the number of mentions that only one of the two gets right.
    """
    sparse = dense.by_characters()
    base = right(sparse)
    tried = {factor: right(dense.weighted(factor)) for factor in FACTORS}
    factor = max(tried, key=lambda factor: (tried[factor].sum(), factor))
    best = tried[factor]
    wins = int(best.sum()) - int(base.sum()) > np.sqrt((best != base).sum())
    return Comparison(
        dense.weighted(factor) if wins else sparse,
        len(base),
        int(base.sum()),
        int(best.sum()),
        factor,
    )
