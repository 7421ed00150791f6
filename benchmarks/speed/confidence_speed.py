"""What a confidence costs: mentions a second with it and without, in the same run.

python benchmarks/speed/confidence_speed.py

Writes results/confidence_speed.json. The MEDIC of 2017 with the training mentions of NCBI Disease;
the development documents of NCBI Disease and BC5CDR are linked, with empty caches each time.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, medic
from linker import Linker
from linker.options import preset

ENCODERS = ("tfidf", "static", "dan")
ROUNDS = 7


def seconds(linker: Linker, items: list[Any]) -> float:
    """How long a linker with empty caches takes for some documents, loading and warming apart."""
    fresh = linker.calibrated(linker.calibration)
    list(fresh.link(["cancer"]))
    start = time.perf_counter()
    list(fresh.link(items))
    return time.perf_counter() - start


def measured(encoder: str, items: list[Any]) -> dict[str, Any]:
    """A row: mentions a second of one encoder, medians over rounds of with and without."""
    options = preset("default", encoder)
    if encoder == "dan":  # one epoch: what it has learnt does not change how long it takes
        ground = dataclasses.replace(options.ground, epochs=1)
        options = dataclasses.replace(options, ground=ground)
    known = documents("ncbi", "train")
    linker = Linker.train(medic("2017"), encoder=encoder, mentions=known, options=options)
    bare = linker.calibrated(None)
    rounds = [(seconds(linker, items), seconds(bare, items)) for _ in range(ROUNDS)]
    count = sum(len(document.mentions) for document in items)
    return {
        "encoder": encoder,
        "mentions": count,
        "with": round(count / statistics.median(one for one, _ in rounds)),
        "without": round(count / statistics.median(one for _, one in rounds)),
        "ratio": round(statistics.median(without / one for one, without in rounds), 3),
    }


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    items = [document for corpus in TITLES for document in documents(corpus, "devel")]
    rows = [measured(encoder, items) for encoder in ENCODERS]
    for row in rows:
        print(*row.values())
    results.save("confidence_speed", {"rows": rows}, seed=0)
