"""The distinct texts of mentions, with their answers."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

import pytest

from linker.errors import LinkerError
from linker.io import jsonl
from linker.io.outputs import Layout
from linker.io.terms import Term, mapped, terms
from linker.records import (
    Assertion,
    Candidate,
    Decision,
    Mention,
    Part,
    Prediction,
    Reference,
    State,
)

from .conftest import written

GOUT, TEA = Candidate("A:1", "Gout", "gout", 1.0), Candidate("A:2", "Tea", "tea", 0.5)


def answered(text: str, *answers: Candidate | None, state: State = "model") -> Prediction:
    parts = [Part(text, candidates=(a,)) if a else Part(text, nil=True) for a in answers]
    said = Decision(text, reviewer="Ada", concept_id="A:1", time="2026-11-23T10:00:00+00:00")
    return Prediction(
        Mention(text), tuple(parts), state=state, decisions=() if state == "model" else (said,)
    )


def asserted(prediction: Prediction, *said: Assertion) -> Prediction:
    """The prediction whose text says something of its parts."""
    parts = zip(prediction.parts, said, strict=True)
    return replace(prediction, parts=tuple(replace(p, assertion=of_part) for p, of_part in parts))


def of(*predictions: Prediction) -> list[tuple[str, int, list[str], bool]]:
    made = terms(items(predictions))
    return [(t.text, t.frequency, [a.concept_id for a in t.answers], t.is_accepted) for t in made]


def items(predictions: Iterable[Prediction]) -> list[str]:
    """What each of several chunks gives."""
    return [jsonl.item(None, [prediction], Layout()) for prediction in predictions]


def test_each_text_is_one_term() -> None:
    gout = answered("gout", GOUT)
    both = answered("gout and tea", GOUT, TEA)
    spaced = answered(" gout\u2028\n", GOUT)
    assert of(gout, both, spaced, answered("Gout", None), answered(" ")) == [
        ("gout", 2, ["A:1"], False),
        ("gout and tea", 1, ["A:1", "A:2"], False),
        ("Gout", 1, [], False),
    ]


def test_what_is_denied_is_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    denied = asserted(answered("no gout", GOUT), "absent")
    mixed = asserted(answered("tea; no gout", TEA, GOUT), "present", "absent")
    assert of(denied, mixed) == [("no gout", 1, [], False), ("tea; no gout", 1, ["A:2"], False)]
    with caplog.at_level(logging.WARNING):
        assert [term.text for term in mapped(items([denied, mixed, denied]))] == ["tea; no gout"]
    assert caplog.messages == [
        "texts left out, since they deny what they name, doubt it, or say it of the past or of a "
        "relative: 1; --format tsv has them"
    ]


def test_the_most_frequent_answer_counts(caplog: pytest.LogCaptureFixture) -> None:
    tea, gout = answered("x", TEA), answered("x", GOUT)
    with caplog.at_level(logging.WARNING):
        assert of(tea, gout, gout) == [("x", 2, ["A:1"], False)]
    assert caplog.messages == ["texts with several answers: 1; the most frequent is written"]
    assert of(tea, gout) == [("x", 1, ["A:2"], False)]  # else the first


def test_a_term_is_accepted_where_all_its_mentions_are() -> None:
    """A decision that holds in one document says nothing of the text in others."""
    accepted, model = answered("x", GOUT, state="accepted"), answered("x", GOUT)
    assert of(accepted, accepted) == [("x", 2, ["A:1"], True)]
    assert of(accepted, model) == of(model, accepted) == [("x", 2, ["A:1"], False)]
    assert of(accepted, answered("x", TEA, state="accepted")) == [("x", 1, ["A:1"], False)]
    assert of(answered("x", None, state="no concept")) == [("x", 1, [], True)]
    assert of(answered("x", GOUT, state="rejected")) == [("x", 1, ["A:1"], False)]
    assert Term.of(accepted).accepted_by() == "Ada"
    rejected = Decision("x", "A:2", False, reviewer="Bob", time="2026-11-24T10:00:00+00:00")
    both = replace(accepted, decisions=(*accepted.decisions, rejected))
    assert Term.of(both).accepted_by() == "Ada"  # Bob accepted nothing


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
