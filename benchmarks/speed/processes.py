"""Whole processes: cold start of `linker link`, and `Linker.load`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.lib.measure import Figures, earlier, spent
from benchmarks.lib.results import ROOT, WORK

Runs = dict[str, dict[str, list[dict[str, float]]]]

_LINK = """
import atexit, sys
def peak():
    lines = open("/proc/self/status").read().splitlines()
    print(next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")))
atexit.register(peak)
sys.argv[0] = "linker"
from linker.cli import main
main()
"""
_LOAD = """
import json, sys, time
from linker import Linker
linker = Linker.load(sys.argv[1])  # imports
start = time.perf_counter()
Linker.load(sys.argv[1])
milliseconds = 1000 * (time.perf_counter() - start)
linker.link("breast cancer")
heavy = ("torch", "transformers", "sklearn")
print(json.dumps([milliseconds, [name for name in heavy if name in sys.modules]]))
"""


def cold_start(given: argparse.Namespace) -> Figures:
    """The process of `linker link` with one mention, and `Linker.load`, of models now and before.

    The fewest seconds of five rounds are kept, since other work on the machine only adds. A model
    of the earlier commit is given as `NAME@before=DIR` where it cannot read the present one.
    """
    models = dict(model.split("=", 1) for model in given.model)
    places = {"now": ROOT} | ({"before": earlier(given.before)} if given.before else {})
    figures: Figures = {}
    runs: Runs = {}
    for _ in range(1 if given.quick else 5):
        for name in (name for name in models if "@" not in name):
            for when, library in places.items():
                model = models.get(f"{name}@{when}", models[name])
                run, heavy = _one_mention(library, model)
                runs.setdefault(name, {}).setdefault(when, []).append(run)
                if when == "now":
                    figures[name] = {"loads": heavy}
    for name, of_one in runs.items():
        for when, rows in of_one.items():
            figures[name][when] = {key: min(row[key] for row in rows) for key in rows[0]}
    return {"models": figures}


def _one_mention(library: Path, model: str) -> tuple[Figures, list[str]]:
    """Figures of a process that links one mention and of a load, and the packages it imports."""
    environment = os.environ | {"PYTHONPATH": str(library)}
    environment["PYTHONPYCACHEPREFIX"] = str(WORK / "bytecode")  # the first round compiles into it
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as folder:
        mention = Path(folder) / "mention.txt"
        mention.write_text("breast cancer\n", "utf-8")
        words = ["link", str(mention), "--model", model, "-o", f"{folder}/out.tsv"]
        figures, said = spent([sys.executable, "-c", _LINK, *words], environment)
    _, loaded = spent([sys.executable, "-c", _LOAD, model], environment)
    milliseconds, heavy = json.loads(loaded)
    sizes = {"peak_mb": round(float(said.split()[-1]), 1), "load_ms": round(milliseconds, 1)}
    return figures | sizes, heavy
