"""What is decided in the panel of a project, in a real browser."""

from __future__ import annotations

from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")

from .browser import asked, needs_browser  # noqa: E402
from .conftest import Make, Open  # noqa: E402
from .test_page import TEXT  # noqa: E402
from .test_review import heading, status  # noqa: E402

expect = playwright.expect
pytestmark = needs_browser


def decisions(address: str) -> list[tuple[str, str | None, str, str]]:
    """What is decided: (mention, concept, scope, reviewer), in order."""
    found = asked(f"{address}decisions")["decisions"]
    return [(d["mention"], d["concept_id"], d["scope"], d["reviewer"]) for d in found]


def decide(address: str, **decision: Any) -> None:
    decision = {"mention": "leukaemia", "accepted": True, "scope": ""} | decision
    asked(f"{address}decisions", {"decisions": [decision]})


def names(make: Make, show: Open, *mentions: str, **query: str) -> Any:
    """A page on which a list of names is decided, in its order."""
    return show(make("\n".join(mentions), "names.txt", ""), sort="document", **query)


def test_parts_have_concepts_of_their_own(make: Make, show: Open, address: str) -> None:
    page = names(make, show, "breast and ovarian cancer", "leukaemia")
    page.keyboard.press("p")  # the second part
    page.keyboard.press("m")  # its further candidates are hardly ever right
    expect(page.locator("#more")).to_have_count(0)
    page.keyboard.press("2")
    status(page, "breast and ovarian cancer: part 2 is MESH:D061325. Part 1 is open.")
    assert decisions(address)[0][1] == "?|MESH:D061325"
    heading(page, "breast and ovarian cancer")


def test_a_decision_on_a_short_form_is_kept_for_its_long_form(
    make: Make,
    show: Open,
    address: str,
) -> None:
    page = show(make(f"7|t|{TEXT}\n7|a|\n", "texts.txt", ""), sort="document", q="A-T")
    note = page.locator(".part .note")
    expect(note).to_contain_text(
        "“A-T” is read as “ataxia telangiectasia”; the decision is kept for the long form"
    )
    promise = page.locator(".part .promise")
    expect(promise).to_have_text("In 9 of 10 such cases the right answer is the first one.")
    page.click("#accept")
    status(page, "ataxia telangiectasia: MESH:D001260.")
    expect(promise).to_have_count(0)  # what a person decided needs none
    note.get_by_role("combobox").select_option("“A-T” in this document")
    page.click("#none")
    status(page, "A-T: no concept.")
    assert [(mention, scope) for mention, _, scope, _ in decisions(address)] == [
        ("ataxia telangiectasia", ""),
        ("A-T", "7"),
    ]


def test_a_contrary_decision_says_what_it_replaces(make: Make, show: Open, address: str) -> None:
    decide(address, concept_id="MESH:D007938", reviewer="Ada")
    page = show(make("leukaemia", "names.txt", ""), show="all")
    page.click("#reject")
    status(page, "leukaemia: not MESH:D007938. You accepted Leukemia MESH:D007938 on ")
    page.click("#status button")
    status(page, "Taken back: ")
    assert decisions(address) == [("leukaemia", "MESH:D007938", "", "Ada")]


def test_a_concept_may_be_broader_than_the_mention(make: Make, show: Open, address: str) -> None:
    page = names(make, show, "leukaemia", "lymphoma")
    page.keyboard.press("x")
    status(page, "The concept that is accepted next is broader than it.")
    page.keyboard.press("a")
    status(page, "leukaemia: MESH:D007938 (broader than it).")
    heading(page, "lymphoma")
    expect(page.locator("#predicate")).to_have_value("")  # of another mention it is not said
    page.select_option("#predicate", "narrower than it")
    page.click("#reject")
    status(page, "lymphoma: not MESH:D008223.")
    found = asked(f"{address}decisions")["decisions"]
    assert [(d["mention"], d["predicate"]) for d in found] == [
        ("leukaemia", "broad"),
        ("lymphoma", ""),
    ]


def test_a_broader_concept_is_offered_where_none_is_sure(
    make: Make, show: Open, address: str
) -> None:
    page = names(make, show, "Kidney Failure like disease", "leukaemia")
    offer = page.get_by_role("button", name="Choose Kidney Diseases as broader")
    offer.click()
    status(page, "Kidney Failure like disease: MESH:D007674 (broader than it).")
    heading(page, "leukaemia")
    expect(offer).to_have_count(0)  # a sure answer needs none
    found = asked(f"{address}decisions")["decisions"]
    assert [(d["concept_id"], d["predicate"]) for d in found] == [("MESH:D007674", "broad")]


def test_mentions_without_a_sure_answer_are_decided_where_they_are_listed(
    make: Make, show: Open, address: str
) -> None:
    page = names(make, show, "zzzz qqqq", "leukaemia", "QXZ", "ZZZZ qqqq")
    page.click("#show-failures")
    view = page.locator("#failures-view")
    expect(view.locator("h3")).to_have_text("3 undecided mentions have no sure answer")
    expect(view.locator("h4")).to_have_text(
        ["no name like it: 2 mentions in 1 row", "short form: 1 mention in 1 row"]
    )
    expect(view).to_contain_text("What would help: decide once what it means here")
    view.get_by_role("button", name="QXZ").press("Enter")
    heading(page, "QXZ")
    page.keyboard.press("n")
    status(page, "QXZ: no concept.")
    expect(view.locator("h3")).to_have_text("2 undecided mentions have no sure answer")
    expect(view.get_by_role("button", name="QXZ")).to_have_count(0)
    view.get_by_role("button", name="zzzz qqqq").click()
    heading(page, "zzzz qqqq")
    page.keyboard.press("n")
    expect(view.locator("h3")).to_have_text("Each undecided mention has a sure answer.")
    assert [mention for mention, *_ in decisions(address)] == ["QXZ", "zzzz qqqq"]
