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
from scipy.sparse import vstack

from linker import persistence
from linker.candidates.base import Generator
from linker.candidates.hybrid import HybridGenerator, encode_names
from linker.candidates.index import Floats, IndexOptions
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary, NameTable
from linker.dictionary.columns import annotations_of
from linker.encoders.base import is_unit
from linker.errors import LinkerError
from linker.linking.folder import Seen
from linker.linking.linker import Linker
from linker.options import TrainingRecipe
from linker.training.candidate_lists import name_of_each
from linker.training.data import (
    TrainingData,
    collect,
    concept_counts,
    frequency_of_names,
    report,
    table_of,
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
    annotated = list(collect(mentions, options))
    names = [name for mention in annotated for name in mention.names]
    release, normalize = dictionary or linker.dictionary, _remembering(linker, plan.normalize)
    kept, gone = _carried(linker.dictionary, release, normalize)
    extended = release.add(names if dictionary is None else [*kept, *names], normalize)
    report(annotated, release)
    table = table_of(extended, normalize)
    rows = _rows_of(table, linker.generator.table)
    by_characters = _by_characters(linker.generator)
    sparse = _sparse(by_characters, table, extended, rows, options.index)
    data = TrainingData(release, extended, sparse, annotated, normalize)
    generator: Generator = sparse
    if isinstance(linker.generator, HybridGenerator):
        generator = _hybrid(linker.dictionary, linker.generator, data, rows, options.training)
    seen = _seen(linker.seen, data.seen, extended)
    now = dataclasses.replace(linker, dictionary=extended, generator=generator, options=options)
    now = dataclasses.replace(now, seen=seen, known_words=None)
    unknown = by_characters.encoder.unknown_terms(_texts(table, np.flatnonzero(rows < 0)))
    return now, Changes(
        **_changed_concepts(linker.dictionary, extended),
        **_changed_names(linker, extended, table, rows),
        new_terms=unknown,
        annotations_kept=len(kept),
        annotations_gone=gone,
    )


def _by_characters(generator: Generator) -> SparseGenerator:
    by_characters = generator.sparse if isinstance(generator, HybridGenerator) else generator
    assert isinstance(by_characters, SparseGenerator)  # noqa: S101 - there is no third kind
    return by_characters


def _remembering(before: Linker, normalize: Callable[[str], str]) -> Callable[[str], str]:
    """Give the normal form of a name, without work for most names of before."""
    table = before.generator.table
    names, texts = list(before.dictionary.names), list(table.texts)  # faster than one by one
    rows = zip(table.entries.tolist(), name_of_each(table).tolist(), strict=True)
    forms = {names[entry]: texts[row] for entry, row in rows}

    def form(text: str) -> str:
        known = forms.get(text)
        return normalize(text) if known is None else known

    return form


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


def _rows_of(table: NameTable, old: NameTable) -> Rows:
    """The row of each name in the old table; -1 for a new name."""
    row_of = {name: row for row, name in enumerate(old.texts)}
    return np.fromiter((row_of.get(name, -1) for name in table.texts), np.int64, len(table))


def _texts(table: NameTable, rows: Rows) -> list[str]:
    return [table.texts[row] for row in rows.tolist()]


def _sparse(
    old: SparseGenerator,
    table: NameTable,
    dictionary: Dictionary,
    rows: Rows,
    options: IndexOptions,
) -> SparseGenerator:
    """Index the names by characters, with the vectors of the names that are known."""
    known, new = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
    weights = old.by_name[rows[known]]
    if len(new):
        weights = vstack([weights, old.encoder.encode(_texts(table, new))], "csr")
        weights = weights[np.argsort(np.concatenate([known, new]))]
    return SparseGenerator.index(table, dictionary, old.encoder, options, weights)


def _hybrid(
    before: Dictionary,
    old: HybridGenerator,
    data: TrainingData,
    rows: Rows,
    options: TrainingRecipe,
) -> HybridGenerator:
    """Index the names by dense vectors too, with those of the names that are known."""
    new = np.flatnonzero(rows < 0)
    encoded = encode_names(old.encoder, _texts(data.indexed.table, new))
    encoded = persistence.to_storage(persistence.to_fp16(encoded))
    kind = np.result_type(old.vectors.dtype, encoded.dtype if len(new) else np.float16)
    vectors = np.empty((len(rows), old.encoder.dim), kind)
    vectors[rows >= 0], vectors[new] = old.vectors[rows[rows >= 0]], encoded
    weight = np.float32(options.frequency_weight / options.scale(is_unit(old.encoder)))
    bias = None
    if weight:
        bias = weight * _frequency(before, old.table, old.bias / weight, data)
    return HybridGenerator(data.indexed, old.encoder, vectors, old.sparse_weight, bias)


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
