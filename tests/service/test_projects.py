"""Projects by HTTP: a file in, a queue of equal mentions, decisions at once, undo."""

from __future__ import annotations

import csv
import io
import sqlite3
import time
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from linker.linking import decided as applying
from linker.outputs import bioc, jsonl, pubtator, sssom
from linker.projects import exporting
from linker.service import workbench

from .conftest import Start

TABLE = "mention,ward\nA-T,1\nbreast cancer,2\nA-T,3\nataxia telangiectasia,4\nzzzz qqqq,5\n,6\n"
PUBTATOR = (
    "7|t|Ataxia telangiectasia (AT) and aspirin\n7|a|AT was seen, and breast cancer.\n"
    "7\t0\t21\tAtaxia telangiectasia\tDisease\tMESH:D001260\n"
    "7\t23\t25\tAT\tDisease\n7\t31\t38\taspirin\tChemical\n7\t39\t41\tAT\tDisease\n"
    "7\t56\t69\tbreast cancer\tDisease\n\n"
    "8|t|On breast cancer\n8|a|Here.\n8\t3\t16\tbreast cancer\tDisease\n\n"
)


def create(client: Any, content: str, file: str = "list.csv", **query: str) -> Any:
    answer = client.post("/projects", params={"file": file, **query}, content=content.encode())
    assert answer.status_code == 201, answer.text
    return linked(client, answer.json()["id"])


def linked(client: Any, number: int) -> Any:
    """The project once all of it is linked."""
    for _ in range(200):
        project = client.get(f"/projects/{number}").json()
        if project["linked"] == 1:
            return project
        time.sleep(0.02)
    raise AssertionError("it was not linked")


def queue(client: Any, number: int, **query: Any) -> Any:
    answer = client.get(f"/projects/{number}/queue", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def decide(client: Any, number: int, key: str, concept: str | None, **fields: Any) -> Any:
    record = {"key": key, "concept_id": concept} | fields
    body = {"reviewer": "Ada", "decisions": [record]}
    answer = client.post(f"/projects/{number}/decisions", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_equal_mentions_of_a_table_are_one_row(client: Any) -> None:
    project = create(client, TABLE, name="wards")
    assert (project["name"], project["kind"], project["mentions"]) == ("wards", "table", 5)
    assert project["groups"] == 4
    page = queue(client, project["id"], sort="document")
    assert [(r["mention"], r["count"]) for r in page["rows"]] == [
        ("A-T", 2),
        ("breast cancer", 1),
        ("ataxia telangiectasia", 1),
        ("zzzz qqqq", 1),
    ]
    assert (page["total"], page["mentions"]) == (4, 5)
    assert page["rows"][1]["answers"][0]["concept_id"] == "MESH:D001943"
    assert page["rows"][0]["first"]["row"] == 2
    group = client.get(f"/projects/{project['id']}/groups/{page['rows'][0]['key']}").json()
    assert [place["cells"] for place in group["places"]] == [
        {"mention": "A-T", "ward": "1"},
        {"mention": "A-T", "ward": "3"},
    ]
    assert len(group["prediction"]["parts"][0]["candidates"]) > 1


def test_a_decision_holds_and_is_undone(client: Any) -> None:
    project = create(client, TABLE)["id"]
    key = queue(client, project, sort="document")["rows"][0]["key"]
    said = decide(client, project, key, "MESH:D001260")
    assert [row["state"] for row in said["rows"]] == ["accepted"]
    assert said["summary"]["states"]["accepted"] == 2
    assert client.get("/projects").json()["projects"][0]["decided"] == 2
    (stored,) = client.get("/decisions").json()["decisions"]
    assert (stored["mention"], stored["scope"]) == ("A-T", "")
    undone = client.post(f"/projects/{project}/undo", json={"reviewer": "Ada"}).json()
    assert undone["words"] == "A-T: MESH:D001260"
    assert [row["state"] for row in undone["rows"]] == ["model"]
    assert client.post(f"/projects/{project}/undo", json={"reviewer": "Ada"}).status_code == 404


def test_documents_have_short_forms_types_and_decisions_of_one_document(client: Any) -> None:
    project = create(client, PUBTATOR, "some.txt", type="Disease")
    assert (project["kind"], project["documents"]) == ("documents", 2)
    assert project["states"] == {"model": 5, "not linked": 1}
    rows = queue(client, project["id"], sort="document")["rows"]
    assert [(r["mention"], r["expanded"], r["count"]) for r in rows] == [
        ("Ataxia telangiectasia", None, 1),
        ("AT", "Ataxia telangiectasia", 2),
        ("breast cancer", None, 2),
    ]
    chemicals = queue(client, project["id"], type="Chemical")["rows"]
    assert [(r["mention"], r["state"]) for r in chemicals] == [("aspirin", "not linked")]
    said = decide(client, project["id"], rows[2]["key"], None, here=True, document=2)
    assert [(r["key"], r["state"]) for r in said["rows"]] == [
        (rows[2]["key"], "model"),
        (f"{rows[2]['key']}@2", "no concept"),
    ]
    assert said["decisions"][0]["scope"] == "8"
    said = decide(client, project["id"], rows[1]["key"], "MESH:D001260")
    assert said["decisions"][0]["mention"] == "Ataxia telangiectasia"
    assert {row["mention"] for row in said["rows"] if row["state"] == "accepted"} == {
        "Ataxia telangiectasia",
        "AT",
    }


def test_answers_are_accepted_in_bulk(client: Any) -> None:
    project = create(client, TABLE)["id"]
    told = client.get(f"/projects/{project}/accept", params={"above": 0.5}).json()
    body = {"reviewer": "Ada", "filter": {"above": 0.5}, "version": told["version"]}
    said = client.post(f"/projects/{project}/accept", json=body).json()
    assert (said["accepted"], said["mentions"]) == (told["groups"], told["mentions"])
    assert said["summary"]["states"]["accepted"] == told["mentions"]
    assert {row["bulk"] for row in queue(client, project, show="in-bulk")["rows"]} == {True}
    assert client.post(f"/projects/{project}/accept", json=body).status_code == 409
    assert queue(client, project, show="undecided")["total"] == 4 - told["groups"]
    client.post(f"/projects/{project}/undo", json={"reviewer": "Ada"})
    assert queue(client, project, show="undecided")["total"] == 4


def test_in_bulk_only_what_was_counted_is_decided(client: Any) -> None:
    text = "7|t|Breast cancer (BC), BC and breast cancer\n7|a|\n"
    places = ((0, 13, "Breast cancer"), (15, 17, "BC"), (20, 22, "BC"), (27, 40, "breast cancer"))
    lines = "".join(f"7\t{start}\t{end}\t{name}\tDisease\n" for start, end, name in places)
    project = create(client, f"{text}{lines}", "a.txt")["id"]
    found = {r["mention"]: (r["count"], r["confidence"]) for r in queue(client, project)["rows"]}
    (long, least), (short, most) = found["Breast cancer"], found["BC"]
    assert (long, short) == (2, 2)
    assert least < most

    def counted(**wanted: Any) -> tuple[int, int]:
        told = client.get(f"/projects/{project}/accept", params=wanted).json()
        return told["groups"], told["mentions"]

    assert counted(above=least) == (2, 4)
    # a decision on the long form, which these leave out, is one on the short form, too
    assert counted(above=most) == counted(q="bc") == (0, 0)


def test_what_was_rejected_and_accepted_in_bulk_is_as_sure_as_the_model(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "SURE", 0.0)  # another candidate answers, whatever it has
    project = create(client, "mention\nretina tumor\nleukaemia\n")["id"]
    key = queue(client, project, sort="document")["rows"][0]["key"]
    decide(client, project, key, "MESH:D012164", accepted=False)
    before = queue(client, project, sort="document")["rows"][0]
    assert before["state"] == "rejected"
    body = {"reviewer": "Bob", "filter": {}}
    assert client.post(f"/projects/{project}/accept", json=body).json()["mentions"] == 2
    after = queue(client, project, sort="document")["rows"][0]
    assert (after["state"], after["bulk"]) == ("accepted", True)
    assert after["answers"] == before["answers"]
    assert after["answers"][0]["concept_id"] == "MESH:D009369"


def test_texts_of_one_name_have_ids_of_their_own(client: Any) -> None:
    text = "No gout here. It was lymphoma, they said, of the old kind."
    first = create(client, text, "note.txt")["id"]
    more = {"file": "note.txt", "name": "b"}
    other = client.post("/projects", params=more, content=b"Another patient. He had leukaemia.")
    other_id = f"note-{zlib.crc32(b'Another patient. He had leukaemia.'):08x}"
    said = f"another text of this name; this one has the id {other_id!r}"
    assert other.json()["notes"] == [f"the project 'note' has {said}"]
    second = linked(client, other.json()["id"])["id"]
    (row,) = queue(client, second)["rows"]
    assert row["first"]["document_id"] == other_id
    # a decision in a text outlives its project, and is not on another text of its name
    row, *_ = queue(client, first)["rows"]
    decide(client, first, row["key"], None, here=True)
    client.delete(f"/projects/{first}"), client.delete(f"/projects/{second}")
    other = client.post("/projects", params=more, content=b"Another patient. He had leukaemia.")
    gone = "decisions were made in a text of this name that is gone, perhaps another one"
    assert other.json()["notes"] == [f"{gone}; this one has the id {other_id!r}"]
    more = {"file": "more.txt", "name": "c"}
    third = client.post("/projects", params=more, content=PUBTATOR.encode()).json()["id"]
    changed = PUBTATOR.replace("was seen", "is there")
    address, asked = f"/projects/{third}/sources", {"file": "again.txt"}
    said = "the project 'c' has other texts with ids of 1 of these documents, such as '7'"
    notes = client.post(address, params=asked, content=changed.encode()).json()["notes"]
    assert notes[0] == "documents that the project has already, which were not added: 1"
    assert [note[: len(said)] for note in notes[1:]] == [said]


def test_a_project_in_the_list_is_as_far_as_its_page_says(client: Any) -> None:
    project = create(client, TABLE)["id"]
    rows = queue(client, project, sort="document")["rows"]
    for reviewer, row, concept in (
        ("Ada", rows[0], "MESH:D001260"),  # A-T, twice
        ("Ada", rows[1], "MESH:D001943"),
        ("Bob", rows[1], None),  # disputed
        ("Ada", rows[3], None),
    ):
        said = {"key": row["key"], "concept_id": concept}
        body = {"reviewer": reviewer, "decisions": [said]}
        client.post(f"/projects/{project}/decisions", json=body)
    decided = client.get(f"/projects/{project}").json()["decided"]
    (listed,) = client.get("/projects").json()["projects"]
    assert (decided, listed["decided"]) == (3, 3)


def test_a_workbook_that_packs_well_goes_out_again(client: Any) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book, file = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["mention", "ward"])
    for _ in range(3_000):
        book.active.append(["breast cancer", "the same ward for all of them"])
    book.save(file)
    query = {"file": "a.xlsx", "column": "mention"}
    made = client.post("/projects", params=query, content=file.getvalue()).json()
    linked(client, made["id"])
    exported = client.get(f"/projects/{made['id']}/export")
    assert exported.status_code == 200
    assert openpyxl.load_workbook(io.BytesIO(exported.content)).active.max_row == 3_001


def test_the_first_request_to_a_new_process_may_be_a_decision(start: Start) -> None:
    project = create(start(), TABLE)["id"]
    client = start()
    with client.service.store.reading() as connection:
        (key,) = connection.execute("SELECT max(id) FROM mentions").fetchone()
    assert decide(client, project, str(key), None)["summary"]["decided"] == 1


def test_many_decisions_are_one_step(client: Any) -> None:
    project = create(client, TABLE)["id"]
    rows = queue(client, project, sort="document")["rows"]
    said = [{"key": row["key"], "concept_id": "MESH:D001943"} for row in rows]
    body = {"reviewer": "Ada", "decisions": [*said, said[0]]}
    added = client.post(f"/projects/{project}/decisions", json=body).json()
    assert {d["step"] for d in added["decisions"]} == {added["step"]}
    ids = [d["id"] for d in added["decisions"]]
    assert ids == list(range(ids[0], ids[0] + 5))
    assert added["summary"]["decided"] == 5
    undone = client.post(f"/projects/{project}/undo", json={"reviewer": "Ada"}).json()
    assert undone["summary"]["decided"] == 0


def test_what_was_decided_elsewhere_is_told(client: Any) -> None:
    first = create(client, TABLE)["id"]
    rows = queue(client, first, sort="document")["rows"]
    decide(client, first, rows[0]["key"], "MESH:D001260")  # A-T, twice
    body = {"reviewer": "Ada", "filter": {"above": 0.5}}
    assert client.post(f"/projects/{first}/accept", json=body).json()["mentions"] == 2

    def told(project: int) -> tuple[int, int, int]:
        said = client.get(f"/projects/{project}").json()
        in_bulk = queue(client, project, show="in-bulk")["total"]
        return said["decided"], said["decided_elsewhere"], in_bulk

    second = create(client, TABLE, "again.csv")["id"]
    assert (told(first), told(second)) == ((4, 0, 2), (4, 4, 2))
    key = queue(client, second, q="breast")["rows"][0]["key"]
    decide(client, second, key, "MESH:D001943")  # which somebody looked at now
    assert (told(first), told(second)) == ((4, 1, 1), (4, 3, 1))


def test_texts_without_marks_are_searched(client: Any) -> None:
    text = "He had breast cancer. Later, ataxia telangiectasia was found."
    project = create(client, text, "note.txt")
    rows = queue(client, project["id"], sort="document")["rows"]
    assert [row["mention"] for row in rows] == ["breast cancer", "ataxia telangiectasia"]
    assert project["type"] == "Disease"  # since the dictionary is of diseases
    assert {row["type"] for row in rows} == {"Disease"}
    place = client.get(f"/projects/{project['id']}/groups/{rows[0]['key']}").json()["places"][0]
    assert (place["before"], place["text"]) == ("He had ", "breast cancer")


def test_what_the_file_says_stands_beside_the_answer(client: Any) -> None:
    text = "7|t|Breast cancer, leukaemia, zzzzz and A-T\n7|a|\n"
    places = (
        (0, 13, "Breast cancer", "\tD001943"),
        (15, 24, "leukaemia", "\tMESH:D001260+MESH:D9"),
        (26, 31, "zzzzz", "\t-1"),
        (36, 39, "A-T", ""),
    )
    lines = "".join(f"7\t{start}\t{end}\t{n}\tDisease{i}\n" for start, end, n, i in places)
    more = "8|t|Breast cancer\n8|a|\n8\t0\t13\tBreast cancer\tDisease\tMESH:D1\n"
    project = create(client, f"{text}{lines}\n{more}", "a.txt")["id"]
    assert client.get(f"/projects/{project}").json()["has_ids"]
    rows = queue(client, project, sort="document")["rows"]
    answers = [[a and a["concept_id"] for a in row["answers"]] for row in rows]
    assert answers == [["MESH:D001943"], ["MESH:D007938"], [None], ["MESH:D001260"]]
    assert [row["differs"] for row in rows] == [True, True, False, False]
    assert [
        r["mention"] for r in queue(client, project, show="differs", sort="document")["rows"]
    ] == [*("Breast cancer", "leukaemia")]

    def said(row: dict[str, Any]) -> list[tuple[int, bool, list[list[tuple[str, str]]]]]:
        group = client.get(f"/projects/{project}/groups/{row['key']}").json()
        return [
            (s["count"], s["differs"], [[(*c.values(),) for c in part] for part in s["parts"]])
            for s in group["file"]
        ]

    breast, other = ("MESH:D001943", "Breast Neoplasms"), ("MESH:D1", "")
    assert said(rows[0]) == [(1, False, [[breast]]), (1, True, [[other]])]
    together = [("MESH:D001260", "Ataxia Telangiectasia"), ("MESH:D9", "")]
    assert said(rows[1]) == [(1, True, [together])]
    assert (said(rows[2]), said(rows[3])) == ([(1, False, [])], [])
    decide(client, project, rows[0]["key"], "MESH:D007938", document=2, here=True)
    first, second = queue(client, project, q="breast cancer", sort="document")["rows"][:2]
    assert [row["differs"] for row in (first, second)] == [False, True]  # each in its document
    assert said(second) == [(1, True, [[other]])]


def test_remarks_flag_and_note(client: Any) -> None:
    project = create(client, TABLE)["id"]
    key = queue(client, project)["rows"][0]["key"]
    for kind, value in (("flag", "1"), ("note", "ask Bob")):
        body = {"reviewer": "Ada", "key": key, "kind": kind, "value": value}
        assert client.post(f"/projects/{project}/remarks", json=body).status_code == 201
    (row,) = queue(client, project, show="flagged")["rows"]
    assert (row["key"], row["flag"], row["note"]) == (key, True, "ask Bob")

    def acceptable(**wanted: Any) -> int:
        told = client.get(f"/projects/{project}/accept", params=wanted).json()
        return int(told["groups"])

    assert (acceptable(), acceptable(show="flagged")) == (2, 1)  # one has no answer
    client.post(f"/projects/{project}/undo", json={"reviewer": "Ada"})
    (row,) = queue(client, project, show="flagged")["rows"]
    assert row["note"] == ""


def test_no_note_of_others_is_replaced_unseen(client: Any) -> None:
    project = create(client, TABLE)["id"]
    key = queue(client, project)["rows"][0]["key"]

    def note(reviewer: str, value: str, **before: str | None) -> Any:
        body = {"reviewer": reviewer, "key": key, "kind": "note", "value": value}
        return client.post(f"/projects/{project}/remarks", json=body | before)

    assert note("Ada", "see chart 7", before="").status_code == 201
    refused = note("Bob", "ask Eve", before="")
    assert refused.status_code == 409
    said = "the note is now 'see chart 7', by Ada; yours was not kept"
    assert refused.json() == {"error": said, "where": "before", "now": "see chart 7"}
    assert queue(client, project)["rows"][0]["note"] == "see chart 7"
    assert note("Bob", "see chart 7", before="").status_code == 201  # is what he wants
    assert note("Bob", "", before="see chart 7").status_code == 201
    assert "is now gone; yours was" in note("Ada", "or 8", before="see chart 7").json()["error"]
    client.post(f"/projects/{project}/undo", json={"reviewer": "Bob"})
    assert note("Ada", "or 8", before="see chart 7").status_code == 201
    assert note("Bob", "ask Eve").status_code == 201  # who does not say what was shown


@pytest.mark.parametrize(
    ("content", "file", "query", "status", "said"),
    [
        ("a,b\n1,2\n", "x.csv", {}, 422, "name the column"),
        ("a,b\n,2\n", "x.csv", {"column": "a"}, 422, "the column 'a' is empty"),
        (TABLE, "x.csv", {"column": "z"}, 422, "there is no column 'z'"),
        ("", "x.txt", {}, 422, "holds no mentions"),
        (TABLE, "x.csv", {"name": "taken"}, 409, "there is a project 'taken' already"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    client: Any, content: str, file: str, query: dict[str, str], status: int, said: str
) -> None:
    create(client, "fever\n", "one.txt", name="taken")
    answer = client.post("/projects", params={"file": file, **query}, content=content.encode())
    assert (answer.status_code, said in answer.json()["error"]) == (status, True), answer.text


def test_a_project_is_deleted_and_decisions_stay(client: Any) -> None:
    project = create(client, TABLE)["id"]
    key = queue(client, project)["rows"][0]["key"]
    decide(client, project, key, "MESH:D001260")
    assert client.delete(f"/projects/{project}").json() == {"deleted": True}
    assert client.get(f"/projects/{project}").status_code == 404
    assert client.get("/projects").json() == {"projects": []}
    assert len(client.get("/decisions").json()["decisions"]) == 1


def export(client: Any, number: int, form: str = "own") -> Any:
    answer = client.get(f"/projects/{number}/export", params={"format": form})
    assert answer.status_code == 200, answer.text
    return answer


def test_a_table_comes_out_as_it_came_in_with_what_became_of_it(client: Any) -> None:
    came = "﻿mention;ward\r\nA-T;Köln\r\n;2\r\nbreast cancer;3\r\n"
    project = create(client, came, "wards.csv")["id"]
    rows = queue(client, project, sort="document")["rows"]
    decide(client, project, rows[0]["key"], "MESH:D001260")
    body = {"reviewer": "Ada", "key": rows[1]["key"], "kind": "note", "value": "ask"}
    client.post(f"/projects/{project}/remarks", json=body)
    answer = export(client, project)
    assert answer.headers["content-disposition"].endswith("wards.reviewed.csv")
    header, first, empty, second = answer.content.decode().split("\r\n")[:4]
    assert header == (
        "﻿mention;ward;concept_id;name;matched_name;confidence;rejected;assertion;state (fill in);source;"
        "reviewer;time;decisions;predicate (fill in);flag (fill in);note (fill in)"
    )
    assert first.startswith("A-T;Köln;MESH:D001260;Ataxia Telangiectasia;")
    assert ";accepted;decision;Ada;" in first
    assert empty == ";2" + 14 * ";"
    assert second.startswith("breast cancer;3;MESH:D001943;")
    assert second.endswith(";model;;;;;;;ask")


def test_documents_come_out_in_their_format_and_others(client: Any) -> None:
    project = create(client, PUBTATOR, "some.pubtator.txt")["id"]
    rows = queue(client, project, sort="document", type="Disease")["rows"]
    decide(client, project, rows[2]["key"], None, here=True, document=2)
    lines = export(client, project).text.split("\n")
    assert lines[4] == "7\t31\t38\taspirin\tChemical"
    assert lines[3].startswith("7\t23\t25\tAT\tDisease\tMESH:D001260\t0.")
    assert lines[6].startswith("7\t56\t69\tbreast cancer\tDisease\tMESH:D001943\t0.")
    of_document = next(line for line in lines if line.startswith("8\t3"))
    assert "\t-1\t" in of_document
    assert "no concept [{" in of_document
    for form in ("bioc", "jsonl", "tsv", "sssom"):
        assert "MESH:D001943" in export(client, project, form).text
    assert export(client, project, "decisions").text.count("\n") == 2
    log = export(client, project, "log").text
    assert "breast cancer: no concept" in log


@pytest.mark.parametrize("form", ["own", "bioc", "tsv", "jsonl", "sssom"])
def test_answers_are_written_as_they_are_read(
    client: Any, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """All answers of one long text together took gigabytes."""
    project = create(client, PUBTATOR, "some.pubtator.txt")["id"]
    whole = export(client, project, form).text
    held = most = 0

    def made(self: Any, *args: Any) -> Any:
        nonlocal held, most
        held += 1
        most = max(most, held)
        return prediction(self, *args)

    def counted(written: Any) -> Any:
        def write(*args: Any) -> Any:
            nonlocal held
            held = 0
            return written(*args)

        return write

    prediction = exporting.Exporter._prediction
    monkeypatch.setattr(exporting.Exporter, "_prediction", made)
    for module, name in (
        (bioc, "_annotation"),
        (pubtator, "_annotation"),
        (exporting.Exporter, "_cells"),
        (jsonl, "item"),
        (sssom, "item"),
    ):
        monkeypatch.setattr(module, name, counted(getattr(module, name)))
    assert export(client, project, form).text == whole
    assert 0 < most <= 3


def test_ids_of_a_file_stay_until_somebody_looked_at_the_answer(client: Any) -> None:
    content = PUBTATOR.replace("breast cancer\tDisease", "breast cancer\tDisease\tD000001")
    project = create(client, content, "some.pubtator.txt")["id"]
    own = "7\t56\t69\tbreast cancer\tDisease\tD000001\n"
    assert own in export(client, project).text
    assert "MESH:D001943" in export(client, project, "tsv").text
    numbers = client.get(f"/projects/{project}/accept", params={"type": "Disease"}).json()
    body = {"version": numbers["version"], "reviewer": "Ada"}
    client.post(f"/projects/{project}/accept", json=body | {"filter": {"type": "Disease"}})
    assert "accepted" in export(client, project, "tsv").text
    assert own in export(client, project).text
    rows = queue(client, project, sort="document", type="Disease", show="all")["rows"]
    key = next(row["key"] for row in rows if row["mention"] == "breast cancer")
    decide(client, project, key, "MESH:D001943")
    text = export(client, project).text
    assert own not in text
    assert "7\t56\t69\tbreast cancer\tDisease\tMESH:D001943\t1.0000 accepted [" in text


def test_a_table_has_no_documents_to_export(client: Any) -> None:
    project = create(client, TABLE)["id"]
    answer = client.get(f"/projects/{project}/export", params={"format": "pubtator"})
    assert answer.status_code == 422
    assert "holds documents" in answer.json()["error"]


def test_disagreements_are_shown_until_somebody_settles_them(client: Any) -> None:
    project = create(client, TABLE)["id"]
    keys = {row["mention"]: row["key"] for row in queue(client, project)["rows"]}

    def said(reviewer: str, mention: str, concept: str, *settles: str) -> None:
        record = {"key": keys[mention], "concept_id": concept, "settles": settles}
        body = {"reviewer": reviewer, "decisions": [record]}
        answer = client.post(f"/projects/{project}/decisions", json=body)
        assert answer.status_code == 201, answer.text

    for reviewer, concept in (("Ada", "MESH:D001260"), ("Bob", "MESH:D001943")):
        said(reviewer, "A-T", concept)
        said(reviewer, "breast cancer", "MESH:D001943")
    shown = client.get(f"/projects/{project}/disagreements").json()
    (row,) = shown["rows"]
    assert (row["mention"], row["state"]) == ("A-T", "disputed")
    assert [d["concept_id"] for d in row["decisions"]] == ["MESH:D001260", "MESH:D001943"]
    assert [r["mention"] for r in queue(client, project, show="disputed")["rows"]] == ["A-T"]
    said("Eve", "A-T", "MESH:D001260", "Ada", "Bob")
    rows = {row["mention"]: row for row in queue(client, project, show="all")["rows"]}
    by = [rows[mention]["reviewers"] for mention in ("A-T", "breast cancer")]
    assert by == [["Eve"], ["Ada", "Bob"]]
    assert client.get(f"/projects/{project}/disagreements").json()["rows"] == []
    assert client.get(f"/projects/{project}").json()["states"]["accepted"] == 3


def test_a_reviewed_file_is_read_back(client: Any) -> None:
    project = create(client, TABLE, "wards.csv")["id"]
    lines = export(client, project).text.split("\n")
    place = lines[0].split(",").index("state (fill in)")
    cells = lines[2].split(",")
    assert (cells[0], cells[2], cells[place]) == ("breast cancer", "MESH:D001943", "model")
    cells[place] = "accepted"
    lines[2] = ",".join(cells)
    for imported in (1, 0):
        query = {"file": "wards.reviewed.csv", "reviewer": "Bob"}
        address, body = f"/projects/{project}/sources", "\n".join(lines).encode()
        said = client.post(address, params=query, content=body).json()
        assert (said["imported"], said["mentions"]) == (imported, 5)
    assert said["states"] == {"model": 4, "accepted": 1}
    (decision,) = client.get("/decisions").json()["decisions"]
    assert (decision["mention"], decision["reviewer"]) == ("breast cancer", "Bob")


def test_who_decided_what_names_nobody_is_wanted(client: Any) -> None:
    project = create(client, TABLE, "wards.csv")["id"]
    said = b"decision,mention,concept_id,accepted,reviewer\n,breast cancer,MESH:D001943,yes,\n"
    for address in (f"/projects/{project}/sources", "/projects"):
        answer = client.post(address, params={"file": "said.csv"}, content=said)
        assert (answer.status_code, answer.json()["where"]) == (422, "reviewer")
    assert client.get("/decisions").json()["decisions"] == []
    assert len(client.get("/projects").json()["projects"]) == 1


def test_a_project_is_renamed(client: Any) -> None:
    first, other = (create(client, TABLE, f"{name}.csv")["id"] for name in "ab")
    renamed = client.post(f"/projects/{first}/name", params={"name": " wards "})
    assert (renamed.status_code, renamed.json()["name"]) == (200, "wards")
    for project, name, status in (
        (other, "wards", 409),
        (other, "b", 200),
        (other, " ", 422),
        (99, "c", 404),
    ):
        answer = client.post(f"/projects/{project}/name", params={"name": name})
        assert answer.status_code == status, answer.text
    names = [project["name"] for project in client.get("/projects").json()["projects"]]
    assert sorted(names) == ["b", "wards"]


def test_the_column_of_a_project_is_that_of_its_reviewed_table(client: Any) -> None:
    came = "disease,found\nold,breast cancer\nnew,fever\n"
    query = {"file": "wards.csv", "column": "found"}
    project = client.post("/projects", params=query, content=came.encode()).json()["id"]
    linked(client, project)
    rows = list(csv.reader(io.StringIO(export(client, project).text)))
    rows[1][rows[0].index("state (fill in)")] = "accepted"
    rows[2][rows[0].index("state (fill in)")] = "no concept"

    def read_back(number: int, column: str | None = None) -> tuple[int, list[str], int]:
        query = {"file": "back.csv", "reviewer": "Bob"} | ({"column": column} if column else {})
        content = "\n".join(map(",".join, rows)).encode()
        said = client.post(f"/projects/{number}/sources", params=query, content=content).json()
        return said["imported"], said["notes"], len(client.get("/decisions").json()["decisions"])

    foreign = (
        "mentions that the project does not have, on which nothing was read: 2, such as {}; "
        "this is another project's file, or another column was named"
    )
    none = "decisions read: 0; of them new: 0"
    assert read_back(project, "disease") == (0, [none, foreign.format("old, new")], 0)
    other = create(client, TABLE, "other.csv")["id"]
    one = "decisions read: 1; of them new: 1"
    assert read_back(other, "found") == (1, [one, foreign.format("fever").replace("2,", "1,")], 1)
    assert read_back(project) == (1, ["decisions read: 2; of them new: 1"], 2)


def test_ids_that_were_changed_without_a_state_are_told(client: Any) -> None:
    came = "mention\nA-T\nbreast cancer\nleukaemia\nlymphoma\n"
    project = create(client, came, "wards.csv")["id"]
    header, *lines = csv.reader(io.StringIO(export(client, project).text))
    place = {name: header.index(name) for name in ("concept_id", "state (fill in)")}
    lines[0][place["concept_id"]] = lines[1][place["concept_id"]]
    lines[1][place["concept_id"]], lines[1][place["state (fill in)"]] = "", ""
    lines[2][place["concept_id"]], lines[2][place["state (fill in)"]] = "MESH:D008223", "accepted"
    content = "\n".join(map(",".join, [header, *lines])).encode()
    query = {"file": "back.csv", "reviewer": "Bob"}
    said = client.post(f"/projects/{project}/sources", params=query, content=content).json()
    assert said["imported"] == 1
    assert said["notes"][1:] == [
        "mentions with another concept_id than the model's answer, on which nobody decided: 2, "
        "such as A-T, breast cancer; set their state to accepted where a person chose the concept"
    ]


def test_flags_notes_and_kinds_of_mappings_are_read_back(client: Any) -> None:
    came = "Mention,Note\nA-T,x\nbreast cancer,\nzzzz qqqq,\nfever,\n"
    project = create(client, came, "wards.csv")["id"]
    rows = {row["mention"]: row["key"] for row in queue(client, project)["rows"]}
    decide(client, project, rows["A-T"], "MESH:D001260", predicate="broad")
    for mention, kind, value in (("A-T", "note", "ask\nBob"), ("fever", "flag", "1")):
        body = {"reviewer": "Ada", "key": rows[mention], "kind": kind, "value": value}
        client.post(f"/projects/{project}/remarks", json=body)
    header, *lines = csv.reader(io.StringIO(export(client, project).text))
    behind = [f"{name} (fill in)" for name in ("predicate", "flag", "note")]
    assert header[:2] + header[-4:] == ["Mention", "Note", "decisions", *behind]
    cells = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert [cells["A-T"][name] for name in behind] == ["broad", "", "ask Bob"]
    assert [cells["fever"][name] for name in behind] == ["", "1", ""]

    def read_back() -> list[str]:
        file = io.StringIO()
        writer = csv.DictWriter(file, header)
        writer.writeheader()
        writer.writerows(cells.values())
        query = {"file": "wards.reviewed.csv", "reviewer": "Bob"}
        address, body = f"/projects/{project}/sources", file.getvalue().encode()
        notes: list[str] = client.post(address, params=query, content=body).json()["notes"]
        return notes

    remarks = "flags and notes read: {}; of them new: {}"
    assert read_back() == ["decisions read: 1; of them new: 0", remarks.format(2, 0)]
    said = ("accepted", "narrow", "x")
    cells["breast cancer"] |= dict(zip(["state (fill in)", *behind], said, strict=False))
    cells["zzzz qqqq"] |= dict(zip(behind[1:], ("no", "'-?"), strict=True))
    taken = ["decisions read: 2; of them new: 1", remarks.format(4, 2)]
    assert read_back() == taken
    assert read_back() == ["decisions read: 2; of them new: 0", remarks.format(4, 0)]
    shown = {row["mention"]: row for row in queue(client, project, show="all")["rows"]}
    assert [shown[m]["predicate"] for m in ("A-T", "breast cancer", "fever")] == [
        *("broad", "narrow", "")
    ]
    assert [shown[m]["flag"] for m in ("breast cancer", "zzzz qqqq")] == [True, False]
    assert [shown[m]["note"] for m in ("A-T", "zzzz qqqq")] == ["ask\nBob", "-?"]
    said = client.get("/decisions").json()["decisions"]
    assert [(d["mention"], d["predicate"]) for d in said] == [
        *(("A-T", "broad"), ("breast cancer", "narrow"))
    ]


def test_a_further_file_is_added_once_and_of_the_same_kind(client: Any) -> None:
    project = create(client, TABLE, "wards.csv")["id"]

    def add(content: str, file: str) -> Any:
        address = f"/projects/{project}/sources"
        return client.post(address, params={"file": file}, content=content.encode())

    assert add("mention\nfever\n", "more.csv").status_code == 201
    assert linked(client, project)["mentions"] == 6
    assert add("mention\nfever\n", "again.csv").status_code == 409
    assert "holds documents" in add(PUBTATOR, "some.txt").json()["error"]
    answer = export(client, project)
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["wards.reviewed.csv", "more.reviewed.csv"]


def test_a_table_that_lost_its_decisions_is_no_further_file(client: Any) -> None:
    project = create(client, TABLE)["id"]
    rows = list(csv.reader(io.StringIO(export(client, project).text)))
    place = rows[0].index("decisions")
    less = "\n".join(",".join(row[:place] + row[place + 1 :]) for row in rows)
    address, asked = f"/projects/{project}/sources", {"file": "less.csv", "column": "mention"}
    answer = client.post(address, params=asked, content=less.encode())
    assert answer.status_code == 422
    assert "less.csv: linker wrote it, and its column 'decisions' is gone" in answer.text
    assert client.get(f"/projects/{project}").json()["mentions"] == 5


def test_a_table_whose_column_nobody_named_is_no_document(client: Any) -> None:
    project = create(client, PUBTATOR, "some.txt")["id"]
    address, table = f"/projects/{project}/sources", b"finding,ward\ngout,1\n"
    answer = client.post(address, params={"file": "wards.csv"}, content=table)
    assert (answer.status_code, answer.json()["where"]) == (409, "kind")
    said = "wards.csv: is a table, and the project has others; make another one"
    assert answer.json()["error"] == said


def test_a_project_of_another_release_says_so_and_is_linked_anew(
    client: Any, start: Start, tmp_path: Path
) -> None:
    project = create(client, TABLE)
    assert project["problem"] is None
    key = queue(client, project["id"])["rows"][0]["key"]
    decide(client, project["id"], key, "MESH:D001260")
    with client.service.store.transaction() as connection:
        connection.execute("UPDATE projects SET release = '2017'")
    project = client.get(f"/projects/{project['id']}").json()
    assert "its answers are of the dictionary of 2017" in project["problem"]
    client.post(f"/projects/{project['id']}/relink")
    project = linked(client, project["id"])
    assert (project["problem"], project["mentions"], project["groups"]) == (None, 5, 4)
    assert project["decided"] > 0
    for _ in range(2):  # also where nothing has changed
        client.post(f"/projects/{project['id']}/relink")
        assert linked(client, project["id"])["mentions"] == 5


def test_what_was_not_linked_when_the_process_ended_is_linked_by_the_next(start: Start) -> None:
    client = start()
    project = create(client, TABLE)["id"]
    with client.service.store.transaction() as connection:  # as after a kill in the midst
        connection.execute("UPDATE mentions SET answer = NULL WHERE text = 'A-T'")
    after = start()
    assert linked(after, project)["mentions"] == 5
    assert {row["mention"] for row in queue(after, project)["rows"]} >= {"A-T", "breast cancer"}


def test_a_file_that_cannot_be_written_is_no_fault_of_the_request(start: Start) -> None:
    client = start(limits={"seconds": 0.4})  # a quarter of which writes wait
    project = create(client, TABLE)["id"]
    key = queue(client, project)["rows"][0]["key"]
    other = sqlite3.connect(client.service.store.path)
    other.execute("BEGIN IMMEDIATE")
    body = {"decisions": [{"key": key, "concept_id": None}]}
    refused = [
        client.post(f"/projects/{project}/decisions", json=body),
        client.post("/projects", params={"file": "x.txt"}, content=b"fever\n"),
    ]
    other.rollback()
    other.close()
    assert [answer.status_code for answer in refused] == [503, 503]
    assert "database is locked" in refused[0].json()["error"]
    assert client.post(f"/projects/{project}/decisions", json=body).status_code == 201


def test_a_wide_table_and_a_large_one_are_taken(client: Any) -> None:
    header = ",".join(["mention", *(f"c{number}" for number in range(299))])
    row = ",".join(["breast cancer", *map(str, range(299))])
    project = create(client, f"{header}\n{row}\n")["id"]
    group = client.get(f"/projects/{project}/groups/1").json()
    assert len(group["places"][0]["cells"]) == 300
    assert export(client, project).text.split("\n")[1].startswith(f"{row},MESH:D001943,")
    lines = "".join(f"breast cancer,{'x' * 1000}{number}\n" for number in range(5_000))
    project = create(client, f"mention,note\n{lines}", "large.csv")  # more than other requests
    assert (project["mentions"], project["groups"]) == (5_000, 1)


def test_the_same_document_twice_is_told(client: Any) -> None:
    answer = client.post("/projects", params={"file": "x.txt"}, content=2 * PUBTATOR.encode())
    (note, _) = answer.json()["notes"]
    assert note.startswith("the document 7 is there 2 times")
    assert answer.json()["documents"] == 4


def test_odd_encodings_go_out_as_they_came(client: Any) -> None:
    for encoding in ("windows-1252", "utf-16"):
        text = "mention;Ort\nMénière;Köln\nbreast cancer;Füßen\n"
        query = {"file": "x.csv", "encoding": encoding}
        content = text.encode(encoding)
        answer = client.post("/projects", params=query | {"name": encoding}, content=content)
        number = linked(client, answer.json()["id"])["id"]
        back = export(client, number).content.decode(encoding)
        assert back.split("\n")[1].startswith("Ménière;Köln;")


def test_who_looks_stands_above_a_bulk(client: Any) -> None:
    project = create(client, TABLE)["id"]
    body = {"reviewer": "Ada", "filter": {}}
    assert client.post(f"/projects/{project}/accept", json=body).json()["accepted"] == 3
    rows = {row["mention"]: row["key"] for row in queue(client, project, show="in-bulk")["rows"]}
    for mention, concept, accepted in (
        ("A-T", "MESH:D001260", True),  # the same
        ("breast cancer", None, True),  # another one
        ("ataxia telangiectasia", "MESH:D001260", False),  # it is wrong
    ):
        record = {"key": rows[mention], "concept_id": concept, "accepted": accepted}
        body = {"reviewer": "Bob", "decisions": [record]}
        client.post(f"/projects/{project}/decisions", json=body).raise_for_status()
    seen = {row["mention"]: row for row in queue(client, project, show="all")["rows"]}
    found = {mention: (seen[mention]["state"], seen[mention]["reviewers"]) for mention in rows}
    assert found.pop("ataxia telangiectasia")[0] in ("rejected", "open")
    assert found == {"A-T": ("accepted", ["Bob"]), "breast cancer": ("no concept", ["Bob"])}
    assert client.get(f"/projects/{project}/disagreements").json()["rows"] == []
    lines = list(csv.DictReader(io.StringIO(export(client, project).text)))
    assert {line["reviewer"] for line in lines if line["state (fill in)"] == "accepted"} == {"Bob"}
    for _ in range(3):
        client.post(f"/projects/{project}/undo", json={"reviewer": "Bob"})
    assert queue(client, project, show="in-bulk")["total"] == 3


def test_a_table_of_another_column_is_refused(client: Any) -> None:
    came = (
        "group,diagnosis\nbreast cancer,lymphoma\nleukaemia,breast cancer\nfever,leukaemia\n"
        "lymphoma,Ataxia Telangiectasia\n"
    )
    asked = {"file": "a.csv", "column": "diagnosis"}
    first = client.post("/projects", params=asked, content=came.encode()).json()["id"]
    linked(client, first)
    body = {"reviewer": "Ada", "filter": {"above": 0.5}}
    client.post(f"/projects/{first}/accept", json=body).raise_for_status()
    content = export(client, first).content.replace(b",model,", b",accepted,")
    asked = {"file": "b.csv", "column": "group"}
    other = client.post("/projects", params=asked, content=came.encode()).json()["id"]
    linked(client, other)
    count = len(client.get("/decisions").json()["decisions"])
    for number, query in ((other, {}), (first, {"column": "group"})):
        query = {"file": "back.csv", "reviewer": "Bob"} | query
        answer = client.post(f"/projects/{number}/sources", params=query, content=content)
        assert answer.status_code == 422
        said = answer.json()["error"]
        assert "line 2: the mention is 'breast cancer', and its decisions are on 'lymphoma'" in said
        assert said.endswith("another column was named; nothing was read")
    asked = {"file": "c.csv", "column": "group"}
    assert client.post("/projects", params=asked, content=content).status_code == 422
    assert len(client.get("/projects").json()["projects"]) == 2
    assert len(client.get("/decisions").json()["decisions"]) == count


def test_a_reviewed_table_has_the_column_of_the_table_that_it_was(client: Any) -> None:
    asked = {"file": "a.csv", "column": "primary"}
    project = client.post("/projects", params=asked, content=b"primary,ward\ngout,2\n").json()["id"]
    table = b"primary,secondary\nbreast cancer,lymphoma\nleukaemia,A-T\n"
    asked = {"file": "b.csv", "column": "2"}
    client.post(f"/projects/{project}/sources", params=asked, content=table).raise_for_status()
    linked(client, project)
    with zipfile.ZipFile(io.BytesIO(export(client, project).content)) as archive:
        content = archive.read("b.reviewed.csv").replace(b",model,", b",accepted,")
    query = {"file": "b.reviewed.csv", "reviewer": "Bob"}
    said = client.post(f"/projects/{project}/sources", params=query, content=content).json()
    assert said["imported"] == 2
    decided = {row["mention"] for row in queue(client, project, show="decided")["rows"]}
    assert decided == {"lymphoma", "A-T"}
    # a further table, of which nobody decided anything, is asked for its column
    more = {"file": "c.csv"}
    table = b"primary,words\nBob Jones,gout\nEve Smith,fever\n"
    answer = client.post(f"/projects/{project}/sources", params=more, content=table)
    assert answer.status_code == 422


def test_rows_that_contradict_each_other_decide_nothing(client: Any) -> None:
    project = create(client, "mention\nA-T\nA-T\ngout\nGout\n")["id"]
    rows = list(csv.reader(io.StringIO(export(client, project).text)))
    state = rows[0].index("state (fill in)")
    for row, said in zip(
        rows[1:], ("accepted", "no concept", "no concept", "no concept"), strict=True
    ):
        row[state] = said
    content = "\n".join(map(",".join, rows)).encode()
    query = {"file": "back.csv", "reviewer": "Bob"}
    address = f"/projects/{project}/sources"
    for new in (1, 0):
        said = client.post(address, params=query, content=content).json()
        assert said["notes"] == [
            f"decisions read: 2; of them new: {new}",
            "rows that are no decisions: 1; the first: rows of 'A-T' contradict each other",
        ]
    assert len(client.get("/decisions").json()["decisions"]) == 1


def test_what_a_file_says_is_one_step(client: Any) -> None:
    project = create(client, "mention\nA-T\n")["id"]
    (header, row) = csv.reader(io.StringIO(export(client, project).text))
    row[header.index("state (fill in)")], row[header.index("note (fill in)")] = "accepted", "seen"
    content = "\n".join(map(",".join, (header, row))).encode()
    query = {"file": "back.csv", "reviewer": "Bob"}
    client.post(f"/projects/{project}/sources", params=query, content=content).raise_for_status()
    (shown,) = queue(client, project)["rows"]
    assert (shown["state"], shown["note"]) == ("accepted", "seen")
    client.post(f"/projects/{project}/undo", json={"reviewer": "Bob"}).raise_for_status()
    (shown,) = queue(client, project)["rows"]
    assert (shown["state"], shown["note"]) == ("model", "")


def test_decisions_on_documents_of_others_are_not_read(client: Any) -> None:
    other = create(client, PUBTATOR.replace("7", "99"), "other.txt")["id"]
    project = create(client, PUBTATOR, "a.txt")["id"]
    rows = {row["mention"]: row["key"] for row in queue(client, other)["rows"]}
    decide(client, other, rows["breast cancer"], None, document=1, here=True)
    content = export(client, other, "tsv").content
    (decision,) = client.get("/decisions").json()["decisions"]
    client.delete(f"/decisions/{decision['id']}", params={"reviewer": "Ada"})
    query = {"file": "b.tsv", "reviewer": "Bob"}
    answer = client.post(f"/projects/{project}/sources", params=query, content=content)
    assert "does not have, on which nothing was read: 1, such as breast cancer" in answer.text
    assert client.get("/decisions").json()["decisions"] == []


def test_an_export_of_what_was_accepted_in_bulk_names_nobody(client: Any) -> None:
    project = create(client, TABLE)["id"]
    sure = {row["mention"]: row["confidence"] for row in queue(client, project)["rows"]}
    body = {"reviewer": "Ada", "filter": {"above": 0.5}}
    client.post(f"/projects/{project}/accept", json=body).raise_for_status()
    text = export(client, project, "sssom").text
    table = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
    rows = {row["subject_label"]: row for row in csv.DictReader(io.StringIO(table), delimiter="\t")}
    breast = rows["breast cancer"]
    assert float(breast["confidence"]) == pytest.approx(sure["breast cancer"], abs=0.001)
    assert (breast["author_label"], breast["mapping_tool"]) == ("", "concept-linker")
    lines = list(csv.DictReader(io.StringIO(export(client, project).text)))
    assert {line["state (fill in)"] for line in lines} == {"model", ""}  # of a blank cell
    assert {line["reviewer"] + line["time"] for line in lines} == {""}


def test_a_mention_that_was_edited_is_passed_over(client: Any) -> None:
    project = create(client, "mention,id\nbrest cancer,D1\nleukaemia,D2\nlymphoma,D3\n")["id"]
    for row in queue(client, project, sort="document")["rows"][:2]:
        decide(client, project, row["key"], "MESH:D001943")
    (header, *rows) = csv.reader(io.StringIO(export(client, project).text))
    rows[0][0] = "breast cancer"
    rows[2][header.index("state (fill in)")] = "no concept"
    order = [0, *range(2, len(header)), 1]  # a column of the user's is not linker's, wherever it is
    file = io.StringIO()
    csv.writer(file).writerows([row[place] for place in order] for row in (header, *rows))
    query = {"file": "back.csv", "reviewer": "Bob"}
    address = f"/projects/{project}/sources"
    said = client.post(address, params=query, content=file.getvalue().encode()).json()
    assert said["notes"][0] == "decisions read: 2; of them new: 1"
    told = "the mention is 'breast cancer', and its decisions are on 'brest cancer'"
    assert told in said["notes"][1]
    states = {row["mention"]: row["state"] for row in queue(client, project, show="all")["rows"]}
    assert states == {"brest cancer": "accepted", "leukaemia": "accepted", "lymphoma": "no concept"}


def test_a_table_of_documents_with_short_forms_is_read_back(client: Any) -> None:
    text = "7|t|Ataxia telangiectasia (AT) and breast cancer (BC), AT and BC\n7|a|\n"
    mentions = "7\t51\t60\tAT and BC\tDisease\n7\t51\t53\tAT\tDisease\n"
    project = create(client, text + mentions, "a.txt")["id"]
    for row in queue(client, project)["rows"]:
        ids = "|".join(answer["concept_id"] for answer in row["answers"])
        decide(client, project, row["key"], ids)
    content = export(client, project, "tsv").content
    for decision in client.get("/decisions").json()["decisions"]:
        client.delete(f"/decisions/{decision['id']}", params={"reviewer": "Ada"})
    query = {"file": "back.tsv", "reviewer": "Bob"}
    address = f"/projects/{project}/sources"
    said = client.post(address, params=query, content=content).json()
    assert said["notes"] == ["decisions read: 2; of them new: 0"]  # they were withdrawn


def test_states_that_a_person_set_in_a_table_of_documents_are_read_back(client: Any) -> None:
    project = create(client, PUBTATOR, "a.txt")["id"]
    address, asked = f"/projects/{project}/sources", {"file": "back.tsv", "reviewer": "Bob"}
    (header, *lines) = export(client, project, "tsv").text.splitlines()
    assert header.startswith("mention\tdocument_id\tspans\texpanded\tconcept_id\t")
    assert header.endswith("\tdecisions\tpredicate (fill in)\tflag (fill in)\tnote (fill in)")
    (place,) = (n for n, line in enumerate(lines) if line.startswith("breast cancer\t8\t"))
    lines[place] = lines[place].replace("\tmodel\t", "\taccepted\t")
    said = client.post(address, params=asked, content="\n".join([header, *lines]).encode()).json()
    assert (said["documents"], said["imported"]) == (2, 1)
    (decision,) = client.get("/decisions").json()["decisions"]
    found = {key: decision[key] for key in ("mention", "concept_id", "scope", "reviewer")}
    assert found == {
        "mention": "breast cancer",
        "concept_id": "MESH:D001943",
        "scope": "8",
        "reviewer": "Bob",
    }
    again = client.post(address, params=asked, content=export(client, project, "tsv").content)
    assert (again.json()["imported"], again.json()["documents"]) == (0, 2)


def test_mappings_are_read_back(client: Any) -> None:
    project = create(client, "mention\ngout\nlymphoma\n")["id"]
    (row,) = (row for row in queue(client, project)["rows"] if row["mention"] == "gout")
    decide(client, project, row["key"], None)
    content = export(client, project, "sssom").content
    (decision,) = client.get("/decisions").json()["decisions"]
    client.delete(f"/decisions/{decision['id']}", params={"reviewer": "Ada"})
    query, address = {"file": "back.sssom.tsv", "reviewer": "Bob"}, f"/projects/{project}/sources"
    said = client.post(address, params=query, content=content).json()
    assert said["notes"] == ["decisions read: 1; of them new: 0"]  # it was withdrawn
    anew = content.replace(decision["time"][:10].encode(), b"2999-01-01")
    said = client.post(address, params=query, content=anew).json()
    assert said["notes"] == ["decisions read: 1; of them new: 1"]
    (shown,) = queue(client, project, show="decided")["rows"]
    assert (shown["mention"], shown["state"]) == ("gout", "no concept")


def test_documents_that_a_project_has_are_not_added_again(client: Any) -> None:
    project = create(client, PUBTATOR, "a.txt")["id"]
    row, *_ = queue(client, project)["rows"]
    decide(client, project, row["key"], None)
    new = "9|t|Gout in a boy\n9|a|\n9\t0\t4\tGout\tDisease\n"
    content = export(client, project).text + new
    address, asked = f"/projects/{project}/sources", {"file": "back.txt", "reviewer": "Bob"}
    said = client.post(address, params=asked, content=content.encode()).json()
    assert said["documents"] == 3
    assert said["notes"] == [
        "linker wrote it with what people decided, which is not read from it: export the project as "
        "tsv, or the decisions, and give that, too",
        "documents that the project has already, which were not added: 2",
    ]


def test_a_text_of_several_lines_is_not_added_again_as_pubtator(client: Any) -> None:
    text = "He has leukaemia, as his father had.\nThe son has lymphoma, too."
    project = create(client, text, "note.txt")["id"]
    row, *_ = queue(client, project)["rows"]
    decide(client, project, row["key"], None)
    content = export(client, project, "pubtator").content
    query = {"file": "back.txt", "reviewer": "Bob"}
    said = client.post(f"/projects/{project}/sources", params=query, content=content)
    assert said.status_code == 409
    assert "has all its documents; decisions are read from tables" in said.json()["error"]


def test_a_list_of_codes_is_given_back(client: Any) -> None:
    project = create(client, "T2DM\nDM2\nB12\n", "codes.txt")["id"]
    row, *_ = queue(client, project)["rows"]
    decide(client, project, row["key"], None)
    content = export(client, project).text.replace("\tmodel\t", "\tno concept\t")
    query = {"file": "codes.reviewed.tsv", "reviewer": "Bob"}
    said = client.post(f"/projects/{project}/sources", params=query, content=content.encode())
    assert said.json()["imported"] == 2


def test_a_mention_that_defines_its_short_form_is_reviewed_in_the_file(client: Any) -> None:
    names = ("ataxia telangiectasia (AT)", "breast cancer (BC)", "retina tumor (RT)")
    project = create(client, "\n".join(["mention,note", *(f"{name}," for name in names)]), "a.csv")
    rows = queue(client, project["id"])["rows"]
    assert {row["expanded"] for row in rows} >= {"ataxia telangiectasia", "breast cancer"}
    for row in rows:
        decide(client, project["id"], row["key"], "MESH:D001943")
    header, *lines = csv.reader(io.StringIO(export(client, project["id"]).text))
    lines[0][header.index("state (fill in)")] = "no concept"
    lines[0][header.index("note (fill in)")] = "ask Bob"
    file = io.StringIO()
    csv.writer(file).writerows([header, *lines])
    query = {"file": "back.csv", "reviewer": "Bob"}
    address = f"/projects/{project['id']}/sources"
    said = client.post(address, params=query, content=file.getvalue().encode()).json()
    assert said["notes"] == [
        "decisions read: 4; of them new: 1",
        "flags and notes read: 1; of them new: 1",
    ]
    row = next(row for row in queue(client, project["id"])["rows"] if "ataxia" in row["mention"])
    assert (row["state"], row["note"]) == ("disputed", "ask Bob")


def test_a_bulk_decides_only_what_it_counts(client: Any) -> None:
    project = create(client, PUBTATOR, "a.txt")["id"]
    row = next(r for r in queue(client, project)["rows"] if r["mention"] == "breast cancer")
    said = {"accepted": False, "here": True, "document": 2}
    decide(client, project, row["key"], "MESH:D009369", **said)  # not the answer of the model
    missing = {"key": row["key"], "concept_id": None, "here": True, "document": 99}
    body = {"reviewer": "Ada", "decisions": [missing]}
    assert client.post(f"/projects/{project}/decisions", json=body).status_code == 404
    asked = {"document": 1, "q": "breast"}
    assert client.get(f"/projects/{project}/accept", params=asked).json()["mentions"] == 0
    whole = client.get(f"/projects/{project}/accept", params={"q": "breast"}).json()
    assert whole["mentions"] == 2


def test_decisions_are_exported_while_a_project_is_linked_anew(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = create(client, "mention\ngout\n", "a.csv")["id"]
    (row,) = queue(client, project)["rows"]
    decide(client, project, row["key"], None)
    monkeypatch.setattr(workbench.linking, "pending", lambda *_: None)  # it never comes to an end
    assert client.post(f"/projects/{project}/relink").json()["linked"] == 0
    assert len(export(client, project, "decisions").text.splitlines()) == 2


def test_what_reviewers_disagree_on_is_not_expected_to_be_right(client: Any) -> None:
    project = create(client, "mention\ngout\nlymphoma\n", "a.csv")["id"]
    before = client.get(f"/projects/{project}").json()
    row, other = queue(client, project, sort="document")["rows"]
    decide(client, project, row["key"], None)
    body = {"reviewer": "Bob", "decisions": [{"key": row["key"], "concept_id": "MESH:D006073"}]}
    client.post(f"/projects/{project}/decisions", json=body).raise_for_status()
    after = client.get(f"/projects/{project}").json()
    assert before["expected_accuracy_of_rest"] is not None
    assert after["expected_accuracy_of_rest"] == round(other["confidence"], 4)


def test_notes_of_other_alphabets_come_back_from_windows_1252(client: Any) -> None:
    query = {"file": "a.csv", "encoding": "windows-1252", "column": "mention"}
    content = "mention;ort\nleukämie;Köln\n".encode("windows-1252")
    project = client.post("/projects", params=query, content=content).json()["id"]
    linked(client, project)
    (row,) = queue(client, project)["rows"]
    body = {"reviewer": "Ada", "key": row["key"], "kind": "note", "value": "β-thal"}
    client.post(f"/projects/{project}/remarks", json=body).raise_for_status()
    content = export(client, project).content
    query = {"file": "back.csv", "encoding": "windows-1252", "reviewer": "Bob"}
    said = client.post(f"/projects/{project}/sources", params=query, content=content).json()
    assert said["notes"][1] == "flags and notes read: 1; of them new: 0"


def test_decisions_are_given_back_and_the_log_is_refused(client: Any) -> None:
    project = create(client, "mention\ngout\nlymphoma\n", "a.csv")["id"]
    row, _ = queue(client, project, sort="document")["rows"]
    decide(client, project, row["key"], None)
    address, asked = f"/projects/{project}/sources", {"file": "d.tsv", "reviewer": "Bob"}
    content = export(client, project, "decisions").text + "\tlymphoma\tMESH:D008223\ttrue\n"
    said = client.post(address, params=asked, content=content.encode()).json()
    assert (said["mentions"], said["notes"]) == (2, ["decisions read: 2; of them new: 1"])
    log = export(client, project, "log").content
    refused = client.post(address, params=asked | {"file": "log.tsv"}, content=log)
    assert refused.status_code == 422
    assert "log.tsv: is the log of what was done" in refused.json()["error"]


def test_a_table_of_two_columns_of_one_name_is_written(client: Any) -> None:
    content = "A list\nmention,mention\ngout,1\n"
    project = create(client, content, "a.csv")["id"]
    (row,) = list(csv.reader(io.StringIO(export(client, project).text)))[2:]
    assert row[:3] == ["gout", "1", "MESH:D006073"]


def test_a_search_in_the_queue_passes_over_accents(client: Any) -> None:
    project = create(client, "mention\nHämophilie\nhemophilia\n", "a.csv")["id"]
    for query in ("hamo", "HÄMO"):
        assert [r["mention"] for r in queue(client, project, q=query)["rows"]] == ["Hämophilie"]


def test_answers_of_a_list_are_not_added_to_it(client: Any) -> None:
    project = create(client, '{"mention": "gout"}\n', "a.jsonl")["id"]
    query = {"file": "back.jsonl", "reviewer": "Bob"}
    content = export(client, project).content
    refused = client.post(f"/projects/{project}/sources", params=query, content=content)
    assert refused.status_code == 409
    assert "holds answers of linker; decisions are read from tables" in refused.json()["error"]
    query = {"file": "west.jsonl", "encoding": "windows-1252"}
    other = '{"mention": "leukämie"}\n'.encode("windows-1252")
    added = client.post(f"/projects/{project}/sources", params=query, content=other)
    assert added.status_code == 201, added.text
    assert linked(client, project)["mentions"] == 2


def test_a_further_round_has_columns_of_its_own(client: Any) -> None:
    first = create(client, "mention\nA-T\n")["id"]
    content = export(client, first).content
    second = create(client, content.decode(), "second.csv")["id"]
    (header, row) = csv.reader(io.StringIO(export(client, second).text))
    assert header[-1] == "linker_note (fill in)"
    row[-1] = "seen again"
    file = io.StringIO()
    csv.writer(file).writerows([header, row])
    query = {"file": "back.csv", "reviewer": "Bob"}
    address = f"/projects/{second}/sources"
    client.post(address, params=query, content=file.getvalue().encode()).raise_for_status()
    assert [row["note"] for row in queue(client, second)["rows"]] == ["seen again"]


def test_a_table_without_decisions_of_people_becomes_a_project(client: Any) -> None:
    table = "disease,concept_id,name,matched_name,confidence,rejected,state\ngout,,,,,,model\n"
    assert create(client, table, "linked.csv")["mentions"] == 1
