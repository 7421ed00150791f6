"""Spans that overlap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linker.text.find import longest, overlap

SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 6)).map(lambda p: (p[0], p[0] + p[1])),
    unique=True,
    max_size=12,
)


def slow(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """One after the other, the longest and of equals the first, unless a character is taken."""
    taken: set[int] = set()
    chosen = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            chosen.append((start, end))
    return sorted(chosen)


@given(SPANS)
def test_slow_twin(spans: list[tuple[int, int]]) -> None:
    assert longest(spans) == slow(spans)


def test_spans_that_touch_do_not_overlap() -> None:
    assert not overlap((0, 3), (3, 5))
    assert overlap((0, 4), (3, 5))
    assert longest([(3, 5), (0, 3)]) == [(0, 3), (3, 5)]
