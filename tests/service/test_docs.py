"""The page of the API, in a real browser: complete, within its policy, and usable with a key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.service.app import create
from linker.service.settings import Key, Settings
from linker.service.state import Service

from .browser import is_too_wide, needs_browser, opened, problems, serving

expect = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed").expect
pytestmark = needs_browser


@pytest.fixture(scope="module")
def address(linker: Linker) -> Iterator[str]:
    settings = Settings("sample", keys=(Key(b"secret"),))
    with serving(create(Service(settings, linker))) as address:
        yield address


def test_routes_are_shown_and_tried(context: Any, address: str, pictures: Path) -> None:
    context.on("dialog", lambda dialog: dialog.accept("secret"))
    with opened(context, address, "docs") as page:
        model = page.locator("#operations-service-model_model_get")
        expect(model).to_be_visible(timeout=20_000)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=pictures / f"docs-{scheme}.png")
            assert problems(page) == ""
        page.set_viewport_size({"width": 400, "height": 800})
        assert not is_too_wide(page)

        model.locator(".opblock-summary-control").click()
        model.get_by_role("button", name="Try it out").click()
        model.get_by_role("button", name="Execute").click()  # with the key
        expect(model.locator(".live-responses-table")).to_contain_text('"encoder": "tfidf"')
