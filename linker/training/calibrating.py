"""Mentions of which it is known what is right, to fit the confidence of answers to.

They are development mentions; or annotated mentions, each read by a linker that has not learnt its
document; or, where there are neither, names of the dictionary, each read by a linker without it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from linker import matching
from linker.confidence import calibration
from linker.confidence.calibration import Calibration, Example, TooFewExamples
from linker.confidence.model_card import described
from linker.dictionary import Dictionary
from linker.training import trial
from linker.training.randomness import Stream, rng
from linker.training.trial import Items, SpareNames, is_unlike
from linker.types import Document, GoldGroup, Mention

if TYPE_CHECKING:
    from typing_extensions import Self

    from linker.confidence.answers import RankedReading

FOLDS = 5
_NAMES = 2000  # names of the dictionary to hold out, at most
_WEIGHTS = (0.5, 0.25, 0.25)  # of exact names, of those spelt unlike others, and of the rest
_SHARE = 0.1  # of the names that may be held out, at most, but for small dictionaries
_CONSIDERED = 300_000  # names that may be held out, of large dictionaries
_FEWEST_NAMES = 500  # names to hold out, if half of those that may be are as many
_FEWEST_EXACT = 200  # names that are exact
_WITHOUT_CONCEPT = 0.05  # share of the concepts that are left out whole
_WEIGHT_WITHOUT = 0.2  # of a question without a concept: texts have fewer such mentions


class Readable(trial.Trialled, Protocol):
    """What is calibrated: a linker."""

    @property
    def dictionary(self) -> Dictionary: ...

    def read(self, items: Iterable[Mention | Document]) -> Iterator[list[RankedReading]]: ...

    def over(self, dictionary: Dictionary, mentions: Items) -> Self: ...

    def without(self, names: NDArray[np.int64], concepts: NDArray[np.bool_]) -> Self: ...


def examples(linker: Readable, items: Items, weight: float = 1.0) -> list[Example]:
    """What a linker answers to the annotated mentions of some items, and what of it is right."""
    resolve, ids = linker.dictionary.resolve, linker.dictionary.ids
    result = []
    for readings in linker.read(items):
        gold = readings[0].lookups[0].mention.gold
        if gold is None:
            continue
        answered = [reading for reading in readings if len(reading.scores.values)]
        ranks = [
            matching.strict_rank(
                [[ids[row] for row in ranked.concepts.tolist()] for ranked in reading.rankings],
                gold,
                resolve,
            )
            or 0
            for reading in answered
        ]
        scores = [reading.scores for reading in answered]
        right = [bool(gold) and rank == 1 for rank in ranks]
        first = answered[0].rankings[0].scores.tolist() if answered else []
        rank = ranks[0] if ranks else 0
        result.append(Example(scores, right, first, rank, bool(gold), weight))
    return result


def folds(linker: Readable, dictionary: Dictionary, mentions: Items, seed: int) -> list[Example]:
    """The annotated mentions, each answered by a linker that has learnt the other folds.

    The encoder stays as it is.

    Args:
        linker: the linker.
        dictionary: its names, without mentions.
        mentions: documents, which are not divided, or mentions.
        seed: of the folds.
    """
    fold_of = rng(seed, Stream.CALIBRATION).permutation(len(mentions)) % FOLDS
    result = []
    for fold in range(FOLDS):
        rest = [m for m, of_one in zip(mentions, fold_of, strict=True) if of_one != fold]
        held = [m for m, of_one in zip(mentions, fold_of, strict=True) if of_one == fold]
        result += examples(linker.over(dictionary, rest), held)
    return result


def held_out(linker: Readable, dictionary: Dictionary, seed: int) -> list[Example]:
    """Names of the dictionary as mentions, each answered by a linker without this entry.

    Half the weight is on names that a concept has twice in one normal form ("Anemia, aplastic" and
    "anemia aplastic"), of which the other stays: they show how often an exact name is right. Where
    a dictionary has too few of these, preferred names make up for them, whose entry stays. Of the
    other names no permutation stays. Some concepts are left out whole: their names are mentions
    without a concept.
    The encoder stays as it is; where it was trained on the names, it makes them too easy.

    Args:
        linker: the linker.
        dictionary: its names, without mentions.
        seed: of the sample.
    """
    random = rng(seed, Stream.CALIBRATION)
    names = SpareNames.of(dictionary, linker.normalize, _considered(dictionary, random))
    spare = random.permutation(names.spare)
    fewest = min(_FEWEST_NAMES, len(spare) // 2)
    spare = spare[: min(_NAMES, max(fewest, int(_SHARE * len(spare))))]
    twice = random.permutation(_written_twice(dictionary, names))[: len(spare)]
    left_out = names.entries_like(spare)
    texts = [names.table.texts[row] for row in spare.tolist()]
    concepts = names.table.concepts[names.table.indptr[spare]]
    unlike = is_unlike(dictionary, left_out, texts, concepts, linker.normalize)
    missing = max(0, min(_FEWEST_EXACT, len(spare)) - len(twice))
    exact = np.concatenate([twice, random.permutation(dictionary.preferred)[:missing]])
    kinds = [  # in the order of `_WEIGHTS`
        ([dictionary.names[row] for row in exact.tolist()], dictionary.name_concept[exact]),
        (list(compress(texts, unlike)), concepts[unlike]),
        (list(compress(texts, ~unlike)), concepts[~unlike]),
    ]
    is_out = random.random(len(dictionary)) < _WITHOUT_CONCEPT
    learnt = linker.without(left_out, is_out)
    result: list[Example] = []
    for (asked, rows), weight in zip(kinds, _WEIGHTS, strict=True):
        golds = [
            () if is_out[row] else (GoldGroup((dictionary.ids[row],)),) for row in rows.tolist()
        ]
        questions = [Mention(text, gold=gold) for text, gold in zip(asked, golds, strict=True)]
        result += examples(learnt, questions, weight / max(1, len(questions)))
    return [
        example
        if example.has_concept
        else dataclasses.replace(example, weight=_WEIGHT_WITHOUT * example.weight)
        for example in result
    ]


def _written_twice(dictionary: Dictionary, names: SpareNames) -> NDArray[np.int64]:
    """Names that their concept has again, with the same normal form; one of each such form.

    Preferred and lent names are not among them.
    """
    keys = names.rows * len(dictionary) + dictionary.name_concept[names.names]
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    is_kept = np.isin(names.names, np.concatenate([dictionary.preferred, dictionary.lent_rows]))
    again = np.flatnonzero((counts[place] > 1) & ~is_kept)
    _, first = np.unique(keys[again], return_index=True)
    return names.names[again[first]]


def _considered(dictionary: Dictionary, random: np.random.Generator) -> NDArray[np.int64] | None:
    """The rows of the names that may be held out: of large dictionaries those of some concepts."""
    if len(dictionary.names) <= _CONSIDERED:
        return None
    share = _CONSIDERED / len(dictionary.names)
    return np.flatnonzero((random.random(len(dictionary)) < share)[dictionary.name_concept])


def calibrated(
    linker: Readable,
    dictionary: Dictionary,
    mentions: Items,
    dev: Items,
    seed: int,
    say: Callable[[str], None],
) -> Calibration | None:
    """Fit the confidence of a linker's answers to the best that there is.

    That is the development mentions, else the annotated mentions, else names of the dictionary.

    Args:
        linker: the linker.
        dictionary: its names, without mentions.
        mentions: what it was trained on.
        dev: development mentions.
        seed: of folds and samples.
        say: is told what was fitted to, and what the threshold costs and gains.

    Returns:
        The calibration; None where there is too little of everything.
    """
    for source in _sources(linker, dictionary, mentions, dev, seed):
        try:
            fitted_to = source.examples()
            result = calibration.fit(fitted_to, of_texts=source.of_texts)
        except TooFewExamples as error:
            if source.of_texts:
                say(f"confidence: not fitted to {source.what} ({error})")
            continue
        facts = {"fitted_to": source.what, "mentions": len(fitted_to), **result.provenance}
        result = dataclasses.replace(result, provenance=facts)
        say(f"confidence: {described(result)}")
        return result
    say(f"confidence: {described(None)}")
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class _Source:
    """What a calibration can be fitted to."""

    what: str
    count: int  # of the questions, before they are asked
    find: Callable[[], list[Example]]
    of_texts: bool = True

    def examples(self) -> list[Example]:
        """The examples; those that are too few are not even made."""
        if self.count < calibration.FEWEST:
            raise TooFewExamples(f"{self.count} of them; needed: {calibration.FEWEST}")
        return self.find()


def _sources(
    linker: Readable, dictionary: Dictionary, mentions: Items, dev: Items, seed: int
) -> list[_Source]:
    """What there is to fit to, the best first."""
    sources = [
        _Source("development mentions", trial.questions(dev), lambda: examples(linker, dev)),
        _Source(
            f"annotated mentions, in {FOLDS} folds",
            trial.questions(mentions),
            lambda: folds(linker, dictionary, mentions, seed),
        ),
        _Source(
            "names held out of the dictionary",
            len(dictionary.names),
            lambda: held_out(linker, dictionary, seed),
            of_texts=False,
        ),
    ]
    return [source for source in sources if source.count]
