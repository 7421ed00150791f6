"""Decisions out of what linker wrote, also after a person went through it: tables and mappings.

A table has a row for each mention. A person who reviews it fills in `state`: `accepted` (the ids in
`concept_id`, which may be corrected, are right), `no concept`, or `rejected` (the id in
`concept_id`, or in `rejected`, is wrong), and `predicate`. Rows that nobody touched are no
decisions. The decisions that linker applied stand beside each answer, as JSON: these are read back.

Of mappings (SSSOM, as `linker.io.sssom` writes them), those that a person curated are
decisions: the mention is the label of a subject without an id.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from linker.dictionary import Dictionary
from linker.errors import RecordError, shown
from linker.ids import OPEN, escaped, part_ids
from linker.io import sssom
from linker.io.files import Pathlike, parse_json
from linker.io.outputs import decision_from_json
from linker.io.parsing import STATES
from linker.io.rows import TableRow
from linker.io.sssom import PREDICATES as SSSOM_PREDICATES
from linker.linking.decisions import Parts, disagree, form_everywhere, merged, parts_of
from linker.records import IN_BULK, PREDICATES, Decision, Predicate

logger = logging.getLogger(__name__)

Record = tuple[TableRow, Iterable[Decision]]
"""A row, the first of a decision, and its decisions; ValueError is raised, while they are taken,
where it is bad."""
Cells = Mapping[str, str]
"""The cells of a row by their columns; empty for a column that the row does not have."""

OF_ANOTHER = "and its decisions are on"  # in the message of such a row

MENTION = "subject_label"
"""The column of mappings that holds the mentions."""
_BY_PEOPLE = ("semapv:ManualMappingCuration", "semapv:MappingReview")
_PREDICATES = {name: predicate for predicate, name in SSSOM_PREDICATES.items()}
_NOTHING = "sssom:NoTermFound"
_NOT = "Not"
_DOCUMENT = re.compile(r"(?:document |.*?; document )(.*?)(?:, characters [\d;-]+)?")
_PART = re.compile(r"part (\d{1,4}) of (\d{1,4})(, related)?(?:; |\Z)", re.ASCII)
_EXPECTED = (
    f"a mention in subject_label and no subject_id, one of {', '.join(_PREDICATES)} in "
    f"predicate_id, nothing or {_NOT} in predicate_modifier, a concept or {_NOTHING} in object_id, "
    "and comments that say which part of a mention each row is of"
)
_ESCAPED = re.compile(r"\\([\\|])")  # in a column of lists


def cells_of(row: TableRow, header: Mapping[str, int]) -> Cells:
    """The cells of a row, given the places of the columns."""
    places = {name: place for name, place in header.items() if place < len(row.cells)}
    return defaultdict(str, {name: row.cells[place].strip() for name, place in places.items()})


def predicate_of(cell: str) -> Predicate:
    """The predicate in a cell; empty is exact.

    Raises:
        ValueError: it is none.
    """
    for predicate in PREDICATES:
        if cell.lower() in (predicate, predicate or "exact"):
            return predicate
    raise ValueError(f"the predicate is {cell!r}; expected exact{', '.join(PREDICATES)}")


# answers


def ignore(_: Cells) -> None:
    """Take no note of a row."""


def of_answer(
    cells: Cells, reviewer: str, pass_over: Callable[[Cells], None] = ignore
) -> Iterator[Decision]:
    """Yield the decisions on a mention: those that were applied, and what a person changed since.

    Args:
        cells: of its row.
        reviewer: who changed it, where the row does not say.
        pass_over: is told of a row whose concepts are not taken, since its state does not say so.

    Raises:
        ValueError: the state is unknown, or does not fit the row, or the decisions are no JSON.
    """
    before, state = _written(cells), cells["state"].lower() or "model"
    yield from before
    if state not in STATES:
        raise ValueError(f"the state is {state!r}; expected one of {', '.join(STATES)}")
    kind = predicate_of(cells.get("predicate", ""))
    seen = [d for d in before if not d.bulk]
    accepted, is_accepted = [d for d in seen if d.accepted], state in ("accepted", "no concept")
    concepts = "-1" if state == "no concept" else cells["concept_id"]
    if state == "no concept":
        pass_over(cells)
    if state == "rejected":
        concepts = concepts or cells["rejected"]
        if seen and not accepted:
            pass_over(cells)
            return
        if not concepts or "|" in concepts:
            raise ValueError(f"the state is rejected, and the id {concepts!r}; expected one")
        concepts, kind = escaped(concepts), ""
    elif not is_accepted:
        if kind and not accepted:
            raise ValueError(f"the predicate is {kind}, and the state is not accepted")
        pass_over(cells)
        return
    elif not concepts.strip("|"):
        raise ValueError("the state is accepted, and there is no concept_id; expected one")
    else:
        parts = parts_of(Decision("", concepts))
        if all(part is None for part in parts):
            raise ValueError(f"the state is accepted, and the id {concepts!r}; expected one")
        same = accepted if _is_said(concepts, merged(accepted)) else []
        if not any(parts):
            kind = ""
        elif "predicate" not in cells:
            kind = same[-1].predicate if same else ""
        if kind in [d.predicate for d in same] and not disagree(before):
            return
    by = reviewer if before else cells["reviewer"] or reviewer
    mention = cells["expanded"] or cells["mention"]
    yield Decision(mention, concepts, is_accepted, cells["scope"], by, predicate=kind)


@dataclass(slots=True)
class Untaken:
    """Rows of a table of answers in which somebody changed the concept, and set no state.

    The name that linker wrote beside the id tells: it is that of another concept.

    Attributes:
        dictionary: has the names of the concepts.
        rows: the numbers of the rows that were seen.
    """

    dictionary: Dictionary
    rows: list[int] = field(default_factory=list)
    _preferred_names: frozenset[str] | None = None

    def see(self, row: int, cells: Cells) -> None:
        """Look at the cells of a row whose concepts are not taken."""
        if "name" in cells and self._is_changed(cells):
            self.rows.append(row)

    def __str__(self) -> str:
        """How many rows they are, and what to do."""
        return (
            "rows with another concept than was linked, and no state: "
            f"{len(self.rows):,}, the first is row {self.rows[0]:,}; their concepts were not "
            "taken, set state to accepted"
        )

    def _is_changed(self, cells: Cells) -> bool:
        ids = part_ids(cells["concept_id"])
        names = cells["name"].split("|")
        if len(names) != len(ids):  # a name may hold a bar
            names = [cells["name"]] * len(ids)
        return any(map(self._is_of_another, ids, names))

    def _is_of_another(self, identifier: str | None, name: str) -> bool:
        """Whether a name that stands beside the id of a part is that of another concept."""
        if identifier is None:  # an open part
            return False
        is_none = identifier in ("", "-1")
        if not name:
            return not is_none
        for row in () if is_none else self.dictionary.rows(identifier):
            if name in [self.dictionary.names[place] for place in self.dictionary.name_rows(row)]:
                return False
        if self._preferred_names is None:
            every = range(len(self.dictionary))
            self._preferred_names = frozenset(map(self.dictionary.preferred_name, every))
        return name in self._preferred_names  # else it is of another release, or a user's own


def _is_said(concepts: str, parts: Parts) -> bool:
    """Whether the ids of a cell, in whatever order, are those of parts; ids may hold signs."""
    written = [OPEN if part is None else part or "-1" for part in parts]
    return "|".join(written) == concepts or {*parts_of(Decision("", concepts))} == {*parts}


def _written(cells: Cells) -> list[Decision]:
    """The decisions that linker wrote beside a mention.

    Raises:
        ValueError: they are no JSON, or on another mention. In a document, where they may be on the
            long form, this is not looked at.
    """
    records, text = parse_json(cells["decisions"] or "[]"), cells["mention"]
    if not isinstance(records, list):
        raise ValueError("the decisions are no list")
    decisions = list(map(decision_from_json, records))
    for decision in () if cells["spans"] or cells["scope"] else decisions:
        if form_everywhere(decision.mention) != form_everywhere(text):
            raise ValueError(f"the mention is {text!r}, {OF_ANOTHER} {decision.mention!r}")
    return decisions


# mappings


def are_mappings(header: Sequence[str]) -> bool:
    """Whether a table has the columns of mappings from mentions."""
    return {MENTION, "predicate_id", "object_id"} <= {*header}


def of_mappings(
    path: Pathlike, rows: Iterable[TableRow], header: Mapping[str, int], reviewer: str
) -> Iterator[Record]:
    """Yield the decision of each mapping.

    `skos:exactMatch` is a decision by itself. Mappings that follow each other, whose comments say
    which part of a mention each is of, are one decision; a part without a mapping is open. Mappings
    that no person curated are passed over, and a warning counts them.

    Args:
        path: the file, for messages.
        rows: those below the header.
        header: the places of the columns.
        reviewer: who decided what names nobody.
    """
    parts, first, by_tools = list[Cells](), TableRow(0, ()), 0
    for row in chain(rows, [None]):
        cells = cells_of(row, header) if row else {}
        if parts and not _goes_on(parts[-1], cells):
            yield first, _of_parts(parts, first, reviewer)
            parts = []
        if row and (_is_in_bulk(cells) or cells["mapping_justification"] in _BY_PEOPLE):
            first = first if parts else row
            parts.append(cells)
        else:
            by_tools += row is not None
    if by_tools:
        passed_over = f"{by_tools:,} mappings were passed over, which no person curated"
        why = f"their mapping_justification is not {_BY_PEOPLE[0]}"
        logger.warning("%s: %s: %s", shown(path), passed_over, why)


def _part_of(cells: Cells) -> tuple[int, int, bool, str]:
    """Which part of a mention a mapping is of, of how many; whether a person called the concepts
    related; and the rest of the comment."""
    comment = cells["comment"]
    match = _PART.match(comment)
    if not match:
        return 1, 1, cells["predicate_id"] == SSSOM_PREDICATES["related"], comment
    number, count = int(match[1]), int(match[2])
    return number, count, count == 1 or bool(match[3]), comment[match.end() :]


def _is_in_bulk(cells: Cells) -> bool:
    """Whether a mapping was accepted in bulk, so that nobody curated it."""
    return _part_of(cells)[-1].startswith(IN_BULK)


def _goes_on(before: Cells, cells: Cells) -> bool:
    """Whether a mapping is of a later part of the mention of the one before it."""
    if not cells:
        return False
    (number, *others), (next_number, *next_others) = _part_of(before), _part_of(cells)
    apart = {"object_id": "", "object_label": "", "comment": ""}
    is_next = number < next_number and others == next_others
    return is_next and {**before, **apart} == {**cells, **apart}


def _of_parts(parts: Sequence[Cells], row: TableRow, reviewer: str) -> Iterator[Decision]:
    """The decision of the mappings of one mention, which begin in a row.

    Raises:
        RecordError: they are none.
    """
    cells = parts[0]
    _, count, is_related, comment = _part_of(cells)
    numbers = [_part_of(part)[0] for part in parts]
    is_known = numbers[0] >= 1 and numbers[-1] <= count and not cells["subject_id"]
    predicate, modifier = _PREDICATES.get(cells["predicate_id"]), cells["predicate_modifier"]
    objects = [part["object_id"] for part in parts]
    if not is_known or predicate is None or modifier not in ("", _NOT) or "" in objects:
        raise RecordError("the row is no decision", row.line, expected=_EXPECTED)
    concepts = [OPEN] * count
    for number, object_id in zip(numbers, objects, strict=True):
        concepts[number - 1] = escaped(sssom.concept_id(object_id)) or "-1"
    document = _DOCUMENT.fullmatch(comment)
    label = cells["author_label"] or cells["reviewer_label"]
    yield Decision(
        cells[MENTION],
        "|".join(concepts),
        modifier != _NOT,
        scope=document[1] if document else "",
        reviewer=_ESCAPED.sub(r"\1", label) or reviewer,
        time=cells["mapping_date"],
        release=cells["object_source_version"],
        predicate="" if predicate == "related" and not is_related else predicate,
        bulk=_is_in_bulk(cells),
    )
