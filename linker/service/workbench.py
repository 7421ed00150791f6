"""Workbench: the projects of a service, their queues in memory, and what is linked for them."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cachetools import LRUCache

from linker.decisions.store import DecisionStore, releases
from linker.errors import LinkerError
from linker.linking.decided import Decided
from linker.projects import linking
from linker.projects import store as rows
from linker.projects.linking import Batch
from linker.projects.queue import Queue
from linker.projects.store import Missing, Origin, Project, StoredDocument
from linker.service.errors import Failure
from linker.service.state import Model, Service

logger = logging.getLogger(__name__)

_QUEUES = 16  # of projects that are kept in memory
_DOCUMENTS = 4  # in which mentions are found before others have their turn
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

    def start(self) -> None:
        """Begin to link what waits in projects."""
        self._linking = asyncio.create_task(self._link_all())
        self._work.set()

    async def close(self) -> None:
        """Stop linking; what waits is linked at the next start."""
        self._linking.cancel()
        await asyncio.gather(self._linking, return_exceptions=True)

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
        self, number: int, function: Ask[_Result], *, is_hurried: bool = False
    ) -> _Result:
        """Call what asks the queue of a project, which is as the file is now.

        Args:
            number: of the project.
            function: is given the queue, and a connection to the file.
            is_hurried: whether mentions and answers may be those of before.

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
                with kept.lock:
                    kept.queue.refresh(connection, decided, is_hurried=is_hurried)
                    return function(kept.queue, connection)

        return await asyncio.to_thread(call)

    async def take(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call what stores a file, whose mentions are linked then, also where nobody waits for it
        any more."""

        async def take() -> _Result:
            result = await self._service.write(function, *args)
            self.wake()
            return result

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

    async def _link_all(self) -> None:
        """Link what waits in projects, a little of each in turn."""
        while True:
            await self._work.wait()
            self._work.clear()
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

        def read(
            connection: sqlite3.Connection,
        ) -> tuple[str, list[StoredDocument], Batch | None]:
            project = rows.project(connection, number)
            if project.origin != origin:
                return "", [], None
            documents = rows.unsearched(connection, number, _DOCUMENTS)
            batch = None if documents else linking.pending(connection, project)
            return project.type, documents, batch

        kind, documents, batch = await self.read(read)
        if documents:
            run, annotator = self._service.run, model.annotator
            found = [await run(linking.search, annotator, d, kind) for d in documents]

            def write() -> None:
                with self.store.transaction() as connection:
                    rows.keep_found(connection, number, found)

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
