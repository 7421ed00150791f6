"""A new release of the dictionary for a trained linker: nothing is trained, little is encoded.

The names that the linker knows keep their vectors, those that are new are encoded, and those that
are gone are dropped. The terms of the sparse encoder and their weights stay, so that old scores
stay comparable. What annotated mentions taught moves to the concepts of the new release.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linker import persistence
from linker.candidates.base import Generator
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.index import Floats, IndexOptions
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary, NameTable
from linker.dictionary.columns import annotations_of
from linker.encoders.base import is_unit
from linker.errors import LinkerError
from linker.linking.folder import Seen
from linker.linking.linker import Linker
from linker.training.data import (
    TrainingData,
    concept_counts,
    frequency_of_names,
    name_of_each,
    report,
)
from linker.training.plan import TrainingPlan
from linker.types import Document, Mention

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a new release changed. Names are distinct normalised ones."""

    concepts_added: int
    concepts_gone: int
    concepts_moved: int  # to another id, which the new release gives
    names_added: int  # they are encoded
    names_gone: int
    names_moved: int  # names of both releases that stand for other concepts now
    names_reused: int  # their vectors are those of before
    new_terms: int  # n-grams of the added names that the sparse encoder does not know
    annotations_kept: int  # annotated mentions that were learnt before, whose concept is there
    annotations_gone: int

    def summary(self) -> str:
        """A line for concepts, names, terms and annotations."""
        return "\n".join(
            (
                f"concepts: {self.concepts_added:,} added, {self.concepts_gone:,} gone, "
                f"{self.concepts_moved:,} moved to another id",
                f"names: {self.names_added:,} added, {self.names_gone:,} gone, "
                f"{self.names_moved:,} of other concepts than before",
                f"encoded: {self.names_added:,} names; {self.names_reused:,} reused; "
                f"{self.new_terms:,} n-grams of the added names are unknown to the model",
                f"annotated mentions of before: {self.annotations_kept:,} kept, "
                f"{self.annotations_gone:,} of concepts that are gone",
            )
        )


def update(
    linker: Linker,
    dictionary: Dictionary | None = None,
    mentions: Iterable[Mention | Document] = (),
    *,
    index: IndexOptions | None = None,
) -> tuple[Linker, Changes]:
    """Take a new release of the dictionary, or further annotated mentions, without training.

    What was learnt is kept: the terms of the sparse encoder and their weights, annotated mentions
    of concepts that are still there, and the ranker. Only new names are encoded.

    Args:
        linker: which stays as it is.
        dictionary: the new release; None: the one that the linker has.
        mentions: annotated mentions, which become names as in training.
        index: how the vectors are searched, once it is saved; None: as before.

    Returns:
        The linker, and what changed.

    Raises:
        LinkerError: no name is left once normalised, the dictionary knows no annotated id, or the
            linker is restricted to a part.
    """
    if linker.restrictions:
        raise LinkerError("the linker is one of a part; update the whole one, and restrict it then")
    options = dataclasses.replace(linker.options, index=index or linker.options.index)
    plan = TrainingPlan(linker.encoder, options, linker.corrections)
    release, old = dictionary or linker.dictionary, linker.generator
    kept, gone = _carried(linker.dictionary, release, plan.normalize)
    by_characters = old.sparse if isinstance(old, HybridGenerator) else old
    assert isinstance(by_characters, SparseGenerator)  # noqa: S101 - there is no third kind
    encoder = by_characters.encoder
    data = TrainingData.of(plan, release, mentions, encoder, kept if dictionary else ())
    report(data.mentions, release)
    texts = list(data.indexed.table.texts)
    rows = old.table.rows(texts)  # -1 for a new name
    generator: Generator = data.indexed
    if isinstance(old, HybridGenerator):
        recipe, bias = options.recipe, None
        weight = np.float32(recipe.frequency_weight / recipe.scale(is_unit(old.encoder)))
        if weight:
            bias = weight * _frequency(linker.dictionary, old.table, old.bias / weight, data)
        vectors = persistence.to_storage(old.vectors_of(texts))
        generator = HybridGenerator(data.indexed, old.encoder, vectors, old.sparse_weight, bias)
    now = dataclasses.replace(
        linker,
        dictionary=data.extended,
        generator=generator,
        options=options,
        seen=_seen(linker.seen, data.seen, data.extended),
        known_words=None,
    )
    return now, Changes(
        **_changed_concepts(linker.dictionary, data.extended),
        **_changed_names(linker, data.extended, data.indexed.table, rows),
        new_terms=encoder.unknown_terms([texts[row] for row in np.flatnonzero(rows < 0).tolist()]),
        annotations_kept=len(kept),
        annotations_gone=gone,
    )


def _carried(
    old: Dictionary, new: Dictionary, normalize: Callable[[str], str]
) -> tuple[list[tuple[str, Sequence[str]]], int]:
    """The annotated mentions among the old names, and how many have no concept any more."""
    annotations = annotations_of(old.columns.names, normalize)
    names: list[tuple[str, Sequence[str]]] = []
    for (text, concept), count in annotations.items():
        identifier = old.ids[concept]
        if new.rows(identifier):
            names += [(text, (identifier,))] * count
    return names, annotations.total() - len(names)


def _texts(table: NameTable, rows: Rows) -> list[str]:
    return [table.texts[row] for row in rows.tolist()]


def _frequency(before: Dictionary, old: NameTable, frequency: Floats, data: TrainingData) -> Floats:
    """log(1 + how often the concept of a name is annotated), of before and now, (names,).

    Args:
        before: the dictionary of before.
        old: its names.
        frequency: of each of them.
        data: the names of now, and the mentions that are new.
    """
    least = np.full(len(before), np.inf)  # a name has the most of its concepts
    np.minimum.at(least, old.concepts, frequency[name_of_each(old)])
    counts = np.zeros(len(data.extended))
    for row in np.flatnonzero(np.isfinite(least) & (least > 0)).tolist():
        concepts = data.extended.rows(before.ids[row])
        for concept in concepts:
            counts[concept] += np.expm1(least[row]) / len(concepts)
    counts += concept_counts(data.mentions, data.extended)
    return frequency_of_names(counts, data.indexed.table)


def _seen(before: Seen, now: Seen, dictionary: Dictionary) -> Seen:
    """What the linker has seen, before and now, by the ids of the new release."""
    concepts = {new for old in before.concepts for new in dictionary.resolve(old)}
    without: Mapping[str, int] = Counter(before.without_concept) + Counter(now.without_concept)
    return Seen(before.mentions | now.mentions, frozenset(concepts) | now.concepts, dict(without))


def _changed_concepts(old: Dictionary, new: Dictionary) -> dict[str, int]:
    """How many concepts were added, are gone, or have another id."""
    current = set(new.ids)
    gone = [not new.rows(identifier) for identifier in old.ids]
    other = [identifier not in current for identifier in old.ids]
    return {
        "concepts_added": len(current.difference(old.ids)),
        "concepts_gone": sum(gone),
        "concepts_moved": sum(other) - sum(gone),
    }


def _changed_names(before: Linker, new: Dictionary, table: NameTable, rows: Rows) -> dict[str, int]:
    """How many names were added, are gone, stand for other concepts, or keep their vectors."""
    old, known = before.generator.table, rows >= 0
    targets = [new.rows(identifier) for identifier in before.dictionary.ids]
    place = np.array([target[0] if target else -1 for target in targets], np.int64)
    is_kept = np.zeros(len(old), bool)
    is_kept[rows[known]] = True
    of_old, of_new = name_of_each(old), name_of_each(table)
    pairs_before = of_old * len(new) + place[old.concepts]
    pairs_before = pairs_before[is_kept[of_old] & (place[old.concepts] >= 0)]
    pairs_now = (rows[of_new] * len(new) + table.concepts)[known[of_new]]
    changed = np.setdiff1d(pairs_now, pairs_before) // len(new)
    return {
        "names_added": int((~known).sum()),
        "names_gone": int((~is_kept).sum()),
        "names_moved": len(np.unique(changed)),
        "names_reused": int(known.sum()),
    }
