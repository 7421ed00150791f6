"""How many answers get the ids of other vocabularies, by what was lent at training.

python benchmarks/accuracy/also.py

Writes results/also.json. The MEDIC of 2026, to which DOID, HPO and MONDO's mappings lend; by
characters; the linked mentions of both development sets.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents
from benchmarks.lib.linkers import MAPPED, with_lent
from linker.training.pipeline import train

VOCABULARIES = ("MONDO", "OMIM", "DOID")


def main() -> None:
    """Link, and count the answers by the vocabularies of their further ids."""
    linker = train(with_lent(MAPPED, "2026"), encoder="tfidf")
    figures = {}
    for corpus in TITLES:
        linked = linker.link_items(documents(corpus, "devel"), k=1, also=VOCABULARIES)
        parts = [part for _, predictions in linked for p in predictions for part in p.parts]
        answers = [part.best for part in parts if part.best]
        having = Counter(
            prefix
            for answer in answers
            for prefix in {other.id.partition(":")[0].upper() for other in answer.also}
        )
        shares = {name: round(having[name] / len(answers), 4) for name in VOCABULARIES}
        figures[corpus] = {"answers": len(answers), "share": shares}
        print(corpus, figures[corpus])
    results.save("also", figures)


if __name__ == "__main__":
    main()
