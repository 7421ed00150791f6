"""The mapping file of Usagi (1.4), which also can be imported as source codes."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from linker.outputs import ASSERTED, Layout, jsonl
from linker.outputs.terms import Term, csv_of, omop_id, terms
from linker.types import Candidate, Document, Part
from linker.version import NAME

logger = logging.getLogger(__name__)

COLUMNS = (
    *("sourceCode", "sourceName", "sourceFrequency", "sourceAutoAssignedConceptIds"),
    *("ADD_INFO:concept_id", "ADD_INFO:concept_name"),  # which Usagi shows beside a code
    *("matchScore", "mappingStatus", "equivalence", "statusSetBy", "statusSetOn"),
    *("conceptId", "conceptName", "domainId", "mappingType", "comment"),
    *("createdBy", "createdOn", "assignedReviewer"),
)
FOOTER = ""

item = jsonl.item


def header(first: Document | None, layout: Layout) -> str:
    """The names of the columns."""
    return csv_of(COLUMNS)


def gather(texts: Iterable[str]) -> Iterator[str]:
    """A row for each concept of each term; rows of one code are what it means together.

    Usagi knows the numbers of OMOP alone. A concept without one stands in the columns `ADD_INFO`,
    with the `conceptId` 0 and unchecked, and a warning says so. A term is APPROVED where a person
    accepted its concepts, or that there is none. One that denies what it names ("no gout") has no
    concept, stays unchecked, and the comment says so: Usagi shows all codes that are to be mapped.
    """
    without = 0
    for term in terms(texts):
        without += not all(map(omop_id, term.answers))
        yield csv_of(*_rows(term))
    if without:
        logger.warning(
            "texts whose concepts have no concept id of OMOP, which Usagi needs: %d; their ids are "
            "in the columns ADD_INFO; link with a dictionary of OMOP, or add --also OMOP",
            without,
        )


def _rows(term: Term) -> Iterator[Sequence[object]]:
    """The rows of a term."""
    every = term.prediction.parts
    parts = [f"{p.text}: {p.best.concept_id if p.best else ''}{_doubt(p)}" for p in every]
    said = [f"{term.predicate} match"] if term.predicate else []
    is_plain = len(term.parts) == len(every)
    comment = "; ".join((parts if len(parts) > 1 or not is_plain else []) + said)
    score = (term.answers and term.prediction.confidence) or 0.0
    status: tuple[object, ...] = "UNCHECKED", "UNREVIEWED", "", 0
    if term.is_accepted and is_plain and all(map(omop_id, term.answers)):
        by, time = term.accepted_by
        status = "APPROVED", "UNREVIEWED" if term.answers else "UNMATCHED", by, _milliseconds(time)
    for answer in term.answers or [Candidate("", "", "", 0.0)]:
        number, name = omop_id(answer), answer.name
        source = term.code, term.text, term.frequency, "", answer.concept_id, name
        target = number, name if number else "", "", "MAPS_TO"
        yield (*source, f"{score:.4f}", *status, *target, comment, NAME, 0, "")


def _doubt(part: Part) -> str:
    """What the text says of a part that is not plainly present, behind its concept."""
    return f" ({ASSERTED[part.assertion]})" if part.assertion in ASSERTED else ""


def _milliseconds(time: str) -> int:
    """Milliseconds since 1970 of a time in ISO 8601; 0 where it is not known."""
    with contextlib.suppress(ValueError):
        return int(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000)
    return 0
