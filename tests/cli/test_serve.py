"""linker serve: what it starts with; tests/desk/service has the service itself."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import linker.desk.service

from .conftest import Result

Run = Callable[..., Result]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The services that were started; none listens."""
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    from linker.desk.service import serving

    services: list[Any] = []
    monkeypatch.setattr(serving, "serve", lambda service, *_: services.append(service))
    return services


def test_decisions_are_beside_the_model_or_where_the_user_says(
    run: Run, trained: Path, tmp_path: Path, started: list[Any]
) -> None:
    model = tmp_path / "model"
    model.symlink_to(trained)
    beside = tmp_path / "model.decisions.sqlite"  # where the link is, not what it leads to
    assert run("serve", "--port", 0, "--model", model).err == f"decisions are kept in {beside}\n"
    named = tmp_path / "mine.sqlite"
    run("serve", "--port", 0, "--model", model, "--decisions", named)
    run("serve", "--port", 0, "--model", model, "--decisions", "none")
    assert [s.store and s.store.path for s in started] == [beside, named, None]


def test_a_port_in_use_is_told_before_the_model_is_loaded(run: Run, started: list[Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--model", "nowhere", "--port", port)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"linker: port {port} of 127.0.0.1 cannot be listened on")
    assert not started


def test_the_extra_is_named(run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(linker.desk.service, "serving", raising=False)
    for name in [name for name in sys.modules if name.startswith("linker.desk.service.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = run("serve", "--port", 0, "--model", trained, "--decisions", "none")
    assert result.code == 1
    assert "linker serve needs fastapi, which is not installed: pip install" in result.err


def test_options_may_be_variables_of_the_environment(
    run: Run, trained: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "PORT": "0",
        "DECISIONS": "none",
        "CORS": "https://a.org https://b.org",
        "SET": "limits.body=5000 limits.seconds=3",
        "ROOT_PATH": "linker/",
    }.items():
        monkeypatch.setenv(f"LINKER_SERVE_{name}", value)
    assert run("serve", "--model", trained).code == 0
    assert run("serve", "--model", trained, "--set", "limits.body=6000").code == 0
    first, second = [service.settings for service in started]
    assert first.origins == ("https://a.org", "https://b.org")
    assert (first.limits.body, first.limits.seconds, first.root_path) == (5000, 3.0, "/linker")
    assert second.limits.body == 6000  # what is typed wins
    assert first.decisions is None
