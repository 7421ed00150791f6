"""Other systems on the same names and mentions: speed, memory, disk, cold start, accuracy.

python benchmarks/speed/peers.py                  on development mentions, printed
python benchmarks/speed/peers.py --split test     on test mentions of NCBI Disease, the result
python benchmarks/speed/peers.py --only gilda     one system, printed
python benchmarks/speed/peers.py --again          makes the indexes again

Writes results/peers.json with --split test. The names are those of the MEDIC of 2017, with the
mentions of the training documents (`annotated`) and without (`dictionary`); the systems are in
speed/peer_systems.py. Each runs in processes of its own; those that are not installed beside
linker get virtual environments in benchmarks/work/peers, where indexes are kept, too. Accuracy is
that of the protocol strict, as `linker evaluate` computes it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import CORPORA, MEDIC, documents, locate, medic
from benchmarks.lib.measure import child
from benchmarks.speed import peer_systems
from linker import Candidate, Dictionary, Mention, Part, Prediction
from linker.evaluation.protocols import outcome_of
from linker.metrics import mean_interval
from linker.options import LinkerOptions
from linker.text.normalize import normalize
from linker.training import supervision

WORK = results.WORK / "peers"
SCRIPT = str(Path(peer_systems.__file__))
COLD = 5  # starts
KNOWN = {"dictionary": (), "annotated": ("train",)}  # the splits whose mentions are names
ALONE = {  # what is installed for systems that have an environment of their own
    "gilda": ["gilda==1.6.1"],
    "scispacy": ["scispacy==0.6.2", "scipy<1.11"],  # its matrices are refused by a later scipy
    "text2term-tfidf": ["text2term==4.6.0"],
    "text2term-fuzzy": ["text2term==4.6.0"],
    "rapidfuzz": ["rapidfuzz==3.14.6", "numpy"],
}
BESIDE = {  # what systems need that run beside linker
    "biosyn": ["scikit-learn"],
    "sparse-dot-topn": ["sparse-dot-topn", "scikit-learn"],
    "bm25s": ["bm25s"],
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


def write_inputs(names: str, split: str, dictionary: Dictionary) -> Path:
    """The file that systems read: names and mentions."""
    annotated = supervision.collect(documents("ncbi", *KNOWN[names]), LinkerOptions())
    learnt = [(mention.name, mention.ids) for mention in annotated if mention.name]
    extended = dictionary.add(learnt, normalize) if learnt else dictionary
    texts = [mention.text for mention in asked(split)]
    path = WORK / f"{names}-{split}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"names": named(extended), "mentions": texts}), encoding="utf-8")
    return path


def asked(split: str) -> list[Mention]:
    """The annotated mentions of a split of NCBI Disease."""
    return [mention for document in documents("ncbi", split) for mention in document.mentions]


def accuracy(answers: list[peer_systems.Parts], split: str, dictionary: Dictionary) -> list[float]:
    """Strict Acc@1 with its interval."""
    right = []
    for mention, parts in zip(asked(split), answers, strict=True):
        candidates = [tuple(Candidate(i, "", "", 0.0) for i in ids) for ids in parts]
        prediction = Prediction(mention, tuple(Part("", candidates=one) for one in candidates))
        outcome = outcome_of(prediction, mention, "strict", dictionary.resolve)
        right.append(float(outcome.rank == 1))
    return [round(value, 4) for value in mean_interval(right)]


def measured(system: str, names: str, split: str, dictionary: Dictionary) -> dict[str, Any]:
    """The figures of one system over one set of names."""
    folder, inputs = WORK / names / system, WORK / f"{names}-{split}.json"
    python, kept = interpreter(system), WORK / names / f"{system}.json"
    task = [system, str(inputs), str(folder)]
    if not kept.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kept.write_text(json.dumps(child(SCRIPT, "build", *task, python=python)), encoding="utf-8")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    linked = child(SCRIPT, "link", *task, python=python)
    starts = []
    for _ in range(COLD):
        start = time.perf_counter()
        child(SCRIPT, "once", *task, python=python)
        starts.append(round(time.perf_counter() - start, 3))
    return {
        "accuracy": accuracy(linked.pop("answers"), split, dictionary),
        "build": json.loads(kept.read_text(encoding="utf-8")),
        "index_mb": round(size / 1e6, 1),
        "cold_seconds": starts,
        "cold_seconds_median": statistics.median(starts),
        **linked,
    }


def installation(system: str) -> dict[str, Any]:
    """The size and the versions of what a system needs."""
    packages = ",".join(
        package.partition("=")[0].partition("<")[0]
        for package in (ALONE.get(system) or BESIDE[system])
    )
    return child(SCRIPT, "installed", packages, "-", "-", python=interpreter(system))


def main(given: argparse.Namespace) -> None:
    """Measure the systems, one after another."""
    dictionary, rows = medic("2017"), []
    os.environ["DICTIONARY"] = str(locate(MEDIC["2017"]))
    for names, splits in KNOWN.items():
        write_inputs(names, given.split, dictionary)
        os.environ["KNOWN"] = str(locate(CORPORA["ncbi"][splits[0]])) if splits else ""
        for system in given.only or peer_systems.SYSTEMS:
            if given.again:
                (WORK / names / f"{system}.json").unlink(missing_ok=True)
            row = {"system": system, "names": names} | installation(system)
            try:
                row |= measured(system, names, given.split, dictionary)
            except subprocess.CalledProcessError as error:
                row["failed"] = error.returncode
            print(json.dumps(row), flush=True)
            rows.append(row)
    if given.split == "test" and not given.only:
        figures = {"split": given.split, "mentions": len(asked(given.split)), "rows": rows}
        results.save("peers", {"cores": len(os.sched_getaffinity(0))} | figures)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--split", choices=("devel", "test"), default="devel")
    parser.add_argument("--only", nargs="+", choices=peer_systems.SYSTEMS, metavar="SYSTEM")
    parser.add_argument("--again", action="store_true", help="make the indexes again")
    main(parser.parse_args())
