"""What the default of `linker train`, static, costs: training, size, loading, linking; and others.

python benchmarks/speed/default_speed.py            all; dan takes minutes, once
python benchmarks/speed/default_speed.py --quick    without dan and MiniLM, printed and not saved

Writes results/default_speed.json. The dictionary is the MEDIC of 2017 with the names that DOID and
HPO lend. Models are kept in benchmarks/work/default-speed; those of dan and MiniLM are not made
again. MiniLM is not trained, which would take an hour and changes neither speed nor size.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, TITLES, documents, locate
from benchmarks.lib.measure import (
    Figures,
    apart,
    linked,
    megabytes,
    memory,
    peak,
    run_command,
    timed,
)

LENDERS = ("ontologies/doid.obo.gz", "ontologies/hp.obo.gz")
UNTRAINED = ("--set", "align.epochs=0", "--set", "training.epochs=0")
SYSTEMS: dict[str, tuple[str, ...]] = {  # system -> options of linker train
    "tfidf": ("--encoder", "tfidf"),
    "static": ("--encoder", "static"),
    "dan": ("--encoder", "dan"),
    "MiniLM": ("--encoder", "transformer", *UNTRAINED),
}
OF_TORCH = ("dan", "MiniLM")
LOADS, ROUNDS = 7, 3
TARGETS = {"training_seconds": 60, "model_mb": 60, "load_ms": 200, "mentions_per_second": 5000}
TARGETS["resident_mb"] = 300


def model(system: str) -> Path:
    """The folder of the model of a system; without torch for what does not need it."""
    if system not in OF_TORCH:
        sys.modules["torch"] = None  # type: ignore[assignment]  # as if it were not installed
    return results.WORK / "default-speed" / system


def train(system: str) -> Figures:
    """Run `linker train` in this process."""
    folder, lenders = model(system), [w for f in LENDERS for w in ("--lend", locate(f))]
    options = ["--dict", locate(MEDIC["2017"]), *lenders, *SYSTEMS[system], "-o", folder]
    return run_command("train", *options) | {"model_mb": megabytes(folder)}


def load(system: str) -> Figures:
    """Load a model, once, in this process."""
    folder = model(system)
    from linker import Linker

    seconds, linker = timed(lambda: Linker.load(folder))
    return {"ms": round(1000 * seconds), "encoder": linker.encoder}


def link(system: str) -> Figures:
    """Link development mentions as they come, and the distinct ones; a new linker each time."""
    folder, figures = model(system), Figures()
    items = [document for corpus in TITLES for document in documents(corpus, "devel")]
    distinct = [*dict.fromkeys(m.text for document in items for m in document.mentions)]
    for name, asked in (("as they come", items), ("distinct", distinct)):
        runs = list(linked(folder, asked, ROUNDS))
        rates = [round(count / seconds) for seconds, count in runs]
        figures[name] = {"mentions": runs[0][1], "mentions_per_second": rates}
    return figures | {"resident_mb": round(next(memory("self", "VmRSS"))), "peak_mb": round(peak())}


def cost(system: str) -> Figures:
    """All figures of a system; those of trainings with torch are kept beside the model."""
    print(system, flush=True)
    kept = results.WORK / "default-speed" / f"{system}.json"
    if system not in OF_TORCH or not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(apart(train, system)), encoding="utf-8")
    loads = [apart(load, system) for _ in range(LOADS)]
    return {
        "training": json.loads(kept.read_text(encoding="utf-8")),
        "encoder": loads[0]["encoder"],
        "load_ms": [figures["ms"] for figures in loads],
        "load_ms_median": statistics.median(figures["ms"] for figures in loads),
        "linking": apart(link, system),
    }


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="without dan and MiniLM, not saved")
    is_quick = parser.parse_args().quick
    systems = {system: cost(system) for system in SYSTEMS if not (is_quick and system in OF_TORCH)}
    figures = {"cores": len(os.sched_getaffinity(0)), "targets": TARGETS, "systems": systems}
    print(json.dumps(figures, indent=1))
    if not is_quick:
        results.save("default_speed", figures)
