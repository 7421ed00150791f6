"""Load on linker serve from 64 clients on the loopback, for each model that is given.

pip install locust
python benchmarks/service/load.py --models dan=DIR minilm=DIR --seconds 300

Writes results/load.json. Each request links one name that was not asked for before. Measured by
locust (clients.py): requests a second, latencies and errors; the memory of the service; the same
without batches; and what becomes of answers and of decisions where the process is killed and
started again under load.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import itertools
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
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import measure, results
from linker import Linker

CLIENTS = 64
WARM_UP = 0.6  # share of the time before memory is measured first; caches are full then
ALONE = 0.2  # share of the time for the run without batches
KILLED, KILLS = (
    0.1,
    3,
)  # share of the time for the run in which the process is killed, and how often
SEED = 7


class Server:
    """linker serve in a process of its own."""

    def __init__(self, model: str, *options: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-m", "linker.cli", "serve", "--model", model]
        self._command += ["--port", str(port), *options]
        self.start()

    def start(self) -> None:
        """Start it, and wait until it serves."""
        self._process = subprocess.Popen(self._command, stderr=subprocess.PIPE, text=True)
        said = self._process.stderr
        assert said
        if not any(line.startswith("serving at") for line in said):
            raise RuntimeError("the service did not start")
        threading.Thread(target=said.read, daemon=True).start()

    def memory(self) -> float:
        """Its resident memory in MB."""
        figures = httpx.get(f"{self.url}/metrics").text
        (value,) = re.findall(r"(?m)^process_resident_memory_bytes (\S+)", figures)
        return round(float(value) / 1e6, 1)

    def held(self, field: str) -> float:
        """A figure of its memory in MB as the system has it: VmRSS now, VmHWM the most so far."""
        return next(measure.memory(self._process.pid, field))

    def end(self, sign: int = signal.SIGTERM) -> None:
        """End it."""
        self._process.send_signal(sign)
        self._process.wait()


@contextlib.contextmanager
def loaded(names: list[str]) -> Iterator[Callable[[Server, float], dict[str, Any]]]:
    """What lets locust ask a service for some seconds; its figures.

    Names are asked for each with a number that no request had before.
    """
    with tempfile.TemporaryDirectory() as folder:
        file, prefix, first = Path(folder) / "names.txt", Path(folder) / "load", itertools.count()
        file.write_text("\n".join(names), encoding="utf-8")

        def load(server: Server, seconds: float) -> dict[str, Any]:
            words = ["--headless", "--skip-log", "--only-summary", "--csv", prefix]
            words += ["-f", Path(__file__).with_name("clients.py"), "--host", server.url]
            words += ["-u", CLIENTS, "-r", CLIENTS, "-t", f"{round(seconds)}s"]
            asked = {"NAMES": str(file), "FIRST": str(next(first) * 10_000_000)}
            command = [sys.executable, "-m", "locust", *map(str, words)]
            quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(command, env=os.environ | asked, timeout=seconds + 120, **quiet)
            with open(f"{prefix}_stats.csv", newline="", encoding="utf-8") as lines:
                row = next(row for row in csv.DictReader(lines) if row["Name"] == "/link")
            return {
                "requests": int(row["Request Count"]),
                "requests_per_second": round(float(row["Requests/s"]), 1),
                "p50_ms": int(row["50%"]),
                "p99_ms": int(row["99%"]),
                "errors": int(row["Failure Count"]),  # wrong answers, too
            }

        yield load


def batches(model: str, names: list[str], seconds: float) -> dict[str, Any]:
    """Load with batches, and without."""
    with loaded(names) as load:
        server = Server(model, "--decisions", "none")
        load(server, seconds * WARM_UP)
        before, figures, after = server.memory(), load(server, seconds), server.memory()
        server.end()
        alone = Server(model, "--decisions", "none", "--set", "limits.batch=1")
        load(alone, max(5, seconds * ALONE * WARM_UP))
        figures |= {"one_at_a_time": load(alone, max(5, seconds * ALONE))}
        alone.end()
    return figures | {"memory_start_mb": before, "memory_end_mb": after}


async def steady(
    url: str, expected: dict[str, list[str]], number: int, until: float, seen: Counter[str]
) -> list[int]:
    """A client that links known names and decides on others, and asks again where it must.

    It counts what it sees; returned are the ids of the decisions that were acknowledged.
    """
    sample, acknowledged = random.Random(number), list[int]()
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        for turn in itertools.count():
            if time.perf_counter() > until:
                break
            name = sample.choice([*expected])
            decision = {"mention": f"decided {number} {turn}", "concept_id": None}
            try:
                linked = await client.post("/link", json={"mentions": [name]})
                is_well = linked.status_code == 200
                seen["answers"] += 1
                seen["errors"] += not is_well
                seen["wrong_answers"] += is_well and answer(linked) != expected[name]
                if turn % 10 == 0:
                    decided = await client.post("/decisions", json={"decisions": [decision]})
                    if decided.status_code == 201:
                        acknowledged.append(decided.json()["decisions"][0]["id"])
            except httpx.TransportError:
                seen["requests_cut_by_a_kill"] += 1
                await asyncio.sleep(0.05)
    return acknowledged


def answer(linked: httpx.Response) -> list[str]:
    """The best concept of each part."""
    (prediction,) = linked.json()["predictions"]
    return [p["candidates"][0]["concept_id"] if not p["nil"] else "" for p in prediction["parts"]]


async def killed(model: str, names: list[str], seconds: float) -> dict[str, Any]:
    """Kill the service under load, start it again, and look for what was lost."""
    known = random.Random(SEED).sample(names, min(100, len(names)))
    expected = {
        p.mention.text: [part.best.concept_id if part.best else "" for part in p.parts]
        for p in Linker.load(model).link(known)
    }
    seen, seconds = Counter[str](), max(seconds, 5)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(model, "--decisions", f"{folder}/decisions.sqlite")
        until = time.perf_counter() + seconds
        clients = [steady(server.url, expected, n, until, seen) for n in range(CLIENTS)]
        running = asyncio.gather(*clients)
        for _ in range(KILLS):
            await asyncio.sleep(seconds / (KILLS + 2))
            server.end(signal.SIGKILL)
            await asyncio.to_thread(server.start)
        acknowledged = set(itertools.chain(*await running))
        listed = httpx.get(f"{server.url}/decisions", timeout=60).json()
        server.end()
    lost = acknowledged - {decision["id"] for decision in listed["decisions"]}
    return {
        "kills": KILLS,
        **seen,
        "decisions_acknowledged": len(acknowledged),
        "decisions_lost": len(lost),
    }


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--models", nargs="+", required=True, metavar="NAME=DIR")
    parser.add_argument("--seconds", type=float, default=300)
    options = parser.parse_args()
    models: dict[str, Any] = {}
    for name, _, folder in (given.partition("=") for given in options.models):
        names = list(Linker.load(folder).dictionary.names)[:20_000]
        models[name] = batches(folder, names, options.seconds)
        models[name]["killed"] = asyncio.run(killed(folder, names, options.seconds * KILLED))
    about = {"clients": CLIENTS, "cores": os.cpu_count(), "seconds": options.seconds}
    results.save("load", about | {"models": models}, seed=SEED)
