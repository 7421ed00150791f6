"""What the parts of the lending rule are worth, and which branches of MEDIC lent names help.

python benchmarks/accuracy/lending.py            all
python benchmarks/accuracy/lending.py --table    runs nothing, puts together what is kept

Writes results/lending.json; the runs are kept in results/runs/lending.jsonl.gz. The MEDIC of 2017
by characters and by static vectors on development mentions, strict, without annotated mentions and
without the ranker: candidates stand in the order of their scores.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.default import CHARACTERS, ENCODERS, STATIC
from benchmarks.lib import by_score, hits, results, runs
from benchmarks.lib.data import TITLES, documents, medic
from benchmarks.lib.lent import LENDERS, LENT, MAPPED, NONE, ONTOLOGIES, dictionary, lending
from benchmarks.lib.measure import rounded
from linker import Linker, matching
from linker.dictionary.lending import KINDS
from linker.evaluation import protocols
from linker.evaluation.protocols import Outcome
from linker.types import NameKind

TABLE = "lending"
FEWEST = 30  # mentions of a branch that is shown


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the table of lending."""

    files: Sequence[str]
    kinds: Sequence[NameKind] = KINDS


RULES = {
    "nothing": Rule(()),
    "DOID": Rule(ONTOLOGIES[:1]),
    "HPO": Rule(ONTOLOGIES[1:]),
    LENT: Rule(ONTOLOGIES),
    f"{LENT}, preferred names alone": Rule(ONTOLOGIES, ("preferred",)),
    f"{LENT}, narrow names too": Rule(ONTOLOGIES, (*KINDS, "narrow")),
    f"{LENT}, broad names too": Rule(ONTOLOGIES, (*KINDS, "broad")),
    f"{LENT}, related names too": Rule(ONTOLOGIES, (*KINDS, "related")),
    MAPPED: Rule(LENDERS[MAPPED]),
}


def outcomes(linker: Linker) -> Iterator[Outcome]:
    """Development mentions of both corpora by the protocol strict."""
    for corpus in TITLES:
        yield from protocols.strict(linker, documents(corpus, "devel"), 20)


def find_rule(rule: Rule) -> dict[str, Any]:
    """What a rule lends, and which mentions are right first then, by characters and static."""
    receiver, lent = lending(medic("2017"), rule.files, rule.kinds)
    names = Counter[str]()
    for report in lent.lenders:
        names.update(report.names)
    receivers = {n.concepts for n in lent.names if n.outcome == "lent"}
    concepts = len({identifier for ids in receivers for identifier in ids})
    right = {
        name: [
            hits.digits(one.rank == 1 for one in protocols.strict(linker, items, 1))
            for items in (documents(corpus, "devel") for corpus in TITLES)
        ]
        for name in (CHARACTERS, STATIC)
        for linker in [by_score.trained(receiver, ENCODERS[name])]
    }
    return {"names": dict(names), "concepts": concepts, "right": right}


def rules() -> list[dict[str, Any]]:
    """What each rule is worth: Acc@1, and the difference to the rule that is taken."""
    kept, lines = runs.figures(TABLE), []
    for name in (name for name in RULES if runs.slug(name) in kept):
        figures, base = kept[runs.slug(name)], kept[runs.slug(LENT)]
        row: dict[str, Any] = {"rule": name, "names": figures["names"]}
        row["concepts"] = figures["concepts"]
        for system in (CHARACTERS, STATIC):
            texts, others = figures["right"][system], base["right"][system]
            over = hits.gain(hits.read(*texts), hits.read(*others))
            row[system] = {"acc1": hits.means(texts), "over": over}
        lines.append(row)
    return lines


def branches() -> dict[str, Any]:
    """Concepts and mentions of each branch of MEDIC, with lent names and without."""
    lent, own = (dictionary("2017", which) for which in (LENT, NONE))
    right = [
        (outcome, after.rank == 1, outcome.rank == 1)
        for outcome, after in zip(
            *(outcomes(by_score.trained(d, ENCODERS[STATIC])) for d in (own, lent)), strict=True
        )
    ]
    receivers = {*lent.name_concept[lent.lent_rows].tolist()}
    hierarchy, lines = own.hierarchy, []
    golds = [matching.accepted(outcome.gold, own.resolve) for outcome, _, _ in right]
    tops = [int(row) for top in hierarchy.top for row in hierarchy.children([top])[0]]
    under = hierarchy.under(tops)
    for branch in tops:
        members = {*under[:, branch].nonzero()[0].tolist()}
        ids = {own.ids[row] for row in members}
        asked = np.array([not ids.isdisjoint(gold) for gold in golds])
        row = {"branch": own.preferred_name(branch), "concepts": len(members)}
        row |= {"lent": len(members & receivers)}
        lines.append(row | _gain(np.array([hit[1:] for hit in right], float)[asked]))
    shown = sorted((r for r in lines if r["n"] >= FEWEST), key=lambda r: r["gain"][0], reverse=True)
    return {"concepts": len(own), "lent": len(receivers), "rows": shown}


def _gain(right: Any) -> dict[str, Any]:
    """Acc@1 with and without, of mentions (mentions, 2)."""
    if not len(right):
        return {"n": 0}
    after, before = right.T
    acc1 = rounded(float(values.mean()) for values in (after, before))
    return {"n": len(right), "acc1": acc1, "gain": hits.gain(after, before)}


def make() -> None:
    """Make the runs that are missing."""
    work: dict[str, Callable[[], dict[str, Any]]] = {
        runs.slug(name): partial(find_rule, rule) for name, rule in RULES.items()
    }
    for name, find in (work | {"branches": branches}).items():
        runs.make(TABLE, name, find, 0)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--table", action="store_true", help="run nothing")
    if not parser.parse_args().table:
        make()
    figures = {"rows": rules(), "branches": runs.figures(TABLE)["branches"]}
    results.save("lending", figures, seed=0)
    for row in figures["rows"]:
        print(
            row["rule"], row["concepts"], row["names"].get("lent"), row["characters"], row["static"]
        )
    for row in figures["branches"]["rows"]:
        print(row["branch"], row["lent"], row["concepts"], row["n"], row["acc1"], row["gain"])
