"""linker serve: what it starts with; tests/service has the service itself."""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import linker.service

from .conftest import Result

Run = Callable[..., Result]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The services that were started; none listens."""
    pytest.importorskip("fastapi", reason="the extra serve is not installed")
    from linker.service import serving

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
    run("serve", "--port", 0, "--model", model, "--no-decisions")
    assert [s.store and s.store.path for s in started] == [beside, named, None]


def test_a_place_that_cannot_be_written_is_named(
    run: Run, trained: Path, tmp_path: Path, started: list[Any]
) -> None:
    place = tmp_path / "none" / "decisions.sqlite"
    result = run("serve", "--port", 0, "--model", trained, "--decisions", place)
    assert result.code == 1
    assert str(place) in result.err
    assert not started


def test_a_port_in_use_is_told_before_the_model_is_loaded(run: Run, started: list[Any]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--model", "nowhere", "--port", port)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"linker: port {port} of 127.0.0.1 cannot be listened on: address")
    assert not started


def test_the_extra_is_named(run: Run, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(linker.service, "serving", raising=False)
    for name in [name for name in sys.modules if name.startswith("linker.service.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    result = run("serve", "--port", 0, "--model", trained, "--no-decisions")
    assert result.code == 1
    assert "linker serve needs fastapi, which is not installed: pip install" in result.err


def test_options_may_be_variables_of_the_environment(
    run: Run, trained: Path, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "PORT": "0",
        "NO_DECISIONS": "1",
        "CORS": "https://a.org https://b.org",
        "MAX_BODY": "5000",
        "ROOT_PATH": "linker/",
    }.items():
        monkeypatch.setenv(f"LINKER_SERVE_{name}", value)
    assert run("serve", "--model", trained, "--max-body", 6000).code == 0
    (settings,) = [service.settings for service in started]
    assert settings.origins == ("https://a.org", "https://b.org")
    assert (settings.limits.body, settings.root_path) == (6000, "/linker")  # what is typed wins
    assert settings.decisions is None


@pytest.mark.parametrize(
    ("typed", "variables", "kept"),
    [
        (["--no-decisions"], ["DECISIONS"], False),
        (["--decisions", "typed"], ["NO_DECISIONS"], True),
        ([], ["DECISIONS", "NO_DECISIONS"], False),
        ([], ["DECISIONS"], True),
    ],
)
def test_decisions_are_kept_as_typed_or_else_not_where_a_variable_says_so(
    run: Run,
    trained: Path,
    started: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    typed: list[str],
    variables: list[str],
    kept: bool,
) -> None:
    monkeypatch.chdir(tmp_path)  # where the logs are made
    for name in variables:
        monkeypatch.setenv(f"LINKER_SERVE_{name}", "1")
    assert run("serve", "--port", 0, "--model", trained, *typed).code == 0
    assert started[0].settings.decisions == ((typed[1] if typed else "1") if kept else None)


def test_proxies_that_cannot_be_read_are_refused(run: Run, trained: Path) -> None:
    for proxies in ("10.1.2.3/8", "ingress", "127.0.0.1,"):
        result = run("serve", "--model", trained, "--forwarded-allow-ips", proxies)
        assert (result.code, "--forwarded-allow-ips" in result.err) == (2, True)


def test_the_help_names_the_variable_of_every_option(run: Run) -> None:
    text = run("serve", "--help-all").out
    flags = set(re.findall(r"(?m)^  (?:-\w, )?--([\w-]+)", text))
    named = set(re.findall(r"LINKER_SERVE_(\w+)", text))
    assert len(flags) > 15
    assert {flag.upper().replace("-", "_") for flag in flags} - named == {
        *("MODEL", "DEBUG", "HELP", "HELP_ALL")  # the first is $LINKER_MODEL
    }
