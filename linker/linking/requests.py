"""What a linker is asked, and what is known of each mention while it is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict

from linker.arguments import NUMBER, WHOLE, Kind
from linker.errors import LinkerError
from linker.records import (
    Assertion,
    Candidate,
    Document,
    Mention,
    Part,
    Prediction,
    Selection,
    Span,
)
from linker.text.cells import LABEL_ENDS, CellPart, plain
from linker.text.mentions import (
    Definitions,
    DocumentMentions,
    Item,
    TextOptions,
    assertions,
    grouped,
)
from linker.text.readings import Wording

if TYPE_CHECKING:
    from linker.linking.decided import Decided
    from linker.linking.decisions import Ruling

Linked = tuple[Document | None, list[Prediction]]
"""A document, None for a loose mention, with the predictions of its mentions."""

Restrictions = tuple[Selection, ...]
"""Selections that must all hold; none is the whole dictionary."""


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """A place in a text that may be a mention."""

    start: int  # in characters of the text
    end: int
    probability: float | None = None  # that it is a mention; None where nobody knows
    type: str = ""  # what is named, as the finder says it
    name: str = ""  # the name that it is linked by, where that is not its text

    def scaled(self, prediction: Prediction) -> Prediction:
        """The prediction of its mention, no surer than that it is a mention."""

        def product(confidence: float | None) -> float | None:
            if self.probability is None:
                return confidence
            return self.probability * (1.0 if confidence is None else confidence)

        def scale(candidate: Candidate) -> Candidate:
            return replace(candidate, confidence=product(candidate.confidence))

        def of_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
            text = prediction.mention.text
            # no broader concept is probable enough of what may be no mention
            named = (
                replace(p, text=text if p.text == self.name else p.text, broader=None)
                for p in parts
            )
            return with_candidates(tuple(named), scale)

        rivals = tuple(
            replace(rival, parts=of_parts(rival.parts), confidence=product(rival.confidence))
            for rival in prediction.rivals
        )
        return replace(prediction, parts=of_parts(prediction.parts), rivals=rivals)


def with_candidates(
    parts: Sequence[Part], change: Callable[[Candidate], Candidate]
) -> tuple[Part, ...]:
    """Parts, each of whose candidates is changed, the rejected one, too."""
    return tuple(
        replace(
            part,
            candidates=tuple(map(change, part.candidates)),
            rejected=part.rejected and change(part.rejected),
        )
        for part in parts
    )


@dataclass(frozen=True, slots=True)
class Found:
    """The mentions that were found in a document, beside those that were marked."""

    spans: Mapping[tuple[Span, ...], FoundSpan]  # by the spans of the mentions
    threshold: float = 0.0  # those whose answers have a lower confidence are left out

    def is_kept(self, prediction: Prediction) -> bool:
        """Whether a mention stays: if it was marked or decided, or else is sure enough."""
        is_decided = bool(prediction.decisions) and prediction.state != "disputed"
        if is_decided or prediction.mention.spans not in self.spans:
            return True
        confidences = [part.confidence for part in prediction.parts]
        known = (value for value in confidences if value is not None)
        return min(known, default=1.0) >= self.threshold


class Limits(TypedDict, total=False):
    """The fields of a `Request` that are given as keywords; it says what they mean."""

    k: int
    threshold: float | None
    min_score: float | None
    within: Selection | None
    decisions: Decided | None
    also: Sequence[str]
    coverage: float | None
    exact_only: bool
    labels: Sequence[str]


LIMITS = {
    "k": WHOLE,
    "threshold": NUMBER.or_none(),
    "min_score": NUMBER.or_none(),
    "within": Kind(
        'a Selection, such as linker.Selection(under=["MESH:D009369"])', (Selection,)
    ).or_none(),
    "decisions": Kind("a linker.Decided", ("Decided",)).or_none(),
    "also": Kind('a list of prefixes, such as ["OMIM"]', (Sequence,)),
    "coverage": NUMBER.or_none(),
    "exact_only": Kind("True or False", (bool,)),
    "labels": Kind('a list of labels, such as ["Diagnosis, self-reported"]', (Sequence,)),
}
"""The kinds of the `Limits`."""


@dataclass(frozen=True, slots=True)
class Request:
    """An item to link, with its own number of candidates and its own limits.

    Args:
        item: a text, a mention or a document.
        k: how many concepts to return for each part.
        threshold: the confidence from 0 to 1 that a part needs; one with less is `nil`, and its
            best candidate is `rejected`; 0: everything is answered. None: a mention is `nil` where
            "no concept" is more probable than all else, or the answer has less than 0.05.
        min_score: candidates with a lower score are left out; a part that keeps none is `nil`.
        within: the part of the dictionary to answer with, as `Linker.restricted` does it; None: the
            whole. What a document or a mention has in its own `within` must hold, too.
        decisions: of people, which win over the model.
        also: prefixes of other vocabularies, whose ids candidates have in `also`; see
            `Dictionary.also`.
        found: the mentions of the item that were found in its text.
        coverage: how often the set of answers that each part is given shall hold the right one, as
            in `Part.answers`; None: parts have no sets.
        exact_only: whether no broader concepts are given.
        labels: of fields, such as "Diagnosis, self-reported". A text without a document that begins
            with one, in any case, and a colon, dash, "=", "|" or blank, is read without it.

    Raises:
        LinkerError: k is below 1, or a limit is no number, or out of its range; a label is empty.
    """

    item: Item
    k: int = 5
    threshold: float | None = None
    min_score: float | None = None
    within: Selection | None = None
    decisions: Decided | None = None
    also: Sequence[str] = ()
    found: Found | None = None
    coverage: float | None = None
    exact_only: bool = False
    labels: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.k < 1:
            raise LinkerError(f"k is {self.k}; expected: 1 or more")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise LinkerError(
                f"the threshold is {self.threshold}; expected: a confidence from 0 to 1 "
                "(a raw score is given by min_score)"
            )
        if self.coverage is not None and not 0 < self.coverage < 1:
            raise LinkerError(
                f"the coverage is {self.coverage}; expected: a share between 0 and 1, such as 0.95 "
                "(a set that is always right would hold every concept)"
            )
        for label in self.labels:
            if not isinstance(label, str) or not plain(label).strip(LABEL_ENDS):
                raise LinkerError(
                    f"one of the labels is {label!r}; expected: the text that stands in front of "
                    'names in cells, such as "Diagnosis, self-reported"'
                )
        if self.within is not None and not isinstance(self.within, Selection):
            raise LinkerError(
                f"within is a {type(self.within).__name__}; expected: a Selection, such as "
                'linker.Selection(under=["MESH:D009369"])'
            )
        if self.min_score != self.min_score:
            raise LinkerError("min_score is not a number; give one, or leave it out")


@dataclass(slots=True, eq=False)
class Answer:
    """What is known of one mention while it is linked; each step adds to it."""

    request: Request
    mention: Mention
    ruling: Ruling | None = None  # what decisions say of it; None: there are none
    document: Document | None = None
    number: int = -1  # of the document in the batch; -1: a loose mention
    definitions: Definitions = field(default_factory=Definitions)  # of the document
    restrictions: Restrictions = ()  # on the concepts that may be answered
    span: FoundSpan | None = None  # where it was found; None: it was given
    assertion: Assertion = "present"  # what its document says of it
    names: Sequence[Answer] = ()  # the names in it, each as a mention of its own; one: itself
    name: CellPart | None = None  # its text without what stands around; None: not looked for
    readings: Sequence[Wording] = ()  # the ways to read it, the most usual first
    is_empty: bool = False  # it says that nothing was entered, or is marks alone
    nil_evidence: float = 0.0  # log(1 + how often it was annotated as having no concept)
    place: int = 0  # in the ranking
    prediction: Prediction | None = None

    @property
    def text(self) -> str:
        """What is read: the mention, or the name that it is linked by."""
        return self.span.name if self.span and self.span.name else self.mention.text

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that it may begin with; none in a document."""
        return () if self.document else tuple(self.request.labels)

    @property
    def k(self) -> int:
        """The candidates of a part to make: more than are wanted, where people rejected some."""
        return self.request.k + (len(self.ruling.rejected) if self.ruling else 0)


Task = tuple[Request, Document | None, list[Answer]]
"""A request, and its mentions."""


def batches(
    requests: Iterable[Request],
    options: TextOptions,
    size: int,
    wanted: Callable[[Mention], bool] | None = None,
) -> Iterator[list[Task]]:
    """Find the mentions of requests, and what their documents say of them, in batches.

    Args:
        requests: each with one item.
        options: which short forms of documents to look for.
        size: mentions of a batch, at least; the last one may be smaller.
        wanted: which mentions are linked; None: all. A loose mention that is not wanted is no task.
    """
    batch: list[Task] = []
    mentions = 0
    for request in requests:
        for of_item in grouped([request.item], options, wanted):
            answers = list(_answers(request, len(batch), of_item, options))
            batch.append((request, of_item[0], answers))
            mentions += max(1, len(answers))  # documents without mentions take memory too
        if mentions >= size:
            yield batch
            batch, mentions = [], 0
    if batch:
        yield batch


def _answers(
    request: Request, number: int, of_item: DocumentMentions, options: TextOptions
) -> Iterator[Answer]:
    """The mentions of a request, given the number of its item in the batch."""
    document, mentions, definitions = of_item
    spans = request.found.spans if request.found else {}
    shared = tuple(filter(None, (request.within, document.within if document else None)))
    said = assertions(document, mentions, options) if document else {}
    decisions = request.decisions
    for mention in mentions:
        yield Answer(
            request,
            mention,
            decisions.on_mention(mention, document, definitions) if decisions else None,
            document,
            number if document else -1,
            definitions,
            tuple(dict.fromkeys((*shared, mention.within))) if mention.within else shared,
            spans.get(mention.spans),
            said.get(mention.spans, "present"),
        )


def linked(task: Task) -> Linked:
    """What a task gives, once its mentions are answered."""
    request, document, answers = task
    predictions: list[Prediction] = [answer.prediction for answer in answers]  # type: ignore[misc]
    if request.found is None or document is None:
        return document, predictions
    kept = [prediction for prediction in predictions if request.found.is_kept(prediction)]
    dropped = {p.mention.spans for p in predictions} - {p.mention.spans for p in kept}
    mentions = tuple(m for m in document.mentions if m.spans not in dropped)
    return replace(document, mentions=mentions), kept
