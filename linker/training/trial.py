"""Whether an encoder finds more than characters do, and with which λ: asked where both are new."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from linker.candidates.base import Generator
from linker.dictionary import Dictionary, NameTable
from linker.dictionary.classes import bags
from linker.readers.mentions import flatten
from linker.training.randomness import Stream, rng
from linker.types import Document, Lookup, Mention

if TYPE_CHECKING:
    from typing_extensions import Self

Items = Sequence[Mention | Document]
Bools = NDArray[np.bool_]

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of λ; with more, characters decide alone
FEWEST, MOST = 50, 2000  # names to hold out: fewer tell nothing, more take too long
SHARE = 0.2  # of the names that may be held out, at most
FOLD = 0.25  # of the annotated items that are held out
ALIKE = 0.7  # from this share of common trigrams on, two names are alike
_SMALL = 1e-9  # of a share: what rounding does to it


class Trialled(Protocol):
    """What is tried: a linker."""

    encoder: str

    @property
    def generator(self) -> Generator: ...

    def normalize(self, text: str) -> str: ...

    def by_characters(self) -> Self: ...

    def weighted(self, factor: float) -> Self: ...


_Linker = TypeVar("_Linker", bound=Trialled)


@dataclass(frozen=True, slots=True)
class Trial(Generic[_Linker]):
    """What to learn from, and questions that it holds no answers to."""

    what: str  # the questions, in words
    dictionary: Dictionary
    mentions: Items
    right: Callable[[_Linker], Bools]  # which questions a linker has right, (questions,)
    # (questions,), where they are names: which are like no other name of their concept
    unlike: Bools | None = None

    def weights(self, count: int) -> NDArray[np.float64]:
        """How much each question counts, (count,): names that are alike, and others, one half."""
        weights = np.full(count, 1 / count)
        if self.unlike is not None and 0 < self.unlike.sum() < count:
            weights[self.unlike] = 0.5 / self.unlike.sum()
            weights[~self.unlike] = 0.5 / (~self.unlike).sum()
        return weights


@dataclass(frozen=True, slots=True)
class Choice:
    """What a trial says."""

    takes_encoder: bool  # or else characters alone
    factor: float  # what λ is multiplied by
    lines: Sequence[str]  # what each got right, for people to read


def names(
    dictionary: Dictionary, mentions: Items, normalize: Callable[[str], str], seed: int
) -> Trial[Trialled] | None:
    """Leave a sample of names out of a dictionary; None where fewer than `FEWEST` can be spared.

    Args:
        dictionary: all names; a preferred name is never left out, and neither is one that another
            vocabulary lent: what is asked is how the dictionary's own names are found.
        mentions: annotated ones, which are learnt from.
        normalize: gives the normal form of a name; names of the same words, in whatever order, are
            left out together, since the others would give the answer away.
        seed: of the sample.
    """
    names_in_rows = SpareNames.of(dictionary, normalize)
    table, spare = names_in_rows.table, rng(seed, Stream.TRIAL).permutation(names_in_rows.spare)
    concepts, first = np.unique(table.concepts[table.indptr[spare]], return_index=True)
    count = min(MOST, len(concepts), int(SHARE * len(spare)))
    if count < FEWEST:
        return None
    out = spare[np.sort(first)[:count]]  # a name for each concept, in the order of the sample
    left_out = names_in_rows.entries_like(out)
    smaller = dictionary.without(left_out)
    texts, answers = [table.texts[row] for row in out.tolist()], table.concepts[table.indptr[out]]
    unlike = is_unlike(dictionary, left_out, texts, answers, normalize)

    def right(linker: Trialled) -> Bools:
        lookups = [Lookup.of(linker.normalize(text)) for text in texts]
        rankings = linker.generator.rank(lookups, 1, "concepts")
        pairs = zip(answers.tolist(), rankings, strict=True)
        return np.array([row in ranked.concepts for row, ranked in pairs], bool)

    return Trial("names held out of the dictionary", smaller, mentions, right, unlike)


@dataclass(frozen=True, slots=True)
class SpareNames:
    """The names of a dictionary that can be left out, so that others have to find their concept.

    Spared are names of one concept that no preferred name, no lent name and no name of several
    concepts is a permutation of.
    """

    names: NDArray[np.int64]  # rows of the names of the dictionary that are considered
    table: NameTable  # of these
    rows: NDArray[np.int64]  # (names,) the row of each in the table
    bag: NDArray[np.int64]  # (rows of the table,) the same number for the same words in any order
    spare: NDArray[np.int64]  # rows of the table

    @classmethod
    def of(
        cls,
        dictionary: Dictionary,
        normalize: Callable[[str], str],
        names: NDArray[np.int64] | None = None,
    ) -> SpareNames:
        """Find those among some names of a dictionary, given by their rows; None: all names."""
        names = np.arange(len(dictionary.names)) if names is None else names
        forms = [normalize(dictionary.names[row]) for row in names.tolist()]
        table = NameTable.of(forms, dictionary.name_concept[names], dictionary.entry_rank[names])
        row_of = {text: row for row, text in enumerate(table.texts)}
        rows = np.array([row_of[form] for form in forms], np.int64)
        bag = bags(list(table.texts))
        is_kept = np.diff(table.indptr) != 1
        is_kept[rows[np.isin(names, dictionary.preferred)]] = True
        is_kept[rows[np.isin(names, dictionary.lent_rows)]] = True
        return cls(names, table, rows, bag, np.flatnonzero(~np.isin(bag, bag[is_kept])))

    def entries_like(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The names of the dictionary that are permutations of some rows of the table."""
        return self.names[np.isin(self.bag[self.rows], self.bag[rows])]


def is_unlike(
    dictionary: Dictionary,
    left_out: NDArray[np.int64],
    texts: Sequence[str],
    concepts: NDArray[np.int32],
    normalize: Callable[[str], str],
) -> Bools:
    """Whether each of some normalised names is spelt unlike all names of its concept, (names,).

    Args:
        dictionary: all names.
        left_out: the rows of names that are not looked at.
        texts: the normalised names.
        concepts: the row of the concept of each.
        normalize: gives the normal form of a name.
    """
    out = set(left_out.tolist())
    others = (
        [normalize(dictionary.names[row]) for row in rows if row not in out]
        for rows in (dictionary.name_rows(concept).tolist() for concept in concepts.tolist())
    )
    return np.array(
        [
            max(likeness(text, other) for other in own) < ALIKE
            for text, own in zip(texts, others, strict=True)
        ],
        bool,
    )


def likeness(name: str, other: str) -> float:
    """The share of the character trigrams of two names that both have (Dice)."""
    first, second = set(_trigrams(name)), set(_trigrams(other))
    return 2 * len(first & second) / (len(first) + len(second))


def _trigrams(name: str) -> Iterator[str]:
    padded = f" {name} "
    return (padded[i : i + 3] for i in range(len(padded) - 2))


def annotated(
    dictionary: Dictionary, mentions: Items, right: Callable[[Items, _Linker], Bools], seed: int
) -> Trial[_Linker] | None:
    """Leave a sample of annotated items out; None where they have too few annotated mentions.

    Too few are fewer than `FEWEST`.

    Args:
        dictionary: the names.
        mentions: documents, of which all mentions are left out together, or mentions.
        right: which annotated mentions of some items a linker has right.
        seed: of the sample.
    """
    is_out = np.zeros(len(mentions), bool)
    is_out[rng(seed, Stream.TRIAL).permutation(len(mentions))[: int(FOLD * len(mentions))]] = True
    asked = [item for item, out in zip(mentions, is_out, strict=True) if out]
    learnt = [item for item, out in zip(mentions, is_out, strict=True) if not out]
    if questions(asked) < FEWEST:
        return None
    return Trial(
        "annotated mentions held out", dictionary, learnt, lambda linker: right(asked, linker)
    )


def questions(mentions: Items) -> int:
    """How many of the mentions are annotated."""
    return sum(mention.gold is not None for mention, _ in flatten(mentions))


def choose(linker: _Linker, trial: Trial[_Linker]) -> Choice:
    """Compare an encoder with characters by the questions of a trial.

    The encoder is taken, with its λ, unless it changes no answer, or characters alone win by more
    than two standard errors; λ changes where the best of the factors wins by more than two.
    Synonyms of a dictionary are spelt more alike than what people write, so that they speak for
    characters.

    Args:
        linker: links by the encoder and λ, and learnt from what the trial says.
        trial: asks.
    """
    sparse, alone = trial.right(linker.by_characters()), trial.right(linker.weighted(0))
    weights = trial.weights(len(sparse))
    by_factor = {factor: trial.right(linker.weighted(factor)) for factor in FACTORS}
    factor = max(by_factor, key=lambda factor: (weights @ by_factor[factor], factor))
    if _gain(by_factor[factor], by_factor[1.0], weights) <= 2:
        factor = 1.0
    both = by_factor[factor]
    results = {"characters": sparse, f"{linker.encoder} alone": alone, "both": both}
    lines = [
        _heading(trial, len(sparse)),
        *(_line(name, trial, right) for name, right in results.items()),
    ]
    takes_encoder = bool((both != sparse).any()) and _gain(sparse, both, weights) <= 2
    return Choice(takes_encoder, factor, lines)


def _gain(right: Bools, baseline: Bools, weights: NDArray[np.float64]) -> float:
    """By how many standard errors one linker is right more often than another.

    The error is the root of the summed squares of the weights of what only one has right.
    """
    gain = float(weights @ (right.astype(int) - baseline))
    error = float(np.sqrt(weights**2 @ (right != baseline)))
    return (gain - _SMALL) / error if error else 0.0


def _heading(trial: Trial[_Linker], count: int) -> str:
    if trial.unlike is None:
        return f"share linked right of {count:,} {trial.what}:"
    return (
        f"share linked right of {count:,} {trial.what} (half the weight is on the "
        f"{int(trial.unlike.sum()):,} that are spelt unlike the other names of their concept):"
    )


def _line(name: str, trial: Trial[_Linker], right: Bools) -> str:
    line = f"  {name:14} {trial.weights(len(right)) @ right:.3f}"
    if trial.unlike is None or trial.unlike.all() or not trial.unlike.any():
        return line
    unlike = trial.unlike
    return f"{line} (unlike {right[unlike].mean():.3f}, others {right[~unlike].mean():.3f})"
