"""ConceptMaps of FHIR R4."""

from __future__ import annotations

import json
import re
from typing import Any

from linker.io.outputs import ObjectSource
from linker.records import Broader, Candidate, Mention, Part, Prediction

from .conftest import written
from .test_terms_output import answered, asserted

GOUT = Candidate("MESH:D006073", "Gout", "gout", 1.0, confidence=0.98765)
COUGH = Candidate("HP:0012735", "Cough", "cough", 1.0)
FEVER = Candidate("MESH:D005334", "Fever", "fever", 1.0, confidence=0.5)
MESH = "urn:oid:2.16.840.1.113883.6.177"


def read(*predictions: Prediction) -> dict[str, Any]:
    source = ObjectSource("medic.tsv", "2026", ("MESH",))
    record: dict[str, Any] = json.loads(
        written("conceptmap", (None, predictions), vocabulary=source)
    )
    return record


def test_what_is_denied_is_no_target() -> None:
    denied = asserted(answered("no gout", GOUT), "absent")
    mixed = asserted(answered("fever; no gout", FEVER, GOUT), "present", "absent")
    (group,) = read(denied, mixed)["group"]
    (element,) = group["element"]
    (target,) = element["target"]
    assert (element["code"], target["code"]) == ("fever; no gout", "D005334")
    assert target["comment"].startswith("part 1 of 2: fever; no gout; ")
    assert "group" not in read(denied)


def test_a_broader_concept_is_wider() -> None:
    part = Part("x", candidates=(FEVER,), broader=Broader("MESH:D012816", "Signs", 0.8))
    nil = Part("y", nil=True, broader=Broader("MESH:D012816", "Signs", 0.75))
    (group,) = read(Prediction(Mention("x"), (part,)), Prediction(Mention("y"), (nil,)))["group"]
    unsure, none = (element["target"] for element in group["element"])
    assert [(t["code"], t["equivalence"], t["comment"][-6:]) for t in (*unsure, *none)] == [
        ("D005334", "relatedto", "0.5000"),
        ("D012816", "wider", "0.8000"),
        ("D012816", "wider", "0.7500"),
    ]


def test_the_whole_file() -> None:
    composite = Prediction(
        Mention("gout and  cough"),
        (Part("gout", candidates=(GOUT,)), Part("cough", candidates=(COUGH,))),
    )
    record = read(answered("gout", GOUT), composite, answered("x", None), answered("gout", GOUT))
    url, description = record.pop("url"), record.pop("description")
    assert re.fullmatch("urn:uuid:[0-9a-f-]{36}", url)
    assert "the concepts of medic.tsv (2026)" in description
    gout = {"code": "D006073", "display": "Gout", "equivalence": "relatedto"}
    cough = {"code": "HP:0012735", "display": "Cough", "equivalence": "relatedto"}
    said = "not reviewed; confidence 0.9877"
    assert record == {
        "resourceType": "ConceptMap",
        "name": "LinkerMentions",
        "status": "draft",
        "experimental": True,
        "group": [
            {
                "source": "http://local.invalid/mentions",
                "target": MESH,
                "element": [
                    {"code": "gout", "target": [gout | {"comment": said}]},
                    {
                        "code": "gout and cough",
                        "target": [gout | {"comment": f"part 1 of 2: gout; {said}"}],
                    },
                    {
                        "code": "x",
                        "target": [{"equivalence": "unmatched", "comment": "not reviewed"}],
                    },
                ],
            },
            {
                "source": "http://local.invalid/mentions",
                "target": "http://human-phenotype-ontology.org",
                "element": [
                    {
                        "code": "gout and cough",
                        "target": [cough | {"comment": "part 2 of 2: cough; not reviewed"}],
                    }
                ],
            },
        ],
    }


def test_only_what_people_accepted_is_equivalent() -> None:
    accepted = answered("gout", GOUT, state="accepted")
    none = answered("tea", None, state="no concept")
    judged = read(accepted, none)
    assert (judged["status"], judged["experimental"]) == ("draft", False)
    first, second = (e["target"][0] for e in judged["group"][0]["element"])
    assert (first["equivalence"], first["comment"]) == ("equivalent", "accepted by Ada")
    assert second == {"equivalence": "unmatched", "comment": "accepted by Ada"}
    mixed = read(accepted, answered("fever", FEVER))
    assert mixed["experimental"]
    kinds = [e["target"][0]["equivalence"] for e in mixed["group"][0]["element"]]
    assert kinds == ["equivalent", "relatedto"]
    several = read(answered("gout and fever", GOUT, FEVER, state="accepted"))
    targets = several["group"][0]["element"][0]["target"]
    assert [t["equivalence"] for t in targets] == ["relatedto", "relatedto"]
