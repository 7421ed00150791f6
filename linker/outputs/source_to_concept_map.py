"""The table SOURCE_TO_CONCEPT_MAP of OMOP's common data model 5.4, in comma-separated values."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from linker.errors import LinkerError
from linker.ids import namespace
from linker.outputs import Layout, jsonl
from linker.outputs.terms import csv_of, mapped, omop_id
from linker.types import Candidate, Document, Prediction

logger = logging.getLogger(__name__)

COLUMNS = (
    *("source_code", "source_concept_id", "source_vocabulary_id", "source_code_description"),
    *("target_concept_id", "target_vocabulary_id"),
    *("valid_start_date", "valid_end_date", "invalid_reason"),
)
_VOCABULARY = "linker"  # the source vocabulary, of at most 20 characters
_LONGEST = 255  # characters of a description
_FROM, _TO = "1970-01-01", "2099-12-31"  # of what is always valid
FOOTER = ""


def header(first: Document | None, layout: Layout) -> str:
    """The names of the columns."""
    return csv_of(COLUMNS)


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """A line for each mention, of which `gather` makes the rows.

    Raises:
        LinkerError: a concept has no concept id of OMOP, and none of others were asked for.
    """
    predictions = list(predictions)
    for answer in (part.best for prediction in predictions for part in prediction.parts):
        if answer and not omop_id(answer) and not layout.also:
            raise LinkerError(
                f"source_to_concept_map holds concept ids of OMOP, and {answer.concept_id} has "
                "none; link with a dictionary of OMOP (ids such as OMOP:312327), or add --also "
                "OMOP where the model was lent a mapping to OMOP, or choose another --format"
            )
    return jsonl.item(document, predictions, layout)


def gather(texts: Iterable[str]) -> Iterator[str]:
    """A row for each concept of each term; one row with the concept 0 where a term has none.

    So has a concept to which no number of OMOP is mapped; a warning counts these terms. Those that
    deny what they name are left out, see `terms.mapped`.
    """
    without = 0
    for term in mapped(texts):
        without += not all(map(omop_id, term.answers))
        source = term.code, 0, _VOCABULARY, term.text[:_LONGEST]
        targets = [(n, _vocabulary(answer)) for answer in term.answers if (n := omop_id(answer))]
        for target in targets or [(0, "None")]:
            yield csv_of((*source, *target, _FROM, _TO, ""))
    if without:
        logger.warning(
            "texts whose concepts have no concept id of OMOP: %d; they have the concept 0", without
        )


def _vocabulary(answer: Candidate) -> str:
    """OMOP's name of the vocabulary of a concept, where it was asked for; empty, if not.

    Only a concept of OMOP's own says it: beside another one, such as MESH:D006073, stand the ids of
    further vocabularies, which the concept that OMOP has for it is not of.
    """
    is_own = namespace(answer.concept_id).upper() == "OMOP"
    prefixes = (namespace(other.id) for other in answer.also if is_own)
    return next((p.replace("_", " ") for p in prefixes if p.upper() != "OMOP"), "")
