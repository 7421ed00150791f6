"""Attacks on linker: mutated inputs, requests and decisions, kills, damaged models.

python benchmarks/attacks/run.py                               all of them, in about an hour
python benchmarks/attacks/run.py --share 0.01                  a hundredth of each, to try it
python benchmarks/attacks/run.py --only loads --seed 1         one kind; others of the result stay
python benchmarks/attacks/run.py --only readers --case 2017    one case again, with its traceback

Writes results/attacks.json. The exit code is 1 where anything failed. A case is repeated by its
kind, seed and number; kills, interrupts and loads depend on the moment too. The test suite runs the
first cases of each kind.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.attacks import core
from benchmarks.attacks.core import SHOWN, Row
from benchmarks.lib import results

EXAMPLES = 3  # of each failure, that are kept
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Kind(NamedTuple):
    """A kind of attack."""

    prepared: str  # "module.function" of this package, a `core.Prepared`
    cases: int  # of the long run
    quick: int  # of the test suite
    what: str  # is attacked, and how
    wall: int = 120  # seconds that a case may last, with the processes that it waits for
    needs: str = ""  # a library of an extra that is attacked

    def load(self) -> core.Prepared:
        """The function."""
        module, _, function = self.prepared.partition(".")
        loaded = importlib.import_module(f"benchmarks.attacks.{module}")
        prepared: core.Prepared = getattr(loaded, function)
        return prepared


# fmt: off
KINDS = {
    "readers": Kind("readers.prepared", 80_000, 250, "mutated files of every format that is read"),
    "bombs": Kind("readers.bombs", 34, 1, "a small gzip file that holds a line of a gigabyte"),
    "commands": Kind("commands.prepared", 6_000, 15, "command lines with hostile values of options and mutated inputs"),
    "names": Kind("commands.names", 400, 2, "hostile names of files, in four locales"),
    "descriptors": Kind("commands.descriptors", 33, 2, "closed descriptors, devices and pipes"),
    "writers": Kind("writers.prepared", 18_000, 200, "hostile texts in every format that is written, read again"),
    "sparse models": Kind("models.sparse", 1_200, 50, "damaged and signed again: sparse models, dictionaries, word vectors", 20),
    "dense models": Kind("models.dense", 800, 0, "damaged and signed again: models with a dan or a transformer", 30),
    "kills": Kind("replacing.kills", 140, 1, "SIGKILL or SIGTERM while something is replaced, at random moments"),
    "interrupts": Kind("replacing.interrupts", 100, 1, "Ctrl-C at random moments, most of them early"),
    "swaps": Kind("replacing.swaps", 10_200, 20, "a death at every line of the code that replaces files and folders"),
    "loads": Kind("replacing.loads", 10_000, 40, "models that are loaded while they are replaced"),
    "options": Kind("options.prepared", 807, 0, "every option of a training with hostile values", 900),
    "decisions": Kind("decisions.prepared", 4_000, 10, "hostile decisions: files of them, tables and mappings that people changed, damaged answers", needs="openpyxl"),
    "spreadsheets": Kind("spreadsheets.prepared", 2_000, 10, "tables of users, mutated, to which answers are added: csv, tsv, workbooks", needs="openpyxl"),
    "requests": Kind("service.prepared", 5_000, 40, "hostile requests to a service: bodies, heads, paths, parameters, keys, several at once", 60, "fastapi"),
}
# fmt: on


def apart(kind: str, seed: int, first: int, count: int, seconds: float) -> list[Row]:
    """Try some cases in a process of their own; what came of them."""
    arguments = [sys.executable, __file__, "--try", kind, *map(str, (seed, first, count, seconds))]
    environment = os.environ | ONE_THREAD | {"MALLOC_ARENA_MAX": "2"}  # which take address space
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True}
    done = subprocess.run(arguments, env=environment, check=False, **pipes)
    if os.environ.get(SHOWN):
        sys.stderr.buffer.write(done.stderr)
    if done.returncode:
        said = done.stderr.decode(errors="replace")[-1000:]
        return [(first, False, f"the attack could not be made: {said}")]
    return list(map(tuple, json.loads(done.stdout)))


def try_here(name: str, seed: str, first: str, count: str, seconds: str) -> None:
    """Try some cases in this process, and print what came of them as JSON."""
    csv.field_size_limit(1 << 30)  # what comes out may have long cells
    answer = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    kind, cases = KINDS[name], range(int(first), int(first) + int(count))
    rows = core.run(name, kind.load(), kind.wall, int(seed), cases, float(seconds))
    with open(answer, "w", encoding="utf-8") as file:
        file.write(json.dumps(rows))


def repeat(given: argparse.Namespace) -> int:
    """Repeat one case, and show what it says."""
    os.environ[SHOWN] = "1"
    rows = apart(given.only[0], given.seed, given.case, 1, 60 * given.minutes)
    _, is_refused, failure = rows[0]
    print(failure or ("refused, as it should be" if is_refused else "no failure"))
    return int(bool(failure))


def attacked(
    pool: ThreadPoolExecutor, kind: str, given: argparse.Namespace, end: float
) -> dict[str, Any]:
    """Run the cases of a kind in some processes: how many were tried, refused, and failed."""
    planned = max(1, round(KINDS[kind].cases * given.share))
    start, share = time.monotonic(), -(-planned // given.processes)
    shares = [(first, min(share, planned - first)) for first in range(0, planned, share)]
    made = pool.map(lambda cases: apart(kind, given.seed, *cases, max(0, end - start)), shares)
    rows = [row for one in made for row in one]
    failures = [(case, failure) for case, _, failure in rows if failure]
    return {
        "what": KINDS[kind].what,
        "planned": planned,
        "tried": len(rows),
        "refused": sum(is_refused for _, is_refused, _ in rows),
        "failed": len(failures),
        "seconds": round(time.monotonic() - start),
        "failures": grouped(failures),
    }


def grouped(failures: Iterable[tuple[int, str]]) -> dict[str, Any]:
    """Failures of one cause together, the most frequent first: how many, and the first cases.

    The cause is what stands before the details.
    """
    causes: dict[str, list[Any]] = {}
    for case, failure in sorted(failures):
        cause = failure.partition(": ")[0]
        causes.setdefault(cause, []).append({"case": case, "failure": failure})
    ordered = sorted(causes.items(), key=lambda cause: -len(cause[1]))
    return {cause: {"count": len(cases), "first": cases[:EXAMPLES]} for cause, cases in ordered}


def main(given: argparse.Namespace) -> int:
    """Run the attacks that are asked for, and print what they found; the exit code."""
    end, rows = time.monotonic() + 60 * given.minutes, {}
    with ThreadPoolExecutor(given.processes) as pool:
        for kind in given.only or KINDS:
            row = rows[kind] = attacked(pool, kind, given, end)
            counts = f"{row['tried']:,} of {row['planned']:,} tried, {row['refused']:,} refused"
            print(f"{kind}: {counts}, {row['failed']:,} failed, {row['seconds']:,} s", flush=True)
            for cause, cases in row["failures"].items():
                first = cases["first"][0]
                again = f'python benchmarks/attacks/run.py --only "{kind}" --seed {given.seed}'
                print(f"  {cases['count']:,} x {cause}: {again} --case {first['case']}")
                print(f"    {first['failure']}", flush=True)
    if given.share == 1:
        old = results.figures("attacks") if given.only else {}
        figures = {kind: row for kind in KINDS if (row := rows.get(kind) or old.get(kind))}
        results.save("attacks", figures, seed=given.seed)
    return int(any(row["failures"] or row["tried"] < row["planned"] for row in rows.values()))


if __name__ == "__main__":
    parser = results.parser(__doc__)
    add = parser.add_argument
    add("--only", action="append", choices=KINDS, metavar="KIND", help=f"of: {', '.join(KINDS)}")
    add("--seed", type=int, default=0)
    add("--case", type=int, help="repeat this case of the kind of --only")
    add("--share", type=float, default=1, help="of the cases of the long run")
    add("--minutes", type=float, default=90, help="no case is begun after so long")
    add("--processes", type=int, default=2)
    add("--try", nargs=5, dest="part", metavar="X", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.case is not None and len(chosen.only or ()) != 1:
        parser.error("--case goes with one --only")
    if chosen.part:
        try_here(*chosen.part)
    else:
        sys.exit(main(chosen) if chosen.case is None else repeat(chosen))
