"""Cold start: the whole process of `linker link` with one mention, and `Linker.load`.

    python benchmarks/speed/cold_start.py --model tfidf=DIR --model dan=DIR ...
        [--before CHECKOUT [--model-before tfidf=DIR ...]]

Each process starts anew, the ways in turn; the fewest seconds of the rounds are kept, since other
work on the machine only adds. `--before` names a checkout of an older release to compare with.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.results import ROOT, WORK, parser, save

_BYTECODE = WORK / "bytecode"  # the first round compiles into it
_LINK = "import sys; sys.argv[0] = 'linker'; from linker.cli import main; main()"
_LOAD = """
import json, sys, time
from linker import Linker
Linker.load(sys.argv[1])  # imports
start = time.perf_counter()
Linker.load(sys.argv[1])
print(json.dumps(1000 * (time.perf_counter() - start)))
"""
_HEAVY = ("torch", "transformers", "accelerate", "sklearn", "openvino")
_MODULES = f"""
import sys
from linker import Linker
next(Linker.load(sys.argv[1]).link(["breast cancer"]))
print(*[name for name in {_HEAVY!r} if name in sys.modules])
"""


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--model", action="append", required=True, metavar="NAME=DIR")
    arguments.add_argument("--before", type=Path, help="a checkout of an older release")
    arguments.add_argument("--model-before", action="append", default=[], metavar="NAME=DIR")
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    models = dict(model.split("=", 1) for model in given.model)
    older = models | dict(model.split("=", 1) for model in given.model_before)
    checkouts = {"now": ROOT} | ({"before": given.before.resolve()} if given.before else {})
    runs: dict[str, dict[str, list[dict[str, float]]]] = {}
    for _ in range(given.rounds):
        for name, model in models.items():
            for release, checkout in checkouts.items():
                folder = model if release == "now" else older[name]
                runs.setdefault(name, {}).setdefault(release, []).append(measure(checkout, folder))
    figures: dict[str, Any] = {"rounds": given.rounds, "models": {}}
    for name, releases in runs.items():
        best = {
            release: {key: min(run[key] for run in rows) for key in rows[0]}
            for release, rows in releases.items()
        }
        if "before" in best:
            pairs = best["before"], best["now"]
            best["times"] = {key: round(pairs[0][key] / pairs[1][key], 2) for key in pairs[0]}
        loaded = python(ROOT, _MODULES, models[name]).stdout.split()
        figures["models"][name] = best | {"loads": loaded}
    save("cold_start", figures)


def measure(checkout: Path, model: str) -> dict[str, float]:
    """Seconds and memory of a process that links one mention, and milliseconds of `load`."""
    with tempfile.TemporaryDirectory() as folder:
        mention = Path(folder) / "mention.txt"
        mention.write_text("breast cancer\n", "utf-8")
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["link", str(mention), "--model", model, "-o", str(Path(folder) / "out.tsv")]
        script = f"{_PEAK}{_LINK}"
        done = python(checkout, script, *command)
        seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "seconds": round(seconds, 3),
        "cpu_seconds": round(used, 3),
        "peak_mb": round(float(done.stdout.split()[-1]), 1),
        "load_ms": round(json.loads(python(checkout, _LOAD, model).stdout), 1),
    }


_PEAK = """
import atexit
def peak():
    lines = open("/proc/self/status").read().splitlines()
    print(next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")))
atexit.register(peak)
"""


def python(checkout: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script with the package of a checkout, compiled as an installed one is."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "PYTHONPYCACHEPREFIX": str(_BYTECODE)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        command, env=environment, cwd=checkout, check=True, capture_output=True, text=True
    )


if __name__ == "__main__":
    main()
