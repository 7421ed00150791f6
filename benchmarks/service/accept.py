"""How long an Accept waits while another client sends the biggest requests that are allowed.

python benchmarks/service/accept.py [--model DIR] [--only KIND ...]

Writes results/accept.json. The MEDIC of 2017 with the training mentions of NCBI Disease, and a file
of 10,000 decisions of 8 reviewers and a project of 20,000 rows. One client accepts one answer after
another, in turn by POST /decisions and in the project ("in_project"), with a pause of a fiftieth of
a second between; another sends one big request after another of a kind, or all kinds at the same
time ("all"). Seconds are those of the wall; "nothing" is the same without big requests.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import documents
from benchmarks.lib.linkers import with_lent
from benchmarks.service.load import Server
from linker import Linker
from linker.decisions.store import DecisionStore
from linker.training.pipeline import train
from linker.types import Decision

SECONDS, PAUSE = 8.0, 0.02
DECISIONS, REVIEWERS = 10_000, 8
ROWS = 20_000  # of the project
BODY, TEXT, MENTIONS = 4_000_000, 1_000_000, 10_000  # the limits of a service
ALLOWED = 0.2  # seconds that an Accept may wait

Send = Callable[[httpx.Client], httpx.Response]


def kinds(names: list[str], ids: list[str]) -> dict[str, Send]:
    """The biggest requests of each kind, with names and ids of concepts."""
    texts = [document.text for document in documents("ncbi", "devel")]
    whole = " ".join(itertools.islice(itertools.cycle(texts), 1_000))[:TEXT]
    file, free = io.StringIO(), BODY - sum(len(name.encode()) + 10 for name in names[:MENTIONS])
    csv.writer(file).writerows(
        [["mention", "remarks"], *([name, "x" * (free // MENTIONS)] for name in names[:MENTIONS])]
    )
    table = file.getvalue().encode()
    decided = [
        {"mention": name, "concept_id": concept, "reviewer": "big"}
        for name, concept in zip(names[:MENTIONS], itertools.cycle(ids), strict=False)
    ]
    few = itertools.cycle(range(10, BODY, 1_000))
    return {
        "link": posted("link", {"mentions": names[:MENTIONS], "k": 10}),
        "link as TSV": posted("link?format=tsv", {"mentions": names[:MENTIONS], "k": 10}),
        "annotate": posted("annotate", {"documents": [{"id": "1", "text": whole}]}),
        "annotate 1,000": posted(
            "annotate",
            {"documents": [{"id": str(n), "text": whole[n * 1000 :][:999]} for n in range(1_000)]},
        ),
        "explain": posted("explain", {"mention": names[0], "document": {"id": "1", "text": whole}}),
        "parse a table": lambda c: c.post("/parse", params={"column": "mention"}, content=table),
        "parse a list": lambda c: c.post("/parse", content="\n".join(names[:MENTIONS]).encode()),
        "table": lambda c: c.post("/table", params={"column": "mention"}, content=table),
        "decisions": posted("decisions", {"decisions": decided}),
        "list decisions": lambda c: c.get("/decisions"),
        "export decisions": lambda c: c.get("/decisions/export", params={"format": "sssom"}),
        "export the log": lambda c: c.get("/decisions/export", params={"format": "log"}),
        "no decisions": posted("decisions", {"decisions": [[1]] * (BODY // 5)}),
        "no JSON": lambda c: c.post("/link", content=b'{"mentions": [' + b'"a",' * 999_000),
        "deep JSON": lambda c: c.post("/link", content=b"[" * BODY),
        "project": lambda c: c.post(
            "/projects", params={"column": "mention", "name": str(next(few))}, content=table
        ),
        "project export": lambda c: c.get("/projects/1/export"),
        "bulk accept": bulk_accept,
    }


def bulk_accept(client: httpx.Client) -> httpx.Response:
    """Accept most rows of the project, and undo that."""
    accept = {"reviewer": "Bob", "filter": {"above": 0.5}}
    answer = client.post("/projects/1/accept", json=accept)
    client.post("/projects/1/undo", json={"reviewer": "Bob"}).raise_for_status()
    return answer


def make_project(url: str, names: list[str]) -> None:
    """Make the project, and wait until it is linked."""
    with httpx.Client(base_url=url, timeout=120) as client:
        table = "\n".join(["name", *names[:ROWS]]).encode()
        asked = {"name": "rows", "file": "names.tsv", "column": "name"}
        client.post("/projects", params=asked, content=table).raise_for_status()
        while client.get("/projects/1").json()["linked"] < 1:
            time.sleep(1)


def posted(path: str, body: Any) -> Send:
    """Sends a body as JSON, which is made once."""
    content = json.dumps(body, separators=(",", ":")).encode()
    assert len(content) <= BODY, (path, len(content))
    headers = {"Content-Type": "application/json"}
    return lambda client: client.post(f"/{path}", content=content, headers=headers)


def accepts(url: str, numbers: Iterator[int], until: float) -> tuple[list[float], list[float]]:
    """Accept one answer after another; the seconds by POST /decisions, and in the project."""
    seconds: tuple[list[float], list[float]] = [], []
    with httpx.Client(base_url=url, timeout=120) as client:
        page = client.get("/projects/1/queue", params={"offset": ROWS // 2, "limit": 1_000})
        keys = itertools.cycle(row["key"] for row in page.json()["rows"])
        while time.monotonic() < until:
            said = {"concept_id": "MESH:D001260"}
            loose = {"mention": f"odd name {next(numbers)}", "reviewer": "Ada", **said}
            in_project = {"reviewer": "Ada", "decisions": [{"key": next(keys), **said}]}
            bodies = ("/decisions", {"decisions": [loose]}), ("/projects/1/decisions", in_project)
            for of_kind, (path, body) in zip(seconds, bodies, strict=True):
                start = time.perf_counter()
                client.post(path, json=body).raise_for_status()
                of_kind.append(time.perf_counter() - start)
                time.sleep(PAUSE)
    return seconds


def measured(url: str, senders: Mapping[str, Send], numbers: Iterator[int]) -> dict[str, Any]:
    """The seconds of Accepts while others send big requests, each again and again."""
    statuses: list[int] = []
    until = time.monotonic() + SECONDS

    def send(sender: Send) -> None:
        with httpx.Client(base_url=url, timeout=120) as client:
            while time.monotonic() < until:
                statuses.append(sender(client).status_code)

    threads = [threading.Thread(target=send, args=[sender]) for sender in senders.values()]
    for thread in threads:
        thread.start()
    loose, in_project = accepts(url, numbers, until)
    for thread in threads:
        thread.join()
    return {
        "big": len(statuses),
        "statuses": {str(s): statuses.count(s) for s in sorted(set(statuses))},
        **figures(loose),
        "in_project": figures(in_project),
    }


def figures(waited: list[float]) -> dict[str, float]:
    """What there is to say of the seconds of Accepts."""
    return {
        "accepts": len(waited),
        **{f"p{p}": round(float(np.percentile(waited, p)), 4) for p in (50, 99)},
        "max": round(max(waited), 4),
        "late": sum(seconds > ALLOWED for seconds in waited),
    }


def run(model: str, folder: str, only: list[str]) -> list[dict[str, Any]]:
    """The rows of the table."""
    linker = Linker.load(model)
    names = [name for name in dict.fromkeys(linker.dictionary.names) if len(name) < 200]
    file = f"{folder}/decisions.sqlite"
    with DecisionStore(file) as store:
        store.add(
            Decision(name, linker.dictionary.ids[n], reviewer=f"reviewer {n % REVIEWERS}")
            for n, name in enumerate(names[:DECISIONS])
        )
    ids = [i for i in linker.dictionary.ids if len(linker.dictionary.rows(i)) == 1]
    big = kinds([f"severe {name}" for name in names], ids)
    chosen = {name: {name: send} for name, send in big.items()} | {"nothing": {}, "all": big}
    numbers, rows = itertools.count(), []
    for name in only or ["nothing", *big, "all"]:
        server = Server(model, "--decisions", file)
        if not rows:
            make_project(server.url, names)
        accepts(server.url, numbers, time.monotonic() + 1)  # what the first ones read stays
        row = {"kind": name, **measured(server.url, chosen[name], numbers)}
        rows.append(row | {"memory": server.memory()})
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        server.end()
    return rows


def main() -> None:
    options = results.parser(__doc__)
    options.add_argument("--model", help="the folder of a model; else one is trained")
    options.add_argument("--only", nargs="+", default=[], help="measure these kinds; save nothing")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = arguments.model or f"{folder}/model"
        if not arguments.model:
            train(with_lent(), mentions=documents("ncbi", "train")).save(model)
        rows = run(model, folder, arguments.only)
    if not arguments.only:
        load = [round(value, 1) for value in os.getloadavg()]
        sizes = {"decisions": DECISIONS, "project": ROWS, "seconds": SECONDS}
        results.save("accept", {**sizes, "load": load, "rows": rows}, seed=0)


if __name__ == "__main__":
    main()
