"""The records that readers make, linkers return and writers take.

Inside the package, where speed matters, columns and arrays are used instead.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

NameKind = Literal["preferred", "exact", "narrow", "broad", "related", "abbreviation", "training"]
Status = Literal["current", "obsolete", "merged"]
Operator = Literal["one_of", "all_of"]
State = Literal["model", "accepted", "rejected", "open", "no concept", "disputed"]
"""What people said of a mention that was linked.

- model: nothing; the model answers, or what was accepted in bulk, at which nobody looked (files say
  `accepted in bulk`).
- accepted: the concepts of the answer are right.
- rejected: some concepts are wrong; the model answers with another, of which it is sure enough.
- open: some concepts are wrong, and the model is sure of no other, so that there is no answer; or
  people decided on some parts of a composite, and nobody on the others, which the model answers.
- no concept: the dictionary has no concept for it.
- disputed: reviewers disagree; the model answers.
"""
IN_BULK = "accepted in bulk"
"""The state, as files write it, of what was accepted with others, so that nobody looked at it."""
NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)
Assertion = Literal["present", "absent", "possible", "historical", "family"]
"""What a text says of a disease that it names (the classes of ConText, Harkema et al. 2009).

- present: nothing else.
- absent: it is denied ("no gout").
- possible: it is suspected, or asked for ("?gout").
- historical: it is past ("history of gout").
- family: a relative has it ("family history of gout").
"""
ASSERTIONS: tuple[Assertion, ...] = get_args(Assertion)
SCHEMA = 1  # of the objects that `Prediction.to_dict` makes
GAP = 1_000_000
"""Characters of a document that may be missing between its passages.

Files leave out chapters and tables, and a long book has so many characters.
"""
Span = tuple[int, int]  # [start, end) in characters of the document's text


@dataclass(frozen=True, slots=True)
class Name:
    """A name of a concept, as written in its source; normalised forms are derived."""

    text: str
    concept_id: str  # CURIE
    kind: NameKind = "exact"
    language: str = ""  # as the source writes it ("ENG", "en"); empty where it does not say
    source: str = ""  # vocabulary or file that the name came from
    case_sensitive: bool = False  # short forms such as "ALL", which differ from "all"


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept as one dictionary file has it; also an obsolete or merged one (`status`)."""

    id: str  # CURIE
    name: str  # the preferred name
    names: tuple[Name, ...] = ()  # all names, the preferred one first
    parents: tuple[str, ...] = ()  # ids
    alt_ids: tuple[str, ...] = ()  # further ids of the same concept
    definition: str = ""
    types: tuple[str, ...] = ()  # semantic types: UMLS TUIs, CTD slim terms, OBO subsets
    namespace: str = ""  # prefix of the CURIE
    status: Status = "current"
    replaced_by: tuple[str, ...] = ()  # ids of the current concepts, where the status is another
    xrefs: tuple[str, ...] = ()  # references to other vocabularies
    line: int | None = field(default=None, compare=False)  # of its record in the file, from 1


@dataclass(frozen=True, slots=True)
class IdMapping:
    """What a file of mappings says of two ids of different vocabularies, or of a text and an id."""

    subject_id: str  # CURIE; empty where the subject is a text, which is the label
    subject_label: str  # the name that the subject has in its vocabulary; empty where not given
    predicate_id: str  # as written: "skos:exactMatch"
    object_id: str  # CURIE; empty where the object is a text, which is the label
    object_label: str
    line: int | None = field(default=None, compare=False)  # of its row in the file, from 1

    @property
    def is_literal(self) -> bool:
        """Whether one side is a text without an id."""
        return not (self.subject_id and self.object_id)


@dataclass(frozen=True, slots=True)
class Source:
    """A file or folder that concepts of a dictionary were read from."""

    file: str  # name without its folder
    format: str  # a name of `linker.io.formats.DICTIONARIES`
    namespace: str  # the most frequent CURIE prefix
    release: str  # as the file states it; empty where it does not
    sha256: str  # checksum of the file, or of the files of the folder
    concepts: int  # how many were taken from it


@dataclass(frozen=True, slots=True)
class GoldGroup:
    """The ids that one part of a mention was annotated with."""

    ids: tuple[str, ...]  # CURIEs as annotated; they may be alternative or old ids
    operator: Operator = "one_of"  # whether any of the ids is right, or all are needed


@dataclass(frozen=True, slots=True)
class Selection:
    """The part of a dictionary that may be answered with: concepts that fit every given list.

    A list may be given as any sequence of texts, or as one text. An empty selection is the whole
    dictionary.
    """

    under: tuple[str, ...] = ()  # CURIEs: one of these concepts, or one below them; empty: all
    not_under: tuple[str, ...] = ()  # CURIEs: none of these concepts, and none below them
    types: tuple[str, ...] = ()  # semantic types, one of which the concept has; empty: all
    namespaces: tuple[str, ...] = ()  # prefixes, one of which its CURIE has; empty: all

    def __post_init__(self) -> None:
        for entry in fields(self):
            texts: Any = getattr(self, entry.name)
            texts = (texts,) if isinstance(texts, str) else tuple(texts)
            object.__setattr__(self, entry.name, texts)

    def __bool__(self) -> bool:
        return bool(self.under or self.not_under or self.types or self.namespaces)


SELECTION = tuple(field.name for field in fields(Selection))
"""The names of the lists of a selection, as files and options have them."""


Gold = tuple[GoldGroup, ...]
"""One group for each part of the mention: `A|B` is two groups, `A+B` one `all_of`, () none."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text, to be linked.

    Mentions of a document are told apart by their spans and type, so that they may overlap.
    """

    text: str
    spans: tuple[Span, ...] = ()  # several for a discontinuous mention
    gold: Gold | None = None  # None: not annotated; (): annotated as having no concept
    type: str = ""  # what is named, as the file says it: "Disease"
    document_id: str | None = None
    annotation_id: str = ""  # of this mention in its document
    # what else the file says of the mention, kept for writing it back
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    within: Selection | None = None  # what it alone may be answered with; None: no restriction


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document's text, such as its title, which starts at character `offset`."""

    text: str
    offset: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)


def parse_spans(pairs: Any) -> tuple[Span, ...]:
    """Check the spans in a JSON object.

    Args:
        pairs: [[start, end], ...], or null for no spans.

    Raises:
        ValueError: it is neither.
    """
    spans = pairs or []
    if not isinstance(spans, list) or not all(
        isinstance(span, list) and [*map(type, span)] == [int, int] for span in spans
    ):
        raise ValueError("'spans' is not a list of [start, end] in whole numbers")
    return tuple((start, end) for start, end in spans)


def check_offsets(passages: Sequence[Passage], what: str = "passage") -> None:
    """Check where passages begin.

    Args:
        passages: the passages of one document.
        what: what the message calls a passage.

    Raises:
        ValueError: one begins before character 0, or more than `GAP` characters behind the text of
            all passages.
    """
    most = sum(len(passage.text) for passage in passages) + GAP
    for number, passage in enumerate(passages, 1):
        if not 0 <= passage.offset <= most:
            raise ValueError(
                f"{what} {number} begins at character {passage.offset}; expected 0 to {most}"
            )


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between mentions or concepts of a document, kept as it was read."""

    type: str
    arguments: tuple[tuple[str, str], ...]  # (role, id) pairs
    id: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its mentions.

    What else a file says of it is kept in `metadata` and written back.
    """

    id: str
    passages: tuple[Passage, ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict, hash=False)
    within: Selection | None = None  # what its mentions may be answered with; None: no restriction

    @property
    def text(self) -> str:
        """The whole text; gaps between passages are filled with spaces, so that offsets hold.

        Raises:
            ValueError: a passage begins where it cannot, see `check_offsets`.
        """
        check_offsets(self.passages)
        text = io.StringIO()
        for passage in self.passages:
            text.write(" " * (passage.offset - text.seek(0, io.SEEK_END)))
            text.seek(passage.offset)
            text.write(passage.text)
        return text.getvalue()


@dataclass(frozen=True, slots=True)
class Activity:
    """A step of a long run: a message for progress displays.

    It is sent when an activity begins, and from time to time while it lasts.
    """

    what: str  # name of the activity: "encoding names", or a phase of the training
    share: float | None = 0.0  # done so far, 0 to 1; 0 says that it begins, None that nobody knows
    at: str = ""  # how far it is, in words: "100 of 400"
    epochs: int = 0  # the most that a phase of the training takes; 0 for any other activity


@dataclass(frozen=True, slots=True)
class Reference:
    """An id of another vocabulary, and what a file says that it is to a concept."""

    id: str  # CURIE
    predicate: str  # the concept is the subject: "skos:exactMatch", "oboInOwl:hasDbXref"
    source: str  # the file that says so


@dataclass(frozen=True, slots=True)
class Candidate:
    """A concept that a part of a mention may mean, with the name by which it was found."""

    concept_id: str
    name: str  # preferred name
    matched_name: str  # the name of the concept with the best score
    score: float
    """How alike the mention and the matched name are; candidates stand in the order of confidence.

    For a dense linker this is the dense score, plus λ times the sparse one, plus the bonus of
    frequent names.
    """
    sparse_score: float | None = None
    dense_score: float | None = None
    source: str = ""  # the file that lent the matched name; empty for names of the dictionary's own
    confidence: float | None = None
    """The probability that the concept is right, 0 to 1; None without a ranker.

    Those of a part's candidates sum to 1 at most.
    """
    also: tuple[Reference, ...] = ()  # ids of the vocabularies that were asked for

    def to_dict(self) -> dict[str, Any]:
        """The candidate as an object that `json` can write, without an empty `source` or `also`."""
        values = {name: getattr(self, name) for name in _CANDIDATE}
        if self.source:
            values["source"] = self.source
        if self.also:
            values["also"] = [asdict(other) for other in self.also]
        return values

    def __str__(self) -> str:
        sure = "" if self.confidence is None else f" ({self.confidence:.2f})"
        return f"{self.concept_id} {self.name}{sure}"

    def __repr__(self) -> str:
        return f"<Candidate {self}, by {self.matched_name!r}>"


_CANDIDATE = (  # what JSON has of any
    *("concept_id", "name", "matched_name"),
    *("score", "sparse_score", "dense_score", "confidence"),
)


@dataclass(frozen=True, slots=True)
class Broader:
    """A concept that stands above what a part without a sure one probably means."""

    concept_id: str
    name: str  # preferred name
    confidence: float  # the probability that the part means a concept below it, or this one

    def __str__(self) -> str:
        return f"{self.concept_id} {self.name} ({self.confidence:.2f})"


@dataclass(frozen=True, slots=True)
class Part:
    """A mention, or one part of a composite mention, with its candidates."""

    text: str
    expanded: str | None = None  # text with its short forms expanded, where that changed it
    spans: tuple[Span, ...] = ()
    # the best first; of a `nil` part for which people decided, concepts that it might mean
    candidates: tuple[Candidate, ...] = ()
    nil: bool = False  # whether no concept is returned
    # of a `nil` part: the best candidate, which was too unsure, or which a person rejected
    rejected: Candidate | None = None
    assertion: Assertion = "present"  # what the text says of it
    # ids, one of which is right as often as was asked for; None: "none of these"; (): not asked
    answers: tuple[str | None, ...] = ()
    broader: Broader | None = None  # of a part without a sure concept
    is_open: bool = False  # whether people decided on other parts of the mention, and not on this

    @property
    def returned(self) -> tuple[Candidate, ...]:
        """The candidates that are the answer, the best first; none for a part without a concept."""
        return () if self.nil else self.candidates

    @property
    def best(self) -> Candidate | None:
        """The first candidate, or None for a part without a concept."""
        return self.returned[0] if self.returned else None

    @property
    def confidence(self) -> float | None:
        """The probability that the first candidate, or the rejected one, is right."""
        first = self.best or self.rejected
        return first.confidence if first else None

    def to_dict(self) -> dict[str, Any]:
        """The part as an object that `json` can write, see `Prediction.to_dict`."""
        part: dict[str, Any] = {
            "text": self.text,
            "expanded": self.expanded,
            "spans": _pairs(self.spans),
            "nil": self.nil,
            "assertion": self.assertion,
            "confidence": self.confidence,
            "candidates": [candidate.to_dict() for candidate in self.candidates],
            "rejected": self.rejected and self.rejected.to_dict(),
        }
        if self.answers:
            part["set"] = list(self.answers)
        if self.broader:
            part["broader"] = asdict(self.broader)
        if self.is_open:
            part["open"] = True
        return part

    def __str__(self) -> str:
        said = "" if self.assertion == "present" else f", {self.assertion}"
        said = (f", broader {self.broader}" if self.broader else "") + said
        if self.best:
            return f"{self.best}{said}"
        return "no concept" + (f", rejected {self.rejected}" if self.rejected else "") + said

    def __repr__(self) -> str:
        count = len(self.returned)
        more = f", first of {count} candidates" if count > 1 else ""
        return f"<Part {self.text!r}: {self}{more}>"


ReadingKind = Literal["whole", "expanded", "split", "shortened", "respelt"]
"""How a mention is read: as it is written, or in the way that `Reading` says."""


Predicate = Literal["", "broad", "narrow", "related"]
"""What an accepted concept is to the mention, as SSSOM has it: empty is exact, `broad` a concept
that is broader than the mention. Of several parts it is what each concept is to the whole."""
PREDICATES: tuple[Predicate, ...] = get_args(Predicate)


@dataclass(frozen=True, slots=True)
class Decision:
    """What one reviewer said of one mention."""

    mention: str  # as written
    # an id; those of several parts joined by "|", with -1 for a part without a concept and ? for
    # one that is open, and those that are meant together by "+", as `linker.ids.join_ids` writes
    # them; empty: no concept
    concept_id: str
    accepted: bool = True  # False: the concept was rejected for the mention
    scope: str = ""  # the id of the document in which it holds; empty: it holds everywhere
    reviewer: str = ""  # who decided
    time: str = ""  # when, ISO 8601 in UTC; the store fills it where it is empty
    model: str = ""  # fingerprint of the model whose answer was reviewed
    release: str = ""  # release of the dictionary that the id is of, or its checksum
    id: int | None = None  # given by the store; later decisions have larger ones
    predicate: Predicate = ""
    step: int | None = None  # what it was made together with, given by the store; see `steps` there
    bulk: bool = False  # whether it was accepted with others, so that nobody looked at it
    settles: tuple[str, ...] = ()  # the reviewers whose earlier decisions count no more beside it
    # the ids as they were said, where `concept_id` has those of a later release; else empty
    said: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What was said, as an object that `json` can write; `concept_id` None is no concept."""
        decision: dict[str, Any] = {
            "mention": self.mention,
            "concept_id": self.concept_id or None,
            "accepted": self.accepted,
            "predicate": self.predicate,
            "scope": self.scope,
            "reviewer": self.reviewer,
            "time": self.time,
            "id": self.id,
        }
        if self.bulk:
            decision["bulk"] = True
        if self.settles:
            decision["settles"] = [*self.settles]
        if self.said:
            decision["said"] = self.said
        return decision


@dataclass(frozen=True, slots=True)
class Prediction:
    """The answer for a mention."""

    mention: Mention
    parts: tuple[Part, ...]  # one, or several for a composite mention
    reading: ReadingKind = "whole"  # how the mention was read
    rivals: tuple[Reading, ...] = ()  # the next probable way to read the mention, if there is one
    state: State = "model"  # what people said of it
    decisions: tuple[Decision, ...] = ()  # of people, on this mention; in order of entry

    @property
    def confidence(self) -> float | None:
        """The probability that the first, or rejected, candidates of all parts are right.

        It is the product of the confidences of the parts; None where one has none.
        """
        known = [part.confidence for part in self.parts if part.confidence is not None]
        return math.prod(known) if known and len(known) == len(self.parts) else None

    @property
    def has_open_part(self) -> bool:
        """Whether people decided on some of the parts alone."""
        return any(part.is_open for part in self.parts)

    @property
    def assertion(self) -> Assertion | Literal["mixed"]:
        """What the text says of the parts; mixed where it is not the same of all."""
        said: set[Assertion] = {part.assertion for part in self.parts} or {"present"}
        return said.pop() if len(said) == 1 else "mixed"

    @property
    def written_state(self) -> str:
        """The state as files write it, which says what was accepted in bulk."""
        is_in_bulk = self.state == "model" and any(decision.bulk for decision in self.decisions)
        return IN_BULK if is_in_bulk else self.state

    def to_dict(self) -> dict[str, Any]:
        """The answer as an object that `json` can write: a line of JSONL; gold is left out."""
        return {
            "schema": SCHEMA,
            "mention": self.mention.text,
            "document_id": self.mention.document_id,
            "spans": _pairs(self.mention.spans),
            "parts": [part.to_dict() for part in self.parts],
            "reading": self.reading,
            "assertion": self.assertion,
            "rivals": [rival.to_dict() for rival in self.rivals],
            "state": self.written_state,
            "decisions": [decision.to_dict() for decision in self.decisions],
        }

    def __str__(self) -> str:
        return f"{self.mention.text!r}: {' | '.join(map(str, self.parts))}"

    def __repr__(self) -> str:
        return f"<Prediction {self}>"


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a mention, which lost against another, with its answer.

    It is read whole, with a short form `expanded`, `split` into coordinated parts, `shortened` by
    words that the name does not have ("hereditary"), or `respelt` where a word that no name has is
    one with a typing error. Of each part the best candidate is kept.
    """

    kind: ReadingKind
    parts: tuple[Part, ...]
    confidence: float | None  # the probability that all its parts are right

    def to_dict(self) -> dict[str, Any]:
        """The reading as an object that `json` can write, see `Prediction.to_dict`."""
        return {
            "kind": self.kind,
            "confidence": self.confidence,
            "parts": [part.to_dict() for part in self.parts],
        }


def _pairs(spans: Iterable[Span]) -> list[list[int]] | None:
    return [[int(start), int(end)] for start, end in spans] or None
