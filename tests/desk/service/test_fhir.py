"""FHIR's operation $translate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from linker.desk.service.settings import Key

from .conftest import Start

URL = "/fhir/ConceptMap/$translate"
MEDIA = "application/fhir+json"
MESH = "urn:oid:2.16.840.1.113883.6.177"


def parameters(*pairs: tuple[str, str, Any]) -> dict[str, Any]:
    entries = [{"name": name, f"value{kind}": value} for name, kind, value in pairs]
    return {"resourceType": "Parameters", "parameter": entries}


def match(kind: str, code: str, concept: str, display: str) -> dict[str, Any]:
    coding = {"system": MESH, "code": concept, "display": display}
    part = [{"name": kind, "valueCode": code}, {"name": "concept", "valueCoding": coding}]
    return {"name": "match", "part": part}


def answered(answer: Any) -> tuple[bool, str, list[Any]]:
    """The result, the message and the matches."""
    assert (answer.status_code, answer.headers["content-type"]) == (200, MEDIA)
    assert answer.json()["resourceType"] == "Parameters"
    result, message, *matches = answer.json()["parameter"]
    assert (result["name"], message["name"]) == ("result", "message")
    return result["valueBoolean"], message["valueString"], matches


ATAXIA = "D001260", "Ataxia Telangiectasia"


def test_what_is_denied_is_no_match(client: Any, deny: Callable[..., None]) -> None:
    deny("Louis-Bar syndrome", assertion="possible")
    name = ("code", "Code", "Louis-Bar syndrome")
    result, message, matches = answered(client.post(URL, json=parameters(name)))
    assert (result, matches) == (False, [])
    assert message == ("MESH:D001260 Ataxia Telangiectasia is no match, since it is possible")


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("code", "Code", "Louis-Bar syndrome"),
        ("coding", "Coding", {"system": "http://a", "code": "7", "display": "Louis-Bar syndrome"}),
        ("codeableConcept", "CodeableConcept", {"text": "Louis-Bar syndrome"}),
        (
            "codeableConcept",
            "CodeableConcept",
            {"coding": [{"display": "Louis-Bar syndrome", "version": "1"}], "id": "x"},
        ),
    ],
)
def test_sources(client: Any, name: str, kind: str, value: Any) -> None:
    headers = {"Content-Type": MEDIA}
    r4 = answered(client.post(URL, json=parameters((name, kind, value)), headers=headers))
    assert r4[0]
    assert r4[1].startswith("not reviewed; confidence 0.")
    assert r4[2] == [match("equivalence", "relatedto", *ATAXIA)]


def test_a_code_in_the_query(client: Any) -> None:
    _, message, matches = answered(client.get(URL, params={"code": "breast and ovarian cancer"}))
    assert matches == [
        match("equivalence", "relatedto", "D001943", "Breast Neoplasms"),
        match("equivalence", "relatedto", "D010051", "Ovarian Neoplasms"),
    ]
    assert message.startswith("part 1 of 2: breast cancer; not reviewed; confidence 0.")
    short = answered(client.get(URL, params={"code": "A-T"}))  # without a text that explains it
    message = "no concept is sure enough (0.5): MESH:D001260 Ataxia Telangiectasia (0."
    assert (short[0], short[1][: len(message)], short[2]) == (False, message, [])
    none = answered(client.get(URL, params={"code": "…"}))
    assert none == (False, "no concept; not reviewed", [])


def test_what_people_accepted_is_equivalent(client: Any) -> None:
    decisions = [
        {"mention": "heart trouble", "concept_id": "MESH:D001260", "reviewer": "Ada"},
        {"mention": "breast cancer", "concept_id": None, "reviewer": "Ada"},
    ]
    assert client.post("/decisions", json={"decisions": decisions}).status_code == 201
    accepted = answered(client.get(URL, params={"code": "heart trouble"}))
    assert accepted == (
        *(True, "accepted by Ada"),
        [match("equivalence", "equivalent", *ATAXIA)],
    )
    none = answered(client.get(URL, params={"code": "breast cancer"}))
    assert none == (False, "no concept; accepted by Ada", [])
    decisions[0]["predicate"] = "broad"
    assert client.post("/decisions", json={"decisions": decisions}).status_code == 201
    broader = answered(client.get(URL, params={"code": "heart trouble"}))
    assert broader[2] == [match("equivalence", "wider", *ATAXIA)]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"code": "a", "coding": "b"},
        {"code": ["a", "b"]},
        {"code": " "},
        {"code": "a", "reverse": "true"},
        {"code": "a", "sourceCode": "b"},  # of R5
        {"code": "D001260", "system": MESH},
        {"code": "a", "targetsystem": MESH},
    ],
)
def test_what_cannot_be_translated(client: Any, query: dict[str, Any]) -> None:
    assert refused(client.get(URL, params=query), 422)["code"] == "invalid"


def refused(answer: Any, status: int) -> dict[str, str]:
    assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA)
    assert answer.json()["resourceType"] == "OperationOutcome"
    (issue,) = answer.json()["issue"]
    assert issue["severity"] == "error"
    return dict(issue)


def test_bodies_limits_and_keys(start: Start) -> None:
    client = start({"mention": 20, "body": 500}, keys=(Key(b"0123456789abcdef"),))
    key = {"X-API-Key": "0123456789abcdef"}
    no_key = client.get(URL, params={"code": "gout"})
    assert no_key.headers["www-authenticate"] == "Bearer"
    assert refused(no_key, 401)["code"] == "login"
    long = client.get(URL, params={"code": "x" * 21}, headers=key)
    assert refused(long, 413)["code"] == "too-long"
    assert refused(client.post(URL, content=b" " * 501, headers=key), 413)["code"] == "too-long"
    json_ = {**key, "Content-Type": MEDIA}
    assert refused(client.post(URL, content="{", headers=json_), 422)["code"] == "invalid"
    patient = client.post(URL, json={"resourceType": "Patient"}, headers=key)
    assert refused(patient, 422)["diagnostics"].startswith("resourceType: ")
    assert refused(client.get("/fhir/metadata", headers=key), 404)["code"] == "not-found"


def test_fhir_resources_reads_the_answers(client: Any) -> None:
    r4 = pytest.importorskip("fhir.resources.R4B")
    for code, kind in (("breast and ovarian cancer", "Parameters"), ("", "OperationOutcome")):
        record = client.get(URL, params={"code": code}).json()
        assert r4.get_fhir_model_class(kind).model_validate(record)
