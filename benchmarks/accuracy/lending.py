"""What the parts of the lending rule are worth, and which branches of MEDIC lent names help.

python benchmarks/accuracy/lending.py            all
python benchmarks/accuracy/lending.py --table    runs nothing, puts together what is kept

Writes results/lending.json; the runs are kept in results/runs/lending.jsonl.gz. The MEDIC of 2017
by characters and by static vectors on development mentions, strict, without annotated mentions and
without the ranker: candidates stand in the order of their scores. Beside them, how many concepts
are another one than they join by their names, by several rules, 30 of each read by hand; the
accuracies with these rules are those of static vectors and the ranker as it is shipped, which was
fitted to these mentions, so that only differences count.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.default import ENCODERS
from benchmarks.lib import hits, results, runs
from benchmarks.lib.data import TITLES, development, documents, medic
from benchmarks.lib.linkers import (
    LENDERS,
    LENT,
    MAPPED,
    MAPPINGS,
    NONE,
    ONTOLOGIES,
    by_score,
    lending,
    with_lent,
)
from linker import Dictionary, matching
from linker.dictionary import lending as rules
from linker.dictionary.lending import KINDS, Lending
from linker.evaluation import protocols
from linker.ranker.ranker import Ranker
from linker.types import Concept, NameKind

FEWEST = 30  # mentions of a branch that is shown


RULES: dict[str, tuple[Sequence[str], Sequence[NameKind]]] = {  # what lends, and which names
    "nothing": ((), KINDS),
    "DOID": (ONTOLOGIES[:1], KINDS),
    "HPO": (ONTOLOGIES[1:], KINDS),
    LENT: (ONTOLOGIES, KINDS),
    f"{LENT}, preferred names alone": (ONTOLOGIES, ("preferred",)),
    f"{LENT}, narrow names too": (ONTOLOGIES, (*KINDS, "narrow")),
    f"{LENT}, broad names too": (ONTOLOGIES, (*KINDS, "broad")),
    f"{LENT}, related names too": (ONTOLOGIES, (*KINDS, "related")),
    MAPPED: (LENDERS[MAPPED], KINDS),
}

NEVER = "never"
READ = 30  # concepts that were read by hand, of those that a rule refuses and that would lend
WRONG = {
    "DOID:0060877",
    "DOID:0070224",
    "DOID:0080123",
    "DOID:0081336",
    "DOID:0110552",
    "DOID:0111618",
    "DOID:0111627",
    "DOID:12971",
    "DOID:175",
    "DOID:6612",
}
UNCLEAR = {
    "DOID:0081116",
    "DOID:11211",
    "DOID:308",
    "DOID:4258",
    "DOID:6620",
    "DOID:8943",
    "DOID:9822",
    "HP:0002121",
    "HP:0003108",
}


def _known(
    concept: Concept, row: int, owners: Mapping[str, set[int]], forms: Mapping[str, str]
) -> dict[NameKind, bool]:
    """Whether all known names of each kind are names of other concepts alone."""
    of_kind: dict[NameKind, bool] = {}
    for name in concept.names:
        if name.kind in KINDS and (owner := owners.get(forms[name.text])):
            of_kind[name.kind] = of_kind.get(name.kind, True) and row not in owner
    return of_kind


ANOTHER: dict[str, Callable[..., bool]] = {  # when a concept is another one than it joins
    "the preferred name is another's, and half of those known": rules.is_another,
    "the preferred name is another's": lambda *of: _known(*of).get("preferred", False),
    "all names known are others'": lambda *of: bool(known := _known(*of)) and all(known.values()),
    NEVER: lambda *_: False,
}


@cache
def judged(year: str, files: Sequence[str], rule: str) -> tuple[Dictionary, Lending]:
    """As `lending`, with a rule of `ANOTHER`."""
    with mock.patch.object(rules, "is_another", ANOTHER[rule]):
        return lending(medic(year), files)


def refused(rule: str) -> dict[str, Any]:
    """Which concepts a rule refuses on the MEDIC of 2026, and who is right by default with it."""
    figures: dict[str, Any] = {"lenders": {}}
    read = set[str]()
    for label, files in {"DOID": ONTOLOGIES[:1], "HPO": ONTOLOGIES[1:], "MONDO": MAPPINGS}.items():
        account, without = (judged("2026", files, which)[1] for which in (rule, NEVER))
        others = {
            n.name.concept_id for n in account.names if n.outcome == "concept is another by name"
        }
        lost = [n.name.concept_id for n in without.names if n.outcome == "lent"]
        lost = [identifier for identifier in lost if identifier in others]
        joined = sum(report.joined for report in account.lenders)
        counts = {"joined": joined, "refused": len(others), "lent": len({*lost})}
        figures["lenders"][label] = counts | {"names": len(lost)}
        read |= {*lost}
    sample = {*random.Random(0).sample(sorted(read), min(READ, len(read)))}
    figures["read"] = [len(sample - WRONG - UNCLEAR), len(sample & UNCLEAR), len(sample & WRONG)]
    dictionary, _ = judged("2017", ONTOLOGIES, rule)
    linker = by_score(dictionary, "static").with_ranker(Ranker.shipped())
    figures["right"] = [
        hits.digits(o.rank == 1 for o in protocols.strict(linker, documents(c, "devel"), 1))
        for c in TITLES
    ]
    return figures


def find(name: str) -> dict[str, Any]:
    """What a rule lends, and which mentions are right first then, by characters and static."""
    receiver, account = lending(medic("2017"), *RULES[name])
    names = Counter[str]()
    for report in account.lenders:
        names.update(report.names)
    lent = [one.concepts for one in account.names if one.outcome == "lent"]
    figures: dict[str, Any] = {"names": dict(names), "right": {}}
    figures["concepts"] = len({identifier for ids in lent for identifier in ids})
    for system, encoder in ENCODERS.items():
        linker = by_score(receiver, encoder)
        figures["right"][system] = [
            hits.digits(o.rank == 1 for o in protocols.strict(linker, documents(c, "devel"), 1))
            for c in TITLES
        ]
    return figures


def row(name: str, figures: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """What a rule is worth: Acc@1, and the difference to the rule that is taken."""
    cells = {"rule": name, "names": figures["names"], "concepts": figures["concepts"]}
    for system in ENCODERS:
        texts, others = figures["right"][system], base["right"][system]
        over = hits.gain(hits.read(*texts), hits.read(*others))
        cells[system] = {"acc1": hits.means(texts), "over": over}
    return cells


def branches() -> dict[str, Any]:
    """Concepts and mentions of each branch of MEDIC, with lent names and without."""
    lent, own = with_lent(LENT), with_lent(NONE)
    after, before = (
        list(protocols.strict(by_score(dictionary, "static"), development(), 20))
        for dictionary in (lent, own)
    )
    right = np.array([[outcome.rank == 1 for outcome in one] for one in (after, before)], float)
    golds = [matching.accepted(outcome.gold, own.resolve) for outcome in before]
    receivers = {*lent.name_concept[lent.lent_rows].tolist()}
    hierarchy, lines = own.hierarchy, []
    tops = [int(row) for top in hierarchy.top for row in hierarchy.children([top])[0]]
    under = hierarchy.under(tops)
    for branch in tops:
        members = {*under[:, branch].nonzero()[0].tolist()}
        ids = {own.ids[row] for row in members}
        asked = right[:, [not ids.isdisjoint(gold) for gold in golds]]
        if asked.shape[1] >= FEWEST:
            line = {"branch": own.preferred_name(branch), "concepts": len(members)}
            line |= {"lent": len(members & receivers), "n": asked.shape[1]}
            line |= {"acc1": asked.mean(axis=1).round(5).tolist(), "gain": hits.gain(*asked)}
            lines.append(line)
    return {"rows": sorted(lines, key=lambda line: -line["gain"][0])}


if __name__ == "__main__":
    wanted = {runs.slug(name): partial(find, name) for name in RULES} | {"branches": branches}
    wanted |= {runs.slug(rule): partial(refused, rule) for rule in ANOTHER}
    kept = runs.made("lending", wanted, is_table=results.only_table(__doc__))
    base = kept[runs.slug(LENT)]
    rows = [row(name, kept[runs.slug(name)], base) for name in RULES if runs.slug(name) in kept]
    before, another = kept[runs.slug(NEVER)]["right"], []
    for rule in ANOTHER:
        figures = kept[runs.slug(rule)]
        right = figures.pop("right")
        figures |= {"rule": rule, "acc1": hits.means(right)}
        another.append(figures | {"over": hits.gain(hits.read(*right), hits.read(*before))})
    figures = {"rows": rows, "branches": kept["branches"], "another": another}
    results.save("lending", figures, seed=0)
    print(*rows, *kept["branches"]["rows"], *another, sep="\n")
