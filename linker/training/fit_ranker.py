"""Fit the ranker to labelled candidate lists."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from linker import matching
from linker.dictionary import Dictionary
from linker.io.mentions import flatten
from linker.linking import ranker as rankers
from linker.linking.calibration import Calibration
from linker.linking.linker import Linker
from linker.linking.lists import Judged
from linker.linking.ranker import Ranker
from linker.linking.ranking import DescribedBatch, ordered
from linker.records import Activity, Document, Mention
from linker.search.hybrid import HybridGenerator
from linker.text.composites import IsName
from linker.text.find import is_short_form
from linker.training.release import with_dictionary
from linker.training.sampling import Stream, rng

ERRORS = {"transposed": 0.5, "dropped": 0.2, "doubled": 0.1, "replaced": 0.2}
"""The shares of typing errors."""

_SHORTEST = 5  # letters of a word that has a typing error
_PHRASES = 8  # of each document
_WORD = re.compile(r"[^\W_][\w-]*[^\W_]|[^\W_]")
_KEYS = "abcdefghijklmnopqrstuvwxyz"
_STOPS = re.compile(
    "a|an|and|are|as|at|be|been|by|for|from|had|has|have|in|is|it|its|not|of|"
    "on|or|our|that|the|their|these|this|to|was|we|were|which|with"
)

WEIGHT_NOISY = 0.5  # what a mention counts that stands in a wrapping, or has a typing error
WEIGHT_NONE = 0.5  # what a text counts that is no disease
FEWEST = 50  # annotated mentions to fit to; of fewer nothing can be said
_FOLDS = 5


Bools = NDArray[np.bool_]
Items = Sequence[Mention | Document]
Report = Callable[[Activity], None]


def _ignore(activity: Activity) -> None: ...


def judged(linker: Linker, items: Items) -> Judged:
    """The lists of the annotated mentions of some items, and what of them is right.

    Raises:
        ValueError: no mention is annotated.
    """
    parts = []
    for mentions, batch in linker.lists(items):
        kept = np.flatnonzero([mention.gold is not None for mention in mentions])
        relevance, known = _judged(linker, mentions, batch)
        weight = np.ones(len(mentions), np.float32)
        of_all = Judged(batch.lists, batch.found.concepts, relevance, known, weight)
        parts.append(of_all.only(kept))
    return Judged.joined([part for part in parts if len(part.weight)])


def _judged(
    linker: Linker, mentions: list[Mention], batch: DescribedBatch
) -> tuple[NDArray[np.int8], Bools]:
    """The relevance of each candidate of a batch, (rows,), and which mentions have a concept."""
    lists = batch.lists
    ids = linker.dictionary.ids
    resolve = linker.dictionary.resolve
    linkable = set(linker.generator.table.concepts.tolist())
    above = _Above(linker)
    named = [ids[row] for row in batch.found.concepts.tolist()]
    relevance = np.zeros(len(named), np.int8)
    known = np.zeros(len(mentions), bool)
    rows = lists.rows.tolist()
    starts = lists.starts.tolist()
    for place, mention in enumerate(mentions):
        if not (gold := mention.gold):
            continue
        wanted = matching.accepted(gold, resolve)
        known[place] = any(
            row in linkable for identifier in wanted for row in linker.dictionary.rows(identifier)
        )
        readings = []
        for reading in range(*lists.readings[place : place + 2].tolist()):
            lookups = range(*lists.lookups[reading : reading + 2].tolist())
            readings.append([named[rows[lookup] : rows[lookup + 1]] for lookup in lookups])
        of_mention = matching.relevances(readings, gold, resolve, above.of)
        of_parts = chain.from_iterable(of_mention)
        start, end = starts[place : place + 2]
        relevance[start:end] = list(chain.from_iterable(of_parts))
    return relevance, known


class _Above:
    """The concepts above those of a dictionary that are narrow enough to say something.

    Args:
        linker: whose dictionary it is; what it cannot answer with is left out, but leads further.
    """

    def __init__(self, linker: Linker) -> None:
        self._dictionary = linker.dictionary
        self._is_narrow = linker.engine.ancestors.is_narrow
        self._known: dict[str, dict[str, int]] = {}

    def of(self, identifier: str) -> dict[str, int]:
        """The ids above one, with the steps up to each."""
        if identifier not in self._known:
            self._known[identifier] = self._climbed(identifier)
        return self._known[identifier]

    def _climbed(self, identifier: str) -> dict[str, int]:
        dictionary = self._dictionary
        rows = list(dictionary.rows(identifier))
        seen = set(rows)
        found: dict[str, int] = {}
        steps = 0
        while rows:
            steps += 1
            above = np.unique(np.concatenate(dictionary.hierarchy.parents(rows))).tolist()
            rows = [row for row in above if row not in seen]
            seen.update(rows)
            found |= {dictionary.ids[row]: steps for row in rows if self._is_narrow[row]}
        return found


def noise_lists(linker: Linker, items: Items, seed: int) -> Iterator[Judged]:
    """The lists of mentions as people write them in cells, and of texts that are no disease.

    Args:
        linker: of the names alone, since what stands in a cell was seldom annotated before.
        items: annotated documents and mentions, which are written as in cells.
        seed: of the wrappings, the errors and the texts.
    """
    random = rng(seed, Stream.NOISE)
    if mentions := noisy(items, random):
        yield judged(linker, mentions).weighted(WEIGHT_NOISY)
    texts = no_disease(items, linker.engine.is_name, random)
    most = min(len(texts), _annotated(items))  # a few mentions are not outweighed
    chosen = [texts[row] for row in random.permutation(len(texts))[:most].tolist()]
    yield judged(linker, chosen).weighted(WEIGHT_NONE)


def folds(
    linker: Linker,
    dictionary: Dictionary,
    mentions: Items,
    seed: int,
    on_activity: Report = _ignore,
) -> Judged:
    """The lists of annotated mentions, each made by a linker that has learnt the other folds.

    The encoder stays as it is.

    Args:
        linker: the linker.
        dictionary: its names, without mentions.
        mentions: documents, which are not divided, or mentions.
        seed: of the folds.
        on_activity: is called with each fold.
    """
    fold_of = rng(seed, Stream.FOLDS).permutation(len(mentions)) % _FOLDS
    parts = []
    for fold in range(_FOLDS):
        on_activity(Activity("linking annotated mentions", fold / _FOLDS, f"fold {fold + 1}"))
        rest = [m for m, of_one in zip(mentions, fold_of, strict=True) if of_one != fold]
        held = [m for m, of_one in zip(mentions, fold_of, strict=True) if of_one == fold]
        if _annotated(held):
            parts.append(judged(with_dictionary(linker, dictionary, rest), held))
    return Judged.joined(parts)


@dataclass(frozen=True, slots=True)
class RankerLists:
    """The lists that a ranker is fitted to.

    Attributes:
        asked: of annotated mentions; these calibrate it, too.
        noise: of mentions as people write them in cells, and of texts that are no disease.
        described: what the mentions are, in words.
    """

    asked: Sequence[Judged] = ()
    noise: Sequence[Judged] = ()
    described: Sequence[str] = ()

    def __add__(self, others: RankerLists) -> RankerLists:
        return RankerLists(
            [*self.asked, *others.asked],
            [*self.noise, *others.noise],
            [*self.described, *others.described],
        )


def training_lists(
    linker: Linker, dictionary: Dictionary, mentions: Items, on_activity: Report = _ignore
) -> RankerLists:
    """The lists of the mentions that a linker was trained on; none of fewer than `FEWEST`.

    Where gradients trained the encoder on these mentions, its scores for them are too high; the
    folds are then scored by characters alone.

    Args:
        linker: with the ranker that is to be fitted further.
        dictionary: its names, without mentions.
        mentions: what it was trained on; they are read in folds.
        on_activity: is called with what begins, and how far it is.
    """
    if (count := _annotated(mentions)) < FEWEST:
        return RankerLists()
    if linker.best_epoch and isinstance(linker.generator, HybridGenerator):
        linker = dataclasses.replace(linker, generator=linker.generator.sparse)
    seed = linker.options.training.seed
    asked = folds(linker, dictionary, mentions, seed, on_activity)
    on_activity(Activity("linking mentions as they stand in cells", None))
    noise = noise_lists(with_dictionary(linker, dictionary), mentions, seed)
    described = f"{count:,} annotated mentions, in {_FOLDS} folds"
    return RankerLists([asked], [*noise], [described])


def development_lists(linker: Linker, dev: Items) -> RankerLists:
    """The lists of mentions that a linker was not trained on; none of fewer than `FEWEST`.

    Args:
        linker: with the ranker that is to be fitted further.
        dev: the mentions.
    """
    if (count := _annotated(dev)) < FEWEST:
        return RankerLists()
    return RankerLists([judged(linker, dev)], described=[f"{count:,} development mentions"])


def fitted(lists: RankerLists, start: Ranker, seed: int, on_activity: Report = _ignore) -> Ranker:
    """Fit a ranker further, from its weights; it stays as it is where there are no lists.

    Args:
        lists: what it is fitted to.
        start: the ranker.
        seed: of the order of lists and what is dropped.
        on_activity: is called with what begins.
    """
    if not lists.asked:
        return start
    asked = Judged.joined(lists.asked)
    on_activity(Activity("fitting the ranker", 0.0, "all lists"))
    ranker = rankers.fit(Judged.joined([asked, *lists.noise]), seed, start)
    on_activity(Activity("fitting the ranker", 0.5, "halves, which calibrate it"))
    return dataclasses.replace(
        ranker,
        provenance={"fitted_to": " and ".join(lists.described)},
        calibration=in_halves(asked, seed, start).before(start.calibration),
    )


def in_halves(asked: Judged, seed: int, start: Ranker) -> Calibration:
    """The calibration by lists, half of which are scored by a ranker that is fitted to the others.

    Args:
        asked: the lists of annotated mentions, those of a document one behind another.
        seed, start: as for `linker.linking.ranker.fit`.
    """
    halves = np.array_split(np.arange(len(asked.weight)), 2)
    parts = [asked.only(half) for half in halves]
    rankers_of = [rankers.fit(part, seed, start) for part in reversed(parts)]
    return calibrated(zip(rankers_of, parts, strict=True))


def calibrated(scored: Iterable[tuple[Ranker, Judged]]) -> Calibration:
    """The calibration by lists of mentions that a ranker has not learnt."""
    return Calibration.of(
        (judged, ordered(judged.lists, judged.concepts, ranker.probabilities(judged.lists)))
        for ranker, judged in scored
    )


def _annotated(mentions: Items) -> int:
    """How many of the mentions are annotated."""
    return sum(mention.gold is not None for mention, _ in flatten(mentions))


def noisy(items: Iterable[Mention | Document], random: np.random.Generator) -> list[Mention]:
    """The annotated mentions of some items once in a wrapping, and once with a typing error.

    Mentions without a concept, short forms, and texts that were annotated in several ways are left
    out; each text is taken once.
    """
    golds: dict[str, set[object]] = {}
    first: dict[str, Mention] = {}
    for mention, _ in flatten(items):
        if mention.gold and not is_short_form(mention.text):
            golds.setdefault(mention.text.lower(), set()).add(mention.gold)
            first.setdefault(mention.text.lower(), mention)
    result, kinds = [], table("wrapped.tsv")
    for text, mention in first.items():
        if len(golds[text]) > 1:
            continue
        kind = kinds[random.integers(len(kinds))]
        texts = [kind[random.integers(len(kind))].format(mention.text)]
        texts += misspelt(mention.text, random)
        result += [Mention(noise, gold=mention.gold) for noise in texts]
    return result


def misspelt(text: str, random: np.random.Generator) -> Iterator[str]:
    """A text with a typing error in one of its long words; nothing where it has none."""
    words = [m.span() for m in re.finditer(rf"[a-zA-Z]{{{_SHORTEST},}}", text)]
    if not words:
        return
    start, end = words[random.integers(len(words))]
    at = int(random.integers(start + 1, end - 1))
    kind = random.choice(list(ERRORS), p=list(ERRORS.values()))
    letters = {
        "transposed": text[at + 1] + text[at],
        "dropped": text[at + 1],
        "doubled": text[at] + text[at : at + 2],
        "replaced": _KEYS[random.integers(len(_KEYS))] + text[at + 1],
    }[str(kind)]
    if (error := text[:at] + letters + text[at + 2 :]) != text:
        yield error


def no_disease(
    items: Sequence[Mention | Document], is_name: IsName, random: np.random.Generator
) -> list[Mention]:
    """Texts that are no disease: of our table, and phrases that documents have beside mentions.

    Args:
        items: annotated documents; mentions without a text give nothing.
        is_name: tells the names of the dictionary, which are left out with all that holds one.
        random: the source of all samples.
    """
    documents = [item for item in items if isinstance(item, Document) and item.passages]
    texts = [row[0] for row in table("no_disease.tsv")[1:]]
    texts += [text for document in documents for text in _phrases(document, random)]
    return [
        Mention(text, gold=()) for text in dict.fromkeys(texts) if not holds_name(text, is_name)
    ]


@cache
def table(file: str) -> tuple[list[str], ...]:
    """The cells of the lines of a table that comes with linker."""
    text = (resources.files("linker.training") / file).read_text("utf-8")
    return tuple(line.split("\t") for line in text.splitlines() if not line.startswith("#"))


def _phrases(document: Document, random: np.random.Generator) -> Iterator[str]:
    """Phrases of one to three words beside the annotated mentions of a document."""
    text, taken = document.text, [span for m in document.mentions for span in m.spans]
    words = [m.span() for m in _WORD.finditer(text)]
    for first in random.permutation(len(words))[:_PHRASES].tolist():
        last = min(first + int(random.integers(3)), len(words) - 1)
        start, end = words[first][0], words[last][1]
        phrase = text[start:end]
        is_apart = all(end <= a or b <= start for a, b in taken)
        ends = {phrase.split()[0].lower(), phrase.split()[-1].lower()}
        if is_apart and not any(map(_STOPS.fullmatch, ends)) and not re.search(r"[^\w\s-]", phrase):
            yield phrase


def holds_name(text: str, is_name: IsName) -> bool:
    """Whether some words of a text, one behind another, are a name."""
    words = text.split()
    pairs = combinations(range(len(words) + 1), 2)
    return any(is_name(" ".join(words[a:b])) for a, b in pairs)
