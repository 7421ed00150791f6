"""The default of `linker train`: characters, static vectors, lent names, and what it chooses.

python benchmarks/accuracy/default.py              on development mentions
python benchmarks/accuracy/default.py --on test    on the test mentions of NCBI Disease
python benchmarks/accuracy/default.py --table      runs nothing, puts together what is kept

Writes results/default.json; the runs are kept in results/runs/default-*.jsonl.gz. Dictionaries are
lent the names of DOID and HPO, or also those in MONDO's mappings.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import configurations
from benchmarks.lib import dense_tables, results, runs
from benchmarks.lib.data import TITLES, locate, medic
from benchmarks.lib.dense_runs import Task, ranked
from linker import Dictionary, Linker
from linker.candidates.hybrid import HybridGenerator
from linker.dictionary import lenders, lent_names
from linker.dictionary.lent_names import Lending, LendingOptions
from linker.evaluation import protocols
from linker.training.settings import RunSettings

ONTOLOGIES = ("ontologies/doid.obo.gz", "ontologies/hp.obo.gz")
MAPPINGS = tuple(
    f"mappings/mondo_exactmatch_{other}.sssom.tsv.gz"
    for other in ("doid", "mesh", "omim", "ncit", "orphanet")
)
NONE, LENT, MAPPED = "", "DOID, HPO", "DOID, HPO, MONDO's mappings"
LENDERS = {NONE: (), LENT: ONTOLOGIES, MAPPED: (*ONTOLOGIES, *MAPPINGS)}
CHARACTERS, STATIC, DEFAULT = "characters", "static", "default"
ENCODERS = {CHARACTERS: "tfidf", STATIC: "static", DEFAULT: None}  # None: `linker train` chooses


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
        for encoder, lent in ((DEFAULT, LENT), (DEFAULT, NONE), (CHARACTERS, NONE))
    ),
    *(System(DEFAULT, lent, True, "2012") for lent in (LENT, NONE)),
]
TASKS = {
    "devel": ([Task(corpus, "devel") for corpus in TITLES], SYSTEMS),
    "test": ([Task("ncbi", "test")], TESTED),
}


def lending(year: str, files: Sequence[str], options: LendingOptions = lent_names.RULE) -> Lending:
    """A release of MEDIC with the names that some files lend."""
    sources = [lenders.read(locate(name)) for name in files]
    return lent_names.lend(medic(year), sources, options)


@cache
def dictionary(year: str, lent: str) -> Dictionary:
    """A release of MEDIC with the names of some lenders."""
    return lending(year, LENDERS[lent]).dictionary


@lru_cache(maxsize=1)
def trained(system: System, task: Task | None) -> tuple[Linker, list[str]]:
    """Train a system, and what was said; on the mentions of a task, or on none."""
    said: list[str] = []
    encoder = ENCODERS[system.encoder]
    options = configurations.as_biosyn(encoder or "static") if system.medic == "2012" else None
    linker = Linker.train(
        dictionary(system.medic, system.lent),
        encoder=encoder,
        mentions=task.known if task else [],
        options=options,
        settings=RunSettings(say=said.append),
    )
    return linker, said


def find(system: System, task: Task) -> dict[str, Any]:
    """Train a system, and rank the mentions of a task."""
    linker, said = trained(system, task if system.mentions else None)
    first = linker.generator
    return {
        "configuration": system.key,
        **dataclasses.asdict(system),
        "names": len(first.table),
        "taken": linker.encoder,
        "weight": first.sparse_weight if isinstance(first, HybridGenerator) else None,
        "said": said,
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
            names = (*System.__dataclass_fields__, "names", "taken", "weight", "said")
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
        what = [row[name] for name in ("corpus", "medic", "mentions", "encoder", "lent", "taken")]
        print(
            *what, *(row[p]["acc"]["1"] for p in protocols.PROTOCOLS), row["strict"]["unseen_acc1"]
        )
