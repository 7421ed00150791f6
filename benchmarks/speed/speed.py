"""Speed and memory: what a case measures, and its result.

python benchmarks/speed/speed.py                   lists the cases
python benchmarks/speed/speed.py CASE              measures a case -> results/CASE.json
python benchmarks/speed/speed.py CASE --quick      a small trial, printed and not saved

Whatever is compared takes turns, and each measurement of memory is a process of its own. Models and
figures that take long are kept in benchmarks/work.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results

CASES = {  # result -> module and function, what is measured
    "speed": ("beside_biosyn.characters", "characters beside BioSyn's way; start-up; a million"),
    "cold_start": ("processes.cold_start", "one mention, by models (--model) now and --before"),
    "encoder_speed": ("encoders.encoder_speed", "every encoder: names a second, size, training"),
    "linking": ("linking.linking", "linking beside encoding, its stages, whether it is exact"),
    "command_speed": ("linking.command_speed", "`linker link` by the models of shipped.py"),
    "scale": ("scale.scale", "0.1, 1 and 10 million names"),
}


def main() -> None:
    """Measure a case, and keep its figures."""
    parser = results.parser(__doc__)
    add = parser.add_argument
    add("case", nargs="?", choices=CASES, metavar="CASE")
    add("--quick", action="store_true", help="a small trial, printed and not saved")
    add("--model", action="append", default=[], metavar="NAME=DIR", help="a trained model")
    add("--before", metavar="COMMIT", help="measure an earlier commit, too")
    add("--only", nargs="+", metavar="NAME", help="these encoders or sizes; the others stay")
    add("--again", action="store_true", help="forget models and figures that are kept")
    add("--table", action="store_true", help="scale: measure nothing, put together what is kept")
    given = parser.parse_args()
    if given.case is None:
        print(*(f"{case:14} {what}" for case, (_, what) in CASES.items()), sep="\n")
        return
    module, _, function = CASES[given.case][0].partition(".")
    measure = getattr(importlib.import_module(f"benchmarks.speed.{module}"), function)
    figures = measure(given)
    print(json.dumps(figures, indent=1))
    if not given.quick:
        results.save(given.case, figures, seed=0)


if __name__ == "__main__":
    main()
