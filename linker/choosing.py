"""Which of two linkers finds more of the names that neither was trained on, and with which λ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary
from linker.linker import Linker

FACTORS = (0.5, 1.0, 2.0, 4.0, 8.0)  # of λ; with more, characters decide alone
LEAST, MOST, SHARE = 50, 1000, 0.2  # names that are held out: of fewer nothing can be told; more cost names to train on

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
        ranked = linker.generator.concepts([linker.normalize(name) for name in self.names], 1)
        return np.array([row in found.concepts for row, found in zip(self.concepts.tolist(), ranked, strict=True)], bool)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many of `asked` mentions each linker puts in the right place, and what follows."""

    linker: Linker  # the better one, the sparse one where they are alike
    asked: int
    sparse: int
    dense: int  # with the best λ
    factor: float  # what the dense linker's λ was multiplied by


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
    return HeldOut(smaller, [table.texts[row] for row in out.tolist()], table.concepts[table.indptr[out]])


def compare(sparse: Linker, dense: Linker, right: Right) -> Comparison:
    """Try the dense linker with several λ, and take it where it is right more often than the sparse one."""
    base = right(sparse)
    tried = {factor: int(right(dense.weighted(factor)).sum()) for factor in FACTORS}
    factor = max(tried, key=lambda factor: (tried[factor], factor))
    is_better = tried[factor] > base.sum()
    return Comparison(dense.weighted(factor) if is_better else sparse, len(base), int(base.sum()), tried[factor], factor)
