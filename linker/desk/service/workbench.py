"""Workbench: the projects of a service, their queues, and what is linked for them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Annotated, Any, TypeVar

from cachetools import LRUCache
from fastapi import Depends, Request

from linker.desk.decisions.store import DecisionStore, releases
from linker.desk.projects import linking
from linker.desk.projects import store as rows
from linker.desk.projects.linking import Batch
from linker.desk.projects.queue import Queue
from linker.desk.projects.store import Missing, Origin, Project
from linker.desk.service.errors import Failure
from linker.desk.service.state import Model, Service
from linker.errors import LinkerError
from linker.io import rows as tables
from linker.io.files import OpenFile
from linker.linking.decided import Decided

logger = logging.getLogger(__name__)

_QUEUES = 16  # of projects that are kept in memory, of large ones fewer:
_MENTIONS = 600_000  # that they have together; 200,000 rows take some 130 MB
_SMALL_FILE = 100_000  # bytes of a file that others need not wait for: some 10,000 rows
_PAUSE = 10.0  # seconds after which what failed is tried again

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Kept:
    """A queue that is kept in memory."""

    queue: Queue
    model: Model  # that it is made for
    mentions: int  # that it counts for among the others


def _weight(mentions: int) -> int:
    """What a queue of so many mentions counts for among the others."""
    return min(max(mentions, _MENTIONS // _QUEUES), _MENTIONS)


class Workbench:
    """The projects of a service; use it inside its event loop.

    Args:
        service: with a file of decisions.
        store: the file.
    """

    def __init__(self, service: Service, store: DecisionStore) -> None:
        self.service, self.store = service, store
        self._queues: LRUCache[int, _Kept] = LRUCache(_MENTIONS, lambda kept: kept.mentions)
        self._opening = threading.Lock()  # held by who looks for a queue
        self._problems: dict[int, str] = {}  # why projects are not linked
        self._work = asyncio.Event()
        self._deleted = asyncio.Event()
        self._large = asyncio.Lock()  # held by who reads a large file

    def start(self) -> None:
        """Begin to link what waits in projects."""
        self._linking = asyncio.create_task(self._link_all())
        self._cleaning = asyncio.create_task(self._clean())
        self._work.set()

    async def close(self) -> None:
        """Stop linking; what waits is linked at the next start."""
        self._linking.cancel()
        self._cleaning.cancel()
        await asyncio.gather(self._linking, self._cleaning, return_exceptions=True)
        for kept in self._queues.values():
            kept.queue.close()

    @property
    def origin(self) -> Origin:
        """What answers are made by now."""
        model = self.service.model
        return Origin(model.fingerprint, releases(model.linker.dictionary))

    def described(self, project: Project) -> dict[str, Any]:
        """What a project is, without its figures."""
        now, problem = self.origin, self._problems.get(project.id)
        if project.origin != now:
            problem = (
                "its answers are of another model than that of the service, or of the dictionary "
                f"of {project.origin.release}; link it anew"
            )
        return {
            "id": project.id,
            "name": project.name,
            "kind": project.kind,
            "type": project.type,
            "created": project.created,
            "problem": problem,  # why its answers are not what they should be
            "outdated": project.origin != now,  # so that linking it anew helps
        }

    def summed(self, queue: Queue) -> dict[str, Any]:
        """How far a project is."""
        said, expected = self.described(queue.project) | queue.summary(), queue.expected()
        return said | {
            "linked": linking.share(queue.connection, queue.project),
            # of the model that gave the answers
            "expected": asdict(expected) if expected and not said["outdated"] else None,
        }

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
        return await self.service.decided() or Decided([], self.service.linker)

    async def ask(
        self, number: int, function: Callable[[Queue], _Result], *, is_hurried: bool = False
    ) -> _Result:
        """Call what asks the queue of a project, which is as the file is now.

        Args:
            number: of the project.
            function: is given the queue.
            is_hurried: whether mentions and answers may be those of before.

        Raises:
            Missing: there is no such project.
        """
        model = self.service.model
        decided = await self.decided()

        def call() -> _Result:
            with self._opening:
                queue = self._queue(number, model)
            with queue.reading(decided, is_hurried=is_hurried):
                result = function(queue)
                mentions = queue.mentions
            with self._opening:
                self._weigh(number, queue, mentions)
            return result

        return await asyncio.to_thread(call)

    def _queue(self, number: int, model: Model) -> Queue:
        """The queue of a project, which is kept for the next one who asks; others may go for it."""
        kept = self._queues.get(number)
        if kept is None or kept.model is not model:
            queue = Queue(self.store, number, model.linker)
            with self.store.reading(queue.connection) as connection:
                mentions = rows.count_mentions(connection, number)
            kept = self._queues[number] = _Kept(queue, model, _weight(mentions))
        return kept.queue

    def _weigh(self, number: int, queue: Queue, mentions: int) -> None:
        """Count a queue for what it has now, where files were added since; others may go for it."""
        kept = self._queues.get(number)
        if kept is not None and kept.queue is queue and kept.mentions != _weight(mentions):
            self._queues[number] = replace(kept, mentions=_weight(mentions))

    async def take(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call what writes, and link then what waits, also where nobody waits for it any more."""

        async def take() -> _Result:
            result = await self.service.write(function, *args)
            self._work.set()
            return result

        return await asyncio.shield(take())

    async def take_file(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call what stores a file in batches, and link its mentions then, also where nobody waits
        for it any more; it ends when the process is told to stop.

        Args:
            function: is given the arguments, and `write`, which calls functions that write.
            args: the arguments.
        """

        async def take() -> _Result:
            call = partial(function, *args, write=self.service.write_in_thread)
            result = await self.service.run_until_end(call)
            self._work.set()
            return result

        return await asyncio.shield(take())

    @contextlib.asynccontextmanager
    async def turn(self, file: OpenFile, size: int) -> AsyncIterator[None]:
        """Wait until a file may be read: those that may have many rows are read and stored one
        after the other, and so are workbooks, which unpack to far more than their bytes.

        Args:
            file: that is to be read.
            size: of the file, in bytes.
        """
        is_large = size > _SMALL_FILE or tables.is_workbook(file)
        async with self._large if is_large else contextlib.nullcontext():
            yield

    # linking

    async def relink(self) -> None:
        """Link the projects of the present dictionary anew, after the model has learnt."""
        for project in await self.read(rows.projects):
            if project.origin.release == self.origin.release:
                await self.take(rows.relink, self.store, project.id, self.origin)

    async def link_document(self, number: int, document: int) -> None:
        """Link the mentions of a document that have no answer, or soon where much waits."""
        model, batch = await self._next(number, document)
        if batch:
            try:
                await self._store_answers(batch, model, behind=False)
            except Failure:  # what was marked is kept
                self._work.set()

    async def _next(self, number: int, document: int | None) -> tuple[Model, Batch | None]:
        """What of a project waits, and the model for it; see `linking.pending`."""
        model, origin = self.service.model, self.origin

        def read(connection: sqlite3.Connection) -> Batch | None:
            project = rows.project(connection, number)
            is_of_this = project.origin == origin  # else it waits until it is linked anew
            if not is_of_this:
                return None
            return linking.pending(connection, project, model.linker, document)

        return model, await self.read(read)

    async def delete(self, number: int) -> None:
        """Delete a project, and have what it holds removed.

        Raises:
            Missing: there is no such project.
        """
        await self.service.write(rows.delete, self.store, number)
        self._deleted.set()

    async def _clean(self) -> None:
        """Remove what is left of projects that were deleted, and now and then of files that nobody
        stores any more."""
        write = self.service.write_in_thread
        while True:
            self._deleted.clear()
            with contextlib.suppress(Failure, LinkerError):  # it is not shown, and is tried again
                await self.service.run_until_end(rows.remove_unfinished, self.store, write)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._deleted.wait(), rows.STALE)

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
            model, batch = await self._next(number, None)
            if batch and batch.documents:
                run, kind = self.service.run, batch.project.type
                found = [
                    await run(linking.search, model.annotator, d, kind) for d in batch.documents
                ]
                await self.service.write(rows.keep_found, self.store, number, found)
            elif batch:
                await self._store_answers(batch, model, behind=True)
        except Missing:  # it was deleted
            return False
        except (Failure, LinkerError) as error:
            self._problems[number] = str(getattr(error, "detail", error))
            logger.warning("project %d is not linked: %s", number, self._problems[number])
            asyncio.get_running_loop().call_later(_PAUSE, self._work.set)
            return False
        self._problems.pop(number, None)
        return batch is not None

    async def _store_answers(self, batch: Batch, model: Model, *, behind: bool) -> None:
        """Link the mentions of a batch, and store the answers."""
        linked = await self.service.answer_plainly(model, batch.requests, behind=behind)
        answers = await asyncio.to_thread(linking.answered, batch, linked, model.linker)
        await self.service.write(linking.keep, self.store, batch.project, answers)


def _workbench(request: Request) -> Workbench:
    workbench: Workbench = request.app.state.workbench
    return workbench


Desk = Annotated[Workbench, Depends(_workbench)]
"""The workbench of the service, in the parameters of a route."""
