"""A column of 1,000 mentions, reconciled as OpenRefine does it: time, and what is matched.

python benchmarks/service/openrefine.py [--model DIR]

Writes results/openrefine.json. The distinct development mentions of NCBI Disease, filled up with
those of BC5CDR, are sent over a socket: first the ten that OpenRefine guesses the types of a column
by, then all in batches, one after the other, of 10 (OpenRefine 3.6) and of the 100 that the
manifest allows. Right is a match whose concept is the gold one, by `linker.matching`; of a mention
of several concepts no match is.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.ranker_weights import trained
from benchmarks.lib import results
from benchmarks.lib.data import documents, medic
from linker import Linker, matching
from linker.linking.requests import Linked, Request
from linker.service.reconciliation.vocabulary import Vocabulary
from linker.types import Gold

MENTIONS, SAMPLE = 1_000, 10
BATCHES = (10, 100)
LIMITS = (0.5, 0.7, 0.8, 0.9, 0.95)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

Ask = Callable[[dict[str, Any]], dict[str, Any]]


class Direct:
    """The part of a service that reconciliation uses, without queue and decisions."""

    def __init__(self, linker: Linker) -> None:
        self.model: Any = SimpleNamespace(linker=linker, vocabulary=Vocabulary(linker))

    async def answer(self, model: Any, requests: Sequence[Request]) -> list[Linked]:
        """Link at once."""
        return list(model.linker.answers(requests))

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call at once."""
        return function(*args)


def column() -> dict[str, Gold]:
    """The distinct mentions, each with the gold of the first."""
    cells: dict[str, Gold] = {}
    for corpus in ("ncbi", "bc5cdr"):
        for document in documents(corpus, "devel"):
            for mention in document.mentions:
                if mention.gold is not None:
                    cells.setdefault(mention.text, mention.gold)
    return dict(list(cells.items())[:MENTIONS])


@contextmanager
def serving(linker: Linker) -> Iterator[int]:
    """Serve a linker on a free port of this machine."""
    import uvicorn
    from fastapi import FastAPI

    from linker.service.reconciliation.routes import router

    app = FastAPI()
    app.include_router(router(Direct(linker)))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


@contextmanager
def asking(port: int) -> Iterator[Ask]:
    """A connection that is kept open, and what sends queries over it."""
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def ask(queries: dict[str, Any]) -> dict[str, Any]:
        body = urlencode({"queries": json.dumps(queries)})
        connection.request("POST", "/reconcile", body, FORM)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        content: dict[str, Any] = json.loads(response.read())
        return content

    yield ask
    connection.close()


def reconciled(ask: Ask, cells: Sequence[str], size: int) -> tuple[dict[str, Any], list[Any]]:
    """Guess the types, then reconcile all cells in batches; figures, and the results of cells."""
    start = time.perf_counter()
    guessed = ask({f"q{i}": {"query": text, "limit": 3} for i, text in enumerate(cells[:SAMPLE])})
    assert all(entry["result"] for entry in guessed.values())
    answers, seconds = [], []
    for first in range(0, len(cells), size):
        begin = time.perf_counter()
        batch = cells[first : first + size]
        content = ask({f"q{i}": {"query": text} for i, text in enumerate(batch)})
        answers += [content[f"q{i}"]["result"] for i in range(len(batch))]
        seconds.append(time.perf_counter() - begin)
    seconds.sort()
    figures = {
        "requests": 1 + len(seconds),
        "seconds": round(time.perf_counter() - start, 2),
        "median_request_ms": round(1000 * seconds[len(seconds) // 2], 1),
        "slowest_request_ms": round(1000 * seconds[-1], 1),
    }
    return figures, answers


def correctness(linker: Linker, golds: Sequence[Gold], answers: Sequence[Any]) -> dict[str, Any]:
    """How many cells are matched, and right; and what a higher limit would give."""

    def is_right(gold: Gold, candidates: Sequence[Any]) -> bool:
        ids = [[entry["id"] for entry in candidates[:1]]]
        return matching.strict_rank(ids, gold, linker.dictionary.resolve) == 1

    scores = [entry[0]["score"] if entry else 0.0 for entry in answers]
    right = [is_right(gold, entry) for gold, entry in zip(golds, answers, strict=True)]
    matches = [bool(entry and entry[0]["match"]) for entry in answers]

    def share(flags: Iterable[bool]) -> float:
        values = list(flags)
        return round(sum(values) / max(1, len(values)), 4)

    return {
        "mentions": len(scores),
        "several_concepts": sum(len(gold) > 1 for gold in golds),
        "first_right": share(right),
        "matched": share(matches),
        "matched_right": share(compress(right, matches)),
        "not_matched_first_right": share(compress(right, (not match for match in matches))),
        "first_by_score": [
            {
                "at_least": 100 * limit,
                "share": share(above := [score >= 100 * limit for score in scores]),
                "right": share(compress(right, above)),
            }
            for limit in LIMITS
        ],
    }


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--model", help="a model folder; by default characters, trained on NCBI")
    chosen = parser.parse_args()
    linker = (
        Linker.load(chosen.model)
        if chosen.model
        else trained("ncbi", medic("2017"), "tfidf", documents("ncbi", "train"))
    )
    cells = column()
    figures: dict[str, Any] = {"encoder": linker.encoder, "batches": {}}
    with serving(linker) as port:
        for size in BATCHES:
            with asking(port) as ask:
                taken, answers = reconciled(ask, list(cells), size)
            figures["batches"][str(size)] = taken
    figures |= correctness(linker, list(cells.values()), answers)
    results.save("openrefine", figures)


if __name__ == "__main__":
    main()
