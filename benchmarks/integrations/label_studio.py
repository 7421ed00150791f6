"""A session with a real Label Studio: tasks are pre-annotated, and corrections become decisions.

Both programs must run on this machine, with a key for the API of Label Studio in $LABEL_STUDIO_KEY:

    linker serve --model DIR --decisions FILE
    ML_BLOCK_LOCAL_IP=false SSRF_PROTECTION_ENABLED=false label-studio start --port 8081
    python benchmarks/integrations/label_studio.py NCBI_devel.pubtator.txt.gz
"""

from __future__ import annotations

import itertools
import os
from typing import Any

import click
import httpx

from linker.readers import mentions
from linker.types import Document

INTERFACE = """<View>
  <Labels name="mention" toName="text"><Label value="Disease"/></Labels>
  <Text name="text" value="$text"/>
  <TextArea name="concept" toName="text" perRegion="true" editable="true"/>
</View>"""


class Studio:
    """The API of a Label Studio, with one new project."""

    def __init__(self, address: str, key: str) -> None:
        headers = {"Authorization": f"Token {key}"}
        self._client = httpx.Client(base_url=address, headers=headers, timeout=120)
        self.project = self.call(
            "POST", "/api/projects", json={"title": "Diseases", "label_config": INTERFACE}
        )["id"]

    def call(self, method: str, path: str, **options: Any) -> Any:
        """What a route answers."""
        answer = self._client.request(method, path, **options)
        if answer.is_error:
            raise click.ClickException(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    def predict(self) -> dict[int, dict[str, Any]]:
        """Let the tasks be predicted; the latest prediction of each."""
        options = {"id": "retrieve_tasks_predictions", "project": self.project}
        everything = {"selectedItems": {"all": True, "excluded": []}}
        self.call("POST", "/api/dm/actions", params=options, json=everything)
        predictions = self.call("GET", "/api/predictions", params={"project": self.project})
        return {p["task"]: p for p in sorted(predictions, key=lambda p: p["id"])}

    def submit(self, prediction: dict[str, Any], result: list[dict[str, Any]]) -> int:
        """Submit a result as the annotation of a task; its id."""
        body = {"result": result, "parent_prediction": prediction["id"]}
        path = f"/api/tasks/{prediction['task']}/annotations/"
        return int(self.call("POST", path, json=body)["id"])


def concepts(prediction: dict[str, Any]) -> list[tuple[str, str]]:
    """The words of each region that has ids, and these ids."""
    words = {r["id"]: r["value"]["text"] for r in prediction["result"] if r["type"] == "labels"}
    ids = ((r["id"], r["value"]["text"]) for r in prediction["result"] if r["type"] == "textarea")
    return [(words[region], "|".join(of_region)) for region, of_region in ids]


@click.command()
@click.argument("corpus", type=click.Path(exists=True))
@click.option("--linker", default="http://127.0.0.1:8080", help="Address of linker serve.")
@click.option("--studio", default="http://127.0.0.1:8081", help="Address of Label Studio.")
@click.option("--documents", default=20, help="Abstracts to annotate.")
@click.option("--instead", default="MESH:D009369", help="The id that a correction takes.")
def play(corpus: str, linker: str, studio: str, documents: int, instead: str) -> None:
    """Annotate abstracts of a CORPUS: confirm one, correct one, and look at what follows."""
    api = Studio(studio, os.environ["LABEL_STUDIO_KEY"])
    items = (item for item in mentions.read(corpus) if isinstance(item, Document))
    tasks = [
        {"data": {"document_id": item.id, "text": item.text}}
        for item in itertools.islice(items, documents)
    ]
    api.call("POST", f"/api/projects/{api.project}/import", json=tasks)
    backend = {"url": f"{linker}/label-studio", "project": api.project, "title": "linker"}
    print("connected:", api.call("POST", "/api/ml", json=backend)["readable_state"])

    predictions = api.predict()
    counts = [len(concepts(p)) for p in predictions.values()]
    print(f"{len(predictions)} tasks are predicted, with {sum(counts)} linked mentions")
    confirmed, corrected = [
        p for p, count in zip(predictions.values(), counts, strict=True) if count > 1
    ][:2]
    api.submit(confirmed, confirmed["result"])
    result = [dict(part) for part in corrected["result"]]
    change = next(part for part in result if part["type"] == "textarea")
    before = concepts(corrected)[0]
    change["value"] = change["value"] | {"text": [instead]}
    annotation = api.submit(corrected, result)
    print("corrected:", *before, "->", instead)
    shown(httpx.get(f"{linker}/decisions").json()["decisions"])

    after = api.predict()[corrected["task"]]
    print("predicted now:", *concepts(after)[0], "of", corrected["model_version"], "->", end=" ")
    print(after["model_version"])
    api.call("PATCH", f"/api/annotations/{annotation}/", json={"result": corrected["result"]})
    print("after the correction was taken back:")
    shown(httpx.get(f"{linker}/decisions").json()["decisions"])


def shown(decisions: list[dict[str, Any]]) -> None:
    """Print decisions, a line each."""
    for d in decisions:
        verdict = "accepted" if d["accepted"] else "rejected"
        print(
            " ", verdict, d["concept_id"], repr(d["mention"]), d["scope"], d["reviewer"], d["time"]
        )


if __name__ == "__main__":
    play()
