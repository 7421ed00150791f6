"""Keys with names: in whose name requests act."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from fastapi.testclient import TestClient

from linker.desk.service.settings import Key

from .conftest import Start

KEYS = tuple(
    Key(name.encode() * 16, reviewer) for name, reviewer in (("a", "ada"), ("e", "eve"), ("n", ""))
)
ADA, EVE, NOBODY = ({"X-API-Key": key.secret.decode()} for key in KEYS)


@pytest.fixture
def keyed(start: Start) -> TestClient:
    return start(keys=KEYS)


def decide(client: TestClient, headers: dict[str, str], **said: Any) -> Any:
    decision = {"mention": "gout", "concept_id": None} | said
    return client.post("/decisions", json={"decisions": [decision]}, headers=headers)


@pytest.mark.parametrize(
    ("key", "said", "acted"),
    [
        (ADA, {}, "ada"),
        (ADA, {"reviewer": " ada "}, "ada"),
        (ADA, {"reviewer": "bob"}, 403),
        (NOBODY, {"reviewer": "bob"}, "bob"),
        (NOBODY, {"reviewer": "ada"}, 403),
        (ADA, {"reviewer": "ＡＤＡ"}, "ada"),
        (NOBODY, {"reviewer": "Ada\u200b"}, 403),
        (NOBODY, {"reviewer": "EVE"}, 403),
    ],
)
def test_a_request_acts_in_the_name_of_its_key(
    keyed: TestClient, key: dict[str, str], said: Any, acted: str | int
) -> None:
    answer = decide(keyed, key, **said)
    if acted == 403:
        assert (answer.status_code, answer.json()["where"]) == (403, "reviewer")
    else:
        assert answer.json()["decisions"][0]["reviewer"] == acted


def test_a_service_without_names_believes_what_is_said(start: Start) -> None:
    for keys, headers in (((), {}), (KEYS[2:], NOBODY)):
        client = start(keys=keys)
        answer = decide(client, headers, reviewer="ada", settles=["bob"])
        (decision,) = answer.json()["decisions"]
        assert (decision["reviewer"], decision["settles"]) == ("ada", ["bob"])
        assert client.get("/model", headers=headers).json()["reviewer"] is None


def test_the_page_is_told_whose_the_key_is(keyed: TestClient) -> None:
    told = [keyed.get("/model", headers=key).json() for key in (ADA, EVE, NOBODY)]
    assert [model["reviewer"] for model in told] == ["ada", "eve", None]


def test_no_change_is_made_in_the_name_of_another(keyed: TestClient) -> None:
    described = keyed.get("/openapi.json", headers=ADA).json()
    naming = [
        (method, path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        if method != "get" and "reviewer" in json.dumps(_resolved(operation, described))
    ]
    assert len(naming) > 5
    for method, path, operation in naming:
        address = re.sub(r"{\w+}", "1", path)
        if any(parameter["name"] == "reviewer" for parameter in operation.get("parameters", ())):
            answer = keyed.request(method, f"{address}?reviewer=bob", headers=ADA)
        else:
            body = {"reviewer": "bob", "decisions": [{"reviewer": "bob"}]}
            answer = keyed.request(method, address, json=body, headers=ADA)
        assert answer.status_code == 403, (method, path, answer.json())


def _resolved(operation: Any, described: Any) -> list[Any]:
    """What an operation takes, with the schema of its body and those that this names."""
    taken = [operation.get("parameters"), operation.get("requestBody")]
    text, names = json.dumps(taken), set[str]()
    schemas = described["components"]["schemas"]
    while new := {name for name in schemas if f'schemas/{name}"' in text} - names:
        names |= new
        text += json.dumps([schemas[name] for name in new])
    return [*taken, *(schemas[name] for name in names)]
