"""Runs some cases of a kind of attack in this process and prints what came of them as JSON: KIND SEED FIRST COUNT SECONDS."""

from __future__ import annotations

import dataclasses
import json
import os
import sys

if __name__ == "__main__":
    answer = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    os.environ |= dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    )  # before numpy

    from .core import run
    from .kinds import KINDS

    kind, (seed, first, count), seconds = sys.argv[1], map(int, sys.argv[2:5]), float(sys.argv[5])
    tally = run(kind, KINDS[kind], seed, range(first, first + count), seconds)
    with open(answer, "w", encoding="utf-8") as file:
        file.write(json.dumps(dataclasses.asdict(tally)))
