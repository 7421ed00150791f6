"""Decisions out of mappings that people curated, in SSSOM's tab-separated values.

It reads what `linker.outputs.sssom` writes, also after a person has changed it: the mention is the
label of a subject without an id.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from linker.decisions.reviewed import Row
from linker.errors import InputError, OnError, shown
from linker.files import Pathlike
from linker.files.rows import read_rows
from linker.ids import escaped
from linker.readers import sssom
from linker.types import Decision

logger = logging.getLogger(__name__)

_NEEDED = ("subject_label", "predicate_id", "object_id", "mapping_justification")
_BY_PEOPLE = ("semapv:ManualMappingCuration", "semapv:MappingReview")
_ONE, _ONE_OF_SEVERAL = "skos:exactMatch", "skos:relatedMatch"
_NOTHING, _NOT = "sssom:NoTermFound", "Not"
_DOCUMENT = re.compile(r"(?:document |.*?; document )(.*?)(?:, characters [\d;-]+)?")
_PART = re.compile(r"part (\d{1,4}) of (\d{1,4})(?:; |\Z)", re.ASCII)
_EXPECTED = (
    f"a mention in subject_label, {_ONE} (or {_ONE_OF_SEVERAL} for each of several parts), a "
    f"concept or {_NOTHING} in object_id, and mapping_justification"
)
_ESCAPED = re.compile(r"\\([\\|])")  # in a column of lists


def recognises(path: Pathlike, line: str) -> bool:
    """Whether the first line of a file is one of mappings."""
    return set(_NEEDED[:3]) <= {*line.split("\t")} or sssom.recognises(path, [line])


@dataclass(frozen=True, slots=True)
class _Curated:
    """A mapping that a person curated."""

    number: int  # of its line
    line: str
    row: Mapping[str, str]  # its cells

    @property
    def is_part(self) -> bool:
        """Whether it is of one of several parts of a mention."""
        return self.row["predicate_id"] == _ONE_OF_SEVERAL

    @property
    def place(self) -> tuple[int, int]:
        """Which part it is of, and of how many; (0, 0) where it does not say."""
        match = _PART.match(self.row["comment"])
        return (int(match[1]), int(match[2])) if match else (0, 0)

    def goes_with(self, others: Sequence[_Curated]) -> bool:
        """Whether it is of the same mention as the mappings before it."""
        if not (self.is_part and others[0].is_part and self.decision("") == others[0].decision("")):
            return False
        number, count = self.place
        if number:
            return others[-1].place == (number - 1, count)
        return self.line not in [other.line for other in others]  # of an older release

    @property
    def concept(self) -> str:
        """The id of its object, as decisions have it; -1 for no concept."""
        return escaped(sssom.concept_id(self.row["object_id"])) or "-1"

    def decision(self, concepts: str) -> Decision:
        """The decision, on these concepts."""
        row = self.row
        document = _DOCUMENT.fullmatch(row["comment"])
        return Decision(
            row["subject_label"],
            concepts,
            row["predicate_modifier"] != _NOT,
            document[1] if document else "",
            _ESCAPED.sub(r"\1", row["author_label"] or row["reviewer_label"]),
            row["mapping_date"],
            release=row["object_source_version"],
        )


def read(path: Pathlike, lines: Iterable[tuple[int, str]], on_error: OnError) -> Iterator[Row]:
    """Yield the decisions of a file of mappings, which are not yet checked.

    `skos:exactMatch` is a decision by itself. Mappings by `skos:relatedMatch` that follow each
    other, and differ in their objects alone, are of the parts of one mention. Mappings that no
    person curated are passed over, and a warning counts them.

    Args:
        path: the file, for messages.
        lines: those of the file.
        on_error: what to do with a bad row; returns to skip it.

    Raises:
        InputError: the header is not known, or a row is no decision and `on_error` raises.
    """
    group: list[_Curated] = []  # of one mention
    for mapping in _curated(path, lines, on_error):
        if group and not mapping.goes_with(group):
            yield from _decisions(path, group, on_error)
            group = []
        group.append(mapping)
    yield from _decisions(path, group, on_error)


def _curated(
    path: Pathlike, lines: Iterable[tuple[int, str]], on_error: OnError
) -> Iterator[_Curated]:
    """The mappings that people curated."""
    header: list[str] = []
    by_tools = 0
    table = dropwhile(lambda line: line[1].startswith("#") or not line[1].strip(), lines)
    for row in read_rows(path, table, "\t", on_error):
        number, line, cells = row.number, row.line, [cell.strip() for cell in row.cells]
        if not any(cells):
            continue
        if not header:
            header = cells
            if missing := [name for name in _NEEDED if name not in header]:
                problem = f"the mappings have no column {missing[0]}"
                raise InputError(path, problem, line=number, value=line, expected=_EXPECTED)
            continue
        named = defaultdict(str, zip(header, cells, strict=False))
        if named["mapping_justification"] not in _BY_PEOPLE:
            by_tools += 1
        elif problem := _problem(named):
            on_error(InputError(path, problem, line=number, value=line, expected=_EXPECTED))
        else:
            yield _Curated(number, line, named)
    if by_tools:
        logger.warning(
            "%s: %s mappings were passed over, which no person curated: "
            "their mapping_justification is not %s",
            shown(path),
            f"{by_tools:,}",
            _BY_PEOPLE[0],
        )


def _problem(row: Mapping[str, str]) -> str:
    """Why a mapping is no decision; empty where it is one."""
    if row["subject_id"]:
        return "the subject is a concept, not a mention"
    if row["predicate_id"] not in (_ONE, _ONE_OF_SEVERAL):
        return f"the predicate is {row['predicate_id'] or 'missing'}"
    if row["predicate_modifier"] not in ("", _NOT):
        return f"the predicate_modifier is {row['predicate_modifier']!r}, and not {_NOT}"
    is_known = row["object_id"] == _NOTHING or sssom.concept_id(row["object_id"])
    return "" if is_known else f"the object is {row['object_id'] or 'missing'}"


def _decisions(path: Pathlike, group: Sequence[_Curated], on_error: OnError) -> Iterator[Row]:
    """The decision of the mappings of one mention."""
    for first in group[:1]:
        if first.is_part and len(group) < max(2, first.place[1]):
            problem = "no other part of the mention stands beside it"
            on_error(
                InputError(path, problem, line=first.number, value=first.line, expected=_EXPECTED)
            )
        else:
            concepts = "|".join(mapping.concept for mapping in group)
            yield first.number, first.line, first.decision(concepts)
