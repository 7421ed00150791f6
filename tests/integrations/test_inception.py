"""The external recommender of INCEpTION.

`inception.json` is a request as INCEpTION makes it; its XMI and type system were written by Apache
UIMA for Java, whose offsets count UTF-16.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from linker import Dictionary, Linker

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="the extra test is not installed")
pytest.importorskip("cassis", reason="the extra inception is not installed")

from fastapi.testclient import TestClient

from linker.integrations import inception
from linker.service.app import create
from linker.service.settings import Settings
from linker.service.state import Service

SENT = json.loads(Path(__file__).with_name("inception.json").read_bytes())
XMI = SENT["document"]["xmi"]


@pytest.fixture(scope="module")
def client(sample: Path) -> Iterator[TestClient]:
    linker = Linker.train(Dictionary.read(sample), encoder="tfidf")
    with TestClient(create(Service(Settings("sample", None), linker), [inception])) as opened:
        yield opened


def asked(xmi: str = XMI, **changes: Any) -> dict[str, Any]:
    body = copy.deepcopy(SENT)
    body["document"]["xmi"] = xmi
    body["metadata"] |= {k: v for k, v in changes.items() if k in body["metadata"]}
    return body | {k: v for k, v in changes.items() if k in body}


def entities(client: TestClient, xmi: str) -> list[dict[str, str]]:
    """The named entities in the answer, as UIMA reads them."""
    answer = client.post("/inception/predict", json=asked(xmi))
    assert answer.status_code == 200, answer.text
    root = etree.fromstring(answer.json()["document"].encode())
    return [dict(element.attrib) for element in root.iter("{*}NamedEntity")]


def test_annotations_are_linked_and_others_found_with_offsets_of_utf_16(client: TestClient) -> None:
    found = sorted(entities(client, XMI), key=lambda e: (int(e["begin"]), e.get("value", "")))
    (new, suggested, marked) = found
    # "Note 😀😀: " are eleven units of UTF-16; the mention ends thirteen letters later
    assert (new["begin"], new["end"], new["identifier"]) == ("11", "24", "MESH:D001943")
    assert new["identifier_score_explanation"] == "Breast Neoplasms"
    assert 0 < float(new["identifier_score"]) <= 1
    assert (suggested["begin"], suggested["end"]) == ("29", "50")
    assert (suggested["identifier"], marked.get("identifier")) == ("MESH:D001260", None)
    assert [e["inception_internal_predicted"] for e in found] == ["true", "true", "false"]
    assert marked["value"] == "Disease"


def test_the_ids_of_the_parts_of_a_mention_stand_in_one_suggestion(client: TestClient) -> None:
    xmi = XMI.replace("ataxia telangiectasia (&#120120;T)", "hepatitis B/C, which is viral  ")
    found = {e["begin"]: e.get("identifier") for e in entities(client, xmi.replace('"50"', '"42"'))}
    assert found["29"] == "MESH:D006509|MESH:D006526"


def test_training_is_taken(client: TestClient) -> None:
    answer = client.post("/inception/train", json=SENT)
    assert (answer.status_code, answer.content) == (204, b"")


LAUGHS = "<!DOCTYPE a [<!ENTITY b 'bbbbbbbb'><!ENTITY c '&b;&b;&b;&b;'>]>"
FILE = '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]>'
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (asked(XMI[:-20]), "the XMI is no XML"),
        (asked(XMI.replace(HEAD, HEAD + LAUGHS)), "the XMI declares a document type"),
        (asked(XMI.replace(HEAD, HEAD + FILE).replace("Note", "&b;")), "references external entity"),
        (asked(typeSystem=HEAD + FILE + "<a>&b;</a>"), "the type system declares a document type"),
        (asked(typeSystem=""), "the type system is no XML"),
        (asked(typeSystem="<a/>"), "the XMI does not fit its type system: TypeNotFoundError"),
        (asked(XMI.replace('"50"', '"99"')), "NamedEntity (xmi:id 13) whose end is '99'; expected"),
        (asked(XMI.replace('"50"', '"53"')), "whose end is '53'; expected: an offset between"),
        (asked(XMI.replace('"50"', '"x"')), "whose end is 'x'; expected: an offset between"),
        (asked(XMI.replace("sofaString", "other")), "DocumentAnnotation (xmi:id 8) whose end is '67'"),
        (asked(XMI.replace('members="8 13"', 'members="9"')), "the XMI does not fit"),
        (asked(layer="custom.Disease"), "has no layer of annotations 'custom.Disease'"),
        (asked(layer="uima.cas.FSArray"), "has no layer of annotations 'uima.cas.FSArray'"),
        (asked(feature="code"), "has no feature 'code' of the type uima.cas.String"),
        (asked(feature="identifier_score"), "has no feature 'identifier_score' of the type uima"),
    ],
)  # fmt: skip
def test_bad_input_is_told(client: TestClient, body: Any, reason: str) -> None:
    answer = client.post("/inception/predict", json=body)
    assert (answer.status_code, reason in answer.json()["error"]) == (422, True), answer.text


def test_a_layer_that_takes_no_suggestions_and_a_missing_type_system_are_told(
    client: TestClient,
) -> None:
    old = SENT["typeSystem"].replace("inception_internal_predicted", "predicted")
    xmi = XMI.replace("inception_internal_predicted", "predicted")
    answer = client.post("/inception/predict", json=asked(xmi, typeSystem=old))
    assert "has no feature 'inception_internal_predicted'" in answer.json()["error"]
    body = asked()
    del body["typeSystem"]
    answer = client.post("/inception/predict", json=body)
    assert (answer.status_code, answer.json()["error"]) == (422, "typeSystem is missing")
