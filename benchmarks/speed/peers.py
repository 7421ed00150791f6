"""Other systems on the same names and mentions: speed, memory, disk, cold start, accuracy.

python benchmarks/speed/peers.py                  on development mentions, what is not kept yet
python benchmarks/speed/peers.py --split test     on the test mentions of NCBI Disease
python benchmarks/speed/peers.py --only gilda     one system
python benchmarks/speed/peers.py --again          measures again
python benchmarks/speed/peers.py --again --index  makes the indexes again, too

Writes results/peers.json. The names are those of the MEDIC of 2017, with the mentions of the
training documents (`annotated`) and without (`dictionary`); mentions are linked as texts, without
their documents. The systems are in speed/peer_systems.py. Each runs in processes of its own; those
that are not installed beside linker get virtual environments in benchmarks/work/peers, where
indexes and figures are kept, too. Accuracy is that of the protocol strict.
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
from benchmarks.lib.measure import child, megabytes, timed
from benchmarks.speed import peer_systems
from linker import Candidate, Dictionary, Mention, Part, Prediction
from linker.evaluation.protocols import outcome_of
from linker.metrics import mean_interval
from linker.options import LinkerOptions
from linker.text.normalize import normalize
from linker.training.data import collect

WORK = results.WORK / "peers"
SCRIPT = str(Path(__file__).with_name("peer_runs.py"))
COLD = 5  # starts
KNOWN = {"dictionary": (), "annotated": ("train",)}  # the splits whose mentions are names
ALONE = {  # what is installed for systems that have an environment of their own
    "gilda": ["gilda==1.6.1"],
    "scispacy": ["scispacy==0.6.2", "scipy<1.11"],  # its matrices are refused by a later scipy
    "text2term-tfidf": ["text2term==4.6.0"],
    "text2term-fuzzy": ["text2term==4.6.0"],
    "rapidfuzz": ["rapidfuzz==3.14.6", "numpy"],
    "bm25s": ["bm25s==0.3.16", "numba"],
}
BESIDE = {  # what systems need that run beside linker
    "biosyn": ["scikit-learn"],
    "sparse-dot-topn": ["sparse-dot-topn", "scikit-learn"],
    "faiss": ["faiss-cpu", "sentence-transformers"],
    "linker-tfidf": ["concept-linker"],
    "linker-static": ["concept-linker"],
    "linker-dan": ["concept-linker[dense]"],
    "linker-minilm": ["concept-linker[dense]"],
}


def interpreter(system: str) -> str:
    """The Python that a system runs in; its environment is made on first use."""
    if system not in ALONE:
        return sys.executable
    needed = [*ALONE[system], "packaging"]
    folder = WORK / f"venv-{needed[0].partition('=')[0]}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-qq", *needed], check=True)
        (folder / "complete").touch()
    return str(python)


def named(dictionary: Dictionary) -> list[tuple[str, str]]:
    """The names of a dictionary with the ids of their concepts, the preferred ones first."""
    pairs = zip(dictionary.names, dictionary.name_concept.tolist(), strict=True)
    preferred = [(dictionary.preferred_name(row), row) for row in range(len(dictionary))]
    return [(name, dictionary.ids[row]) for name, row in dict.fromkeys([*preferred, *pairs])]


@cache
def dictionary() -> Dictionary:
    """The MEDIC of 2017."""
    return medic("2017")


def write_inputs(names: str, split: str) -> None:
    """Write the file that systems read: names and mentions."""
    annotated = collect(documents("ncbi", *KNOWN[names]), LinkerOptions())
    learnt = [(mention.name, mention.ids) for mention in annotated if mention.name]
    extended = dictionary().add(learnt, normalize) if learnt else dictionary()
    texts = [mention.text for mention in asked(split)]
    path = WORK / f"{names}-{split}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"names": named(extended), "mentions": texts}), encoding="utf-8")


def asked(split: str) -> list[Mention]:
    """The annotated mentions of a split of NCBI Disease."""
    return [mention for document in documents("ncbi", split) for mention in document.mentions]


def accuracy(answers: list[peer_systems.Parts], split: str) -> list[float]:
    """Strict Acc@1 with its interval."""
    right = []
    for mention, parts in zip(asked(split), answers, strict=True):
        candidates = [tuple(Candidate(i, "", "", 0.0) for i in ids) for ids in parts]
        prediction = Prediction(mention, tuple(Part("", candidates=one) for one in candidates))
        outcome = outcome_of(prediction, mention, "strict", dictionary().resolve)
        right.append(float(outcome.rank == 1))
    return [round(value, 4) for value in mean_interval(right)]


def index(system: str, names: str, inputs: Path, again: bool) -> dict[str, Any]:
    """Make the index of a system where there is none; what that cost, and its size."""
    folder, kept = WORK / names / system, WORK / names / f"{system}.json"
    if again or not kept.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        task = ["build", system, str(inputs), str(folder)]
        figures = child(SCRIPT, *task, python=interpreter(system))
        kept.write_text(json.dumps(figures | {"mb": megabytes(folder)}), encoding="utf-8")
    values: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    return values


def measured(system: str, names: str, given: argparse.Namespace) -> dict[str, Any]:
    """The figures of one system over one set of names."""
    inputs = WORK / f"{names}-{given.split}.json"
    figures = installation(system) | {"index": index(system, names, inputs, given.index)}
    task, python = [system, str(inputs), str(WORK / names / system)], interpreter(system)
    linked = child(SCRIPT, "link", *task, python=python)
    starts = [timed(lambda: child(SCRIPT, "once", *task, python=python))[0] for _ in range(COLD)]
    figures["accuracy"] = accuracy(linked.pop("answers"), given.split)
    return figures | linked | {"cold_seconds": [round(seconds, 3) for seconds in starts]}


def installation(system: str) -> dict[str, Any]:
    """The size and the versions of what a system needs."""
    packages = ",".join(
        package.partition("=")[0].partition("<")[0]
        for package in (ALONE.get(system) or BESIDE[system])
    )
    return child(SCRIPT, "installed", packages, "-", "-", python=interpreter(system))


def main(given: argparse.Namespace) -> None:
    """Measure the systems, one after another, and write the result of all that are kept."""
    os.environ["DICTIONARY"] = str(locate(MEDIC["2017"]))
    rows = []
    for names, splits in KNOWN.items():
        write_inputs(names, given.split)
        os.environ["KNOWN"] = str(locate(CORPORA["ncbi"][splits[0]])) if splits else ""
        for system in peer_systems.SYSTEMS:
            kept = WORK / names / f"{system}-{given.split}.json"
            is_asked = system in (given.only or peer_systems.SYSTEMS)
            if is_asked and (given.again or not kept.exists()):
                row = {"system": system, "names": names} | measured(system, names, given)
                kept.write_text(json.dumps(row), encoding="utf-8")
                print(json.dumps(row), flush=True)
            if kept.exists():
                rows.append(json.loads(kept.read_text(encoding="utf-8")))
    figures = {"split": given.split, "mentions": len(asked(given.split)), "rows": rows}
    results.save("peers", {"cores": len(os.sched_getaffinity(0))} | figures)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--split", choices=("devel", "test"), default="devel")
    parser.add_argument("--only", nargs="+", choices=peer_systems.SYSTEMS, metavar="SYSTEM")
    parser.add_argument("--again", action="store_true", help="measure again")
    parser.add_argument("--index", action="store_true", help="make the indexes again, with --again")
    main(parser.parse_args())
