"""Charts as inline SVG: bars and curves, whose colours are classes that the page styles."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from linker.errors import shorten, shown

WIDTH = 360  # units; a narrow screen shows them as pixels
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 10, 40  # margins of a curve
_ROW = 34  # height of a bar with its label
_LONGEST_LABEL = 52  # characters

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a chart, with its label above it and its value behind it."""

    label: str
    value: float
    text: str  # how the value is written
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve."""

    x: float
    y: float
    interval: Interval | None = None  # of y
    weight: float = 0  # of the bar at the foot of the point, 0 to 1


@dataclass(frozen=True, slots=True)
class Title:
    """What a chart says to those who do not see it."""

    name: str  # unique in the page
    title: str
    description: str


def bars(title: Title, rows: Sequence[Bar], maximum: float = 1.0) -> str:
    """Draw horizontal bars from 0 to a maximum, each with its interval as a whisker."""
    height = _ROW * len(rows) + 4
    chart = _chart(title, height)
    for number, row in enumerate(rows):
        top = number * _ROW
        scale = (WIDTH - 44) / (maximum or 1)
        _text(chart, 0, top + 13, shorten(row.label, _LONGEST_LABEL))
        _rectangle(chart, "track", (0, top + 18), (maximum * scale, 12))
        _rectangle(chart, "bar", (0, top + 18), (row.value * scale, 12))
        if row.interval:
            _line(chart, "whisker", *((end * scale, top + 24) for end in row.interval))
            for end in row.interval:
                _line(chart, "whisker", (end * scale, top + 20), (end * scale, top + 28))
        _text(chart, WIDTH, top + 28, row.text, "end")
    return ElementTree.tostring(chart, encoding="unicode")


def curve(
    title: Title,
    points: Sequence[Point],
    axes: tuple[str, str],
    *,
    lowest: float = 0.0,
    diagonal: bool = False,
) -> str:
    """Draw points from left to right with their intervals as whiskers.

    Lines join the points where there is no diagonal to compare them with.

    Args:
        title: of the chart.
        points: with x from 0 to 1.
        axes: what x and y are.
        lowest: where the axis of y begins; it ends at 1.
        diagonal: whether the line from (0, 0) to (1, 1) is drawn, for comparison.
    """
    height = 280
    chart = _chart(title, height)

    def place(x: float, y: float) -> Interval:
        across, up = WIDTH - _LEFT - _RIGHT, height - _TOP - _BOTTOM
        share = (max(y, lowest) - lowest) / (1 - lowest)
        return _LEFT + across * x, height - _BOTTOM - up * share

    for tick in range(6):
        x, y = tick / 5, lowest + (1 - lowest) * tick / 5
        _line(chart, "grid", place(0, y), place(1, y))
        _text(chart, _LEFT - 6, place(0, y)[1] + 4, f"{y:.2f}", "end")
        _text(chart, place(x, lowest)[0], height - _BOTTOM + 16, f"{x:.1f}", "middle")
    _text(chart, _LEFT + (WIDTH - _LEFT - _RIGHT) / 2, height - 6, axes[0], "middle")
    label = _text(chart, 0, 0, axes[1], "middle")
    label.set("transform", f"translate(9 {(height - _BOTTOM + _TOP) / 2:g}) rotate(-90)")
    if diagonal:
        _line(chart, "diagonal", place(0, 0), place(1, 1))
    for point in points:
        (x, foot), tall = place(point.x, lowest), 70 * point.weight
        _rectangle(chart, "count", (x - 6, foot - tall), (12, tall))
    for start, end in itertools.pairwise(points if not diagonal else ()):
        _line(chart, "line", place(start.x, start.y), place(end.x, end.y))
    for point in points:
        if point.interval:
            _line(chart, "whisker", *(place(point.x, end) for end in point.interval))
        x, y = place(point.x, point.y)
        ElementTree.SubElement(chart, "circle", _numbers({"cx": x, "cy": y, "r": 3.5}))
    return ElementTree.tostring(chart, encoding="unicode")


def floor_of(values: Sequence[float]) -> float:
    """The tenth below all values, where an axis that ends at 1 may begin; at most 0.9."""
    return max(0.0, min(0.9, math.floor(10 * min(values, default=0)) / 10))


def _chart(title: Title, height: float) -> ElementTree.Element:
    names = f"{title.name}-title", f"{title.name}-description"
    chart = ElementTree.Element(
        "svg",
        {
            "role": "img",
            "viewBox": f"0 0 {WIDTH} {height:g}",
            "aria-labelledby": " ".join(names),
        },
    )
    for tag, name, text in zip(
        ("title", "desc"), names, (title.title, title.description), strict=True
    ):
        ElementTree.SubElement(chart, tag, {"id": name}).text = shown(text)
    return chart


def _text(
    chart: ElementTree.Element, x: float, y: float, text: str, anchor: str = "start"
) -> ElementTree.Element:
    attributes = _numbers({"x": x, "y": y}) | {"text-anchor": anchor}
    element = ElementTree.SubElement(chart, "text", attributes)
    element.text = shown(text)
    return element


def _rectangle(chart: ElementTree.Element, kind: str, at: Interval, size: Interval) -> None:
    numbers = _numbers({"x": at[0], "y": at[1], "width": size[0], "height": size[1]})
    ElementTree.SubElement(chart, "rect", {"class": kind} | numbers)


def _line(chart: ElementTree.Element, kind: str, start: Interval, end: Interval) -> None:
    numbers = _numbers({"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]})
    ElementTree.SubElement(chart, "line", {"class": kind} | numbers)


def _numbers(values: dict[str, float]) -> dict[str, str]:
    return {name: f"{value:.2f}".rstrip("0").rstrip(".") for name, value in values.items()}
