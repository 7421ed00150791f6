"""What confidences are worth: calibration, coverage, no answers, and rival readings.

python benchmarks/accuracy/confidence.py              on development mentions
python benchmarks/accuracy/confidence.py --on test    on the test mentions of NCBI Disease

Writes results/confidence.json; runs are kept in results/runs/confidence-*.jsonl.gz. The MEDIC of
2017, protocol strict. The confidence is fitted to training mentions in folds, or to names held out
of the dictionary. In the rows with missing concepts a tenth of the concepts is left out of the
dictionary, and the mentions of these, in training and in development, have no concept.
"""

from __future__ import annotations

import dataclasses
import gzip
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results, runs
from benchmarks.lib.data import MEDIC, TITLES, locate, medic
from benchmarks.lib.dense_runs import Task
from linker import Dictionary, Linker
from linker.evaluation import run
from linker.training.settings import RunSettings
from linker.types import Document

KS = (1, 5, 20)
MODES = ("before", "answered", "default")  # without confidences; answering all; by the threshold
SHOWN = ("n", "acc", "acc_interval", "calibration", "risk_coverage", "no_answer", "composites")
MISSING = 0.1  # share of the concepts that are left out
IDS, PARENTS = 1, 4  # columns of MEDIC


@dataclass(frozen=True, slots=True)
class System:
    """A row: what is trained."""

    encoder: str
    mentions: bool  # whether annotated mentions are learnt, and fitted to
    missing: int = -1  # seed of the concepts that are left out; -1: none is

    @property
    def key(self) -> str:
        """The name of its run."""
        learnt = "mentions" if self.mentions else "dictionary"
        return f"{self.encoder}-{learnt}" + (f"-missing{self.missing}" if self.missing >= 0 else "")


SYSTEMS = [
    *(System(encoder, mentions) for encoder in ("static", "tfidf") for mentions in (True, False)),
    *(System("static", True, missing) for missing in range(3)),
]
TASKS = {
    "devel": ([Task(corpus, "devel") for corpus in TITLES], SYSTEMS),
    "test": ([Task("ncbi", "test")], [System("static", True), System("static", False)]),
}


def reduced(seed: int) -> Dictionary:
    """The MEDIC of 2017 without a tenth of its concepts, of which no parent is one either."""
    lines = gzip.decompress(locate(MEDIC["2017"]).read_bytes()).decode().splitlines()
    table = [line.split("\t") for line in lines if not line.startswith("#")]
    is_out = np.random.default_rng(seed).random(len(table)) < MISSING
    out = {row[IDS] for row, left_out in zip(table, is_out, strict=True) if left_out}
    for row in table:
        row[PARENTS] = "|".join(i for i in row[PARENTS].split("|") if i not in out)
    kept = ["\t".join(row) for row in table if row[IDS] not in out]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "medic.tsv"
        comments = [line for line in lines if line.startswith("#")]
        path.write_text("\n".join([*comments, *kept]) + "\n", encoding="utf-8")
        return Dictionary.read(path)


def without(documents: Iterable[Document], dictionary: Dictionary) -> list[Document]:
    """Documents whose mentions have no concept where the dictionary knows none of their ids."""
    result = []
    for document in documents:
        mentions = tuple(
            dataclasses.replace(mention, gold=())
            if mention.gold
            and not any(dictionary.rows(i) for group in mention.gold for i in group.ids)
            else mention
            for mention in document.mentions
        )
        result.append(dataclasses.replace(document, mentions=mentions))
    return result


def find(system: System, task: Task) -> dict[str, Any]:
    """Train a system, and evaluate it before and with confidences."""
    dictionary, known, asked = medic("2017"), task.known, task.test
    if system.missing >= 0:
        dictionary = reduced(system.missing)
        known, asked = without(known, dictionary), without(asked, dictionary)
    said: list[str] = []
    linker = Linker.train(
        dictionary,
        encoder=system.encoder,
        mentions=known if system.mentions else [],
        settings=RunSettings(say=said.append),
    )
    assert linker.calibration
    modes = {
        "before": (linker.calibrated(None), None),
        "answered": (linker, 0.0),
        "default": (linker, None),
    }
    return {
        "configuration": system.key,
        **dataclasses.asdict(system),
        "said": said,
        "threshold": linker.calibration.threshold,
        "provenance": dict(linker.calibration.provenance),
    } | {
        name: run.evaluate(asked, one, "strict", KS, threshold=threshold).record
        for name, (one, threshold) in modes.items()
    }


def rows(on: str) -> list[dict[str, Any]]:
    """The figures of the runs that are kept, without those of groups and branches."""
    tasks, systems = TASKS[on]
    lines = []
    for task in tasks:
        kept = runs.figures(f"confidence-{task.table}")
        for system in systems:
            if figures := kept.get(system.key):
                modes = {
                    mode: {name: figures[mode][name] for name in SHOWN if name in figures[mode]}
                    for mode in MODES
                }
                lines.append({"corpus": task.corpus, "on": on} | figures | modes)
    return lines


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--on", choices=TASKS, default="devel")
    given = parser.parse_args()
    tasks, systems = TASKS[given.on]
    for system in systems:
        for task in tasks:
            runs.make(f"confidence-{task.table}", system.key, partial(find, system, task), 0)
    results.save("confidence", {"rows": rows("devel"), "test": rows("test")}, seed=0)
    for row in rows(given.on):
        figures = row["answered"]["calibration"]
        accuracy = [row[mode]["acc"]["1"] for mode in ("before", "answered", "default")]
        what = [row[name] for name in ("corpus", "encoder", "mentions", "missing", "threshold")]
        print(*what, *accuracy, figures["ece"], figures["auroc"], row["answered"]["no_answer"])
