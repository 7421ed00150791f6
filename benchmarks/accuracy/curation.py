"""What curators are shown: why rows have no sure answer, and what a release does to decisions.

python benchmarks/accuracy/curation.py    a minute

Writes results/curation.json. The rows are the development mentions as texts, linked with weights
that do not know the corpus. Each of the first 2,000 distinct texts of mentions of training and
development documents that have one concept of MEDIC 2017 is a decision; the release is that of
2026.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import promises
from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, medic
from linker import Decision, Dictionary
from linker.desk.decisions import updating
from linker.desk.decisions.store import releases
from linker.evaluation.failures import failures, settled
from linker.linking.decisions import form_of

DECISIONS = 2_000


def report(corpus: str) -> dict[str, Any]:
    """Why the development mentions of a corpus have no sure answer."""
    linker = promises.alone(corpus)
    rows = Counter(m.text for d in documents(corpus, "devel") for m in d.mentions)
    found = failures(linker.link(rows), rows, linker)
    kinds = Counter[str]()
    for failure in found:
        kinds[failure.kind] += failure.rows
    failed, (decisions, settles) = sum(failure.rows for failure in found), settled(found)
    return {
        "asked": TITLES[corpus],
        "rows": rows.total(),
        "distinct": len(rows),
        "failed": failed,
        "kinds": dict(kinds.most_common()),
        "half": {"decisions": decisions, "rows": settles},
    }


def decided(dictionary: Dictionary) -> list[Decision]:
    """What annotators say of mentions, as decisions with a release of MEDIC."""
    found, release = dict[str, Decision](), releases(dictionary)
    mentions = (
        m for corpus in TITLES for d in documents(corpus, "train", "devel") for m in d.mentions
    )
    for mention in mentions:
        ids = [i for group in mention.gold or () for i in group.ids]
        if len(ids) == 1 and dictionary.rows(ids[0]) and len(found) < DECISIONS:
            decision = Decision(mention.text, ids[0], release=release, id=len(found) + 1)
            found.setdefault(form_of(mention.text), decision)
    return [*found.values()]


def release() -> dict[str, Any]:
    """What MEDIC of 2026 does to decisions that were made with that of 2017."""
    before, after = medic("2017"), medic("2026")
    decisions = decided(before)
    found = updating.changes(decisions, updating.Names(after), updating.Names(before))
    moved = [c.decision.mention for c in found if c.kind in updating.ACCEPTABLE]
    counts = updating.counted(decisions, found)
    return {"decisions": counts.total(), "kinds": dict(counts), "acceptable": moved}


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    figures = {"reports": [report(corpus) for corpus in TITLES], "releases": [release()]}
    print(figures)
    results.save("curation", figures)
