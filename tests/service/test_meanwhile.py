"""The page of projects in a real browser: what changes while a reviewer is at work on a row."""

from __future__ import annotations

import json
from typing import Any

from .browser import held_back, needs_browser
from .test_review import Make, Open, address, asked, expect, heading, make, show, status

pytestmark = needs_browser
__all__ = ["address", "make", "show"]  # the fixtures
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
    asked(f"{url}/decisions", json.dumps({"reviewer": "Bob", "decisions": [said]}).encode())


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


def test_what_is_typed_stays_though_the_row_has_another_first_place(make: Make, show: Open) -> None:
    page = show(make(DOCUMENTS, "texts.txt", ""), sort="document")
    heading(page, "leukaemia")
    page.uncheck("#advance")
    page.select_option("#scope", "document")
    page.focus("#rows")
    with held_back(page, "**/decisions"):
        page.keyboard.press("a")
        page.keyboard.press("/")
        page.keyboard.type("lymph")
    expect(page.locator("#places")).not_to_contain_text("leukaemia first")
    expect(page.locator("#query")).to_have_value("lymph")
    with page.expect_request("**/link") as sent:
        page.click("#more")
    assert sent.value.post_data_json["documents"][0]["id"] == "2"


def test_a_late_answer_does_not_move_who_went_elsewhere(make: Make, show: Open) -> None:
    page = show(make(), sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    page.keyboard.press("a")
    status(page, "Ataxia Telangiectasia: MESH:D001260.")
    with held_back(page, "**/decisions"):
        page.keyboard.press("a")
        heading(page, "leukaemia")
        page.keyboard.press("k")
        page.keyboard.press("k")
        heading(page, "Ataxia Telangiectasia")
    status(page, "breast cancers: MESH:D001943.")
    heading(page, "Ataxia Telangiectasia")


def test_a_row_on_which_nothing_was_kept_is_shown_again(make: Make, show: Open) -> None:
    page = show(make(), sort="alphabet")
    heading(page, "Ataxia Telangiectasia")
    page.route("**/decisions", lambda route: route.abort())
    page.keyboard.press("a")
    expect(page.locator("#problem")).to_contain_text("does not answer")
    heading(page, "Ataxia Telangiectasia")
    page.unroute("**/decisions")
    page.keyboard.press("a")
    status(page, "Ataxia Telangiectasia: MESH:D001260.")
    heading(page, "breast cancers")


def test_a_note_goes_with_its_row(make: Make, show: Open, address: str) -> None:
    project = make(DOCUMENTS, "texts.txt", "")
    first = asked(f"{address}{project}/queue?sort=document&limit=1")["rows"][0]["key"]
    decide(address + project, first, None, here=True)
    page = show(project, sort="document", show="all")
    page.locator("#rows [data-state='no concept']").click()
    expect(page.locator("#place")).to_contain_text("no concept")
    page.keyboard.press("t")
    page.keyboard.type("ask Bob")
    for decision in asked(f"{address}decisions")["decisions"]:
        asked(f"{address}decisions/{decision['id']}?reviewer=Bob", method="DELETE")
    expect(page.locator("#rows .row")).to_have_count(2)
    expect(page.locator("#note")).to_have_value("")
