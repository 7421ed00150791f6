"""Terms: the distinct texts of mentions, for formats that have one entry for each.

One of these is here: the table SOURCE_TO_CONCEPT_MAP of OMOP's common data model 5.4, in csv.

The items of such a format are those of JSON lines, one object for each mention; `terms` makes terms
of all of them, and keeps one prediction for each distinct text and answer.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from linker.errors import LinkerError
from linker.ids import namespace, part_ids
from linker.io import jsonl
from linker.io.outputs import BREAKS, Layout
from linker.records import Candidate, Decision, Document, Part, Predicate, Prediction

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
_CODE = 50  # characters that OMOP allows a source code
_CHECKSUM = 8  # hexadecimal digits at the end of the code of a longer text


@dataclass(slots=True)
class Term:
    """A distinct text of mentions, in which blanks are single, and their answer."""

    prediction: Prediction  # of the first mention with this answer
    # of each part whether people accepted its answer, alike for all mentions of the text
    accepted_parts: tuple[bool, ...]
    frequency: int = 1  # mentions with this answer

    @classmethod
    def of(cls, prediction: Prediction) -> Term:
        """The term of one mention."""
        is_decided = prediction.state in ("accepted", "no concept")
        if prediction.has_open_part:
            return cls(prediction, tuple(not part.is_open for part in prediction.parts))
        return cls(prediction, (is_decided,) * len(prediction.parts))

    @property
    def is_accepted(self) -> bool:
        """Whether people accepted the answers of all parts."""
        return bool(self.accepted_parts) and all(self.accepted_parts)

    def doubt(self) -> None:
        """Take the answers as accepted by nobody, since not all mentions of the text have them."""
        self.accepted_parts = (False,) * len(self.accepted_parts)

    @property
    def text(self) -> str:
        """The text."""
        return " ".join(self.prediction.mention.text.translate(BREAKS).split())

    @property
    def code(self) -> str:
        """The text; of one that is too long for OMOP the beginning, and a checksum."""
        if len(self.text) <= _CODE:
            return self.text
        checksum = hashlib.sha256(self.text.encode()).hexdigest()[:_CHECKSUM]
        return f"{self.text[: _CODE - _CHECKSUM - 1]}#{checksum}"

    @property
    def parts(self) -> list[Part]:
        """Those of its parts that the text does not deny, doubt, or say of another time or person.

        A mapping of the others would say that "no gout" is gout.
        """
        return [part for part in self.prediction.parts if part.assertion == "present"]

    @property
    def answers(self) -> list[Candidate]:
        """The concepts of these parts."""
        return [part.best for part in self.parts if part.best]

    @property
    def predicate(self) -> Predicate:
        """What people said that the answer is to the text; related where they differ."""
        said = {decision.predicate for decision in self.prediction.decisions if decision.accepted}
        return said.pop() if len(said) == 1 else "related" if said else ""

    def accepted_by(self, number: int | None = None) -> str:
        """Who accepted the answer, or that of a part; not who only rejected another one.

        Args:
            number: of the part, from 1; None: of all.
        """
        reviewers: list[str] = []
        for decision in self.prediction.decisions:
            if decision.accepted and self._is_on(decision, number):
                reviewers.append(decision.reviewer)
        return "; ".join(filter(None, dict.fromkeys(reviewers)))

    def _is_on(self, decision: Decision, number: int | None) -> bool:
        """Whether a decision is on a part; parts are in its order where some are open."""
        if number is None or not self.prediction.has_open_part:
            return True
        return part_ids(decision.concept_id)[number - 1] is not None


def terms(texts: Iterable[str]) -> Iterator[Term]:
    """Yield the terms of all items, in the order in which their texts first come.

    Where mentions of one text have several answers, as short forms may in several documents, the
    most frequent one counts, and a warning says how many texts there are. So it is where a text is
    denied in some documents only, without the warning.

    Args:
        texts: JSON lines.
    """
    # by texts, and the ids of the answer with what is said of its parts
    known: dict[str, dict[tuple[tuple[str, ...], tuple[str, ...]], Term]] = {}
    for line in (line for text in texts for line in text.split("\n") if line):
        new = Term.of(jsonl.from_json(json.loads(line)))
        if new.text:
            answers = known.setdefault(new.text, {})
            ids = tuple(p.best.concept_id if p.best else "" for p in new.prediction.parts)
            said = tuple(p.assertion for p in new.prediction.parts)
            term = answers.setdefault((ids if any(ids) else (), said), new)
            if term is not new:
                term.frequency += 1
                pairs = zip(term.accepted_parts, new.accepted_parts, strict=True)
                term.accepted_parts = tuple(one and other for one, other in pairs)
                if new.predicate != term.predicate:
                    term.doubt()
    several = 0
    for answers in known.values():
        term = max(answers.values(), key=lambda term: term.frequency)
        if len({ids for ids, _ in answers}) > 1:
            several += 1
            term.doubt()
        yield term
    if several:
        logger.warning("texts with several answers: %d; the most frequent is written", several)


def mapped(texts: Iterable[str]) -> Iterator[Term]:
    """Yield the terms of all items that have a part to map, see `Term.parts`; a warning counts the
    others, for which a format of mappings has nothing."""
    without = 0
    for term in terms(texts):
        if term.parts:
            yield term
        else:
            without += 1
    if without:
        logger.warning(
            "texts left out, since they deny what they name, doubt it, or say it of the past or of "
            "a relative: %d; --format tsv has them",
            without,
        )


def omop_id(candidate: Candidate) -> int:
    """OMOP's id of a concept: its own, or that of an exact match; 0: it is not known."""
    exact = (other.id for other in candidate.also if other.predicate == "skos:exactMatch")
    for identifier in (candidate.concept_id, *exact):
        local = identifier.partition(":")[2]
        if namespace(identifier).upper() == "OMOP" and local.isascii() and local.isdigit():
            return int(local)
    return 0


def csv_of(*rows: Sequence[object]) -> str:
    """Rows of a comma-separated table."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


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
