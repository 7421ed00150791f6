"""Service: a model, the decisions on its answers, and the queue of what is asked of it."""

from __future__ import annotations

import asyncio
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
from linker.types import Document

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
        linker = self.linker
        return await self.decide(await self._link(linker, requests), linker)

    async def annotate(
        self, requests: Sequence[Request], threshold: float | None = None
    ) -> list[Linked]:
        """Find the mentions of documents, link them, and apply the decisions.

        Args:
            requests: whose items are documents.
            threshold: see `Annotator.annotate`.
        """
        linker = self.linker
        annotator = Annotator(linker)
        documents = [item for request in requests if isinstance(item := request.item, Document)]
        marked = await self.run(lambda: [annotator.mark(d, threshold) for d in documents])
        to_link = [
            Request(mark.to_link(), r.k, None, r.min_score, r.within)
            for mark, r in zip(marked, requests, strict=True)
        ]
        linked = await self._link(linker, to_link)
        of_spans = [
            mark.linked(predictions, threshold or 0.0)
            for mark, (_, predictions) in zip(marked, linked, strict=True)
        ]
        return await self.decide(of_spans, linker)

    async def run(self, function: Callable[..., _Result], *args: Any) -> _Result:
        """Call a function in the worker thread."""
        return await self._batcher.run(function, *args)

    async def decide(self, linked: list[Linked], linker: Linker) -> list[Linked]:
        """Apply the decisions that are in force."""
        if self.store is None:
            return linked
        return await asyncio.to_thread(self._decide, linked, linker)

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

    def _decide(self, linked: list[Linked], linker: Linker) -> list[Linked]:
        decided = self._in_force(linker)
        return [
            (document, [decided.apply(prediction, document) for prediction in predictions])
            for document, predictions in linked
        ]

    def _in_force(self, linker: Linker) -> Decided:
        """The decisions for a model; read again where the file or the model changed."""
        from linker.decisions.applying import Decided

        assert self.store is not None
        version = self.store.version
        kept = self._decided
        if kept is None or kept[0] != version or kept[1] is not linker:
            kept = self._decided = version, linker, Decided(self.store.list(), linker)
        return kept[2]


def _loaded(folder: str) -> Linker:
    """Load a model, and see that it links."""
    linker = Linker.load(folder)
    linker.answer([Request("warm up")])
    return linker


def _store(path: str) -> DecisionStore:
    from linker.decisions.store import DecisionStore

    return DecisionStore(path)
