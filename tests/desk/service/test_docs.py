"""The page of the API, in a real browser: within its policy, and usable with a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from linker import Linker
from linker.desk.service.app import create
from linker.desk.service.settings import Key, Settings
from linker.desk.service.state import Service

from .browser import needs_browser, opened, serving

expect = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed").expect
pytestmark = needs_browser


@pytest.fixture(scope="module")
def address(linker: Linker) -> Iterator[str]:
    settings = Settings("sample", keys=(Key(b"secret"),))
    with serving(create(Service(settings, linker))) as address:
        yield address


def test_routes_are_shown_and_tried(context: Any, address: str) -> None:
    with opened(context, address, "docs") as page:
        model = page.locator("#operations-service-model_model_get")
        expect(model).to_be_visible()
        page.get_by_role("button", name="Authorize").click()
        page.get_by_role("textbox").fill("secret")
        page.locator(".modal-btn.auth.authorize").click()
        page.get_by_role("button", name="Close").last.click()
        model.locator(".opblock-summary-control").click()
        model.get_by_role("button", name="Try it out").click()
        model.get_by_role("button", name="Execute").click()  # with the key
        expect(model.locator(".live-responses-table")).to_contain_text('"encoder": "tfidf"')
