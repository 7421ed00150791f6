"""The outcome of each mention by two protocols: `strict` as deployed, `biosyn` as in the papers."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from linker import matching
from linker.dictionary import Dictionary
from linker.errors import LinkerError
from linker.linking.linker import Linker
from linker.matching import Resolve
from linker.records import Candidate, Document, Gold, Mention, Prediction, ReadingKind
from linker.search.concepts import Candidates
from linker.text.biosyn import biosyn_parts
from linker.text.mentions import Definitions, grouped

PROTOCOLS = ("strict", "biosyn")
ERRORS = {
    "no_candidate": "nothing was returned",
    "concept_not_in_dictionary": "no annotated id is in the dictionary",
    "concept_not_expected": "the mention has no concept, but one was returned",
    "wrong_split": "the mention was split into another number of parts than it has ids",
    "hypernym": "an ancestor of the right concept",
    "hyponym": "a descendant of the right concept",
    "unrelated": "none of these",
}
_BATCH = 1024
_Annotated = tuple[Mention, list[str]]
"""A mention, and the names that are looked up for it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one annotated mention.

    A mention is right at k if its first k candidates hold what the protocol wants of it.
    """

    mention: Mention
    rank: int  # the smallest k at which it is right; 0 for never
    parts: tuple[Candidate | None, ...]  # the best candidate of each part; None for one without
    rejected: tuple[Candidate | None, ...] = ()  # the rejected candidate of each part, if any
    first_is_right: bool = False  # right at 1, had the rejected candidates been returned
    confidence: float | None = None
    """The probability that the first candidates, also rejected ones, are right: the product of the
    parts' confidences. None where a part has none, and under the protocol biosyn."""
    reading: ReadingKind = "whole"  # how the mention was read
    error: str = ""  # a key of `ERRORS`; empty where it is right at 1, or no model is consulted
    rank_of_concepts: int | None = None
    """The rank where the best name of each concept comes first; None where nothing is reordered."""

    @property
    def gold(self) -> Gold:
        """The annotated ids."""
        return self.mention.gold or ()

    @property
    def is_split_right(self) -> bool:
        """Whether it has as many parts as ids; those of A+B may be in one part or in two."""
        ids = sum(len(group.ids) for group in self.gold)
        return len(self.parts) in {max(1, len(self.gold)), max(1, ids)}


def strict(
    linker: Linker, items: Iterable[Mention | Document], k: int, threshold: float | None = None
) -> Iterator[Outcome]:
    """Evaluate the model as deployed: it sees texts, never gold ids, and k counts concepts.

    Mentions that are not annotated are left out.

    Args:
        linker: the model.
        items: mentions with their gold ids, or documents that hold them.
        k: the number of candidates to look at.
        threshold: the confidence that an answer needs; None: as `Linker.link` does it.
    """
    return outcomes(linker.link(iter(items), k=k, threshold=threshold), linker)


def outcomes(predictions: Iterable[Prediction], linker: Linker) -> Iterator[Outcome]:
    """The outcomes of the protocol strict; mentions that are not annotated are left out.

    Args:
        predictions: of mentions with their gold ids.
        linker: its dictionary resolves these ids.
    """
    resolve = linker.dictionary.resolve
    for prediction in predictions:
        if prediction.mention.gold is not None:
            outcome = outcome_of(prediction, prediction.mention, "strict", resolve)
            yield with_error(outcome, linker)


def biosyn(linker: Linker, items: Iterable[Mention | Document], k: int) -> Iterator[Outcome]:
    """Evaluate as BioSyn does: k counts names, and any id in common with the gold is right.

    A ranker decides the first name. The others stand in the order of their scores, as in the
    papers; for `Outcome.rank_of_concepts` the best name of each concept stands before them.

    Composite mentions are split with the help of their gold ids; one that holds a `|` was split
    before (`.concept` files). Mentions without a concept are left out.

    Args:
        linker: the model.
        items: mentions with their gold ids, or documents that hold them.
        k: the number of names to look at.

    Raises:
        LinkerError: a document or a mention has a selection of its own.
    """
    batch: list[_Annotated] = []
    for document, mentions, definitions in grouped(items, linker.options.text):
        if any(item.within for item in (document, *mentions) if item):
            raise LinkerError(
                "the protocol biosyn ranks names of the whole model, and a mention has a selection "
                "of its own; evaluate with the protocol strict"
            )
        batch += [(m, biosyn_queries(m, definitions)) for m in mentions if m.gold]
        if len(batch) >= _BATCH:
            yield from _by_names(linker, batch, k)
            batch = []
    yield from _by_names(linker, batch, k)


def biosyn_queries(mention: Mention, definitions: Definitions) -> list[str]:
    """The names that the protocol `biosyn` looks up for a mention, one for each part.

    Args:
        mention: the mention with its gold ids.
        definitions: the short forms of its document.
    """
    pieces = mention.text.split("|")
    ids = [i for group in mention.gold or () for i in group.ids]
    return pieces if len(pieces) > 1 else list(biosyn_parts(mention.text, definitions.first, ids))


def _by_names(linker: Linker, batch: Sequence[_Annotated], k: int) -> Iterator[Outcome]:
    """Rank names for mentions, and find the first that is right."""
    table, dictionary = linker.generator.table, linker.dictionary
    rankings = iter(linker.rank_names([text for _, parts in batch for text in parts], k))

    def rank(mention: Mention, parts: Iterable[Candidates]) -> int:
        ids = [
            [[dictionary.ids[concept] for concept in table.concepts_of(row)] for row in rows]
            for rows in (names.names.tolist() for names in parts)
        ]
        return matching.biosyn_rank(ids, mention.gold or (), dictionary.resolve) or 0

    def first(names: Candidates) -> Candidate | None:
        if not len(names):
            return None
        concept, score = int(names.concepts[0]), float(names.scores[0])
        name, matched = dictionary.preferred_name(concept), table.texts[names.names[0]]
        return Candidate(dictionary.ids[concept], name, matched, score)

    for mention, texts in batch:
        parts = list(itertools.islice(rankings, len(texts)))
        best = tuple(first(names.by_score) for names in parts)
        outcome = Outcome(mention, rank(mention, (names.by_score for names in parts)), best)
        if linker.ranker:
            of_concepts = rank(mention, (names.by_concept for names in parts))
            outcome = dataclasses.replace(outcome, rank_of_concepts=of_concepts)
        yield with_error(outcome, linker)


def outcome_of(
    prediction: Prediction, mention: Mention, protocol: str, resolve: Resolve
) -> Outcome:
    """Compare a prediction with an annotated mention; k counts concepts in both protocols.

    Args:
        prediction: the candidates of each part.
        mention: the mention with its gold ids.
        protocol: a name of `PROTOCOLS`.
        resolve: maps an annotated id to current ids.
    """
    gold, best = mention.gold or (), tuple(part.best for part in prediction.parts)
    ranked = [[c.concept_id for c in part.returned] for part in prediction.parts]
    if protocol == "biosyn":
        rank = matching.biosyn_rank([[[i] for i in ids] for ids in ranked], gold, resolve)
        return Outcome(mention, rank or 0, best, reading=prediction.reading)
    first = [part.best or part.rejected for part in prediction.parts]
    first_ids = [[candidate.concept_id] if candidate else [] for candidate in first]
    return Outcome(
        mention,
        matching.strict_rank(ranked, gold, resolve) or 0,
        best,
        tuple(part.rejected for part in prediction.parts),
        matching.strict_rank(first_ids, gold, resolve) == 1,
        prediction.confidence,
        prediction.reading,
    )


def with_error(outcome: Outcome, linker: Linker | None) -> Outcome:
    """An outcome with its kind of error, which a model tells."""
    if outcome.rank == 1 or linker is None:
        return outcome
    return dataclasses.replace(outcome, error=error(outcome, linker.dictionary))


def error(outcome: Outcome, dictionary: Dictionary) -> str:
    """The kind of error of a mention whose first candidates are wrong: a key of `ERRORS`."""
    candidates = [part for part in outcome.parts if part]
    if not candidates:
        return "no_candidate"
    if not outcome.gold:
        return "concept_not_expected"
    right = matching.accepted(outcome.gold, dictionary.resolve)
    rows = {row for identifier in right for row in dictionary.rows(identifier)}
    if not rows:
        return "concept_not_in_dictionary"
    if not outcome.is_split_right and any(best.concept_id in right for best in candidates):
        return "wrong_split"
    wrong = [best.concept_id for best in candidates if best.concept_id not in right][:1]
    for row in dictionary.rows(wrong[0]) if wrong else ():
        if any(row in above for above in dictionary.hierarchy.ancestors(sorted(rows))):
            return "hypernym"
        if not rows.isdisjoint(dictionary.hierarchy.ancestors([row])[0].tolist()):
            return "hyponym"
    return "unrelated"
