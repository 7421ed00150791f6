"""Service: a model, the decisions on its answers, and the queue of what is asked of it."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from linker.annotation import Annotator
from linker.confidence.answers import Request
from linker.errors import LinkerError
from linker.linker import Linked, Linker
from linker.service.batching import Batcher
from linker.service.metrics import Metrics
from linker.service.schemas import cost
from linker.service.settings import Settings
from linker.types import Document, Mention

if TYPE_CHECKING:
    from linker.decisions.applying import Decided
    from linker.decisions.store import DecisionStore

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")


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
        self.linker = linker or _loaded(settings.model)
        self.store = _store(settings.decisions) if settings.decisions else None
        self._decided: tuple[int, Linker, Decided] | None = None
        self.metrics = Metrics(lambda: self._batcher.cost)
        self._batcher = Batcher(self.limits.batch, self.limits.waiting, self.metrics.batch)
        self._reloading = asyncio.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether the queue has room."""
        return not self._batcher.is_full

    async def answer(self, requests: Sequence[Request]) -> list[Linked]:
        """Link items together with those of other requests, and apply the decisions.

        Raises:
            LinkerError: an item cannot be linked as it is asked for.
            Busy: too much waits already.
        """
        linker, requests = self.linker, list(map(_restricted, requests))
        return await self._decide(linker, await self._link(linker, requests), requests)

    async def annotate(
        self, requests: Sequence[Request], threshold: float | None = None
    ) -> list[Linked]:
        """Find the mentions of documents, link them, and apply the decisions.

        Args:
            requests: whose items are documents.
            threshold: see `Annotator.annotate`.
        """
        linker, requests = self.linker, list(map(_restricted, requests))
        annotator = Annotator(linker)
        documents = [item for request in requests if isinstance(item := request.item, Document)]
        marked = await self.run(lambda: [annotator.mark(d, threshold) for d in documents])
        to_link = [
            Request(mark.to_link(), r.k, None, r.min_score)
            for mark, r in zip(marked, requests, strict=True)
        ]
        linked = await self._link(linker, to_link)
        of_spans = [
            mark.linked(predictions, threshold or 0.0)
            for mark, (_, predictions) in zip(marked, linked, strict=True)
        ]
        return await self._decide(linker, of_spans, to_link)

    async def run(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call a function in the worker thread."""
        return await self._batcher.run(function, *args)

    async def reload(self) -> None:
        """Load the model anew; requests go on, and those that wait are answered by the old one.

        Raises:
            LinkerError: the new model cannot be used, and the old one stays.
        """
        async with self._reloading:
            try:
                self.linker = await asyncio.to_thread(_loaded, self.settings.model)
            except Exception as error:
                self.metrics.reloads.labels("failed").inc()
                if isinstance(error, LinkerError | OSError):
                    raise LinkerError(f"the old model stays: {error}") from error
                raise
        self.metrics.reloads.labels("done").inc()
        logger.info("the model was loaded anew")

    async def close(self) -> None:
        """Finish what was taken."""
        await self._batcher.close()
        if self.store is not None:
            self.store.close()

    async def _link(self, linker: Linker, requests: Sequence[Request]) -> list[Linked]:
        costs = [cost(request.item) for request in requests]
        return await self._batcher.call(linker.answer, requests, costs)

    async def _decide(
        self, linker: Linker, linked: list[Linked], requests: Sequence[Request]
    ) -> list[Linked]:
        """Apply the decisions that are in force."""
        if (store := self.store) is None:
            return linked

        def apply() -> list[Linked]:
            decided = self._in_force(store, linker)
            return [
                (d, [decided.apply(p, d, k=r.k, threshold=r.threshold) for p in predictions])
                for (d, predictions), r in zip(linked, requests, strict=True)
            ]

        return await asyncio.to_thread(apply)

    def _in_force(self, store: DecisionStore, linker: Linker) -> Decided:
        """The decisions for a model; read again where the file or the model changed."""
        from linker.decisions.applying import Decided

        version = store.version
        kept = self._decided
        if kept is None or kept[0] != version or kept[1] is not linker:
            kept = self._decided = version, linker, Decided(store.list(), linker)
        return kept[2]


def _restricted(request: Request) -> Request:
    """The request, whose item holds what it may be answered with, as decisions ask for."""
    item, within = request.item, request.within
    if within is None:
        return request
    item = Mention(item) if isinstance(item, str) else item
    if item.within is not None:
        return request
    return dataclasses.replace(request, item=dataclasses.replace(item, within=within), within=None)


def _loaded(folder: str) -> Linker:
    """Load a model, and see that it links."""
    linker = Linker.load(folder)
    linker.answer([Request("warm up")])
    return linker


def _store(path: str) -> DecisionStore:
    from linker.decisions.store import DecisionStore

    return DecisionStore(path)
