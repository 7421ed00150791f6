"""The records that cross the edges of the package. On the hot path columns and arrays are used instead."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

NameKind = Literal["preferred", "exact", "narrow", "broad", "related", "abbreviation", "training"]
Status = Literal["current", "obsolete", "merged"]
Operator = Literal["one_of", "all_of"]
NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)
GAP = 1_000_000
"""Characters of a document that may be missing between its passages: files drop chapters and tables, and a long book has so many."""
Span = tuple[int, int]  # [start, end) in characters of the document's text


def _metadata() -> Mapping[str, str]:
    return {}


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
    """A concept of one dictionary file. `names` holds all names, the preferred one first."""

    id: str  # CURIE
    name: str  # the preferred name
    names: tuple[Name, ...] = ()
    parents: tuple[str, ...] = ()
    alt_ids: tuple[str, ...] = ()
    definition: str = ""
    types: tuple[str, ...] = ()  # semantic types: UMLS TUIs, CTD slim terms, OBO subsets
    namespace: str = ""  # prefix of the CURIE
    status: Status = "current"
    replaced_by: tuple[str, ...] = ()
    xrefs: tuple[str, ...] = ()
    line: int | None = field(
        default=None, compare=False
    )  # where its record starts in the file, for messages


@dataclass(frozen=True, slots=True)
class Source:
    """Where concepts of a dictionary came from."""

    file: str  # name without its folder
    format: str
    namespace: str  # the most frequent CURIE prefix
    release: str  # as the file states it; empty where it does not
    sha256: str
    concepts: int


@dataclass(frozen=True, slots=True)
class GoldGroup:
    """The annotated ids of one part of a mention, as CURIEs, before any alternative id is mapped."""

    ids: tuple[str, ...]
    operator: Operator = "one_of"


Gold = tuple[GoldGroup, ...]
"""One group for each part of the mention: `A|B` is two groups, `A+B` is one `all_of` group, () is no concept."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text. Identity is (document_id, spans, type), so overlapping and nested mentions survive."""

    text: str
    spans: tuple[Span, ...] = ()  # several for a discontinuous mention
    gold: Gold | None = None  # None: not annotated; (): annotated as having no concept
    type: str = ""
    document_id: str | None = None
    annotation_id: str = ""
    metadata: Mapping[str, str] = field(
        default_factory=_metadata, hash=False
    )  # kept for writing back


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document's text that starts at character `offset` of the document."""

    text: str
    offset: int = 0
    metadata: Mapping[str, str] = field(default_factory=_metadata, hash=False)


def parse_spans(pairs: Any) -> tuple[Span, ...]:
    """Take spans out of an object of JSON: [[start, end], ...], or nothing.

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
    """Check that passages (`what`, for the message) stand where their document can be.

    Raises:
        ValueError: one begins before character 0, or more than `GAP` characters behind all their text.
    """
    most = sum(len(passage.text) for passage in passages) + GAP
    for number, passage in enumerate(passages, 1):
        if not 0 <= passage.offset <= most:
            raise ValueError(
                f"{what} {number} begins at character {passage.offset}; expected 0 to {most}"
            )


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation line or element, kept as read: `arguments` are (role, id) pairs."""

    type: str
    arguments: tuple[tuple[str, str], ...]
    id: str = ""
    metadata: Mapping[str, str] = field(default_factory=_metadata, hash=False)


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its mentions. What a reader does not understand is kept in `metadata` and written back."""

    id: str
    passages: tuple[Passage, ...] = ()
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=_metadata, hash=False)

    @property
    def text(self) -> str:
        """The whole text; gaps between passages are filled with spaces, so that offsets hold.

        Raises:
            ValueError: an offset is none, see `check_offsets`.
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
    """What a long run is doing, told as it begins and from time to time while it goes on."""

    what: str  # a phase of the training, or what is being done
    share: float | None = 0.0  # of it that is done; 0: it begins; None: nobody knows
    at: str = ""  # where it is
    epochs: int = 0  # of a phase, at most: its steps tell where it is


@dataclass(frozen=True, slots=True)
class Lookup:
    """A mention, or one coordinated part of it, as it is looked up in a dictionary.

    Two are equal where the same is looked up, whatever mentions they are of.
    """

    mention: Mention = field(compare=False)
    text: str = field(compare=False)  # of the mention or the part
    expanded: str | None = field(compare=False)  # text with its short forms expanded, where changed
    normalized: str  # the form by which names are compared
    context: str = ""  # the words around the mention, which a second stage reads

    @classmethod
    def of(cls, normalized: str, context: str = "") -> Lookup:
        """Look up a normalised name that is no mention of a text."""
        return cls(Mention(normalized), normalized, None, normalized, context)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A concept offered for a part of a mention, with the name that brought it."""

    concept_id: str
    name: str  # preferred name
    matched_name: str  # name with the best score
    score: float  # of dense linkers the dense score + λ · the sparse one + what frequency adds - what a second stage takes
    sparse_score: float | None = None
    dense_score: float | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A mention, or one coordinated part of a composite mention, with its candidates, best first."""

    text: str
    expanded: str | None = None  # text with its short forms expanded, where that changed it
    spans: tuple[Span, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    nil: bool = False  # no concept is returned

    @property
    def best(self) -> Candidate | None:
        """The first candidate, or None for a part without a concept."""
        return self.candidates[0] if self.candidates else None


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was found for a mention: one part, or several for a composite mention."""

    mention: Mention
    parts: tuple[Part, ...]
