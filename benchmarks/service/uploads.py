"""The memory of linker serve while a large file becomes a project, and how long others wait.

While each file is sent, another person decides again and again. Then the service is stopped in the
midst of an upload, and workbooks are sent that unpack to a thousand times their size.

python benchmarks/service/uploads.py --model linker-model [--rows 200000]
"""

from __future__ import annotations

import io
import statistics
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.service.load import Server

PAUSE = 0.05  # seconds between two decisions
QUIET = 100  # decisions before a file is sent
BOMB = 500_000_000  # bytes to which a workbook unpacks


class Colleague:
    """Decides again and again, until it is left.

    Args:
        server: the service.
        key: of the row of project 1 that is decided.
    """

    def __init__(self, server: Server, key: str) -> None:
        self._server, self._key = server, key
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._decide)
        self.waits = list[float]()  # seconds
        self.refused = 0  # decisions

    def __enter__(self) -> Colleague:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _decide(self) -> None:
        with httpx.Client(base_url=self._server.url, timeout=300) as client:
            while not self._is_over.wait(PAUSE):
                start = time.perf_counter()
                self.refused += decide(client, self._key).status_code != 201
                self.waits.append(time.perf_counter() - start)


def decide(client: httpx.Client, key: str) -> httpx.Response:
    """Decide on a row of project 1."""
    body = {"reviewer": "Ada", "decisions": [{"key": key, "concept_id": None}]}
    return client.post("/projects/1/decisions", json=body)


def names(rows: int) -> Iterator[str]:
    """Different names, one for each row."""
    for number in range(rows):
        yield f"breast cancer type {number}"


def listed(rows: int) -> bytes:
    """A list of names."""
    return "\n".join(names(rows)).encode()


def table(rows: int) -> bytes:
    """A table with four columns in which each row is different."""
    lines = (f"{n},{name},ward {n % 7},seen in {n}" for n, name in enumerate(names(rows)))
    return "\n".join(["patient,mention,ward,remark", *lines]).encode()


def bombs() -> dict[str, bytes]:
    """Workbooks that unpack to much."""
    import openpyxl

    empty = io.BytesIO()
    openpyxl.Workbook().save(empty)
    start = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    )
    start_of_texts = b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    contents = {
        "many rows": ("xl/worksheets/sheet1.xml", start, b"<row/>"),
        "many cells": ("xl/worksheets/sheet1.xml", start + b"<row>", b"<c/>"),
        "many texts": ("xl/sharedStrings.xml", start_of_texts, b"<si><t/></si>"),
    }
    made = {}
    for name, (part, begin, repeated) in contents.items():
        packed = io.BytesIO()
        with (
            zipfile.ZipFile(empty) as old,
            zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new,
        ):
            for entry in old.namelist():
                if entry != part:
                    new.writestr(entry, old.read(entry))
            with new.open(part, "w") as file:
                file.write(begin)
                block = repeated * (1_000_000 // len(repeated))
                for _ in range(BOMB // len(block)):
                    file.write(block)
        made[name] = packed.getvalue()
    return made


def ms(seconds: list[float]) -> dict[str, float]:
    """Figures of waits, in milliseconds; none where nobody waited."""
    if not seconds:
        return {}
    ordered = sorted(seconds)
    at_99 = ordered[int(len(ordered) * 0.99)]
    in_ms = {"median": statistics.median(ordered), "p99": at_99, "longest": ordered[-1]}
    return {name: round(1000 * value, 1) for name, value in in_ms.items()}


def send(server: Server, content: bytes, file: str) -> tuple[float, httpx.Response]:
    """Send a file as a project; the seconds until it is answered."""
    start = time.perf_counter()
    query = {"file": file, "column": "mention"} if file.endswith(".csv") else {"file": file}
    answer = httpx.post(f"{server.url}/projects", params=query, content=content, timeout=600)
    return time.perf_counter() - start, answer


def begun(server: Server) -> str:
    """Make a small project; the key of a row of it."""
    send(server, b"gout\nasthma\nbreast cancer\n", "small.txt")
    while httpx.get(f"{server.url}/projects/1").json()["linked"] < 1:
        time.sleep(PAUSE)
    rows = httpx.get(f"{server.url}/projects/1/queue").json()["rows"]
    return str(rows[0]["key"])


def uploaded(server: Server, key: str, content: bytes, file: str, after: float) -> dict[str, Any]:
    """What a file does to a service.

    Args:
        server: the service.
        key: of the row that others decide on.
        content: of the file.
        file: its name.
        after: seconds for which the service is looked at when it has answered.
    """
    with Colleague(server, key) as quiet:
        while len(quiet.waits) < QUIET:
            time.sleep(PAUSE)
    before = server.held("VmRSS")
    with Colleague(server, key) as beside:
        seconds, answer = send(server, content, file)
        taken, beside_upload = server.held("VmHWM"), max(1, len(beside.waits))
        if answer.status_code == 201:
            project = answer.json()["id"]
            until = time.perf_counter() + after
            while time.perf_counter() < until:
                httpx.get(f"{server.url}/projects/{project}/queue", timeout=600)
                time.sleep(1)
    return {
        "status": answer.status_code,
        "answer": answer.json().get("error", ""),
        "mb": round(len(content) / 1e6, 1),
        "seconds": round(seconds, 1),
        "memory_before_mb": round(before, 1),
        "memory_of_upload_mb": round(taken - before, 1),
        "memory_peak_mb": round(server.held("VmHWM"), 1),
        "decision_before_ms": ms(quiet.waits),
        "decision_beside_upload_ms": ms(beside.waits[:beside_upload]),
        "decision_ms": ms(beside.waits),
        "decisions_refused": beside.refused,
    }


def stopped(model: str, content: bytes, delay: float) -> dict[str, Any]:
    """Stop a service in the midst of an upload, and look for what is left of it."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(model, "--decisions", f"{folder}/decisions.sqlite")
        sending = threading.Thread(target=lambda: send(server, content, "list.txt"))
        sending.start()
        time.sleep(delay)
        start = time.perf_counter()
        server.end()
        seconds = time.perf_counter() - start
        sending.join()
        server.start()
        projects = httpx.get(f"{server.url}/projects", timeout=60).json()["projects"]
        server.end()
    return {"seconds_to_stop": round(seconds, 1), "projects_left": len(projects)}


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--model", required=True, metavar="DIR")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--more", type=int, default=1_000_000, help="rows beyond the limit")
    parser.add_argument("--after", type=float, default=60, help="seconds to look at after each")
    parser.add_argument("--print", action="store_true", help="keep no result")
    options = parser.parse_args()
    figures: dict[str, Any] = {"rows": options.rows, "beyond": options.more}
    contents = {
        "list": (listed(options.rows), "list.txt"),
        "table": (table(options.rows), "table.csv"),
        "list_beyond": (listed(options.more), "long.txt"),
    }
    for name, (content, file) in contents.items():
        with tempfile.TemporaryDirectory() as folder:
            server = Server(options.model, "--decisions", f"{folder}/decisions.sqlite")
            key = begun(server)
            figures[name] = uploaded(server, key, content, file, options.after)
            server.end()
        print(name, figures[name], file=sys.stderr)
    figures["stopped"] = stopped(options.model, listed(options.rows), 2.0)
    print(figures["stopped"], file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(options.model, "--decisions", f"{folder}/decisions.sqlite")
        key = begun(server)
        for name, content in bombs().items():
            figures[name] = uploaded(server, key, content, "bomb.xlsx", 0)
            print(name, figures[name], file=sys.stderr)
        server.end()
    if not options.print:
        results.save("uploads", figures)
