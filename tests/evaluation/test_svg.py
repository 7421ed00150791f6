"""Charts: where things stand, and that texts are escaped."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from linker.evaluation import svg
from linker.evaluation.svg import Bar, Point, Title

SPACE = "{http://www.w3.org/2000/svg}"
TITLE = Title("t", "A title", "What it shows")


def drawn(text: str, tag: str, kind: str | None = None) -> list[dict[str, str]]:
    """The attributes of the elements of a chart."""
    return [
        dict(element.attrib)
        for element in ElementTree.fromstring(text).iter(tag)
        if kind is None or element.get("class") == kind
    ]


def test_bars_are_as_long_as_their_values() -> None:
    chart = svg.bars(TITLE, [Bar("a", 1.0, "1"), Bar("b", 0.25, "0.25", (0.125, 0.5))])
    full, quarter = (float(bar["width"]) for bar in drawn(chart, "rect", "bar"))
    assert quarter == full / 4
    whisker, *ends = drawn(chart, "line", "whisker")
    assert [float(whisker[x]) for x in ("x1", "x2")] == pytest.approx(
        [full / 8, full / 2], abs=0.01
    )
    assert len(ends) == 2
    counts = svg.bars(TITLE, [Bar("a", 30, "30"), Bar("b", 15, "15")], 30)
    assert [float(bar["width"]) for bar in drawn(counts, "rect", "bar")] == [full, full / 2]
    assert drawn(svg.bars(TITLE, []), "rect") == []
    assert svg.bars(TITLE, [Bar("a", 0, "0")], 0)


def test_the_points_of_a_curve() -> None:
    points = [Point(0, 0.5), Point(0.5, 1.0, (0.75, 1.0), 1.0), Point(1, 0.75)]
    chart = svg.curve(TITLE, points, ("x", "y"), lowest=0.5)
    circles = [(float(c["cx"]), float(c["cy"])) for c in drawn(chart, "circle")]
    (left, bottom), (middle, top), (right, half) = circles
    assert middle == (left + right) / 2
    assert half == (bottom + top) / 2
    assert len(drawn(chart, "line", "line")) == 2
    (whisker,) = drawn(chart, "line", "whisker")
    assert [float(whisker[y]) for y in ("y1", "y2")] == [half, top]
    heights = [float(bar["height"]) for bar in drawn(chart, "rect", "count")]
    assert heights == [0, max(heights), 0]
    compared = svg.curve(TITLE, points, ("x", "y"), diagonal=True)
    assert (len(drawn(compared, "line", "diagonal")), drawn(compared, "line", "line")) == (1, [])


def test_texts_are_escaped_and_control_characters_written_out() -> None:
    chart = svg.bars(
        Title("t", "<b>", 'a"\x00'), [Bar("<script>alert(1)</script>\x1b\u202e", 1, "&")]
    )
    assert "<script" not in chart
    root = ElementTree.fromstring(chart)
    assert [element.text for element in root][:2] == ["<b>", 'a"\\x00']
    assert [text.text for text in root.iter("text")] == [
        "<script>alert(1)</script>\\x1b\\u202e",
        "&",
    ]
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "t-title t-description"


@pytest.mark.parametrize(
    ("values", "floor"), [([0.83, 0.97], 0.8), ([1.0, 1.0], 0.9), ([0.04], 0), ([], 0)]
)
def test_where_an_axis_begins(values: list[float], floor: float) -> None:
    assert svg.floor_of(values) == floor
