"""The machine-learning backend of Label Studio, by requests that version 1.23.2 sent.

`label_studio.json` has them, shortened; a person had confirmed two regions in its editor, then
changed the id of the first, and deleted the annotation. The answer to `predict` has these regions.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from linker import Linker

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="the extra test is not installed")

from fastapi.testclient import TestClient

from linker.desk.service.app import create
from linker.desk.service.settings import Key, Settings
from linker.desk.service.state import Service
from linker.integrations import label_studio

SENT = json.loads(Path(__file__).with_name("label_studio.json").read_bytes())
CONFIG = SENT["setup"]["schema"]
Start = Callable[..., TestClient]


@pytest.fixture(scope="module")
def linker(sample_linker: Linker) -> Linker:
    return sample_linker


@pytest.fixture
def start(linker: Linker, uncollected: None, tmp_path: Path) -> Iterator[Start]:
    clients = []

    def started(decisions: str | None = str(tmp_path / "d.sqlite"), **settings: Any) -> TestClient:
        service = Service(Settings("sample", decisions, **settings), linker)
        clients.append(TestClient(create(service, [label_studio])))
        return clients[-1].__enter__()

    yield started
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(start: Start) -> TestClient:
    return start()


def post(client: TestClient, path: str, body: Any) -> Any:
    answer = client.post(f"/label-studio/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def predicted(client: TestClient, config: str = CONFIG, **data: Any) -> Any:
    """The prediction of the task that was sent, or of one with other data or tags."""
    body = copy.deepcopy(SENT["predict"]) | {"label_config": config}
    body["tasks"][0]["data"] |= data
    (result,) = post(client, "predict", body)["results"]
    return result


def decisions(client: TestClient) -> list[tuple[Any, ...]]:
    kept = client.get("/decisions").json()["decisions"]
    return [(d["mention"], d["concept_id"], d["accepted"]) for d in kept]


def submitted(client: TestClient, *changes: tuple[int, str, Any]) -> list[tuple[Any, ...]]:
    """The decisions of the annotation that was sent, after changes to results by their numbers."""
    body = copy.deepcopy(SENT["created"])
    for number, field, value in changes:
        body["annotation"]["result"][number][field] = value
    client.answer = post(client, "webhook", body)
    return decisions(client)


def test_mentions_are_regions_with_ids_where_label_studio_counts_them(client: TestClient) -> None:
    prediction = predicted(client)
    first, concept, second, _ = prediction["result"]
    # "Note 😀😀: " are nine characters, as Label Studio counts them, and eleven of UTF-16
    place = {"start": 9, "end": 22, "text": "breast cancer"}
    assert first["value"] == place | {"labels": ["Disease"]}
    assert first["meta"]["text"] == "Breast Neoplasms"
    assert concept["value"] == place | {"text": ["MESH:D001943"]}
    assert {r["id"] for r in (first, concept)} == {"L1"} != {second["id"]}
    assert (second["value"]["start"], second["value"]["end"]) == (27, 48)
    assert prediction["score"] == min(first["score"], second["score"])
    keys = {(r["from_name"], r["to_name"], r["type"]) for r in prediction["result"]}
    assert keys == {("mention", "text", "labels"), ("concept", "text", "textarea")}


def test_what_is_denied_is_said_beside_the_concept(
    client: TestClient, deny: Callable[..., None]
) -> None:
    deny("breast cancer")
    first, concept, *_ = predicted(client)["result"]
    assert first["meta"]["text"] == "Breast Neoplasms (denied)"
    assert concept["value"]["text"] == ["MESH:D001943"]


def test_a_person_confirms_then_corrects_and_predictions_follow(client: TestClient) -> None:
    before = predicted(client)
    answer = post(client, "webhook", SENT["created"])
    assert answer == {"added": 2, "withdrawn": 0, "errors": []}
    confirmed = [
        ("breast cancer", "MESH:D001943", True),
        ("ataxia telangiectasia", "MESH:D001260", True),
    ]
    assert decisions(client) == confirmed
    first = client.get("/decisions").json()["decisions"][0]
    assert {k: first[k] for k in ("scope", "reviewer", "time", "model")} == {
        "scope": "emoji",
        "reviewer": "label-studio:1",
        "time": "2026-11-24T18:41:21+00:00",
        "model": "d1278138e44c",  # that made the prediction, not that of this service
    }
    assert post(client, "webhook", SENT["updated"]) == {"added": 2, "withdrawn": 1, "errors": []}
    corrected = [
        confirmed[1],
        ("breast cancer", "MESH:D061325", True),
        ("breast cancer", "MESH:D001943", False),
    ]
    assert decisions(client) == corrected
    assert post(client, "webhook", SENT["updated"])["added"] == 0
    after = predicted(client)
    assert after["result"][1]["value"]["text"] == ["MESH:D061325"]
    assert after["model_version"] != before["model_version"]  # so that it is asked for again
    elsewhere = predicted(client, document_id="other")
    assert elsewhere["result"][1]["value"]["text"] == ["MESH:D001943"]
    post(client, "webhook", SENT["deleted"])  # names the annotation by a number alone
    assert decisions(client) == corrected


LEFT = ("ataxia telangiectasia", "MESH:D001260", True)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"text": ["-1"]}, [(None, True), ("MESH:D001943", False)]),
        ({"text": []}, [("MESH:D001943", False)]),
        ({"text": ["MESH:D001943", "MESH:D010051"]}, [("MESH:D001943|MESH:D010051", True)]),
        ({"text": " D001943 "}, [("MESH:D001943", True)]),
        ({"text": ["MESH:D010051", "?"]}, [("MESH:D010051|?", True)]),
        ({"text": ["?"]}, []),
    ],
    ids=["no concept", "removed id", "two parts", "other spelling", "open part", "open"],
)
def test_what_stands_in_a_region_is_what_a_person_said(
    client: TestClient, value: Any, said: list[tuple[Any, ...]]
) -> None:
    expected = [("breast cancer", *rest) for rest in said]
    assert {*submitted(client, (1, "value", value))} == {*expected, LEFT}


def test_a_removed_region_says_nothing(client: TestClient) -> None:
    assert submitted(client, (0, "from_name", "gone"), (1, "from_name", "gone")) == [LEFT]


def test_an_unknown_id_is_an_error_and_the_rest_is_kept(client: TestClient) -> None:
    assert submitted(client, (1, "value", {"text": ["MESH:D9"]})) == [LEFT]
    assert client.answer["errors"] == ["region L1: the dictionary has no concept MESH:D9"]


def test_the_same_words_follow_the_region_that_was_changed(client: TestClient) -> None:
    same = {"start": 27, "end": 40, "text": "Breast cancer", "labels": ["Disease"]}
    changed = (1, "value", {"text": ["MESH:D061325"]})
    again = [
        ("breast cancer", "MESH:D061325", True),
        ("breast cancer", "MESH:D001943", False),
    ]
    as_it_was = {"text": "", "linker": {"ids": "MESH:D001260", "model": ""}}
    assert submitted(client, changed, (2, "value", same), (2, "meta", as_it_was)) == again
    other = (3, "value", {"text": ["MESH:D006509"]})
    assert submitted(client, changed, (2, "value", same), other) == []
    assert client.answer["errors"] == ["'breast cancer' has different concepts"]


def test_a_skipped_task_takes_back_what_was_said(client: TestClient) -> None:
    submitted(client)
    body = copy.deepcopy(SENT["updated"])
    body["annotation"]["was_cancelled"] = True
    assert post(client, "webhook", body) == {"added": 0, "withdrawn": 2, "errors": []}
    assert decisions(client) == []


def test_tasks_of_one_document_keep_what_was_said_in_the_others(client: TestClient) -> None:
    before = submitted(client)
    body = copy.deepcopy(SENT["created"])
    body["task"] |= {"id": 44, "data": body["task"]["data"] | {"text": "The HBOC\nsyndrome."}}
    place, concept = body["annotation"]["result"][:2]
    place["value"]["text"], concept["value"]["text"] = "HBOC\\nsyndrome", ["MESH:D001943"]
    del place["meta"]
    body["annotation"]["result"] = [place, concept]
    assert post(client, "webhook", body) == {"added": 1, "withdrawn": 0, "errors": []}
    assert decisions(client) == [*before, ("HBOC syndrome", "MESH:D001943", True)]
    body["annotation"]["result"] = []
    assert post(client, "webhook", body) == {"added": 0, "withdrawn": 1, "errors": []}
    assert decisions(client) == before


JSON = {"Content-Type": "application/json"}
BOMB = '<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]>'


@pytest.mark.parametrize(
    ("config", "data"),
    [
        ("<View>", {}),
        ("<View/>", {}),
        (CONFIG.replace("perRegion", "per"), {}),
        (BOMB + CONFIG, {}),
        (CONFIG, {"text": None}),
        (CONFIG, {"text": "\ud800"}),
    ],
    ids=["no XML", "no tags", "no concept", "bomb", "no text", "surrogate"],
)
def test_bad_input_is_told(client: TestClient, config: str, data: Any) -> None:
    body = copy.deepcopy(SENT["predict"]) | {"label_config": config}
    body["tasks"][0]["data"] |= data
    answer = client.post("/label-studio/predict", content=json.dumps(body), headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_a_webhook_that_is_none_and_a_service_without_decisions_are_told(start: Start) -> None:
    answer = start().post("/label-studio/webhook", json={"action": "ANNOTATION_CREATED"})
    assert (answer.status_code, answer.json()["where"]) == (422, "annotation")
    answer = start(decisions=None).post("/label-studio/webhook", json=SENT["created"])
    assert answer.status_code == 409


def test_the_key_is_the_password_that_label_studio_sends(start: Start) -> None:
    client = start(keys=(Key(b"secret"),))

    def status(password: str) -> int:
        basic = base64.b64encode(f"any:{password}".encode()).decode()
        headers = {"Authorization": f"Basic {basic}"}
        return client.get("/label-studio/health", headers=headers).status_code

    assert (status("secret"), status("wrong")) == (200, 401)
    headers = {"Authorization": "Basic x"}  # no base64
    assert client.get("/label-studio/health", headers=headers).status_code == 401
