"""The names and addresses that a service is called by, and keys."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from linker.cli.serve import serve
from linker.desk.service import serving
from linker.desk.service.settings import Key, is_loopback, own_names, read_keys
from linker.errors import LinkerError

ADDRESSES = {  # what names stand for, as a file of hosts says it
    "here.example": ["127.0.0.1", "::1"],
    "both.example": ["127.0.0.1", "192.0.2.7"],
    "mapped.example": ["::ffff:127.0.0.2"],
    "away.example": ["2001:db8::1"],
}


@pytest.fixture(autouse=True)
def hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = socket.getaddrinfo

    def looked_up(host: str | None, *options: Any, **more: Any) -> Any:
        if host in ADDRESSES:
            return [(0, 0, 0, "", (address, 0)) for address in ADDRESSES[host]]
        if host is not None and host.endswith(".example"):
            raise socket.gaierror(-2, "Name or service not known")
        return look_up(host, *options, **more)

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    monkeypatch.setattr(socket, "gethostname", lambda: "Machine")
    monkeypatch.setattr(socket, "getfqdn", lambda: "machine.lab.example.")


def test_addresses_decide_who_can_reach_a_service() -> None:
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost", "here.example", "mapped.example"):
        assert is_loopback(host), host
    for host in ("0.0.0.0", "::", "192.0.2.1", "", "both.example", "away.example"):
        assert not is_loopback(host), host
    with pytest.raises(LinkerError):
        is_loopback("no.example")


def test_names_are_those_of_the_machine_where_others_reach_it() -> None:
    assert own_names("here.example") == {"localhost", "here.example"}
    assert own_names("away.example") == {
        "localhost", "away.example", "machine", "machine.lab.example",
    }  # fmt: skip


def test_an_open_service_is_warned_of(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    served: list[Any] = []
    monkeypatch.setattr(serving, "serve", lambda service, *_: served.append(service.settings))
    monkeypatch.setattr(socket, "create_server", lambda *_, **__: socket.socket())
    keys = tmp_path / "keys"
    keys.write_text("0123456789abcdef\n")
    caplog.set_level(logging.WARNING)

    def warns(*options: str) -> bool:
        caplog.clear()
        command = ["--model", str(model), "--decisions", "none", "--port", "0", *options]
        done = CliRunner().invoke(serve, command)
        assert done.exit_code == 0, done.output
        return "is reached from other computers" in caplog.text + done.output

    assert warns("--host", "both.example")
    assert "machine" in served[-1].names
    assert not warns("--host", "both.example", "--api-key-file", str(keys))
    assert not warns("--host", "here.example")
    assert "here.example" in served[-1].names


def test_keys_may_have_names(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    one, two, three = (f"{n}123456789abcdef" for n in range(3))
    path.write_text(f"# ours\n{one}\n\n{two} Ada Lovelace\n {three}\tEve\n", "utf-8")
    assert read_keys(str(path)) == (
        Key(one.encode()),
        Key(two.encode(), "Ada Lovelace"),
        Key(three.encode(), "Eve"),
    )


@pytest.mark.parametrize("line", ["", "too-short Ada", "0123456789äbcdef", f"{16 * 'a'} Ada; x"])
def test_bad_keys(tmp_path: Path, line: str) -> None:
    path = tmp_path / "keys"
    path.write_text(f"0123456789abcdef\n{line}\n" if line else "# none\n", "utf-8")
    with pytest.raises(
        LinkerError, match="holds no key" if not line else "keys, line 2: "
    ) as wrong:
        read_keys(str(path))
    assert not line or line not in str(wrong.value)  # a key is a secret
