"""The default of `linker train`: characters, static vectors, lent names, and what it chooses.

python benchmarks/accuracy/default.py              on development mentions
python benchmarks/accuracy/default.py --on test    on the test mentions of NCBI Disease
python benchmarks/accuracy/default.py --table      runs nothing, puts together what is kept

Writes results/default.json; the runs are kept in results/runs/default-*.jsonl.gz. Dictionaries are
lent the names of DOID and HPO, or also those in MONDO's mappings. Development mentions also say
what the parts of the lending rule are worth, and which branches of MEDIC profit.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import configurations
from benchmarks.lib import dense_tables, results, runs
from benchmarks.lib.data import TITLES, documents, locate, medic
from benchmarks.lib.dense_runs import Task, ranked
from linker import Dictionary, Linker, matching, metrics
from linker.candidates.hybrid import HybridGenerator
from linker.dictionary import lenders, lent_names
from linker.dictionary.lent_names import Lending, LendingOptions
from linker.evaluation import protocols
from linker.evaluation.protocols import Outcome
from linker.training.settings import RunSettings
from linker.types import NameKind

ONTOLOGIES = ("ontologies/doid.obo.gz", "ontologies/hp.obo.gz")
MAPPINGS = tuple(
    f"mappings/mondo_exactmatch_{other}.sssom.tsv.gz"
    for other in ("doid", "mesh", "omim", "ncit", "orphanet")
)
NONE, LENT, MAPPED = "", "DOID, HPO", "DOID, HPO, MONDO's mappings"
LENDERS = {NONE: (), LENT: ONTOLOGIES, MAPPED: (*ONTOLOGIES, *MAPPINGS)}
CHARACTERS, STATIC, DEFAULT = "characters", "static", "default"
ENCODERS = {CHARACTERS: "tfidf", STATIC: "static", DEFAULT: None}  # None: `linker train` chooses
FEWEST = 30  # mentions of a branch that is shown


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


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table of lending."""

    files: Sequence[str]
    options: LendingOptions = lent_names.RULE


def _kinds(*others: NameKind) -> LendingOptions:
    return LendingOptions((*lent_names.RULE.kinds, *others))


_ONE, _MANY = LendingOptions(steps=1), LendingOptions(one_to_many=True)
RULES = {
    "nothing": Rule(()),
    "DOID": Rule(ONTOLOGIES[:1]),
    "HPO": Rule(ONTOLOGIES[1:]),
    LENT: Rule(ONTOLOGIES),
    f"{LENT}, one step": Rule(ONTOLOGIES, _ONE),
    f"{LENT}, one to many": Rule(ONTOLOGIES, _MANY),
    f"{LENT}, preferred names alone": Rule(ONTOLOGIES, LendingOptions(("preferred",))),
    f"{LENT}, narrow names too": Rule(ONTOLOGIES, _kinds("narrow")),
    f"{LENT}, broad names too": Rule(ONTOLOGIES, _kinds("broad")),
    f"{LENT}, related names too": Rule(ONTOLOGIES, _kinds("related")),
    MAPPED: Rule(LENDERS[MAPPED]),
    f"{MAPPED}, one step": Rule(LENDERS[MAPPED], _ONE),
    f"{MAPPED}, one to many": Rule(LENDERS[MAPPED], _MANY),
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
                row["gain"] = {
                    p: dense_tables.difference({0: figures}, {0: base}, p)["acc1"]
                    for p in protocols.PROTOCOLS
                }
            lines.append(row)
    return lines


def outcomes(linker: Linker) -> Iterator[Outcome]:
    """Development mentions of both corpora by the protocol strict."""
    for corpus in TITLES:
        yield from protocols.strict(linker, documents(corpus, "devel"), 20)


def find_rule(rule: Rule) -> dict[str, Any]:
    """What a rule lends, and which mentions are right first then, by characters and static."""
    lent = lending("2017", rule.files, rule.options)
    names = Counter[str]()
    for report in lent.lenders:
        names.update(report.names)
    receivers = {n.concepts for n in lent.names if n.outcome == "lent"}
    concepts = len({identifier for ids in receivers for identifier in ids})
    right = {
        name: [
            "".join(str(int(o.rank == 1)) for o in protocols.strict(linker, items, 1))
            for items in (documents(corpus, "devel") for corpus in TITLES)
        ]
        for name in (CHARACTERS, STATIC)
        for linker in [Linker.train(lent.dictionary, encoder=ENCODERS[name])]
    }
    return {"names": dict(names), "concepts": concepts, "right": right}


def rules() -> list[dict[str, Any]]:
    """What each rule is worth: Acc@1, and the difference to the rule that is taken."""
    kept = runs.figures("default-lending")
    lines = []
    for name, figures in ((name, kept[key]) for name in RULES if (key := runs.slug(name)) in kept):
        row: dict[str, Any] = {"rule": name, "names": figures["names"]}
        row["concepts"] = figures["concepts"]
        for system in (CHARACTERS, STATIC):
            hits, base = (
                [np.array([*text], float) for text in kept[key]["right"][system]]
                for key in (runs.slug(name), runs.slug(LENT))
            )
            pair = metrics.paired_difference(np.concatenate(hits)[None], np.concatenate(base)[None])
            row[system] = {
                "acc1": [round(float(values.mean()), 5) for values in hits],
                "over": [round(value, 5) for value in pair],
            }
        lines.append(row)
    return lines


def branches() -> dict[str, Any]:
    """Concepts and mentions of each branch of MEDIC, with lent names and without."""
    lent, own = (dictionary("2017", which) for which in (LENT, NONE))
    right = [
        (outcome, after.rank == 1, outcome.rank == 1)
        for outcome, after in zip(
            *(outcomes(Linker.train(d, encoder="static")) for d in (own, lent)), strict=True
        )
    ]
    receivers = {*lent.name_concept[lent.lent_rows].tolist()}
    hierarchy, lines = own.hierarchy, []
    golds = [matching.accepted(outcome.gold, own.resolve) for outcome, _, _ in right]
    for branch in (int(row) for top in hierarchy.top for row in hierarchy.children([top])[0]):
        members = {row for row in range(len(own)) if hierarchy.is_ancestor(branch, row)} | {branch}
        ids = {own.ids[row] for row in members}
        asked = np.array([not ids.isdisjoint(gold) for gold in golds])
        lines.append(
            {
                "branch": own.preferred_name(branch),
                "concepts": len(members),
                "lent": len(members & receivers),
                **_gain(np.array([hit[1:] for hit in right], float)[asked]),
            }
        )
    shown = sorted((r for r in lines if r["n"] >= FEWEST), key=lambda r: r["gain"][0], reverse=True)
    return {"concepts": len(own), "lent": len(receivers), "rows": shown}


def _gain(hits: Any) -> dict[str, Any]:
    """Acc@1 with and without, of mentions (mentions, 2)."""
    if not len(hits):
        return {"n": 0}
    after, before = hits.T
    pair = metrics.paired_difference(after[None], before[None])
    return {
        "n": len(hits),
        "acc1": [round(float(values.mean()), 5) for values in (after, before)],
        "gain": [round(value, 5) for value in pair],
    }


def make(on: str) -> None:
    """Make the runs that are missing."""
    tasks, systems = TASKS[on]
    for system in systems:
        for task in tasks:
            runs.make(f"default-{task.table}", system.key, partial(find, system, task), 0)
    if on == "devel":
        others: dict[str, Callable[[], dict[str, Any]]] = {
            runs.slug(name): partial(find_rule, rule) for name, rule in RULES.items()
        }
        for name, work in (others | {"branches": branches}).items():
            runs.make("default-lending", name, work, 0)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--on", choices=TASKS, default="devel")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    if not given.table:
        make(given.on)
    figures: dict[str, Any] = {"rows": rows("devel"), "test": rows("test")}
    figures |= {"lending": rules(), "branches": runs.figures("default-lending").get("branches")}
    results.save("default", figures, seed=0)
    for row in figures["test" if given.on == "test" else "rows"]:
        what = [row[name] for name in ("corpus", "medic", "mentions", "encoder", "lent", "taken")]
        print(
            *what, *(row[p]["acc"]["1"] for p in protocols.PROTOCOLS), row["strict"]["unseen_acc1"]
        )
