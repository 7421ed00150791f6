"""The column of `openrefine.py` in a project of a real OpenRefine, which runs on this machine.

python benchmarks/service/openrefine_project.py [--openrefine http://127.0.0.1:3333]

Writes results/openrefine_project.json. OpenRefine (Debian has it: `apt-get install openrefine`)
makes a project of the mentions, guesses the types of the column, reconciles it, and adds columns
from reconciled values, all by the commands that its own page sends.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import httpx

from benchmarks.accuracy.ranker_weights import trained
from benchmarks.lib import results
from benchmarks.lib.data import documents, medic
from benchmarks.service.openrefine import column, correctness, serving

NAME = "mention"
PROPERTIES = ("parents", "synonyms", "xrefs", "definition")


class OpenRefine:
    """The commands of a running OpenRefine, as its page sends them.

    Args:
        url: where it runs.
    """

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=f"{url}/command/core", timeout=120)
        self.version = self._client.get("/get-version").json()["version"]
        self.project = ""

    def _post(self, command: str, **fields: str) -> Any:
        token = self._client.get("/get-csrf-token").json()["token"]
        where = {"project": self.project, "csrf_token": token}
        response = self._client.post(f"/{command}", params=where, data={**fields, **where})
        content = response.json()
        assert content.get("code") != "error", content
        return content

    def create(self, cells: list[str]) -> None:
        """Make a project with one column."""
        token = self._client.get("/get-csrf-token").json()["token"]
        text = "\n".join([NAME, *cells])
        options = json.dumps({"separator": "\t", "processQuotes": False, "storeBlankRows": True})
        response = self._client.post(
            "/create-project-from-upload",
            params={"csrf_token": token},
            data={"project-name": "linker", "format": "text/line-based/*sv", "options": options},
            files={"project-file": ("mentions.tsv", text.encode(), "text/tab-separated-values")},
        )
        self.project = httpx.URL(response.headers["location"]).params["project"]

    def guess(self, service: str) -> list[Any]:
        """The types that it guesses for the column."""
        types: list[Any] = self._post("guess-types-of-column", columnName=NAME, service=service)[
            "types"
        ]
        return types

    def reconcile(self, service: str, manifest: dict[str, Any]) -> None:
        """Reconcile the column, and wait for the end."""
        config = {
            "mode": "standard-service",
            "service": service,
            "identifierSpace": manifest["identifierSpace"],
            "schemaSpace": manifest["schemaSpace"],
            "type": None,
            "autoMatch": True,
            "columnDetails": [],
            "limit": 0,
        }
        self._post("reconcile", columnName=NAME, config=json.dumps(config), engine=_ENGINE)
        self._wait()

    def extend(self, service: str, manifest: dict[str, Any]) -> None:
        """Add columns of properties beside the reconciled one."""
        extension = json.dumps({"properties": [{"id": name} for name in PROPERTIES]})
        self._post(
            "extend-data",
            engine=_ENGINE,
            baseColumnName=NAME,
            endpoint=service,
            identifierSpace=manifest["identifierSpace"],
            schemaSpace=manifest["schemaSpace"],
            columnInsertIndex="1",
            extension=extension,
        )
        self._wait()

    def rows(self) -> tuple[list[Any], dict[str, Any]]:
        """The rows of the project, and the reconciliations that their cells name."""
        content = self._post("get-rows", start="0", limit="100000", engine=_ENGINE)
        return content["rows"], content["pool"]["recons"]

    def delete(self) -> None:
        """Delete the project."""
        self._post("delete-project")

    def _wait(self) -> None:
        while self._client.get("/get-processes", params={"project": self.project}).json()[
            "processes"
        ]:
            time.sleep(0.2)


_ENGINE = json.dumps({"facets": [], "mode": "row-based"})


def main() -> None:
    parser = results.parser(__doc__)
    parser.add_argument("--openrefine", default="http://127.0.0.1:3333", help="where it runs")
    refine = OpenRefine(parser.parse_args().openrefine)
    linker = trained("ncbi", medic("2017"), "tfidf", documents("ncbi", "train"))
    cells = column()
    figures: dict[str, Any] = {"openrefine": refine.version}
    with serving(linker) as port:
        service = f"http://127.0.0.1:{port}/reconcile"
        manifest = httpx.get(service).json()
        refine.create(list(cells))
        figures["guessed_types"] = [entry["name"] for entry in refine.guess(service)][:3]
        start = time.perf_counter()
        refine.reconcile(service, manifest)
        figures["seconds_reconcile"] = round(time.perf_counter() - start, 2)
        rows, recons = refine.rows()
        answers = [_answer(row["cells"][0], recons) for row in rows]
        start = time.perf_counter()
        refine.extend(service, manifest)
        figures["seconds_extend"] = round(time.perf_counter() - start, 2)
        rows, _ = refine.rows()
        records = [
            row["cells"] for row in rows if row["cells"] and row["cells"][0]
        ]  # others hold further values
        figures["cells_with_fetched_values"] = sum(any(cells[1:]) for cells in records)
        figures["rows_with_fetched_values"] = len(rows)
        refine.delete()
    figures |= correctness(linker, list(cells.values()), answers)
    results.save("openrefine_project", figures)


def _answer(cell: Any, recons: dict[str, Any]) -> list[Any]:
    """The candidates of a cell, as the service gave them."""
    recon = recons[str(cell["r"])]
    matched = recon["j"] == "matched"
    candidates = [recon["m"]] if matched else recon.get("c", [])
    return [{"id": c["id"], "score": c["score"], "match": matched} for c in candidates]


if __name__ == "__main__":
    main()
