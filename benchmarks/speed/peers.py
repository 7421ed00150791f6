"""Other systems on the same names and mentions: accuracy, speed, memory, disk, cold start.

python benchmarks/speed/peers.py                  on development mentions, what is not kept yet
python benchmarks/speed/peers.py --split test     on the test mentions of NCBI Disease
python benchmarks/speed/peers.py --only gilda     one system
python benchmarks/speed/peers.py --again          measures again
python benchmarks/speed/peers.py --quick          300 mentions, printed and not kept

Writes results/peers.json. The names are those of the MEDIC of 2017, with the mentions of the
training documents (`annotated`) and without (`dictionary`); mentions are linked as texts, without
their documents. The systems are in peer_systems.py. Each runs in processes of its own; all but
linker get virtual environments in benchmarks/work/peers, where indexes and figures are kept, too.
Accuracy is that of the protocol strict. On development mentions the ranker of linker starts from
weights that were fitted without NCBI Disease.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import ranker_weights
from benchmarks.lib import results
from benchmarks.lib.data import CORPORA, MEDIC, documents, locate, medic
from benchmarks.lib.measure import Figures, child, megabytes, timed
from benchmarks.speed.peer_systems import SYSTEMS
from linker import Candidate, Dictionary, Mention, Part, Prediction
from linker.evaluation.metrics import mean_interval
from linker.evaluation.protocols import outcome_of
from linker.linking import ranker
from linker.linking.options import LinkerOptions
from linker.text.normalize import normalize
from linker.training.data import collect

WORK = results.WORK / "peers"
SCRIPT = str(Path(__file__).with_name("peer_systems.py"))
COLD, QUICK = 5, 300  # starts; mentions of a trial
KNOWN = {"dictionary": (), "annotated": ("train",)}  # the splits whose mentions are names


def interpreter(system: str) -> str:
    """The Python that a system runs in; its environment is made on first use."""
    if not SYSTEMS[system].is_alone:
        return sys.executable
    needed = [*SYSTEMS[system].needs, "packaging", *SYSTEMS[system].options]
    folder = WORK / f"venv-{needed[0].partition('=')[0]}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-qq", *needed], check=True)
        (folder / "complete").touch()
    return str(python)


@cache
def dictionary() -> Dictionary:
    """The MEDIC of 2017."""
    return medic("2017")


def asked(given: argparse.Namespace) -> list[Mention]:
    """The annotated mentions of a split of NCBI Disease, or the first of them."""
    every = [m for document in documents("ncbi", given.split) for m in document.mentions]
    return every[:QUICK] if given.quick else every


def place(given: argparse.Namespace, names: str) -> Path:
    """The folder of indexes and figures: linker has other weights by the split."""
    return WORK / ("quick" if given.quick else given.split) / names


def write_inputs(names: str, given: argparse.Namespace) -> Path:
    """Write the file that systems read: names with ids, the preferred ones first, and mentions."""
    annotated = collect(documents("ncbi", *KNOWN[names]), LinkerOptions())
    learnt = [(mention.name, mention.ids) for mention in annotated if mention.name]
    whole = dictionary().add(learnt, normalize) if learnt else dictionary()
    pairs = zip(whole.names, whole.name_concept.tolist(), strict=True)
    preferred = [(whole.preferred_name(row), row) for row in range(len(whole))]
    named = [(name, whole.ids[row]) for name, row in dict.fromkeys([*preferred, *pairs])]
    path = place(given, names) / "inputs.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [mention.text for mention in asked(given)]
    path.write_text(json.dumps({"names": named, "mentions": texts}), encoding="utf-8")
    return path


def accuracy(answers: list[list[list[str]]], given: argparse.Namespace) -> list[float]:
    """Strict Acc@1 with its interval."""
    right = []
    for mention, parts in zip(asked(given), answers, strict=True):
        candidates = [tuple(Candidate(i, "", "", 0.0) for i in ids) for ids in parts]
        prediction = Prediction(mention, tuple(Part("", candidates=one) for one in candidates))
        outcome = outcome_of(prediction, mention, "strict", dictionary().resolve)
        right.append(float(outcome.rank == 1))
    return [round(value, 4) for value in mean_interval(right)]


def measured(system: str, names: str, inputs: Path, given: argparse.Namespace) -> Figures:
    """The figures of one system over one set of names."""
    folder, python = place(given, names) / system, interpreter(system)
    if not SYSTEMS[system].is_alone:
        is_test = given.split == "test"
        os.environ["WEIGHTS"] = str(ranker.SHIPPED if is_test else ranker_weights.without("ncbi"))

    def run(what: str) -> Figures:
        return child(SCRIPT, what, system, str(inputs), str(folder), python=python)

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    figures = run("installed") | {"index": run("build") | {"mb": megabytes(folder)}}
    figures |= run("link")
    starts = [timed(lambda: run("once"))[0] for _ in range(COLD)]
    figures["accuracy"] = accuracy(figures.pop("answers"), given)
    return figures | {"cold_seconds": [round(seconds, 3) for seconds in starts]}


def main(given: argparse.Namespace) -> None:
    """Measure the systems, one after another, and write the result of all that are kept."""
    rows: list[dict[str, Any]] = []
    for names, splits in KNOWN.items():
        inputs = write_inputs(names, given)
        known = [word for s in splits for word in ("--mentions", str(locate(CORPORA["ncbi"][s])))]
        os.environ["TRAINED_ON"] = json.dumps(["--dict", str(locate(MEDIC["2017"])), *known])
        for system in given.only or SYSTEMS:
            kept = place(given, names) / f"{system}.json"
            if given.again or given.quick or not kept.exists():
                row = {"system": system, "names": names} | measured(system, names, inputs, given)
                print(json.dumps(row), flush=True)
                if not given.quick:
                    kept.write_text(json.dumps(row), encoding="utf-8")
        every = (place(given, names) / f"{system}.json" for system in SYSTEMS)
        rows += [json.loads(kept.read_text(encoding="utf-8")) for kept in every if kept.exists()]
    figures = {"split": given.split, "mentions": len(asked(given)), "rows": rows}
    if not given.quick:
        results.save("peers", {"cores": len(os.sched_getaffinity(0))} | figures)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--split", choices=("devel", "test"), default="devel")
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, metavar="SYSTEM")
    parser.add_argument("--again", action="store_true", help="measure again")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} mentions, printed alone")
    main(parser.parse_args())
