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
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import development, documents
from benchmarks.lib.linkers import with_lent
from benchmarks.lib.measure import timed
from benchmarks.service.load import Server
from linker import Linker
from linker.training.pipeline import train

NAMES, ROUNDS = 10_000, 5


def measured(encoder: str) -> dict[str, Any]:
    """The names a second of a request, and of Python in this process."""
    known, mentions = (
        documents("ncbi", "train"),
        {m.text for d in development() for m in d.mentions},
    )
    others = (f"severe {name}" for name in with_lent().names)
    asked = [*sorted(mentions), *others][:NAMES]
    content = json.dumps({"mentions": asked, "k": 1}).encode()
    about: Any = {"content": content, "headers": {"Content-Type": "application/json"}}
    with tempfile.TemporaryDirectory() as folder:
        train(with_lent(), encoder=encoder, mentions=known).save(f"{folder}/model")
        linker = Linker.load(f"{folder}/model")
        server = Server(f"{folder}/model", "--decisions", "none")

        def request() -> None:
            httpx.post(f"{server.url}/link", timeout=120, **about).raise_for_status()

        rates = {}
        for name, way in (("service", request), ("python", lambda: list(linker.link(asked, k=1)))):
            way()
            rates[name] = round(NAMES / min(timed(way)[0] for _ in range(ROUNDS)))
        server.end()
    return {"encoder": encoder, **rates, "share": round(rates["service"] / rates["python"], 3)}


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    rows = [measured(encoder) for encoder in ("static", "tfidf")]
    results.save("long_requests", {"names": NAMES, "rows": rows}, seed=0)
