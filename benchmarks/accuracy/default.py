"""The default of `linker train`, static vectors, beside characters, with lent names and without.

python benchmarks/accuracy/default.py              on development mentions
python benchmarks/accuracy/default.py --on test    on the test mentions of NCBI Disease
python benchmarks/accuracy/default.py --table      runs nothing, puts together what is kept

Writes results/default.json; the runs are kept in results/runs/default-*.jsonl.gz. Dictionaries are
lent the names of DOID and HPO, or also those in MONDO's mappings. The ranker starts from weights
that were fitted to the other corpus, and is fitted to the training mentions where they are learnt.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import configurations, ranker_weights
from benchmarks.lib import dense_tables, results, runs
from benchmarks.lib.data import TITLES
from benchmarks.lib.dense_runs import Task, ranked
from benchmarks.lib.lent import LENDERS, LENT, NONE, dictionary
from linker.candidates.hybrid import HybridGenerator
from linker.evaluation import protocols

CHARACTERS, STATIC = "characters", "static"
ENCODERS = {CHARACTERS: "tfidf", STATIC: "static"}


@dataclass(frozen=True, slots=True)
class System:
    """A row: what is trained."""

    encoder: str  # of `ENCODERS`
    lent: str = NONE  # of `LENDERS`
    mentions: bool = False  # whether annotated mentions are learnt
    medic: str = "2017"  # the release

    @property
    def key(self) -> str:
        """The name of its run."""
        learnt = "mentions" if self.mentions else "no mentions"
        return runs.slug(f"{self.encoder} {self.lent or 'none'} {learnt} {self.medic}")


SYSTEMS = [
    System(encoder, lent, mentions)
    for mentions in (False, True)
    for encoder in ENCODERS
    for lent in LENDERS
]
TESTED = [
    *(
        System(encoder, lent, mentions)
        for mentions in (False, True)
        for encoder, lent in ((STATIC, LENT), (STATIC, NONE), (CHARACTERS, NONE))
    ),
    *(System(STATIC, lent, True, "2012") for lent in (LENT, NONE)),
]
TASKS = {
    "devel": ([Task(corpus, "devel") for corpus in TITLES], SYSTEMS),
    "test": ([Task("ncbi", "test")], TESTED),
}


def find(system: System, task: Task) -> dict[str, Any]:
    """Train a system, and rank the mentions of a task."""
    encoder = ENCODERS[system.encoder]
    linker = ranker_weights.trained(
        task.corpus,
        dictionary(system.medic, system.lent),
        encoder,
        task.known if system.mentions else [],
        configurations.as_biosyn(encoder) if system.medic == "2012" else None,
    )
    first = linker.generator
    return {
        "configuration": system.key,
        **dataclasses.asdict(system),
        "names": len(first.table),
        "weight": first.sparse_weight if isinstance(first, HybridGenerator) else None,
    } | ranked(linker, task.test)


def rows(on: str) -> list[dict[str, Any]]:
    """Accuracies of the systems whose runs are kept, and their differences to characters."""
    lines = []
    tasks, systems = TASKS[on]
    for task in tasks:
        kept = runs.figures(f"default-{task.table}")
        for system in systems:
            if not (figures := kept.get(system.key)):
                continue
            names = (*System.__dataclass_fields__, "names", "weight")
            row = {"corpus": task.corpus, "on": on} | {name: figures[name] for name in names}
            row |= {p: dense_tables.accuracy([figures], p) for p in protocols.PROTOCOLS}
            base = kept.get(dataclasses.replace(system, encoder=CHARACTERS, lent=NONE).key)
            if base and base is not figures:
                row["gain"] = dense_tables.gain(figures, base, "strict")
            lines.append(row)
    return lines


def make(on: str) -> None:
    """Make the runs that are missing."""
    tasks, systems = TASKS[on]
    for system in systems:
        for task in tasks:
            runs.make(f"default-{task.table}", system.key, partial(find, system, task), 0)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--on", choices=TASKS, default="devel")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    if not given.table:
        make(given.on)
    figures = {"rows": rows("devel"), "test": rows("test")}
    results.save("default", figures, seed=0)
    for row in figures["test" if given.on == "test" else "rows"]:
        what = [row[name] for name in ("corpus", "medic", "mentions", "encoder", "lent")]
        print(
            *what, *(row[p]["acc"]["1"] for p in protocols.PROTOCOLS), row["strict"]["unseen_acc1"]
        )
