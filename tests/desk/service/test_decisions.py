"""Decisions by HTTP: stored, listed, applied, withdrawn."""

from __future__ import annotations

import contextlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from linker.desk.decisions.store import DecisionStore
from linker.records import Decision

from .conftest import Start


def decide(client: Any, mention: str, concept: str | None, **fields: Any) -> Any:
    record = {"mention": mention, "concept_id": concept, "reviewer": "Ada"} | fields
    answer = client.post("/decisions", json={"decisions": [record]})
    assert answer.status_code == 201
    return answer.json()["decisions"][0]


def first(client: Any, mention: str) -> Any:
    answer = client.post("/link", json={"mentions": [mention], "k": 3}).json()
    return answer["predictions"][0]["parts"][0]


def test_a_decision_wins_until_it_is_withdrawn(client: Any) -> None:
    model = first(client, "A-T")["candidates"][0]
    stored = decide(client, "A-T", "D001943")
    assert stored["concept_id"] == "MESH:D001943"
    assert stored["model"] == client.service.model.fingerprint
    assert stored["time"]
    assert stored["release"]
    best = first(client, "a-t")["candidates"][0]
    assert (best["concept_id"], best["source"]) == ("MESH:D001943", "decision")
    assert best["confidence"] == 1
    said = client.post("/explain", json={"mention": "A-T", "k": 1}).json()["by_decision"]
    assert (said["state"], said["answer"][0]["concept_id"]) == ("accepted", "MESH:D001943")
    assert client.delete(f"/decisions/{stored['id']}").status_code == 200
    assert first(client, "A-T")["candidates"][0] == model
    assert client.delete(f"/decisions/{stored['id']}").status_code == 404
    assert "by_decision" not in client.post("/explain", json={"mention": "A-T"}).json()


def test_what_a_new_decision_replaces_is_answered(client: Any) -> None:
    decide(client, "odd cough", "MESH:D001943", predicate="broad")
    again = {"mention": "odd cough", "concept_id": "MESH:D001943", "reviewer": "Ada"}
    answer = client.post("/decisions", json={"decisions": [again]}).json()
    assert [d["predicate"] for d in answer["replaced"]] == ["broad"]
    for bad in ({"predicate": "close"}, {"accepted": False, "predicate": "broad"}):
        refused = client.post("/decisions", json={"decisions": [again | bad]})
        assert refused.status_code == 422


def test_ids_that_the_dictionary_has_not_are_refused(client: Any) -> None:
    records = [
        {"mention": "A-T", "concept_id": "MESH:D001260"},
        {"mention": "A-T", "concept_id": "OTHER:1"},
    ]
    refused = client.post("/decisions", json={"decisions": records})
    assert (refused.status_code, refused.json()["where"]) == (422, "decisions.1")
    assert client.get("/decisions").json()["decisions"] == []


def test_those_of_other_processes_count_at_once(client: Any, tmp_path: Path) -> None:
    first(client, "A-T")
    with DecisionStore(tmp_path / "decisions.sqlite") as store:
        store.add([Decision("A-T", "MESH:D001943")])
    assert first(client, "A-T")["candidates"][0]["concept_id"] == "MESH:D001943"


def test_without_a_file_nothing_is_kept(start: Start) -> None:
    client = start(decisions=None)
    assert not client.get("/model").json()["decisions"]
    assert client.get("/decisions").status_code == 409
    assert client.post("/link", json={"mentions": ["A-T"]}).status_code == 200


free: Any = {"isolation_level": None, "check_same_thread": False}


def test_what_was_refused_while_another_process_writes_is_never_stored(start: Start) -> None:
    client = start({"seconds": 2.0})  # a quarter of which writes wait
    store = client.service.store
    with contextlib.closing(sqlite3.connect(store.path, **free)) as other:
        other.execute("BEGIN IMMEDIATE")

        def decide(number: int) -> Any:
            said = {"mention": f"fever {number}", "concept_id": None, "reviewer": "Ada"}
            return client.post("/decisions", json={"decisions": [said]})

        with ThreadPoolExecutor(40) as threads:  # more than write at the same time
            answers = [*threads.map(decide, range(40))]
    assert {answer.status_code for answer in answers} == {503}
    assert not any("took too long" in answer.json()["error"] for answer in answers)
    client.portal.call(client.service.write, int)  # after all that waited
    assert store.list() == []
    assert decide(0).status_code == 201
    assert len(store.list()) == 1
