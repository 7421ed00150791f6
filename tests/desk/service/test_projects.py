"""Projects by HTTP: a file in, a queue of equal mentions, decisions at once, undo."""

from __future__ import annotations

import asyncio
import io
import sqlite3
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cachetools", reason="the extra serve is not installed")

from cachetools import LRUCache

from linker.desk.service.workbench import Workbench
from linker.errors import LinkerError
from linker.io.files import OpenFile

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


def test_a_decision_holds_and_is_undone(client: Any) -> None:
    project = create(client, TABLE)["id"]
    key = queue(client, project, sort="document")["rows"][0]["key"]
    said = decide(client, project, key, "MESH:D001260")
    assert [row["state"] for row in said["rows"]] == ["accepted"]
    assert said["summary"]["states"]["accepted"] == 2
    assert client.get("/projects").json()["projects"][0]["decided"] == 2
    (stored,) = client.get("/decisions").json()["decisions"]
    assert (stored["mention"], stored["scope"]) == ("A-T", "")
    last = client.get(f"/projects/{project}/undo", params={"reviewer": "Ada"}).json()
    assert {**last, "time": ""} == {
        "step": said["step"],
        "words": "A-T: MESH:D001260",
        "time": "",
        "changes": 1,
    }
    asked = {"reviewer": "Ada", "step": said["step"] + 1}  # of which another one is shown
    assert client.post(f"/projects/{project}/undo", json=asked).status_code == 409
    asked["step"] = said["step"]
    undone = client.post(f"/projects/{project}/undo", json=asked).json()
    assert undone["words"] == "A-T: MESH:D001260"
    assert [row["state"] for row in undone["rows"]] == ["model"]
    assert client.post(f"/projects/{project}/undo", json={"reviewer": "Ada"}).status_code == 404
    none = client.get(f"/projects/{project}/undo", params={"reviewer": "Ada"}).json()
    assert none == {"step": None}
    assert client.get("/projects/99/undo", params={"reviewer": "Ada"}).status_code == 404


@pytest.mark.parametrize("name", ["below", "above"])
@pytest.mark.parametrize("confidence", ["abc", "0.9abc", "nan", "inf", "-0.1", "1.1", "90%", "0,9"])
def test_what_is_no_confidence_is_refused(client: Any, name: str, confidence: str) -> None:
    project = create(client, TABLE)["id"]
    for path in ("queue", "accept"):
        refused = client.get(f"/projects/{project}/{path}", params={name: confidence})
        assert (refused.status_code, refused.json()["where"]) == (422, name)


def test_a_page_says_whether_the_project_has_a_row(client: Any) -> None:
    project = create(client, TABLE)["id"]
    first = queue(client, project, sort="document")["rows"][0]["key"]
    found = [
        (page["position"], page["has_row"])
        for page in (
            queue(client, project, sort="document", find=first),
            queue(client, project, show="decided", find=first),
            queue(client, project, find="99"),
        )
    ]
    assert found == [(0, True), (None, True), (None, False)]


def test_a_file_that_is_read_again_undoes_nothing(client: Any) -> None:
    project = create(client, TABLE)["id"]
    table = client.get(f"/projects/{project}/export").text
    filled = table.replace(",model,", ",accepted,", 1)
    sent: Any = {"params": {"file": "back.csv", "reviewer": "Ada"}, "content": filled.encode()}
    url = f"/projects/{project}/sources"
    assert client.post(url, **sent).json()["imported"] == 1
    client.post(f"/projects/{project}/undo", json={"reviewer": "Ada"})
    answer = client.post(url, **sent).json()
    assert (answer["imported"], answer["repeated"]) == (0, 1)
    sent["params"]["again"] = "true"
    answer = client.post(url, **sent).json()
    assert (answer["imported"], answer["repeated"]) == (1, 0)


def test_what_is_expected_is_of_the_model_that_answered(client: Any) -> None:
    names = "".join(f"breast cancer {number}\n" for number in range(60))
    project = create(client, f"mention\n{names}zzzz qqqq\n")
    expected = project["expected"]
    assert 20 <= expected["answers"] <= 60
    assert 0 <= expected["low"] < expected["share"] < expected["high"] <= 1
    (kind, *_) = client.get(f"/projects/{project['id']}/failures").json()["kinds"]
    assert {*kind} == {"kind", "help", "groups", "mentions", "examples"}
    assert client.get("/projects/9/failures").status_code == 404
    client.service.model.fingerprint = "another"
    assert client.get(f"/projects/{project['id']}").json()["expected"] is None


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


def test_the_first_request_to_a_new_process_may_be_a_decision(start: Start) -> None:
    project = create(start(), TABLE)["id"]
    client = start()
    with client.service.store.reading() as connection:
        (key,) = connection.execute("SELECT max(id) FROM mentions").fetchone()
    assert decide(client, project, str(key), None)["summary"]["decided"] == 1


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
    assert client.delete(f"/projects/{project}").status_code == 404
    removed = "SELECT NOT EXISTS (SELECT 1 FROM projects) AND NOT EXISTS (SELECT 1 FROM mentions)"
    is_removed = False
    while not is_removed:  # what the project held goes behind
        with client.service.store.reading() as connection:
            ((is_removed,),) = connection.execute(removed)


def export(client: Any, number: int, form: str = "own") -> Any:
    answer = client.get(f"/projects/{number}/export", params={"format": form})
    assert answer.status_code == 200, answer.text
    return answer


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
    assert "of 2017" in project["problem"]
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


def test_a_part_of_another_reading_is_refused(client: Any) -> None:
    project = create(client, "mention\nbreast and ovarian cancer\n")["id"]
    key = queue(client, project)["rows"][0]["key"]
    said = {"key": key, "concept_id": "MESH:D001943|?"}
    asked = [
        said | {"part_texts": ["breast and ovarian", "cancer"]},
        said | {"concept_id": "MESH:D001943|?|?"},
    ]
    path = f"/projects/{project}/decisions"
    refused = [client.post(path, json={"reviewer": "Ada", "decisions": [of]}) for of in asked]
    assert [answer.status_code for answer in refused] == [409, 422]
    assert client.get("/decisions").json()["decisions"] == []


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


def previewed(client: Any, content: str | bytes, file: str, **query: str) -> Any:
    content = content.encode() if isinstance(content, str) else content
    answer = client.post("/projects/preview", params={"file": file, **query}, content=content)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_a_file_is_read_as_is_shown_before_it_is_kept(client: Any) -> None:
    kinds = ["list", "table", "documents"]
    text = "He has gout.\nIt was seen in May.\n"
    assert previewed(client, text, "a.txt") == {
        "kind": "documents",
        "kinds": kinds,
        "count": 1,
        "column": None,
        "columns": [],
        "suggested": None,
        "rows": ["He has gout. It was seen in May."],
    }
    listed = previewed(client, text, "a.txt", read_as="list")
    assert (listed["kind"], listed["rows"]) == ("list", text.splitlines())
    table = previewed(client, "patient,finding\n1,gout\n2,lupus\n", "a.csv")
    assert (table["kind"], table["count"], table["column"]) == ("table", 2, None)
    assert (table["suggested"], table["rows"]) == ("finding", ["gout", "lupus"])
    table = previewed(client, "patient,finding\n1,gout\n2,lupus\n", "a.csv", column="patient")
    assert (table["columns"], table["rows"]) == (["patient", "finding"], ["1", "2"])
    documents = previewed(client, PUBTATOR, "a.txt")
    assert (documents["kinds"], documents["count"]) == (["documents"], 2)
    assert client.get("/projects").json()["projects"] == []


def test_a_project_is_of_the_kind_that_is_said(client: Any) -> None:
    text = "gout\nbreast cancer was seen in May.\n"
    assert create(client, text, "a.txt")["kind"] == "documents"
    project = create(client, text, "a.txt", read_as="list", name="b")
    assert (project["kind"], project["mentions"]) == ("list", 2)
    address = f"/projects/{project['id']}/sources"
    for read_as, status in (("documents", 409), ("list", 201)):
        params = {"file": "c.txt", "read_as": read_as}
        answer = client.post(address, params=params, content=b"lupus\n")
        assert answer.status_code == status, answer.text
    params = {"file": "a.txt", "read_as": "list"}
    answer = client.post("/projects", params=params, content=PUBTATOR.encode())
    assert answer.status_code == 422


def test_more_rows_than_the_limit_are_refused(start: Start) -> None:
    client = start(limits={"rows": 3})
    assert create(client, "gout\nlupus\nfever\n", "a.txt")["mentions"] == 3
    for address in ("/projects", "/projects/preview", "/projects/1/sources"):
        content = b"gout\nlupus\nfever\ncough\n"
        answer = client.post(address, params={"file": "b.txt"}, content=content)
        assert (answer.status_code, answer.json()["where"]) == (413, "rows")
    assert len(client.get("/projects").json()["projects"]) == 1


def test_a_large_file_is_kept_as_a_small_one(client: Any) -> None:
    text = "".join(f"gout {number:060}\n" for number in range(20_000))  # it is on the disk
    answer = client.post("/projects", params={"file": "a.txt"}, content=text.encode("utf-16"))
    assert answer.status_code == 201, answer.text
    assert answer.json()["states"] == {}
    with client.service.store.reading() as connection:
        count, first, last = connection.execute(
            "SELECT count(*), min(text), max(text) FROM mentions"
        ).fetchone()
    assert (count, first, last) == (20_000, f"gout {0:060}", f"gout {19_999:060}")
    client.delete("/projects/1")


def test_a_service_that_stops_keeps_no_half_of_a_file(start: Start) -> None:
    client = start()
    client.service.ending.set()
    text = "".join(f"gout {number}\n" for number in range(5_000))
    answer = client.post("/projects", params={"file": "a.txt"}, content=text.encode())
    assert (answer.status_code, "stopping" in answer.json()["error"]) == (503, True)
    assert client.get("/projects").json()["projects"] == []


def test_what_nobody_stores_any_more_is_removed_while_the_service_runs(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process was killed long after this one began."""
    create(start(), "gout\n", "a.txt")
    # from now on, so that on a busy machine the file above is not taken for one that is left
    monkeypatch.setattr("linker.desk.projects.store.STALE", 0.01)
    client = start()
    with client.service.store.transaction() as connection:
        connection.execute(
            "INSERT INTO sources (project, name, format, encoding, place, content) "
            "VALUES (1, 'b.txt', 'txt', 'utf-8', '', 1.5)"
        )
    deadline = time.monotonic() + 20
    sources = 2
    while sources > 1 and time.monotonic() < deadline:
        with client.service.store.reading() as connection:
            ((sources,),) = connection.execute("SELECT count(*) FROM sources")
    assert (sources, queue(client, 1)["mentions"]) == (1, 1)


def test_of_large_projects_few_are_kept_in_memory(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which a project of any size is while somebody asks for it."""
    desk = client.app.state.workbench
    assert desk._queues.maxsize == 600_000
    kept: Any = LRUCache(32, desk._queues.getsizeof)
    monkeypatch.setattr("linker.desk.service.workbench._MENTIONS", 32)
    monkeypatch.setattr(desk, "_queues", kept)
    for name, rows in (("a", 20), ("b", 12), ("c", 50)):
        create(client, "gout\n" * rows, f"{name}.txt")
        assert queue(client, len(client.get("/projects").json()["projects"]))["mentions"] == rows
    assert {number: one.mentions for number, one in kept.items()} == {3: 32}


def test_a_queue_counts_for_what_was_added_since(client: Any) -> None:
    desk = client.app.state.workbench
    create(client, "gout\n", "a.txt")
    queue(client, 1)
    few = desk._queues.currsize
    text = "".join(f"gout {number}\n" for number in range(40_000))
    assert client.post("/projects/1/sources?file=b.txt", content=text.encode()).status_code == 201
    queue(client, 1)
    assert (few, desk._queues.currsize) == (37_500, 40_001)


def workbook() -> bytes:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra sheets is not installed")
    file = io.BytesIO()
    openpyxl.Workbook().save(file)
    return file.getvalue()


def test_files_that_may_have_many_rows_are_read_one_after_the_other(client: Any) -> None:
    sheet = workbook()
    large = b"gout\n" * 25_000

    async def is_entered(desk: Workbench, content: bytes) -> bool:
        """Whether a file may be read at once."""
        turn = desk.turn(OpenFile(io.BytesIO(content), "file"), len(content))
        entering = asyncio.create_task(turn.__aenter__())
        for _ in range(5):
            await asyncio.sleep(0)
        if not entering.done():
            entering.cancel()
            return False
        await turn.__aexit__(None, None, None)
        return True

    async def during(content: bytes) -> list[bool]:
        desk = Workbench(client.service, client.service.store)
        async with desk.turn(OpenFile(io.BytesIO(content), "file"), len(content)):
            return [await is_entered(desk, other) for other in (b"gout\n", sheet, large)]

    assert asyncio.run(during(sheet)) == [True, False, False]
    assert asyncio.run(during(large)) == [True, False, False]
    assert asyncio.run(during(b"gout\n")) == [True, True, True]


def test_files_that_take_long_hold_up_no_other_requests(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(limits={"seconds": 5})
    is_over = threading.Event()
    begun = threading.Semaphore(0)

    def read(*_: Any, **__: Any) -> Any:
        begun.release()
        is_over.wait(30)
        raise LinkerError("it took long")

    monkeypatch.setattr("linker.desk.service.projects.sources.read", read)

    def send() -> None:
        client.post("/projects/preview?file=a.txt", content=b"gout\n")

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            assert begun.acquire(timeout=20)
        body = {"documents": [{"id": "1", "text": "No gout."}]}
        assert client.post("/annotate", json=body).status_code == 200
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
