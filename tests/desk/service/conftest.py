"""A service over the sample dictionary, and a client of it."""

from __future__ import annotations

import os
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="the extra test is not installed")

from fastapi.testclient import TestClient

from linker.desk.service.app import create
from linker.desk.service.settings import Limits, Settings
from linker.desk.service.state import Service

from .browser import BROWSER, LONGEST_WAIT, SWITCHES, asked, opened, serving, wait_until_linked

Start = Callable[..., TestClient]
Make = Callable[..., str]
Open = Callable[..., Any]
TABLE = (
    "patient,finding,age\n1,leukaemia,3\n2,lymphoma,4\n3,leukaemia,5\n4,breast cancers,50\n"
    "5,tall stature,9\n6,Ataxia Telangiectasia,8\n"
)  # 6 mentions in 5 rows


@pytest.fixture(scope="session")
def linker(sample_linker: Linker) -> Linker:
    return sample_linker


@pytest.fixture(scope="session")
def model(linker: Linker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder, not to be changed."""
    folder = tmp_path_factory.mktemp("service") / "sample-model"
    linker.save(folder)
    return folder


@pytest.fixture(scope="session", autouse=True)
def services(uncollected: None) -> Iterator[None]:
    """Services of these tests start at once, and their trainings do not wait for other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linker.desk.service.learning._POLITE", 0)
        yield


@pytest.fixture
def start(linker: Linker, tmp_path: Path) -> Iterator[Start]:
    """Starts services; `limits` and further settings may be given."""
    clients: list[TestClient] = []

    def started(limits: dict[str, Any] | None = None, **settings: Any) -> TestClient:
        settings = {"model": "sample", "decisions": str(tmp_path / "decisions.sqlite")} | settings
        service = Service(Settings(limits=Limits(**limits or {}), **settings), linker)
        clients.append(TestClient(create(service)))
        clients[-1].service = service
        return clients[-1].__enter__()

    yield started
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(start: Start) -> TestClient:
    return start()


@pytest.fixture(scope="module")  # no longer: its loop of events stops other tests from having one
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser; pages are opened in it."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the extra test is not installed"
    )
    playwright.expect.set_options(timeout=LONGEST_WAIT)
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("browser"),
            executable_path=BROWSER,
            args=[f"--{switch}" for switch in SWITCHES],
            viewport={"width": 1280, "height": 900},
        )


@pytest.fixture(scope="module")
def address(linker: Linker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("projects") / "projects.sqlite"
    with serving(create(Service(Settings("sample", str(file)), linker))) as address:
        yield address


@pytest.fixture
def make(address: str) -> Make:
    """Makes a project of a file, and gives its address once it is linked; others go before."""
    for project in asked(f"{address}projects")["projects"]:
        asked(f"{address}projects/{project['id']}", method="DELETE")
    while decisions := asked(f"{address}decisions")["decisions"]:  # what they replaced comes back
        for decision in decisions:
            asked(f"{address}decisions/{decision['id']}?reviewer=x", method="DELETE")

    def make(content: str = TABLE, file: str = "findings.csv", column: str = "finding") -> str:
        query = {"file": file} | ({"column": column} if column else {})
        path = f"{address}projects?{urllib.parse.urlencode(query)}"
        project = f"projects/{asked(path, content.encode())['id']}"
        wait_until_linked(address + project)
        return project

    return make


@pytest.fixture
def show(address: str, context: Any) -> Iterator[Open]:
    """Opens a project as a reviewer, who is asked for where none is given."""
    pages = []

    def show(project: str, reviewer: str = "Ada", **query: str) -> Any:
        query = {"project": project.removeprefix("projects/")} | query
        page = opened(context, address, f"review?{urllib.parse.urlencode(query)}")
        pages.append(page)
        page = page.__enter__()
        page.fill("#reviewer", reviewer)
        page.locator("#rows .row").first.wait_for()
        page.locator("#remarks").wait_for()  # keys act on the row that is selected
        page.focus("#rows")
        return page

    yield show
    for page in reversed(pages):
        page.__exit__(None, None, None)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for screenshots."""
    folder = Path(os.environ.get("LINKER_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
