"""Files of curators: which format a content is, and the mentions or documents in it.

A file is gone over once, when it is checked; what is in it stands in a temporary file from then on.
"""

from __future__ import annotations

import io
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from pydantic import TypeAdapter

from linker.desk.decisions import exchange
from linker.desk.decisions.reviewed import MENTION, are_mappings
from linker.errors import InputError, LinkerError, check_wanted, ignore
from linker.io import files
from linker.io import mentions as readers
from linker.io import rows as tables
from linker.io.files import MENTION_LIMIT, OpenFile, SpooledFile
from linker.io.formats import FORMATS, MENTIONS
from linker.io.rows import ColumnNeeded, Table, TableRow
from linker.jobs.tables import mention_of
from linker.records import Document

Kind = Literal["table", "list", "documents"]

TABLES = ("csv", "tsv", "xlsx")
KINDS: tuple[Kind, ...] = ("list", "table", "documents")  # that a plain text may be
_DECIDED = (b'"mention"', b'"accepted"')  # keys of the decisions beside an answer
_GZIP = b"\x1f\x8b"
_FORMATS = tuple(name for name in MENTIONS if FORMATS[name].is_text)
_UNPACKED = 8  # times the longest body that a workbook may unpack to
_LONGEST_NAME, _MOST_WORDS = 120, 12  # of a line that may be a name, in characters and words
_FEWEST_WORDS = 3  # of a line that is a sentence
_SENTENCE = (".", "!", "?", ";", ":")  # how it ends
_SENTENCE_END = re.compile(r"[.!?](\s+[A-Z]|$)")
_NARROWEST = 40  # characters of the lines of a text that is wrapped
_SENTENCE_LINES = 10  # of such a text, among which one has the end of a sentence
_PARAGRAPH = 1_000  # lines that are looked at together
_LONGEST_TEXT = 4_000_000  # characters of a document
_LONGEST_LINE = 8_000_000  # of a text with documents in its lines
_LOOKED_AT = 10_000  # rows of a table by which the column of the mentions is known
_CHECKED = 1_000  # rows after which it is seen whether somebody still wants them
_BLOCK = 1 << 20  # bytes of a content that are looked at together
_SHOWN = 3  # rows of a file that are shown before it is taken
_LONGEST_SHOWN = 100  # characters of these

_Item = TypeVar("_Item", "Row", Document)


@dataclass(frozen=True, slots=True)
class Opened:
    """A content whose format is known."""

    file: files.Pathlike  # as UTF-8 where it is a text
    encoding: str
    kind: str  # the name of its format
    read_as: Kind | None = None  # what somebody says that it is

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


_ADAPTERS: dict[type, TypeAdapter[Any]] = {Row: TypeAdapter(Row), Document: TypeAdapter(Document)}


class TooMany(LinkerError):
    """A file has more rows than a project may have."""


class Items(Generic[_Item]):
    """Rows or documents in a temporary file, which are read from it one after the other.

    Args:
        kind: of what they are.
    """

    def __init__(self, kind: type[_Item]) -> None:
        self._adapter: TypeAdapter[_Item] = _ADAPTERS[kind]
        self._file = SpooledFile(files.temporary(), "items")
        self.count = 0

    def add(self, item: _Item) -> None:
        """Add one."""
        self._file.spool.write(self._adapter.dump_json(item) + b"\n")
        self.count += 1

    def __iter__(self) -> Iterator[_Item]:
        with self._file.open() as lines:
            for line in lines:
                yield self._adapter.validate_json(line)


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a file."""

    name: str  # of the file
    file: files.Pathlike  # as it came
    kind: Kind
    format: str
    encoding: str
    column: str = ""  # of a table: the name of that with the mentions, or its number
    header: tuple[str, ...] = ()  # of a table
    rows: Items[Row] = field(default_factory=lambda: Items(Row))
    documents: Items[Document] = field(default_factory=lambda: Items(Document))
    types: frozenset[str] = frozenset()  # of the mentions
    is_marked: bool = False  # whether a document has mentions
    packed: bytes = b""  # the content, as it is kept
    sheets: tuple[str, ...] = ()  # of a workbook, that which was read first
    blank: int = 0  # rows of a table without a mention, or lines of a list
    long: tuple[int, ...] = ()  # rows or lines with a cell that is too long for a mention
    has_decisions: bool = False  # beside answers, where nothing is read from
    id: str = ""  # that the text has in place of the name of its file
    left_out: frozenset[int] = frozenset()  # the places of documents that are not taken, from 0

    @property
    def count(self) -> int:
        """The number of its rows or documents."""
        return self.documents.count if self.kind == "documents" else self.rows.count

    @property
    def new_documents(self) -> Iterator[Document]:
        """The documents that are taken."""
        for place, document in enumerate(self.documents):
            if place not in self.left_out:
                yield replace(document, id=self.id) if self.id else document

    @property
    def notes(self) -> list[str]:
        """What is odd about it, each in a sentence."""
        notes: list[str] = []
        if len(self.sheets) > 1:
            notes.append(
                f"the workbook has {len(self.sheets)} sheets, and {self.sheets[0]!r} was read; "
                "save another one as its own file"
            )
        if self.blank and self.kind == "table":
            notes.append(
                "rows with an empty cell, or a formula that was never computed, in the column of "
                f"the mentions: {self.blank:,}"
            )
        if self.blank and self.kind == "list":
            notes.append(f"blank lines, which are no rows: {self.blank:,}")
        if self.long and self.kind == "table":
            notes.append(
                f"cells of more than {MENTION_LIMIT:,} characters, which get no answer: "
                f"{len(self.long):,}, the first in row {self.long[0]:,}"
            )
        if self.long and self.kind == "list":
            notes.append(
                f"lines of more than {MENTION_LIMIT:,} characters, which are no rows: "
                f"{len(self.long):,}, the first in line {self.long[0]:,}"
            )
        if self.has_decisions:
            notes.append(
                "linker wrote it with what people decided, which is not read from it: export the "
                "project as tsv, or the decisions, and give that, too"
            )
        return notes


def opened(
    content: bytes | OpenFile,
    name: str,
    column: str | None,
    encoding: str | None,
    read_as: Kind | None = None,
) -> Opened:
    """Find out the format of a content.

    A text of which a column is named is a table.

    Args:
        content: of a file.
        name: of the file, whose ending tells tables.
        column: of a table, which holds the mentions.
        encoding: of a text; None: see `linker.io.files.as_utf8`.
        read_as: what somebody says that it is; None: it is found out.

    Raises:
        LinkerError: it is packed, no format that holds mentions, or cannot be read as this.
    """
    file = _as_file(content, name)
    with file.open() as start:
        if start.read(len(_GZIP)) == _GZIP:
            raise LinkerError(f"{file}: is compressed; unpack it first")
    if tables.is_workbook(file):
        _check_kind(file, read_as, ("table",))
        return Opened(file, files.UTF8, "xlsx")
    text, encoding = files.as_utf8(file, encoding)
    kind = readers.detect(text)
    is_csv = name.lower().endswith(".csv")
    if is_csv or kind in ("txt", "tsv"):
        kind = "csv" if is_csv else _kind_of_text(text, kind, is_table=column is not None)
        return _as_said(Opened(text, encoding, kind), read_as)
    if kind not in _FORMATS:
        raise LinkerError(
            f"{file}: is {kind}; expected one of {', '.join(_FORMATS)}, or csv or xlsx"
        )
    if column is not None:
        raise LinkerError(f"{file}: is {kind}; a column can be named in tables only")
    _check_kind(file, read_as, ("list", "documents") if kind == "jsonl" else ("documents",))
    return Opened(text, encoding, kind)


def _as_file(content: bytes | OpenFile, name: str) -> OpenFile:
    if isinstance(content, OpenFile):
        return content
    return OpenFile(io.BytesIO(content), name or "upload")


def _kind_of_text(text: files.Pathlike, kind: str, *, is_table: bool) -> str:
    """The name of the format of a text that is none of the formats with marks of their own.

    Args:
        text: the file.
        kind: what it begins as, txt or tsv.
        is_table: whether somebody says that it is one.
    """
    lines = files.head(text, tables.FIRST, on_error=ignore)
    if kind == "txt" and tables.table_in(text, lines):
        return "csv"
    return "tsv" if is_table else kind


def _as_said(found: Opened, read_as: Kind | None) -> Opened:
    """A text as somebody says that it is to be read."""
    if read_as is None:
        return found
    kind = found.kind
    if read_as == "table":
        kind = kind if kind in TABLES else "csv"
    elif read_as == "documents" or not found.has_ids:
        kind = "txt"
    return replace(found, kind=kind, read_as=read_as)


def _check_kind(file: OpenFile, read_as: Kind | None, kinds: Sequence[Kind]) -> None:
    """Check that a file can be read as what somebody says.

    Raises:
        LinkerError: it cannot.
    """
    if read_as and read_as not in kinds:
        raise LinkerError(f"{file}: cannot be read as {read_as}; expected {' or '.join(kinds)}")


def read(
    content: bytes | OpenFile,
    name: str,
    column: str | None,
    encoding: str | None,
    most: int,
    known: Sequence[str] = (),
    *,
    read_as: Kind | None = None,
    most_rows: int | None = None,
) -> Content:
    """Read the mentions or documents of a file.

    A text without tabs is a list of names, unless most of it is prose; see `_is_prose`.

    Args:
        content, name, column, encoding, read_as: as for `opened`.
        most: bytes of the longest content.
        known: the columns with the mentions of a project, of which a table that linker wrote has
            one, where none is named.
        most_rows: of a table or list, or documents with the mentions that are marked in them;
            None: any number.

    Raises:
        ColumnNeeded: it is a table, and nobody knows which column holds the mentions.
        TooMany: it has more rows.
        LinkerError: it is damaged, or holds no mentions and no documents.
    """
    file = _as_file(content, name)
    known_as = opened(file, name, column, encoding, read_as)
    limit = _Limit(str(file), most_rows)
    is_list = column is None and read_as != "table" and known_as.has_ids
    if known_as.kind in TABLES and not is_list:
        read = _of_table(known_as, known_as.table(column, most, known), column, known, limit)
    elif known_as.kind == "txt":
        read = _of_text(known_as, limit)
    else:
        read = _of_items(known_as, limit)
    has_decisions = read.kind != "table" and _has_decisions(file)
    about: dict[str, Any] = {"name": name or "upload", "file": file, "packed": _packed(file)}
    return replace(read, has_decisions=has_decisions, **about)


def _packed(file: OpenFile) -> bytes:
    """A content as it is kept; packed here, so that nobody who writes waits for it."""
    packer = zlib.compressobj()
    blocks = [packer.compress(block) for block in _blocks(file)]
    return b"".join([*blocks, packer.flush()])


def _blocks(file: OpenFile) -> Iterator[bytes]:
    """Yield the content of a file in blocks."""
    with file.open() as content:
        while block := content.read(_BLOCK):
            check_wanted()
            yield block


def _has_decisions(file: OpenFile) -> bool:
    """Whether a content has decisions beside answers, as linker writes them."""
    missing = set(_DECIDED)
    end = b""
    for block in _blocks(file):
        missing -= {key for key in missing if key in end + block}
        end = block[-max(map(len, _DECIDED)) :]
    return not missing


class _Limit:
    """Counts the rows of a file, and refuses those beyond a limit.

    Args:
        name: of the file, for the message.
        most: rows; None: any number.
    """

    def __init__(self, name: str, most: int | None) -> None:
        self._name = name
        self._most = most
        self._count = 0

    def count(self, number: int = 1) -> None:
        """Count so many rows.

        Raises:
            TooMany: there are more than the limit.
        """
        before = self._count
        self._count += number
        if self._count // _CHECKED > before // _CHECKED:
            check_wanted()
        if self._most is not None and self._count > self._most:
            raise TooMany(
                f"{self._name}: has more than {self._most:,} rows, which is what a project of this "
                "service may have (linker serve --max-rows); split the file, or link all of it "
                "with linker link FILE --column NAME"
            )


def _of_text(known: Opened, limit: _Limit) -> Content:
    """What is in a plain text: a document, or a list with a name on each line."""
    about: Any = {"name": "", "file": known.file, "format": "txt", "encoding": known.encoding}
    is_document = _is_prose(known.file) if known.read_as is None else known.read_as == "documents"
    if is_document:
        documents = Items(Document)
        for document in readers.read_texts(known.file):
            _check_length(known.file, document)
            documents.add(document)
        return Content(kind="documents", documents=documents, **about)
    rows = Items(Row)
    long = list[int]()
    blank = 0
    for number, line in files.read_lines(known.file):
        limit.count()
        text = line.strip()
        if "\r" in text:
            problem = "a line end of old Macs"
            expected = "line ends as of Windows or Unix"
            raise InputError(known.file, problem, line=number, value=text, expected=expected)
        if not text:
            blank += 1
        elif len(text) > MENTION_LIMIT:
            long.append(number)
        else:
            rows.add(Row(number, text))
    if not rows.count:
        raise LinkerError(f"{known.file}: holds no mentions; check that it is the right file")
    types = frozenset([""])
    return Content(kind="list", rows=rows, types=types, blank=blank, long=tuple(long), **about)


def _of_items(known: Opened, limit: _Limit) -> Content:
    """What is in a file of a format for mentions or documents."""
    if known.kind != "bioc":  # which has elements, not lines
        _check_lines(known.file)
    rows = Items(Row)
    documents = Items(Document)
    types = set[str]()
    is_marked = False
    blank = 0
    for place, item in enumerate(readers.read(known.file, known.kind), 1):
        if isinstance(item, Document):
            limit.count(1 + len(item.mentions))
            _check_length(known.file, item)
            documents.add(item)
            is_marked = is_marked or bool(item.mentions)
            types.update(mention.type for mention in item.mentions)
        elif item.text.strip():
            limit.count()
            rows.add(Row(place, item.text, item.type))
            types.add(item.type)
        else:
            blank += 1
    if rows.count and documents.count:
        raise LinkerError(f"{known.file}: holds mentions and documents; make two files of it")
    if not rows.count and not documents.count:
        raise LinkerError(f"{known.file}: holds no mentions; check that it is the right file")
    kind: Kind = "documents" if documents.count else "list"
    about: Any = {"types": frozenset(types), "is_marked": is_marked, "documents": documents}
    about["blank"] = blank
    return Content("", known.file, kind, known.kind, known.encoding, rows=rows, **about)


def _check_lines(file: files.Pathlike) -> None:
    """Check that no line of a text is too long to be read.

    Raises:
        InputError: one is.
    """
    for number, line in files.read_lines(file, on_error=ignore):
        if len(line) > _LONGEST_LINE:
            problem = f"has {len(line):,} characters"
            expected = f"at most {_LONGEST_LINE:,}"
            raise InputError(file, problem, line=number, expected=expected, remedy="split it")


def _check_length(file: files.Pathlike, document: Document) -> None:
    """Check the length of a document.

    Raises:
        InputError: it is too long.
    """
    if len(document.text) > _LONGEST_TEXT:
        problem = f"the text of document {document.id} has {len(document.text):,} characters"
        expected = f"at most {_LONGEST_TEXT:,}"
        raise InputError(file, problem, expected=expected, remedy="split it into several files")


def _of_table(
    known: Opened, table: Table, column: str | None, columns: Sequence[str], limit: _Limit
) -> Content:
    """What is in a table.

    Args:
        known: its file.
        table: it.
        column: that holds the mentions; None: it is to be found out.
        columns: that a table which linker wrote may have; see `read`.
        limit: of its rows.
    """
    lines = _not_blank(table.rows(), limit)
    first = list(itertools.islice(lines, _LOOKED_AT))
    header = tuple(title.strip() for title in table.header)
    column = _known_column(header, columns) if column is None else column
    place = _column_of(table, first, lines) if column is None else tables.place_of(table, column)
    if column is None:  # its number where others have its name, too
        is_one = header[place] and header.count(header[place]) == 1
        column = header[place] if is_one else str(place + 1)
    long = list[int]()
    rows = Items(Row)
    blank = 0
    for row in itertools.chain(first, lines):
        too_long = len(long)
        if mention := mention_of(row, place, long):
            rows.add(Row(row.number, mention.text, "", tuple(row.cells)))
        elif len(long) == too_long:
            blank += 1
    if not rows.count:
        problem = f"the column {header[place]!r} {'has long texts' if long else 'is empty'}"
        raise LinkerError(f"{known.file}: {problem}; name another column")
    about: Any = {"header": header, "rows": rows, "types": frozenset([""])}
    about |= {"sheets": tuple(table.sheets), "blank": blank, "long": tuple(long)}
    return Content("", known.file, "table", known.kind, known.encoding, column, **about)


def _not_blank(rows: Iterable[TableRow], limit: _Limit) -> Iterator[TableRow]:
    """Yield the rows with a cell that is not blank, and count them."""
    for row in rows:
        if any(map(str.strip, row.cells)):
            limit.count()
            yield row


def _column_of(table: Table, first: Sequence[TableRow], others: Iterable[TableRow]) -> int:
    """The place of the column with the mentions, by its name and the first rows.

    Raises:
        ColumnNeeded: it is not known; with the number of all rows.
    """
    try:
        return tables.column_of(table, first)
    except ColumnNeeded as needed:
        needed.rows += sum(1 for _ in others)
        raise


def _known_column(header: Sequence[str], known: Sequence[str]) -> str | None:
    """The column of the mentions in a table that linker wrote; None: it is to be found out."""
    if are_mappings(header):
        return MENTION
    if not exchange.recognises(header):
        return None
    names = {*filter(None, known)} or {"mention"}
    name = names.pop()
    return name if not names and (name in header or name.isdigit()) else None


def preview(read: Content | ColumnNeeded, file: OpenFile) -> dict[str, Any]:
    """What a file is read as, and how it begins, as an object that `json` can write.

    Args:
        read: what is in it; or it is a table of which somebody has to name the column.
        file: it.
    """
    kinds: Sequence[str] = ("table",) if tables.is_workbook(file) else KINDS
    if isinstance(read, ColumnNeeded):
        columns = {column["name"]: column["samples"] for column in read.columns}
        return {
            "kind": "table",
            "kinds": kinds,
            "count": read.rows,
            "column": None,
            "columns": [column["name"] for column in read.columns],
            "suggested": read.suggested,
            "rows": columns.get(read.suggested or "", [])[:_SHOWN],
        }
    items: Items[Any] = read.documents if read.kind == "documents" else read.rows
    texts = [item.text[:_LONGEST_SHOWN] for item in itertools.islice(items, _SHOWN)]
    return {
        "kind": read.kind,
        "kinds": kinds if read.format in ("txt", *TABLES) else (read.kind,),
        "count": read.count,
        "column": read.column or None,
        "columns": read.header,
        "suggested": None,
        "rows": [" ".join(text.split()) for text in texts],
    }


def _is_prose(file: files.Pathlike) -> bool:
    """Whether at least half of the characters of a text stand in lines that are prose.

    A line is prose that is too long for a name, has too many words, or ends as a sentence does; so
    is one of a wrapped text. A list with a sentence in it stays a list.
    """
    prose = total = 0
    for paragraph in _paragraphs(file):
        width = max(map(len, paragraph))
        sentences = sum(bool(_SENTENCE_END.search(line)) for line in paragraph)
        is_text = width >= _NARROWEST and _SENTENCE_LINES * sentences >= len(paragraph)
        for line, following in itertools.zip_longest(paragraph, paragraph[1:], fillvalue=""):
            # a wrapped line fills most of the width, and the sentence goes on in the next one
            is_wrapped = is_text and 3 * len(line) > 2 * width and following[:1].islower()
            total += len(line)
            prose += len(line) if is_wrapped or _is_sentence(line) else 0
    return 2 * prose >= total > 0


def _is_sentence(line: str) -> bool:
    """Whether a line by itself is no name."""
    words = len(line.split())
    ends = words >= _FEWEST_WORDS and line.endswith(_SENTENCE)
    return ends or words > _MOST_WORDS or len(line) > _LONGEST_NAME


def _paragraphs(file: files.Pathlike) -> Iterator[list[str]]:
    """Yield the lines of a text between blank ones, so many at most."""
    paragraph = list[str]()
    for _, line in files.read_lines(file):
        text = line.strip()
        if text:
            paragraph.append(text)
        if paragraph and (not text or len(paragraph) == _PARAGRAPH):
            check_wanted()
            yield paragraph
            paragraph = []
    if paragraph:
        yield paragraph
