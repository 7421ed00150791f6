"""Writers of predictions, one format a file; each writes items as they come, in bounded memory."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TextIO, cast

from linker.errors import LinkerError
from linker.types import Decision, Document, Mention, Part, Prediction

Item = tuple[Document | None, Sequence[Prediction]]
"""A document with the predictions for its mentions; None with predictions for loose mentions."""

FORMATS = {
    "tsv": "linker.outputs.tsv",
    "jsonl": "linker.outputs.jsonl",
    "pubtator": "linker.outputs.pubtator",
    "bioc": "linker.outputs.bioc",
    "sssom": "linker.outputs.sssom",
}
"""The module of each format."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a file of mappings says of the dictionary that its concepts are from."""

    name: str = ""  # the names of its files
    release: str = ""  # of its files
    prefixes: tuple[str, ...] = ()  # of the ids of its concepts


class Writer(Protocol):
    """The function `write` of each format.

    Args:
        items: what to write, in this order.
        file: where to write.
        documents: whether the mentions are of documents, which a table says in columns of its
            header; None to go by the first item. Formats without a header do not need it.
        sources: whether other vocabularies lent names to the dictionary, so that a table has a
            column for the file that lent the matched name.
        decisions: whether decisions of people were applied, so that a table has columns for them.
        vocabulary: the dictionary, which files of mappings name; other formats do not need it.
    """

    def __call__(
        self,
        items: Iterable[Item],
        file: TextIO,
        *,
        documents: bool | None = None,
        sources: bool = False,
        decisions: bool = False,
        vocabulary: Vocabulary | None = None,
    ) -> None: ...


def writer(format: str) -> Writer:
    """The writer of a format.

    Raises:
        LinkerError: there is no such format.
    """
    if format not in FORMATS:
        raise LinkerError(
            f"{format!r} is not a format of predictions; choose one of {', '.join(FORMATS)}"
        )
    return cast(Writer, importlib.import_module(FORMATS[format]).write)


_ENVELOPES = {  # what begins a text of each format, and what ends it
    "tsv": (re.compile(r".*\n"), ""),
    "jsonl": (re.compile(""), ""),
    "pubtator": (re.compile(""), ""),
    "bioc": (re.compile(r"(?s).*?(?=<document)"), "</collection>\n"),
    "sssom": (re.compile(r"(?:#.*\n)*.*\n"), ""),
}


def joined(format: str, texts: Iterable[str]) -> Iterator[str]:
    """Join texts of one format, each a whole file with an item or more, to the text of one file."""
    head, tail = _ENVELOPES[format]
    for number, text in enumerate(texts):
        start = head.match(text)
        yield text[start.end() if start and number else 0 : len(text) - len(tail)]
    yield tail


BREAKS = str.maketrans("\t\r\n\0", "    ")  # what cannot stand inside a column


DECISION = "decision"
"""The source of concepts that a person chose or rejected."""
DECISION_COLUMNS = ("state", "reviewer", "time", "decisions")
"""What tables say of a mention for which people decided; see `decision_cells`."""


def outcome(prediction: Prediction | None) -> Literal["linked", "unsure", "empty"]:
    """Whether every part of a mention is linked to a concept; None for no mention."""
    if prediction is None or not prediction.mention.text.strip():
        return "empty"
    return "linked" if all(part.best for part in prediction.parts) else "unsure"


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

    All but the state are empty where nobody decided.
    """
    decisions = prediction.decisions
    if not decisions:
        return prediction.state, "", "", ""
    reviewers = dict.fromkeys(filter(None, (decision.reviewer for decision in decisions)))
    times = max(decision.time for decision in decisions)
    return prediction.state, "; ".join(reviewers), times, decisions_text(decisions)


def decisions_text(decisions: Sequence[Decision]) -> str:
    """Decisions as JSON in one line, in ASCII, which every encoding of a table has."""
    return json.dumps([decision_to_json(d) for d in decisions])


def decision_to_json(decision: Decision) -> dict[str, Any]:
    """What a person said of a mention, for JSON; `concept_id` is null for no concept."""
    return {
        "mention": decision.mention,
        "concept_id": decision.concept_id or None,
        "accepted": decision.accepted,
        "scope": decision.scope,
        "reviewer": decision.reviewer,
        "time": decision.time,
        "id": decision.id,
    }


def decision_from_json(record: Any) -> Decision:
    """The decision that `decision_to_json` wrote; its number, which one store gave, is left out.

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
    return Decision(
        record["mention"], identifier or "", **{key: record[key] for key in [*kinds][1:]}
    )


def decimals(value: float | None) -> str:
    """Write a score or a confidence with 4 decimals; empty for None."""
    return "" if value is None else f"{value:.4f}"


def joined_ids(prediction: Prediction) -> str:
    """Join the ids of the parts with `|`; -1 is a part, or a whole mention, without a concept."""
    ids = [part.best.concept_id if part.best else "-1" for part in prediction.parts]
    return "|".join(ids) if set(ids) - {"-1"} else "-1"


def paired(
    document: Document, predictions: Sequence[Prediction]
) -> Iterator[tuple[Mention, Prediction | None]]:
    """Yield each mention of a document with its prediction or None, then further predictions."""
    # by identity: two mentions of a document may be equal
    left = {id(prediction.mention): prediction for prediction in predictions}
    for mention in document.mentions:
        yield mention, left.pop(id(mention), None)
    yield from ((prediction.mention, prediction) for prediction in left.values())


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
