"""Decisions out of what linker wrote, also after a person went through it: tables and mappings.

A table has a row for each mention. A person who reviews it fills in `state`: `accepted` (the ids in
`concept_id`, which may be corrected, are right), `no concept`, or `rejected` (the id in
`concept_id`, or in `rejected`, is wrong), and `predicate`. Rows that nobody touched are no
decisions. The decisions that linker applied
stand beside each answer, as JSON: these are read back.

Of mappings (SSSOM, as `linker.outputs.sssom` writes them), those that a person curated are
decisions: the mention is the label of a subject without an id.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from linker.decisions.records import disagree, form_everywhere, parts_of
from linker.errors import OnError, RecordError, shown
from linker.files import Pathlike, parse_json
from linker.files.rows import Line, TableRow, read_rows
from linker.ids import escaped
from linker.outputs import decision_from_json
from linker.outputs.sssom import PREDICATES as SSSOM_PREDICATES
from linker.readers import sssom
from linker.types import PREDICATES, Decision, Predicate, State

logger = logging.getLogger(__name__)

Record = tuple[int, str, Iterable[Decision]]
"""The number and the text of its (first) line, and its decisions; ValueError is raised, while they
are taken, where the record is bad."""
Cells = Mapping[str, str]
"""The cells of a row by their columns; empty for a column that the row does not have."""

OF_ANOTHER = "and its decisions are on"  # in the message of such a row

MENTION = "subject_label"
"""The column of mappings that holds the mentions."""
_NEEDED = (MENTION, "predicate_id", "object_id", "mapping_justification")
_BY_PEOPLE = ("semapv:ManualMappingCuration", "semapv:MappingReview")
_PREDICATES = {name: predicate for predicate, name in SSSOM_PREDICATES.items()}
_NOTHING, _NOT = "sssom:NoTermFound", "Not"
_DOCUMENT = re.compile(r"(?:document |.*?; document )(.*?)(?:, characters [\d;-]+)?")
_IN_BULK = re.compile(r"(?:part [^;]*; )?accepted in bulk\b")
"""What linker says of a mapping that was accepted in bulk, which nobody curated."""
_PART = re.compile(r"part (\d{1,4}) of (\d{1,4})(, related)?(?:; |\Z)", re.ASCII)
_EXPECTED = (
    f"a mention in subject_label, one of {', '.join(_PREDICATES)} in predicate_id, a "
    f"concept or {_NOTHING} in object_id, and mapping_justification"
)
_ESCAPED = re.compile(r"\\([\\|])")  # in a column of lists


def cells_of(row: TableRow, header: Mapping[str, int]) -> Cells:
    """The cells of a row.

    Args:
        row: the row.
        header: the places of the columns.
    """
    places = {name: place for name, place in header.items() if place < len(row.cells)}
    return defaultdict(str, {name: row.cells[place].strip() for name, place in places.items()})


def of_table(
    rows: Iterable[TableRow], header: Mapping[str, int], reviewer: str
) -> Iterator[Record]:
    """Yield the decisions on each mention in a table of answers.

    Args:
        rows: those below the header, one for each mention.
        header: the places of the columns.
        reviewer: who set the states of rows that name nobody.
    """
    for row in rows:
        if any(row.cells):
            yield row.number, "\t".join(row.cells), _said(cells_of(row, header), reviewer)


def _said(cells: Cells, reviewer: str) -> Iterator[Decision]:
    """The decisions on a mention: those that were applied, and what a person changed since.

    Args:
        cells: of its row.
        reviewer: who changed it, where the row does not say.

    Raises:
        ValueError: the state is unknown, or does not fit the row, or the decisions are no JSON.
    """
    before, state = _written(cells), cells["state"].lower() or "model"
    yield from before
    if state not in get_args(State):
        expected = ", ".join(get_args(State))
        raise ValueError(f"the state is {state!r}; expected one of {expected}")
    by = reviewer if before else cells["reviewer"] or reviewer
    mention, scope = cells["expanded"] or cells["mention"], cells["scope"]
    seen = [d for d in before if not d.bulk]
    was_accepted = any(d.accepted for d in seen)
    if state == "rejected" and (was_accepted or not seen):
        yield Decision(mention, escaped(_wrong(cells)), False, scope, by)
        return
    kind = predicate_of(cells.get("predicate", ""))
    if state not in ("accepted", "no concept"):
        if kind and not was_accepted:
            raise ValueError(f"the predicate is {kind}, and the state is not accepted")
        return
    concepts = "-1" if state == "no concept" else cells["concept_id"]
    if not concepts.strip("|"):
        raise ValueError("the state is accepted, and there is no concept_id; expected one")
    same = [d for d in seen if d.accepted and _is_same(d, concepts)]
    if not any(parts_of(Decision("", concepts))):
        kind = ""
    elif "predicate" not in cells:
        kind = same[-1].predicate if same else ""
    if not disagree(before) and kind in [d.predicate for d in same]:
        return
    yield Decision(mention, concepts, True, scope, by, predicate=kind)


def _wrong(cells: Cells) -> str:
    """The id that a row says is wrong.

    Raises:
        ValueError: it has none, or several.
    """
    identifiers = cells["concept_id"] or cells["rejected"]
    if not identifiers:
        raise ValueError("the state is rejected, and no concept_id says what is wrong")
    if "|" in identifiers:
        several = f"the state is rejected, and concept_id has several ids ({identifiers})"
        raise ValueError(f"{several}; leave only the wrong one")
    return identifiers


def _written(cells: Cells) -> list[Decision]:
    """The decisions that linker wrote beside a mention.

    Raises:
        ValueError: they are no JSON, or on another mention. In a document, where they may be on the
            long form, this is not looked at.
    """
    written, text = _parsed(cells["decisions"]), cells["mention"]
    if not (cells["spans"] or cells["scope"]):
        for decision in written:
            if form_everywhere(decision.mention) != form_everywhere(text):
                raise ValueError(f"the mention is {text!r}, {OF_ANOTHER} {decision.mention!r}")
    return written


def predicate_of(cell: str) -> Predicate:
    """The predicate in a cell, which may also be written as SSSOM has it; empty is exact.

    Raises:
        ValueError: it is none.
    """
    written: dict[str, Predicate] = {kind or "exact": kind for kind in PREDICATES}
    text = cell.lower().removeprefix("skos:").removesuffix("match") or "exact"
    if text not in written:
        raise ValueError(f"the predicate is {cell!r}; expected one of {', '.join(written)}")
    return written[text]


def _is_same(decision: Decision, concepts: str) -> bool:
    """Whether a decision accepts these concepts, in whatever order; ids may hold signs."""
    known = parts_of(decision)
    if "|".join(i or "-1" for i in known) == concepts:
        return True
    return set(known) == set(parts_of(Decision("", concepts)))


def _parsed(text: str) -> list[Decision]:
    """The decisions in a cell; none where it is empty.

    Raises:
        ValueError: it holds something else.
    """
    records = parse_json(text) if text else []
    if not isinstance(records, list):
        raise ValueError("the decisions are no list")
    return list(map(decision_from_json, records))


def recognises_mappings(path: Pathlike, line: str) -> bool:
    """Whether the first line of a file is one of mappings."""
    return are_mappings(line.split("\t")) or sssom.recognises(path, [line])


def are_mappings(header: Sequence[str]) -> bool:
    """Whether a table has the columns of mappings from mentions."""
    return {*_NEEDED[:3]} <= {*header}


@dataclass(frozen=True, slots=True)
class _CuratedMapping:
    """A mapping that a person curated."""

    row: TableRow
    cells: Cells

    @property
    def problem(self) -> str:
        """Why it is no decision; empty where it is one."""
        cells = self.cells
        if cells["subject_id"]:
            return "the subject is a concept, not a mention"
        if cells["predicate_id"] not in _PREDICATES:
            return f"the predicate is {cells['predicate_id'] or 'missing'}"
        if cells["predicate_modifier"] not in ("", _NOT):
            return f"the predicate_modifier is {cells['predicate_modifier']!r}, and not {_NOT}"
        is_known = cells["object_id"] == _NOTHING or sssom.concept_id(cells["object_id"])
        return "" if is_known else f"the object is {cells['object_id'] or 'missing'}"

    @property
    def predicate(self) -> Predicate:
        """What the concept is to the whole mention."""
        return _PREDICATES.get(self.cells["predicate_id"], "")

    @property
    def is_part(self) -> bool:
        """Whether it can be of one of several parts of a mention."""
        can_be = self.place[1] > 1 or (self.predicate == "related" and not self.place[1])
        return bool(self.predicate) and can_be and not self.problem

    @property
    def place(self) -> tuple[int, int]:
        """Which part it is of, and of how many; (0, 0) where it does not say."""
        match = _PART.match(self.cells["comment"])
        return (int(match[1]), int(match[2])) if match and self.predicate else (0, 0)

    def goes_with(self, others: Sequence[_CuratedMapping]) -> bool:
        """Whether it is of the same mention as the mappings before it."""
        first = others[0]
        if not (self.is_part and first.is_part and self.decision("") == first.decision("")):
            return False
        number, count = self.place
        if number:
            return others[-1].place == (number - 1, count)
        return self.row.line not in [other.row.line for other in others]  # of an older release

    def decision(self, concepts: str, reviewer: str = "") -> Decision:
        """The decision on these concepts; `reviewer`: who decided where it names nobody."""
        cells = self.cells
        document = _DOCUMENT.fullmatch(cells["comment"])
        label = cells["author_label"] or cells["reviewer_label"]
        return Decision(
            cells["subject_label"],
            concepts,
            cells["predicate_modifier"] != _NOT,
            document[1] if document else "",
            _ESCAPED.sub(r"\1", label) or reviewer,
            cells["mapping_date"],
            release=cells["object_source_version"],
            predicate=self.predicate,
            bulk=bool(_IN_BULK.match(cells["comment"])),
        )


def of_mappings(
    path: Pathlike, lines: Iterable[Line], reviewer: str, on_error: OnError
) -> Iterator[Record]:
    """Yield the decision of each mapping.

    `skos:exactMatch` is a decision by itself. Mappings by `skos:relatedMatch` that follow each
    other, and differ in their objects alone, are of the parts of one mention, and so are those by
    `skos:broadMatch` and `skos:narrowMatch` whose comments say which part they are of. Mappings
    that no person curated are passed over, and a warning counts them.

    Args:
        path: the file, for messages.
        lines: those of the file.
        reviewer: who decided what names nobody.
        on_error: what to do with a row whose quotes are broken; returns to skip it.

    Raises:
        InputError: the header is not known.
    """
    of_mention: list[_CuratedMapping] = []
    for mapping in itertools.chain(_curated(path, lines, on_error), [None]):
        if of_mention and not (mapping and mapping.goes_with(of_mention)):
            row = of_mention[0].row
            yield row.number, row.line, _decided(of_mention, reviewer)
            of_mention = []
        of_mention += [mapping] if mapping else []


def _decided(of_mention: Sequence[_CuratedMapping], reviewer: str) -> Iterator[Decision]:
    """The decision of the mappings of one mention.

    Raises:
        RecordError: they are none.
    """
    first, problem = of_mention[0], of_mention[0].problem
    if first.is_part and len(of_mention) < first.place[1]:
        problem = "no other part of the mention stands beside it"
    if problem:
        raise RecordError(problem, first.row.line, expected=_EXPECTED)
    ids = (escaped(sssom.concept_id(mapping.cells["object_id"])) for mapping in of_mention)
    decision = first.decision("|".join(identifier or "-1" for identifier in ids), reviewer)
    place = _PART.match(first.cells["comment"])
    is_usual = first.predicate == "related" and len(of_mention) > 1 and not (place and place[3])
    yield replace(decision, predicate="") if is_usual else decision


def _curated(path: Pathlike, lines: Iterable[Line], on_error: OnError) -> Iterator[_CuratedMapping]:
    """The mappings that people curated."""
    table = itertools.dropwhile(lambda line: line[1].startswith("#") or not line[1].strip(), lines)
    rows = (row for row in read_rows(path, table, "\t", on_error) if any(map(str.strip, row.cells)))
    if (first := next(rows, None)) is None:
        return
    header = {cell.strip(): place for place, cell in enumerate(first.cells)}
    if missing := [name for name in _NEEDED if name not in header]:
        problem = f"the mappings have no column {missing[0]}"
        raise RecordError(problem, first.line, expected=_EXPECTED).at(path, first.number)
    by_tools = 0
    for row in rows:
        cells = cells_of(row, header)
        is_in_bulk = bool(_IN_BULK.match(cells["comment"]))
        is_curated = is_in_bulk or cells["mapping_justification"] in _BY_PEOPLE
        by_tools += not is_curated
        if is_curated:
            yield _CuratedMapping(row, cells)
    if by_tools:
        logger.warning(
            "%s: %s mappings were passed over, which no person curated: "
            "their mapping_justification is not %s",
            shown(path),
            f"{by_tools:,}",
            _BY_PEOPLE[0],
        )
