"""Workbench: the projects of a service, their queues in memory, and what is linked for them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cachetools import LRUCache

from linker.decisions.applying import Decided
from linker.decisions.records import releases
from linker.decisions.steps import Step
from linker.decisions.store import DecisionStore
from linker.errors import LinkerError
from linker.projects import changes, linking
from linker.projects import store as rows
from linker.projects.linking import Batch
from linker.projects.queue import Queue
from linker.projects.store import Missing, Origin, Project, StoredDocument
from linker.service.errors import Failure
from linker.service.state import PIECE, Model, Service

logger = logging.getLogger(__name__)

_QUEUES = 16  # of projects that are kept in memory
_DOCUMENTS = 4  # in which mentions are found before others have their turn
_BREATH = 0.001  # seconds in which others may ask a queue that takes up much
_PAUSE = 10.0  # seconds after which what failed is tried again

_Result = TypeVar("_Result")
Ask = Callable[[Queue, sqlite3.Connection], _Result]


@dataclass(slots=True, eq=False)
class _Kept:
    """A queue, with the model that it was made for."""

    queue: Queue
    model: Model
    lock: threading.Lock = field(default_factory=threading.Lock)


class Workbench:
    """The projects of a service; use it inside its event loop.

    Args:
        service: with a file of decisions.
        store: the file.
    """

    def __init__(self, service: Service, store: DecisionStore) -> None:
        self._service, self.store = service, store
        self._queues: LRUCache[int, _Kept] = LRUCache(_QUEUES)
        self._problems: dict[int, str] = {}  # why projects are not linked
        self._work = asyncio.Event()
        self.importing = asyncio.Lock()  # held from when it is seen what is new until it is stored
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to link what waits in projects, and read the one that somebody will open first."""
        self._tasks = [
            asyncio.create_task(self._read_last()),
            asyncio.create_task(self._link_all()),
        ]
        self._work.set()

    async def close(self) -> None:
        """Stop linking; what waits is linked at the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def wake(self) -> None:
        """Link what has come."""
        self._work.set()

    @property
    def origin(self) -> Origin:
        """What answers are made by now."""
        model = self._service.model
        return Origin(model.fingerprint, releases(model.linker.dictionary))

    def problem(self, project: Project) -> str | None:
        """Why the answers of a project are not what they should be; None: they are."""
        now = self.origin
        if project.origin.release != now.release:
            return (
                f"its answers are of the dictionary of {project.origin.release}, and the service "
                f"has that of {now.release}; link it anew"
            )
        if project.origin.model != now.model:
            return "its answers are of another model than that of the service; link it anew"
        return self._problems.get(project.id)

    def described(self, project: Project) -> dict[str, Any]:
        """What a project is, without its figures."""
        return {
            "id": project.id,
            "name": project.name,
            "kind": project.kind,
            "type": project.type,
            "created": project.created,
            "problem": self.problem(project),
            "outdated": project.origin != self.origin,  # so that linking it anew helps
        }

    def summed(self, queue: Queue, connection: sqlite3.Connection) -> dict[str, Any]:
        """How far a project is."""
        linked = linking.share(connection, queue.project)
        return self.described(queue.project) | queue.summary() | {"linked": linked}

    async def summary(self, number: int) -> dict[str, Any]:
        """How far a project is, as it is now.

        Raises:
            Missing: there is no such project.
        """
        return await self.ask(number, self.summed)

    # reading and writing

    async def read(self, function: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Call what reads the file."""

        def call() -> _Result:
            with self.store.reading() as connection:
                return function(connection)

        return await asyncio.to_thread(call)

    async def decided(self) -> Decided:
        """The decisions in force."""
        return await self._service.decided() or Decided([], self._service.linker)

    async def ask(
        self, number: int, function: Ask[_Result], only: Collection[str] | None = None
    ) -> _Result:
        """Call what asks the queue of a project, which is as the file is now.

        Args:
            number: of the project.
            function: is given the queue, and a connection to the file.
            only: forms whose rows have to be as the file is; others may be from before. None: all.

        Raises:
            Missing: there is no such project.
        """
        model = self._service.model
        decided = await self.decided()

        def call() -> _Result:
            with self.store.reading() as connection:
                project = rows.project(connection, number)
                kept = self._queues.get(number)
                is_same = kept and kept.model is model and kept.queue.project == project
                if kept is None or not is_same:
                    kept = _Kept(Queue(project, model.linker), model)
                    self._queues[number] = kept
                while True:
                    with kept.lock:
                        is_all = kept.queue.refresh(connection, decided, only or ())
                        if is_all or (only is not None and kept.queue.is_made):
                            return function(kept.queue, connection)
                    time.sleep(_BREATH)  # who waits for the lock has it now

        return await asyncio.to_thread(call)

    async def write_all(self, steps: Iterator[int]) -> int:
        """Take all steps of what writes the file in several transactions; others may come between.

        They are taken to their end, also where nobody waits for it any more.

        Returns:
            What the last step yielded.
        """

        async def take() -> int:
            last = 0
            while (value := await self._service.write(next, steps, None)) is not None:
                last = value
            self.wake()
            return last

        return await asyncio.shield(take())

    async def undo(self, number: int, reviewer: str) -> tuple[Step, list[str]] | None:
        """Undo the last step of a reviewer in a project, as `changes.undo` does.

        Many decisions are withdrawn in pieces, as `Service.add` stores them: a process that ends
        between two leaves a step that can be undone again.
        """

        async def take() -> tuple[Step, list[str]] | None:
            of = None
            while True:
                asked = self.store, number, reviewer, of, PIECE
                undone = await self._service.write(changes.undo, *asked)
                if undone is None and of is not None:  # somebody else ended it: undo the one before
                    of = None
                    continue
                if undone is None or undone[0].undone:
                    return undone
                of = undone[0].id
                await self.decided()

        return await asyncio.shield(take())

    # linking

    async def relink(self) -> None:
        """Link the projects of the present dictionary anew, after the model has learnt."""
        for project in await self.read(rows.projects):
            if project.origin.release == self.origin.release:
                await self._service.write(rows.renewed, self.store, project.id, self.origin)
        self.wake()

    async def link_document(self, number: int, document: int) -> None:
        """Link the mentions of a document that have no answer, or soon where much waits."""
        model = self._service.model

        def read(connection: sqlite3.Connection) -> Batch | None:
            project = rows.project(connection, number)
            is_of_this = project.origin == self.origin  # else it waits until it is linked anew
            return linking.pending(connection, project, document) if is_of_this else None

        if batch := await self.read(read):
            try:
                await self._store_answers(batch, model, behind=False)
            except Failure:  # what was marked is kept
                self.wake()

    async def _read_last(self) -> None:
        """Read the project in which somebody decided last, since it will be opened first."""
        with contextlib.suppress(LinkerError):  # whoever opens it is told what is wrong
            if last := await self.read(rows.last):
                await self.ask(last.id, lambda queue, _: queue.columns)

    async def _link_all(self) -> None:
        """Link what waits in projects, a little of each in turn."""
        with contextlib.suppress(Failure, LinkerError):
            for number in await self.read(rows.leftovers):
                await self.write_all(rows.deleted(self.store, number))
        asyncio.get_running_loop().call_later(rows.SILENT.total_seconds() + 1, self._work.set)
        while True:
            await self._work.wait()
            self._work.clear()
            with contextlib.suppress(Failure, LinkerError):
                for source in await self.read(rows.unfinished):
                    await self.write_all(rows.removed(self.store, source))
            waiting = [project.id for project in await self.read(rows.projects)]
            while waiting:
                waiting = [number for number in waiting if await self._link_some(number)]

    async def _link_some(self, number: int) -> bool:
        """Link a little of a project; whether more of it may wait."""
        try:
            more = await self._link_next(number)
        except Missing:  # it was deleted
            return False
        except (Failure, LinkerError) as error:
            self._problems[number] = str(getattr(error, "detail", error))
            logger.warning("project %d is not linked: %s", number, self._problems[number])
            asyncio.get_running_loop().call_later(_PAUSE, self._work.set)
            return False
        self._problems.pop(number, None)
        return more

    async def _link_next(self, number: int) -> bool:
        model, origin = self._service.model, self.origin

        def read(connection: sqlite3.Connection) -> tuple[list[StoredDocument], Batch | None]:
            project = rows.project(connection, number)
            if project.origin != origin:
                return [], None
            documents = rows.unsearched(connection, number, _DOCUMENTS)
            return documents, None if documents else linking.pending(connection, project)

        documents, batch = await self.read(read)
        if documents:
            kept = [await self._service.run(linking.search, model.annotator, d) for d in documents]

            def write() -> None:
                with self.store.transaction() as connection:
                    linking.keep_found(connection, number, documents, kept)

            await self._service.write(write)
        elif batch:
            await self._store_answers(batch, model, behind=True)
        return bool(documents or batch)

    async def _store_answers(self, batch: Batch, model: Model, *, behind: bool) -> None:
        """Link the mentions of a batch, and store the answers."""
        linked = await self._service.answer_plainly(model, batch.requests, behind=behind)
        answers = await asyncio.to_thread(linking.answered, batch, linked, model.linker)

        def write() -> None:
            with self.store.transaction() as connection:
                linking.keep(connection, batch.project, answers)

        await self._service.write(write)
