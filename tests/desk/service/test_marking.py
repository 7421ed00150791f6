"""Marking mentions in a real browser: by mouse, and by the keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.desk.service.app import create
from linker.desk.service.settings import Settings
from linker.desk.service.state import Service

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")

from starlette.responses import HTMLResponse, Response  # noqa: E402

from .browser import (  # noqa: E402
    held_back,
    is_too_wide,
    needs_browser,
    opened,
    problems,
    serving,
)
from .test_marks import ABSTRACT, TITLE, Documents  # noqa: E402

pytestmark = needs_browser
expect = playwright.expect
HEAD = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Marks</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="icon" href="static/icon.svg">
<link rel="stylesheet" href="static/page.css"><link rel="stylesheet" href="static/review.css">
<script type="module" src="marking-test.js"></script></head>
"""
PAGE = f"""{HEAD}<body><header><h1>Marks</h1></header><div id="problem" role="alert" hidden></div>
<main><section class="panel" aria-label="Document" id="document"></section>
<section class="panel"><h2 id="answer" tabindex="-1">No mention</h2></section></main>
<footer><p id="status" role="status"></p></footer></body></html>"""
SCRIPT = """
import { DocumentView } from "./static/documents.js";
import { attempt, byId } from "./static/elements.js";
const select = (mention) => { byId("answer").textContent = mention?.text ?? "No mention"; };
const who = () => ({ reviewer: "Ada" });
const view = new DocumentView({ address: "projects/1", who, select, changed: () => {} });
window.view = view;
attempt(() => view.open(1));
"""


@pytest.fixture
def address(linker: Linker, tmp_path: Path) -> Iterator[str]:
    """A service with the project of `Documents`, and a page that shows nothing but its documents."""
    settings = Settings(model="sample", decisions=str(tmp_path / "decisions.sqlite"))
    app = create(Service(settings, linker))
    policy = {"Content-Security-Policy": "default-src 'self'; img-src 'self' data:"}
    app.add_api_route("/marking-test", lambda: HTMLResponse(PAGE, headers=policy))
    script = Response(SCRIPT, media_type="text/javascript")
    app.add_api_route("/marking-test.js", lambda: script)
    with serving(app) as address:
        yield address


@pytest.fixture
def documents(address: str) -> Iterator[Documents]:
    httpx = pytest.importorskip("httpx")
    with httpx.Client(base_url=address) as client:
        yield Documents(client)


@pytest.fixture
def page(context: Any, address: str, documents: Documents) -> Iterator[Any]:
    with opened(context, address, "marking-test") as page:
        expect(page.locator("#document .mention")).to_have_count(3)
        yield page


def status(page: Any, text: str) -> None:
    expect(page.locator("#status")).to_contain_text(text)


def mentions(documents: Documents) -> list[tuple[str, str]]:
    return [(m["text"], m["type"]) for m in documents.get()["mentions"]]


def edges(page: Any, text: str) -> tuple[float, float, float]:
    """Where a text stands on the page: its left and right, and the middle of its line."""
    return page.evaluate(
        """(text) => {
            for (const piece of document.querySelectorAll("#document [data-start]")) {
                const at = piece.textContent.indexOf(text);
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(piece.firstChild, at);
                range.setEnd(piece.firstChild, at + text.length);
                const box = range.getBoundingClientRect();
                return [box.left, box.right, (box.top + box.bottom) / 2];
            }
        }""",
        text,
    )


def drag(page: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=5)
    page.mouse.up()


def select(page: Any, text: str, inset: float = 9.0) -> None:
    """Select nearly all of a text by the mouse."""
    left, right, middle = edges(page, text)
    drag(page, (left + inset, middle), (right - inset, middle))


def test_text_that_is_selected_is_marked_and_linked(page: Any, documents: Documents) -> None:
    select(page, "leukaemia")
    expect(page.locator(".picking")).to_have_text("“leukaemia”")  # the whole word
    page.keyboard.press("+")
    status(page, "Marked. leukaemia, denied: Leukemia")
    expect(page.locator("#answer")).to_have_text("leukaemia")
    expect(page.locator("a.mention.selected")).to_be_focused()
    assert ("leukaemia", "Disease") in mentions(documents)
    page.get_by_label("Type").select_option("Chemical")
    status(page, "Changed. leukaemia: not linked")
    page.get_by_role("button", name="Remove").click()
    status(page, "Removed “leukaemia”")
    assert len(mentions(documents)) == 3
    select(page, "telangiectasia")
    page.keyboard.press("+")
    status(page, f"It overlaps “{TITLE}”.")


def test_a_type_that_nobody_used_is_typed(page: Any, documents: Documents) -> None:
    page.once("dialog", lambda dialog: dialog.accept("Cell"))
    select(page, "leukaemia")
    page.get_by_label("Type").select_option("another …")
    expect(page.get_by_label("Type")).to_have_value("Cell")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Mark", exact=True).click()
    status(page, "Marked. leukaemia: not linked")
    assert ("leukaemia", "Cell") in mentions(documents)


def test_alt_marks_characters(page: Any, documents: Documents) -> None:
    page.keyboard.down("Alt")
    left, right, middle = edges(page, "leukaemia")
    width = (right - left) / 9
    drag(page, (left + 1, middle), (left + 4 * width + 1, middle))
    page.keyboard.up("Alt")
    expect(page.locator(".picking")).to_have_text("“leuk”")
    page.get_by_role("button", name="Mark", exact=False).first.click()
    status(page, "Marked. leuk")
    assert ("leuk", "Disease") in mentions(documents)


def test_a_composite_is_split_into_what_the_model_reads(page: Any, documents: Documents) -> None:
    page.locator("a.mention", has_text="Breast").click()
    page.keyboard.press("s")
    expect(page.locator(".splitting li")).to_contain_text(["“Breast … cancer”", "“ovarian cancer”"])
    page.get_by_role("button", name="Without “ovarian cancer”").click()
    select(page, "ovarian")
    page.keyboard.press("+")
    select(page, "cancer", 4)
    page.keyboard.press("&")
    page.keyboard.press("s")
    status(page, "Split into 2. Breast cancer:")
    spans = [m["spans"] for m in documents.get()["mentions"][1:3]]
    assert spans == [[[22, 28], [41, 47]], [[33, 40], [41, 47]]]
    page.reload()
    expect(page.locator("#document a.mention")).to_have_count(4)


def test_a_piece_is_added(page: Any, documents: Documents) -> None:
    select(page, "leukaemia")
    page.keyboard.press("Insert")
    status(page, "Marked.")
    select(page, " cure")
    page.get_by_role("button", name="Add piece").click()
    status(page, "Added. leukaemia cure, denied:")
    assert documents.get()["mentions"][2]["spans"] == [[52, 61], [65, 69]]


def test_marking_by_the_keyboard_alone(page: Any, documents: Documents) -> None:
    page.locator("#document .text").focus()
    page.keyboard.press("i")
    status(page, "Marking by keys")
    expect(page.locator("#document .text")).to_have_attribute("role", "application")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    status(page, "“no”")
    page.keyboard.press("Shift+ArrowRight")
    status(page, "“no leukaemia”")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    status(page, "Marked. leukaemia, denied: Leukemia")
    expect(page.locator("#document .text")).to_be_focused()  # and goes on
    page.keyboard.press("ArrowRight")
    status(page, "“cure”")
    page.keyboard.press("Escape")
    expect(page.locator("a.mention.selected")).to_be_focused()
    page.keyboard.press("Delete")
    status(page, "Removed “leukaemia”")
    assert len(mentions(documents)) == 3


def test_what_another_tab_changed_is_shown_and_said(page: Any, documents: Documents) -> None:
    documents.mark({"action": "delete", "before": {"spans": [[0, 21]], "type": "Disease"}})
    select(page, "leukaemia")
    page.keyboard.press("+")
    expect(page.locator("#problem")).to_contain_text("The document was changed meanwhile")
    expect(page.locator("#document a.mention")).to_have_count(2)
    page.get_by_role("button", name="Close").click()
    left, *_ = edges(page, "telangiectasia")
    _, right, middle = edges(page, "leukaemia")
    drag(page, (left + 3, edges(page, "telangiectasia")[2]), (right - 3, middle))
    expect(page.locator(".picking")).to_contain_text("This goes across passages")
    expect(page.get_by_role("button", name="Mark", exact=True)).to_be_disabled()
    page.keyboard.press("+")
    status(page, "mark each passage by itself")
    assert len(mentions(documents)) == 2


def test_documents_are_walked_and_said_to_be_done(page: Any, documents: Documents) -> None:
    expect(page.get_by_role("button", name="Previous")).to_be_disabled()
    page.get_by_label("All mentions of this document are marked").check()
    status(page, "Kept: all mentions are marked.")
    assert documents.get()["done"]
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name="Document 8")).to_be_focused()
    expect(page.get_by_label("All mentions of this document are marked")).not_to_be_checked()
    page.get_by_text("All documents").click()
    rows = page.locator("details.documents tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(TITLE)
    page.get_by_label("In order of").select_option("doubt")
    page.get_by_role("button", name="7", exact=True).click()
    expect(page.locator("#document .text")).to_contain_text(ABSTRACT)


def test_marking_and_deciding_go_together(context: Any, address: str, documents: Documents) -> None:
    with opened(context, address, "review?project=1&text=0") as page:  # which shows the first
        page.fill("#reviewer", "Ada")
        expect(page.locator("#document a.mention")).to_have_count(3)
        select(page, "leukaemia")
        page.keyboard.press("+")
        status(page, "Marked. leukaemia, denied: Leukemia")
        expect(page.locator("#answer")).to_have_text("“leukaemia”")
        page.keyboard.press("a")
        status(page, "leukaemia: MESH:D007938.")
        assert documents.get()["mentions"][2]["state"] == "accepted"
        for undone in ("leukaemia: MESH:D007938", "marked “leukaemia”"):
            page.keyboard.press("u")
            status(page, f"Taken back: {undone}")
        expect(page.locator("#document a.mention")).to_have_count(3)
        page.locator("a.mention", has_text="Ataxia").click()
        page.keyboard.press("a")  # and goes on to the next mention that is undecided
        expect(page.locator("#answer")).to_have_text("“Breast and ovarian cancer”")
        page.reload()
        expect(page.locator("a.mention.selected")).to_contain_text("Breast")
        assert problems(page) == ""
        page.keyboard.press("v")
        expect(page.locator("#rows .row")).to_have_count(2)


# what somebody is doing, while the text is drawn anew


@pytest.fixture
def review(context: Any, address: str, documents: Documents) -> Iterator[Any]:
    """The page of projects with the first document, whose reviewer is Ada."""
    with opened(context, address, "review?project=1&text=1") as page:
        page.fill("#reviewer", "Ada")
        expect(page.locator("#document a.mention")).to_have_count(3)
        yield page


def others_decide(page: Any, documents: Documents, mention: str = TITLE) -> None:
    """Bob decides on a mention; the page has drawn the text anew when this is done."""
    key = next(m["key"] for m in documents.get()["mentions"] if m["text"] == mention)
    said = {"reviewer": "Bob", "decisions": [{"key": key, "concept_id": None}]}
    answer = documents.client.post(f"{documents.path}/decisions", json=said)
    assert answer.status_code < 300, answer.text
    shown = page.locator(".mention[data-state='no concept']")
    expect(shown.get_by_text(mention, exact=True)).to_be_visible()


def is_selected(page: Any, text: str) -> bool:
    """Whether the browser shows a text as selected, or does so soon."""
    for _ in range(250):
        if page.evaluate("getSelection().toString()") == text:
            return True
        page.wait_for_timeout(20)
    return False


def test_selected_text_stays_when_others_decide(review: Any, documents: Documents) -> None:
    select(review, "leukaemia")
    expect(review.locator(".picking")).to_have_text("“leukaemia”")
    others_decide(review, documents)
    assert is_selected(review, "leukaemia")
    expect(review.locator(".picking")).to_have_text("“leukaemia”")
    review.keyboard.press("+")
    status(review, "Marked. leukaemia, denied: Leukemia")


def test_parts_that_were_named_stay_when_others_decide(review: Any, documents: Documents) -> None:
    review.locator("a.mention", has_text="Breast").click()
    expect(review.locator("#answer")).to_contain_text("Breast")
    review.keyboard.press("s")
    review.get_by_role("button", name="Without “ovarian cancer”").click()
    others_decide(review, documents)
    expect(review.locator(".splitting li")).to_have_text(["“Breast … cancer” ×"])
    select(review, "ovarian")
    others_decide(review, documents, "Breast and ovarian cancer")
    review.keyboard.press("+")
    expect(review.locator(".splitting li")).to_have_count(2)
    review.keyboard.press("s")
    status(review, "Split into 2. Breast cancer:")
    expect(review.locator(".splitting")).to_be_hidden()


def test_what_was_not_kept_is_still_selected(review: Any, documents: Documents) -> None:
    select(review, "leukaemia")
    review.route("**/marks", lambda route: route.abort())
    review.keyboard.press("+")
    expect(review.locator("#problem")).to_contain_text("does not answer")
    expect(review.locator(".picking")).to_have_text("“leukaemia”")
    review.unroute("**/marks")
    review.keyboard.press("+")
    status(review, "Marked. leukaemia, denied: Leukemia")
    assert is_selected(review, "")


def test_marks_are_kept_in_the_document_that_was_left(review: Any, documents: Documents) -> None:
    review.get_by_role("button", name="Next", exact=True).click()
    expect(review.get_by_role("heading", name="Document 8")).to_be_focused()
    with held_back(review, "**/marks"):
        select(review, "Two", 2)
        expect(review.locator(".picking")).to_have_text("“Two”")
        review.keyboard.press("+")
        review.locator("a.mention", has_text="lymphomas").click()
        review.keyboard.press("Delete")
        review.get_by_role("button", name="Previous", exact=True).click()
        expect(review.get_by_role("heading", name="Document 7")).to_be_visible()
    status(review, "Document 7: 3 mentions.")  # behind both marks
    texts = [[m["text"] for m in documents.get(number)["mentions"]] for number in (1, 2)]
    assert texts == [[TITLE, "Breast and ovarian cancer", "𝒜"], ["Two"]]


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_everybody_can_use_it(page: Any, width: int, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("a.mention", has_text="Breast").click()
    assert problems(page) == ""
    page.keyboard.press("s")
    expect(page.locator(".splitting li")).to_have_count(2)
    page.get_by_text("All documents").click()
    assert problems(page) == ""
    assert not is_too_wide(page)
    page.keyboard.press("Escape")
    page.locator("#document .text").focus()
    page.keyboard.press("i")
    assert problems(page) == ""
