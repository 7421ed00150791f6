"""What is no HTTP, or breaks its rules, over sockets to a service in a process of its own."""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from .core import Failed
from .judgements import selected

_READ = 1  # seconds that the service waits for a request
_LINES = (
    b"GET / HTTP/1.1", b"POST /link HTTP/1.1", b"POST /decisions HTTP/1.1", b"GET",
    b"GET http://x/ HTTP/1.1", b"\0\0", b"X" * 9_000, b"GET /%ff%00 HTTP/1.1",
    b"GET /../../etc/passwd HTTP/1.1", b"PRI * HTTP/2.0", b"POST /reconcile HTTP/1.0",
    b"GET /health HTTP/1.1", b"DELETE /decisions/1 HTTP/1.1", b"POST /nowhere HTTP/1.1",
    b"OPTIONS * HTTP/1.1", b"CONNECT x:1 HTTP/1.1", b"POST /parse HTTP/1.1",
)  # fmt: skip
_HEADS = (
    b"Content-Length: -1", b"Content-Length: 9" + b"9" * 30, b"Transfer-Encoding: chunked",
    b"Content-Length: 3", b"Content-Length: 0", b"Host: localhost", b"Host: y", b": x",
    b"a\0: b", b"Authorization: \xff\xfe", b"Connection: upgrade", b"Upgrade: websocket",
    b"Expect: 100-continue", b"X: " + b"y" * 70_000, b"Content-Length : 5",
    b" Content-Length: 5", b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: identity",
    b"transfer-encoding:\tchunked", b"Content-Length: 5, 5", b"Content-Length: +5",
    b"Host: localhost\r\nHost: evil.org",
)  # fmt: skip
_STARTS = (
    b"POST /link", b"POST /nowhere", b"GET /health", b"POST /decisions", b"GET /", b"GET /model",
    b"POST /reconcile", b"DELETE /decisions/1", b"PUT /link", b"GET /static/page.js",
)  # fmt: skip
_HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
_HIDING = (  # heads that say the length of a body, {n}, in two ways or wrongly
    b"Content-Length: {n}", b"Content-Length: {n}\r\nContent-Length: {n}",
    b"Content-Length: 0\r\nContent-Length: {n}", b"Content-Length: {n}\r\nHost: evil.org",
    b"Content-Length: 0\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked",
    b"Content-Length: {n}\r\nTransfer-Encoding: chunked",
    b"Content-Length: {n}\r\nTransfer-Encoding: identity",
)  # fmt: skip
_Bytes = tuple[bytes, int, bool, str]
"""What is sent, how many answers there may be, whether the client ends it, what it is about."""


class Service:
    """linker serve in a process of its own."""

    def __init__(self, shared: Path) -> None:
        self.store = shared / f"{os.getpid()}-socket.sqlite"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        options = {"--model": shared / "model", "--port": self.port, "--read-seconds": _READ}
        options["--decisions"] = self.store
        words = [str(word) for pair in options.items() for word in pair]
        log = shared / f"{os.getpid()}-socket.log"
        with open(log, "wb") as file:
            command = [sys.executable, "-m", "linker.cli", "serve", *words]
            self.process = subprocess.Popen(command, stderr=file, stdin=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while b"serving at" not in log.read_bytes():
            if self.process.poll() is not None or time.monotonic() > until:
                raise Failed(f"the service did not start: {log.read_bytes()[-300:]!r}")
            time.sleep(0.05)

    def talk(self, data: bytes, *, close: bool) -> tuple[bytes, bool]:
        """Send bytes; what came back, and whether the service closed the connection in time."""
        received, until = b"", time.monotonic() + 4 * _READ + 4
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
                if close:
                    connection.shutdown(socket.SHUT_WR)
            try:
                while time.monotonic() < until:
                    connection.settimeout(max(0.01, until - time.monotonic()))
                    piece = connection.recv(1 << 16)
                    if not piece:
                        return received, True
                    received += piece
            except TimeoutError:
                return received, False
            except OSError:
                return received, True
        return received, False


def attack(rng: random.Random, service: Service) -> None:
    """A request that is no HTTP, breaks its rules, hides another one, or never ends."""
    before = selected(service.store, "SELECT count(*) FROM decisions")
    data, most, close, what = rng.choice((_broken, _hidden, _unread, _slow))(rng)
    received, is_closed = service.talk(data, close=close)
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
    shown = f"{statuses} to {data[:300]!r}"
    if service.process.poll() is not None:
        raise Failed(f"the service died: {shown}")
    if any(status >= 500 and status != 503 for status in statuses):
        raise Failed(f"status {max(statuses)}: {shown}")
    if len([status for status in statuses if status >= 200]) > most:
        raise Failed(f"a body was taken for a request: {shown}")
    if not is_closed:
        raise Failed(f"a connection was kept {what}: {shown}")
    if selected(service.store, "SELECT count(*) FROM decisions") != before:
        raise Failed(f"a decision was stored that no request made: {shown}")
    health = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    alive, _ = service.talk(health, close=False)
    if b"200" not in alive[:20]:
        raise Failed(f"the service does not answer any more: {alive[:100]!r} after {shown}")


def _broken(rng: random.Random) -> _Bytes:
    head = [rng.choice(_LINES), *rng.sample(_HEADS, rng.randint(0, 4))]
    return b"\r\n".join(head) + b"\r\n\r\nzz\r\n", 2, True, "whose client had ended it"


def _hidden(rng: random.Random) -> _Bytes:
    """A request inside the body of another one, whose length is said in two ways or wrongly."""
    body, length = _HIDDEN, rng.choice(_HIDING).replace(b"{n}", b"%d" % len(_HIDDEN))
    if b"chunked" in length:
        chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        quoted = b'%x;a="\r\n%s\r\n0\r\n\r\n' % (len(body), body)
        body = rng.choice((chunked, quoted, b"0;%s\r\n\r\n" % (b"x" * 10)))
    head = b"%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n" % (rng.choice(_STARTS), length)
    return head + body, 1, True, "whose client had ended it"


def _unread(rng: random.Random) -> _Bytes:
    """A body that is announced and does not come; nothing of it may be waited for long."""
    host = rng.choice((b"localhost", b"localhost", b"evil.org"))
    lengths = (
        b"Content-Length: 1000",
        b"Transfer-Encoding: chunked",
        b"Content-Length: 999999999999",
    )
    begun = rng.choice((b"", b"5\r\nab", b"{"))
    parts = (rng.choice(_STARTS), host, rng.choice(lengths), begun)
    return b"%s HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n%s" % parts, 1, False, "whose body was not read"


def _slow(rng: random.Random) -> _Bytes:
    """A head that does not end."""
    starts = b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: y"
    return rng.choice(starts), 1, False, "whose head never ends"
