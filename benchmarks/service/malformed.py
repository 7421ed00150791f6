"""Malformed requests to linker serve: what schemathesis makes of the OpenAPI, and our own.

python benchmarks/service/malformed.py --model DIR --requests 10000

Counted are the answers by status; a status of 500 or more, or a process that ends, is a failure.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.service.load import Server

SEED = 7
RAW = 0.2  # share of the requests that are broken below HTTP
FEW = {"/reload": 20}  # requests to routes that take long
PATHS = ("/link", "/annotate", "/explain", "/parse", "/decisions", "/reconcile")
PIECES = (
    *(b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\u0000", b"\\ud800", b"\xff", b"\0", b"NaN"),
    *(b'"mentions"', b'"documents"', b'"text"', b'"id"', b"-1", b"1e999", b"9" * 400, b"null"),
    *(b"\r\n", b"\xef\xbb\xbf", b"<script>", b"=cmd|' /C calc'!A0", b"[" * 500, b"a" * 2000),
)


def generated(url: str, count: int, statuses: Counter[str]) -> None:
    """Requests of schemathesis: half of them break the description, half do not."""
    schema = schemathesis.openapi.from_url(f"{url}openapi.json")
    operations = [operation.ok() for operation in schema.get_all_operations()]
    several = [operation for operation in operations if operation.path not in FEW]
    for turn in itertools.count(SEED):  # some routes have few requests that can be made
        left = count - statuses.total()
        if left <= 0:
            return
        for operation in operations if turn == SEED else several:
            for mode in (GenerationMode.NEGATIVE, GenerationMode.POSITIVE):
                share = left // (2 * len(operations)) + 1
                _send(operation, mode, min(share, FEW.get(operation.path, share)), turn, statuses)


def _send(operation: Any, mode: Any, count: int, turn: int, statuses: Counter[str]) -> None:
    @seed(turn)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        statuses[str(case.call().status_code)] += 1

    with contextlib.suppress(Unsatisfiable):  # nothing breaks a route without parameters
        send()


def broken_bodies(url: str, count: int, statuses: Counter[str]) -> None:
    """Bodies that are glued from pieces."""
    draw = random.Random(SEED)
    with httpx.Client(base_url=url, timeout=60) as client:
        for _ in range(count):
            body = b"".join(draw.choices(PIECES, k=draw.randint(0, 20)))
            kind = draw.choice(["application/json", "text/plain", "multipart/form-data", ""])
            headers = {"Content-Type": kind} if kind else {}
            answer = client.post(draw.choice(PATHS), content=body, headers=headers)
            statuses[str(answer.status_code)] += 1


def broken_heads(port: int, count: int, statuses: Counter[str]) -> None:
    """Requests that are no HTTP, or break its rules."""
    draw = random.Random(SEED)
    lines = [
        *(
            b"GET / HTTP/1.1",
            b"POST /link HTTP/1.1",
            b"GET http://x/ HTTP/1.1",
            b"\0\0",
            b"X" * 9000,
        ),
        *(b"GET /%ff%00 HTTP/1.1", b"GET /../../etc/passwd HTTP/1.1", b"PRI * HTTP/2.0", b"GET"),
    ]
    fields = [
        *(b"Content-Length: -1", b"Content-Length: 9" + b"9" * 30, b"Transfer-Encoding: chunked"),
        *(b"Content-Length: 3", b"Host: localhost", b"Host: y", b": x", b"a\0: b"),
        *(b"Authorization: \xff\xfe", b"Connection: upgrade", b"Upgrade: websocket"),
        b"Expect: 100-continue",
        b"X: " + b"y" * 70_000,
    ]  # fmt: skip
    for _ in range(count):
        head = [draw.choice(lines), *draw.sample(fields, draw.randint(0, 4))]
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(b"\r\n".join(head) + b"\r\n\r\nzz\r\n")
                connection.shutdown(socket.SHUT_WR)
            received = b""
            with contextlib.suppress(OSError):
                received = connection.recv(1 << 12)
        statuses[received[9:12].decode("latin-1") or "closed"] += 1


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--requests", type=int, default=10_000)
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("openapi", "bodies", "heads")}
    with tempfile.TemporaryDirectory() as folder:
        decisions = ["--decisions", str(Path(folder) / "decisions.sqlite")]
        server = Server(options.model, *decisions, "--read-seconds", "2")
        url, raw = f"{server.url}/", int(options.requests * RAW / 2)
        broken_heads(server.port, raw, counts["heads"])
        broken_bodies(url, raw, counts["bodies"])
        generated(url, options.requests - 2 * raw, counts["openapi"])
        alive = httpx.get(f"{url}health").status_code == 200
        server.end()
    statuses = sum(counts.values(), Counter[str]())
    figures = {
        "requests": sum(statuses.values()),
        "statuses": {name: dict(sorted(counted.items())) for name, counted in counts.items()},
        "answers_of_500_and_more": sum(n for s, n in statuses.items() if s[:1] == "5"),
        "alive_at_the_end": alive,
    }
    print(figures, file=sys.stderr)
    results.save("malformed", figures, seed=SEED)


if __name__ == "__main__":
    main()
