"""The panel of the answer in a real browser, at the size of a small laptop: search, candidates."""

from __future__ import annotations

from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")

from .browser import asked, needs_browser  # noqa: E402
from .conftest import Make, Open  # noqa: E402

expect = playwright.expect
pytestmark = needs_browser
LAPTOP = {"width": 1366, "height": 820}
PHONE = {"width": 400, "height": 700}
CELLS = ",cell of a table" * 9
WIDE_TABLE = (
    f"finding,{','.join('abcdefghi')}\n"
    f"hereditary breast cancer{CELLS}\nleukaemia{CELLS}\nlymphoma{CELLS}\n"
)
IN_SIGHT = """elements => elements.map(element => {
    const {left, top, width, height} = element.getBoundingClientRect();
    return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
})"""
"""Whether the middle of each element is what somebody sees there."""


def panel_top(page: Any) -> float:
    return page.evaluate("document.getElementById('answer').closest('.panel').scrollTop")


def scroll_panel_down(page: Any) -> None:
    page.evaluate(
        "() => { const panel = document.getElementById('answer').closest('.panel');"
        " panel.scrollTop = panel.scrollHeight; }"
    )
    assert panel_top(page) > 0


def search(page: Any, text: str) -> None:
    """Type a text into the search, and wait for its concepts."""
    page.keyboard.press("/")
    page.keyboard.type(text)
    expect(page.locator(f'#found[data-text="{text}"] li').first).to_be_visible()


@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_what_a_search_finds_is_in_sight(make: Make, show: Open, size: dict[str, int]) -> None:
    page = show(make(WIDE_TABLE), sort="document")
    page.set_viewport_size(size)
    search(page, "cancer")
    results = page.locator("#found .choose")
    assert results.count() == 10
    expect(page.locator("#query")).to_be_in_viewport(ratio=0.98)
    expect(results.first).to_be_in_viewport(ratio=0.98)
    first_ones = results.evaluate_all(IN_SIGHT)[:5]
    assert first_ones == [True] * 5


def test_enter_picks_only_what_is_seen(make: Make, show: Open, address: str) -> None:
    page = show(make(WIDE_TABLE), sort="document")
    page.set_viewport_size(LAPTOP)
    search(page, "leukemia")
    first = page.locator("#found .choose").first
    scroll_panel_down(page)
    assert first.evaluate_all(IN_SIGHT) == [False]
    page.keyboard.press("Enter")  # which brings it into sight, and decides nothing
    expect(first).to_be_in_viewport(ratio=0.98)
    assert first.evaluate_all(IN_SIGHT) == [True]
    assert asked(f"{address}decisions")["decisions"] == []
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("hereditary breast cancer: MESH:D007938.")
    (decision,) = asked(f"{address}decisions")["decisions"]
    assert (decision["mention"], decision["concept_id"]) == (
        "hereditary breast cancer",
        "MESH:D007938",
    )


def test_the_panel_begins_at_its_top_for_each_mention(make: Make, show: Open) -> None:
    page = show(make(WIDE_TABLE), sort="document")
    page.set_viewport_size({"width": 1366, "height": 560})
    scroll_panel_down(page)
    page.focus("#rows")
    page.keyboard.press("j")
    expect(page.locator("#answer")).to_have_text("“leukaemia”")
    assert panel_top(page) == 0
    search(page, "cancer")
    scroll_panel_down(page)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator("#answer")).to_have_text("“lymphoma”")
    assert panel_top(page) == 0


def test_the_panel_begins_at_its_top_for_each_mention_of_a_document(make: Make, show: Open) -> None:
    text = "1|t|Leukaemia and leukaemia and lymphoma\n1|a|\n"
    marks = "1\t0\t9\tLeukaemia\tDisease\n1\t14\t23\tleukaemia\tDisease\n"
    marks += "1\t28\t36\tlymphoma\tDisease\n\n"
    page = show(make(text + marks, "a.pubtator.txt", ""), show="all", sort="document")
    page.set_viewport_size({"width": 1366, "height": 560})
    page.keyboard.press("v")
    selected = page.locator("#document .mention.selected")
    expect(selected).to_have_text("Leukaemia")
    for mention in ("leukaemia", "lymphoma"):  # the second one is of the same row
        search(page, "cancer")
        scroll_panel_down(page)
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        expect(selected).to_have_text(mention)
        expect(page.locator("#place")).to_be_in_viewport()
        assert panel_top(page) == 0


def test_candidates_that_are_hardly_ever_right_are_folded(
    make: Make, show: Open, address: str
) -> None:
    project = make("finding,ward\nbreast cancers,1\nlymphoma,2\n")
    page = show(project, sort="document")
    key = page.locator("#answer").get_attribute("data-key")
    (part,) = asked(f"{address}{project}/groups/{key}")["prediction"]["parts"]
    likely = sum(candidate["confidence"] >= 0.01 for candidate in part["candidates"])
    assert 1 <= likely < len(part["candidates"])
    candidates = page.locator("#candidates .candidates li")
    expect(candidates).to_have_count(likely)
    page.keyboard.press(str(likely + 1))  # which is not in sight
    expect(page.locator("#status")).to_have_text(
        f"There is no candidate {likely + 1}. Press m for more."
    )
    assert asked(f"{address}decisions")["decisions"] == []
    page.keyboard.press("m")
    expect(page.locator("#more")).to_have_count(0)
    numbers = candidates.locator("kbd").all_text_contents()
    assert numbers[:9] == [str(number) for number in range(1, 1 + min(9, len(numbers)))]
    names = candidates.locator(".name").all_text_contents()
    assert names[: len(part["candidates"])] == [c["name"] for c in part["candidates"]]
    folded = part["candidates"][likely]
    page.keyboard.press(str(likely + 1))
    expect(page.locator("#status")).to_contain_text(folded["concept_id"])
    (decision,) = asked(f"{address}decisions")["decisions"]
    assert decision["concept_id"] == folded["concept_id"]
