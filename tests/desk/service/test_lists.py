"""The lists beside the queue in a real browser: keys go by the one that is seen."""

from __future__ import annotations

from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")

from .browser import asked, needs_browser, problems  # noqa: E402
from .conftest import Make, Open  # noqa: E402
from .test_review import heading, status  # noqa: E402

expect = playwright.expect
pytestmark = needs_browser
NAMES = "\n".join(
    ("leukaemia", "wwww", "breast cancers", "lymphoma", "yyyy", "Ataxia Telangiectasia", "zzzz")
)


def decided(address: str) -> list[tuple[str, str | None, str]]:
    """What is decided: (mention, concept, reviewer), in order."""
    found = asked(f"{address}decisions")["decisions"]
    return [(d["mention"], d["concept_id"], d["reviewer"]) for d in found]


def decide(address: str, mention: str, concept: str | None, reviewer: str) -> None:
    decision = {"mention": mention, "concept_id": concept, "accepted": True, "scope": ""}
    asked(f"{address}decisions", {"decisions": [decision | {"reviewer": reviewer}]})


def selected(page: Any, view: str) -> Any:
    return page.locator(f"#{view}-view [aria-current=true]")


def test_keys_go_by_the_unsure_mentions_that_are_seen(make: Make, show: Open, address: str) -> None:
    page = show(make(NAMES, "names.txt", ""), sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    page.click("#show-failures")
    heading(page, "wwww")
    expect(selected(page, "failures")).to_contain_text("wwww")
    page.keyboard.press("j")
    heading(page, "yyyy")
    expect(selected(page, "failures").locator(".name")).to_be_focused()
    page.keyboard.press("b")
    status(page, "All are accepted in the queue")
    page.keyboard.press("n")
    status(page, "yyyy: no concept.")
    heading(page, "zzzz")  # the one behind it in the list that is seen
    expect(page.locator("#failures-view li")).to_have_count(2)
    expect(selected(page, "failures")).to_contain_text("zzzz")
    page.keyboard.press("ArrowUp")
    heading(page, "wwww")
    assert problems(page) == ""
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_be_focused()
    page.keyboard.press("Escape")
    expect(selected(page, "failures").locator(".name")).to_be_focused()
    page.keyboard.press("n")
    status(page, "wwww: no concept.")
    page.keyboard.press("n")
    status(page, "zzzz: no concept. Nothing undecided is below it.")
    assert decided(address) == [(text, None, "Ada") for text in ("yyyy", "wwww", "zzzz")]
    expect(page.locator("#failures-view")).to_contain_text("Each undecided mention has a sure")
    page.keyboard.press("v")
    heading(page, "zzzz")


def test_keys_go_on_to_what_the_list_had_no_room_for(make: Make, show: Open, address: str) -> None:
    names = [f"{letter}{letter}{letter}{letter}" for letter in "bcfgjklqvwyz"]
    page = show(make("\n".join(names), "names.txt", ""), sort="document")
    heading(page, names[0])
    page.click("#show-failures")
    rows = page.locator("#failures-view li")
    expect(rows).to_have_count(10)
    expect(page.locator("#failures-view")).to_contain_text("and 2 more rows")
    expect(selected(page, "failures")).to_contain_text(names[0])
    for name in names[1:10]:
        page.keyboard.press("j")
        heading(page, name)
    page.keyboard.press("n")
    status(page, f"{names[9]}: no concept.")
    heading(page, names[10])
    expect(selected(page, "failures")).to_contain_text(names[10])
    assert "below" not in page.text_content("#status")
    page.keyboard.press("n")
    heading(page, names[11])
    page.keyboard.press("n")
    status(page, f"{names[11]}: no concept. Nothing undecided is below it.")
    assert decided(address) == [(name, None, "Ada") for name in names[9:]]


def test_keys_go_by_the_disagreements_that_are_seen(make: Make, show: Open, address: str) -> None:
    for mention in ("breast cancers", "leukaemia", "lymphoma"):
        decide(address, mention, "MESH:D007938", "Bob")
        decide(address, mention, None, "Cid")
    page = show(make(NAMES, "names.txt", ""), sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    page.keyboard.press("c")
    heading(page, "leukaemia")
    expect(selected(page, "disagreements").locator(".name").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    heading(page, "breast cancers")
    page.get_by_role("button", name="Settle breast cancers as no concept").click()
    status(page, "Settled.")
    heading(page, "lymphoma")  # the one behind it
    page.keyboard.press("j")
    status(page, "The last row.")
    page.keyboard.press("k")
    heading(page, "leukaemia")
    page.keyboard.press("n")
    status(page, "leukaemia: no concept.")
    heading(page, "lymphoma")
    expect(page.locator("#disagreements-view h3")).to_have_text("Reviewers disagree on 1 row")
    expect(selected(page, "disagreements")).to_contain_text("lymphoma")
    page.keyboard.press("n")
    expect(page.locator("#disagreements-view h3")).to_have_text("Reviewers disagree nowhere.")
    by_ada = [row for row in decided(address) if row[2] == "Ada"]
    assert by_ada == [
        ("breast cancers", None, "Ada"),
        ("leukaemia", None, "Ada"),
        ("lymphoma", None, "Ada"),
    ]


def test_without_a_row_that_is_seen_no_key_decides(make: Make, show: Open, address: str) -> None:
    page = show(make(NAMES, "names.txt", ""), sort="alphabet")
    page.keyboard.press("c")
    expect(page.locator("#disagreements-view h3")).to_have_text("Reviewers disagree nowhere.")
    heading_of_none = "No mention is selected"
    expect(page.locator("#answer")).to_have_text(heading_of_none)
    for key in ("a", "n", "1", "r"):
        page.keyboard.press(key)
    status(page, "There is no concept to reject.")
    page.keyboard.press("v")
    heading(page, "Ataxia Telangiectasia")  # the row of the queue by which keys go again
    page.keyboard.press("j")
    heading(page, "breast cancers")
    assert decided(address) == []
