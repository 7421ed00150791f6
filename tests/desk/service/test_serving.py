"""linker serve as a process on the loopback: signals, slow clients, a sudden end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import cli
from linker.desk.decisions.store import DecisionStore
from linker.records import Decision

httpx = pytest.importorskip("httpx")


class Process:
    def __init__(self, model: Path, *options: str) -> None:
        command = [sys.executable, "-m", "linker.cli", "serve", "-v", "--model", str(model)]
        self.process = subprocess.Popen(
            [*command, "--port", "0", *options],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        self.lines: list[str] = []
        assert self.process.stderr
        for line in self.process.stderr:
            self.lines.append(line)
            if address := re.search(r"serving at (http://127\.0\.0\.1:(\d+)/)", line):
                self.url, self.port = address[1], int(address[2])
                break
        else:
            raise AssertionError("".join(self.lines))
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr))
        self.reader.start()

    def link(self, *mentions: str) -> Any:
        return httpx.post(f"{self.url}link", json={"mentions": mentions}, timeout=30)

    def logged(self, text: str) -> None:
        """Wait until the log holds a text."""
        for _ in range(3000):
            if any(text in line for line in self.lines):
                return
            time.sleep(0.01)
        raise AssertionError(f"{text!r} is not in {self.lines}")

    def end(self, sign: int = signal.SIGTERM) -> int:
        self.process.send_signal(sign)  # nothing, where it has ended
        code = self.process.wait(60)
        self.reader.join()
        self.process.stderr.close()
        return code


@pytest.fixture
def serve() -> Iterator[Any]:
    with contextlib.ExitStack() as stack:

        def start(model: Path, *options: str) -> Process:
            process = Process(model, *options)
            stack.callback(process.end, signal.SIGKILL)
            return process

        yield start


def test_a_stop_finishes_what_was_taken(serve: Any, model: Path) -> None:
    process = serve(model)
    answers: list[Any] = []
    mentions = [f"breast cancer {n}" for n in range(3_000)]  # takes a while
    thread = threading.Thread(target=lambda: answers.append(process.link(*mentions)))
    thread.start()
    for _ in range(3000):
        figures = httpx.get(f"{process.url}metrics").text
        if float(re.search(r"(?m)^linker_active_requests (\S+)", figures)[1]) > 1:
            break
        time.sleep(0.005)
    assert process.end() == 0
    thread.join()
    assert [p["mention"] for p in answers[0].json()["predictions"]] == mentions
    with pytest.raises(httpx.ConnectError):
        process.link("A-T")


def test_slow_clients_are_sent_away(serve: Any, model: Path) -> None:
    process = serve(model, "--set", "limits.read_seconds=0.5")
    head = b"POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    whole = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    cases = {  # what is sent, and how the answer begins
        "nothing": (b"", b""),
        "a part of the head": (head, b""),
        "a part of a second head": (whole + head, b"HTTP/1.1 200"),
        "a part of the body": (head + b"Content-Length: 99\r\n\r\n{", b"HTTP/1.1 408"),
        "a part of a chunk": (head + b"Transfer-Encoding: chunked\r\n\r\n63\r\n{", b"HTTP/1.1 408"),
    }
    connections = {}
    for case, (sent, _) in cases.items():
        connections[case] = socket.create_connection(("127.0.0.1", process.port), 20)
        connections[case].sendall(sent)
    for case, (_, start) in cases.items():
        received = b""
        while data := connections[case].recv(1 << 16):  # until the service closes it
            received += data
        assert received[: len(start)] == start, case
        assert bool(received) == bool(start), case
        connections[case].close()
    assert process.link("A-T").status_code == 200
    assert process.end() == 0


def sockets(pid: int) -> int:
    """How many sockets a process has open."""
    count = 0
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
            count += os.readlink(path).startswith("socket:")
    return count


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc to look at")
def test_clients_that_do_not_read_are_sent_away(serve: Any, model: Path) -> None:
    process = serve(model, "--set", "limits.seconds=8")
    before = sockets(process.process.pid)
    body = json.dumps({"mentions": ["breast cancer"] * 900, "k": 100, "threshold": 0}).encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", process.port))
        head = "POST /link HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        process.logged("POST /link 200")  # the answer is given up
        assert sockets(process.process.pid) > before
        for _ in range(1000):
            if sockets(process.process.pid) <= before:
                break
            time.sleep(0.01)
        assert sockets(process.process.pid) <= before
    assert process.end() == 0


def test_after_a_sudden_end_decisions_are_there(serve: Any, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("linker.linking.decided")
    file = str(tmp_path / "decisions.sqlite")
    process = serve(model, "--decisions", file)
    record = {"mention": "A-T", "concept_id": "MESH:D001943", "reviewer": "Ada"}
    stored = httpx.post(f"{process.url}decisions", json={"decisions": [record]}).json()
    assert process.end(signal.SIGKILL) == -signal.SIGKILL
    process = serve(model, "--decisions", file)
    assert httpx.get(f"{process.url}decisions").json()["decisions"] == stored["decisions"]
    assert process.end() == 0


def test_what_is_wrong_is_said_at_once(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*options: str) -> str:
        monkeypatch.setattr(sys, "argv", ["linker", "serve", "--port", "0", *options])
        assert cli.run() == 1
        return capsys.readouterr().err

    assert "there is no model here" in run("--model", str(tmp_path))
    (tmp_path / "keys").write_text("short\n")
    keys = run("--model", str(model), "--api-key-file", str(tmp_path / "keys"))
    assert "keys, line 1: " in keys
    assert "short" not in keys
    with DecisionStore(tmp_path / "other") as store:
        store.add([Decision("A-T", "OTHER:1")])
    other = run("--model", str(model), "--decisions", str(tmp_path / "other"))
    assert "other: is of another dictionary" in other


PROXY = {"Host": "example.org", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
"""What a proxy that does TLS sends with a request."""


def addresses(url: str, headers: dict[str, str]) -> set[str]:
    """Where the manifest of OpenRefine sends its readers."""
    manifest = httpx.get(f"{url}reconcile", headers=headers).json()
    return {entry["service_url"] for entry in manifest["suggest"].values()}


def test_the_address_is_that_of_a_trusted_proxy(
    serve: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--cors", "https://example.org", "--root-path", "linker/", "--decisions", "none")
    trusting = serve(model, *options)
    assert addresses(trusting.url, PROXY) == {"https://example.org/linker/reconcile"}
    spec = httpx.get(f"{trusting.url}openapi.json").json()
    assert spec["servers"] == [{"url": "/linker"}]
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "192.0.2.1")
    other = serve(model, *options)
    assert addresses(other.url, PROXY) == {"http://example.org/linker/reconcile"}


def test_the_log_as_json_holds_nothing_that_was_asked(
    serve: Any, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINKER_SERVE_LOG_FORMAT", "json")
    process = serve(model)
    assert process.link("podagra").is_success
    assert httpx.get(f"{process.url}search?q=podagra").is_success
    assert httpx.post(f"{process.url}link", content=b'{"mentions": "podagra').is_error
    with socket.create_connection(("127.0.0.1", process.port), 20) as connection:
        connection.sendall(b"podagra\r\n\r\n")  # no HTTP, of which uvicorn warns
        connection.recv(1 << 16)
    process.logged("Invalid HTTP request")
    assert process.end() == 0
    records = [json.loads(line) for line in process.lines]
    assert all(set(r) == {"time", "level", "logger", "message"} for r in records)
    assert [r["message"][:15] for r in records if r["logger"] == "linker.desk.service.gate"] == [
        *("POST /link 200 ", "GET /search 200", "POST /link 422 ")
    ]
    assert ("warning", "uvicorn.error") in {(r["level"], r["logger"]) for r in records}
    assert "podagra" not in "".join(process.lines)


def takes_connections(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 20).close()
    except ConnectionRefusedError:
        return False
    return True


def test_a_stop_ends_a_long_upload_and_leaves_no_project(
    serve: Any, model: Path, tmp_path: Path
) -> None:
    file = tmp_path / "decisions.sqlite"
    process = serve(model, "--decisions", str(file))
    names = "".join(f"gout {number}\n" for number in range(50_000)).encode()
    answers: list[Any] = []
    address = f"{process.url}projects?file=a.txt"
    thread = threading.Thread(
        target=lambda: answers.append(httpx.post(address, content=names, timeout=60))
    )
    thread.start()
    with contextlib.closing(sqlite3.connect(file, 60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        count = 0
        while not count:  # rows are stored
            connection.execute("COMMIT")
            time.sleep(0.005)
            connection.execute("BEGIN IMMEDIATE")  # no more are while this lasts
            ((count,),) = connection.execute("SELECT count(*) FROM mentions")
        process.process.send_signal(signal.SIGTERM)
        while takes_connections(process.port):  # it is not told yet
            time.sleep(0.005)
        connection.execute("COMMIT")
        assert process.process.wait(60) == 0
        thread.join()
        ((count,),) = connection.execute("SELECT count(*) FROM mentions")
    assert (answers[0].status_code, count < 50_000) == (503, True)
    process = serve(model, "--decisions", str(file))
    assert httpx.get(f"{process.url}projects").json() == {"projects": []}
    assert process.end() == 0
