"""What reviewed documents teach of where mentions are: from how many on it is worth it.

python benchmarks/workbench/finding.py

Writes results/finding.json. The model is the default of `linker train` (static) on the MEDIC of
2026. All mentions of the first training documents of a corpus are decided, so that they are names;
then the rules find mentions in the last 100 development documents ("rules"), or what the documents
teach, too ("learnt"). The rules before any decision are the row of no document.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, medic
from benchmarks.workbench.curator import first_of_forms, places
from linker import Linker
from linker.evaluation import documents as evaluation
from linker.linking import spans
from linker.training.pipeline import train
from linker.training.release import update

NUMBERS, ASKED = (0, 50, 100, 200), 100


def row(model: Linker, corpus: str, number: int) -> dict[str, Any]:
    """The figures after so many documents, by both ways to find mentions."""
    taught, asked = documents(corpus, "train")[:number], documents(corpus, "devel")[-ASKED:]
    lessons = [place.taught for place in first_of_forms(places(taught, model))]
    linker, _ = update(model, mentions=lessons)
    found: dict[str, Any] = {"documents": number, "rules": evaluation.evaluate(linker, asked)[0]}
    if number:
        linker.spans = spans.fit(linker.found_names, taught)
        found["learnt"] = evaluation.evaluate(linker, asked)[0]
    print(corpus, found, flush=True)
    return found


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    model = train(medic("2026"))
    rows = {corpus: [row(model, corpus, number) for number in NUMBERS] for corpus in TITLES}
    results.save("finding", rows, seed=0)
