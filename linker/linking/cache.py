"""A cache that is safe under threads."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

_CacheKey = TypeVar("_CacheKey", bound=Hashable)
_Value = TypeVar("_Value")


class SizedCache(Generic[_CacheKey, _Value]):
    """Keeps the values that were used last, up to a total size; safe under threads.

    Args:
        total: of the sizes of the values that are kept.
        size: of a value, at most `total`.
    """

    def __init__(self, total: float, size: Callable[[_Value], float]) -> None:
        self._size, self._lock = size, Lock()  # taken to look, not while a value is made
        self._values: LRUCache[_CacheKey, _Value] = LRUCache(total, size)

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with an empty cache
        return SizedCache, (self._values.maxsize, self._size)

    def clear(self) -> None:
        """Keep nothing of what there is."""
        with self._lock:
            self._values.clear()

    def get(self, key: _CacheKey, make: Callable[[_CacheKey], _Value]) -> _Value:
        """Return the value of a key, which is made where it is not kept."""
        with self._lock:
            value = self._values.get(key)
        if value is None:
            value = make(key)
            with self._lock:
                self._values[key] = value
        return value
