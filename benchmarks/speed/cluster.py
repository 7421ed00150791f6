"""Many processes and many machines: ratios to one process, and jobs that lose workers or the head.

python benchmarks/speed/cluster.py                    200,000 mentions in 40 parts
python benchmarks/speed/cluster.py --mentions 4000 --parts 8
python benchmarks/speed/cluster.py --distinct 20000   one process and --workers by turns, no Ray

Links the same mentions, sampled from MedMentions, BC5CDR and NCBI Disease, by the plain command,
with --workers, and by Ray, whose nodes are processes of their own on this machine. Writes
results/cluster.json. Rates are of the machine as it was; ratios of one run are what counts.
"""

from __future__ import annotations

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

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, documents, locate, medmentions

NODES = 4
CORES = len(os.sched_getaffinity(0))
PATIENCE = 150  # seconds in which a command must end when the head is gone


def sampled(count: int) -> list[str]:
    """Mentions of the corpora, with their repetitions."""
    texts = medmentions()
    for corpus in ("ncbi", "bc5cdr"):
        texts += [m.text for d in documents(corpus, "train", "devel") for m in d.mentions]
    return random.Random(0).choices([text.strip() for text in texts if text.strip()], k=count)


def write_parts(folder: Path, texts: list[str], parts: int) -> None:
    """Write the mentions into JSONL files of equal size, and all of them into one."""
    lines = [json.dumps({"mention": text}) + "\n" for text in texts]
    (folder / "parts").mkdir()
    for part in range(parts):
        first, last = len(lines) * part // parts, len(lines) * (part + 1) // parts
        text = "".join(lines[first:last])
        (folder / "parts" / f"{part:03}.jsonl").write_text(text, encoding="utf-8")
    (folder / "all.jsonl").write_text("".join(lines), encoding="utf-8")


def command(model: Path, source: Path, output: Path, *options: str) -> list[str]:
    """The command that links, k = 1."""
    start = [sys.executable, "-m", "linker.cli", "link", str(source), "--model", str(model)]
    return [*start, "-k", "1", "--format", "jsonl", "-o", str(output), *options]


def by_ray(model: Path, folder: Path, output: Path, address: str) -> list[str]:
    """The command that links all parts on a cluster."""
    options = ("--engine", "ray", "--address", address)
    return command(model, folder / "parts", output, *options)


def timed(arguments: list[str]) -> tuple[float, str]:
    """The seconds that a command takes, and what it says at the end."""
    start = time.perf_counter()
    done = subprocess.run(arguments, check=True, stderr=subprocess.PIPE, text=True)
    return time.perf_counter() - start, done.stderr.strip()


@contextlib.contextmanager
def cluster(nodes: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A head without workers and nodes of one worker each; the address, and the process of all."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--cluster", str(nodes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"RAY_USAGE_STATS_ENABLED": "0"},
    )
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


def written(output: Path) -> dict[str, int]:
    """The parts that are there, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in output.glob("part-*")}


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


def disturbed(
    arguments: list[str], output: Path, parts: int, disturb: Callable[[], None]
) -> dict[str, Any]:
    """Run a job, disturb it half way, and say how it ended."""
    start = time.perf_counter()
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(written(output)) < parts // 2:
        time.sleep(0.05)
    at = len(written(output))
    disturb()
    broken = time.perf_counter()
    try:
        _, message = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        _, message = process.communicate()
    end = time.perf_counter()
    return {
        "parts_before": at,
        "exit_code": process.returncode,
        "seconds": round(end - start, 1),
        "seconds_after": round(end - broken, 1),
        "said": [line for line in message.splitlines() if "linker" in line or "part" in line],
    }


def is_same(output: Path, plain: Path) -> bool:
    """Whether the lines of all parts are those of the plain command, byte for byte."""
    lines = [line for path in output.glob("part-*") for line in path.read_bytes().splitlines(True)]
    return sorted(lines) == sorted(plain.read_bytes().splitlines(True))


def lost_head(model: Path, folder: Path, plain: Path, parts: int) -> dict[str, Any]:
    """A job whose head is killed half way; then a new head, and the same command again."""
    output = folder / "head"
    with cluster(NODES) as (address, process):
        arguments = by_ray(model, folder, output, address)

        def kill() -> None:
            assert process.stdin is not None
            process.stdin.write("head\n")
            process.stdin.flush()

        first = disturbed(arguments, output, parts, kill)
    before = written(output)
    with cluster(NODES) as (address, _):
        seconds, said = timed(by_ray(model, folder, output, address))
    after = written(output)
    return {
        "killed": first,
        "again": {"seconds": round(seconds, 1), "said": said.splitlines()},
        "parts_kept": len(before),
        "parts_written_twice": sum(after[name] != at for name, at in before.items()),
        "same": is_same(output, plain),
    }


def lost_worker(model: Path, folder: Path, plain: Path, parts: int) -> dict[str, Any]:
    """A job of which one worker is killed half way."""
    output = folder / "worker"
    with cluster(NODES) as (address, process):
        arguments = by_ray(model, folder, output, address)
        killed: list[int] = []

        def kill() -> None:
            killed.extend(workers_below(process.pid)[:1])
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

        record = disturbed(arguments, output, parts, kill)
    return record | {"workers_killed": len(killed), "same": is_same(output, plain)}


def trained(folder: Path) -> Path:
    """A model by characters."""
    from linker import Dictionary, Linker

    dictionary = Dictionary.read(locate(MEDIC["2017"]))
    Linker.train(dictionary, encoder="tfidf", mentions=documents("ncbi", "train")).save(
        folder / "model"
    )
    return folder / "model"


def by_turns(count: int) -> None:
    """Link distinct mentions by one process and by several, three times each, and save that."""
    ways = {"one process": (), f"--workers {CORES}": ("--workers", str(CORES))}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, texts = trained(folder), list(dict.fromkeys(sampled(20 * count)))[:count]
        write_parts(folder, texts, 1)
        for _ in range(3):
            for way, options in ways.items():
                arguments = command(model, folder / "all.jsonl", folder / way, *options)
                seconds[way].append(round(timed(arguments)[0], 1))
        first, second = ((folder / way).read_bytes() for way in ways)
    one, several = seconds.values()
    ratios = [round(a / b, 2) for a, b in zip(one, several, strict=True)]
    found = {"mentions": len(texts), "seconds": seconds, "times_as_fast": ratios}
    figures = results.figures("cluster") | {"by_turns": found | {"same": first == second}}
    results.save("cluster", figures, seed=0)


def main(count: int, parts: int) -> None:
    """Run all measurements."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model, plain = trained(folder), folder / "plain.jsonl"
        texts = sampled(count)
        write_parts(folder, texts, parts)
        figures: dict[str, Any] = {"mentions": count, "distinct": len(set(texts)), "parts": parts}
        seconds = {"plain": timed(command(model, folder / "all.jsonl", plain))[0]}
        output = folder / "workers.jsonl"
        several = ("--workers", str(CORES))
        seconds["workers"] = timed(command(model, folder / "all.jsonl", output, *several))[0]
        figures["workers"] = {"cores": CORES, "same": output.read_bytes() == plain.read_bytes()}
        for nodes in (1, NODES):
            with cluster(nodes) as (address, _):
                output = folder / f"ray{nodes}"
                seconds[f"ray_{nodes}"], said = timed(by_ray(model, folder, output, address))
            figures[f"ray_{nodes}"] = {"said": said, "same": is_same(output, plain)}
            print(json.dumps([seconds, figures], indent=1), flush=True)
        figures["seconds"] = {key: round(value, 1) for key, value in seconds.items()}
        figures["times_as_fast_as_plain"] = {
            key: round(seconds["plain"] / value, 2) for key, value in seconds.items()
        }
        figures["lost_worker"] = lost_worker(model, folder, plain, parts)
        print(json.dumps(figures, indent=1), flush=True)
        figures["lost_head"] = lost_head(model, folder, plain, parts)
    text = json.dumps(figures, indent=1).replace(name, "FOLDER")
    print(text)
    results.save("cluster", json.loads(text), seed=0)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--mentions", type=int, default=200_000)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--distinct", type=int, metavar="MENTIONS")
    parser.add_argument("--cluster", type=int, metavar="NODES", help="(used by the script itself)")
    given = parser.parse_args()
    if given.cluster:
        serve(given.cluster)
    elif given.distinct:
        by_turns(given.distinct)
    else:
        main(given.mentions, given.parts)
