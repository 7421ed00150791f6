"""The page of projects in a real browser: what changes while a reviewer is at work on a row."""

from __future__ import annotations

from typing import Any

from .browser import asked, held_back, needs_browser
from .conftest import Make, Open
from .test_review import expect, heading, progress, status

pytestmark = needs_browser
DOCUMENTS = "".join(
    f"{number}|t|{text}\n{number}|a|\n{number}\t0\t{len(mention)}\t{mention}\tDisease\n\n"
    for number, text, mention in (
        (1, "leukaemia first", "leukaemia"),
        (2, "leukaemia again", "leukaemia"),
        (3, "lymphoma", "lymphoma"),
    )
)


def decide(url: str, key: str, ids: str | None, **further: Any) -> None:
    said = {"key": key, "concept_id": ids, **further}
    asked(f"{url}/decisions", {"reviewer": "Bob", "decisions": [said]})


def test_candidates_and_focus_stay_when_others_decide(make: Make, show: Open, address: str) -> None:
    project = make()
    page = show(project, sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    page.keyboard.press("m")
    candidates = page.locator("#candidates ol.candidates > li")
    expect(candidates).to_have_count(30)
    last = candidates.last.get_by_role("button", name="Choose")
    last.focus()
    label = last.get_attribute("aria-label")
    row = asked(f"{address}{project}/queue?sort=alphabet&limit=1")["rows"][0]
    decide(address + project, row["key"], row["answers"][0]["concept_id"])
    expect(page.locator("#decisions")).to_contain_text("by Bob")
    expect(candidates).to_have_count(30)
    expect(page.locator(":focus")).to_have_attribute("aria-label", label)


def test_what_waits_behind_a_decision_that_fails_is_done_on_no_other_row(
    make: Make, show: Open, address: str
) -> None:
    page = show(make(), sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    held: list[Any] = []
    page.route("**/decisions", lambda r: r.continue_() if held else held.append(r))
    page.keyboard.press("a")
    heading(page, "breast cancers")
    page.keyboard.press("n")
    while not held:
        page.wait_for_timeout(20)
    held[0].abort()
    expect(page.locator("#problem")).to_contain_text("does not answer")
    heading(page, "Ataxia Telangiectasia")
    page.keyboard.press("f")
    status(page, "Flagged.")
    assert asked(f"{address}decisions")["decisions"] == []


def selected(page: Any, mention: str) -> None:
    expect(page.locator("#rows .row[aria-selected=true]")).to_contain_text(mention)


def noted(url: str, kind: str) -> dict[str, Any]:
    """The flags or notes of the rows, by their mentions."""
    rows = asked(f"{url}/queue?show=all")["rows"]
    return {row["mention"]: row[kind] for row in rows if row[kind]}


def test_flag_and_note_are_on_the_row_that_is_selected(
    make: Make, show: Open, address: str
) -> None:
    url = address + (project := make())
    page = show(project, sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    with held_back(page, "**/groups/*"):
        page.keyboard.press("End")  # whose row was not fetched ahead
        selected(page, "tall stature")
        page.keyboard.press("f")
        page.keyboard.press("t")
        page.keyboard.type("ask ")
    heading(page, "tall stature")
    status(page, "Flagged.")
    page.keyboard.type("Bob")
    expect(page.locator("#note")).to_have_value("ask Bob")
    page.keyboard.press("Enter")
    status(page, "The note is kept.")
    assert noted(url, "flag") == {"tall stature": True}
    assert noted(url, "note") == {"tall stature": "ask Bob"}


def test_a_note_stays_on_its_row_while_another_is_fetched(
    make: Make, show: Open, address: str
) -> None:
    url = address + (project := make())
    page = show(project, sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    page.keyboard.press("t")
    page.keyboard.type("of ataxia")
    with held_back(page, "**/groups/*"):
        page.locator("#rows .row", has_text="tall stature").click()
        selected(page, "tall stature")
        expect(page.locator("#note")).to_have_value("")
        page.keyboard.press("t")
        page.keyboard.type("of stature")
        page.keyboard.press("Enter")
    heading(page, "tall stature")
    expect(page.locator("#rows .signs")).to_have_count(2)
    assert noted(url, "note") == {
        "Ataxia Telangiectasia": "of ataxia",
        "tall stature": "of stature",
    }


def test_what_is_decided_late_takes_nobody_from_a_note(
    make: Make, show: Open, address: str
) -> None:
    url = address + (project := make(DOCUMENTS, "texts.txt", ""))
    page = show(project, sort="document", show="all")
    heading(page, "leukaemia")
    with held_back(page, "**/decisions"):
        page.keyboard.press("a")
        heading(page, "lymphoma")
        page.keyboard.press("t")
        page.keyboard.type("ask ")
    progress(page, "2 of 3 decided")
    page.keyboard.press("u")  # a letter of the note
    page.keyboard.type("s")
    page.keyboard.press("Enter")
    status(page, "The note is kept.")
    heading(page, "lymphoma")
    assert noted(url, "note") == {"lymphoma": "ask us"}


def test_a_note_of_others_is_not_replaced_unseen(make: Make, show: Open, address: str) -> None:
    url = address + (project := make())
    page = show(project, sort="alphabet")
    row = asked(f"{url}/queue?sort=alphabet&limit=1")["rows"][0]
    page.keyboard.press("t")
    page.keyboard.type("ask Eve")
    body = {"reviewer": "Bob", "key": row["key"], "kind": "note", "value": "see chart 7"}
    asked(f"{url}/remarks", body)
    expect(page.locator("#rows .signs")).to_have_count(1)  # so that Ada's page knows it
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("The note is now 'see chart 7', by Bob")
    expect(page.locator("#note")).to_have_value("ask Eve")
    assert noted(url, "note") == {row["mention"]: "see chart 7"}
    page.get_by_role("button", name="Try again").click()
    status(page, "The note is kept.")
    expect(page.locator("#note")).to_have_value("ask Eve")
    assert noted(url, "note") == {row["mention"]: "ask Eve"}
