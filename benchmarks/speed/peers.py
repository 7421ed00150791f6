"""Other systems on the same names and mentions: speed, memory, disk, cold start, accuracy.

python benchmarks/speed/peers.py                  on development mentions, what is not kept yet
python benchmarks/speed/peers.py --split test     on the test mentions of NCBI Disease
python benchmarks/speed/peers.py --only gilda     one system
python benchmarks/speed/peers.py --again          measures again, with new indexes

Writes results/peers.json. The names are those of the MEDIC of 2017, with the mentions of the
training documents (`annotated`) and without (`dictionary`); mentions are linked as texts, without
their documents. The systems are in peer_systems.py. Each runs in processes of its own; those that
are not installed beside linker get virtual environments in benchmarks/work/peers, where indexes and
figures are kept, too. Accuracy is that of the protocol strict.
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

from benchmarks.lib import results
from benchmarks.lib.data import CORPORA, MEDIC, documents, locate, medic
from benchmarks.lib.measure import Figures, child, megabytes, timed
from benchmarks.speed.peer_systems import SYSTEMS
from linker import Candidate, Dictionary, Mention, Part, Prediction
from linker.evaluation.metrics import mean_interval
from linker.evaluation.protocols import outcome_of
from linker.linking.options import LinkerOptions
from linker.text.normalize import normalize
from linker.training.data import collect

WORK = results.WORK / "peers"
SCRIPT = str(Path(__file__).with_name("peer_systems.py"))
COLD = 5  # starts
KNOWN = {"dictionary": (), "annotated": ("train",)}  # the splits whose mentions are names


def interpreter(system: str) -> str:
    """The Python that a system runs in; its environment is made on first use."""
    if not SYSTEMS[system].is_alone:
        return sys.executable
    needed = [*SYSTEMS[system].needs, "packaging"]
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


def asked(split: str) -> list[Mention]:
    """The annotated mentions of a split of NCBI Disease."""
    return [mention for document in documents("ncbi", split) for mention in document.mentions]


def write_inputs(names: str, split: str) -> Path:
    """Write the file that systems read: names with ids, the preferred ones first, and mentions."""
    annotated = collect(documents("ncbi", *KNOWN[names]), LinkerOptions())
    learnt = [(mention.name, mention.ids) for mention in annotated if mention.name]
    whole = dictionary().add(learnt, normalize) if learnt else dictionary()
    pairs = zip(whole.names, whole.name_concept.tolist(), strict=True)
    preferred = [(whole.preferred_name(row), row) for row in range(len(whole))]
    named = [(name, whole.ids[row]) for name, row in dict.fromkeys([*preferred, *pairs])]
    path = WORK / f"{names}-{split}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [mention.text for mention in asked(split)]
    path.write_text(json.dumps({"names": named, "mentions": texts}), encoding="utf-8")
    return path


def accuracy(answers: list[list[list[str]]], split: str) -> list[float]:
    """Strict Acc@1 with its interval."""
    right = []
    for mention, parts in zip(asked(split), answers, strict=True):
        candidates = [tuple(Candidate(i, "", "", 0.0) for i in ids) for ids in parts]
        prediction = Prediction(mention, tuple(Part("", candidates=one) for one in candidates))
        outcome = outcome_of(prediction, mention, "strict", dictionary().resolve)
        right.append(float(outcome.rank == 1))
    return [round(value, 4) for value in mean_interval(right)]


def measured(system: str, names: str, inputs: Path, given: argparse.Namespace) -> Figures:
    """The figures of one system over one set of names."""
    folder, python = WORK / names / system, interpreter(system)

    def run(what: str) -> Figures:
        return child(SCRIPT, what, system, str(inputs), str(folder), python=python)

    kept = folder.with_suffix(".json")
    if given.again or not kept.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kept.write_text(json.dumps(run("build") | {"mb": megabytes(folder)}), encoding="utf-8")
    figures = run("installed") | {"index": json.loads(kept.read_text(encoding="utf-8"))}
    figures |= run("link")
    starts = [timed(lambda: run("once"))[0] for _ in range(COLD)]
    figures["accuracy"] = accuracy(figures.pop("answers"), given.split)
    return figures | {"cold_seconds": [round(seconds, 3) for seconds in starts]}


def main(given: argparse.Namespace) -> None:
    """Measure the systems, one after another, and write the result of all that are kept."""
    os.environ["DICTIONARY"] = str(locate(MEDIC["2017"]))
    rows: list[dict[str, Any]] = []
    for names, splits in KNOWN.items():
        inputs = write_inputs(names, given.split)
        os.environ["KNOWN"] = str(locate(CORPORA["ncbi"][splits[0]])) if splits else ""
        for system in SYSTEMS:
            kept = WORK / names / f"{system}-{given.split}.json"
            if system in (given.only or SYSTEMS) and (given.again or not kept.exists()):
                row = {"system": system, "names": names} | measured(system, names, inputs, given)
                kept.write_text(json.dumps(row), encoding="utf-8")
                print(json.dumps(row), flush=True)
            if kept.exists():
                rows.append(json.loads(kept.read_text(encoding="utf-8")))
    figures = {"split": given.split, "mentions": len(asked(given.split)), "rows": rows}
    results.save("peers", {"cores": len(os.sched_getaffinity(0))} | figures)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--split", choices=("devel", "test"), default="devel")
    parser.add_argument("--only", nargs="+", choices=SYSTEMS, metavar="SYSTEM")
    parser.add_argument("--again", action="store_true", help="measure again, with new indexes")
    main(parser.parse_args())
