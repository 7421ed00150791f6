"""A short share of the attacks; `python benchmarks/attacks/run.py` is the long run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "benchmarks" / "attacks" / "run.py"
# threads take address space, which the attacks limit, and forks of threads may hang
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="limits and signals are those of Linux"
)


@pytest.mark.parametrize(
    ("kind", "cases"), [("files", 200), ("archives", 1), ("models", 30), ("kills", 1)]
)
def test_attacks(kind: str, cases: int) -> None:
    command = [sys.executable, str(SCRIPT), "--only", kind, "--json", str(cases)]
    environment = os.environ | QUIET
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    rows = json.loads(done.stdout.splitlines()[-1])
    again = f"python benchmarks/attacks/run.py --only {kind} --case "
    failures = [f"{again}{case}\n    {failure}" for case, failure in rows if failure]
    assert not failures, "\n".join(failures[:5])
    assert len(rows) == cases
