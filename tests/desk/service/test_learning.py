"""Training from the page: it runs beside the service, is measured, taken or not, and cancelled."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from linker import Linker
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
    deadline = time.monotonic() + 600
    while (state := client.get("/training").json())["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.2)  # each question takes processor time from the training
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
    assert client.get("/training").json() == {"state": "none", "learnable": 35}
    assert client.post("/training/take").status_code == 409
    assert client.post("/training", json={"reviewer": "Ann"}).json()["state"] == "running"
    assert "Ann started" in client.post("/training", json={}).json()["error"]
    state = ended(client)
    assert (state["state"], state["decisions"], state["held_out"]) == ("done", 35, 35)
    assert state["new"]["right"] - state["old"]["right"] == state["better"] - state["worse"]
    assert 34 <= state["old"]["right"] <= 35
    assert model_hash(str(own)) == old  # until somebody takes the new one

    assert client.post("/training/take").json() == {"state": "none", "learnable": 35}
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


def test_a_training_is_cancelled_or_thrown_away(client: Any, own: Path) -> None:
    client.post("/training", json={})
    assert "nothing to learn" in ended(client)["error"]
    decide(client, {MALADY: ATAXIA})
    client.post("/training", json={})
    assert client.delete("/training").json() == {"state": "none", "learnable": 1}
    assert not own.with_name("own-model.next").exists()
    client.post("/training", json={})
    assert "old" not in ended(client)  # one decision is too few to measure
    assert client.delete("/training").json()["state"] == "none"
    assert not own.with_name("own-model.next").exists()


def test_the_first_model_is_known_where_the_service_was_ended_after_the_exchange(
    start: Start, own: Path
) -> None:
    client = start(model=str(own))
    decide(client, {MALADY: ATAXIA})
    client.post("/training", json={})
    assert ended(client)["state"] == "done"
    old = model_hash(str(own))
    with pytest.MonkeyPatch.context() as patch:  # nothing is done after it
        patch.setattr(type(client.service), "reload", None)
        assert client.post("/training/take").status_code == 500
    assert model_hash(str(own.with_name("own-model.before"))) == old
    assert named(own, MALADY)
    client = start(model=str(own))
    client.post("/training", json={})
    assert ended(client)["decisions"] == 1
    assert client.post("/training/take").status_code == 200
    assert model_hash(str(own.with_name("own-model.before"))) == old


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


def test_a_model_that_does_not_load_is_not_taken(
    client: Any, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide(client, {MALADY: ATAXIA})
    old = model_hash(str(own))
    client.post("/training", json={})
    ended(client)
    (own.with_name("own-model.next") / "config.json").write_text("{")
    assert client.post("/training/take").status_code == 409
    assert client.service.model.fingerprint == model_hash(str(own)) == old
