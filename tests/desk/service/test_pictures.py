"""The pictures of the documentation, taken of the pages as they are.

LINKER_PICTURES=docs/images python -m pytest tests/desk/service/test_pictures.py

writes them anew; else they go into a temporary folder, and only what they show is tested.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
from linker.desk.service.app import create
from linker.desk.service.settings import Settings
from linker.desk.service.state import Service

playwright = pytest.importorskip("playwright.sync_api", reason="the extra test is not installed")

from .browser import (  # noqa: E402
    asked,
    is_too_wide,
    needs_browser,
    opened,
    serving,
    wait_until_linked,
)

ROOT = Path(__file__).resolve().parents[3]
expect = playwright.expect
pytestmark = needs_browser
LOOKS = {1280: ("light", "dark"), 400: ("narrow",)}  # by the width of the page
HEIGHT = 840


@pytest.fixture(scope="module")
def address(linker: Linker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with a registry of which a part is reviewed, and some abstracts."""
    file = tmp_path_factory.mktemp("pictures") / "projects.sqlite"
    names = [
        line.split("\t")[0]
        for line in (ROOT / "dictionaries/sample_mentions.tsv").read_text("utf-8").splitlines()
    ]
    rows = [f"{n},{name},{30 + n % 50}" for n, name in enumerate([*names, *names[::3]], 1)]
    table = "\n".join(["patient,diagnosis,age", *rows]).encode()
    documents = (ROOT / "dictionaries/sample_documents.pubtator.txt").read_bytes()
    with serving(create(Service(Settings("sample", str(file)), linker))) as address:
        for name, content in (("registry.csv", table), ("abstracts.pubtator.txt", documents)):
            asked(f"{address}projects?{query(name)}", content)
        for number in (1, 2):
            wait_until_linked(f"{address}projects/{number}")
        queue = asked(f"{address}projects/1/queue?sort=frequency&limit=12")["rows"]
        for row in queue[:9]:
            ids = "|".join(answer["concept_id"] for answer in row["answers"] if answer) or None
            decide(address, "Ada", row["key"], ids)
        for row in queue[:6]:
            ids = "|".join(answer["concept_id"] for answer in row["answers"] if answer) or None
            decide(address, "Bob", row["key"], None if row is queue[2] else ids)
        flag = {"reviewer": "Ada", "key": queue[10]["key"], "kind": "flag", "value": "1"}
        asked(f"{address}projects/1/remarks", flag)
        document = f"{address}projects/2/documents/1"
        marks = [{"action": "add", "after": {"spans": [[0, 14]], "type": "Disease"}}]
        said = {"reviewer": "Ada", "marks": marks, "version": asked(document)["marks_version"]}
        asked(f"{document}/marks", said)
        yield address


def query(name: str) -> str:
    column = {"column": "diagnosis"} if name.endswith(".csv") else {}
    return urllib.parse.urlencode({"file": name, "name": name.split(".")[0]} | column)


def decide(address: str, reviewer: str, key: str, ids: str | None) -> None:
    said = {"reviewer": reviewer, "decisions": [{"key": key, "concept_id": ids}]}
    asked(f"{address}projects/1/decisions", said)


def queue(page: Any) -> None:
    expect(page.locator("#rows .row").nth(5)).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("#candidates .part").first).to_be_visible()


def card(page: Any) -> None:
    page.goto(f"{page.url.split('?')[0]}?project=1&show=all&q=breast%20cancers")
    expect(page.locator("#answer")).to_contain_text("breast cancers")
    page.locator("#concept h3").scroll_into_view_if_needed()


def disagreement(page: Any) -> None:
    page.click("#show-disagreements")
    expect(page.locator("#disagreements-view")).to_contain_text("Reviewers disagree on 1 row")


def training(page: Any) -> None:
    if page.locator("#show-more").is_visible():
        page.click("#show-more")
    page.click("#learn")
    expect(page.locator("#learning")).to_be_visible()


def marking(page: Any) -> None:
    page.goto(f"{page.url}&text=1")
    page.locator("#document .mention").get_by_text("Immune trouble").click()
    expect(page.locator("#answer")).to_have_text("“Immune trouble”")
    expect(page.get_by_role("button", name="Remove")).to_be_visible()


VIEWS: dict[str, tuple[int, Callable[[Any], None]]] = {
    "queue": (1, queue),
    "card": (1, card),
    "disagreement": (1, disagreement),
    "training": (1, training),
    "marking": (2, marking),
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures go."""
    asked = os.environ.get("LINKER_PICTURES")
    return Path(asked) if asked else tmp_path_factory.mktemp("images")


@pytest.mark.parametrize("width", LOOKS)
@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str, width: int, address: str, context: Any, pictures: Path) -> None:
    number, prepare = VIEWS[view]
    with opened(context, address, f"review?project={number}") as page:
        page.emulate_media(color_scheme="light")
        page.fill("#reviewer", "Ada")
        page.focus("#rows")
        page.set_viewport_size({"width": width, "height": HEIGHT})
        prepare(page)
        assert not is_too_wide(page)
        for look in LOOKS[width]:
            page.emulate_media(color_scheme="dark" if look == "dark" else "light")
            page.screenshot(path=pictures / f"{view}-{look}.png")


def test_the_report(linker: Linker, context: Any, pictures: Path, tmp_path: Path) -> None:
    linker.save(tmp_path / "linker-model")
    shutil.copy(ROOT / "dictionaries/sample_mentions.tsv", tmp_path)
    command = [sys.executable, "-m", "linker.cli", "evaluate", "sample_mentions.tsv", "-o", "."]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    page = context.new_page()
    page.set_viewport_size({"width": 1280, "height": HEIGHT})
    page.goto((tmp_path / "report.html").as_uri())
    expect(page.locator("h1")).to_be_visible()
    page.screenshot(path=pictures / "report.png")
    page.close()


def test_pages_show_pictures_that_are_there() -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = [
        part.split('"')[0].split(")")[0]
        for text in texts
        for part in text.read_text("utf-8").split("images/")[1:]
    ]
    assert {f"docs/images/{name}" for name in shown} == {
        str(path.relative_to(ROOT)) for path in (ROOT / "docs/images").glob("*.png")
    }
