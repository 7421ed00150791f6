"""Lists of candidates of which it is known what is right, and the ranker that is fitted to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from linker import matching
from linker.candidates.base import Generator
from linker.candidates.hybrid import HybridGenerator
from linker.dictionary import Dictionary
from linker.linking.linker import Linker
from linker.linking.ranking import DescribedBatch
from linker.ranker import ranker as rankers
from linker.ranker.ranker import Judged, Ranker
from linker.readers.mentions import flatten
from linker.training import noise
from linker.training.data import TrainingData
from linker.training.plan import TrainingPlan
from linker.training.sampling import Stream, rng
from linker.types import Document, Mention

WEIGHT_NOISY = 0.5  # what a mention counts that stands in a wrapping, or has a typing error
WEIGHT_NONE = 0.5  # what a text counts that is no disease
FEWEST = 50  # annotated mentions to fit to; of fewer nothing can be said
_FOLDS = 5


Bools = NDArray[np.bool_]
Items = Sequence[Mention | Document]


def judged(linker: Linker, items: Items) -> Judged:
    """The lists of the annotated mentions of some items, and what of them is right.

    Raises:
        ValueError: no mention is annotated.
    """
    parts = []
    for mentions, batch in linker.lists(items):
        kept = np.flatnonzero([mention.gold is not None for mention in mentions])
        right, known = _judged(linker, mentions, batch)
        weight = np.ones(len(mentions), np.float32)
        parts.append(Judged(batch.lists, right, known, weight).only(kept))
    return Judged.joined([part for part in parts if len(part.weight)])


def _judged(linker: Linker, mentions: list[Mention], batch: DescribedBatch) -> tuple[Bools, Bools]:
    """Which candidates of a batch are right, (rows,), and which mentions have a concept."""
    lists, concepts = batch.lists, batch.found.concepts.tolist()
    ids, resolve = linker.dictionary.ids, linker.dictionary.resolve
    linkable = set(linker.generator.table.concepts.tolist())
    right, known = np.zeros(len(concepts), bool), np.zeros(len(mentions), bool)
    readings, lookups, rows = (of.tolist() for of in (lists.readings, lists.lookups, lists.rows))
    for place, mention in enumerate(mentions):
        if not (gold := mention.gold):
            continue
        wanted = matching.accepted(gold, resolve)
        known[place] = any(
            row in linkable for identifier in wanted for row in linker.dictionary.rows(identifier)
        )
        for reading in range(readings[place], readings[place + 1]):
            of_parts = range(lookups[reading], lookups[reading + 1])
            ranked = [[ids[row] for row in concepts[rows[i] : rows[i + 1]]] for i in of_parts]
            for i, own, accepted in zip(
                of_parts, ranked, matching.right_ids(ranked, gold, resolve), strict=True
            ):
                right[rows[i] : rows[i + 1]] = [identifier in accepted for identifier in own]
    return right, known


def noise_lists(linker: Linker, items: Items, seed: int) -> Iterator[Judged]:
    """The lists of mentions as people write them in cells, and of texts that are no disease.

    Args:
        linker: of the names alone, since what stands in a cell was seldom annotated before.
        items: annotated documents and mentions, which are written as in cells.
        seed: of the wrappings, the errors and the texts.
    """
    random = rng(seed, Stream.NOISE)
    if mentions := noise.noisy(items, random):
        yield judged(linker, mentions).weighted(WEIGHT_NOISY)
    texts = noise.no_disease(items, linker.engine.is_name, random)
    most = min(len(texts), _annotated(items))  # a few mentions are not outweighed
    chosen = [texts[row] for row in random.permutation(len(texts))[:most].tolist()]
    yield judged(linker, chosen).weighted(WEIGHT_NONE)


def over(
    linker: Linker,
    dictionary: Dictionary,
    mentions: Items = (),
    *,
    extend: bool = True,
) -> Linker:
    """Link to another dictionary with the encoder and λ of a linker; nothing is trained.

    Args:
        linker: the linker.
        dictionary: the names to link to.
        mentions: annotated ones.
        extend: whether they become names.
    """
    plan = TrainingPlan(linker.encoder, linker.options, linker.corrections, extend)
    data = TrainingData.of(plan, dictionary, mentions)
    generator: Generator = data.indexed
    if isinstance(trained := linker.generator, HybridGenerator):
        vectors = trained.vectors_of(list(data.indexed.table.texts))
        weight, options = trained.sparse_weight, linker.options.training
        generator = data.generator(trained.encoder, weight, options, vectors)
    return dataclasses.replace(
        linker,
        dictionary=data.extended,
        generator=generator,
        seen=data.seen,
        spans=None,
        known_words=None,
        restrictions=(),
    )


def folds(
    linker: Linker, dictionary: Dictionary, mentions: Items, seed: int, extend: bool = True
) -> Judged:
    """The lists of annotated mentions, each made by a linker that has learnt the other folds.

    The encoder stays as it is.

    Args:
        linker: the linker.
        dictionary: its names, without mentions.
        mentions: documents, which are not divided, or mentions.
        seed: of the folds.
        extend: whether the mentions of other folds become names.
    """
    fold_of = rng(seed, Stream.FOLDS).permutation(len(mentions)) % _FOLDS
    parts = []
    for fold in range(_FOLDS):
        rest = [m for m, of_one in zip(mentions, fold_of, strict=True) if of_one != fold]
        held = [m for m, of_one in zip(mentions, fold_of, strict=True) if of_one == fold]
        if _annotated(held):
            parts.append(judged(over(linker, dictionary, rest, extend=extend), held))
    return Judged.joined(parts)


def fitted(
    linker: Linker,
    dictionary: Dictionary,
    mentions: Items,
    dev: Items,
    say: Callable[[str], None],
    extend: bool = True,
) -> Ranker:
    """Fit the ranker of a linker to annotated mentions, from the weights that are shipped.

    Where gradients trained the encoder on these mentions, its scores for them are too high; the
    folds are then scored by characters alone.

    Args:
        linker: the linker; fitting starts from its ranker, if it has one.
        dictionary: its names, without mentions.
        mentions: what it was trained on; they are read in folds.
        dev: development mentions.
        say: is told what the ranker was fitted to.
        extend: whether the mentions became names.
    """
    start, seed = linker.ranker or Ranker.shipped(), linker.options.training.seed
    linker = linker.with_ranker(start)
    sources: list[tuple[str, Callable[[], Judged]]] = []
    if _annotated(mentions) >= FEWEST:
        reader = linker
        if linker.best_epoch and isinstance(linker.generator, HybridGenerator):
            reader = dataclasses.replace(linker, generator=linker.generator.sparse)
        text = f"{_annotated(mentions):,} annotated mentions, in {_FOLDS} folds"
        sources.append((text, lambda: folds(reader, dictionary, mentions, seed, extend)))
        names = over(reader, dictionary)
        sources.append(("", lambda: Judged.joined([*noise_lists(names, mentions, seed)])))
    if _annotated(dev) >= FEWEST:
        sources.append((f"{_annotated(dev):,} development mentions", lambda: judged(linker, dev)))
    if not sources:
        say(f"ranker: {start.described}")
        return start
    ranker = rankers.fit(Judged.joined([make() for _, make in sources]), seed, start)
    facts = {"fitted_to": " and ".join(what for what, _ in sources if what)}
    ranker = dataclasses.replace(ranker, provenance=facts)
    say(f"ranker: {ranker.described}")
    return ranker


def _annotated(mentions: Items) -> int:
    """How many of the mentions are annotated."""
    return sum(mention.gold is not None for mention, _ in flatten(mentions))
