"""A project of 50,000 rows: the first screen, scrolling, memory; eight reviewers, and kills.

python benchmarks/workbench/scale.py --model DIR

Writes results/workbench_scale.json. The rows are names of the dictionary, of which some have words
before them, and the development mentions of NCBI Disease and BC5CDR. Measured are, on two cores:
from the file to the first answers, and to the last; the first screen in Chromium, of a service that
has just started, and of one that has shown it before; jumps in the list, until the rows are drawn;
memory of the service and of the page. Then eight reviewers decide on rows at once, 10,000 times
together, while the service is killed (SIGKILL) three times and started again: a decision that was
acknowledged must be there at the end.
"""

from __future__ import annotations

import itertools
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import development, medic
from benchmarks.service.load import Server
from linker.decisions.store import DecisionStore
from tests.service.browser import BROWSER, SWITCHES

ROWS, SEED, JUMPS = 50_000, 7, 30
REVIEWERS, DECISIONS, KILLS = 8, 10_000, 3
SHOWN = "#rows .row[aria-selected=true]"


def table() -> bytes:
    """A table of names, a number and a ward beside each."""
    names = {mention.text for document in development() for mention in document.mentions}
    more = (f"{word} {name}" for name in medic("2026").names for word in ("severe", "", "old"))
    texts = list(itertools.islice(itertools.chain(sorted(names), more), ROWS))
    random.Random(SEED).shuffle(texts)
    rows = (f"{n}\t{text.strip()}\tward {n % 17}\n" for n, text in enumerate(texts))
    return "".join(["patient\tdiagnosis\tward\n", *rows]).encode()


def opened(page: Page, url: str, number: int) -> float:
    """Seconds until the page shows the first row with its answer."""
    start = time.perf_counter()
    page.goto(f"{url}/review?project={number}")
    page.wait_for_selector(SHOWN, timeout=60_000)
    page.wait_for_selector("#candidates .part", timeout=60_000)
    return round(time.perf_counter() - start, 2)


def jumped(page: Page) -> list[float]:
    """Milliseconds of jumps to places of the list, until all rows in sight are drawn."""
    generator, taken = random.Random(SEED), list[float]()
    for _ in range(JUMPS):
        start = time.perf_counter()
        page.evaluate(
            "(share) => { const rows = document.querySelector('#rows'); "
            "rows.scrollTop = share * rows.scrollHeight; }",
            generator.random(),
        )
        page.wait_for_function(
            "() => new Promise((done) => requestAnimationFrame(() => done("
            "document.querySelector('#rows .row') && "
            "!document.querySelector('#rows .row.waiting'))))",
            timeout=60_000,
        )
        taken.append(1000 * (time.perf_counter() - start))
    return taken


def page_memory(page: Page) -> float:
    """The heap of the page in MB."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    return round(used / 1e6, 1)


def first_screens(server: Server, driver: Any, content: bytes) -> tuple[int, dict[str, Any]]:
    """Make the project, and look at it; its number, and figures."""
    start = time.perf_counter()
    asked = {"name": "rows", "file": "rows.tsv", "column": "diagnosis", "reviewer": "ann"}
    made = httpx.post(f"{server.url}/projects", params=asked, content=content, timeout=120)
    number = made.raise_for_status().json()["id"]
    address = f"{server.url}/projects/{number}"
    figures: dict[str, Any] = {"seconds_to_project": round(time.perf_counter() - start, 2)}
    while (linked := httpx.get(address, timeout=60).json()["linked"]) < 1:
        if linked and "seconds_to_first_answers" not in figures:
            figures["seconds_to_first_answers"] = round(time.perf_counter() - start, 2)
        time.sleep(0.2)
    figures["seconds_to_last_answers"] = round(time.perf_counter() - start, 1)
    figures["service_mb"] = {"after linking": server.memory()}
    server.end()
    server.start()
    figures["service_mb"]["started anew"] = server.memory()
    switches = [f"--{switch}" for switch in SWITCHES]
    browser = driver.chromium.launch(executable_path=BROWSER, args=switches)
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    figures["first_screen_of_a_new_process"] = opened(page, server.url, number)
    figures["first_screen"] = statistics.median(opened(page, server.url, number) for _ in range(5))
    taken = jumped(page)
    figures["jump_ms"] = {"median": round(statistics.median(taken)), "slowest": round(max(taken))}
    figures["page_mb"] = page_memory(page)
    figures["service_mb"]["with the page"] = server.memory()
    browser.close()
    return number, figures


class Reviewer(threading.Thread):
    """Accepts the answers of some rows, one after the other, and asks again where nobody answers.

    Args:
        url: of the service.
        number: of the project.
        name: of the reviewer.
        keys: of the rows.
    """

    def __init__(self, url: str, number: int, name: str, rows: list[dict[str, Any]]) -> None:
        super().__init__()
        self._url, self._name, self._rows = f"{url}/projects/{number}/decisions", name, rows
        self.acknowledged = list[int]()  # the numbers of the decisions
        self.milliseconds = list[float]()
        self.refused = 0

    def run(self) -> None:
        with httpx.Client(timeout=30) as client:
            for row in self._rows:
                ids = "|".join(a["concept_id"] if a else "-1" for a in row["answers"])
                said = {"key": row["key"], "concept_id": None if set(ids) <= set("-1|") else ids}
                body = {"reviewer": self._name, "decisions": [said]}
                while True:
                    start = time.perf_counter()
                    try:
                        answer = client.post(self._url, json=body)
                    except httpx.HTTPError:  # it is being killed
                        time.sleep(0.1)
                        continue
                    if answer.status_code == 201:
                        self.milliseconds.append(1000 * (time.perf_counter() - start))
                        self.acknowledged += [d["id"] for d in answer.json()["decisions"]]
                        break
                    self.refused += 1
                    time.sleep(0.2)


def together(server: Server, number: int, file: str) -> dict[str, Any]:
    """Let reviewers decide at once, and kill the service meanwhile; figures."""
    each = DECISIONS // REVIEWERS
    rows = list[dict[str, Any]]()
    for offset in range(0, DECISIONS, 1000):
        asked: dict[str, Any] = {"sort": "alphabet", "offset": offset, "limit": 1000}
        rows += httpx.get(f"{server.url}/projects/{number}/queue", params=asked, timeout=60).json()[
            "rows"
        ]
    reviewers = [
        Reviewer(server.url, number, f"reviewer {n}", rows[n * each : (n + 1) * each])
        for n in range(REVIEWERS)
    ]
    start = time.perf_counter()
    for reviewer in reviewers:
        reviewer.start()
    for kill in range(1, KILLS + 1):
        while sum(len(r.acknowledged) for r in reviewers) < DECISIONS * kill / (KILLS + 1):
            time.sleep(0.05)
        server.end(signal.SIGKILL)
        server.start()
    for reviewer in reviewers:
        reviewer.join()
    seconds = time.perf_counter() - start
    taken = sorted(itertools.chain.from_iterable(r.milliseconds for r in reviewers))
    acknowledged = set(itertools.chain.from_iterable(r.acknowledged for r in reviewers))
    with DecisionStore(file, read_only=True) as store:
        kept = {past.decision.id for past in store.history()}
    return {
        "reviewers": REVIEWERS,
        "acknowledged": len(acknowledged),
        "acknowledged_and_lost": len(acknowledged - kept),
        "kept_but_not_acknowledged": len(kept - acknowledged),
        "kills": KILLS,
        "refused": sum(reviewer.refused for reviewer in reviewers),
        "decisions_per_second": round(len(acknowledged) / seconds, 1),
        "p50_ms": round(taken[len(taken) // 2]),
        "p99_ms": round(taken[len(taken) * 99 // 100]),
        "slowest_ms": round(taken[-1]),
        "service_mb": server.memory(),
    }


if __name__ == "__main__":
    arguments = results.parser(__doc__)
    arguments.add_argument("--model", required=True, help="a model of MEDIC")
    model = arguments.parse_args().model
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = f"{folder}/decisions.sqlite"
        server = Server(model, "--decisions", file)
        number, figures = first_screens(server, driver, table())
        figures["together"] = together(server, number, file)
        figures["file_mb"] = round(Path(file).stat().st_size / 1e6, 1)
        server.end()
    results.save("workbench_scale", {"rows": ROWS, **figures}, seed=SEED)
