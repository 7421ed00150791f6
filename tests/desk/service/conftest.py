"""A service over the sample dictionary, and a client of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary, Linker
from linker.training.pipeline import train

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="the extra test is not installed")

from fastapi.testclient import TestClient

from linker.desk.service.app import create
from linker.desk.service.settings import Limits, Settings
from linker.desk.service.state import Service

from .browser import BROWSER, SWITCHES

Start = Callable[..., TestClient]


@pytest.fixture(scope="session")
def linker(sample: Path) -> Linker:
    return train(Dictionary.read(sample), encoder="tfidf")


@pytest.fixture(scope="session")
def model(linker: Linker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder, not to be changed."""
    folder = tmp_path_factory.mktemp("service") / "sample-model"
    linker.save(folder)
    return folder


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
    with playwright.sync_playwright() as driver:
        yield driver.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("browser"),
            executable_path=BROWSER,
            args=[f"--{switch}" for switch in SWITCHES],
            viewport={"width": 1280, "height": 900},
        )


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for screenshots."""
    folder = Path(os.environ.get("LINKER_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
