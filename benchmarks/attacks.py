"""Attacks on linker: mutated inputs, requests and decisions, kills, damaged models.

python benchmarks/attacks.py                               all of them, in about an hour
python benchmarks/attacks.py --share 0.01                  a hundredth of each kind, to try it
python benchmarks/attacks.py --only loads --seed 1         one kind; the others of the result stay
python benchmarks/attacks.py --only readers --case 2017    one case again, with its traceback

Writes results/attacks.json; the kinds are in tests/attacks/kinds.py. The exit code is 1 where
anything failed. A case is repeated by its kind, seed and number; kills, interrupts and loads depend
on the moment too. The test suite runs the first cases of each kind.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))  # its `attacks`, not this

from attacks.core import SHOWN, Tally, apart, signature
from attacks.kinds import KINDS

from benchmarks.lib import results

EXAMPLES = 3  # of each failure, that are kept


def main(arguments: argparse.Namespace) -> int:
    """Run the attacks that are asked for; the exit code."""
    if arguments.case is not None:
        return repeat(arguments)
    print(f"seed {arguments.seed}", flush=True)
    end = time.monotonic() + 60 * arguments.minutes
    rows = {}
    with ThreadPoolExecutor(arguments.processes) as pool:
        for kind in arguments.only or KINDS:
            rows[kind] = attacked(pool, kind, arguments, end)
            print(
                "\n".join([line(kind, rows[kind]), *failures(kind, rows[kind], arguments.seed)]),
                flush=True,
            )
    if arguments.share == 1:
        old = results.figures("attacks") if arguments.only else {}
        figures = {kind: row for kind in KINDS if (row := rows.get(kind) or old.get(kind))}
        results.save("attacks", figures, seed=arguments.seed)
    return int(any(row["failures"] or row["tried"] < row["planned"] for row in rows.values()))


def repeat(arguments: argparse.Namespace) -> int:
    """Repeat one case, and show what it says."""
    os.environ[SHOWN] = "1"
    (kind,) = arguments.only
    tally = apart(kind, arguments.seed, arguments.case, 1, 60 * arguments.minutes)
    print(
        tally.failures[0][1]
        if tally.failures
        else "refused, as it should be"
        if tally.refused
        else "no failure"
    )
    return int(bool(tally.failures))


def attacked(
    pool: ThreadPoolExecutor, kind: str, arguments: argparse.Namespace, end: float
) -> dict[str, Any]:
    """Run the cases of a kind in some processes: how many were tried, refused, and failed."""
    planned = max(1, round(KINDS[kind].long * arguments.share))
    start, share = time.monotonic(), -(-planned // arguments.processes)
    shares = [(first, min(share, planned - first)) for first in range(0, planned, share)]
    tallies = list(
        pool.map(lambda cases: apart(kind, arguments.seed, *cases, max(0, end - start)), shares)
    )
    return {
        "what": KINDS[kind].what,
        "planned": planned,
        "tried": sum(tally.tried for tally in tallies),
        "refused": sum(tally.refused for tally in tallies),
        "failed": sum(len(tally.failures) for tally in tallies),
        "seconds": round(time.monotonic() - start),
        "failures": grouped(tallies),
    }


def grouped(tallies: Iterable[Tally]) -> dict[str, Any]:
    """Failures of one cause together, the most frequent first: how many, and the first cases."""
    causes: dict[str, list[Any]] = {}
    for tally in tallies:
        for case, failure in sorted(tally.failures):
            causes.setdefault(signature(failure), []).append({"case": case, "failure": failure})
    ordered = sorted(causes.items(), key=lambda cause: -len(cause[1]))
    return {cause: {"count": len(cases), "first": cases[:EXAMPLES]} for cause, cases in ordered}


def line(kind: str, row: dict[str, Any]) -> str:
    """A line of the table."""
    tried = f"{row['tried']:,}" + f" of {row['planned']:,}" * (row["tried"] < row["planned"])
    counts = f"{tried:>16} tried {row['refused']:8,} refused {row['failed']:6,} failed"
    return f"{kind:15} {counts} {row['seconds']:6,} s   {row['what']}"


def failures(kind: str, row: dict[str, Any], seed: int) -> Iterable[str]:
    """The causes of failures, each with the command that repeats its first case."""
    for cause, cases in row["failures"].items():
        first = cases["first"][0]
        again = f'python benchmarks/attacks.py --only "{kind}" --seed {seed}'
        yield f"  {cases['count']:,} x {cause}: {again} --case {first['case']}"
        yield f"    {first['failure']}"


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument(
        "--only",
        action="append",
        choices=KINDS,
        metavar="KIND",
        help=f"one of: {', '.join(KINDS)}; may be given again",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="repeat this case of the kind of --only")
    parser.add_argument("--share", type=float, default=1, help="of the cases of the long run")
    parser.add_argument("--minutes", type=float, default=90, help="no case is begun after so long")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    if chosen.case is not None and len(chosen.only or ()) != 1:
        parser.error("--case goes with one --only")
    sys.exit(main(chosen))
