"""OMOP's table SOURCE_TO_CONCEPT_MAP."""

from __future__ import annotations

import pytest

from linker.errors import LinkerError
from linker.records import Candidate, Reference

from .conftest import written
from .test_terms_output import answered

XREF = (Reference("RxNorm_Extension:1", "oboInOwl:hasDbXref", "CONCEPT.csv"),)
DRUG = Candidate("OMOP:19", "Drug", "drug", 1.0, also=XREF)
COUGH = Candidate("OMOP:254761", "Cough", "cough", 1.0)


def test_the_whole_file() -> None:
    long = "a " * 150 + "b"  # 301 characters
    predictions = (
        answered("drug", DRUG),
        answered("cough, drug", COUGH, DRUG),
        answered(long, None),
        answered("drug", DRUG),
    )
    # the first digits of the SHA-256 of the text
    code = "a " * 20 + "a" + "#0fb75d67"
    assert written("source_to_concept_map", (None, predictions)) == (
        "source_code,source_concept_id,source_vocabulary_id,source_code_description,"
        "target_concept_id,target_vocabulary_id,valid_start_date,valid_end_date,invalid_reason\n"
        "drug,0,linker,drug,19,RxNorm Extension,1970-01-01,2099-12-31,\n"
        '"cough, drug",0,linker,"cough, drug",254761,,1970-01-01,2099-12-31,\n'
        '"cough, drug",0,linker,"cough, drug",19,RxNorm Extension,1970-01-01,2099-12-31,\n'
        f"{code},0,linker,{long[:255]},0,None,1970-01-01,2099-12-31,\n"
    )
    assert len(code) == 50


def test_concepts_without_a_number_of_omop_are_refused() -> None:
    gout = Candidate("MESH:D006073", "Gout", "gout", 1.0)
    with pytest.raises(LinkerError):
        written("source_to_concept_map", (None, [answered("gout", gout)]))


def test_with_ids_of_others_what_has_no_number_has_the_concept_0(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gout = Candidate("MESH:D006073", "Gout", "gout", 1.0)
    predictions = [answered("gout", gout), answered("cough", COUGH)]
    text = written("source_to_concept_map", (None, predictions), also=True)
    assert [line.split(",")[4:6] for line in text.splitlines()[1:]] == [
        ["0", "None"],
        ["254761", ""],
    ]
    assert "no concept id of OMOP: 1; they have the concept 0" in caplog.text
