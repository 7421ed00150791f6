"""A hostile text of four times the length takes about four times as long, not sixteen times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from linker import ids
from linker.io import rdf
from linker.text import abbreviations

Make = Callable[[int], str]


@pytest.mark.parametrize(
    ("work", "make", "size"),
    [
        (rdf.local_name, lambda n: f"http://x.org/{'a' * n}/x", 8_000),
        (rdf._DECLARED.findall, lambda n: f"@prefix a:{' ' * n}x", 8_000),
        (rdf._VERSION.search, lambda n: "versionInfo " * n, 2_000),
        (rdf._FUNCTIONAL.match, lambda n: f"{'# ' * n}\nx", 5),
        (ids.normalized.__wrapped__, lambda n: f"DO:{' ' * n}x", 8_000),
        (abbreviations.find, lambda n: "(A) " * n, 200),
        (abbreviations.find, lambda n: "(A)" * n, 100),
    ],
    ids=["iri", "prefixes", "version", "comment", "id", "brackets", "touching"],
)
def test_time_grows_with_the_length(work: Callable[[str], Any], make: Make, size: int) -> None:
    def seconds(text: str) -> float:
        times = []
        for _ in range(3):
            begin = time.process_time()
            work(text)
            times.append(time.process_time() - begin)
        return min(times)

    seconds(make(size))  # what is done once
    assert seconds(make(4 * size)) < 9 * max(seconds(make(size)), 0.001)
