"""Files of curators: which format a content is, and the mentions or documents in it."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from linker.desk.decisions import exchange
from linker.desk.decisions.reviewed import MENTION, are_mappings
from linker.errors import LinkerError, ignore
from linker.io import files
from linker.io import mentions as mention_files
from linker.io import mentions as readers
from linker.io import rows as tables
from linker.io.files import MENTION_LIMIT, OpenFile
from linker.io.formats import FORMATS, MENTIONS
from linker.io.rows import Table
from linker.jobs.tables import mention_of
from linker.records import Document, Mention

Kind = Literal["table", "list", "documents"]

TABLES = ("csv", "tsv", "xlsx")
_DECIDED = (b'"mention"', b'"accepted"')  # keys of the decisions beside an answer
_GZIP = b"\x1f\x8b"
_FORMATS = tuple(name for name in MENTIONS if FORMATS[name].is_text)
_UNPACKED = 8  # times the longest body that a workbook may unpack to
_LONGEST_NAME, _MOST_WORDS = 120, 12  # of a line that may be a name, in characters and words


@dataclass(frozen=True, slots=True)
class Opened:
    """A content whose format is known."""

    file: files.Pathlike  # as UTF-8 where it is a text
    encoding: str
    kind: str  # the name of its format

    @property
    def has_ids(self) -> bool:
        """Whether it has mentions with their ids; see `tables.has_ids`."""
        lines = files.head(self.file, tables.FIRST, on_error=ignore) if self.kind == "tsv" else []
        return tables.has_ids(lines)

    def table(
        self, column: str | None, most: int | None = None, known: Sequence[str] = ()
    ) -> Table:
        """The table in it, for which `opened` has found a format of tables.

        Args:
            column: that holds the mentions; None: it is not known yet.
            most: bytes of the longest content; a workbook may unpack to some times as many.
                None: to any number, since it was read before.
            known: columns that it may have; see `read`.
        """
        usual = [*known, *tables.COLUMNS, MENTION]
        wanted = [column] if column and not column.isdigit() else usual
        if tables.is_workbook(self.file):
            return tables.read(self.file, wanted, most=most and _UNPACKED * most)
        return tables.TextTable(self.file, wanted)


@dataclass(frozen=True, slots=True)
class Row:
    """A mention of a table or list, with what stands beside it."""

    place: int  # its row or line, from 1
    text: str
    type: str = ""
    cells: tuple[str, ...] = ()  # of its row in a table, by the columns


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a file."""

    name: str  # of the file
    content: bytes
    kind: Kind
    format: str
    encoding: str
    column: str = ""  # of a table: the name of that with the mentions, or its number
    header: tuple[str, ...] = ()  # of a table
    rows: tuple[Row, ...] = ()
    documents: tuple[Document, ...] = ()
    packed: bytes = b""  # the content, as it is kept
    sheets: tuple[str, ...] = ()  # of a workbook, that which was read first
    blank: int = 0  # rows of a table without a mention
    long: tuple[int, ...] = ()  # rows of a table with a cell that is too long for one

    @property
    def notes(self) -> list[str]:
        """What is odd about it, each in a sentence."""
        count, places = len(self.long), f"the first in row {self.long[0]:,}" if self.long else ""
        told = {
            f"the workbook has {len(self.sheets)} sheets, and {''.join(self.sheets[:1])!r} was "
            "read; save another one as its own file": len(self.sheets) > 1,
            f"rows with an empty cell, or a formula that was never computed, in the column of the "
            f"mentions: {self.blank:,}": self.blank,
            f"cells of more than {MENTION_LIMIT:,} characters, which get no answer: {count:,}, "
            f"{places}": count,
            "linker wrote it with what people decided, which is not read from it: export the "
            "project as tsv, or the decisions, and give that, too": self.kind != "table"
            and all(key in self.content for key in _DECIDED),
        }
        return [sentence for sentence, is_so in told.items() if is_so]


def opened(content: bytes, name: str, column: str | None, encoding: str | None) -> Opened:
    """Find out the format of a content.

    A text of which a column is named is a table.

    Args:
        content: of a file.
        name: of the file, whose ending tells tables.
        column: of a table, which holds the mentions.
        encoding: of a text; None: see `linker.io.files.as_utf8`.

    Raises:
        LinkerError: it is packed, or no format that holds mentions.
    """
    file: files.Pathlike = OpenFile(io.BytesIO(content), name or "upload")
    if content.startswith(_GZIP):
        raise LinkerError(f"{file}: is compressed; unpack it first")
    if tables.is_workbook(file):
        return Opened(file, files.UTF8, "xlsx")
    file, encoding = files.as_utf8(file, encoding)
    if name.lower().endswith(".csv"):
        return Opened(file, encoding, "csv")
    kind = readers.detect(file)
    if kind == "txt" and tables.table_in(file, files.head(file, tables.FIRST, on_error=ignore)):
        return Opened(file, encoding, "csv")
    if kind not in _FORMATS:
        raise LinkerError(
            f"{file}: is {kind}; expected one of {', '.join(_FORMATS)}, or csv or xlsx"
        )
    if column is not None and kind not in ("txt", "tsv"):
        raise LinkerError(f"{file}: is {kind}; a column can be named in tables only")
    return Opened(file, encoding, kind if column is None else "tsv")


def read(
    content: bytes,
    name: str,
    column: str | None,
    encoding: str | None,
    most: int,
    known: Sequence[str] = (),
) -> Content:
    """Read the mentions or documents of a file.

    A text without tabs is a list of names where each line may be one, and a document otherwise.

    Args:
        content, name, column, encoding: as for `opened`.
        most: bytes of the longest content.
        known: the columns with the mentions of a project, of which a table that linker wrote has
            one, where none is named.

    Raises:
        ColumnNeeded: it is a table, and nobody knows which column holds the mentions.
        LinkerError: it is damaged, or holds no mentions and no documents.
    """
    # packed here, so that nobody who writes waits for it
    about, file = (name or "upload", content), opened(content, name, column, encoding)
    table = file.table(column, most, known) if file.kind in TABLES else None
    if table and not (column is None and file.has_ids):
        read = _of_table(file, table, column, about, known)
    else:
        read = _of_items(file, about)
    return replace(read, packed=zlib.compress(content))


def _of_items(known: Opened, about: tuple[str, bytes]) -> Content:
    """What is in a content that is no table."""
    if known.kind == "txt" and _is_prose(known.file):
        documents = tuple(mention_files.read_texts(known.file))
        return Content(*about, "documents", "txt", known.encoding, documents=documents)
    items = list(readers.read(known.file, known.kind))
    documents = tuple(item for item in items if isinstance(item, Document))
    if 0 < len(documents) < len(items):
        raise LinkerError(f"{known.file}: holds mentions and documents; make two files of it")
    if documents:
        return Content(*about, "documents", known.kind, known.encoding, documents=documents)
    rows = tuple(
        Row(place, item.text, item.type)
        for place, item in enumerate(items, 1)
        if isinstance(item, Mention) and item.text.strip()
    )
    if not rows:
        raise LinkerError(f"{known.file}: holds no mentions; check that it is the right file")
    return Content(*about, "list", known.kind, known.encoding, rows=rows)


def _of_table(
    file: Opened,
    table: Table,
    column: str | None,
    about: tuple[str, bytes],
    known: Sequence[str],
) -> Content:
    """What is in a table."""
    lines = [row for row in table.rows() if any(map(str.strip, row.cells))]
    header = tuple(title.strip() for title in table.header)
    column = _known_column(header, known) if column is None else column
    place = tables.column_of(table, lines) if column is None else tables.place_of(table, column)
    if column is None:  # its number where others have its name, too
        is_one = header[place] and header.count(header[place]) == 1
        column = header[place] if is_one else str(place + 1)
    long = list[int]()
    mentions = [(row, mention_of(row, place, long)) for row in lines]
    rows = tuple(Row(row.number, m.text, "", tuple(row.cells)) for row, m in mentions if m)
    if not rows:
        problem = f"the column {header[place]!r} {'has long texts' if long else 'is empty'}"
        raise LinkerError(f"{file.file}: {problem}; name another column")
    read = Content(*about, "table", file.kind, file.encoding, column, header, rows)
    blank = len(lines) - len(rows) - len(long)
    return replace(read, sheets=tuple(table.sheets), blank=blank, long=tuple(long))


def _known_column(header: Sequence[str], known: Sequence[str]) -> str | None:
    """The column of the mentions in a table that linker wrote; None: it is to be found out."""
    if are_mappings(header):
        return MENTION
    if not exchange.recognises(header):
        return None
    names = {*filter(None, known)} or {"mention"}
    name = names.pop()
    return name if not names and (name in header or name.isdigit()) else None


def _is_prose(file: files.Pathlike) -> bool:
    """Whether some line of a text is no name: it is long, or ends as a sentence does."""
    lines = (line.strip() for _, line in files.read_lines(file))
    return any(
        len(line) > _LONGEST_NAME
        or line.endswith((".", "!", "?", ";", ":"))
        or len(line.split()) > _MOST_WORDS
        for line in lines
    )
