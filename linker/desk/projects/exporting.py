"""What is written of a project: what came in with what became of it, and other formats."""

from __future__ import annotations

import contextlib
import io
import json
import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath, PureWindowsPath
from typing import IO, Any, Literal, TextIO

from linker.desk.decisions import exchange
from linker.desk.decisions.store import DecisionStore
from linker.desk.projects import linking, marks, sources
from linker.desk.projects import store as rows
from linker.desk.projects.filters import DECIDED
from linker.desk.projects.queue import remarks_of
from linker.desk.projects.store import Project, Source
from linker.io import files, outputs
from linker.io import rows as tables
from linker.io.formats import FORMATS
from linker.io.outputs import Predicted, row_writer
from linker.io.rows import TableRow
from linker.jobs import tables as linked_tables
from linker.jobs.linking import layout_of
from linker.linking.decided import Decided
from linker.linking.decisions import by_place, form_everywhere, predicate_in
from linker.linking.linker import Linker
from linker.records import Document, Mention, Prediction, parse_spans
from linker.text.mentions import Definitions, definitions_of

Form = Literal["own", "plain", "tsv", "jsonl", "pubtator", "bioc", "sssom"]
"""`own`: as what came in; `plain`: a table with no more than the id, the name and the state of each
answer; `tsv`: a row for each mention, in which people may decide."""
AnyForm = Literal[Form, "decisions", "log"]
"""Also the decisions in force on the mentions of a project, and all that was done in it."""

_ENDINGS = {"pubtator": "pubtator.txt", "bioc": "bioc.xml", "sssom": "sssom.tsv"}
_TABLES = {
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
}
_ZIP = "application/zip"
_OF_MENTION = ("document_id", "spans", "expanded")  # of a document
_PLAIN = ("concept_id", "name", "state")
_REMARKS = ("flag", "note")
_FILLED_IN = ("state", "predicate", *_REMARKS)  # by people who review a table
_OF_DOCUMENT = "SELECT spans, type, answer FROM mentions WHERE project = ? AND document = ?"
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
        self._remarks = remarks_of(connection, project.id)
        self._sources = rows.sources(connection, project.id)
        self._has_documents = project.kind == "documents"
        broader = linker.has_broader
        layout = outputs.Layout(sources=True, decisions=True, beside=True, broader=broader)
        self._answer = linked_tables.columns(layout)
        names = [*self._answer, "predicate", *_REMARKS]
        self._columns = [f"{n}{exchange.FILL_IN}" if n in _FILLED_IN else n for n in names]

    def described(self, form: AnyForm) -> Export:
        """The file of a format: its name, and what it is."""
        name = self._project.name
        if form in ("decisions", "log"):
            return Export(f"{name}.{form}.tsv", _TABLES["tsv"], files.UTF8, form)
        if form not in ("own", "plain"):
            media = FORMATS[form].media_type
            return Export(f"{name}.{_ENDINGS.get(form, form)}", media, files.UTF8, form)
        if len(self._sources) > 1:
            return Export(f"{name}.zip", _ZIP, None, form)
        (source,) = self._sources
        name = self._own_name(source, form)
        kind = self._own_form(source, form)
        media = _TABLES.get(kind) or FORMATS[kind].media_type
        return Export(name, media, None if kind == "xlsx" else files.UTF8, form)

    def _own_form(self, source: Source, form: AnyForm) -> str:
        """The format in which a file comes out that is to be as it came in, or a plain table."""
        if self._project.kind == "table":
            return source.format
        if form == "plain":
            return "tsv"
        if self._has_documents:
            return source.format if source.format in ("pubtator", "bioc") else "bioc"
        return "jsonl" if source.format == "jsonl" else "tsv"

    def _own_name(self, source: Source, form: AnyForm) -> str:
        """The name of a file that is as it came in, or a plain table."""
        stem = PureWindowsPath(source.name).name  # of either system
        for ending in (".pubtator.txt", ".bioc.xml", PurePath(stem).suffix):
            if ending and stem.endswith(ending):
                stem = stem.removesuffix(ending)
                break
        kind = self._own_form(source, form)
        stage = "linked" if form == "plain" else "reviewed"
        return f"{stem or self._project.name}.{stage}.{_ENDINGS.get(kind, kind)}"

    def write(self, export: Export, file: IO[bytes]) -> None:
        """Write a file.

        Raises:
            LinkerError: the format cannot hold the project.
        """
        form = export.form
        if form in ("decisions", "log"):
            with _text(file) as text:
                self._write_said(form, text)
        elif form not in ("own", "plain"):
            self._write_form(form, self._sources, file)
        elif export.media_type != _ZIP:
            self._write_own(self._sources[0], file, form)
        else:
            taken = set[str]()
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                for number, source in enumerate(self._sources, 1):
                    name = self._own_name(source, form)
                    name = f"{number}.{name}" if name in taken else name
                    taken.add(name)
                    with archive.open(name, "w", force_zip64=True) as member:
                        self._write_own(source, member, form)

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

    def _write_own(self, source: Source, file: IO[bytes], form: AnyForm) -> None:
        """Write a file as it came in, with what became of its mentions, or a plain table."""
        if self._project.kind != "table":
            kind = form if form == "plain" else self._own_form(source, form)
            self._write_form(kind, [source], file)
            return
        content = rows.content(self._connection, source.id)
        known = sources.opened(content, source.name, source.column, source.encoding)
        table = known.table(source.column)
        names = tables.free_names(table.header, self._added(form))
        added = self._with_cells(table.rows(), source, form)
        with contextlib.nullcontext(file) if table.is_binary else _text(file) as f:
            table.write(f, names, added)

    def _with_cells(
        self, table: Iterator[TableRow], source: Source, form: AnyForm
    ) -> Iterator[tuple[TableRow, Sequence[str]]]:
        """The rows of a table with the cells that are added; answers are in their order."""
        answers = self._answers(source)
        following = next(answers, None)
        for row in table:
            if following is None or following[0] != row.number:
                yield row, [""] * len(self._added(form))
                continue
            _, mention_form, _, prediction = following
            yield row, self._cells(mention_form, prediction, form)
            following = next(answers, None)

    def _write_form(self, form: str, there: Sequence[Source], file: IO[bytes]) -> None:
        """Write files in a format; tsv is a table in which people may decide, plain is one without
        all that this needs."""
        with _text(file) as text:
            if form in ("tsv", "plain"):
                write_row = row_writer(text)
                of_document = _OF_MENTION if self._has_documents else ()
                write_row(("mention", *of_document, *self._added(form)))
                for about, mention_form, prediction in self._rows(there):
                    write_row((*about, *self._cells(mention_form, prediction, form)))
                return
            layout = layout_of(form, self._has_documents, self._linker, True)
            items = self._documents(there, form in ("pubtator", "bioc"))
            outputs.write(form, items if self._has_documents else self._loose(there), text, layout)

    def _rows(
        self, there: Sequence[Source]
    ) -> Iterator[tuple[Sequence[str], str, Prediction | None]]:
        """Yield what stands before the answer to each mention, its form, and the answer."""
        for document, predictions in self._documents(there, False) if self._has_documents else ():
            for p in predictions:
                expanded = p.parts[0].expanded or ""
                place = document.id if document else "", outputs.spans_text(p.mention)
                form = form_everywhere(expanded or p.mention.text)
                yield (p.mention.text, *place, expanded), form, p
        for source in () if self._has_documents else there:
            for _, form, mention, prediction in self._answers(source):
                yield (mention.text,), form, prediction

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
        ask, known = self._connection.execute, dict[tuple[Any, str], int | None]()
        for spans, kind, answer in ask(_OF_DOCUMENT, [self._project.id, number]):
            known[parse_spans(json.loads(spans)), kind] = answer
        definitions = definitions_of(document, self._linker.options.text)
        for mention in document.mentions:
            answer = known.get((mention.spans, mention.type))
            row = ask("SELECT prediction FROM answers WHERE id = ?", [answer]).fetchone()
            if prediction := self._prediction(row and row[0], mention, document, definitions):
                yield prediction

    def _loose(self, there: Sequence[Source]) -> Iterator[Predicted]:
        """The answers for the mentions of tables and lists."""
        for source in there:
            yield from ((None, [p]) for _, _, _, p in self._answers(source) if p)

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

    def _added(self, form: str) -> Sequence[str]:
        """The columns that a table of a format has behind what came in."""
        return _PLAIN if form == "plain" else self._columns

    def _cells(self, mention_form: str, prediction: Prediction | None, form: str) -> Sequence[str]:
        """The cells of these columns, for a mention."""
        if form == "plain":
            return _plain_cells(prediction)
        every = zip(linked_tables.COLUMNS, linked_tables.cells(prediction), strict=True)
        cells = [cell for name, cell in every if name in self._answer]
        said = (
            prediction.decisions if prediction and prediction.state in ("accepted", "open") else ()
        )
        predicate = predicate_in(said)
        cells.append("" if predicate is None else predicate or "exact")
        return [*cells, *(self._remarks.get((mention_form, kind), "") for kind in _REMARKS)]


def _plain_cells(prediction: Prediction | None) -> Sequence[str]:
    """The id and the name of an answer, and its state, with what the text says of the mention where
    it does not name it as present.

    Of a part on which nobody decided, beside decided ones, the id is `?`, and no name is given.
    """
    if prediction is None:
        return ["", "", ""]
    parts = [replace(part, nil=part.nil or part.is_open) for part in prediction.parts]
    prediction = replace(prediction, parts=tuple(parts))
    by_name = dict(zip(linked_tables.COLUMNS, linked_tables.cells(prediction), strict=True))
    state = by_name["state"]
    if prediction.assertion != "present":
        state = f"{state}, {prediction.assertion}"
    return [by_name["concept_id"], by_name["name"], state]


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
