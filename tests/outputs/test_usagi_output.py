"""Mapping files of Usagi."""

from __future__ import annotations

import csv
import io
import logging

import pytest

from linker.types import Candidate, Prediction, Reference

from .conftest import written
from .test_terms_output import answered, asserted

COUGH = Candidate("OMOP:254761", "Cough", "cough", 1.0, confidence=0.75)
FEVER = Candidate("OMOP:437663", "Fever", "fever", 1.0, confidence=0.5)
GOUT = Candidate("MESH:D006073", "Gout", "gout", 1.0)


def rows(*predictions: Prediction) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written("usagi", (None, predictions))), strict=True))


def test_the_whole_file() -> None:
    """The columns are those that Usagi 1.4 writes, with two of ADD_INFO."""
    cough, both = answered('"cough", dry', COUGH), answered("cough and fever", COUGH, FEVER)
    assert written("usagi", (None, [cough, both, cough, answered("x", None)])) == (
        "sourceCode,sourceName,sourceFrequency,sourceAutoAssignedConceptIds,ADD_INFO:concept_id,"
        "ADD_INFO:concept_name,matchScore,mappingStatus,equivalence,statusSetBy,statusSetOn,"
        "conceptId,conceptName,domainId,mappingType,comment,createdBy,createdOn,assignedReviewer\n"
        '"""cough"", dry","""cough"", dry",2,,OMOP:254761,Cough,0.7500,UNCHECKED,UNREVIEWED,,0,'
        "254761,Cough,,MAPS_TO,,concept-linker,0,\n"
        "cough and fever,cough and fever,1,,OMOP:254761,Cough,0.3750,UNCHECKED,UNREVIEWED,,0,"
        "254761,Cough,,MAPS_TO,cough and fever: OMOP:254761; cough and fever: OMOP:437663,"
        "concept-linker,0,\n"
        "cough and fever,cough and fever,1,,OMOP:437663,Fever,0.3750,UNCHECKED,UNREVIEWED,,0,"
        "437663,Fever,,MAPS_TO,cough and fever: OMOP:254761; cough and fever: OMOP:437663,"
        "concept-linker,0,\n"
        "x,x,1,,,,0.0000,UNCHECKED,UNREVIEWED,,0,0,,,MAPS_TO,,concept-linker,0,\n"
    )


def test_what_is_denied_stays_to_be_mapped() -> None:
    denied = asserted(answered("no cough", COUGH, state="accepted"), "absent")
    mixed = asserted(answered("cough, no fever", COUGH, FEVER), "present", "absent")
    first, second = rows(denied, mixed)
    assert (first["conceptId"], first["mappingStatus"]) == ("0", "UNCHECKED")
    assert first["comment"] == "no cough: OMOP:254761 (denied)"
    assert second["conceptId"] == "254761"
    assert second["comment"] == (
        "cough, no fever: OMOP:254761; cough, no fever: OMOP:437663 (denied)"
    )


def test_only_what_people_accepted_is_approved() -> None:
    accepted, none = rows(
        answered("cough", COUGH, state="accepted"), answered("tea", None, state="no concept")
    )
    names = ("mappingStatus", "equivalence", "statusSetBy", "statusSetOn", "conceptId")
    # date -d 2026-11-23T10:00:00Z +%s
    assert [accepted[name] for name in names] == [
        *("APPROVED", "UNREVIEWED", "Ada", "1795428000000", "254761")
    ]
    assert [none[name] for name in names] == [
        *("APPROVED", "UNMATCHED", "Ada", "1795428000000", "0")
    ]


def test_concepts_without_a_number_of_omop(caplog: pytest.LogCaptureFixture) -> None:
    """A concept of another vocabulary is shown, and is not "no concept" that a person approved."""
    with caplog.at_level(logging.WARNING):
        gout, accepted = rows(answered("gout", GOUT), answered("g", GOUT, state="accepted"))
    assert (gout["conceptId"], gout["ADD_INFO:concept_id"]) == ("0", "MESH:D006073")
    assert (accepted["mappingStatus"], accepted["statusSetBy"]) == ("UNCHECKED", "")
    (message,) = caplog.messages
    assert message.startswith(
        "texts whose concepts have no concept id of OMOP, which Usagi needs: 2"
    )
    also = (Reference("OMOP:440674", "skos:exactMatch", "m.tsv"),)
    (mapped,) = rows(answered("gout", Candidate("MESH:D006073", "Gout", "gout", 1.0, also=also)))
    assert mapped["conceptId"] == "440674"
