"""Training from the page: it runs beside the service, is measured, taken, cancelled, and cut off."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from linker import Linker, LinkerError, files
from linker.files import replacing
from linker.jobs.linking import model_hash

from .conftest import Start

MALADY, ATAXIA = "Louis Bar malady", "MESH:D001260"  # a name that the dictionary does not have


@pytest.fixture
def own(model: Path, tmp_path: Path) -> Path:
    """A copy of the model, which may be replaced."""
    return Path(shutil.copytree(model, tmp_path / "own-model"))


@pytest.fixture
def client(start: Start, own: Path) -> Any:
    return start(model=str(own))


def decide(client: Any, concepts: dict[str, str]) -> list[int]:
    decisions = [{"mention": m, "concept_id": c, "reviewer": "Ann"} for m, c in concepts.items()]
    answer = client.post("/decisions", json={"decisions": decisions})
    assert answer.status_code == 201
    return [decision["id"] for decision in answer.json()["decisions"]]


def ended(client: Any) -> dict[str, Any]:
    """The state of the training, once it runs no more."""
    deadline = time.monotonic() + 120
    while (state := client.get("/training").json())["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return dict(state)


def named(folder: Path, name: str) -> bool:
    """Whether a model has a name."""
    return name in Linker.load(folder).dictionary.names


def test_a_model_is_trained_measured_and_taken(client: Any, own: Path, linker: Linker) -> None:
    before = own.with_name("own-model.before")
    old, of = model_hash(str(own)), {MALADY: ATAXIA}
    for row in range(34):  # whose preferred names the model knows
        of[linker.dictionary.preferred_name(row)] = linker.dictionary.ids[row]
    (malady, *_) = decide(client, of)
    rows = f"name\n{MALADY} of the {{}}\n".format("young")
    project = client.post("/projects?file=a.csv&name=A&column=name", content=rows).json()["id"]
    complete = {"complete": 0, "complete_needed": 200}
    state = {"state": "none", "learnable": 35, "learnt": 0} | complete
    assert client.get("/training").json() == state
    assert client.post("/training/take").status_code == 409
    assert client.post("/training", json={"reviewer": "Ann"}).json()["state"] == "running"
    assert "Ann started" in client.post("/training", json={}).json()["error"]
    state = ended(client)
    assert (state["state"], state["decisions"], state["held_out"]) == ("done", 35, 35)
    assert state["new"]["right"] - state["old"]["right"] == state["better"] - state["worse"]
    assert 34 <= state["old"]["right"] <= state["old"]["mentions"] == 35
    assert model_hash(str(own)) == old  # until somebody takes the new one

    assert client.post("/training/take").json() == {
        **{"state": "none", "learnable": 35, "learnt": 35},
        **complete,
    }
    assert named(own, MALADY)
    assert not named(before, MALADY)
    assert model_hash(str(before)) == old
    assert MALADY in client.service.linker.dictionary.names
    assert client.get(f"/projects/{project}").json()["problem"] is None  # it is linked anew

    # what is withdrawn is forgotten by the next training, which starts from the first model again
    client.delete(f"/decisions/{malady}")
    client.post("/training", json={})
    assert ended(client)["decisions"] == 34
    assert client.post("/training/take").status_code == 200
    assert not named(own, MALADY)
    assert model_hash(str(before)) == old
    left = {path.name for path in own.parent.iterdir() if path.name.startswith("own-model")}
    assert left == {"own-model", "own-model.before", "own-model.learning.json"}


def test_complete_documents_are_counted(client: Any) -> None:
    texts = "1|t|leukaemia\n1|a|\n\n2|t|lymphoma\n2|a|\n"
    project = client.post("/projects?file=a.txt", content=texts).json()["id"]

    def complete(document: int, action: str = "done") -> int:
        path = f"/projects/{project}/documents/{document}"
        version = client.get(path).json()["marks_version"]
        body = {"reviewer": "Ann", "version": version, "marks": [{"action": action}]}
        client.post(f"{path}/marks", json=body).raise_for_status()
        return int(client.get("/training").json()["complete"])

    assert (complete(1), complete(2), complete(1, "reopen"), complete(1)) == (1, 2, 1, 2)
    client.post(f"/projects/{project}/undo", json={"reviewer": "Ann"})
    assert client.get("/training").json()["complete"] == 1
    client.delete(f"/projects/{project}")
    assert client.get("/training").json()["complete"] == 0


def test_a_training_is_cancelled_or_thrown_away(client: Any, own: Path) -> None:
    assert "nothing to learn" in client.post("/training", json={}).json()["error"]
    decide(client, {MALADY: ATAXIA})
    client.post("/training", json={})
    assert client.delete("/training").json()["state"] == "cancelled"
    assert not own.with_name("own-model.next").exists()
    client.post("/training", json={})
    assert "old" not in ended(client)  # one decision is too few to measure
    assert client.delete("/training").json()["state"] == "none"
    assert not own.with_name("own-model.next").exists()


def test_a_crash_says_why(client: Any, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decide(client, {MALADY: ATAXIA})
    own.with_name("own-model.next").write_text("mine")
    client.post("/training", json={})
    assert "is a file; name a folder" in ended(client)["error"]
    killed = own.with_name("killed")
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(killed))
    client.post("/training", json={})
    assert "ended by SIGKILL" in ended(client)["error"]


def test_a_restart_goes_on_where_the_service_was_ended(
    start: Start, own: Path, model: Path, linker: Linker
) -> None:
    record = own.with_name("own-model.learning.json")
    record.write_text(json.dumps({"training": {"state": "running", "base": "1"}}))
    assert "the service stopped" in start(model=str(own)).get("/training").json()["error"]

    # the names of the models were exchanged, and nothing after that was done
    following = own.with_name("own-model.next")
    linker.with_ranker(None).save(following)
    old, new = model_hash(str(own)), model_hash(str(following))
    done = {"state": "done", "base": old, "model": new, "last": 3, "decisions": 2}
    record.write_text(json.dumps({"training": done}))
    replacing.exchange(following, own)
    state = start(model=str(own)).get("/training").json()
    assert (state["state"], state["learnt"]) == ("none", 2)
    assert model_hash(str(own.with_name("own-model.before"))) == old
    assert not following.exists()

    record.write_text("{")
    assert start(model=str(own)).get("/training").json()["state"] == "none"


def test_a_model_that_was_changed_since_the_training_stays(
    client: Any, own: Path, linker: Linker
) -> None:
    decide(client, {MALADY: ATAXIA})
    client.post("/training", json={})
    assert ended(client)["state"] == "done"
    linker.with_ranker(None).save(own)
    other = model_hash(str(own))
    answer = client.post("/training/take")
    assert (answer.status_code, model_hash(str(own))) == (409, other)
    assert "changed since the training" in answer.json()["error"]


class Disk:
    """A disk that may be full, for the records of a training."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        write = files.write_aside

        def write_aside(path: Any) -> Any:
            if self.is_full:
                raise LinkerError(f"{path}: cannot be written: No space left on device")
            return write(path)

        monkeypatch.setattr("linker.service.learning.files.write_aside", write_aside)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.mark.parametrize("has_before", [False, True])
def test_a_model_that_cannot_be_taken_on_a_full_disk_is_not_taken(
    start: Start, own: Path, linker: Linker, disk: Disk, has_before: bool
) -> None:
    record, new, before = (
        own.with_name(f"own-model{end}") for end in (".learning.json", ".next", ".before")
    )
    linker.with_ranker(None).save(new)
    if has_before:  # of an earlier dictionary
        shutil.copytree(new, before)
    old, made = model_hash(str(own)), model_hash(str(new))
    done = {"state": "done", "base": old, "model": made, "last": 3, "decisions": 2}
    record.write_text(json.dumps({"training": done}))
    client = start(model=str(own))
    disk.is_full = True
    assert client.post("/training/take").status_code == 409
    assert client.get("/training").json()["state"] == "done"
    assert client.service.model.fingerprint == old  # which answers
    assert [model_hash(str(folder)) for folder in (own, new)] == [old, made]
    assert before.is_dir() == has_before
    disk.is_full = False
    assert client.post("/training/take").json()["state"] == "none"
    assert client.service.model.fingerprint == made
    assert [model_hash(str(folder)) for folder in (own, before)] == [made, old]
    assert not new.exists()


def test_a_service_does_not_forget_a_taken_model_on_a_full_disk(
    start: Start, own: Path, linker: Linker, disk: Disk
) -> None:
    record, new = own.with_name("own-model.learning.json"), own.with_name("own-model.next")
    linker.with_ranker(None).save(new)
    old, made = model_hash(str(own)), model_hash(str(new))
    done = {"state": "done", "base": old, "model": made, "last": 3, "decisions": 2}
    record.write_text(json.dumps({"training": done}))
    replacing.exchange(new, own)  # and there the service was ended
    disk.is_full = True
    with pytest.raises(LinkerError, match="No space left"):
        start(model=str(own))
    assert model_hash(str(new)) == old
    disk.is_full = False
    assert start(model=str(own)).get("/training").json()["learnt"] == 2
    assert model_hash(str(own.with_name("own-model.before"))) == old


@pytest.mark.parametrize("missing", ["", "base"])
def test_a_model_that_was_moved_by_hand_starts(start: Start, own: Path, missing: str) -> None:
    model = model_hash(str(own))
    done = {"state": "done", "base": "gone", "model": model, "last": 3, "decisions": 2}
    done = {name: value for name, value in done.items() if name != missing}
    own.with_name("own-model.learning.json").write_text(json.dumps({"training": done}))
    state = start(model=str(own)).get("/training").json()
    assert (state["state"], state["learnt"]) == ("none", 0 if missing else 2)


def test_a_training_that_ends_on_a_full_disk_has_ended(
    client: Any, own: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(client, {MALADY: ATAXIA})
    program = own.with_name("program")
    line = json.dumps({"what": "writing the model", "share": 0.95})
    program.write_text(f"#!/bin/sh\necho '{line}'\necho 'linker: no space left' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    disk.is_full = True
    client.post("/training", json={})
    state = ended(client)
    assert (state["state"], state["error"], state["share"]) == ("failed", "no space left", 0.95)
