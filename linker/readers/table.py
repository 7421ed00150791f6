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
import itertools
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TextIO, get_args

from linker.errors import InputError, OnError, RecordError, ignore, stop
from linker.files import Pathlike, head, read_lines
from linker.files.rows import TableRow, delimiter_of, read_rows, titles_of
from linker.ids import NO_CONCEPT, curie, normalized
from linker.readers.records import by_column, make_concept, numbered, parse_each
from linker.types import NAME_KINDS, Concept, NameKind, Status

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

_ESCAPES = {"\\": "\\\\", "|": "\\|", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN = {escape: sign for sign, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\[\\|tnr]")
_ITEM = re.compile(r"(?:[^\\|]|\\.?)+", re.DOTALL)  # up to a bar that has no backslash before it

Record = tuple[NameKind, Concept]
"""A row as a concept of its own, and the kind of its name if another row has the preferred one."""


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first line names the columns id and name."""
    return bool(head) and {"id", "name"} <= set(_columns(head[0]))


def read(path: Pathlike, *, on_error: OnError = stop, prefix: str = "") -> Iterator[Concept]:
    """Read a table of concepts; columns of other names are passed over.

    The file is read twice, so that concepts of one row are yielded at their place. Those of several
    rows follow at the end, and a warning says how many rows were merged. Their preferred name is
    that of the first row that calls its name preferred, else that of their first row; their
    definition is the first that there is. Rows of one id and different status are different
    concepts. Ids are kept as they are written, but for the spelling of known prefixes.

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
    columns, spell = _columns(header[0]), _spelling(prefix)
    _check_header(path, header[0], columns)

    def rows(on_error: OnError) -> Iterator[tuple[int, TableRow]]:
        lines = read_lines(path, keep_ends=True, on_error=on_error)
        rows = numbered(read_rows(path, lines, delimiter_of(header[0]), on_error))
        return (row for row in rows if row[0] > 1)

    def record(number: int, row: TableRow) -> Record:
        cells = by_column(row, columns)
        return _record(number, cells, spell)

    of_id, width = columns.index("id"), len(columns)
    read = (row.cells for _, row in rows(ignore) if len(row.cells) == width)
    ids = [normalized(_unescape(cells[of_id].strip())) for cells in read]
    _say_bare(path, ids, spell)
    repeated = {identifier for identifier, count in Counter(map(spell, ids)).items() if count > 1}
    records_of: dict[tuple[str, Status], list[Record]] = {}
    for kind, concept in parse_each(path, rows(on_error), record, on_error):
        if concept.id in repeated:
            records_of.setdefault((concept.id, concept.status), []).append((kind, concept))
        else:
            yield concept
    yield from map(_merged, records_of.values())
    if more := sum(map(len, records_of.values())) - len(records_of):
        concepts = sum(len(records) > 1 for records in records_of.values())
        text = "%s: %s of the rows repeat an id, and were merged (concepts with several rows: %s)"
        logger.warning(text, path, f"{more:,}", f"{concepts:,}")


def _spelling(prefix: str) -> Callable[[str], str]:
    """How ids are written: those without a prefix with this one, unless it is empty."""
    prefix = prefix.strip().rstrip(":")

    def spell(text: str) -> str:
        identifier = normalized(text)
        if not prefix or ":" in identifier or identifier.lower() in NO_CONCEPT:
            return identifier
        return normalized(f"{prefix}:{identifier}")

    return spell


def _say_bare(path: Pathlike, ids: Iterable[str], spell: Callable[[str], str]) -> None:
    """Say what becomes of ids without a prefix that get one, or look as if one was left out."""
    bare = [identifier for identifier in dict.fromkeys(ids) if ":" not in identifier]
    if given := [identifier for identifier in bare if spell(identifier) != identifier]:
        text = "%s: %s ids without a prefix get one: %s is %s"
        logger.warning(text, path, f"{len(given):,}", given[0], spell(given[0]))
    elif likely := [identifier for identifier in bare if curie(identifier) != identifier]:
        text = (
            "%s: %s ids without a prefix are kept as they are, such as %s; "
            "if it stands for %s, write the prefix, or give it with --prefix"
        )
        logger.warning(text, path, f"{len(bare):,}", likely[0], curie(likely[0]))


def _merged(records: Sequence[Record]) -> Concept:
    """One concept of the rows of an id."""
    best = next((concept for kind, concept in records if kind == "preferred"), records[0][1])
    names = {best.name: best.names[0]}
    for kind, concept in records:
        for name in (
            replace(concept.names[0], kind="exact" if kind == "preferred" else kind),
            *concept.names[1:],
        ):
            names.setdefault(name.text, name)
    concepts = [concept for _, concept in records]

    def together(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(itertools.chain.from_iterable(lists)))

    return replace(
        concepts[0],
        name=best.name,
        names=tuple(names.values()),
        parents=together(c.parents for c in concepts),
        alt_ids=together(c.alt_ids for c in concepts),
        definition=next((c.definition for c in concepts if c.definition), ""),
        types=together(c.types for c in concepts),
        replaced_by=together(c.replaced_by for c in concepts),
        xrefs=together(c.xrefs for c in concepts),
    )


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


def _columns(header: str) -> list[str]:
    """The column names in lower case."""
    names = map(str.lower, titles_of(header))
    return [_SINGULAR.get(name, name) for name in names]


def _check_header(path: Pathlike, line: str, columns: Sequence[str]) -> None:
    read = (*COLUMNS, *_OF_NAME)
    for unknown in (column for column in columns if column not in read):
        logger.warning("%s: the column %r is not read", path, unknown)
    for name in read:
        count = columns.count(name)
        if count > 1 or (count == 0 and name in ("id", "name")):
            problem = f"the header has {count or 'no'} column{'s' * (count > 1)} {name!r}"
            expected = (
                "a header line with the columns id and name, "
                "with tabs, commas or semicolons between them"
            )
            raise InputError(path, problem, line=1, value=line, expected=expected)


def _record(number: int, row: Mapping[str, str], spell: Callable[[str], str]) -> Record:
    identifier, name = spell(_unescape(row["id"])), _unescape(row["name"])
    synonyms: dict[str, NameKind] = {}
    for column, kind in KINDS.items():
        for text in _list(row[column]):
            synonyms.setdefault(text, kind)
    concept = make_concept(
        identifier,
        name,
        synonyms,
        language=_unescape(row["language"]),
        parents=tuple(map(spell, _list(row["parents"]))),
        alt_ids=tuple(map(spell, _list(row["alt_ids"]))),
        definition=_unescape(row["definition"]),
        types=tuple(_list(row["types"])),
        status=_status(row["status"].lower()),
        replaced_by=tuple(map(spell, _list(row["replaced_by"]))),
        xrefs=tuple(map(normalized, _list(row["xrefs"]))),
        line=number,
    )
    return _kind(row), concept


def _kind(row: Mapping[str, str]) -> NameKind:
    kind = _NAME_KINDS.get(row["kind"].lower().removesuffix(" synonym"))
    if kind is None:
        expected = ", ".join(filter(None, _NAME_KINDS))
        problem = "the kind of the name is not known"
        raise RecordError(problem, row["kind"], expected=expected)
    is_preferred = _YES_NO.get(row["preferred"].lower())
    if is_preferred is None:
        problem, expected = "'preferred' is neither yes nor no", "yes or no, or 1 or 0"
        raise RecordError(problem, row["preferred"], expected=expected)
    return "preferred" if is_preferred else kind


def _status(text: str) -> Status:
    known: dict[str, Status] = {status: status for status in get_args(Status)}
    if text and text not in known:
        raise RecordError("the status is not known", text, expected=" or ".join(known))
    return known.get(text, "current")


def _list(cell: str) -> list[str]:
    return [_unescape(text) for item in _ITEM.findall(cell) if (text := item.strip())]


def _escape(text: str) -> str:
    return "".join(_ESCAPES.get(sign, sign) for sign in text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda escape: _PLAIN[escape[0]], text) if "\\" in text else text
