"""GET, POST and DELETE /training, POST /training/take: the model learns what people decided.

A training runs in a process of its own, `linker review learn`, which writes MODEL.next. A person
takes that model: it gets the place of MODEL, and the model that has learnt no decision is kept as
MODEL.before, from which every later training starts. What the page shows is kept in
MODEL.learning.json, so that it is there after a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI

from linker import files, persistence
from linker.decisions.exchange import taught
from linker.errors import LinkerError
from linker.files import replacing
from linker.jobs.linking import model_hash
from linker.projects import marks
from linker.projects.learning import FEWEST_DOCUMENTS
from linker.service.callers import ReviewerName
from linker.service.errors import ERRORS, Failure
from linker.service.schemas import Body
from linker.service.state import Service, aside
from linker.service.workbench import Workbench

logger = logging.getLogger(__name__)

_POLITE = 10  # by how much a training gives way to those who link
_PATIENCE = 5.0  # seconds to end, after which a training is killed
_CUT_OFF = "the service stopped during the training; start it again"

State = dict[str, Any]


class Start(Body):
    """Who wants a training."""

    reviewer: ReviewerName


def router(service: Service, workbench: Workbench) -> APIRouter:
    """The routes of learning."""
    training = Training(service, workbench)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await training.close()

    routes = APIRouter(prefix="/training", tags=["learning"], responses=ERRORS, lifespan=lifespan)

    @routes.get("")
    async def state() -> State:
        """How the training stands, and how many decisions there are to learn."""
        return await training.shown()

    @routes.post("", status_code=201)
    async def start(body: Start) -> State:
        """Let the model learn the decisions in force, beside the one that answers."""
        await asyncio.shield(training.start(body.reviewer))  # also where the client leaves
        return await training.shown()

    @routes.delete("")
    async def cancel() -> State:
        """End the training, or throw away what it made."""
        await asyncio.shield(training.cancel())
        return await training.shown()

    @routes.post("/take")
    async def take() -> State:
        """Answer with the new model from now on."""
        await asyncio.shield(training.take())
        return await training.shown()

    return routes


class Training:
    """The trainings of a service, one at a time.

    Args:
        service: whose model learns.
        workbench: has the decisions, and projects that are linked anew.
    """

    def __init__(self, service: Service, workbench: Workbench) -> None:
        self._service, self._workbench = service, workbench
        model = Path(service.settings.model).absolute()
        self._model, self._next, self._before, self._file = (
            model.with_name(model.name + end) for end in ("", ".next", ".before", ".learning.json")
        )
        self._record: State = {}
        self._restore()
        self._process: asyncio.subprocess.Process | None = None
        self._following: asyncio.Task[None] | None = None
        self._is_cancelled = self._is_closed = False
        self._changing = asyncio.Lock()  # held by who starts, ends or takes

    async def shown(self) -> State:
        """What the page shows: how the training stands, and how many decisions can be learnt."""
        learnable = await self._learnable()
        learnt = self._record.get("taken", {}).get("decisions", 0)
        complete = await self._workbench.read(marks.complete)
        counts = {"learnable": learnable, "learnt": learnt, "complete": complete}
        return {**self._training, **counts, "complete_needed": FEWEST_DOCUMENTS}

    @property
    def _training(self) -> State:
        """How the latest training stands."""
        training: State = self._record.get("training", {"state": "none"})
        return training

    @property
    def _is_running(self) -> bool:
        return self._following is not None and not self._following.done()

    async def start(self, reviewer: str) -> None:
        """Start a training.

        Raises:
            Failure: one is running, there is nothing to learn, or nothing can be written.
        """
        async with self._changing:
            if self._is_running:
                who = self._training["reviewer"] or "somebody"
                raise Failure(409, f"the training that {who} started goes on; wait, or cancel it")
            if not await self._learnable():
                raise Failure(409, "there is nothing to learn: no decision is accepted everywhere")
            folder = self._model.parent
            if not os.access(folder, os.W_OK) or folder.name == "snapshots":  # of a cache of models
                raise Failure(
                    409, f"no model can be written beside {self._model}; copy it elsewhere"
                )
            try:
                base, known, checksum = await asyncio.to_thread(self._base)
            except LinkerError as error:
                raise Failure(409, str(error)) from None
            command = [sys.executable, "-m", "linker.cli", "review", "learn", "--format", "json"]
            command += ["--decisions", str(self._workbench.store.path), "--model", str(base)]
            command += ["--known", str(known), "-o", str(self._next)]
            silent = asyncio.subprocess.DEVNULL
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=silent,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            with contextlib.suppress(OSError, AttributeError):  # Windows has no such call
                os.setpriority(os.PRIO_PROCESS, self._process.pid, _POLITE)
            self._is_cancelled = False
            begun = {"what": "loading the model", "share": 0.0, "reviewer": reviewer}
            await self._keep({"state": "running", **begun, "base": checksum})
            self._following = asyncio.create_task(self._follow(self._process))

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        """Take what a training tells, until it ends."""
        told, complaints = process.stdout, process.stderr
        assert told is not None  # noqa: S101 - pipes were asked for
        assert complaints is not None  # noqa: S101
        complaint = asyncio.create_task(complaints.read())
        try:
            async for line in told:
                self._record["training"] |= json.loads(line)
            said = (await complaint).decode(errors="replace")
            ended = await asyncio.to_thread(self._ended, await process.wait(), said)
        finally:
            complaint.cancel()
        if not self._is_closed:
            await self._keep({**self._training, **ended})

    def _ended(self, code: int, said: str) -> State:
        """How a training ended, by the exit code and what was said last."""
        if self._is_cancelled:
            return {"state": "cancelled"}
        if code == 0:
            return {"state": "done", "model": model_hash(str(self._next))}
        lines = [line.strip().removeprefix("linker: ") for line in said.splitlines()]
        why = next(filter(None, reversed(lines)), f"its process ended with {code}")
        if code < 0:
            name = signal.Signals(-code).name
            why = f"its process was ended by {name}, perhaps since memory was short"
        return {"state": "failed", "error": why}

    async def cancel(self) -> None:
        """End the training that runs; else forget the last one, and remove what it made."""
        async with self._changing:
            if self._is_running:
                self._is_cancelled = True
                await self._end()
            elif self._training["state"] != "none":
                await asyncio.to_thread(shutil.rmtree, self._next, ignore_errors=True)
                await self._keep(None)

    async def _end(self) -> None:
        """End the process of a training, and wait for what that changes."""
        if self._process is None or self._following is None or not self._is_running:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._following), _PATIENCE)
                return
            self._process.kill()
        await self._following

    async def close(self) -> None:
        """End the training with the service; its record goes on to say that it is running."""
        self._is_closed = True
        await self._end()

    async def take(self) -> None:
        """Give the new model the place of the old one, and answer with it.

        Raises:
            Failure: there is no new model, or it cannot be used; the old one stays then.
        """
        async with self._changing:
            if self._training["state"] != "done":
                raise Failure(409, "there is no new model; train one first")
            try:
                await asyncio.to_thread(self._put)
                try:
                    await self._service.reload()
                    await asyncio.to_thread(self._settle)
                except (LinkerError, OSError):
                    await asyncio.to_thread(replacing.exchange, self._next, self._model)
                    await self._service.reload()
                    raise
            except (LinkerError, OSError) as error:
                raise Failure(409, str(error)) from None
        await self._workbench.relink()

    def _put(self) -> None:
        """Exchange the new model and the one that answers, after all has been checked."""
        persistence.check_replaceable(self._before)
        bases = [model_hash(str(f)) for f in (self._model, self._before) if f.is_dir()]
        is_changed = model_hash(str(self._next)) != self._training["model"]
        if is_changed or self._training["base"] not in bases:
            raise LinkerError("a model was changed since the training; train again")
        replacing.exchange(self._next, self._model)

    def _settle(self) -> None:
        """Keep the model that has learnt nothing, where the new one has taken its place.

        Nothing is deleted before this is written down; where it cannot be, all is as it was.
        """
        taken = self._taken()

        def is_base(folder: Path) -> bool:
            return folder.is_dir() and model_hash(str(folder)) == taken["base"]

        is_moved = not is_base(self._before) and is_base(self._next)
        if is_moved:
            self._swap()
        try:
            self._write({"taken": taken})
        except LinkerError:
            if is_moved:
                self._swap()
            raise
        self._record = {"taken": taken}
        shutil.rmtree(self._next, ignore_errors=True)

    def _taken(self) -> State:
        """What is written down of a model that is taken."""
        return {name: self._training[name] for name in ("model", "base", "last", "decisions")}

    def _swap(self) -> None:
        """Exchange what is named as the new model and the one kept, of which one may be missing."""
        there = [folder for folder in (self._next, self._before) if folder.is_dir()]
        if len(there) == 2:
            replacing.exchange(self._next, self._before)
        else:
            os.replace(there[0], self._before if there[0] == self._next else self._next)

    def _base(self) -> tuple[Path, int, str]:
        """The model that has learnt nothing, the last decision that the one in use has learnt, and
        the checksum of the former."""
        taken = self._record.get("taken")
        checksum = model_hash(str(self._model))
        if taken and checksum == taken["model"] and self._before.is_dir():
            before = model_hash(str(self._before))
            if before == taken["base"]:
                return self._before, taken["last"], before
        return self._model, 0, checksum

    async def _learnable(self) -> int:
        """How many decisions a training would learn now."""
        if (decided := await self._service.decided()) is None:
            return 0
        places = decided.places
        return await aside(places, lambda: len(taught(places.values())))

    def _restore(self) -> None:
        """Take up what an earlier service left.

        Raises:
            LinkerError: a model that was taken could not be kept; the disk is full, perhaps.
        """
        if not self._file.is_file():
            return
        try:
            self._record = dict(files.parse_json(files.read_text(self._file)))
            if self._training["state"] == "running":
                self._record["training"] |= {"state": "failed", "error": _CUT_OFF}
            is_done = self._training["state"] == "done" and self._model.is_dir()
            is_taken = is_done and model_hash(str(self._model)) == self._taken()["model"]
        except (LinkerError, OSError, ValueError, TypeError, LookupError) as error:
            logger.warning("%s: is not as linker writes it (%s); it is left out", self._file, error)
            self._record, is_taken = {}, False
        if is_taken:  # and the service was ended before it was loaded
            self._settle()

    async def _keep(self, training: State | None) -> None:
        """Remember how the training stands; also for a service that is started later, unless that
        cannot be written."""
        record = {name: value for name, value in self._record.items() if name != "training"}
        if training is not None:
            record["training"] = training
        self._record = record
        try:
            await asyncio.to_thread(self._write, record)
        except LinkerError as error:
            logger.warning("%s", error)

    def _write(self, record: State) -> None:
        with files.write_aside(self._file) as file:
            json.dump(record, file, indent=1)
