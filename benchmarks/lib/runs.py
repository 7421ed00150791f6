"""Runs: one training and evaluation each; those of a table are kept in one compressed file.

python benchmarks/lib/runs.py                         the tables, and how many runs each has
python benchmarks/lib/runs.py levels                  the names of the runs of a table
python benchmarks/lib/runs.py levels NAME             what one run found, as JSON
python benchmarks/lib/runs.py levels NAME --remove    removes it, so that its script makes it again

The file is benchmarks/results/runs/<table>.jsonl.gz, with a record a line: the name of the run, and
what a result has (lib/results.py). A run stays until it is removed, whatever options have changed
since: its record names its commit. Several processes may append to a file at the same time.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results

RUNS = results.RESULTS / "runs"
Record = dict[str, Any]


def slug(name: str) -> str:
    """A name in small ASCII letters and digits, with hyphens between its words."""
    return "-".join(re.findall("[a-z0-9]+", name.lower()))


def read(table: str) -> dict[str, Record]:
    """The records of a table by the names of the runs, in the order in which they were made."""
    path = _path(table)
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return {record.pop("run"): record for record in records}


def figures(table: str) -> dict[str, dict[str, Any]]:
    """The figures of the runs of a table by their names."""
    return {run: record["figures"] for run, record in read(table).items()}


def append(table: str, run: str, record: Record) -> None:
    """Add the record of a run to a table; where the table has that run, its record stays."""
    with _locked():
        records = read(table)
        _write(table, {**records, run: records.get(run, record)})


def remove(table: str, run: str) -> None:
    """Remove the record of a run from a table."""
    with _locked():
        _write(table, {name: record for name, record in read(table).items() if name != run})


def make(
    table: str, run: str, find: Callable[[], dict[str, Any]], seed: int | None = None
) -> dict[str, Any]:
    """The figures of a run, which are found and kept where the table lacks it."""
    if run not in (kept := figures(table)):
        print(f"{table}: {run}", flush=True)
        append(table, run, results.record(f"runs/{table}/{run}", find(), seed))
        kept = figures(table)
    return kept[run]


def made(
    table: str, wanted: Mapping[str, Callable[[], dict[str, Any]]], *, is_table: bool
) -> dict[str, dict[str, Any]]:
    """The figures of the runs that are kept, in order; those that are missing are made before.

    Args:
        table: that keeps the runs.
        wanted: what finds the figures of each run.
        is_table: whether none is made.
    """
    for run, find in {} if is_table else wanted.items():
        make(table, run, find, 0)
    kept = figures(table)
    return {run: kept[run] for run in wanted if run in kept}


def _path(table: str) -> Path:
    return RUNS / f"{table}.jsonl.gz"


def _write(table: str, records: Mapping[str, Record]) -> None:
    """Replace the file of a table; the same records give the same bytes."""
    lines = [json.dumps({"run": run} | r, ensure_ascii=False) for run, r in records.items()]
    new = _path(table).with_suffix(".new")
    with new.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
    os.replace(new, _path(table))


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Keep other processes from writing."""
    RUNS.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(RUNS, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def main() -> None:
    """Show or remove runs."""
    parser = results.parser(__doc__)
    parser.add_argument("table", nargs="?")
    parser.add_argument("run", nargs="?")
    parser.add_argument("--remove", action="store_true")
    given = parser.parse_args()
    if given.table is None:
        for path in sorted(RUNS.glob("*.jsonl.gz")):
            table = path.name.removesuffix(".jsonl.gz")
            print(f"{len(read(table)):5} {table}")
    elif given.run is None:
        print(*read(given.table), sep="\n")
    elif given.run not in read(given.table):
        parser.error(f"{given.table} has no run {given.run!r}")
    elif given.remove:
        remove(given.table, given.run)
    else:
        print(json.dumps(read(given.table)[given.run], indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
