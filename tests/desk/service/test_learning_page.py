"""Training from the page, in a real browser: asked for, followed, cancelled, compared and used."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.desk.service.settings import Settings
from linker.desk.service.state import Service
from linker.records import Decision

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")
httpx = pytest.importorskip("httpx", reason="the extra test is not installed")
from linker.desk.service.app import create  # noqa: E402

from .browser import is_too_wide, needs_browser, opened, problems, serving  # noqa: E402

expect = playwright.expect
pytestmark = needs_browser
GAIT, ATAXIA = "vermillion gait", "MESH:D001260"
SLOW = 120_000  # milliseconds that a training may take on a busy machine


@pytest.fixture
def page(linker: Linker, model: Path, tmp_path: Path, context: Any) -> Iterator[Any]:
    """A project of a mention that the model does not know, and decisions on 35 others."""
    own = shutil.copytree(model, tmp_path / "own-model")
    service = Service(Settings(str(own), str(tmp_path / "decisions.sqlite")))
    names = [(linker.dictionary.preferred_name(n), linker.dictionary.ids[n]) for n in range(34)]
    decisions = [Decision(m, c, reviewer="Ada") for m, c in [(GAIT, ATAXIA), *names]]
    assert service.store
    service.store.add(decisions)
    with serving(create(service)) as address:
        table = f"name\n{GAIT} disease\n"
        asked = {"file": "a.csv", "name": "maladies", "column": "name"}
        httpx.post(f"{address}projects", params=asked, content=table).raise_for_status()
        with opened(context, address, "review?project=1") as page:
            page.fill("#reviewer", "Ada")
            page.locator("#reviewer").press("Enter")
            yield page


def open_dialog(page: Any, words: str) -> Any:
    expect(page.locator("#learn")).to_have_text(words, timeout=SLOW)
    page.click("#learn")
    dialog = page.get_by_role("dialog", name="Train again")
    expect(dialog).to_be_visible()
    return dialog


def test_a_model_is_trained_compared_and_used(page: Any, pictures: Path) -> None:
    expect(page.locator("#rows")).to_contain_text(f"{GAIT} disease")
    dialog = open_dialog(page, "Train again with 35 decisions")
    dialog.get_by_role("button", name="Train", exact=True).click()
    expect(dialog.get_by_role("progressbar")).to_be_visible()
    assert problems(page) == ""
    page.screenshot(path=pictures / "training-runs.png")
    expect(dialog.get_by_role("status")).to_have_text(
        "A new model has learnt 35 decisions.", timeout=SLOW
    )
    expect(dialog.get_by_role("row")).to_have_count(3)
    expect(dialog.get_by_role("row").nth(1)).to_contain_text("without them34 of 35")
    expect(dialog).to_contain_text("0 became right, and 0 wrong.")
    for look, width in (("light", 1280), ("dark", 1280), ("dark", 400)):
        page.emulate_media(color_scheme=look)
        page.set_viewport_size({"width": width, "height": 800})
        page.screenshot(path=pictures / f"training-{look}-{width}.png")
        assert problems(page) == ""
        assert not is_too_wide(page)

    page.set_viewport_size({"width": 1280, "height": 800})
    page.reload()  # the new model is still there, and used by a click alone
    dialog = open_dialog(page, "A new model is ready")
    expect(dialog.get_by_role("button", name="Use the new model")).to_be_visible()
    missing: list[str] = []
    page.on("response", lambda answer: answer.status == 404 and missing.append(answer.url))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status")).to_have_text(
        "The new model answers from now on.", timeout=SLOW
    )
    page.keyboard.press("Escape")
    expect(page.locator("#rows")).to_contain_text("Ataxia Telangiectasia")
    assert missing == []  # such as rows that are being linked again
    open_dialog(page, "Train again with 35 decisions")


def test_a_training_is_cancelled(page: Any) -> None:
    dialog = open_dialog(page, "Train again with 35 decisions")
    dialog.get_by_role("button", name="Train", exact=True).click()
    dialog.get_by_role("button", name="Cancel the training").click()
    expect(dialog.get_by_role("button", name="Train", exact=True)).to_be_visible(timeout=SLOW)
    assert page.evaluate("document.activeElement.id") == "learning-title"
