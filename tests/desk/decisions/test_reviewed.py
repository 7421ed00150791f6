"""Decisions in tables of answers and in mappings that a person went through."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linker import Dictionary
from linker.desk.decisions import exchange
from linker.desk.decisions.reviewed import Untaken
from linker.desk.decisions.store import checked
from linker.errors import InputError, Skip
from linker.io import sssom
from linker.io.outputs import decision_from_json, decisions_text
from linker.io.tsv import COLUMNS
from linker.records import PREDICATES, Decision


def read(
    path: Path,
    header: list[str],
    *rows: list[str],
    column: str | None = None,
    untaken: Untaken | None = None,
) -> set[object]:
    """What is said of mentions, by whom, and in which document."""
    text = io.StringIO()
    csv.writer(text, "excel-tab", lineterminator="\n").writerows([header, *rows])
    (path / "t.tsv").write_text(text.getvalue(), "utf-8")
    read = exchange.read(path / "t.tsv", column=column, reviewer="eve", untaken=untaken)
    return {(d.mention, d.concept_id, d.accepted, d.scope, d.reviewer) for d in read}


ANN, BOB = (Decision("x", i, reviewer=who, time="2026") for i, who in (("A", "ann"), ("B", "bob")))
BULK = Decision("x", "A", reviewer="ann", time="2026", bulk=True)
BROAD = Decision("x", "A", reviewer="ann", time="2026", predicate="broad")
NOT_A = Decision("x", "A", False, reviewer="ann", time="2026")


A_ALONE = Decision("x", "A|?", reviewer="ann", time="2026")
B_ALONE = Decision("x", "?|B", reviewer="bob", time="2026")


@pytest.mark.parametrize(
    ("state", "concept", "before", "new"),
    [
        ("accepted", "A", [ANN], None),  # as linker wrote it
        ("accepted", "A", [BROAD], None),  # a table without a column predicate
        ("model", "A", [BULK], None),
        ("rejected", "C", [NOT_A, BULK], None),  # as linker wrote it
        ("rejected", "A", [BULK], ("A", False)),
        ("accepted", "A", [BULK], ("A", True)),  # somebody looked at it since
        ("accepted", "A", [BULK, ANN], None),
        ("rejected", "C", [NOT_A], None),  # as linker wrote it: C is the model's
        ("accepted", "C", [NOT_A], ("C", True)),
        ("rejected", "A", [NOT_A, ANN], ("A", False)),  # it was accepted
        ("accepted", "A", [ANN, BOB], ("A", True)),  # they disagreed
        ("no concept", "A", [ANN], ("", True)),
        ("model", "A", [ANN], None),
        ("certainly", "A", [], InputError),
        ("rejected", "A|B", [], InputError),
        ("rejected", "", [], InputError),
        ("rejected", "A|B", [NOT_A], None),
        ("accepted", "", [Decision("x", "", reviewer="ann", time="2026")], InputError),
        ("accepted", "", [], InputError),
        ("open", "A|?", [A_ALONE], None),  # as linker wrote it
        ("accepted", "A|B", [A_ALONE], ("A|B", True)),
        ("accepted", "A|B", [A_ALONE, B_ALONE], None),  # as linker wrote it
        ("accepted", "A|C", [A_ALONE, B_ALONE], ("A|C", True)),
        ("accepted", "A|?", [BOB], ("A|?", True)),
        ("accepted", "|?", [BOB], ("-1|?", True)),
        ("accepted", "?", [], InputError),
        ("accepted", "?|?", [], InputError),
    ],
)
def test_states_beside_earlier_decisions(
    tmp_path: Path,
    state: str,
    concept: str,
    before: list[Decision],
    new: tuple[str, bool] | type[InputError] | None,
) -> None:
    header = ["mention", "matched_name", "concept_id", "state", "reviewer", "decisions"]
    row = ["x", "x", concept, state, "ann", decisions_text(before) if before else ""]
    if new is InputError:
        with pytest.raises(InputError):
            read(tmp_path, header, row)
        return
    earlier = {("x", d.concept_id, d.accepted, "", d.reviewer) for d in before}
    assert read(tmp_path, header, row) == earlier | ({("x", *new, "", "eve")} if new else set())


@pytest.mark.parametrize(
    ("state", "concept", "name", "before", "is_changed"),
    [
        ("model", "MESH:D006073", "Gout", [], False),
        ("model", "D006073", "Gout", [], False),  # spelt otherwise
        ("model", "MESH:D001249", "Gout", [], True),
        ("", "MESH:D001249", "Gout", [], True),
        ("accepted", "MESH:D001249", "Gout", [], False),  # it is taken
        ("no concept", "", "Gout", [], True),
        ("no concept", "MESH:D006073", "Gout", [], False),
        ("no concept", "MESH:D006073", "", [], True),
        ("rejected", "MESH:D006073", "Gout", [], False),
        ("rejected", "MESH:D006073", "Leukemia", [NOT_A], True),
        ("open", "MESH:D006073|?", "Gout|", [], False),
        ("open", "MESH:D006073|MESH:D001249", "Gout|", [], True),
        ("model", "", "", [], False),
        ("model", "MESH:D006073", "", [], True),
        ("model", "", "Gout", [], True),
        ("model", "-1", "Gout", [], True),
        ("model", "-1", "", [], False),
        ("model", "MESH:D007938|MESH:D006073", "Leukemia|Gout", [], False),
        ("model", "MESH:D006073|MESH:D007938", "Leukemia|Gout", [], True),
        ("model", "MESH:D006073", "Gouty arthritis of 2017", [], False),  # of another release
        ("model", "MESH:D006073", "Ann Smith", [], False),  # a column of the user
    ],
)
def test_a_concept_that_was_changed_without_a_state_is_noticed(
    tmp_path: Path,
    sample: Path,
    state: str,
    concept: str,
    name: str,
    before: list[Decision],
    is_changed: bool,
) -> None:
    header = ["mention", "concept_id", "name", "matched_name", "state", "decisions"]
    row = ["x", concept, name, "x", state, decisions_text(before) if before else ""]
    untaken = Untaken(Dictionary.read(sample))
    read(tmp_path, header, row, untaken=untaken)
    assert untaken.rows == ([2] if is_changed else [])


@pytest.mark.parametrize("state", ["linker_state", "state (fill in)", "linker_State (fill in)"])
def test_columns_of_the_user_are_not_linker_s(tmp_path: Path, state: str) -> None:
    header = ["rank", "expanded", "reviewer", "document_id", "accepted", "disease", "state"]
    header += ["concept_id", "matched_name", state]
    rows = [
        [str(n), "yes", "Dr House", "7", "no", "gout", "", "A", "m", "accepted"] for n in (1, 2)
    ]
    said = ("gout", "A", True, "", "eve")
    assert read(tmp_path, header, *rows, column="disease") == {said}


WRITTEN = ["mention", "concept_id", "matched_name"]


@pytest.mark.parametrize(
    "header",
    [
        ["disease", "concept_id", "state"],
        ["mention", "name"],
        [*COLUMNS, "state", "decisions"],  # candidates, of which people accepted the first at most
        WRITTEN,
        [*WRITTEN, "state", "source", "reviewer", "time"],  # the decisions were removed
        ["subject_id", "predicate_id", "object_id"],  # mappings between concepts
    ],
)
def test_headers_that_lack_a_column(tmp_path: Path, header: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, header, ["x"] * len(header))
    assert caught.value.line == 1


def test_decisions_of_nobody_stay_so(tmp_path: Path) -> None:
    header = ["mention", "matched_name", "concept_id", "state", "decisions"]
    nobody = json.dumps([json.loads(decisions_text([ANN]))[0] | {"reviewer": ""}])
    assert read(tmp_path, header, ["x", "x", "A", "accepted", nobody]) == {("x", "A", True, "", "")}


# mappings

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


def read_text(tmp_path: Path, text: str) -> Iterator[Decision]:
    path = tmp_path / "m.sssom.tsv"
    path.write_text(text, "utf-8")
    return exchange.read(path)


@given(decisions=st.lists(DECISIONS, min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_export_comes_back(tmp_path: Path, decisions: list[Decision]) -> None:
    decisions.append(Decision("m", "MESH:D1", accepted=False, scope="7, 8"))
    decisions.append(Decision("m", "MESH:D1", scope="7, characters 2-3"))
    decisions += [Decision("m", "?|MESH:D1|-1"), Decision("n", "MESH:D1|?"), Decision("n", "-1|?")]
    decisions = [*map(checked, dict.fromkeys(decisions))]
    file = io.StringIO()
    sssom.write_curated(decisions, file)
    assert list(read_text(tmp_path, file.getvalue())) == decisions


def test_what_was_rejected_by_an_earlier_id_is_written_and_read_by_that(tmp_path: Path) -> None:
    """Nobody rejected the concept for which the id stands now."""
    decision = Decision("m", "MESH:D2", False, reviewer="ann", said="MESH:D1")
    file = io.StringIO()
    sssom.write_curated([decision], file)
    earlier = replace(decision, concept_id="MESH:D1", said="")
    assert list(read_text(tmp_path, file.getvalue())) == [earlier]
    (from_json,) = map(decision_from_json, json.loads(decisions_text([decision])))
    assert from_json == decision
    assert checked(from_json) == earlier
    with pytest.raises(ValueError, match="zip"):
        checked(replace(decision, concept_id="MESH:D2|?", said="MESH:D1"))


@pytest.mark.parametrize(
    ("rows", "concepts", "predicate"),
    [
        (["broad\tA:1"], "A:1", "broad"),
        (["narrow\tA:1"], "A:1", "narrow"),
        (["related\tA:1"], "A:1", "related"),
        (["exact\tA:1"], "A:1", ""),
        (["related\tA:2\tpart 1 of 2", "related\tA:3\tpart 2 of 2"], "A:2|A:3", ""),
        (["related\tA:2\tpart 1 of 2, related", "related\tA:3\tpart 2 of 2, related"],
         "A:2|A:3", "related"),
        (["broad\tA:2\tpart 1 of 2; x", "broad\tA:3\tpart 2 of 2; x"], "A:2|A:3", "broad"),
        (["related\tA:2\tpart 2 of 2"], "?|A:2", ""),
        (["related\tA:2\tpart 1 of 3", "related\tA:3\tpart 3 of 3"], "A:2|?|A:3", ""),
        (["exact\tsssom:NoTermFound\tpart 1 of 2"], "-1|?", ""),
    ],
)  # fmt: skip
def test_the_kind_of_a_mapping_is_read(
    tmp_path: Path, rows: list[str], concepts: str, predicate: str
) -> None:
    lines = []
    for row in rows:
        kind, identifier, comment = (row + "\t").split("\t")[:3]
        lines.append(f"a\tskos:{kind}Match\t{identifier}\t{HAND}\t{comment}\n")
    (decision,) = read_text(tmp_path, HEADER + "".join(lines))
    assert (decision.concept_id, decision.predicate) == (concepts, predicate)


@pytest.mark.parametrize(
    "row",
    [
        f"a\tskos:closeMatch\tA:1\t{HAND}",
        f"a\tskos:relatedMatch\tA:1\t{HAND}\tpart 0 of 2",
        f"a\tskos:relatedMatch\tA:1\t{HAND}\tpart 3 of 2",
        f"a\tskos:broadMatch\tA:1\t{HAND}\t\t\tNot",
        f"a\tskos:exactMatch\tA:1\t{HAND}\t\t\tnot",
        f"a\tskos:exactMatch\t\t{HAND}",
        f"\tskos:exactMatch\tA:1\t{HAND}",
        f"a\tskos:exactMatch\tA:1\t{HAND}\t\tX:1",
    ],
)
def test_bad_mappings(tmp_path: Path, row: str) -> None:
    good = f"b\tskos:exactMatch\tA:2\t{HAND}\n"
    header = HEADER.replace("\n", "\tsubject_id\tpredicate_modifier\n")
    with pytest.raises(InputError) as caught:
        list(read_text(tmp_path, f"#curie_map:\n{header}{row}\n{good}"))
    assert caught.value.line == 3
    skipped = exchange.read(tmp_path / "m.sssom.tsv", on_error=Skip())
    assert list(skipped) == [Decision("b", "A:2")]
