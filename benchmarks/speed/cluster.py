"""Many processes and many machines: ratios to one process, and jobs that lose workers or the head.

python benchmarks/speed/cluster.py NODES    the processes of a cluster, for the case itself

Links the same mentions, sampled from MedMentions, BC5CDR and NCBI Disease, by the plain command,
with --workers, and by Ray, whose nodes are processes of their own on this machine. Rates are of the
machine as it was; ratios of one run are what counts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NODES = 4
CORES = len(os.sched_getaffinity(0))
PATIENCE = 150  # seconds in which a command must end when the head is gone
Process = subprocess.Popen[str]


def cluster(given: argparse.Namespace) -> dict[str, Any]:
    """All measurements."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = (4_000, 8, 500) if given.quick else (200_000, 40, 20_000)
        return Job(Path(folder), *sizes).figures()


class Job:
    """Mentions to link, in parts, and the commands that link them.

    Args:
        folder: an empty one.
        count: how many mentions there are.
        parts: in how many files.
        distinct: how many distinct ones are linked without Ray.
    """

    def __init__(self, folder: Path, count: int, parts: int, distinct: int) -> None:
        from benchmarks.lib.data import documents, medic, medmentions
        from linker.training.pipeline import train

        self.folder, self.parts, self.plain = folder, parts, folder / "plain"
        known = documents("ncbi", "train")
        train(medic("2017"), encoder="tfidf", mentions=known).save(folder / "model")
        texts = [text.strip() for text in medmentions()]
        for corpus in ("ncbi", "bc5cdr"):
            texts += [m.text for d in documents(corpus, "train", "devel") for m in d.mentions]
        drawn = random.Random(0).choices(
            [t for t in texts if t.strip()], k=max(count, distinct * 20)
        )
        asked, self.distinct = drawn[:count], list(dict.fromkeys(drawn))[:distinct]
        for part in range(parts):
            some = asked[count * part // parts : count * (part + 1) // parts]
            self._write(folder / "parts" / f"{part:03}.jsonl", some)
        self._write(folder / "all.jsonl", asked)
        self._write(folder / "distinct.jsonl", self.distinct)
        self.about = {"mentions": count, "distinct": len(set(asked)), "parts": parts}

    @staticmethod
    def _write(path: Path, texts: list[str]) -> None:
        path.parent.mkdir(exist_ok=True)
        lines = "".join(json.dumps({"mention": text}) + "\n" for text in texts)
        path.write_text(lines, encoding="utf-8")

    def command(self, source: str, output: str, *options: str) -> list[str]:
        """The command that links, k = 1."""
        words = [sys.executable, "-m", "linker.cli", "link", str(self.folder / source), "-k", "1"]
        words += ["--model", str(self.folder / "model"), "--format", "jsonl"]
        return [*words, "-o", str(self.folder / output), *options]

    def run(self, *words: str) -> float:
        """The seconds that a command takes."""
        start = time.perf_counter()
        subprocess.run(self.command(*words), check=True, stderr=subprocess.DEVNULL)
        return time.perf_counter() - start

    def written(self, output: str) -> dict[str, int]:
        """The parts that are there, and when each was written."""
        return {p.name: p.stat().st_mtime_ns for p in (self.folder / output).glob("part-*")}

    def is_same(self, output: str) -> bool:
        """Whether the lines of all parts are those of the plain command, byte for byte."""
        paths = (self.folder / output).glob("part-*")
        lines = [line for path in paths for line in path.read_bytes().splitlines(True)]
        return sorted(lines) == sorted(self.plain.read_bytes().splitlines(True))

    def figures(self) -> dict[str, Any]:
        """The figures of all ways."""
        workers = ("--workers", str(CORES))
        seconds = {"plain": self.run("all.jsonl", "plain")}
        seconds["workers"] = self.run("all.jsonl", "workers", *workers)
        same = (self.folder / "workers").read_bytes() == self.plain.read_bytes()
        figures: dict[str, Any] = self.about | {"workers": {"cores": CORES, "same": same}}
        figures["by_turns"] = self.by_turns({"one process": (), f"--workers {CORES}": workers})
        for nodes in (1, NODES):
            way = f"ray_{nodes}"
            with started(nodes) as (address, _):
                seconds[way] = self.run("parts", way, *by_ray(address))
            figures[way] = {"same": self.is_same(way)}
        figures["seconds"] = {way: round(value, 1) for way, value in seconds.items()}
        times = {way: round(seconds["plain"] / value, 2) for way, value in seconds.items()}
        figures["times_as_fast_as_plain"] = times
        return figures | {"lost_worker": self.lost_worker(), "lost_head": self.lost_head()}

    def by_turns(self, ways: dict[str, tuple[str, ...]]) -> dict[str, Any]:
        """Link distinct mentions by one process and by several, three times each."""
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(3):
            for way, options in ways.items():
                seconds[way].append(round(self.run("distinct.jsonl", way, *options), 1))
        one, several = seconds.values()
        ratios = [round(a / b, 2) for a, b in zip(one, several, strict=True)]
        first, second = ((self.folder / way).read_bytes() for way in ways)
        about = {"mentions": len(self.distinct), "seconds": seconds, "times_as_fast": ratios}
        return about | {"same": first == second}

    def disturbed(self, output: str, address: str, disturb: Callable[[], None]) -> dict[str, Any]:
        """Run a job, disturb it half way, and say how it ended."""
        start = time.perf_counter()
        words = self.command("parts", output, *by_ray(address))
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(self.written(output)) < self.parts // 2:
            time.sleep(0.05)
        before, _, broken = len(self.written(output)), disturb(), time.perf_counter()
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        end = time.perf_counter()
        seconds = {"seconds": round(end - start, 1), "seconds_after": round(end - broken, 1)}
        return {"parts_before": before, "exit_code": process.returncode} | seconds

    def lost_worker(self) -> dict[str, Any]:
        """A job of which one worker is killed half way."""
        with started(NODES) as (address, process):

            def kill() -> None:
                for pid in workers_below(process.pid)[:1]:
                    os.kill(pid, signal.SIGKILL)

            figures = self.disturbed("worker", address, kill)
        return figures | {"same": self.is_same("worker")}

    def lost_head(self) -> dict[str, Any]:
        """A job whose head is killed half way; then a new head, and the same command again."""
        with started(NODES) as (address, process):
            killed = self.disturbed("head", address, lambda: print("head", file=process.stdin))
        before = self.written("head")
        with started(NODES) as (address, _):
            seconds = self.run("parts", "head", *by_ray(address))
        after = self.written("head")
        return {
            "killed": killed,
            "again": {"seconds": round(seconds, 1)},
            "parts_kept": len(before),
            "parts_written_twice": sum(after[name] != at for name, at in before.items()),
            "same": self.is_same("head"),
        }


def by_ray(address: str) -> tuple[str, ...]:
    """The options that link on a cluster, whose address the command finds in the environment."""
    os.environ["RAY_ADDRESS"] = address
    return "--engine", "ray"


@contextlib.contextmanager
def started(nodes: int) -> Iterator[tuple[str, Process]]:
    """A head without workers and nodes of one worker each; the address, and the process of all."""
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    command = [sys.executable, __file__, str(nodes)]
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0"}
    process = subprocess.Popen(command, text=True, bufsize=1, env=environment, **pipes)
    assert process.stdin is not None
    assert process.stdout is not None
    address = next(line for line in process.stdout if line.startswith("address")).split()[1]
    try:
        yield address, process
    finally:
        process.stdin.close()
        process.wait()


def serve(nodes: int) -> None:
    """Run the processes of a cluster until standard input ends; a line kills those of the head."""
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 100_000_000}
    ray = Cluster(True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory})
    for _ in range(nodes):
        ray.add_node(num_cpus=1, **memory)
    print("address", ray.address, flush=True)
    for _ in sys.stdin:
        ray.head_node.kill_gcs_server(check_alive=False)
        ray.head_node.kill_raylet(check_alive=False)
    ray.shutdown()


def workers_below(process: int) -> list[int]:
    """The actors of Ray among the descendants of a process."""
    parents, actors = {}, []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if "ray::_Actor" in (path / "cmdline").read_text():
                actors.append(int(path.name))

    def is_below(pid: int) -> bool:
        return pid == process or (pid in parents and is_below(parents[pid]))

    return list(filter(is_below, actors))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
