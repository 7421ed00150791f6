"""The parts of a composite on the page of projects, in a real browser: each is decided alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")

from .browser import asked, needs_browser, problems  # noqa: E402
from .conftest import Make, Open  # noqa: E402
from .test_deciding import decide, decisions, names  # noqa: E402
from .test_review import heading, progress, status  # noqa: E402

expect = playwright.expect
pytestmark = needs_browser
BOTH = "breast and ovarian cancer"
BREAST, OVARIAN, ATAXIA = "MESH:D001943", "MESH:D010051", "MESH:D001260"
TEXT = f"A case of {BOTH} in a patient with leukaemia, seen in May."
MARKED = (
    f"7|t|{TEXT}\n7|a|\n7\t10\t35\t{BOTH}\tDisease\n7\t54\t63\tleukaemia\tDisease\n\n"
    f"8|t|No {BOTH}\n8|a|\n8\t3\t28\t{BOTH}\tDisease\n"
)


def concepts(address: str) -> list[str | None]:
    """What is decided, in order."""
    return [concept for _, concept, _, _ in decisions(address)]


def in_use(page: Any, number: int) -> None:
    """The part on which keys act."""
    expect(page.locator(".part.in-use")).to_have_attribute("aria-label", f"Part {number}")
    expect(page.locator(f".part:nth-child({number}) .acts")).to_be_visible()


def state_of(page: Any, state: str) -> None:
    expect(page.locator("#rows .row").first).to_have_attribute("data-state", state)


def test_a_key_decides_the_part_in_use_alone(
    make: Make, show: Open, address: str, pictures: Path
) -> None:
    page = names(make, show, BOTH, "leukaemia")
    in_use(page, 1)
    expect(page.locator("#accept")).to_contain_text("Accept part 1")
    page.keyboard.press("1")
    status(page, f"{BOTH}: part 1 is {BREAST}. Part 2 is open.")
    assert concepts(address) == [f"{BREAST}|?"]
    in_use(page, 2)
    heading(page, BOTH)
    state_of(page, "open")
    expect(page.locator("#rows .row").first).to_contain_text("open (perhaps Ovarian Neoplasms)")
    expect(page.locator("#decisions")).to_contain_text(f"part 1 is Breast Neoplasms {BREAST}")
    progress(page, "0 of 2 decided")
    page.screenshot(path=pictures / "parts.png")
    assert problems(page) == ""
    page.keyboard.press("a")
    status(page, f"{BOTH}: part 2 is {OVARIAN}.")
    heading(page, "leukaemia")
    assert concepts(address) == [f"{BREAST}|?", f"?|{OVARIAN}"]
    state_of(page, "accepted")
    progress(page, "1 of 2 decided")


def test_a_button_decides_the_part_beside_which_it_stands(
    make: Make, show: Open, address: str
) -> None:
    page = names(make, show, BOTH, "leukaemia")
    page.get_by_role("button", name="Accept Ovarian Neoplasms").click()
    status(page, f"{BOTH}: part 2 is {OVARIAN}. Part 1 is open.")
    assert concepts(address) == [f"?|{OVARIAN}"]
    in_use(page, 1)
    page.click("#none")
    status(page, f"{BOTH}: part 1 is no concept.")
    heading(page, "leukaemia")
    assert concepts(address) == [f"?|{OVARIAN}", "-1|?"]
    state_of(page, "accepted")


def test_keys_in_a_row_go_from_part_to_part_and_on(make: Make, show: Open, address: str) -> None:
    page = names(make, show, BOTH, "leukaemia", "lymphoma")
    for key in ("1", "1", "a"):  # faster than the service answers
        page.keyboard.press(key)
    heading(page, "lymphoma")
    status(page, "leukaemia: MESH:D007938.")  # which was kept by then
    assert concepts(address) == [f"{BREAST}|?", f"?|{OVARIAN}", "MESH:D007938"]


def test_undo_takes_back_one_part(make: Make, show: Open, address: str) -> None:
    page = names(make, show, BOTH)
    page.keyboard.press("a")
    in_use(page, 2)
    page.keyboard.press("n")
    status(page, f"{BOTH}: part 2 is no concept. Nothing undecided is below it.")
    state_of(page, "accepted")
    page.keyboard.press("u")
    status(page, "Taken back")
    state_of(page, "open")
    in_use(page, 2)
    assert concepts(address) == [f"{BREAST}|?"]
    page.keyboard.press("u")
    state_of(page, "linked")
    in_use(page, 1)
    assert concepts(address) == []


def test_a_decided_part_is_decided_anew_alone(make: Make, show: Open, address: str) -> None:
    page = names(make, show, BOTH)
    page.keyboard.press("a")
    in_use(page, 2)
    page.keyboard.press("a")
    state_of(page, "accepted")
    page.locator(".part").first.get_by_text("Part 1").click()
    in_use(page, 1)
    page.keyboard.press("n")
    status(page, "You accepted part 1 is Breast Neoplasms")
    assert concepts(address) == [f"?|{OVARIAN}", "-1|?"]
    in_use(page, 1)  # what somebody chose stays in use


def test_a_rejected_part_leaves_what_was_decided_of_the_other(
    make: Make, show: Open, address: str
) -> None:
    page = names(make, show, BOTH)
    page.keyboard.press("a")
    in_use(page, 2)
    page.keyboard.press("r")
    status(page, f"not {OVARIAN}")
    assert concepts(address) == [f"{BREAST}|?", OVARIAN]
    state_of(page, "open")
    in_use(page, 2)
    expect(page.locator("#accept")).to_be_disabled()
    expect(page.locator(".part.in-use .none")).to_contain_text("a reviewer rejected the best one")
    page.keyboard.press("n")
    state_of(page, "accepted")


def test_two_reviewers_decide_different_parts_and_dispute_the_same(
    make: Make, show: Open, address: str
) -> None:
    project = make(f"{BOTH}\nleukaemia", "names.txt", "")
    decide(address, mention=BOTH, concept_id=f"?|{OVARIAN}", reviewer="Bob")
    page = show(project, sort="document")
    in_use(page, 1)
    page.keyboard.press("a")
    heading(page, "leukaemia")
    state_of(page, "accepted")
    expect(page.locator("#rows .row").first).to_contain_text("Bob, Ada")
    decide(address, mention=BOTH, concept_id=f"{ATAXIA}|?", reviewer="Eve")
    state_of(page, "disputed")
    page.locator("#rows .row").first.click()
    heading(page, BOTH)
    in_use(page, 1)
    expect(page.locator("#decisions .conflict")).to_be_visible()
    page.keyboard.press("1")  # which settles the first part; of the second all agree
    heading(page, "leukaemia")
    state_of(page, "accepted")
    last = asked(f"{address}decisions")["decisions"][-1]
    assert (last["concept_id"], sorted(last["settles"])) == (f"{BREAST}|?", ["Ada", "Bob", "Eve"])


def test_parts_in_a_text(make: Make, show: Open, address: str) -> None:
    page = show(make(MARKED, "some.txt", ""), sort="document")
    heading(page, BOTH)
    page.keyboard.press("v")
    expect(page.locator("#show-document")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("1")
    status(page, "Part 2 is open.")
    in_use(page, 2)
    heading(page, BOTH)
    mention = page.locator(".text [data-anchor='0']")
    expect(mention).to_have_attribute("aria-label", re.compile("open .perhaps Ovarian Neoplasms."))
    page.keyboard.press("1")
    heading(page, "leukaemia")
    assert concepts(address) == [f"{BREAST}|?", f"?|{OVARIAN}"]


def test_parts_in_one_document_alone(make: Make, show: Open, address: str) -> None:
    page = show(make(MARKED, "some.txt", ""), sort="document")
    heading(page, BOTH)
    page.select_option("#scope", "document")
    page.focus("#rows")
    page.keyboard.press("1")
    status(page, "Part 2 is open.")
    in_use(page, 2)
    expect(page.locator("#answer")).to_have_attribute("data-key", re.compile("@1$"))
    page.select_option("#scope", "document")
    page.focus("#rows")
    page.keyboard.press("1")
    expect(page.locator("#answer")).not_to_have_attribute("data-key", re.compile("@1$"))
    assert [(d[1], d[2]) for d in decisions(address)] == [
        (f"{BREAST}|?", "7"),
        (f"?|{OVARIAN}", "7"),
    ]


def test_a_part_that_is_read_otherwise_by_now_is_shown_anew(
    make: Make, show: Open, address: str
) -> None:
    page = names(make, show, "leukaemia", BOTH)
    before: list[bool] = [True]

    def answer(route: Any) -> None:
        """What the model of before made of the mention."""
        response = route.fetch()
        body = response.json()
        if before and body["row"]["mention"] == BOTH:
            for part in body["prediction"]["parts"]:
                part["text"] += " before"
        route.fulfill(response=response, json=body)

    page.route("**/groups/*", answer)
    page.reload()  # which forgets the row that was fetched ahead
    page.locator("#remarks").wait_for()
    page.focus("#rows")
    page.keyboard.press("j")
    heading(page, BOTH)
    expect(page.locator(".part h3").first).to_contain_text("before")
    before.clear()
    page.keyboard.press("1")
    expect(page.locator("#problem")).to_contain_text("other parts")
    expect(page.locator(".part h3").first).not_to_contain_text("before")
    heading(page, BOTH)
    assert concepts(address) == []
    page.keyboard.press("1")
    status(page, f"{BOTH}: part 1 is {BREAST}. Part 2 is open.")
    assert concepts(address) == [f"{BREAST}|?"]
    page.unroute("**/groups/*")
