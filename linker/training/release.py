"""Another dictionary for a trained linker: nothing is trained, little is encoded.

Of a new release the names that the linker knows keep their vectors, and those that are new are
encoded. The terms of the sparse encoder and their weights stay, so that old scores stay comparable.
What annotated mentions taught moves to the concepts of the new release.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linker.arguments import DICTIONARY, ITEMS, LINKER, public
from linker.dictionary import Dictionary
from linker.dictionary.columns import annotations_of
from linker.encoders.base import is_unit
from linker.errors import LinkerError
from linker.io import persistence
from linker.linking.folder import Seen
from linker.linking.linker import Linker
from linker.records import Document, Mention
from linker.search.concepts import Generator
from linker.search.hybrid import HybridGenerator
from linker.search.index import Floats, IndexOptions
from linker.search.sparse import SparseGenerator
from linker.training.data import (
    TrainingData,
    check_known,
    concept_counts,
    frequency,
    name_of_each,
)
from linker.training.plan import TrainingPlan

Items = Sequence[Mention | Document]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a new release changed. Names are distinct normalised ones."""

    concepts_added: int
    concepts_gone: int
    names_added: int  # they are encoded
    names_gone: int
    names_reused: int  # their vectors are those of before
    annotations_kept: int  # annotated mentions that were learnt before, whose concept is there
    annotations_gone: int

    def summary(self) -> str:
        """A line for concepts, names and annotations."""
        return (
            f"concepts: {self.concepts_added:,} added, {self.concepts_gone:,} gone\n"
            f"names: {self.names_added:,} added and encoded, {self.names_gone:,} gone, "
            f"{self.names_reused:,} reused\n"
            f"annotated mentions of before: {self.annotations_kept:,} kept, "
            f"{self.annotations_gone:,} of concepts that are gone"
        )


@public("linker.update", linker=LINKER, dictionary=DICTIONARY.or_none(), mentions=ITEMS)
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
    before, old, new = linker.dictionary, linker.generator, dictionary or linker.dictionary
    annotations = annotations_of(before.columns.names, plan.normalize)
    learnt = [(text, (before.ids[concept],)) for text, concept in annotations.elements()]
    kept = [(text, ids) for text, ids in learnt if new.rows(ids[0])]
    sparse = old.sparse if isinstance(old, HybridGenerator) else old
    assert isinstance(sparse, SparseGenerator)  # noqa: S101 - there is no third kind
    data = TrainingData.of(plan, new, mentions, sparse.encoder, kept if dictionary else ())
    check_known(data.mentions, new, "annotated mentions")
    generator: Generator = data.indexed
    if isinstance(old, HybridGenerator):
        vectors = persistence.to_storage(old.vectors_of(list(data.indexed.table.texts)))
        generator = data.generator(
            old.encoder, old.sparse_weight, options.recipe, vectors, _frequency(linker, data)
        ).with_second(old.second and old.second.of_table(data.indexed.table))
    now = dataclasses.replace(
        linker,
        dictionary=data.extended,
        generator=generator,
        options=options,
        seen=_seen(linker.seen, data.seen, data.extended),
        known_words=None,
    )
    return now, _changes(linker, now, len(kept), len(learnt))


def _changes(before: Linker, now: Linker, kept: int, learnt: int) -> Changes:
    """What a new release changed, of which so many annotated mentions were learnt before."""
    old, new = before.dictionary, now.dictionary
    names, texts = before.generator.table, list(now.generator.table.texts)
    reused = int((names.rows(texts) >= 0).sum())
    return Changes(
        concepts_added=len(set(new.ids).difference(old.ids)),
        concepts_gone=sum(not new.rows(identifier) for identifier in old.ids),
        names_added=len(texts) - reused,
        names_gone=len(names) - reused,
        names_reused=reused,
        annotations_kept=kept,
        annotations_gone=learnt - kept,
    )


def with_dictionary(linker: Linker, dictionary: Dictionary, mentions: Items = ()) -> Linker:
    """Link to another dictionary with the encoder and λ of a linker; nothing is trained.

    Args:
        linker: the linker.
        dictionary: the names to link to, to which the sparse encoder is fitted.
        mentions: annotated ones, in place of those that the linker has learnt.
    """
    plan = TrainingPlan(linker.encoder, linker.options, linker.corrections)
    data = TrainingData.of(plan, dictionary, mentions)
    generator: Generator = data.indexed
    old = linker.generator
    if isinstance(old, HybridGenerator):
        vectors = old.vectors_of(list(data.indexed.table.texts))
        generator = data.generator(
            old.encoder, old.sparse_weight, linker.options.recipe, vectors
        ).with_second(old.second and old.second.of_table(data.indexed.table))
    return dataclasses.replace(
        linker,
        dictionary=data.extended,
        generator=generator,
        seen=data.seen,
        spans=None,
        known_words=None,
        restrictions=(),
    )


def _frequency(linker: Linker, data: TrainingData) -> Floats:
    """log(1 + how often the concept of a name is annotated), of before and now, (names,).

    Args:
        linker: of before, whose generator is hybrid.
        data: the names of now, and the mentions that are new.
    """
    before, old, recipe = linker.dictionary, linker.generator, linker.options.recipe
    assert isinstance(old, HybridGenerator)  # noqa: S101 - see above
    counts = concept_counts(data.mentions, data.extended)
    if weight := np.float32(recipe.frequency_weight / recipe.scale(is_unit(old.encoder))):
        least = np.full(len(before), np.inf)  # a name has the most of its concepts
        np.minimum.at(least, old.table.concepts, (old.bias / weight)[name_of_each(old.table)])
        for row in np.flatnonzero(np.isfinite(least) & (least > 0)).tolist():
            concepts = data.extended.rows(before.ids[row])
            for concept in concepts:
                counts[concept] += np.expm1(least[row]) / len(concepts)
    return frequency(counts, data.indexed.table)


def _seen(before: Seen, now: Seen, dictionary: Dictionary) -> Seen:
    """What the linker has seen, before and now, by the ids of the new release."""
    concepts = {new for old in before.concepts for new in dictionary.resolve(old)}
    without: Mapping[str, int] = Counter(before.without_concept) + Counter(now.without_concept)
    return Seen(before.mentions | now.mentions, frozenset(concepts) | now.concepts, dict(without))
