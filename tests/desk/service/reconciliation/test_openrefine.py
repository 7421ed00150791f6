"""The requests that OpenRefine sends, written by hand after its source (3.6 to 3.9).

From the server: GuessTypesOfColumnCommand, StandardReconConfig, ReconciledDataExtensionJob. From
the browser: recon-manager.js, suggest-4_3a.js, extend-data-preview-dialog.js, cell-ui.js.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient


def post(client: TestClient, body: str) -> Any:
    """Send a form as Java's URLConnection does."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    response = client.post("/reconcile", content=body, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


def test_registering_by_cors(client: TestClient, valid: Any) -> None:
    response = client.get(
        "/reconcile", headers={"Origin": "http://127.0.0.1:3333", "Accept": "application/json"}
    )
    assert response.headers["access-control-allow-origin"] == "*"
    manifest = response.json()
    assert manifest["versions"] == ["0.2"]
    assert manifest["name"] == "linker TOY"
    valid("manifest", manifest)


def test_manifest_names_addresses_that_answer(client: TestClient) -> None:
    manifest = client.get("/reconcile").json()
    for what, entry in manifest["suggest"].items():
        url = entry["service_url"] + entry["service_path"]
        assert client.get(url, params={"prefix": "c"}).json()["result"], what
    entity = manifest["suggest"]["entity"]
    flyout = entity["flyout_service_url"] + entity["flyout_service_path"]
    card = client.get(flyout.replace("${id}", quote("TOY:11", safe=""))).json()
    assert card["id"] == "TOY:11"
    assert "<b>" in card["html"]
    preview = manifest["preview"]["url"].replace("{{id}}", quote("TOY:11", safe=""))
    assert client.get(preview).status_code == 200
    propose = manifest["extend"]["propose_properties"]
    assert client.get(propose["service_url"] + propose["service_path"] + "?type=TOY:1").json()
    assert [entry["id"] for entry in manifest["defaultTypes"]] == ["concept", "TOY:1", "TOY:2"]
    assert manifest["view"]["url"] == "https://bioregistry.io/{{id}}"


def test_reconciling_with_a_type_and_another_column(client: TestClient) -> None:
    properties = [{"pid": "xrefs", "v": {"id": "MESH:D001932", "name": "brain cancer"}}]
    query = {"query": "cancer", "type": "TOY:1", "type_strict": "should"}
    query["properties"] = properties
    text = json.dumps({f"q{i}": query for i in range(10)}, separators=(",", ":"))
    content = post(client, "queries=" + quote(text, safe=""))
    assert [*content] == [f"q{i}" for i in range(10)]
    (first, *_), *others = (entry["result"] for entry in content.values())
    assert first["id"] == "TOY:12"
    assert all(other[0] == first for other in others)
    asked = {"queries": '{"q0":{"query":"migraine"}}'}  # by GET
    content = client.get("/reconcile", params=asked).json()
    assert content["q0"]["result"][0]["id"] == "TOY:21"


def extended(client: TestClient, ids: list[str], *properties: dict[str, Any]) -> Any:
    """The answer to a query for data extension."""
    text = json.dumps({"ids": ids, "properties": properties})
    return post(client, "extend=" + quote(text, safe=""))


def test_fetching_properties(client: TestClient, valid: Any) -> None:
    wanted = [{"id": name} for name in ("parents", "synonyms", "xrefs", "definition", "ancestors")]
    content = extended(client, ["TOY:12", "TOY:11"], *wanted, {"id": "children"}, {"id": "name"})
    names = {"TOY:0": "disease", "TOY:1": "cancer", "TOY:2": "nervous system disease"}
    ancestors = [{"id": identifier, "name": name} for identifier, name in names.items()]
    above = {"parents": ancestors[1:], "ancestors": ancestors, "children": [], "synonyms": []}
    assert content["rows"]["TOY:12"] == above | {
        "xrefs": [{"str": "MESH:D001932"}],
        "definition": [{"str": "A cancer inside the skull."}],
        "name": [{"str": "brain cancer"}],
    }
    row = content["rows"]["TOY:11"]
    assert row["synonyms"] == [{"str": "mammary cancer"}, {"str": "breast carcinoma"}]
    assert row["xrefs"] == [{"str": "TOY:111"}, {"str": "MESH:D001943"}]
    assert content["meta"][0] == {
        "id": "parents",
        "name": "Parents",
        "type": {"id": "concept", "name": "Any concept"},
    }
    valid("data-extension-response", content)


def test_unknown_ids_and_properties_have_no_values(client: TestClient, valid: Any) -> None:
    content = extended(client, ["TOY:99", "TOY:111"], {"id": "name"}, {"id": "P31"})
    assert content["rows"]["TOY:99"] == {"name": [], "P31": []}
    assert content["rows"]["TOY:111"] == {"name": [{"str": "breast cancer"}], "P31": []}
    assert [column["name"] for column in content["meta"]] == ["Preferred name", "P31"]
    valid("data-extension-response", content)


def test_proposed_properties(client: TestClient, valid: Any) -> None:
    content = client.get("/reconcile/properties?type=TOY:1").json()
    assert content["type"] == "TOY:1"
    assert "parents" in {p["id"] for p in content["properties"]}
    valid("data-extension-property-proposal", content)


def suggested(client: TestClient, what: str, **parameters: Any) -> list[str]:
    """The ids that are suggested."""
    response = client.get(f"/reconcile/suggest/{what}", params=parameters)
    assert response.status_code == 200, response.text
    return [entry["id"] for entry in response.json()["result"]]


def test_suggesting_entities(client: TestClient, valid: Any) -> None:
    assert suggested(client, "entity", prefix="brea")[0] == "TOY:11"
    assert suggested(client, "entity", prefix="MAMMARY C")[0] == "TOY:11"
    assert suggested(client, "entity", prefix="TOY:21")[0] == "TOY:21"
    assert "TOY:12" in suggested(client, "entity", prefix="brain canser")  # a similar name
    whole = suggested(client, "entity", prefix="m")
    assert len(whole) == len(set(whole))
    assert whole[:2] != whole[1:3]
    assert suggested(client, "entity", prefix="") == []
    parameters = {"prefix": "ca", "spell": "always", "exact": "false", "prefixed": "true"}
    content = client.get("/reconcile/suggest/entity", params=parameters).json()
    valid("suggest-entities-response", content)
    # Else "Search for match" of a whole column (menu-reconcile.js) writes "[object Object]".
    content = client.get("/reconcile/suggest/entity", params={"prefix": "brain cancer"}).json()
    assert content["result"][0]["notable"] == ["TOY:1", "TOY:2", "rare"]


def test_suggesting_types_and_properties(client: TestClient, valid: Any) -> None:
    assert suggested(client, "type", prefix="") == ["concept", "TOY:1", "TOY:2", "common", "rare"]
    assert suggested(client, "type", prefix="system") == ["TOY:2"]
    # the highest concept is not offered, but a branch
    assert suggested(client, "type", prefix="TOY:0") == ["TOY:0"]
    assert suggested(client, "type", prefix="dis") == ["TOY:2", "TOY:0"]
    assert suggested(client, "property", prefix="par") == ["parents"]
    for what, schema in (("type", "types"), ("property", "properties")):
        content = client.get(f"/reconcile/suggest/{what}", params={"prefix": "c"}).json()
        valid(f"suggest-{schema}-response", content)


def test_the_flyout_of_an_unknown_id_is_empty(client: TestClient) -> None:
    content = client.get("/reconcile/flyout/entity", params={"id": "<x>"}).json()
    assert content == {"id": "<x>", "html": ""}


def test_the_preview_shows_markup_as_text_and_asks_nobody(client: TestClient) -> None:
    response = client.get("/reconcile/preview", params={"id": "TOY:11"})
    assert response.headers["content-type"].startswith("text/html")
    assert "breast carcinoma" in response.text
    assert "Under: cancer" in response.text
    assert "&lt;b&gt;with&lt;/b&gt;" in response.text
    assert "<b>with" not in response.text
    assert not re.search(r"https?:|src=|href=|<script", response.text)
    assert "default-src 'none'" in response.headers["content-security-policy"]
    unknown = client.get("/reconcile/preview", params={"id": "<script>alert(1)</script>"})
    assert unknown.status_code == 404
    assert "<script>" not in unknown.text
