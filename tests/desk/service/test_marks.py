"""The documents of a project over HTTP, and marks by hand in them."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import pytest

from linker.io import bioc
from linker.io.files import OpenFile

from .conftest import Start

TITLE, ABSTRACT = "Ataxia telangiectasia", "Breast and ovarian cancer, no leukaemia. 𝒜 cure."
PUBTATOR = (
    f"7|t|{TITLE}\n7|a|{ABSTRACT}\n7\t0\t21\t{TITLE}\tDisease\tMESH:D001260\n"
    "7\t22\t47\tBreast and ovarian cancer\tDisease\n7\t63\t64\t𝒜\tChemical\n\n"
    "8|t|Two lymphomas\n8|a|\n8\t4\t13\tlymphomas\tDisease\n\n"
)
LEUKAEMIA = {"spans": [[52, 61]], "type": "Disease"}
BOTH = {"spans": [[22, 47]], "type": "Disease"}


class Documents:
    """The documents of a project."""

    def __init__(self, client: Any) -> None:
        self.client = client
        asked = {"name": "days", "file": "days.pubtator.txt"}
        made = client.post("/projects", params=asked, content=PUBTATOR.encode())
        assert made.status_code == 201, made.text
        self.path = f"/projects/{made.json()['id']}"
        self.wait()

    def wait(self) -> None:
        while self.client.get(self.path).json()["linked"] < 1:
            time.sleep(0.02)

    def get(self, number: int = 1) -> Any:
        return self.client.get(f"{self.path}/documents/{number}").json()

    def mark(self, *marks: Any, version: str | None = None, status: int = 201) -> Any:
        version = version or self.get()["marks_version"]
        body = {"reviewer": "Ada", "marks": marks, "version": version}
        answer = self.client.post(f"{self.path}/documents/1/marks", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def exported(self) -> dict[str, str]:
        """The files of all formats."""
        forms = ("own", "pubtator", "bioc", "jsonl", "tsv", "sssom")
        path = f"{self.path}/export"
        return {f: self.client.get(path, params={"format": f}).text for f in forms}

    def undo(self) -> Any:
        return self.client.post(f"{self.path}/undo", json={"reviewer": "Ada"}).json()


@pytest.fixture
def documents(start: Start) -> Documents:
    return Documents(start())


def shown(document: Any) -> list[tuple[str, str, str, list[str]]]:
    return [
        (m["text"], m["type"], m["origin"], [a and a["concept_id"] for a in m["answers"]])
        for m in document["mentions"]
    ]


FIRST = [
    (TITLE, "Disease", "file", ["MESH:D001260"]),
    ("Breast and ovarian cancer", "Disease", "file", ["MESH:D001943", "MESH:D010051"]),
    ("𝒜", "Chemical", "file", [None]),
]


def test_a_document_has_its_text_and_answers(documents: Documents) -> None:
    document = documents.get()
    assert document["text"] == f"{TITLE} {ABSTRACT}"
    assert document["passages"] == [[0, 21], [22, 70]]
    assert shown(document) == FIRST
    assert [m["parts"] for m in document["mentions"]] == [
        [],
        ["Breast cancer", "ovarian cancer"],
        [],
    ]
    assert document["mentions"][2]["state"] == "not linked"  # a chemical is no disease
    assert (document["types"], document["type"]) == (["Chemical", "Disease"], "Disease")
    assert documents.client.get(f"{documents.path}/documents/3").status_code == 404


def test_a_marked_mention_is_linked_decided_and_undone(documents: Documents) -> None:
    marked = documents.mark({"action": "add", "after": LEUKAEMIA})
    added = marked["mentions"][2]
    assert shown(marked)[2] == ("leukaemia", "Disease", "hand", ["MESH:D007938"])
    decision = {"key": added["key"], "concept_id": "MESH:D007938"}
    said = documents.client.post(
        f"{documents.path}/decisions", json={"reviewer": "Ada", "decisions": [decision]}
    )
    assert said.status_code == 201, said.text
    assert documents.get()["mentions"][2]["state"] == "accepted"
    assert documents.undo()["words"] == "leukaemia: MESH:D007938"
    undone = documents.undo()
    assert undone["words"] == "marked “leukaemia”"
    assert undone["summary"]["mentions"] == 3
    assert shown(documents.get()) == FIRST


def test_an_undo_does_not_take_what_others_went_on_from(documents: Documents) -> None:
    documents.mark({"action": "add", "after": LEUKAEMIA})
    longer = {"spans": [[LEUKAEMIA["spans"][0][0], LEUKAEMIA["spans"][0][1] + 4]]}
    change = {"action": "change", "before": LEUKAEMIA, "after": LEUKAEMIA | longer}
    body = {"reviewer": "Bob", "marks": [change], "version": documents.get()["marks_version"]}
    path = f"{documents.path}/documents/1/marks"
    documents.client.post(path, json=body).raise_for_status()
    before = shown(documents.get())
    refused = documents.client.post(f"{documents.path}/undo", json={"reviewer": "Ada"})
    assert refused.status_code == 409
    assert "Bob has gone on from this: it is 'leukaemia" in refused.json()["error"]
    assert shown(documents.get()) == before


def test_exports_carry_marks(documents: Documents) -> None:
    breast = {"spans": [[22, 28], [41, 47]], "type": "Disease"}
    documents.mark(
        {"action": "delete", "before": {"spans": [[0, 21]], "type": "Disease"}},
        {"action": "change", "before": BOTH, "after": breast},
        {"action": "add", "after": LEUKAEMIA},
    )
    files = {
        form: documents.client.get(f"{documents.path}/export", params={"format": form})
        for form in ("own", "pubtator", "bioc", "jsonl")
    }
    lines = files["pubtator"].text.split("\n")
    assert [line.split("\t")[1:6] for line in lines if line.startswith("7\t")] == [
        ["22", "47", "Breast and ovarian cancer", "Disease", "MESH:D001943"],  # the whole stretch
        ["52", "61", "leukaemia", "Disease", "MESH:D007938"],
        ["63", "64", "𝒜", "Chemical"],
    ]
    assert files["own"].text == files["pubtator"].text
    (first, _) = bioc.read(OpenFile(io.BytesIO(files["bioc"].content), "days.xml"))
    assert [(m.text, m.spans, m.metadata.get("marked_by")) for m in first.mentions] == [
        ("Breast cancer", ((22, 28), (41, 47)), "Ada"),
        ("leukaemia", ((52, 61),), "Ada"),
        ("𝒜", ((63, 64),), None),
    ]
    predicted = [json.loads(line) for line in files["jsonl"].text.splitlines()]
    assert [p["mention"] for p in predicted] == ["Breast cancer", "leukaemia", "lymphomas"]
