"""Decisions out of mappings that people curated."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linker import outputs
from linker.decisions import exchange
from linker.decisions.records import checked
from linker.errors import InputError, Skip
from linker.outputs import sssom, writing
from linker.types import PREDICATES, Candidate, Decision, Mention, Part, Prediction

TEXT = st.text("ab\"' é,;|\\\\#", max_size=8).map(str.strip)
DECISIONS = st.builds(
    Decision,
    TEXT.filter(bool),
    st.sampled_from(["MESH:D1", "", "A b:1|MESH:D1", "x y", "MESH:D1|-1"]),
    st.just(True),
    TEXT,
    TEXT,
    st.sampled_from(["", "2026-11-23"]),
    st.just(""),
    TEXT,
    predicate=st.sampled_from(PREDICATES),
).map(lambda decision: decision if decision.concept_id else replace(decision, predicate=""))
HEADER = "subject_label\tpredicate_id\tobject_id\tmapping_justification\tcomment\n"
HAND = "semapv:ManualMappingCuration"


def read(tmp_path: Path, text: str) -> Iterator[Decision]:
    path = tmp_path / "m.sssom.tsv"
    path.write_text(text, "utf-8")
    return exchange.read(path)


@given(decisions=st.lists(DECISIONS, min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_export_comes_back(tmp_path: Path, decisions: list[Decision]) -> None:
    decisions.append(Decision("m", "MESH:D1", accepted=False, scope="7, 8"))
    decisions.append(Decision("m", "MESH:D1", scope="7, characters 2-3"))
    decisions = [*map(checked, dict.fromkeys(decisions))]
    file = io.StringIO()
    sssom.write_curated(decisions, file)
    assert list(read(tmp_path, file.getvalue())) == decisions


def test_what_link_writes_comes_back_where_people_decided(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gout = Candidate("MESH:D006073", "Gout", "gout", 1.0, confidence=0.9)
    sure, unsure = Part("gout", candidates=(gout,)), Part("gout", nil=True, rejected=gout)
    composite = Decision("gout and x", "MESH:D006073|-1", reviewer="ann")
    said = {
        "accepted": (Decision("gout", "MESH:D006073", scope="7"),),
        "no concept": (Decision("tea", ""),),
        "open": (Decision("Gicht", "MESH:D006073", accepted=False, reviewer="bob"),),
        "rejected": (Decision("Podagra", "MESH:D1", accepted=False),),
        "disputed": (Decision("x", "MESH:D1", reviewer="a"), Decision("x", "", reviewer="b")),
    }
    predictions = [
        Prediction(
            Mention(d[0].mention, document_id="7"),
            (unsure if state == "open" else sure,),
            state=state,
            decisions=d,
        )
        for state, d in said.items()
    ]
    predictions += [Prediction(Mention("gout and x"), (sure, unsure))]
    predictions += [replace(predictions[-1], state="accepted", decisions=(composite,))] * 2
    file = io.StringIO()
    writing.write("sssom", [(None, predictions)], file, outputs.Layout(decisions=True))
    read_decisions = list(read(tmp_path, file.getvalue()))
    expected = [d for decisions in said.values() for d in decisions]
    assert read_decisions == [*expected, composite, composite]
    # the answers of the model: rejected, disputed, and the two parts that nobody saw
    assert "4 mappings were passed over, which no person curated" in caplog.text


def test_the_kind_of_a_mapping_is_read(tmp_path: Path) -> None:
    rows = (
        "broad\tA:1",
        "narrow\tA:1",
        "related\tA:1",
        "exact\tA:1",
        "related\tA:2",
        "related\tA:3",
    )
    kinds = ["broad", "narrow", "related", "", ""]  # the last two are the parts of one mention
    text = "".join(f"a\tskos:{row.replace(chr(9), 'Match' + chr(9))}\t{HAND}\t\n" for row in rows)
    decisions = list(read(tmp_path, HEADER + text))
    assert [decision.predicate for decision in decisions] == kinds
    assert decisions[-1].concept_id == "A:2|A:3"


def test_columns_by_name_and_no_metadata(tmp_path: Path) -> None:
    text = (
        "object_id\treviewer_label\tmapping_justification\tpredicate_id\tsubject_label\n"
        "mesh:D1\tann\tsemapv:MappingReview\tskos:exactMatch\t#1\n"
    )
    assert list(read(tmp_path, text)) == [Decision("#1", "MESH:D1", reviewer="ann")]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (f"a\tskos:closeMatch\tA:1\t{HAND}", "line 3: the predicate is skos:closeMatch"),
        (f"a\tskos:relatedMatch\tA:1\t{HAND}\tpart 1 of 2", "line 3: no other part of the mention"),
        (f"a\tskos:broadMatch\tA:1\t{HAND}\t\t\tNot", "line 3: the predicate 'broad' of the dec"),
        (f"a\tskos:exactMatch\tA:1\t{HAND}\t\t\tnot", "line 3: the predicate_modifier is 'not'"),
        (f"a\tskos:exactMatch\t\t{HAND}", "line 3: the object is missing"),
        (f"\tskos:exactMatch\tA:1\t{HAND}", "line 3: the mention of a decision has 0 char"),
        (f"a\tskos:exactMatch\tA:1\t{HAND}\t\tX:1", "line 3: the subject is a concept"),
    ],
)
def test_bad_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture, row: str, problem: str) -> None:
    good = f"b\tskos:exactMatch\tA:2\t{HAND}\n"
    header = HEADER.replace("\n", "\tsubject_id\tpredicate_modifier\n")
    text = f"#curie_map:\n{header}{row}\n{good}"
    with pytest.raises(InputError, match=problem):
        list(read(tmp_path, text))
    skipped = exchange.read(tmp_path / "m.sssom.tsv", on_error=Skip())
    assert list(skipped) == [Decision("b", "A:2")]
    assert problem in caplog.text


def test_mappings_between_concepts_have_no_mentions(tmp_path: Path) -> None:
    text = "subject_id\tpredicate_id\tobject_id\nX:1\tskos:exactMatch\tY:1\n"
    with pytest.raises(InputError, match="the mappings have no column subject_label"):
        list(read(tmp_path, text))
