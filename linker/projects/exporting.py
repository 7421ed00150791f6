"""What is written of a project: what came in with what became of it, and other formats."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath, PureWindowsPath
from typing import IO, Any, Literal, TextIO

from linker import files, outputs
from linker.decisions import exchange
from linker.decisions.store import DecisionStore
from linker.files import tables
from linker.files.tables import TableRow
from linker.formats import FORMATS
from linker.jobs import tables as linked_tables
from linker.jobs.linking import layout_of
from linker.linking.decided import Decided
from linker.linking.decisions import by_place, form_everywhere, predicate_in
from linker.linking.linker import Linker
from linker.outputs import Predicted, row_writer
from linker.projects import changes, linking, marks, sources
from linker.projects import store as rows
from linker.projects.groups import DECIDED
from linker.projects.store import Project, Source
from linker.text.mentions import Definitions, definitions_of
from linker.types import Document, Mention, Prediction, parse_spans

Form = Literal["own", "tsv", "jsonl", "pubtator", "bioc", "sssom"]
"""`own`: as what came in; `tsv`: a row for each mention, in which people may decide."""
AnyForm = Literal[Form, "decisions", "log"]
"""Also the decisions in force on the mentions of a project, and all that was done in it."""

_ENDINGS = {"pubtator": "pubtator.txt", "bioc": "bioc.xml", "sssom": "sssom.tsv"}
_WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_TABLES = {"xlsx": _WORKBOOK, "csv": "text/csv", "tsv": "text/tab-separated-values"}
_ZIP = "application/zip"
_OF_MENTION = ("document_id", "spans", "expanded")  # of a document
_REMARKS = ("flag", "note")
_FILLED_IN = ("state", "predicate", *_REMARKS)  # by people who review a table
_OF_DOCUMENT = "SELECT spans, type, answer FROM mentions WHERE project = ? AND document = ?"
_ANSWER = "SELECT prediction FROM answers WHERE id = ?"
_ANSWERS = (
    "SELECT place, text, type, form, prediction FROM mentions "
    "LEFT JOIN answers ON answers.id = answer WHERE source = ? ORDER BY mentions.id"
)


@dataclass(frozen=True, slots=True)
class Export:
    """A file that is to be written."""

    name: str
    media_type: str
    encoding: str | None  # of a text
    form: AnyForm


class Exporter:
    """Writes a project as it is now.

    Args:
        project: the project.
        connection: to the file.
        store: of the file.
        decided: the decisions in force.
        linker: whose dictionary the answers are of.
    """

    def __init__(
        self,
        project: Project,
        connection: sqlite3.Connection,
        store: DecisionStore,
        decided: Decided,
        linker: Linker,
    ) -> None:
        self._project, self._connection = project, connection
        self._store, self._decided, self._linker = store, decided, linker
        self._remarks = changes.remarks_of(connection, project.id)
        self._sources = rows.sources(connection, project.id)

    def described(self, form: AnyForm) -> Export:
        """The file of a format: its name, and what it is."""
        project, there = self._project, self._sources
        if form in ("decisions", "log"):
            name = f"{project.name}.{form}.tsv"
            return Export(name, _TABLES["tsv"], files.UTF8, form)
        if form != "own":
            name = f"{project.name}.{_ENDINGS.get(form, form)}"
            return Export(name, FORMATS[form].media_type, files.UTF8, form)
        if len(there) > 1:
            return Export(f"{project.name}.zip", _ZIP, None, form)
        (source,) = there
        return Export(*_own_name(project, source), form)

    def write(self, export: Export, file: IO[bytes]) -> None:
        """Write a file.

        Raises:
            LinkerError: the format cannot hold the project.
        """
        if export.form in ("decisions", "log"):
            with _text(file) as text:
                self._write_said(export.form, text)
        elif export.form == "tsv":
            self._write_rows(self._sources, file)
        elif export.form != "own":
            self._write_predictions(export.form, self._sources, file)
        elif export.media_type != _ZIP:
            self._write_own(self._sources[0], file)
        else:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, source in _apart(self._project, self._sources):
                    with archive.open(name, "w", force_zip64=True) as member:
                        self._write_own(source, member)

    def _write_said(self, form: AnyForm, text: TextIO) -> None:
        """Write what people said."""
        if form == "log":
            exchange.write_log(self._store, text, self._project.id)
            return
        forms, documents = linking.mentioned(self._connection, self._project.id)
        said = (
            decision
            for (form, scope), of_place in by_place(self._store.list()).items()
            if form in forms and (not scope or scope in documents)
            for decision in of_place
        )
        exchange.write(sorted(said, key=lambda d: d.id or 0), text)

    def _write_own(self, source: Source, file: IO[bytes]) -> None:
        """Write a file as it came in, with what became of its mentions."""
        if self._project.kind == "table":
            self._write_table(source, file)
        elif self._project.kind == "documents":
            self._write_predictions(_form_of(source), [source], file)
        elif source.format == "jsonl":
            self._write_predictions("jsonl", [source], file)
        else:
            self._write_rows([source], file)

    def _write_table(self, source: Source, file: IO[bytes]) -> None:
        content = rows.content(self._connection, source.id)
        known = sources.opened(content, source.name, source.column, source.encoding)
        table = known.table(source.column)
        answers = self._answers(source)
        names = tables.free_names(table.header, self._columns)
        added = _beside(table.rows(), answers, len(names), self._cells)
        if table.is_binary:
            table.write(file, names, added)
            return
        with _text(file) as text:
            table.write(text, names, added)

    def _write_rows(self, there: Sequence[Source], file: IO[bytes]) -> None:
        """Write a table with a row for each mention, in which people may decide."""
        of_document = _OF_MENTION if self._project.kind == "documents" else ()
        with _text(file) as text:
            write_row = row_writer(text)
            write_row(("mention", *of_document, *self._columns))
            for about, form, prediction in self._rows(there):
                write_row((*about, *self._cells(form, prediction)))

    def _rows(
        self, there: Sequence[Source]
    ) -> Iterator[tuple[Sequence[str], str, Prediction | None]]:
        """Yield what stands before the answer to each mention, its form, and the answer."""
        if self._project.kind == "documents":
            for document, predictions in self._documents(there, False):
                for p in predictions:
                    expanded = p.parts[0].expanded or ""
                    place = document.id if document else "", outputs.spans_text(p.mention)
                    form = form_everywhere(expanded or p.mention.text)
                    yield (p.mention.text, *place, expanded), form, p
            return
        for source in there:
            for _, form, mention, prediction in self._answers(source):
                yield (mention.text,), form, prediction

    def _write_predictions(self, form: str, there: Sequence[Source], file: IO[bytes]) -> None:
        has_documents = self._project.kind == "documents"
        layout = layout_of(form, has_documents, self._linker, True)
        is_whole = form in ("pubtator", "bioc")
        items = self._documents(there, is_whole) if has_documents else self._loose(there)
        with _text(file) as text:
            outputs.write(form, items, text, layout)

    def _documents(self, there: Sequence[Source], is_whole: bool) -> Iterator[Predicted]:
        """The documents of files with the answers for their mentions.

        Args:
            there: the files.
            is_whole: whether a document is written as a whole; else it is yielded with each of
                its answers. Ids that its file had stay in it, instead of an answer of the model,
                unless somebody decided who looked at it.
        """
        wanted = {source.id for source in there}
        marked = marks.of_project(self._connection, self._project.id)
        for stored in rows.documents(self._connection, self._project.id):
            if stored.source not in wanted:
                continue
            document = marks.marked(stored.document, marked.get(stored.number, ()))
            predictions = self._of_document(document, stored.number)
            if is_whole:
                yield (
                    document,
                    (p for p in predictions if p.mention.gold is None or p.state != "model"),
                )
            else:
                yield from ((document, [prediction]) for prediction in predictions)

    def _of_document(self, document: Document, number: int) -> Iterator[Prediction]:
        """Yield the answers for the mentions of a document; all at once may need much memory."""
        values, known = [self._project.id, number], dict[tuple[Any, str], int | None]()
        for spans, kind, answer in self._connection.execute(_OF_DOCUMENT, values):
            known[parse_spans(json.loads(spans)), kind] = answer
        definitions = definitions_of(document, self._linker.options.text)
        for mention in document.mentions:
            answer = known.get((mention.spans, mention.type))
            packed = None
            if answer is not None:
                ((packed,),) = self._connection.execute(_ANSWER, [answer])
            if prediction := self._prediction(packed, mention, document, definitions):
                yield prediction

    def _loose(self, there: Sequence[Source]) -> Iterator[Predicted]:
        """The answers for the mentions of tables and lists."""
        for source in there:
            for _, _, _, prediction in self._answers(source):
                if prediction:
                    yield None, [prediction]

    def _answers(self, source: Source) -> Iterator[tuple[int, str, Mention, Prediction | None]]:
        """Yield the place, the form and the answer of mentions of a table or list; None for one
        without answer."""
        for place, text, kind, form, packed in self._connection.execute(_ANSWERS, [source.id]):
            mention = Mention(text, type=kind)
            yield place, form, mention, self._prediction(packed, mention, None, Definitions())

    def _prediction(
        self,
        packed: bytes | None,
        mention: Mention,
        document: Document | None,
        definitions: Definitions,
    ) -> Prediction | None:
        """The answer for a mention, with decisions applied; None: nobody decided, and it is not
        linked, since it waits or is of another type."""
        prediction = linking.unpacked(packed, mention)
        ruling = self._decided.on_mention(mention, document, definitions)
        if ruling.by:
            linkable, k = self._linker.linkable, linking.CANDIDATES
            prediction = self._decided.apply(prediction, ruling, linkable, k=k)
        is_decided = prediction.state in DECIDED or ruling.is_in_bulk
        return None if packed is None and not is_decided else prediction

    @property
    def _columns(self) -> Sequence[str]:
        """The columns that are added to tables."""
        names = [*linked_tables.columns(sources=True, decisions=True), "predicate", *_REMARKS]
        return [f"{name}{exchange.FILL_IN}" if name in _FILLED_IN else name for name in names]

    def _cells(self, form: str, prediction: Prediction | None) -> Sequence[str]:
        """The cells of the columns that are added, for a mention of a form."""
        width = len(linked_tables.columns(sources=True, decisions=True))
        cells = list(linked_tables.cells(prediction))[:width]
        said = prediction.decisions if prediction and prediction.state == "accepted" else ()
        predicate = predicate_in(said)
        cells.append("" if predicate is None else predicate or "exact")
        return [*cells, *(self._remarks.get((form, kind), "") for kind in _REMARKS)]


def _own_name(project: Project, source: Source) -> tuple[str, str, str | None]:
    """The name of a file as it came in, its media type, and the encoding of a text."""
    stem = PureWindowsPath(source.name).name  # of either system
    for ending in (".pubtator.txt", ".bioc.xml", PurePath(stem).suffix):
        if ending and stem.endswith(ending):
            stem = stem.removesuffix(ending)
            break
    stem = f"{stem or project.name}.reviewed"
    if project.kind == "table":
        is_text = source.format != "xlsx"
        encoding = files.UTF8 if is_text else None
        return f"{stem}.{source.format}", _TABLES[source.format], encoding
    if project.kind == "list" and source.format != "jsonl":
        return f"{stem}.tsv", _TABLES["tsv"], files.UTF8
    form = "jsonl" if project.kind == "list" else _form_of(source)
    return f"{stem}.{_ENDINGS.get(form, form)}", FORMATS[form].media_type, files.UTF8


def _form_of(source: Source) -> str:
    """The format in which documents of a file come out."""
    return source.format if source.format in ("pubtator", "bioc") else "bioc"


def _apart(project: Project, there: Sequence[Source]) -> Iterator[tuple[str, Source]]:
    """The files of a project by names of which none is there twice."""
    taken = set[str]()
    for number, source in enumerate(there, 1):
        name = _own_name(project, source)[0]
        name = f"{number}.{name}" if name in taken else name
        taken.add(name)
        yield name, source


def _beside(
    table: Iterable[TableRow],
    answers: Iterator[tuple[int, str, Mention, Prediction | None]],
    width: int,
    cells: Any,
) -> Iterator[tuple[TableRow, Sequence[str]]]:
    """The rows of a table with the cells that are added; both are in the order of the rows."""
    following = next(answers, None)
    for row in table:
        if following is None or following[0] != row.number:
            yield row, [""] * width
            continue
        _, form, _, prediction = following
        yield row, cells(form, prediction)
        following = next(answers, None)


@contextlib.contextmanager
def _text(file: IO[bytes]) -> Iterator[io.TextIOWrapper]:
    """A file of bytes as one of text; it stays open."""
    text = io.TextIOWrapper(file, encoding=files.UTF8, newline="\n")
    try:
        yield text
        text.flush()
    finally:
        with contextlib.suppress(ValueError):
            text.detach()
