"""A request of 10,000 names to linker serve, beside the same names in Python.

python benchmarks/service/long_requests.py

Writes results/long_requests.json. Static vectors and characters, the MEDIC of 2017 with the names
of DOID and HPO and the training mentions of NCBI Disease; the distinct development mentions of both
corpora, and names of the dictionary with a word before them, so that all are distinct. Each
way is timed five times, after one that warms up; the best time counts. The time of the request
includes its JSON, there and back.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents
from benchmarks.lib.lent import LENT, dictionary
from benchmarks.service.load import Server
from linker import Linker

NAMES, ROUNDS, K = 10_000, 5, 1


def names(linker: Linker) -> list[str]:
    """The names that are asked for."""
    mentions = {m.text for c in TITLES for d in documents(c, "devel") for m in d.mentions}
    others = (f"severe {name}" for name in linker.dictionary.names)
    return [*sorted(mentions), *others][:NAMES]


def timed(work: Any) -> float:
    """The seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measured(encoder: str) -> dict[str, Any]:
    """The names a second of a request, and of Python in this process."""
    mentions = documents("ncbi", "train")
    linker = Linker.train(dictionary("2017", LENT), encoder=encoder, mentions=mentions)
    asked = names(linker)
    content = json.dumps({"mentions": asked, "k": K}).encode()
    headers = {"Content-Type": "application/json"}
    with tempfile.TemporaryDirectory() as folder:
        linker.save(f"{folder}/model")
        linker = Linker.load(f"{folder}/model")
        server = Server(f"{folder}/model", "--no-decisions")

        def request() -> None:
            answer = httpx.post(f"{server.url}/link", content=content, headers=headers, timeout=120)
            answer.raise_for_status()

        ways = {"service": request, "python": lambda: list(linker.link(asked, k=K))}
        try:
            for way in ways.values():
                way()
            seconds = {name: [timed(way) for _ in range(ROUNDS)] for name, way in ways.items()}
        finally:
            server.end()
    rates = {name: round(NAMES / min(of_one)) for name, of_one in seconds.items()}
    spread = {name: round(statistics.pstdev(of_one), 3) for name, of_one in seconds.items()}
    share = round(rates["service"] / rates["python"], 3)
    return {"encoder": encoder} | rates | {"share": share, "seconds_deviation": spread}


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    rows = [measured(encoder) for encoder in ("static", "tfidf")]
    for row in rows:
        print(row)
    results.save("long_requests", {"names": NAMES, "k": K, "rows": rows}, seed=0)
