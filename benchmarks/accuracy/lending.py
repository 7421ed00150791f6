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
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.default import ENCODERS
from benchmarks.lib import hits, results, runs
from benchmarks.lib.data import TITLES, development, documents, medic
from benchmarks.lib.linkers import (
    LENDERS,
    LENT,
    MAPPED,
    NONE,
    ONTOLOGIES,
    by_score,
    lending,
    with_lent,
)
from linker import matching
from linker.dictionary.lending import KINDS
from linker.evaluation import protocols
from linker.types import NameKind

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
    kept = runs.made("lending", wanted, is_table=results.only_table(__doc__))
    base = kept[runs.slug(LENT)]
    rows = [row(name, kept[runs.slug(name)], base) for name in RULES if runs.slug(name) in kept]
    results.save("lending", {"rows": rows, "branches": kept["branches"]}, seed=0)
    print(*rows, *kept["branches"]["rows"], sep="\n")
