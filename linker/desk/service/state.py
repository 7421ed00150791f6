"""Service: a model, the decisions on its answers, and the queue of what is asked of it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Depends
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.process_collector import ProcessCollector
from starlette.requests import HTTPConnection

from linker.desk.decisions.store import DecisionStore, Step
from linker.desk.decisions.updating import Names
from linker.desk.service.batching import Batcher
from linker.desk.service.errors import REFUSED, Failure
from linker.desk.service.schemas import cost
from linker.desk.service.settings import Settings
from linker.dictionary import Dictionary
from linker.errors import Cancelled, LinkerError, call_while_wanted
from linker.io.persistence import MANIFEST
from linker.jobs.linking import model_hash
from linker.linking.decided import Decided
from linker.linking.documents import Annotator
from linker.linking.linker import Linker
from linker.linking.requests import Linked, Request
from linker.linking.tally import Tally
from linker.records import Decision, Document, Passage, Prediction

logger = logging.getLogger(__name__)

FEW = 100  # items of a request that are gone over at once
_THREADS = 4  # for work that is not linked in batches: a long text does not hold up a short one
_UPLOADS = 3  # threads for files that are read and stored, which take long: they hold up no others
_SECONDS = 0.1  # of a batch, after which others may have their turn
_LATEST = 10_000  # texts of which drift is told
_PATIENCE = 0.25  # share of the time for an answer that a write waits for other processes

_WARM_UP = Document("", (Passage("warm up", 0),))

_Result = TypeVar("_Result")


@dataclass(slots=True, eq=False)
class Model:
    """A linker, and what is made for it; a request is answered by one, whatever is loaded."""

    linker: Linker
    annotator: Annotator
    fingerprint: str  # the checksum of its folder; empty where there is none
    decided: Decided | None = None  # the latest; None: none are kept
    vocabulary: Any = None  # of reconciliation, once it is asked for
    tally: Tally = field(default_factory=Tally)  # the latest texts
    names_made: Names | None = None  # of the dictionary, once they are asked for
    reading: threading.Lock = field(default_factory=threading.Lock)  # of decisions, once

    @property
    def names(self) -> Names:
        """The names of the dictionary; they are made once."""
        if self.names_made is None:
            self.names_made = Names(self.linker.dictionary)
        return self.names_made

    def see(self, predictions: Iterable[Prediction]) -> None:
        """Note the texts of answers."""
        for prediction in predictions:
            self.tally.see(prediction)
        texts = self.tally.distinct
        for text in [*itertools.islice(texts, max(0, len(texts) - _LATEST))]:
            del texts[text]

    @property
    def drift(self) -> float:
        """`Drift.excess` of the latest texts; NaN where nothing can be said."""
        drift = self.tally.drift(self.linker.calibration)
        return drift.excess if drift else math.nan


class Service:
    """What answers the requests of one process.

    Args:
        settings: of the service.
        linker: the model; None: it is loaded from the folder that the settings name.

    Raises:
        LinkerError: the model cannot be loaded, or the file of decisions cannot be opened.
    """

    def __init__(self, settings: Settings, linker: Linker | None = None) -> None:
        self.settings, self.limits = settings, settings.limits
        self.store = None
        if settings.decisions:
            self.store = DecisionStore(settings.decisions, patience=_PATIENCE * self.limits.seconds)
        self.model = self._load(linker)
        """What answers now; a request asks for it once."""
        self.figures = CollectorRegistry()  # for Prometheus; no label holds what a user wrote
        ProcessCollector(registry=self.figures)
        what = "Above 0: the latest texts are unlike those that calibrated the model."
        Gauge("linker_drift", what, registry=self.figures).set_function(lambda: self.model.drift)
        self._batcher = Batcher(self.limits.batch, self.limits.waiting, _SECONDS)
        self._threads = ThreadPoolExecutor(_THREADS, "linker-other")
        self._uploads = ThreadPoolExecutor(_UPLOADS, "linker-uploads")
        self._writer = ThreadPoolExecutor(1, "linker-decisions")
        self._loading = asyncio.Lock()
        self.ending = threading.Event()
        """Set once the process is told to stop: no long work goes on."""

    @property
    def linker(self) -> Linker:
        """The linker of the model that answers now."""
        return self.model.linker

    @cached_property
    def before(self) -> Names:
        """The names of the dictionary that people decided with before.

        Raises:
            Failure: none was named.
            LinkerError: it cannot be read.
        """
        if not self.settings.before:
            raise Failure(409, "no earlier dictionary is known; start linker serve with --before")
        return Names(Dictionary.load(self.settings.before))

    @property
    def is_ready(self) -> bool:
        """Whether the queue has room."""
        return not self._batcher.is_full

    async def answer(self, model: Model, requests: Sequence[Request]) -> list[Linked]:
        """Link items together with those of other requests, and apply the decisions.

        Raises:
            LinkerError: an item cannot be linked as it is asked for.
            Failure: too much waits already.
        """
        decided = await self.decided(model)
        with_decisions = [dataclasses.replace(r, decisions=decided) for r in requests]
        return await self.answer_plainly(model, with_decisions, behind=False)

    async def annotate(self, model: Model, requests: Sequence[Request]) -> list[Linked]:
        """Find the mentions of documents, link them, and apply the decisions.

        Args:
            model: what finds and links.
            requests: whose items are documents; see `Annotator.found`.
        """
        found = [await self.run(model.annotator.found, request) for request in requests]
        return await self.answer(model, found)

    async def answer_plainly(
        self, model: Model, requests: Sequence[Request], *, behind: bool
    ) -> list[Linked]:
        """Link items as `answer` does, without decisions.

        Args:
            model: what links.
            requests: the items.
            behind: whether all others come first.
        """
        costs = [cost(request.item) for request in requests]
        return await self._batcher.call(model.linker.answer, requests, costs, behind=behind)

    async def run(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call a function beside the thread that links, until the caller gives up."""
        is_given_up = threading.Event()
        call = partial(function, *args)
        return await self._run(self._threads, is_given_up, is_given_up.is_set, call)

    async def run_until_end(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call a function that reads or stores files as `run` does, in threads of their own, and
        give it up when the process is told to stop.

        Raises:
            Failure: it was given up so.
        """
        is_given_up = threading.Event()

        def is_over() -> bool:
            return is_given_up.is_set() or self.ending.is_set()

        try:
            return await self._run(self._uploads, is_given_up, is_over, partial(function, *args))
        except Cancelled:
            reason = "the service is stopping, and not all of it was kept; send it again later"
            raise Failure(503, reason, headers={"Retry-After": "5"}) from None

    async def _run(
        self,
        threads: ThreadPoolExecutor,
        is_given_up: threading.Event,
        is_over: Callable[[], bool],
        call: Callable[[], _Result],
    ) -> _Result:
        """Call a function in a thread; where nobody waits for it any more, the event is set."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(threads, call_while_wanted, is_over, call)
        finally:
            is_given_up.set()

    async def decided(self, model: Model | None = None) -> Decided | None:
        """The decisions in force for a model, with what has come to their file.

        Args:
            model: the model; None: that which answers now.

        Returns:
            None where no decisions are kept.
        """
        if (store := self.store) is None:
            return None
        of = model or self.model

        def read() -> Decided | None:
            with of.reading:
                of.decided = of.decided and of.decided.after(store)
                return of.decided

        return await asyncio.to_thread(read)

    async def write(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call what writes decisions, one after another, in a thread of its own.

        It is done to its end, also where nobody waits for it any more.

        Raises:
            Failure: the file cannot be written, or others wrote for too long, and then it is not
                called; 503, since nothing is wrong with the request.
        """
        with _as_failures():
            call = self._submitted(function, *args)
            return await asyncio.shield(asyncio.wrap_future(call))

    def write_in_thread(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call what writes as `write` does, from a thread that waits for it.

        Raises:
            Failure: see `write`.
        """
        with _as_failures():
            return self._submitted(function, *args).result()

    def _submitted(self, function: Callable[..., _Result], *args: Any) -> Future[_Result]:
        """Have what writes called in its turn."""
        deadline = time.monotonic() + _PATIENCE * self.limits.seconds

        def call() -> _Result:
            if time.monotonic() > deadline:
                raise LinkerError("the file of decisions is busy; try again later")
            return function(*args)

        return self._writer.submit(call)

    async def add(
        self, store: DecisionStore, decisions: Sequence[Decision], step: Step | None = None
    ) -> list[Decision]:
        """Store decisions, all of them or none; see `DecisionStore.add`.

        Raises:
            Failure: the file cannot be written.
        """
        return await self.write(store.add, decisions, step)

    async def reload(self) -> None:
        """Load the model anew; requests go on, and those that wait are answered by the old one.

        Raises:
            LinkerError: the new model cannot be used, and the old one stays.
        """
        async with self._loading:
            try:
                self.model = await asyncio.to_thread(self._load)
            except (LinkerError, OSError) as error:
                raise LinkerError(f"the old model stays: {error}") from error
        logger.info("the model was loaded anew")

    async def close(self) -> None:
        """Finish what was taken."""
        self.ending.set()
        await self._batcher.close()
        self._threads.shutdown()
        self._uploads.shutdown()
        self._writer.shutdown()
        if self.store is not None:
            self.store.close()

    def _load(self, linker: Linker | None = None) -> Model:
        """Load the model, or take the one given; see that it links, finds and fits the decisions.

        Raises:
            LinkerError: it cannot be loaded, or the decisions are of another dictionary.
        """
        linker = linker or Linker.load(self.settings.model)
        linker.use("fp32", self.settings.device)
        folder = Path(self.settings.model)
        fingerprint = model_hash(str(folder)) if (folder / MANIFEST).is_file() else ""
        model = Model(linker, Annotator(linker), fingerprint)
        linker.answer([Request("warm up"), model.annotator.found(Request(_WARM_UP))])
        if self.store is not None:
            model.decided = Decided.checked(self.store, linker)
        gc.unfreeze()  # which lets go of the model before
        gc.collect()
        gc.freeze()  # the collector of garbage passes over the model, which stays
        return model


@contextlib.contextmanager
def _as_failures() -> Iterator[None]:
    """Errors of the file of decisions become failures of the service, not of what was asked."""
    try:
        yield
    except REFUSED:
        raise
    except LinkerError as error:
        raise Failure(503, str(error)) from None


async def aside(items: Sized, function: Callable[[], _Result]) -> _Result:
    """Call what goes over items, in a thread where they are many, so that others have a turn."""
    return function() if len(items) <= FEW else await asyncio.to_thread(function)


def _service(connection: HTTPConnection) -> Service:
    service: Service = connection.app.state.service
    return service


Asked = Annotated[Service, Depends(_service)]
"""The service that is asked, in the parameters of a route."""
