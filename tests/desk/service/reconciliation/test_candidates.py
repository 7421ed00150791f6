"""Queries and their results."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from linker import Linker
from linker.desk.service.reconciliation import BATCH, CellQuery, Vocabulary
from linker.desk.service.settings import Settings
from linker.desk.service.state import Service
from linker.records import Assertion, Candidate, Mention, Part, Prediction, State

from .conftest import SPECS, answers


def first(client: TestClient, **query: Any) -> dict[str, Any]:
    """The first candidate of one query."""
    result = answers(client, {"q0": query})["q0"]["result"]
    assert result, query
    candidate: dict[str, Any] = result[0]
    return candidate


def ids(client: TestClient, **query: Any) -> list[str]:
    """The ids of the candidates of one query."""
    return [c["id"] for c in answers(client, {"q0": query})["q0"]["result"]]


def judged(
    linker: Linker, query: dict[str, Any], *parts: Part, state: State = "model"
) -> list[Any]:
    """The result of a query whose text is answered with these parts."""
    linked = None, [Prediction(Mention("x"), parts, state=state)]
    return Vocabulary(linker).result(CellQuery.model_validate(query), [linked])


def part(*candidates_: tuple[str, float], text: str = "a", source: str = "") -> Part:
    """A part with candidates of these ids and confidences."""
    return Part(
        text,
        candidates=tuple(
            Candidate(i, "n", text, c, source=source, confidence=c) for i, c in candidates_
        ),
    )


def test_a_model_without_confidence_matches_no_name(client: TestClient) -> None:
    candidate = first(client, query="breast carcinoma")
    assert candidate["id"] == "TOY:11"
    assert candidate["name"] == "breast cancer"
    assert candidate["match"] is False
    assert candidate["score"] == 100
    assert candidate["description"].startswith("A cancer of the mammary gland")
    similar = first(client, query="breast canser")  # without confidence
    assert (similar["id"], similar["match"]) == ("TOY:11", False)


def test_types_of_a_candidate_are_all_branches_and_semantic_types(client: TestClient) -> None:
    types = [entry["id"] for entry in first(client, query="brain cancer")["type"]]
    assert types == ["concept", "TOY:1", "TOY:2", "rare"]


def test_a_feature_says_whether_a_candidate_is_in_the_set(
    client: TestClient, sampled_client: TestClient, toy: Linker
) -> None:
    found = [("TOY:11", 0.5), ("TOY:12", 0.25), ("TOY:21", 0.125)]
    of_set = replace(part(*found), answers=("TOY:11", None, "TOY:12"))
    features = [c["features"] for c in judged(toy, {"query": "a"}, of_set)]
    assert features == [[{"id": "in_set", "value": value}] for value in (True, True, False)]
    assert first(client, query="brain cancer")["features"] == []  # nothing calibrates this model
    sure = first(sampled_client, query="heart failure")
    assert (sure["match"], sure["features"]) == (True, [{"id": "in_set", "value": True}])


def test_a_name_of_two_concepts_is_no_match(client: TestClient) -> None:
    candidates_ = answers(client, {"q0": {"query": "MA"}})["q0"]["result"]
    assert {c["id"] for c in candidates_[:2]} == {"TOY:21", "TOY:22"}
    assert not any(c["match"] for c in candidates_)


@pytest.mark.parametrize("text", ["TOY:12", "TOY:111", "MESH:D001932", "D001932"])
def test_an_id_is_answered_by_its_concept(client: TestClient, text: str) -> None:
    candidate = first(client, query=text)
    assert candidate["id"] == ("TOY:11" if text == "TOY:111" else "TOY:12")
    assert candidate["match"] is True
    assert candidate["score"] == 100


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("TOY:1", {"TOY:1", "TOY:11", "TOY:12"}),
        ("rare", {"TOY:12"}),
        ("TOY:2", {"TOY:2", "TOY:12", "TOY:21", "TOY:22"}),
    ],
)
def test_a_type_restricts(client: TestClient, wanted: str, expected: set[str]) -> None:
    assert set(ids(client, query="cancer", type=wanted, limit=10)) <= expected
    assert ids(client, query="cancer", type=[wanted], type_strict="should")[0] in expected


def test_a_type_matches_nothing_where_a_concept_outside_is_better(
    sampled_client: TestClient,
) -> None:
    """The nearest inside are hypertension, heart failure and diabetic retinopathy."""
    for text in ("pulmonary hypertension", "kidney failure", "retinopathy", "muscle disease"):
        assert not first(sampled_client, query=text, type="MESH:D002318")["match"], text
    inside = first(sampled_client, query="heart failure", type="MESH:D002318")
    assert (inside["name"], inside["match"]) == ("Heart Failure", True)


def test_of_several_types_one_is_needed(client: TestClient) -> None:
    both = {"query": "cancer", "type": ["TOY:1", "TOY:2"], "limit": 10}
    assert {"TOY:11", "TOY:12"} <= set(ids(client, **both, type_strict="any"))
    mixed = {"query": "cancer", "type": ["TOY:1", "rare"], "limit": 10}
    assert set(ids(client, **mixed)) == {"TOY:1", "TOY:11", "TOY:12"}


def test_unknown_types_have_no_concepts_and_the_generic_type_has_all(client: TestClient) -> None:
    assert ids(client, query="cancer", type="/people/person") == []
    assert ids(client, query="cancer", type=["nothing", "rare"]) == ["TOY:12"]
    assert ids(client, query="cancer", type="concept") == ids(client, query="cancer")


@pytest.mark.parametrize(
    ("pid", "value", "expected"),
    [
        ("xrefs", "MESH:D008881", "TOY:21"),
        ("id", "TOY:22", "TOY:22"),
        ("xrefs", ["nothing", None, "MESH:D008881"], "TOY:21"),
        ("xrefs", {"id": "MESH:D008881", "name": "Migraine"}, "TOY:21"),
    ],
)
def test_ids_tell_namesakes_apart(client: TestClient, pid: str, value: Any, expected: str) -> None:
    candidate = first(client, query="MA", properties=[{"pid": pid, "v": value}])
    assert (candidate["id"], candidate["match"]) == (expected, True)


def test_the_id_of_a_property_decides_against_the_text(client: TestClient) -> None:
    query = {"query": "breast cancer", "properties": [{"pid": "xrefs", "v": "MESH:D008881"}]}
    candidate = first(client, **query)
    assert candidate["id"] == "TOY:21"
    assert candidate["match"] is True
    # unless the type excludes it
    assert first(client, **query, type="TOY:1")["id"] == "TOY:11"


def test_properties_alone_are_answered(client: TestClient) -> None:
    assert ids(client, properties=[{"pid": "id", "v": "TOY:12"}]) == ["TOY:12"]
    assert ids(client, properties=[{"pid": "parents", "v": "TOY:2"}]) == []


def test_the_limit_is_kept_and_scores_fall(client: TestClient) -> None:
    assert len(ids(client, query="cancer", limit=2)) == 2
    scores = [c["score"] for c in answers(client, {"q": {"query": "cancer"}})["q"]["result"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= s <= 100 for s in scores)


@pytest.mark.parametrize("text", ["", " \n", None, "x" * 5000])
def test_what_is_no_name_has_no_candidates(client: TestClient, text: str | None) -> None:
    content = answers(client, {"a": {"query": text}, "b": {"query": "breast cancer"}})
    assert content["a"] == {"result": []}
    assert content["b"]["result"][0]["id"] == "TOY:11"


def test_a_cell_of_two_names_is_never_matched(sampled: Linker) -> None:
    parts = part(("MESH:D000012", 0.99)), part(("MESH:D000130", 0.97), text="b")
    result = judged(sampled, {"query": "a and b"}, *parts)
    assert [(c["score"], c["match"]) for c in result] == [(99, False), (97, False)]


@pytest.mark.parametrize(
    ("text", "identifier", "confidence", "matched"),
    [
        ("a", "MESH:D000012", 0.8, True),
        ("a", "MESH:D000012", 0.79, False),
        ("FAP", "MESH:D011125", 0.99, False),  # short forms, in any case, are open
        ("fap", "MESH:D011125", 0.99, False),
        ("polyp", "MESH:D011125", 0.99, True),
    ],
)
def test_a_match_needs_confidence_and_no_short_form(
    sampled: Linker, text: str, identifier: str, confidence: float, matched: bool
) -> None:
    (entry,) = judged(sampled, {"query": text}, part((identifier, confidence), text=text))
    assert (entry["score"], entry["match"]) == (100 * confidence, matched)


@pytest.mark.parametrize(
    ("assertion", "description"),
    [
        ("present", ""),
        ("absent", "denied in the cell. "),
        ("possible", "only possible, says the cell. "),
        ("historical", "past, says the cell. "),
        ("family", "of a relative, says the cell. "),
    ],
)
def test_what_is_denied_is_never_matched(
    toy: Linker, sampled: Linker, assertion: Assertion, description: str
) -> None:
    toy = toy.with_ranker(sampled.ranker)
    for source in ("", "decision"):
        sure = replace(part(("TOY:11", 1.0), source=source), assertion=assertion)
        (entry,) = judged(toy, {"query": "a"}, sure)
        assert (entry["id"], entry["score"]) == ("TOY:11", 100)
        assert entry["match"] is (assertion == "present")
        assert entry["description"].startswith(f"{description}A cancer of the mammary gland")
    one, denied = part(("TOY:12", 0.9)), replace(part(("TOY:21", 0.9)), assertion=assertion)
    assert not any(c["match"] for c in judged(toy, {"query": "a; no b"}, one, denied))


def test_what_the_model_does_not_answer_is_no_match(toy: Linker) -> None:
    nil = replace(part(("TOY:21", 0.9)), nil=True)
    (entry,) = judged(toy, {"query": "a"}, nil)
    assert (entry["id"], entry["match"]) == ("TOY:21", False)
    query = {"query": "a", "properties": [{"pid": "id", "v": "TOY:21"}]}
    assert [(c["id"], c["match"]) for c in judged(toy, query, nil)] == [("TOY:21", True)]


DECIDED = part(("TOY:21", 1.0), source="decision")


def test_a_decision_is_certain(toy: Linker) -> None:
    (entry,) = judged(toy, {"query": "a"}, DECIDED)
    assert (entry["id"], entry["match"], entry["score"]) == ("TOY:21", True, 100)
    # but not on one of two parts
    (entry,) = judged(toy, {"query": "a and b"}, DECIDED, Part("b", nil=True), state="accepted")
    assert (entry["id"], entry["match"]) == ("TOY:21", False)
    # nor where the other part is open
    is_open = replace(part(("TOY:12", 0.9), text="b"), is_open=True)
    result = judged(toy, {"query": "a and b"}, DECIDED, is_open, state="open")
    assert [(c["id"], c["match"], c["score"]) for c in result] == [
        ("TOY:21", False, 100),
        ("TOY:12", False, 90),
    ]
    # it wins over an id that is the text
    assert [c["id"] for c in judged(toy, {"query": "TOY:12"}, DECIDED, state="accepted")] == [
        "TOY:21"
    ]
    assert judged(toy, {"query": "TOY:12"}, Part("a", nil=True), state="no concept") == []


def test_a_name_is_matched_by_the_ranker(sampled: Linker, sampled_client: TestClient) -> None:
    """Scores are confidences in hundredths; what the model would not answer is a candidate, too."""
    client = sampled_client
    (linked,) = sampled.link(["oesophageal cancers"], k=5, threshold=0)
    expected = [round(100 * (c.confidence or 0.0), 2) for c in linked.parts[0].candidates]
    result = answers(client, {"q": {"query": "oesophageal cancers", "limit": 5}})["q"]["result"]
    assert [c["score"] for c in result] == pytest.approx(expected, abs=0.01)
    assert result[0]["match"] is (expected[0] >= 80)
    ambiguous = "FAP"  # means two of its concepts, or anything
    assert first(client, query=ambiguous)["match"] is False
    unknown = "water"
    (part,) = sampled.link(unknown).parts
    assert part.nil
    assert part.candidates
    assert first(client, query=unknown)["match"] is False


def _query(properties: list[dict[str, Any]]) -> str:
    return json.dumps({"q": {"query": "cancer", "properties": properties}})


BAD = [
    ("queries", "{"),
    ("queries", "[1]"),
    ("queries", '{"q": {"limit": 1}}'),
    ("queries", '{"q": {"query": "a", "props": []}}'),
    ("queries", '{"q": {"query": "a", "limit": -1}}'),
    ("queries", '{"q": {"query": "a", "type_strict": "x"}}'),
    ("queries", "[" * 100_000),
    ("queries", r'{"q": {"query": "a", "type": "\ud800"}}'),
    ("extend", '{"ids": ["a"]}'),
    ("queries", _query([{"pid": "id", "v": "a"}] * 21)),
    ("queries", _query([{"pid": "id", "v": ["a"] * 101}])),
    ("queries", _query([{"pid": "id"}])),
    ("extend", json.dumps({"ids": [], "properties": [{"id": "name"}] * 21})),
]


@pytest.mark.parametrize(("parameter", "text"), BAD)
def test_bad_requests_name_the_parameter(client: TestClient, parameter: str, text: str) -> None:
    response = client.post("/reconcile", data={parameter: text})
    assert response.status_code == 422
    assert response.json()["where"].startswith(parameter)


def test_a_request_is_answered_by_one_model(
    client: Any, sampled: Linker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is another one as soon as anything is done."""
    query = {"query": "cancer", "type": "TOY:1"}
    expected = answers(client, {"q": query})
    assert expected["q"]["result"]
    service, other = client.service, Service(Settings("sample"), sampled).model

    def swapping(function: Any) -> Any:
        async def swapped(*args: Any) -> Any:
            monkeypatch.setattr(service, "model", other)
            return await function(*args)

        return swapped

    for name in ("run", "answer"):
        monkeypatch.setattr(service, name, swapping(getattr(service, name)))
    assert answers(client, {"q": query}) == expected


def test_batches_have_a_limit(client: TestClient) -> None:
    batch = {f"q{i}": {"query": ""} for i in range(BATCH + 1)}
    response = client.post("/reconcile", data={"queries": json.dumps(batch)})
    assert response.status_code == 413
    assert str(BATCH) in response.json()["error"]
    assert client.get("/reconcile").json()["batchSize"] == BATCH


def test_the_protocols_examples(client: TestClient, valid: Any) -> None:
    folder = SPECS / "examples" / "reconciliation-query-batch"
    for path in sorted(folder.glob("valid/*.json")):
        response = client.post("/reconcile", data={"queries": path.read_text("utf-8")})
        assert response.status_code == 200, path
        assert response.json().keys() == json.loads(path.read_text("utf-8")).keys()
        valid("reconciliation-result-batch", response.json())
    for path in sorted(folder.glob("invalid/*.json")):
        response = client.post("/reconcile", data={"queries": path.read_text("utf-8")})
        assert response.status_code == 422, path
