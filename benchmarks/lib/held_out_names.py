"""Names held out of a dictionary, so that a linker is asked what its dictionary lacks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linker import Dictionary
from linker.dictionary import NameTable
from linker.dictionary.classes import bags
from linker.text.normalize import normalize

MOST, SHARE = 2000, 0.2  # names that are held out, at most, of those that can be


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A dictionary without some names, and these."""

    dictionary: Dictionary
    texts: list[str]  # in normal form
    ids: list[str]  # of the concept of each


def held_out(dictionary: Dictionary, seed: int) -> HeldOut:
    """Hold a sample of names out of a dictionary, one for each concept.

    Preferred names, those of several concepts, and names of the same words as one of these stay.
    What has the same words as a name that is held out, in any order, goes with it.
    """
    forms = list(map(normalize, dictionary.names))
    names = NameTable.of(forms, dictionary.name_concept, dictionary.entry_rank)
    row_of = {text: row for row, text in enumerate(names.texts)}
    rows, bag = np.array([row_of[form] for form in forms]), bags(list(names.texts))
    stays = np.diff(names.indptr) != 1
    stays[rows[dictionary.preferred]] = True
    spare = np.flatnonzero(~np.isin(bag, bag[stays]))
    spare = np.random.default_rng(seed).permutation(spare)
    concepts, first = np.unique(names.concepts[names.indptr[spare]], return_index=True)
    out = spare[np.sort(first)[: min(MOST, len(concepts), int(SHARE * len(spare)))]]
    return HeldOut(
        dictionary.without(np.flatnonzero(np.isin(bag[rows], bag[out]))),
        [names.texts[row] for row in out.tolist()],
        [dictionary.ids[row] for row in names.concepts[names.indptr[out]].tolist()],
    )
