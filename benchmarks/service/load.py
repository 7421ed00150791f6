"""Load on linker serve from 64 clients on the loopback, for each model that is given.

pip install locust
python benchmarks/service/load.py --models dan=DIR minilm=DIR --seconds 300

Each request links one name that was not asked for before. Measured by locust: requests a second,
latencies and errors; the memory of the service; the same without batches; and what becomes of
answers and of decisions where the process is killed and started again under load.
"""

from __future__ import annotations

import asyncio
import csv
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from linker import Linker

CLIENTS = 64
WARM_UP = 0.6  # share of the time before memory is measured first; caches are full then
ALONE = 0.2  # share of the time for the run without batches
KILLED = 0.1  # share of the time for the run in which the process is killed
SEED = 7


class Server:
    """linker serve in a process of its own."""

    def __init__(self, model: str, *options: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
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

    def memory(self) -> float:
        """Its resident memory in MB."""
        figures = httpx.get(f"{self.url}/metrics").text
        return float(re.search(r"(?m)^process_resident_memory_bytes (\S+)", figures)[1]) / 1e6

    def end(self, sign: int = signal.SIGTERM) -> None:
        self._process.send_signal(sign)
        self._process.wait()


class Load:
    """Lets locust ask a service.

    Args:
        names: that are asked for, each with a number that no request had before.
        folder: for files.
    """

    def __init__(self, names: list[str], folder: Path) -> None:
        self._file, self._prefix, self._first = folder / "names.txt", folder / "load", 0
        self._file.write_text("\n".join(names), encoding="utf-8")

    def __call__(self, server: Server, seconds: float) -> dict[str, Any]:
        """The figures of all clients after some time."""
        command = ["locust", "--headless", "--skip-log", "--only-summary", "--csv", self._prefix]
        command += ["-f", Path(__file__).with_name("clients.py"), "--host", server.url]
        command += ["-u", str(CLIENTS), "-r", str(CLIENTS), "-t", f"{round(seconds)}s"]
        names = {"NAMES": str(self._file), "FIRST": str(self._first)}
        subprocess.run(
            [sys.executable, "-m", *map(str, command)],
            env=os.environ | names,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds + 120,
        )
        with open(f"{self._prefix}_stats.csv", newline="", encoding="utf-8") as file:
            row = next(row for row in csv.DictReader(file) if row["Name"] == "/link")
        self._first += int(row["Request Count"]) + CLIENTS
        return {
            "seconds": round(seconds),
            "requests": int(row["Request Count"]),
            "requests_per_second": round(float(row["Requests/s"]), 1),
            "p50_ms": int(row["50%"]),
            "p99_ms": int(row["99%"]),
            "errors": int(row["Failure Count"]),  # wrong answers, too
        }


def batches(model: str, load: Load, seconds: float) -> dict[str, Any]:
    """Load with batches, and without."""
    server = Server(model, "--no-decisions")
    load(server, seconds * WARM_UP)
    before = server.memory()
    figures = load(server, seconds)
    after = server.memory()
    server.end()
    alone = Server(model, "--no-decisions", "--batch", "1")
    load(alone, max(5, seconds * ALONE * WARM_UP))
    figures_alone = load(alone, max(5, seconds * ALONE))
    alone.end()
    rates = [run["requests_per_second"] for run in (figures, figures_alone)]
    return figures | {
        "memory_start_mb": round(before, 1),
        "memory_end_mb": round(after, 1),
        "memory_growth_percent": round(100 * (after / before - 1), 2),
        "one_at_a_time": figures_alone,
        "batching_times": round(rates[0] / rates[1], 2),
    }


@dataclass(slots=True)
class Seen:
    """What the clients of a service saw that is killed."""

    concept: str  # that is decided for
    answers: int = 0
    errors: int = 0  # answers that are no success
    wrong: int = 0  # other answers than without load
    lost: int = 0  # requests without an answer, since the process was killed
    acknowledged: list[int] = field(default_factory=list)  # ids of decisions


async def steady(
    url: str, expected: dict[str, list[str]], number: int, until: float, seen: Seen
) -> None:
    """A client that links known names and decides on others, and asks again where it must."""
    sample = random.Random(number)
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        for turn in itertools.count():
            if time.perf_counter() > until:
                return
            name = sample.choice([*expected])
            decision = {"mention": f"decided {number} {turn}", "concept_id": seen.concept}
            try:
                linked = await client.post("/link", json={"mentions": [name]})
                seen.answers += 1
                seen.errors += linked.status_code != 200
                seen.wrong += linked.status_code == 200 and answer(linked) != expected[name]
                if turn % 10 == 0:
                    decided = await client.post("/decisions", json={"decisions": [decision]})
                    if decided.status_code == 201:
                        seen.acknowledged.append(decided.json()["decisions"][0]["id"])
            except httpx.TransportError:
                seen.lost += 1
                await asyncio.sleep(0.05)


def answer(linked: httpx.Response) -> list[str]:
    """The best concept of each part."""
    (prediction,) = linked.json()["predictions"]
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
        clients = [steady(server.url, expected, n, until, seen) for n in range(CLIENTS)]
        running = asyncio.gather(*clients)
        for _ in range(kills):
            await asyncio.sleep(max(seconds, 5) / (kills + 2))
            server.end(signal.SIGKILL)
            await asyncio.to_thread(server.start)
        await running
        listed = httpx.get(f"{server.url}/decisions", timeout=60).json()
        server.end()
    kept = {decision["id"] for decision in listed["decisions"]}
    return {
        "kills": kills,
        "answers": seen.answers,
        "wrong_answers": seen.wrong,
        "errors": seen.errors,
        "requests_cut_by_a_kill": seen.lost,
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
        with tempfile.TemporaryDirectory() as files:
            of_model = batches(folder, Load(names, Path(files)), options.seconds)
        of_model["killed"] = asyncio.run(killed(folder, names, options.seconds * KILLED))
        figures["models"][name] = of_model
        print(name, json.dumps(of_model, indent=1), file=sys.stderr)
    results.save("load", figures, seed=SEED)


if __name__ == "__main__":
    main()
