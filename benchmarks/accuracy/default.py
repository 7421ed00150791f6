"""The default of `linker train`, static vectors, beside characters, with lent names and without.

python benchmarks/accuracy/default.py              on development mentions
python benchmarks/accuracy/default.py --on test    on the test mentions of NCBI Disease
python benchmarks/accuracy/default.py --table      runs nothing, puts together what is kept

Writes results/default.json; the runs are kept in results/runs/default-*.jsonl.gz. Dictionaries are
lent the names of DOID and HPO, or also those in MONDO's mappings. The ranker starts from weights
that were fitted to the other corpus, and is fitted to the training mentions where they are learnt.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import configurations, ranker_weights
from benchmarks.lib import dense, results, runs
from benchmarks.lib.data import TITLES
from benchmarks.lib.dense import Task, ranked
from benchmarks.lib.linkers import LENDERS, LENT, NONE, with_lent
from linker.evaluation import protocols

ENCODERS = {"characters": "tfidf", "static": "static"}


class System(NamedTuple):
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


LEARNT = (False, True)
SYSTEMS = [System(e, lent, learnt) for learnt in LEARNT for e in ENCODERS for lent in LENDERS]
_PAIRS = (("static", LENT), ("static", NONE), ("characters", NONE))
TESTED = [System(*pair, learnt) for learnt in LEARNT for pair in _PAIRS]
TESTED += [System("static", lent, True, "2012") for lent in (LENT, NONE)]
TASKS = {
    "devel": ([Task(corpus, "devel") for corpus in TITLES], SYSTEMS),
    "test": ([Task("ncbi", "test")], TESTED),
}


def find(system: System, task: Task) -> dict[str, Any]:
    """Train a system, and rank the mentions of a task."""
    encoder = ENCODERS[system.encoder]
    linker = ranker_weights.trained(
        task.corpus,
        with_lent(system.lent, system.medic),
        encoder,
        task.known if system.mentions else [],
        configurations.as_biosyn(encoder) if system.medic == "2012" else None,
    )
    return system._asdict() | ranked(linker, task.test)


def rows(on: str, is_table: bool) -> list[dict[str, Any]]:
    """Accuracies of the systems whose runs are kept, and their differences to characters."""
    lines = []
    tasks, systems = TASKS[on]
    for task in tasks:
        wanted = {system.key: partial(find, system, task) for system in systems}
        kept = runs.made(f"default-{task.table}", wanted, is_table=is_table)
        for system in (system for system in systems if system.key in kept):
            figures = kept[system.key]
            row = {"corpus": task.corpus, "on": on} | system._asdict()
            row |= {p: dense.accuracy([figures], p) for p in protocols.PROTOCOLS}
            base = kept.get(system._replace(encoder="characters", lent=NONE).key)
            if base and base is not figures:
                row["gain"] = dense.gain(figures, base, "strict")
            lines.append(row)
    return lines


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--on", choices=TASKS, default="devel")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    parts = {on: rows(on, given.table or on != given.on) for on in TASKS}
    results.save("default", {"rows": parts["devel"], "test": parts["test"]}, seed=0)
    print(*parts[given.on], sep="\n")
