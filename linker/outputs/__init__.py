"""Writers of predictions, a module for each format; items are written as they come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from linker.errors import LinkerError
from linker.ids import escaped
from linker.types import PREDICATES, Candidate, Decision, Document, Mention, Part, Prediction

Predicted = tuple[Document | None, Iterable[Prediction]]
"""A document with the predictions for its mentions, in their order; None with predictions for loose
mentions. They are gone over once."""


@dataclass(frozen=True, slots=True)
class ObjectSource:
    """What a file of mappings says of the dictionary that its concepts are from."""

    name: str = ""  # the names of its files
    release: str = ""  # of its files
    prefixes: tuple[str, ...] = ()  # of the ids of its concepts


@dataclass(frozen=True, slots=True)
class Layout:
    """What a file has beside the best concepts of its mentions."""

    documents: bool = False  # whether a table has columns for ids of documents and for spans
    # whether other vocabularies lent names to the dictionary, or people decided, so that a table
    # has a column for the source of an answer
    sources: bool = False
    decisions: bool = False  # whether decisions of people were applied, for which it has columns
    vocabulary: ObjectSource | None = None  # the dictionary, which files of mappings name
    also: bool = False  # whether ids of other vocabularies were asked for


class Writer(Protocol):
    """The module of a format; a file is a header, items and a footer.

    A format that has an entry for each distinct text, and not for each mention, also has a function
    `gather`, which is given the texts of all items, and yields what stands in their place.
    """

    FOOTER: str

    def header(self, first: Document | None, layout: Layout) -> str:
        """What a file begins with, given the document of its first item, if it has one."""

    def item(
        self, document: Document | None, predictions: Iterable[Prediction], layout: Layout
    ) -> str:
        """The text of an item.

        Raises:
            LinkerError: the format cannot hold it.
        """


BREAKS = str.maketrans("\t\r\n\0", "    ")  # what cannot stand inside a column


DECISION = "decision"
"""The source of concepts that a person chose or rejected."""
DECISION_COLUMNS = ("state", "reviewer", "time", "decisions")
"""What tables say of a mention for which people decided; see `decision_cells`."""


OUTCOMES = ("linked", "unsure", "no concept", "empty")
Outcome = tuple[str, str]
"""One of `OUTCOMES`, and what the text says of the mention; see `outcome`."""
_UNSURE = 0.5  # an answer with a lower confidence is a guess


def outcome(prediction: Prediction | None) -> Outcome:
    """What became of a mention, and its assertion; None for no mention.

    It is linked where every part has a concept of which the model is not unsure, or that people
    accepted; it has no concept where no part has one.
    """
    if prediction is None or not prediction.mention.text.strip():
        return "empty", "present"
    best = [part.best for part in prediction.parts]
    if not any(best):
        return "no concept", prediction.assertion
    is_sure = prediction.state == "accepted" or all(
        c and (c.confidence is None or c.confidence >= _UNSURE) for c in best
    )
    return "linked" if all(best) and is_sure else "unsure", prediction.assertion


ASSERTED = {
    "absent": "denied",
    "possible": "possible",
    "historical": "past",
    "family": "of a relative",
    "mixed": "mixed",
}
"""What texts say of diseases that are not plainly present, in words; see `types.Assertion`."""


def assertion_of(part: Part) -> str:
    """What the text says of a part, as tables write it; empty where it is present."""
    return "" if part.assertion == "present" else part.assertion


def rejected_id(part: Part) -> str:
    """The id of the candidate that was rejected for a part without a concept; empty for none."""
    return part.rejected.concept_id if part.rejected and part.best is None else ""


def source_of(prediction: Prediction, part: Part) -> str:
    """Where the answer of a part is from: a file that lent its name, "decision", or empty."""
    if part.best:
        return part.best.source
    is_rejected = part.rejected is not None and part.rejected.source == DECISION
    return DECISION if is_rejected or prediction.state in ("accepted", "no concept") else ""


def decision_cells(prediction: Prediction) -> tuple[str, ...]:
    """The cells of `DECISION_COLUMNS`: the state, who decided, when last, and all that was decided.

    Of what was accepted in bulk, nobody and no time is named.
    """
    seen = [decision for decision in prediction.decisions if not decision.bulk]
    reviewers = dict.fromkeys(filter(None, (decision.reviewer for decision in seen)))
    last = max((decision.time for decision in seen), default="")
    written = decisions_text(prediction.decisions) if prediction.decisions else ""
    return prediction.state, "; ".join(reviewers), last, written


def decisions_text(decisions: Sequence[Decision]) -> str:
    """Decisions as JSON in one line, in ASCII, which every encoding of a table has."""
    return json.dumps([decision.to_dict() for decision in decisions])


def decision_from_json(record: Any) -> Decision:
    """The decision that `Decision.to_dict` wrote; its number, which one store gave, is left out.

    Raises:
        ValueError: the object is none.
    """
    kinds = {"mention": str, "accepted": bool, "scope": str, "reviewer": str, "time": str}
    if not isinstance(record, dict) or not all(
        isinstance(record.get(key), kind) for key, kind in kinds.items()
    ):
        raise ValueError(f"a decision is no object with {', '.join(kinds)}")
    if not isinstance(identifier := record.get("concept_id", False), str | None):
        raise ValueError("the concept_id of a decision is neither a text nor null")
    if (predicate := record.get("predicate", "")) not in PREDICATES:
        raise ValueError(f"the predicate of a decision is {predicate!r}")
    values = {key: record[key] for key in [*kinds][1:]}
    bulk = bool(record.get("bulk", record.get("others")))  # as it was written before
    settles = settles_of(record.get("settles", []))
    return Decision(
        record["mention"],
        identifier or "",
        **values,
        predicate=predicate,
        bulk=bulk,
        settles=settles,
    )


def settles_of(names: Any) -> tuple[str, ...]:
    """The reviewers whose decisions one settles.

    Raises:
        ValueError: they are no list of texts.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"whom a decision settles is {names!r}; expected a list of reviewers")
    return tuple(names)


def decimals(value: float | None) -> str:
    """Write a score or a confidence with 4 decimals; empty for None."""
    return "" if value is None else f"{value:.4f}"


def owner_of(document: Document | None, mention: Mention) -> str | None:
    """The id of the document that a mention is of; None where it is of none."""
    return document.id if document is not None else mention.document_id


def spans_text(mention: Mention) -> str:
    """Where a mention stands, as tables write it: "0-5;9-12"."""
    return ";".join(f"{start}-{end}" for start, end in mention.spans)


def joined_ids(prediction: Prediction) -> str:
    """Join the ids of the parts with `|`; -1 is a part, or a whole mention, without a concept."""
    return "|".join(ids_of(prediction)) or "-1"


def ids_of(prediction: Prediction) -> list[str]:
    """The ids of an answer as `split_ids` reads them, one for each part; none without a concept."""
    best = [part.best for part in prediction.parts]
    return [escaped(b.concept_id) if b else "-1" for b in best] if any(best) else []


def also_text(candidate: Candidate) -> str:
    """The ids of other vocabularies that a concept has, as tables write them."""
    return "; ".join(f"{other.id} {other.predicate}" for other in candidate.also)


def paired(
    document: Document, predictions: Iterable[Prediction]
) -> Iterator[tuple[Mention, Prediction | None]]:
    """Yield each mention of a document with its prediction or None, then further predictions."""
    left = iter(predictions)
    following = next(left, None)
    for mention in document.mentions:
        # by identity: two mentions of a document may be equal
        if following is not None and following.mention is mention:
            yield mention, following
            following = next(left, None)
        else:
            yield mention, None
    while following is not None:
        yield following.mention, following
        following = next(left, None)


def with_text(document: Document | None, format: str) -> Document:
    """Return the document of an item for a format that writes whole documents.

    Raises:
        LinkerError: there is none, or it has mentions but no text.
    """
    if document is None:
        raise LinkerError(
            f"the format {format} holds documents, and the input has loose mentions; "
            "choose tsv or jsonl"
        )
    if document.mentions and not document.passages:
        raise LinkerError(
            f"the format {format} holds texts, and document {document.id} has none; "
            "choose tsv or jsonl"
        )
    return document
