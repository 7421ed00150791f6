"""Which of several spans that overlap are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from linker.types import Span

Overlaps = Literal["longest", "all"]
"""Of spans that overlap, the longest is kept, of equals the first; or all are kept."""


def overlap(first: Span, second: Span) -> bool:
    """Whether two spans share a character."""
    return first[0] < second[1] and second[0] < first[1]


def longest(spans: Iterable[Span]) -> list[Span]:
    """The longest of spans that overlap, in the order of the text.

    Args:
        spans: in any order; none is empty.
    """
    chosen: list[Span] = []
    for cluster in _clusters(sorted(spans)):
        of_cluster: list[Span] = []
        for span in sorted(cluster, key=lambda span: (span[0] - span[1], span)):
            if not any(overlap(span, other) for other in of_cluster):
                of_cluster.append(span)
        chosen += sorted(of_cluster)
    return chosen


def _clusters(spans: Sequence[Span]) -> list[list[Span]]:
    """Groups of spans that overlaps link, given the order of their starts."""
    clusters: list[list[Span]] = []
    reach = 0  # where the last cluster ends
    for start, end in spans:
        if not clusters or start >= reach:
            clusters.append([])
        clusters[-1].append((start, end))
        reach = max(reach, end)
    return clusters
