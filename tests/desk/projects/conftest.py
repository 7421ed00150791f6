"""A desk: projects of a file, with what a reviewer does in them, without a service."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.desk.decisions.store import DecisionStore, Step
from linker.desk.projects import (
    changes,
    intake,
    linking,
    sources,
)
from linker.desk.projects import store as rows
from linker.desk.projects.exporting import Exporter
from linker.desk.projects.filters import Filter
from linker.desk.projects.intake import Session, Stored
from linker.desk.projects.queue import Queue
from linker.desk.projects.store import Origin
from linker.linking.decided import Decided
from linker.records import Decision

ORIGIN = Origin("model", "release")
FILL_IN = "{} (fill in)"


@pytest.fixture(scope="session")
def linker(sample_linker: Linker) -> Linker:
    return sample_linker


class Desk:
    """The projects of a file."""

    def __init__(self, store: DecisionStore, linker: Linker) -> None:
        self.store, self.linker = store, linker
        self.queues: dict[int, Queue] = {}
        self.session = Session(linker, ORIGIN, "Bob")

    @property
    def decided(self) -> Decided:
        return Decided([], self.linker).after(self.store)

    def reading(self, number: int = 1) -> Any:
        if number not in self.queues:
            self.queues[number] = Queue(self.store, number, self.linker)
        return self.queues[number].reading(self.decided)

    def read(
        self, content: str | bytes, file: str, column: str | None, encoding: str | None, number: int
    ) -> sources.Content:
        with self.store.reading() as connection:
            known = [source.column for source in rows.sources(connection, number)]
        content = content.encode(encoding or "utf-8") if isinstance(content, str) else content
        return sources.read(content, file, column, encoding, 10**6, known)

    def create(
        self,
        content: str | bytes,
        file: str = "list.csv",
        column: str | None = None,
        encoding: str | None = None,
        kind: str | None = None,
    ) -> Stored:
        read = self.read(content, file, column, encoding, 0)
        said = intake.reviewed_in(read, self.session)
        with self.store.reading() as connection:
            name = f"{file}{len(rows.projects(connection))}"
        stored = intake.create(self.store, read, said, self.session, name, kind)
        assert list(linking.link(self.store, stored.number, self.linker))[-1] == 1
        return stored

    def add(
        self,
        content: str | bytes,
        file: str = "back.csv",
        column: str | None = None,
        encoding: str | None = None,
        number: int = 1,
        again: bool = False,
    ) -> Stored:
        read = self.read(content, file, column, encoding, number)
        said = intake.reviewed_in(read, self.session)
        stored = intake.add(self.store, number, read, said, "Bob", again=again)
        assert list(linking.link(self.store, number, self.linker))[-1] == 1
        return stored

    def rows(self, number: int = 1, sort: Any = "document", **wanted: Any) -> list[dict[str, Any]]:
        with self.reading(number) as queue:
            return list(queue.page(Filter(**wanted), sort)["rows"])

    def row(self, mention: str, number: int = 1) -> dict[str, Any]:
        return next(row for row in self.rows(number) if row["mention"] == mention)

    def decide(
        self,
        mention: str,
        concept: str | None,
        reviewer: str = "Ada",
        number: int = 1,
        **said: Any,
    ) -> None:
        key = self.row(mention, number)["key"]
        where = {
            name: said.pop(name) for name in ("here", "document", "as_written") if name in said
        }
        said |= {"reviewer": reviewer, "model": ORIGIN.model, "release": ORIGIN.release}
        with self.reading(number) as queue:
            decision = changes.decision_on(queue, key, Decision("", concept or "", **said), **where)
        self.store.add([decision], Step("said", reviewer, number))

    def accept(self, number: int = 1, reviewer: str = "Ada", **wanted: Any) -> dict[str, Any]:
        with self.reading(number) as queue:
            figures, made = changes.acceptance(queue, Filter(**wanted), None, reviewer, ORIGIN)
        self.store.add(made, Step("accepted", reviewer, number))
        return figures

    def remark(self, mention: str, kind: Any, value: str, before: str | None = None) -> None:
        with self.reading() as queue:
            form = queue.row(self.row_key(queue, mention)).form
        changes.remark(self.store, Step("remarked", "Ada", 1), (form, kind, value), before)

    @staticmethod
    def row_key(queue: Queue, mention: str) -> str:
        rows = queue.page(Filter(), "document")["rows"]
        return str(next(row["key"] for row in rows if row["mention"] == mention))

    def export(self, form: Any = "own", number: int = 1) -> bytes:
        with self.store.reading() as connection:
            project = rows.project(connection, number)
            exporter = Exporter(project, connection, self.store, self.decided, self.linker)
            file = io.BytesIO()
            exporter.write(exporter.described(form), file)
        return file.getvalue()

    def table(self, number: int = 1, form: Any = "own") -> tuple[list[str], list[dict[str, str]]]:
        """The table that is exported, with short names of the columns that people fill in."""
        delimiter = "\t" if form == "tsv" else ","
        text = self.export(form, number).decode()
        header, *lines = csv.reader(io.StringIO(text), delimiter=delimiter)
        short = [title.removesuffix(FILL_IN.format("")) for title in header]
        return header, [dict(zip(short, line, strict=True)) for line in lines]

    @staticmethod
    def written(header: list[str], lines: list[dict[str, str]]) -> str:
        file = io.StringIO()
        csv.writer(file).writerows([header, *(line.values() for line in lines)])
        return file.getvalue()


@pytest.fixture
def desk(tmp_path: Path, linker: Linker) -> Iterator[Desk]:
    with DecisionStore(tmp_path / "decisions.sqlite") as store:
        made = Desk(store, linker)
        yield made
        for queue in made.queues.values():
            queue.close()
