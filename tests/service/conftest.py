"""A service over the sample dictionary, and a client of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Dictionary, Linker

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="the extra test is not installed")

from fastapi.testclient import TestClient

from linker.service.app import create
from linker.service.settings import Limits, Settings
from linker.service.state import Service

Start = Callable[..., TestClient]


@pytest.fixture(scope="session")
def linker(sample: Path) -> Linker:
    return Linker.train(Dictionary.read(sample), encoder="tfidf")


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
