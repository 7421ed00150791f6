"""A column of 1,000 mentions, reconciled as OpenRefine does it: time, and what is matched.

python benchmarks/service/openrefine.py

Writes results/openrefine.json. The distinct development mentions of NCBI Disease, filled up with
those of BC5CDR, are sent over a socket to `linker serve` by characters: first the ten that
OpenRefine guesses the types of a column by, then all in batches, one after the other, of 10
(OpenRefine 3.6) and of the 100 that the manifest allows. Right is a match whose concept is the gold
one, by `linker.matching`; of a mention of several concepts no match is.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.ranker_weights import trained
from benchmarks.lib import results
from benchmarks.lib.data import development, documents, medic
from benchmarks.service.load import Server
from linker import Linker, matching
from linker.types import Gold

MENTIONS, SAMPLE = 1_000, 10
BATCHES = (10, 100)
SCORES = (50, 70, 80, 90, 95)  # of a match, at least


def column() -> dict[str, Gold]:
    """The distinct mentions, each with the gold of the first."""
    cells: dict[str, Gold] = {}
    for document in development():
        for mention in document.mentions:
            if mention.gold is not None:
                cells.setdefault(mention.text, mention.gold)
    return dict(list(cells.items())[:MENTIONS])


def reconciled(url: str, cells: Sequence[str], size: int) -> tuple[dict[str, Any], list[Any]]:
    """Guess the types, then reconcile all cells in batches; figures, and the results of cells."""
    answers, seconds = list[Any](), list[float]()
    with httpx.Client(base_url=url, timeout=60) as client:

        def ask(texts: Sequence[str], **more: int) -> list[Any]:
            queries = {f"q{i}": {"query": text} | more for i, text in enumerate(texts)}
            answer = client.post("/reconcile", data={"queries": json.dumps(queries)})
            answer.raise_for_status()
            content = answer.json()
            return [content[name]["result"] for name in queries]

        start = time.perf_counter()
        assert all(ask(cells[:SAMPLE], limit=3))
        for first in range(0, len(cells), size):
            begin = time.perf_counter()
            answers += ask(cells[first : first + size])
            seconds.append(time.perf_counter() - begin)
    figures = {
        "requests": 1 + len(seconds),
        "seconds": round(time.perf_counter() - start, 2),
        "median_request_ms": round(1000 * statistics.median(seconds), 1),
        "slowest_request_ms": round(1000 * max(seconds), 1),
    }
    return figures, answers


def correctness(linker: Linker, golds: Sequence[Gold], answers: Sequence[Any]) -> dict[str, Any]:
    """How many cells are matched, and right; and how many at some score are."""
    right = []
    for gold, entry in zip(golds, answers, strict=True):
        ids = [[candidate["id"] for candidate in entry[:1]]]
        right.append(matching.strict_rank(ids, gold, linker.dictionary.resolve) == 1)
    matches = [bool(entry and entry[0]["match"]) for entry in answers]
    others = [not match for match in matches]
    shares = {
        "first_right": right,
        "matched": matches,
        "matched_right": list(compress(right, matches)),
        "not_matched_first_right": list(compress(right, others)),
    }
    by_score = [
        {"at_least": least, "right": round(statistics.mean(compress(right, above)), 4)}
        for least in SCORES
        for above in [[bool(entry) and entry[0]["score"] >= least for entry in answers]]
    ]
    counts: dict[str, Any] = {"first_by_score": by_score}
    counts |= {"mentions": len(right), "several_concepts": sum(len(gold) > 1 for gold in golds)}
    return counts | {name: round(statistics.mean(of), 4) for name, of in shares.items()}


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    linker = trained("ncbi", medic("2017"), "tfidf", documents("ncbi", "train"))
    cells, batches = column(), {}
    with tempfile.TemporaryDirectory() as folder:
        linker.save(f"{folder}/model")
        server = Server(f"{folder}/model", "--decisions", "none")
        for size in BATCHES:
            batches[str(size)], answers = reconciled(server.url, list(cells), size)
        server.end()
    figures: dict[str, Any] = {"encoder": linker.encoder, "batches": batches}
    figures |= correctness(linker, list(cells.values()), answers)
    results.save("openrefine", figures)
