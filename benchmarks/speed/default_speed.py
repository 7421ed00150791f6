"""What the default of `linker train`, static, costs: training, size, loading, linking; and others.

python benchmarks/speed/default_speed.py            all; dan takes minutes, once
python benchmarks/speed/default_speed.py --quick    without dan and MiniLM, printed and not saved

Writes results/default_speed.json. The dictionary is the MEDIC of 2017 with the names that DOID and
HPO lend. Models are kept in benchmarks/work/default-speed; those of dan and MiniLM are not made
again. MiniLM is not trained, which would take an hour and changes neither speed nor size.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, TITLES, documents, locate
from benchmarks.lib.measure import child, memory, peak, timed

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
TARGETS = {
    "training_seconds": 60,
    "model_mb": 60,
    "load_ms": 200,
    "mentions_per_second": 5000,
    "resident_mb": 300,
}


def model(system: str) -> Path:
    """The folder of the model of a system."""
    return results.WORK / "default-speed" / system


def train(system: str) -> dict[str, Any]:
    """Run `linker train` in this process."""
    from linker.cli.commands import cli

    paths = [locate(MEDIC["2017"]), *map(locate, LENDERS)]
    flags = ("--dict", "--lend", "--lend")
    files = [word for pair in zip(flags, map(str, paths), strict=True) for word in pair]
    command = ["train", *files, *SYSTEMS[system], "-o", str(model(system))]
    seconds, _ = timed(lambda: cli.main(command, standalone_mode=False))
    sizes = [path.stat().st_size for path in model(system).rglob("*") if path.is_file()]
    return {
        "seconds": round(seconds, 1),
        "peak_mb": round(peak()),
        "model_mb": round(sum(sizes) / 1e6, 1),
    }


def load(system: str) -> dict[str, Any]:
    """Load a model, once, in this process."""
    from linker import Linker

    seconds, linker = timed(lambda: Linker.load(model(system)))
    return {"ms": round(1000 * seconds), "encoder": linker.encoder}


def link(system: str) -> dict[str, Any]:
    """Link development mentions as they come, and the distinct ones; a new linker each time."""
    from linker import Linker

    items = [document for corpus in TITLES for document in documents(corpus, "devel")]
    mentions = [mention.text for document in items for mention in document.mentions]
    tasks = {"as they come": items, "distinct": [*dict.fromkeys(mentions)]}
    figures: dict[str, Any] = {}
    for name, asked in tasks.items():
        count, rates = len(mentions) if asked is items else len(asked), []
        for _ in range(ROUNDS):
            linker = Linker.load(model(system))
            list(linker.link(["a name to begin with"]))
            seconds, _ = timed(lambda linker=linker, asked=asked: list(linker.link(asked)))
            rates.append(round(count / seconds))
        figures[name] = {"mentions": count, "mentions_per_second": rates}
    return figures | {"resident_mb": round(next(memory("self", "VmRSS"))), "peak_mb": round(peak())}


PARTS: dict[str, Callable[[str], dict[str, Any]]] = {"train": train, "load": load, "link": link}


def measured(part: str, system: str) -> dict[str, Any]:
    """Run a part in a process of its own."""
    return child(__file__, "--part", part, "--system", system)


def trained(system: str) -> dict[str, Any]:
    """Figures of training; those of encoders that torch trains are kept beside the model."""
    kept = model(system).with_suffix(".json")
    if system not in OF_TORCH or not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(measured("train", system)), encoding="utf-8")
    figures: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return figures


def cost(system: str) -> dict[str, Any]:
    """All figures of a system."""
    print(system, flush=True)
    training = trained(system)
    loads = [measured("load", system) for _ in range(LOADS)]
    return {
        "training": training,
        "encoder": loads[0]["encoder"],
        "load_ms": [figures["ms"] for figures in loads],
        "load_ms_median": statistics.median(figures["ms"] for figures in loads),
        "linking": measured("link", system),
    }


def main(given: argparse.Namespace) -> None:
    """Measure all systems, or a part of one."""
    if given.part:
        if given.system not in OF_TORCH:
            sys.modules["torch"] = None  # type: ignore[assignment]  # as if it were not installed
        print(json.dumps(PARTS[given.part](given.system)))
        return
    systems = [s for s in SYSTEMS if not (given.quick and s in OF_TORCH)]
    figures = {"cores": len(os.sched_getaffinity(0)), "targets": TARGETS}
    figures |= {"systems": {system: cost(system) for system in systems}}
    print(json.dumps(figures, indent=1))
    if not given.quick:
        results.save("default_speed", figures)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="without dan and MiniLM, not saved")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--system", choices=SYSTEMS, help=argparse.SUPPRESS)
    main(parser.parse_args())
