"""The two protocols: `strict` evaluates a model as deployed, `biosyn` as the papers do."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from linker import matching
from linker.errors import LinkerError
from linker.linking.linker import Linker
from linker.matching import Resolve
from linker.text.biosyn import biosyn_parts
from linker.text.mentions import Definitions, grouped
from linker.types import Candidate, Document, Gold, Mention, Prediction, ReadingKind

PROTOCOLS = ("strict", "biosyn")
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

    @property
    def gold(self) -> Gold:
        """The annotated ids."""
        return self.mention.gold or ()


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
    yield from outcomes(linker.link(items, k=k, threshold=threshold), linker)


def outcomes(predictions: Iterable[Prediction], linker: Linker) -> Iterator[Outcome]:
    """The outcomes of the protocol strict; mentions that are not annotated are left out.

    Args:
        predictions: of mentions with their gold ids.
        linker: its dictionary resolves these ids.
    """
    for prediction in predictions:
        if prediction.mention.gold is not None:
            yield outcome_of(prediction, prediction.mention, "strict", linker.dictionary.resolve)


def biosyn(linker: Linker, items: Iterable[Mention | Document], k: int) -> Iterator[Outcome]:
    """Evaluate as BioSyn does: k counts names, and any id in common with the gold is right.

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
            yield from _outcomes(linker, batch, k)
            batch = []
    yield from _outcomes(linker, batch, k)


def biosyn_queries(mention: Mention, definitions: Definitions) -> list[str]:
    """The names that the protocol `biosyn` looks up for a mention, one for each part.

    Args:
        mention: the mention with its gold ids.
        definitions: the short forms of its document.
    """
    pieces = mention.text.split("|")
    ids = [i for group in mention.gold or () for i in group.ids]
    return pieces if len(pieces) > 1 else list(biosyn_parts(mention.text, definitions.first, ids))


def _outcomes(linker: Linker, batch: Sequence[_Annotated], k: int) -> Iterator[Outcome]:
    """Rank names for mentions, and find the first that is right."""
    table, dictionary = linker.generator.table, linker.dictionary
    texts = [text for _, parts in batch for text in parts]
    rankings = iter(linker.rank_names(texts, k))
    for mention, parts in batch:
        ids: list[list[frozenset[str]]] = []
        best: list[Candidate | None] = []
        for names in itertools.islice(rankings, len(parts)):
            ids.append(
                [
                    frozenset(dictionary.ids[c] for c in table.concepts_of(row))
                    for row in names.names.tolist()
                ]
            )
            best.append(None)
            if len(names):
                first = int(names.concepts[0])
                best[-1] = Candidate(
                    dictionary.ids[first],
                    dictionary.preferred_name(first),
                    table.texts[int(names.names[0])],
                    float(names.scores[0]),
                )
        rank = matching.biosyn_rank(ids, mention.gold or (), dictionary.resolve)
        yield Outcome(mention, rank or 0, tuple(best))


def outcome_of(
    prediction: Prediction, mention: Mention, protocol: str, resolve: Resolve
) -> Outcome:
    """Compare a prediction with an annotated mention; k counts concepts in both protocols.

    Args:
        prediction: the candidates of each part.
        mention: the mention with its gold ids.
        protocol: a name of `PROTOCOLS`.
        resolve: maps an annotated id to current ids.

    Raises:
        LinkerError: there is no such protocol.
    """
    ranked = [[c.concept_id for c in part.returned] for part in prediction.parts]
    if protocol == "strict":
        rank = matching.strict_rank(ranked, mention.gold or (), resolve)
    elif protocol == "biosyn":
        rank = matching.biosyn_rank(
            [[{i} for i in ids] for ids in ranked], mention.gold or (), resolve
        )
    else:
        raise LinkerError(
            f"there is no protocol {protocol!r}; choose one of: {', '.join(PROTOCOLS)}"
        )
    best = tuple(part.best for part in prediction.parts)
    if protocol == "biosyn":
        return Outcome(mention, rank or 0, best, reading=prediction.reading)
    first = [part.best or part.rejected for part in prediction.parts]
    first_ids = [[candidate.concept_id] if candidate else [] for candidate in first]
    return Outcome(
        mention,
        rank or 0,
        best,
        tuple(part.rejected for part in prediction.parts),
        matching.strict_rank(first_ids, mention.gold or (), resolve) == 1,
        _product([part.confidence for part in prediction.parts]),
        prediction.reading,
    )


def _product(confidences: Sequence[float | None]) -> float | None:
    known = [confidence for confidence in confidences if confidence is not None]
    return math.prod(known) if known and len(known) == len(confidences) else None
