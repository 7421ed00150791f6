r"""Tables with a header line that has the columns `id` and `name`: our own format, any tsv or csv.

Columns, in any order and case: id, name, and optionally synonyms, narrow, broad, related,
abbreviations, training (names by kind), parents, alt_ids, definition, types, status, replaced_by,
xrefs; also kind, preferred and language of the name. Lists have `|` between their items. Cells are
quoted as in CSV. A backslash stands before a bar or a backslash that is part of the text, and `\t`,
`\n`, `\r` are a tab and line ends, so that each row is written on one line. Any other backslash is
one.

A concept may have several rows, wherever they stand: the name of each is one of its names, and
lists are put together.
"""

from __future__ import annotations

import csv
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from types import SimpleNamespace
from typing import Any, TextIO, TypeVar, get_args

from linker.errors import InputError, OnError, RecordError, ignore, stop
from linker.ids import NO_CONCEPT, curie, normalized, prefixes_of, respelled
from linker.io.files import Pathlike, head, read_lines
from linker.io.parsing import (
    by_column,
    comments,
    make_concept,
    numbered,
    parse_each,
    split_language,
)
from linker.io.rows import TableRow, delimiter_of, read_rows, titles_of
from linker.records import NAME_KINDS, Concept, NameKind, Status

logger = logging.getLogger(__name__)

OPTIONS = ("prefix",)

KINDS: dict[str, NameKind] = {
    "synonyms": "exact",
    "narrow": "narrow",
    "broad": "broad",
    "related": "related",
    "abbreviations": "abbreviation",
    "training": "training",
}
COLUMNS = (
    *("id", "name", *KINDS, "parents", "alt_ids"),
    *("definition", "types", "status", "replaced_by", "xrefs"),
)
"""The columns that `write` writes."""

_OF_NAME = ("kind", "preferred", "language")  # columns that say something of the name of their row
# column names of tables with a row for each name
_SINGULAR = {"synonym": "synonyms", "parent": "parents"}
_NAME_KINDS: dict[str, NameKind] = {
    **{kind: kind for kind in NAME_KINDS},
    "": "exact",
    "synonym": "exact",
    "preferred term": "preferred",
    "preferred name": "preferred",
    **dict.fromkeys(("fully specified name", "fsn", "pt"), "preferred"),
    "acronym": "abbreviation",
}
_YES_NO = {
    **dict.fromkeys(("", "n", "no", "false", "0"), False),
    **dict.fromkeys(("y", "yes", "true", "1"), True),
}
_STATUSES: dict[str, Status] = {"": "current", **{status: status for status in get_args(Status)}}
_Value = TypeVar("_Value")

_ESCAPES = {"\\": "\\\\", "|": "\\|", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN = {escape: sign for sign, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\[\\|tnr]")
_ITEM = re.compile(r"(?:[^\\|]|\\.?)+", re.DOTALL)  # up to a bar that has no backslash before it

Record = tuple[NameKind, Concept]
"""A row as a concept of its own, and the kind of its name if another row has the preferred one."""


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first line names the columns id and name."""
    return bool(head) and {"id", "name"} <= set(_names_in(head[0]))


def read(path: Pathlike, *, on_error: OnError = stop, prefix: str = "") -> Iterator[Concept]:
    """Read a table of concepts; columns of other names are passed over.

    The file is read twice, so that concepts of one row are yielded at their place. Those of several
    rows follow at the end, and a warning says how many rows were merged. Their preferred name is
    that of the first row that calls its name preferred, else that of their first row; their
    definition is the first that there is. Rows of one id and different status are different
    concepts. Ids are kept as they are written, but for the spelling of prefixes: an IRI of a known
    vocabulary, MONDO_0001 and mondo:0001 are MONDO:0001.

    Args:
        path: the file.
        on_error: what to do with a bad row; returns to skip it.
        prefix: of the ids that have none, but for cross-references; empty to leave them without.

    Raises:
        InputError: the header has no column `id` or `name`, or what `on_error` raises.
    """
    header = head(path, 1)
    if not header:
        return
    columns = _columns(path, header[0])

    def rows(on_error: OnError) -> Iterator[tuple[int, TableRow]]:
        lines = read_lines(path, keep_ends=True, on_error=on_error)
        rows = numbered(read_rows(path, lines, delimiter_of(header[0]), on_error))
        return (row for row in rows if row[0] > 1)

    of_id, width = columns.index("id"), len(columns)
    cells = (row.cells for _, row in rows(ignore) if len(row.cells) == width)
    as_written = Counter(_unescape(of_row[of_id].strip()) for of_row in cells)
    spell = _spelling(prefix, as_written)
    ids = Counter[str]()
    for identifier, count in as_written.items():
        ids[spell(identifier)] += count
    if likely := [i for i in ids if ":" not in i and curie(i) != i]:
        text = "%s: ids stay without a prefix, such as %s; if it is %s, add --prefix, or write it"
        logger.warning(text, path, likely[0], curie(likely[0]))
    records_of: dict[tuple[str, Status], list[Record]] = {}

    def record(number: int, row: TableRow) -> Record:
        return _record(number, by_column(row, columns), spell)

    for kind, concept in parse_each(path, rows(on_error), record, on_error):
        if ids[concept.id] > 1:
            records_of.setdefault((concept.id, concept.status), []).append((kind, concept))
        else:
            yield concept
    yield from map(_merged, records_of.values())
    if more := sum(map(len, records_of.values())) - len(records_of):
        logger.warning("%s: %s of the rows repeat an id, and were merged", path, f"{more:,}")


def _spelling(prefix: str, ids: Iterable[str]) -> Callable[[str], str]:
    """How ids are written: with one prefix for each vocabulary, see `linker.ids.respelled`.

    Args:
        prefix: of ids that have none; empty to leave them without.
        ids: of the concepts, as they are written.
    """
    prefix = prefix.strip().rstrip(":")
    prefixes = prefixes_of(ids)

    def spell(text: str) -> str:
        identifier = respelled(text, prefixes)
        if not prefix or ":" in identifier or identifier.lower() in NO_CONCEPT:
            return identifier
        return normalized(f"{prefix}:{identifier}")

    return spell


def _merged(records: Sequence[Record]) -> Concept:
    """One concept of the rows of an id."""
    concepts = [concept for _, concept in records]
    best = next((concept for kind, concept in records if kind == "preferred"), concepts[0])
    names = {best.name: best.names[0]}
    for kind, concept in records:
        first = replace(concept.names[0], kind="exact" if kind == "preferred" else kind)
        for name in (first, *concept.names[1:]):
            names.setdefault(name.text, name)
    lists: dict[str, Any] = {
        field: tuple(dict.fromkeys(chain.from_iterable(getattr(c, field) for c in concepts)))
        for field in ("parents", "alt_ids", "types", "replaced_by", "xrefs")
    }
    definition = next((c.definition for c in concepts if c.definition), "")
    named = replace(concepts[0], name=best.name, names=tuple(names.values()))
    return replace(named, definition=definition, **lists)


def write(concepts: Iterable[Concept], file: TextIO) -> None:
    """Write concepts as a tab-separated table, their names by kind.

    The language, source and case of names are left out.
    """
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for concept in concepts:
        names = {kind: [n.text for n in concept.names if n.kind == kind] for kind in KINDS.values()}
        cells = (concept.parents, concept.alt_ids, (concept.definition,), concept.types)
        more = ((concept.status,), concept.replaced_by, concept.xrefs)
        rest = ("|".join(map(_escape, items)) for items in (*names.values(), *cells, *more))
        writer.writerow((_escape(concept.id), _escape(concept.name), *rest))


def _columns(path: Pathlike, header: str) -> list[str]:
    """The names of the columns in lower case.

    Raises:
        InputError: `id` or `name` is not there, or a name is there twice.
    """
    columns, read = _names_in(header), (*COLUMNS, *_OF_NAME)
    for unknown in (column for column in columns if column not in read):
        logger.warning("%s: the column %r is not read", path, unknown)
    twice = [name for name in read if columns.count(name) > 1]
    if twice or not {"id", "name"} <= set(columns):
        problem = f"the header has two columns {twice[0]!r}" if twice else "the header is not known"
        expected = "a header with the columns id and name, and tabs, commas or semicolons between"
        raise InputError(path, problem, line=1, value=header, expected=expected)
    return columns


def _names_in(header: str) -> list[str]:
    names = map(str.lower, titles_of(header))
    return [_SINGULAR.get(name, name) for name in names]


def _record(number: int, row: Mapping[str, str], spell: Callable[[str], str]) -> Record:
    identifier = spell(_unescape(row["id"]))
    name, tag = split_language(_unescape(row["name"]))
    synonyms: dict[str, NameKind] = {}
    languages = {name: tag}
    for column, kind in KINDS.items():
        for item in _list(row[column]):
            text, tag = split_language(item)
            synonyms.setdefault(text, kind)
            languages.setdefault(text, tag)
    concept = make_concept(
        identifier,
        name,
        synonyms,
        language=_unescape(row["language"]),
        parents=tuple(map(spell, _list(row["parents"]))),
        alt_ids=tuple(map(spell, _list(row["alt_ids"]))),
        definition=_unescape(row["definition"]),
        types=tuple(_list(row["types"])),
        status=_known(_STATUSES, row["status"].lower(), "status"),
        replaced_by=tuple(map(spell, _list(row["replaced_by"]))),
        xrefs=tuple(map(normalized, _list(row["xrefs"]))),
        line=number,
    )
    if any(languages.values()):
        names = [replace(n, language=languages[n.text] or n.language) for n in concept.names]
        concept = replace(concept, names=tuple(names))
    return _kind(row), concept


def _kind(row: Mapping[str, str]) -> NameKind:
    kind = _known(_NAME_KINDS, row["kind"].lower().removesuffix(" synonym"), "kind")
    return "preferred" if _known(_YES_NO, row["preferred"].lower(), "preferred") else kind


def _known(values: Mapping[str, _Value], text: str, column: str) -> _Value:
    """What a cell of a column stands for."""
    if text not in values:
        expected = ", ".join(filter(None, values))
        raise RecordError(f"the {column} is not known", text, expected=expected)
    return values[text]


def _list(cell: str) -> list[str]:
    return [_unescape(text) for item in _ITEM.findall(cell) if (text := item.strip())]


def _escape(text: str) -> str:
    return "".join(_ESCAPES.get(sign, sign) for sign in text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda escape: _PLAIN[escape[0]], text) if "\\" in text else text


_USED = {
    *("DiseaseID", "DiseaseName", "Synonyms", "ParentIDs", "AltDiseaseIDs"),
    *("Definition", "SlimMappings"),
}
# CTD writes: Thu Apr 30 12:42:36 EDT 2026
_CREATED = re.compile(r"Report created: *\w+ (\w{3}) +(\d+) .*(\d{4})")


def _is_medic(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first lines hold the comment that names MEDIC's columns."""
    return any(map(_names_columns, head))


def medic_release(path: Pathlike) -> str:
    """The day after "Report created:", such as 2026-04-30; empty where there is none."""
    for line in comments(path):
        if date := _CREATED.search(line):
            return f"{datetime.strptime(' '.join(date.groups()), '%b %d %Y'):%Y-%m-%d}"
    return ""


def read_medic(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]:
    """Read the concepts of a CTD disease file, in its order; SlimMappings become the types.

    Raises:
        InputError: the comment that names the columns is missing, or what `on_error` raises.
    """
    lines = read_lines(path, keep_ends=True, on_error=on_error)
    header, first = "", None
    for first in lines:
        if not first[1].startswith("#"):
            break
        if not header and _names_columns(first[1]):
            header = first[1].lstrip("# ")
    if first is None or first[1].startswith("#"):
        return
    if not header:
        problem, remedy = "no comment names the columns of MEDIC", "take the file as CTD offers it"
        raise InputError(path, problem, line=first[0], value=first[1], remedy=remedy)
    columns = titles_of(header)

    def parse(number: int, row: TableRow) -> Concept:
        return _medic_concept(number, by_column(row, columns))

    data = (line for line in chain([first], lines) if not line[1].startswith("#"))
    rows = read_rows(path, data, delimiter_of(header), on_error)
    yield from parse_each(path, numbered(rows), parse, on_error)


def _names_columns(line: str) -> bool:
    """Whether a line is the comment that names the columns."""
    return line.startswith("#") and set(titles_of(line.lstrip("# "))) >= _USED


def _medic_concept(number: int, row: Mapping[str, str]) -> Concept:
    return make_concept(
        curie(row["DiseaseID"]),
        row["DiseaseName"],
        dict.fromkeys(_items(row["Synonyms"]), "exact"),
        parents=tuple(map(curie, _items(row["ParentIDs"]))),
        alt_ids=tuple(map(curie, _items(row["AltDiseaseIDs"]))),
        definition=row["Definition"],
        types=tuple(_items(row["SlimMappings"])),
        line=number,
    )


def _items(cell: str) -> list[str]:
    """Split a cell at its bars; white space around the parts and blank parts are dropped."""
    return [text for part in cell.split("|") if (text := part.strip())]


medic = SimpleNamespace(recognises=_is_medic, read=read_medic, release=medic_release)


_ICD10CM = re.compile(r"\d{5} (?=.{7} )([A-Z]\d[0-9A-Z]{1,5}) +[01] (.{60}) (.*)")


def _is_icd10cm(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first line is one of an order file."""
    return bool(head) and bool(_ICD10CM.fullmatch(head[0]))


def read_icd10cm(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]:
    """Read the codes of an order file; the parent is the longest code above that it begins with."""
    codes: set[str] = set()

    def parse(number: int, line: str) -> Concept | None:
        if not line.strip():
            return None
        if not (match := _ICD10CM.fullmatch(line)):
            expected = "a number, a code, 0 or 1, a short and a long description, of fixed width"
            raise RecordError("the line is none of an order file", line, expected=expected)
        code, short, name = match[1], match[2].strip(), match[3].strip()
        codes.add(code)
        above = (code[:end] for end in range(len(code) - 1, 2, -1))
        parents = tuple(map(_identifier, [c for c in above if c in codes][:1]))
        return make_concept(_identifier(code), name, {short: "exact"}, parents=parents, line=number)

    yield from parse_each(path, read_lines(path, on_error=on_error), parse, on_error)


def _identifier(code: str) -> str:
    return f"ICD10CM:{code[:3]}{'.' * (len(code) > 3)}{code[3:]}"


icd10cm = SimpleNamespace(recognises=_is_icd10cm, read=read_icd10cm)
