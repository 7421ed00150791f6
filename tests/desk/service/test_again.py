"""What the page says of answers that go and come again, and of what is taken back, in a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.desk.projects import linking
from linker.desk.service.app import create
from linker.desk.service.settings import Settings
from linker.desk.service.state import Service

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")

from .browser import (  # noqa: E402
    asked,
    needs_browser,
    opened,
    problems,
    serving,
    wait_until_linked,
)
from .conftest import Make, Open  # noqa: E402
from .test_review import heading, progress, status  # noqa: E402

expect = playwright.expect
pytestmark = needs_browser
FETCHED_AHEAD = """performance.getEntriesByType("resource").some(
    ({ name, responseEnd }) => name.endsWith("/groups/1") && responseEnd > 0
)"""
"""Whether the page has the row behind the one that is selected."""
LAST_WEEK = "2026-01-05T10:20:00+00:00"


@pytest.fixture
def service(linker: Linker, tmp_path: Path) -> Service:
    return Service(Settings("sample", str(tmp_path / "projects.sqlite")), linker)


@pytest.fixture
def project(service: Service) -> Iterator[str]:
    """The address of a service with one project of a list."""
    with serving(create(service)) as address:
        asked(f"{address}projects?file=a.txt", b"leukaemia\nlymphoma\nbreast cancers\n")
        wait_until_linked(f"{address}projects/1")
        yield address


def decisions(address: str) -> list[dict[str, Any]]:
    return asked(f"{address}decisions")["decisions"]


def test_rows_that_are_linked_again_say_so(
    project: str, context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, answered = threading.Event(), linking.answered

    def held(*args: Any) -> Any:
        assert goes_on.wait(60)
        return answered(*args)

    missing: list[str] = []
    with opened(context, project, "review?project=1&sort=alphabet") as page:
        page.on("response", lambda answer: answer.status == 404 and missing.append(answer.url))
        page.fill("#reviewer", "Ada")
        heading(page, "breast cancers")
        page.focus("#rows")
        page.wait_for_function(FETCHED_AHEAD)  # which else asks for a row that is gone meanwhile
        monkeypatch.setattr(linking, "answered", held)
        asked(f"{project}projects/1/relink", {})  # as somebody's "Use the new model" does
        expect(page.locator("#queue-summary")).to_contain_text("Rows are being linked again")
        expect(page.locator("#linking-words")).to_have_text("Being linked again: 0%")
        expect(page.locator("#answer")).to_have_text("“breast cancers” is being linked again")
        page.keyboard.press("n")
        status(page, "Nothing was done")
        goes_on.set()
        heading(page, "breast cancers")  # it is the selected row again
        expect(page.locator("#rows .row")).to_have_count(3)
        expect(page.locator("#linking-words")).to_have_text("")
    assert decisions(project) == []
    assert missing == []


def test_an_address_with_a_row_that_is_gone_shows_the_first(project: str, context: Any) -> None:
    missing: list[str] = []
    with opened(context, project, "review") as page:
        page.on("response", lambda answer: answer.status == 404 and missing.append(answer.url))
        page.goto(f"{project}review?project=1&sort=alphabet&key=99")
        heading(page, "breast cancers")
    assert missing == []


def test_a_bulk_of_another_day_is_taken_back_after_a_question(
    service: Service, project: str, context: Any
) -> None:
    accept = {"reviewer": "Ada", "filter": {}}
    asked(f"{project}projects/1/accept", accept)
    assert service.store
    with service.store.transaction() as connection:
        connection.execute("UPDATE steps SET time = ?", [LAST_WEEK])
    with opened(context, project, "review?project=1&sort=alphabet&show=all") as page:
        page.fill("#reviewer", "Ada")
        progress(page, "3 of 3 decided")
        page.locator("#remarks").wait_for()
        page.focus("#rows")
        page.keyboard.press("u")
        question = page.get_by_role("dialog", name="Take back what was done on another day?")
        expect(question).to_contain_text("5 January 2026")
        expect(question).to_contain_text("accepted 3 mentions in 3 rows in bulk")
        expect(question).to_contain_text("All 3 changes")
        assert problems(page) == ""
        question.get_by_role("button", name="Cancel").click()
        status(page, "Nothing was taken back.")
        assert len(decisions(project)) == 3
        page.focus("#rows")
        page.keyboard.press("u")
        question.get_by_role("button", name="Take it back").click()
        status(page, "Taken back: accepted 3 mentions")
        assert decisions(project) == []
        asked(f"{project}projects/1/accept", accept)  # today: it is taken back at once
        progress(page, "3 of 3 decided")
        page.focus("#rows")
        page.keyboard.press("u")
        status(page, "Taken back: accepted 3 mentions")
        progress(page, "0 of 3 decided")


def test_what_is_no_confidence_filters_nothing(make: Make, show: Open) -> None:
    page = show(make(), sort="alphabet", below="0.9")
    rows = page.locator("#rows .row")
    expect(rows).to_have_count(1)
    below = page.locator("[name=below]")
    for typed in ("abc", "0.9abc", "-0.1", "150"):
        below.fill(typed)
        below.press("Enter")
        status(page, f"“{typed}” is no confidence")
        expect(page.locator("#filters :invalid")).to_have_count(1)
    page.select_option("[name=sort]", "frequency")
    status(page, "The rows stay as they were.")
    expect(rows).to_have_count(1)
    below.fill("100 %")
    expect(rows).to_have_count(5)
    page.fill("#above", "abc")
    page.focus("#rows")
    page.keyboard.press("b")
    status(page, "“abc” is no confidence")
    expect(page.locator("#bulk")).to_be_hidden()
    page = show(page.url.split("project=")[1].split("&")[0], sort="alphabet", below="abc")
    expect(page.locator("#problem")).to_contain_text("“abc” is no confidence")
    expect(page.locator("#rows .row")).to_have_count(5)
    expect(page.locator("[name=below]")).to_have_value("")
