"""What a service counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The figures of one service; no label holds what a user wrote.

    Args:
        waiting: gives the characters that wait to be linked.
    """

    def __init__(self, waiting: Callable[[], float]) -> None:
        self._registry = CollectorRegistry()
        own: Any = {"registry": self._registry}
        ProcessCollector(**own)
        GCCollector(**own)
        labels = ["route", "method", "status"]
        self._requests = Counter("linker_requests", "Requests answered.", labels, **own)
        self._seconds = Histogram(
            "linker_request_seconds", "Time to answer.", ["route"], buckets=_SECONDS, **own
        )
        self.active = Gauge("linker_active_requests", "Requests in progress.", **own)
        self._sizes = Histogram(
            "linker_batch_items", "Items linked together.", buckets=_SIZES, **own
        )
        self._batch_seconds = Histogram(
            "linker_batch_seconds", "Time of a batch.", buckets=_SECONDS, **own
        )
        characters = Gauge("linker_waiting_characters", "Characters that wait to be linked.", **own)
        characters.set_function(waiting)
        self.reloads = Counter("linker_reloads", "Models loaded anew.", ["result"], **own)

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request; `route` is its pattern, not its path."""
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def batch(self, items: int, seconds: float) -> None:
        """Count a batch."""
        self._sizes.observe(items)
        self._batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """All figures in the text format of Prometheus."""
        return generate_latest(self._registry)
