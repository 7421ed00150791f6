"""Whether a decision that was acknowledged can be lost: many writers of one file, killed at random.

python benchmarks/curation/writers.py

Writes results/writers.json. 16 processes add decisions one by one to one file; each notes a
decision once the store has returned it. Processes are killed by SIGKILL at random and started
again, until 10,000 decisions are noted. Then the file is read: each of them must be there.
"""

from __future__ import annotations

import itertools
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from linker.desk.decisions.store import DecisionStore
from linker.records import Decision

SEED, WRITERS, DECISIONS = 1, 16, 10_000
PAUSE = 0.25  # seconds between kills, on average
LIMIT = 1800  # seconds


def write(file: str, notes: str, writer: str) -> None:
    """Add decisions until this process is killed, and note each that was acknowledged."""
    out = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with DecisionStore(file) as store:
        for number in itertools.count():
            decision = Decision(f"mention {number}", "MESH:D001260", reviewer=writer)
            (added,) = store.add([decision])
            os.write(out, f"{added.id}\t{added.reviewer}\t{added.mention}\n".encode())


def noted(folder: Path) -> list[str]:
    """What the writers noted."""
    return [line for path in folder.glob("*.notes") for line in path.read_text().splitlines()]


def run(
    folder: Path, writers: int, decisions: int, seed: int = SEED, pause: float = PAUSE
) -> dict[str, Any]:
    """Let writers write and be killed; count what was noted and what the file holds.

    Args:
        folder: an empty one.
        writers: how many write at a time.
        decisions: how many are to be noted.
        seed: of the kills.
        pause: between kills on average, in seconds.
    """
    choose, file = random.Random(seed), folder / "decisions.db"
    names = map(str, itertools.count())

    def start() -> tuple[subprocess.Popen[bytes], Path]:
        name = next(names)
        notes = folder / f"{name}.notes"
        command = [sys.executable, __file__, "--write", str(file), str(notes), name]
        return subprocess.Popen(command), notes

    began, kills = time.monotonic(), 0
    running = [start() for _ in range(writers)]
    try:
        while len(noted(folder)) < decisions or not kills:
            if time.monotonic() - began > LIMIT:
                raise SystemExit(f"{decisions} decisions took more than {LIMIT} seconds")
            time.sleep(choose.expovariate(1 / pause))
            place = choose.randrange(writers)
            writer, notes = running[place]
            if writer.poll() is not None:
                raise SystemExit("a writer ended by itself")
            if not notes.exists():  # on a busy machine none would live long enough to write
                continue
            writer.kill()
            writer.wait()
            kills += 1
            running[place] = start()
    finally:
        for writer, _ in running:
            writer.kill()
            writer.wait()
    seconds = time.monotonic() - began
    return compared(file, noted(folder)) | {
        "writers": writers,
        "kills": kills + writers,
        "seconds": round(seconds, 1),
    }


def compared(file: Path, notes: list[str]) -> dict[str, Any]:
    """Compare what was noted with what the file holds."""
    with DecisionStore(file) as store:
        kept = Counter(
            f"{d.id}\t{d.reviewer}\t{d.mention}"
            for d in (past.decision for past in store.history())
        )
    connection = sqlite3.connect(file)
    try:
        intact = connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    finally:
        connection.close()
    return {
        "acknowledged": len(notes),
        "acknowledged_and_lost": sum((Counter(notes) - kept).values()),
        "kept_but_not_acknowledged": sum((kept - Counter(notes)).values()),
        "intact": intact,
    }


def main() -> None:
    options = results.parser(__doc__)
    options.add_argument("--write", nargs=3, metavar="X", help="be a writer: file, notes, name")
    arguments = options.parse_args()
    if arguments.write:
        write(*arguments.write)
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = run(Path(folder), WRITERS, DECISIONS)
    print(figures)
    results.save("writers", figures, seed=SEED)


if __name__ == "__main__":
    main()
