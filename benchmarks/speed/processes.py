"""Whole processes: cold start of `linker link`, and a training beside other work."""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.lib.data import MEDIC, locate
from benchmarks.lib.measure import Figures, earlier, spent
from benchmarks.lib.results import ROOT, WORK

Runs = dict[str, dict[str, list[dict[str, float]]]]

# ------------------------------------------------------------------------------------- cold start

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


# ------------------------------------------------------------------------------- beside other work

_TRAIN = (
    "import sys; from linker import cli; "
    "[cli._ENVIRONMENT.pop(name, None) for name in sys.argv.pop(1).split(',')]; cli.main()"
)
WAYS: dict[str, dict[str, str]] = {  # an empty value: as if the command line set none
    "before": {"OMP_WAIT_POLICY": "", "OPENBLAS_THREAD_TIMEOUT": ""},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE", "OPENBLAS_THREAD_TIMEOUT": ""},
    "after": {},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
SMALL = ("ground.epochs=1", "training.epochs=0", "dan.hidden=2400")


def busy(given: argparse.Namespace) -> Figures:
    """A short training of dan, alone and beside two busy processes, by how threads wait."""
    concepts, rounds = (100, 1) if given.quick else (400, 3)
    runs: Runs = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "medic.tsv"
        with gzip.open(locate(MEDIC["2017"]), "rt", encoding="utf-8") as lines:
            path.write_text("".join(map(_without_parents, islice(lines, concepts))), "utf-8")
        for _ in range(rounds):
            for load, others in (("alone", 0), ("beside two", 2)):
                for way, settings in WAYS.items():
                    with _busy(others):
                        run = _train(path, settings)
                    runs.setdefault(load, {}).setdefault(way, []).append(run)
    medians = {
        load: {
            way: {clock: statistics.median(run[clock] for run in rows) for clock in rows[0]}
            for way, rows in ways.items()
        }
        for load, ways in runs.items()
    }
    return {"cores": os.cpu_count(), "concepts": concepts, "ways": WAYS, "seconds": medians}


def _without_parents(line: str) -> str:
    """A line of MEDIC whose concept has no parents, which may be further down."""
    cells = line.split("\t")
    return line if line.startswith("#") else "\t".join([*cells[:4], "", *cells[5:]])


@contextlib.contextmanager
def _busy(count: int) -> Iterator[None]:
    loop = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(loop) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _train(dictionary: Path, settings: dict[str, str]) -> dict[str, Any]:
    words = ["train", "--dict", str(dictionary), "--encoder", "dan", "-q"]
    words += ["-o", str(dictionary.with_name("model"))]
    words += [word for option in SMALL for word in ("--set", option)]
    dropped = ",".join(name for name, value in settings.items() if not value)
    names = {name for way in WAYS.values() for name in way}
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= {name: value for name, value in settings.items() if value}
    return spent([sys.executable, "-c", _TRAIN, dropped, *words], environment)[0]
