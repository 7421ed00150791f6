"""Load on linker serve from 64 clients on the loopback, for each model that is given.

python benchmarks/service/load.py --models dan=DIR minilm=DIR --seconds 300

Each request links one name that was not asked for before. Measured: requests a second, latencies,
errors and memory; the same without batches; and what becomes of answers and of decisions where the
process is killed and started again under load.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib import results
from linker import Linker

CLIENTS = 64
WARM_UP = 0.4  # share of the time before memory is measured first; caches are full then
ALONE = 0.2  # share of the time for the run without batches
KILLED = 0.1  # share of the time for the run in which the process is killed
SEED = 7


@dataclass(slots=True)
class Counts:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)  # of each answer
    errors: int = 0  # answers that are no success
    wrong: int = 0  # answers to something else, or other ones than before
    lost: int = 0  # requests without an answer, since the process was killed

    def figures(self, duration: float) -> dict[str, Any]:
        p50, p99 = np.percentile(self.seconds, [50, 99]) if self.seconds else (0, 0)
        return {
            "seconds": round(duration, 1),
            "requests": len(self.seconds),
            "requests_per_second": round(len(self.seconds) / duration, 1),
            "p50_ms": round(p50 * 1000, 1),
            "p99_ms": round(p99 * 1000, 1),
            "errors": self.errors,
            "wrong_answers": self.wrong,
        }


class Server:
    """linker serve in a process of its own."""

    def __init__(self, model: str, *options: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._command = [sys.executable, "-m", "linker.cli", "serve", "--model", model]
        self._command += ["--port", str(self.port), *options]
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr
        for line in self._process.stderr:
            if line.startswith("serving at"):
                threading.Thread(target=self._process.stderr.read, daemon=True).start()
                return
        raise RuntimeError("the service did not start")

    def end(self, sign: int = signal.SIGTERM) -> None:
        self._process.send_signal(sign)
        self._process.wait()


class Connection:
    """A connection that is kept, with as little work as can be, since clients share the cores."""

    def __init__(self, port: int) -> None:
        self._port, self._writer = port, None

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Send a request; OSError or EOFError where the service is gone."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        try:
            self._writer.write(head.encode() + content)
            received = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            length = int(re.search(rb"content-length: (\d+)", received)[1])
            return int(received[9:12]), await self._reader.readexactly(length)
        except (OSError, EOFError):
            self.close()
            raise

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


@contextlib.asynccontextmanager
async def connected(port: int) -> AsyncIterator[Connection]:
    connection = Connection(port)
    try:
        yield connection
    finally:
        connection.close()


def texts(names: list[str]) -> Iterator[str]:
    """Names that were not asked for before, so that no cache has them."""
    draw = random.Random(SEED)
    for number in itertools.count(1):
        yield f"{draw.choice(names)} type {number}"


async def memory(port: int) -> float:
    """The resident memory of the service in MB."""
    async with connected(port) as connection:
        _, figures = await connection.ask("GET", "/metrics")
    return float(re.search(rb"(?m)^process_resident_memory_bytes (\S+)", figures)[1]) / 1e6


async def client(port: int, names: Iterator[str], until: float, counts: Counts) -> None:
    async with connected(port) as connection:
        while (start := time.perf_counter()) < until:
            name = next(names)
            status, body = await connection.ask("POST", "/link", {"mentions": [name]})
            counts.seconds.append(time.perf_counter() - start)
            if status != 200:
                counts.errors += 1
            elif json.loads(body)["predictions"][0]["mention"] != name:
                counts.wrong += 1


async def load(port: int, names: Iterator[str], seconds: float) -> dict[str, Any]:
    """Let all clients ask for some time."""
    counts, start = Counts(), time.perf_counter()
    clients = [client(port, names, start + seconds, counts) for _ in range(CLIENTS)]
    await asyncio.gather(*clients)
    return counts.figures(time.perf_counter() - start)


async def batches(model: str, names: list[str], seconds: float) -> dict[str, Any]:
    """Load with batches, and without."""
    source, server = texts(names), Server(model)
    await load(server.port, source, seconds * WARM_UP)
    before = await memory(server.port)
    figures = await load(server.port, source, seconds)
    after = await memory(server.port)
    server.end()
    alone = Server(model, "--batch", "1")
    await load(alone.port, source, seconds * ALONE * WARM_UP)
    figures_alone = await load(alone.port, source, seconds * ALONE)
    alone.end()
    rates = [run["requests_per_second"] for run in (figures, figures_alone)]
    return figures | {
        "memory_start_mb": round(before, 1),
        "memory_end_mb": round(after, 1),
        "memory_growth_percent": round(100 * (after / before - 1), 2),
        "one_at_a_time": figures_alone,
        "batching_times": round(rates[0] / rates[1], 2),
    }


async def steady(
    port: int, expected: dict[str, list[str]], number: int, until: float, seen: Seen
) -> None:
    """A client that links known names and decides on others, and asks again where it must."""
    draw = random.Random(number)
    async with connected(port) as connection:
        for turn in itertools.count():
            if time.perf_counter() > until:
                return
            name = draw.choice([*expected])
            decision = {"mention": f"decided {number} {turn}", "concept_id": seen.concept}
            try:
                status, body = await connection.ask("POST", "/link", {"mentions": [name]})
                seen.counts.seconds.append(0)
                seen.counts.errors += status != 200
                seen.counts.wrong += status == 200 and answer(body) != expected[name]
                if turn % 10 == 0:
                    status, body = await connection.ask(
                        "POST", "/decisions", {"decisions": [decision]}
                    )
                    if status == 201:
                        seen.acknowledged.append(json.loads(body)["decisions"][0]["id"])
            except (OSError, EOFError):
                seen.counts.lost += 1
                await asyncio.sleep(0.05)


@dataclass(slots=True)
class Seen:
    """What the clients of a service saw that is killed."""

    concept: str  # that is decided for
    counts: Counts = field(default_factory=Counts)
    acknowledged: list[int] = field(default_factory=list)  # ids of decisions


def answer(body: bytes) -> list[str]:
    """The best concept of each part."""
    (prediction,) = json.loads(body)["predictions"]
    return [p["candidates"][0]["concept_id"] if not p["nil"] else "" for p in prediction["parts"]]


async def killed(model: str, names: list[str], seconds: float, kills: int = 3) -> dict[str, Any]:
    """Kill the service under load, start it again, and look for what was lost."""
    linker = Linker.load(model)
    known = random.Random(SEED).sample(names, min(100, len(names)))
    expected = {
        p.mention.text: ["" if part.nil else part.candidates[0].concept_id for part in p.parts]
        for p in linker.link(known)
    }
    seen = Seen(linker.dictionary.ids[0])
    with tempfile.TemporaryDirectory() as folder:
        server = Server(model, "--decisions", str(Path(folder) / "decisions.sqlite"))
        until = time.perf_counter() + max(seconds, 5)
        clients = [steady(server.port, expected, n, until, seen) for n in range(CLIENTS)]
        running = asyncio.gather(*clients)
        for _ in range(kills):
            await asyncio.sleep(max(seconds, 5) / (kills + 2))
            server.end(signal.SIGKILL)
            await asyncio.to_thread(server.start)
        await running
        async with connected(server.port) as connection:
            _, body = await connection.ask("GET", "/decisions")
        server.end()
    kept = {decision["id"] for decision in json.loads(body)["decisions"]}
    return {
        "kills": kills,
        "answers": len(seen.counts.seconds),
        "wrong_answers": seen.counts.wrong,
        "errors": seen.counts.errors,
        "requests_cut_by_a_kill": seen.counts.lost,
        "decisions_acknowledged": len(seen.acknowledged),
        "decisions_lost": len(set(seen.acknowledged) - kept),
    }


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--models", nargs="+", required=True, metavar="NAME=DIR")
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    figures: dict[str, Any] = {"clients": CLIENTS, "cores": os.cpu_count(), "models": {}}
    for given in options.models:
        name, _, folder = given.partition("=")
        names = list(Linker.load(folder).dictionary.names)[:20_000]
        of_model = asyncio.run(batches(folder, names, options.seconds))
        of_model["killed"] = asyncio.run(killed(folder, names, options.seconds * KILLED))
        figures["models"][name] = of_model
        print(name, json.dumps(of_model, indent=1), file=sys.stderr)
    results.save("load", figures, seed=SEED)


if __name__ == "__main__":
    main()
