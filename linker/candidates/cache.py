"""Caches that are safe under threads; one of rankings, for mentions that occur again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from cachetools import LRUCache

from linker.candidates.base import Generator, Ranked, Unit
from linker.types import Lookup

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

    def get(self, key: _CacheKey, make: Callable[[_CacheKey], _Value]) -> _Value:
        """Return the value of a key, which is made where it is not kept."""
        with self._lock:
            value = self._values.get(key)
        if value is None:
            value = make(key)
            with self._lock:
                self._values[key] = value
        return value


_Key = tuple[str, int, Unit]  # the normalised text, k, the unit


class CachedRanker:
    """Ranks as a generator does, and caches the latest rankings; safe under threads.

    Args:
        generator: whose answers are cached.
        size: the number of answers to keep, those of all lookups together.
    """

    def __init__(self, generator: Generator, size: int = 100_000) -> None:
        self._generator = generator
        self._lock = Lock()  # taken to read or write the cache, not while ranking
        self._cache: LRUCache[_Key, Ranked] = LRUCache(size, lambda ranked: 1 + len(ranked))

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with an empty cache
        return CachedRanker, (self._generator, int(self._cache.maxsize))

    def rank(self, lookups: Sequence[Lookup], k: int, unit: Unit) -> list[Ranked]:
        """As `Generator.rank`."""
        ranked: dict[Lookup, Ranked] = {}
        missing = []
        with self._lock:
            for lookup in dict.fromkeys(lookups):
                remembered = self._cache.get((lookup.normalized, k, unit))
                if remembered is None:
                    missing.append(lookup)
                else:
                    ranked[lookup] = remembered
        if missing:
            ranked |= zip(missing, self._generator.rank(missing, k, unit), strict=True)
        with self._lock:
            for lookup in missing:
                answers = ranked[lookup]
                if len(answers) < self._cache.maxsize:
                    answers = answers[np.arange(len(answers))]  # a view keeps the whole array
                    self._cache[lookup.normalized, k, unit] = answers
        return [ranked[lookup] for lookup in lookups]
