"""Annotation of documents: their mentions are found, and linked."""

from __future__ import annotations

import dataclasses
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linker.errors import LinkerError
from linker.linking.linker import Linked, Linker
from linker.text.find import running_text
from linker.text.overlaps import Overlaps, longest, overlap
from linker.types import Candidate, Document, Mention, Part, Prediction, Selection, Span


@dataclass(frozen=True, slots=True)
class FoundSpan:
    """A place in a text that may be a mention."""

    start: int  # in characters of the text
    end: int
    probability: float | None = None  # that it is a mention; None where nobody knows
    type: str = ""  # what is named, as the finder says it
    name: str = ""  # the name that it is linked by, where that is not its text


FindSpans = Callable[[str], Iterable[FoundSpan]]
"""Finds places in a text that may be mentions."""


Correct = Callable[[Prediction, Document], Prediction]
"""Changes a prediction, given its document; see `linker.decisions.applying.Decided.apply`."""


class Annotator:
    """Finds the mentions in documents, and links them.

    Args:
        linker: what links them.
        find: what finds them; None: the names of the linker's dictionary are found.
        type: what the mentions found are of; None: what `find` says, else the one type of the
            mentions that the linker learnt to find mentions from.
    """

    def __init__(
        self, linker: Linker, find: FindSpans | None = None, type: str | None = None
    ) -> None:
        self._linker, self._find = linker, find
        by_names = linker.spans if find is None else None
        self._threshold = by_names.threshold if by_names else 0.0
        self._type = type if type is not None or by_names is None else by_names.type

    def annotate(
        self,
        documents: Iterable[Document],
        *,
        k: int = 5,
        threshold: float | None = None,
        overlaps: Overlaps = "longest",
        batch_size: int = 1024,
        correct: Correct | None = None,
    ) -> Iterator[Linked]:
        """Find and link the mentions of documents, in order.

        Marked mentions stay, and nothing is added where they are. Those without gold are linked.

        Args:
            documents: with their texts.
            k: how many concepts to return for each part of a mention.
            threshold: the confidence that mentions found need: the probability of a mention times
                that of its concept. None: they need the probability of a mention that gave the best
                F1 in training.
            overlaps: which of the names found are kept where they overlap.
            batch_size: mentions that are read before they are linked together.
            correct: changes predictions before those below the threshold are left out.

        Yields:
            Each document with all its mentions, and the predictions of those that were linked.

        Raises:
            LinkerError: the threshold is outside [0, 1], or a document is none.
        """
        if threshold is not None and not 0 <= threshold <= 1:
            raise LinkerError(f"the threshold is {threshold}; expected: 0 to 1")
        waiting: deque[Marked] = deque()  # the documents read

        def readable() -> Iterator[Document]:
            for document in documents:
                if not isinstance(document, Document):
                    raise LinkerError("a mention was given where a document is expected")
                waiting.append(self.mark(document, threshold, overlaps))
                yield waiting[-1].to_link()

        linked = self._linker.link_items(
            readable(), k=k, batch_size=batch_size, wanted=lambda mention: mention.gold is None
        )
        for _, predictions in linked:
            yield waiting.popleft().linked(predictions, threshold or 0.0, correct)

    def mark(
        self, document: Document, threshold: float | None = None, overlaps: Overlaps = "longest"
    ) -> Marked:
        """Find the mentions in a document, without linking them.

        Args:
            document, threshold, overlaps: as for `annotate`.
        """
        return self._marked(document, self._spans(document, threshold, overlaps))

    def _find_names(self, text: str, within: Selection | None) -> Iterator[FoundSpan]:
        """Find the names of the dictionary, or of a part of it."""
        names, model = self._linker.restricted(within).found_names, self._linker.spans
        findings = names.find(text)
        probabilities: Sequence[float | None] = [None] * len(findings.matches)
        if model:
            probabilities = model.probabilities(findings, names).tolist()
        plausible = names.plausible(findings) if model is None else [True] * len(probabilities)
        for match, p, is_plausible in zip(findings.matches, probabilities, plausible, strict=True):
            if is_plausible:
                name = names.spelled(findings, match)
                yield FoundSpan(match.start, match.end, p, name=name)

    def _spans(
        self, document: Document, threshold: float | None, overlaps: Overlaps
    ) -> list[FoundSpan]:
        """The mentions found in a document where none are marked, in the order of the text."""
        least = self._threshold if threshold is None else threshold
        text = running_text(document)
        spans = self._find(text) if self._find else self._find_names(text, document.within)
        by_place = {
            (span.start, span.end): span
            for span in spans
            if span.probability is None or span.probability >= least
        }
        places = longest(by_place) if overlaps == "longest" else sorted(by_place)
        taken = sorted(span for mention in document.mentions for span in mention.spans)
        return [by_place[place] for place in _apart(places, taken)]

    def _marked(self, document: Document, spans: Sequence[FoundSpan]) -> Marked:
        """The document with the mentions found among the marked ones."""
        text = document.text
        taken = {mention.annotation_id for mention in document.mentions}
        ids = (name for number in itertools.count(1) if (name := f"L{number}") not in taken)
        mentions = [
            Mention(
                text[span.start : span.end],
                ((span.start, span.end),),
                type=span.type if self._type is None else self._type,
                document_id=document.id,
                annotation_id=next(ids),
            )
            for span in spans
        ]
        ordered = sorted([*document.mentions, *mentions], key=lambda m: m.spans[:1])
        whole = dataclasses.replace(document, mentions=tuple(ordered))
        return Marked(whole, {m.spans: (m, s) for m, s in zip(mentions, spans, strict=True)})


@dataclass(frozen=True, slots=True)
class Marked:
    """A document with the mentions found in it."""

    document: Document
    added: Mapping[tuple[Span, ...], tuple[Mention, FoundSpan]]  # by the spans of the mentions

    def to_link(self) -> Document:
        """The document whose mentions found have the texts that they are linked by."""
        names = {spans: span.name for spans, (_, span) in self.added.items() if span.name}
        mentions = [
            dataclasses.replace(mention, text=names[mention.spans])
            if mention.spans in names
            else mention
            for mention in self.document.mentions
        ]
        return dataclasses.replace(self.document, mentions=tuple(mentions))

    def linked(
        self, predictions: Sequence[Prediction], threshold: float, correct: Correct | None = None
    ) -> Linked:
        """The document and its predictions, with confidences that count the probability of spans.

        Args:
            predictions: of the mentions of `to_link`.
            threshold: mentions found with a lower confidence are left out, unless people decided
                on them.
            correct: changes predictions before that.
        """
        kept, dropped = [], set()
        for prediction in predictions:
            found = self.added.get(prediction.mention.spans)
            if found:
                prediction = _of_span(prediction, *found)
            if correct:
                prediction = correct(prediction, self.document)
            is_decided = prediction.state not in ("model", "disputed")  # by people, who saw it
            if found and not is_decided and _confidence(prediction) < threshold:
                dropped.add(prediction.mention.spans)
            else:
                kept.append(prediction)
        mentions = tuple(m for m in self.document.mentions if m.spans not in dropped)
        return dataclasses.replace(self.document, mentions=mentions), kept


def _apart(places: Sequence[Span], taken: Sequence[Span]) -> Iterator[Span]:
    """The places that overlap with none that is taken; both are sorted."""
    at, reach = 0, 0  # the first place taken that may matter, and the end of those before it
    for place in places:
        while at < len(taken) and taken[at][0] < place[0]:
            reach = max(reach, taken[at][1])
            at += 1
        if reach <= place[0] and not (at < len(taken) and overlap(place, taken[at])):
            yield place


def _confidence(prediction: Prediction) -> float:
    """The lowest confidence of the parts; 1 where none has a confidence."""
    confidences = [part.confidence for part in prediction.parts]
    return min((value for value in confidences if value is not None), default=1.0)


def _of_span(prediction: Prediction, mention: Mention, span: FoundSpan) -> Prediction:
    """The prediction of a mention found: of its own text, and no surer than that it is a mention.

    Args:
        prediction: of the text that it was linked by.
        mention: the mention.
        span: how it was found.
    """

    def scaled(confidence: float | None) -> float | None:
        if span.probability is None:
            return confidence
        return span.probability * (1.0 if confidence is None else confidence)

    def of_candidate(candidate: Candidate) -> Candidate:
        return dataclasses.replace(candidate, confidence=scaled(candidate.confidence))

    def of_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
        return tuple(
            dataclasses.replace(
                part,
                text=mention.text if span.name and part.text == span.name else part.text,
                candidates=tuple(map(of_candidate, part.candidates)),
                rejected=part.rejected and of_candidate(part.rejected),
            )
            for part in parts
        )

    rivals = tuple(
        dataclasses.replace(rival, parts=of_parts(rival.parts), confidence=scaled(rival.confidence))
        for rival in prediction.rivals
    )
    parts = of_parts(prediction.parts)
    return dataclasses.replace(prediction, mention=mention, parts=parts, rivals=rivals)
