"""GET, POST and DELETE /training, POST /training/take: the model learns what people decided.

A training is `linker review learn` in a process of its own, which writes MODEL.next. A person
takes that model: it gets the place of MODEL. The model that has learnt no decision stays as
MODEL.before, from which every training starts; MODEL.learning.json has the checksums of models that
have learnt decisions.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Request

from linker.desk.decisions.exchange import taught
from linker.desk.service.errors import ERRORS, Failure
from linker.desk.service.reviewing import Reviewed
from linker.desk.service.state import Service, aside
from linker.desk.service.workbench import Desk, Workbench
from linker.errors import LinkerError
from linker.io import files, persistence, replacing
from linker.jobs.linking import model_hash

_POLITE = 10  # by how much a training gives way to those who link
_NONE = {"state": "none"}

State = dict[str, Any]


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.training = Training(app.state.service, app.state.workbench)
    yield
    await app.state.training.cancel()


def _training(request: Request) -> Training:
    training: Training = request.app.state.training
    return training


routes = APIRouter(prefix="/training", tags=["learning"], responses=ERRORS, lifespan=_lifespan)
_Present = Annotated["Training", Depends(_training)]


@routes.get("")
async def state(training: _Present, desk: Desk) -> State:
    """How the training stands, and how many decisions there are to learn."""
    decided = await desk.decided()
    count = await aside(decided.places, lambda: len(taught(decided.places.values())))
    return {**training.state, "learnable": count}


@routes.post("", status_code=201)
async def start(training: _Present, desk: Desk, body: Reviewed) -> State:
    """Let the model learn the decisions in force, beside the one that answers."""
    await asyncio.shield(training.start(body.reviewer))  # also where the client leaves
    return await state(training, desk)


@routes.delete("")
async def cancel(training: _Present, desk: Desk) -> State:
    """End the training, or forget what it made."""
    await asyncio.shield(training.cancel())
    return await state(training, desk)


@routes.post("/take")
async def take(training: _Present, desk: Desk) -> State:
    """Answer with the new model from now on."""
    await asyncio.shield(training.take())
    return await state(training, desk)


class Training:
    """The training of a service, one at a time; it is forgotten when the service ends.

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
        self.state: State = _NONE
        self._checksum = ""  # of the model when the training began
        self._running: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()  # held by who starts, ends or takes

    async def start(self, reviewer: str) -> None:
        """Start a training.

        Raises:
            Failure: one is running, or there is no model.
        """
        async with self._changing:
            if self._running and not self._running.done():
                who = self.state["reviewer"] or "somebody"
                raise Failure(409, f"the training that {who} started goes on; wait, or cancel it")
            try:
                base = await asyncio.to_thread(self._base)
            except LinkerError as error:
                raise Failure(409, str(error)) from None
            command = [sys.executable, "-m", "linker.cli", "review", "learn", "--format", "json"]
            command += ["--decisions", str(self._workbench.store.path), "--model", str(base)]
            command += ["-o", str(self._next)]
            begun = {"what": "loading the model", "share": 0.0, "reviewer": reviewer}
            self.state = {"state": "running", **begun}
            self._running = asyncio.create_task(self._run(command))

    async def _run(self, command: list[str]) -> None:
        """Run a training, and take what it tells, until it ends."""
        silent, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=silent, stdout=pipe, stderr=pipe
        )
        with contextlib.suppress(OSError, AttributeError):  # Windows has no such call
            os.setpriority(os.PRIO_PROCESS, process.pid, _POLITE)
        assert process.stdout is not None  # noqa: S101 - pipes were asked for
        assert process.stderr is not None  # noqa: S101
        said = asyncio.create_task(process.stderr.read())
        try:
            async for line in process.stdout:
                self.state |= json.loads(line)
            code = await process.wait()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        told = (await said).decode(errors="replace").strip().rpartition("\n")[2]
        if code:
            why = told.removeprefix("linker: ") or f"its process ended with {code}"
            self.state |= {"state": "failed", "error": why}
        else:
            self.state |= {"state": "done"}

    async def cancel(self) -> None:
        """End the training that runs; else forget the last one, and remove what it made."""
        async with self._changing:
            if self._running:
                self._running.cancel()
                await asyncio.wait([self._running])
            await asyncio.to_thread(self._forget)

    async def take(self) -> None:
        """Give the new model the place of the old one, and answer with it.

        Raises:
            Failure: there is no new model, or it cannot be used; the old one stays then.
        """
        async with self._changing:
            if self.state["state"] != "done":
                raise Failure(409, "there is no new model; train one first")
            try:
                await asyncio.to_thread(self._swap)
                try:
                    await self._service.reload()
                except LinkerError:
                    replacing.exchange(self._next, self._model)
                    await self._service.reload()
                    raise
            except (LinkerError, OSError) as error:
                raise Failure(409, str(error)) from None
            await asyncio.to_thread(self._forget)
        await self._workbench.relink()

    def _forget(self) -> None:
        shutil.rmtree(self._next, ignore_errors=True)
        self.state = _NONE

    def _swap(self) -> None:
        """Exchange the new model and the one that answers, by one step after all others."""
        if model_hash(str(self._model)) != self._checksum:
            raise LinkerError("the model was changed since the training; train again")
        base = self._base()
        if base == self._model:  # it has learnt nothing
            persistence.check_replaceable(self._before)
            with replacing.aside(self._before, folder=True) as copy:
                shutil.copytree(base, copy, dirs_exist_ok=True)
        learnt = self._learnt() | {model_hash(str(self._next))}
        with files.write_aside(self._file) as file:
            json.dump(sorted(learnt), file, indent=1)
        replacing.exchange(self._next, self._model)

    def _base(self) -> Path:
        """The model that has learnt nothing."""
        self._checksum = model_hash(str(self._model))
        has_learnt = self._checksum in self._learnt() and self._before.is_dir()
        return self._before if has_learnt else self._model

    def _learnt(self) -> set[str]:
        """The checksums of models that have learnt decisions."""
        with contextlib.suppress(OSError, ValueError):
            return set(json.loads(self._file.read_bytes()))
        return set()
