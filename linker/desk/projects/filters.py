"""Which rows of a queue are wanted, and which comes next, as SQL over its table; no web here."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass, fields
from typing import Literal

DECIDED = ("accepted", "no concept")
UNDECIDED = ("model", "rejected", "open", "disputed")

Sort = Literal["doubt", "document", "alphabet", "frequency"]
Show = Literal[
    "all",
    "undecided",
    "decided",
    "in-bulk",
    "no-concept",
    "flagged",
    "disputed",
    "not-linked",
]


@dataclass(slots=True)
class Row:
    """A row of a queue: equal mentions, or those of them that are in one document."""

    key: str
    head: int  # the lowest number of a mention of the group, which decisions may split
    apart: int  # the document whose own decisions count; 0: those that hold everywhere count
    scope: str  # its id; empty for 0
    written: str  # the form of the mention as it is written; empty in tables, where `form` counts
    form: str  # that of its long form, on which decisions are
    type: str
    mention: str  # as the first one is written
    expanded: str  # its long form; empty where it has none
    spot: int  # where its first mention stands, for the order of the documents
    number: int  # of its first mention
    document: int  # of that; 0: it is of a table or list
    place: int  # in that, or its row
    count: int  # of mentions
    documents: int  # of documents that have one
    assertions: str | None  # what texts say of some that is not "present", with commas
    is_linked: bool  # whether it has an answer of the model
    model_confidence: float | None  # on average
    state: str  # "not linked", or one of `linker.records.State`
    ids: str  # of the present answer
    answers: str  # its concepts, as JSON
    confidence: float | None  # of the model's answer that is left; None: people gave it
    reviewers: str = "[]"  # whose decisions count, as JSON
    predicate: str = ""  # what the concept is to the mention
    is_in_bulk: bool = False  # whether nobody looked at the answer that was accepted

    @property
    def text(self) -> str:
        """What a decision on it is on: its long form where it has one."""
        return self.expanded or self.mention

    @property
    def assertion(self) -> str:
        """What the texts say of the mentions; mixed where they do not say the same of all."""
        said = self.assertions or "present"
        return "mixed" if "," in said else said


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows of a queue are wanted."""

    show: Show = "all"
    # confidence that their answers have less of, or none; or a text denies or doubts a mention
    below: float | None = None
    above: float | None = None  # confidence that they have at least, and no text does so
    under: str = ""  # the id of a concept that is above their answers, or one of these
    type: str = ""
    q: str = ""  # a text in the mention, its long form, or the ids and names of its answer
    document: int = 0  # its number; 0: all


ORDERS: dict[Sort, str] = {
    # how many mentions are expected to be wrong, as the model has it, so that a row stays where it
    # is when it is decided; rows of which a text denies or doubts a mention are apart, behind, and
    # behind these cells in which nothing was entered
    "doubt": "is_linked AND model_confidence IS NULL AND names_nothing(mention), "
    "assertions IS NOT NULL, count * (1 - coalesce(model_confidence, 0)) DESC, ",
    "document": "",
    "alphabet": "fold(mention), ",
    "frequency": "count DESC, ",
}
"""What comes first; equal rows come as they stand in the documents, or came in."""

_IS_UNDECIDED = f"state IN {UNDECIDED}"
IS_FLAGGED = "form IN (SELECT value FROM json_each(:flags))"
_SHOWN: dict[Show, str] = {
    "undecided": _IS_UNDECIDED,
    "decided": f"state IN {DECIDED}",
    "in-bulk": "is_in_bulk",
    "no-concept": "confidence IS NULL AND state <> 'accepted'",
    "flagged": IS_FLAGGED,
    "disputed": "state = 'disputed'",
}
_IS_SURE = "(coalesce(confidence, -1) >= :{} AND assertions IS NULL)"
_IS_OF_TYPE = "EXISTS (SELECT 1 FROM rows WHERE type = :type AND state <> 'not linked')"

TABLES = f"""
CREATE TEMP TABLE members (
    mention INTEGER PRIMARY KEY, head INTEGER, document INTEGER, apart INTEGER
);
CREATE INDEX temp.members_of_row ON members (head, apart);
CREATE INDEX temp.members_of_document ON members (document);
CREATE TEMP TABLE rows ({", ".join(field.name for field in fields(Row))}, PRIMARY KEY (key));
CREATE INDEX temp.rows_of_head ON rows (head, apart);
CREATE INDEX temp.rows_by_form ON rows (form);
CREATE INDEX temp.rows_by_written ON rows (written);
CREATE INDEX temp.rows_by_state ON rows (
    state, type, reviewers, count, confidence
);
"""


def select(wanted: Filter) -> str:
    """The query for the rows that are wanted, whose parameters are the fields of the filter.

    Those that are not linked are wanted where they alone are asked for, or are all of a type.
    """
    conditions = [_SHOWN.get(wanted.show, "1")]
    if wanted.show == "not-linked":
        conditions.append("state = 'not linked'")
    else:
        conditions.append(f"(state <> 'not linked') = {_IS_OF_TYPE if wanted.type else 1}")
    if wanted.below is not None:
        conditions.append(f"NOT {_IS_SURE.format('below')}")
    if wanted.above is not None:
        conditions.append(_IS_SURE.format("above"))
    if wanted.document:
        of_document = "SELECT head, apart FROM members WHERE document = :document"
        conditions.append(f"(head, apart) IN ({of_document})")
    conditions += ["type = :type"] * bool(wanted.type)
    conditions += ["is_under(ids)"] * bool(wanted.under)
    conditions += ["holds(mention, expanded, answers, :q)"] * bool(fold(wanted.q).strip())
    return f"SELECT * FROM rows WHERE {' AND '.join(conditions)}"


def acceptable(wanted: Filter) -> str:
    """The query for the rows that are wanted whose answers can be accepted in bulk.

    They are undecided, have an answer that the dictionary has, and nobody disagrees. Left out
    are those of which a text denies or doubts a mention, those that somebody flagged, unless
    flagged ones are wanted, and those of which a decision would be on another undecided row,
    too, that is not wanted or has another answer.
    """
    flagged = "" if wanted.show == "flagged" else f"AND NOT {IS_FLAGGED}"
    return f"""
        WITH wanted AS ({select(wanted)} AND state IN ('model', 'rejected')
            AND assertions IS NULL AND are_there(ids) {flagged})
        SELECT * FROM wanted w WHERE NOT EXISTS (
            SELECT 1 FROM rows r WHERE r.form = w.form AND r.{_IS_UNDECIDED}
            AND (w.scope = '' OR r.scope = w.scope)
            AND (r.ids <> w.ids OR r.key NOT IN (SELECT key FROM wanted))
        ) ORDER BY spot, number"""


def holds(mention: str, expanded: str, answers: str, wanted: str) -> bool:
    """Whether a text is in a mention, its long form, or the ids and names of its answer."""
    if wanted in fold(mention) or wanted in fold(expanded):
        return True
    if answers.isascii() and "\\u" not in answers and wanted not in answers.lower():
        return False  # without parsing it, as nearly always
    names = (
        f"{concept['concept_id']}\n{concept['name']}" for concept in json.loads(answers) if concept
    )
    return any(wanted in fold(name) for name in names)


def fold(text: str) -> str:
    """A text in lower case, without accents."""
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text)
    return "".join(c for c in letters if not unicodedata.combining(c)).casefold()
