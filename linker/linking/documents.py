"""Annotation of documents: their mentions are found, and linked."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from linker.arguments import LINKER, WHOLE, Kind, public
from linker.errors import LinkerError, needing
from linker.linking.linker import Linker
from linker.linking.requests import LIMITS, Found, FoundSpan, Limits, Linked, Request
from linker.records import Document, Mention, Span
from linker.text.find import Overlaps, longest, overlap, running_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

_LABELS = ("Disease",)  # what GLiNER looks for where nobody says
_WINDOW = 1_000  # characters that GLiNER reads at once; it cuts off what is longer
_END = re.compile(r"(?<=[.!?])\s+|\n+")  # of a sentence

FindSpans = Callable[[str], Iterable[FoundSpan]]
"""Finds places in a text that may be mentions."""


_DOCUMENTS = Kind("several Document records", (Iterable,))


class Annotator:
    """Finds the mentions in documents, and links them.

    Args:
        linker: what links them.
        find: what finds them; None: the names of the linker's dictionary are found.
        type: what the mentions found are of; None: what `find` says, else the one type of the
            mentions that the linker learnt to find mentions from.
    """

    @public("linker.Annotator", linker=LINKER)
    def __init__(
        self, linker: Linker, find: FindSpans | None = None, type: str | None = None
    ) -> None:
        self._linker, self._find = linker, find
        by_names = linker.spans if find is None else None
        self._threshold = by_names.threshold if by_names else 0.0
        self._type = type if type is not None or by_names is None else by_names.type

    @public("Annotator.annotate", LIMITS, documents=_DOCUMENTS, batch_size=WHOLE)
    def annotate(
        self,
        documents: Iterable[Document],
        *,
        overlaps: Overlaps = "longest",
        batch_size: int = 1024,
        **limits: Unpack[Limits],
    ) -> Iterator[Linked]:
        """Find and link the mentions of documents, in order.

        Marked mentions stay, and nothing is added where they are. Those without gold are linked.

        Args:
            documents: with their texts.
            overlaps: which of the names found are kept where they overlap.
            batch_size: mentions that are read before they are linked together.
            limits: as for `Linker.link`; but `threshold` is what mentions found need: the
                probability of a mention times that of its concept. None: they need the probability
                of a mention that gave the best F1 in training.

        Yields:
            Each document with all its mentions, and the predictions of those that were linked.

        Raises:
            LinkerError: the threshold is outside [0, 1], or a document is none.
        """
        request = Request("", **limits)
        requests = (
            self.found(dataclasses.replace(request, item=document), overlaps)
            for document in documents
        )
        yield from self._linker.answers(requests, batch_size, lambda mention: mention.gold is None)

    def found(self, request: Request, overlaps: Overlaps = "longest") -> Request:
        """Find the mentions in a document, without linking them.

        Args:
            request: whose item is a document; its threshold is that of `annotate`.
            overlaps: as for `annotate`.

        Raises:
            LinkerError: the item is no document.
        """
        document, threshold = request.item, request.threshold
        if not isinstance(document, Document):
            raise LinkerError("a mention was given where a document is expected")
        text = document.text
        taken = {mention.annotation_id for mention in document.mentions}
        ids = (name for number in itertools.count(1) if (name := f"L{number}") not in taken)
        found = {
            Mention(
                text[span.start : span.end],
                ((span.start, span.end),),
                type=span.type if self._type is None else self._type,
                document_id=document.id,
                annotation_id=next(ids),
            ): span
            for span in self._spans(document, request, overlaps)
        }
        ordered = sorted([*document.mentions, *found], key=lambda mention: mention.spans[:1])
        spans = {mention.spans: span for mention, span in found.items()}
        return dataclasses.replace(
            request,
            item=dataclasses.replace(document, mentions=tuple(ordered)),
            threshold=None,
            found=Found(spans, threshold or 0.0),
        )

    def _spans(self, document: Document, request: Request, overlaps: Overlaps) -> list[FoundSpan]:
        """The mentions found in a document where none are marked, in the order of the text."""
        least = self._threshold if request.threshold is None else request.threshold
        text = running_text(document)
        if self._find:
            spans = self._find(text)
        else:
            linker = self._linker.restricted(request.within).restricted(document.within)
            spans = _names(text, linker)
        by_place = {
            (span.start, span.end): span
            for span in spans
            if span.probability is None or span.probability >= least
        }
        places = longest(by_place) if overlaps == "longest" else sorted(by_place)
        taken = sorted(span for mention in document.mentions for span in mention.spans)
        return [by_place[place] for place in _apart(places, taken)]


def _names(text: str, linker: Linker) -> Iterator[FoundSpan]:
    """Find the names of the dictionary of a linker, or of its part."""
    names, model = linker.found_names, linker.spans
    findings = names.find(text)
    if model is None:
        places = zip(findings.matches, names.plausible(findings), strict=True)
        probable = [(match, None) for match, is_plausible in places if is_plausible]
    else:
        probabilities = model.probabilities(findings, names).tolist()
        probable = list(zip(findings.matches, probabilities, strict=True))
    for match, probability in probable:
        name = names.spelled(findings, match)
        yield FoundSpan(match.start, match.end, probability, name=name)


def _apart(places: Sequence[Span], taken: Sequence[Span]) -> Iterator[Span]:
    """The places that overlap with none that is taken; both are sorted."""
    at, reach = 0, 0  # the first place taken that may matter, and the end of those before it
    for place in places:
        while at < len(taken) and taken[at][0] < place[0]:
            reach = max(reach, taken[at][1])
            at += 1
        if reach <= place[0] and not (at < len(taken) and overlap(place, taken[at])):
            yield place


# ------------------------------------------------------------- recognisers of other packages


def recognizer(spec: str, labels: Sequence[str] = ()) -> FindSpans:
    """Make a finder of mentions.

    Args:
        spec: `spacy:MODEL` or `gliner:MODEL`, with the name or the folder of a model.
        labels: of the entities that count; none: all that spaCy finds, and diseases for GLiNER.

    Raises:
        LinkerError: there is no such recogniser, it is not installed, or its model cannot be read.
    """
    kind, _, model = spec.partition(":")
    if kind not in _MAKERS or not model:
        raise LinkerError(f"{spec!r} is no recogniser; expected: spacy:MODEL or gliner:MODEL")
    return _MAKERS[kind](model, labels)


def _package(name: str) -> ModuleType:
    with needing(f"the recogniser {name}", name):
        return importlib.import_module(name)


def _spacy(model: str, labels: Sequence[str]) -> FindSpans:
    """The entities of a spaCy pipeline (https://spacy.io)."""
    spacy = _package("spacy")
    try:
        pipeline: Any = spacy.load(model)
    except (OSError, ValueError) as error:
        raise LinkerError(
            f"spaCy cannot load the model {model!r} ({str(error).splitlines()[0]}); "
            f"give a folder, or fetch it: python -m spacy download {model}"
        ) from None

    def find(text: str) -> Iterator[FoundSpan]:
        pipeline.max_length = max(pipeline.max_length, len(text) + 1)
        for entity in pipeline(text).ents:
            if not labels or entity.label_ in labels:
                yield FoundSpan(entity.start_char, entity.end_char, type=entity.label_)

    return find


def _gliner(model: str, labels: Sequence[str]) -> FindSpans:
    """The entities that a GLiNER model finds (Zaratiana et al. 2024)."""
    gliner = _package("gliner")
    try:
        recogniser: Any = gliner.GLiNER.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise LinkerError(f"GLiNER cannot load the model {model!r}: {error}") from None
    wanted = list(labels or _LABELS)

    def find(text: str) -> Iterator[FoundSpan]:
        for start, end in windows(text, _WINDOW):
            for entity in recogniser.predict_entities(text[start:end], wanted):
                yield FoundSpan(
                    start + int(entity["start"]),
                    start + int(entity["end"]),
                    float(entity["score"]),
                    str(entity["label"]),
                )

    return find


def windows(text: str, size: int) -> Iterator[tuple[int, int]]:
    """Cut a text into stretches of whole sentences.

    Args:
        text: the text.
        size: characters of a stretch, at most; a longer sentence is cut at this length.
    """
    start = end = 0
    for sentence_end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        if sentence_end - start > size and end > start:
            yield start, end
            start = end
        while sentence_end - start > size:
            yield start, start + size
            start += size
        end = sentence_end
    if end > start:
        yield start, end


_MAKERS: dict[str, Callable[[str, Sequence[str]], FindSpans]] = {
    "spacy": _spacy,
    "gliner": _gliner,
}
