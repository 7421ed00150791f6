"""Decisions in tables of answers that a person went through."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from linker.decisions import exchange
from linker.errors import InputError, LinkerError
from linker.outputs import decisions_text
from linker.outputs.tsv import COLUMNS
from linker.types import Decision


def read(path: Path, header: list[str], *rows: list[str], column: str | None = None) -> set[object]:
    """What is said of mentions, by whom, and in which document."""
    text = io.StringIO()
    csv.writer(text, "excel-tab", lineterminator="\n").writerows([header, *rows])
    (path / "t.tsv").write_text(text.getvalue(), "utf-8")
    read = exchange.read(path / "t.tsv", column=column, reviewer="eve")
    return {(d.mention, d.concept_id, d.accepted, d.scope, d.reviewer) for d in read}


ANN, BOB = (Decision("x", i, reviewer=who, time="2026") for i, who in (("A", "ann"), ("B", "bob")))
BULK = Decision("x", "A", reviewer="ann", time="2026", bulk=True)
BROAD = Decision("x", "A", reviewer="ann", time="2026", predicate="broad")
NOT_A = Decision("x", "A", False, reviewer="ann", time="2026")


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
        ("certainly", "A", [], "the state is 'certainly'; expected one of model, accepted"),
        ("rejected", "A|B", [], "concept_id has several ids"),
        ("rejected", "", [], "no concept_id says what is wrong"),
        ("rejected", "A|B", [NOT_A], None),
        ("accepted", "", [Decision("x", "", reviewer="ann", time="2026")], "is no concept_id"),
        ("accepted", "", [], "there is no concept_id"),
    ],
)
def test_states_beside_earlier_decisions(
    tmp_path: Path,
    state: str,
    concept: str,
    before: list[Decision],
    new: tuple[str, bool] | str | None,
) -> None:
    header = ["mention", "matched_name", "concept_id", "state", "reviewer", "decisions"]
    row = ["x", "x", concept, state, "ann", decisions_text(before) if before else ""]
    if isinstance(new, str):
        with pytest.raises(InputError, match=new):
            read(tmp_path, header, row)
        return
    earlier = {("x", d.concept_id, d.accepted, "", d.reviewer) for d in before}
    assert read(tmp_path, header, row) == earlier | ({("x", *new, "", "eve")} if new else set())


def test_states_that_a_person_set(tmp_path: Path) -> None:
    header = ["mention", "matched_name", "concept_id", "rejected", "state"]
    rows = [
        ["x", "", "A|B", "", "Accepted"],
        ["y", "", "", "C", "rejected"],
        ["z", "", "A", "", ""],
    ]
    assert read(tmp_path, header, *rows) == {
        ("x", "A|B", True, "", "eve"),
        ("y", "C", False, "", "eve"),
    }


@pytest.mark.parametrize("state", ["linker_state", "state (fill in)", "linker_State (fill in)_2"])
def test_columns_of_the_user_are_not_linker_s(tmp_path: Path, state: str) -> None:
    header = ["rank", "expanded", "reviewer", "document_id", "accepted", "disease", "state"]
    header += ["concept_id", "matched_name", state]
    rows = [
        [str(n), "yes", "Dr House", "7", "no", "gout", "", "A", "m", "accepted"] for n in (1, 2)
    ]
    said = ("gout", "A", True, "", "eve")
    assert read(tmp_path, header, *rows, column="disease") == {said}


def test_tables_of_decisions_may_have_states_and_confidences(tmp_path: Path) -> None:
    for more in ("confidence", "state"):
        header = ["mention", "concept_id", "accepted", more]
        assert read(tmp_path, header, ["x", "A", "no", "0.5"]) == {("x", "A", False, "", "eve")}


WRITTEN = ["mention", "concept_id", "matched_name"]


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (["disease", "concept_id", "state"], "no column mention; name it with --column"),
        (["mention", "name"], "the header has no column concept_id"),
        ([*COLUMNS, "state", "decisions"], "the rows are candidates of mentions; decisions are"),
        (WRITTEN, "no column state"),
        ([*WRITTEN, "state", "source", "reviewer", "time"], "no column decisions"),
    ],
)
def test_headers_that_lack_a_column(tmp_path: Path, header: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=f"line 1: .*{problem}"):
        read(tmp_path, header, ["x"] * len(header))


def test_tables_of_the_page_have_documents(tmp_path: Path) -> None:
    header = ["mention", "document_id", "spans", "expanded", "concept_id", "state"]
    row = ["MDS", "7", "3-6", "myelodysplastic syndrome", "A", "accepted"]
    said = ("myelodysplastic syndrome", "A", True, "7", "eve")
    assert read(tmp_path, header, row) == {said}


def test_decisions_of_nobody_stay_so(tmp_path: Path) -> None:
    header = ["mention", "matched_name", "concept_id", "state", "decisions"]
    nobody = json.dumps([json.loads(decisions_text([ANN]))[0] | {"reviewer": ""}])
    assert read(tmp_path, header, ["x", "x", "A", "accepted", nobody]) == {("x", "A", True, "", "")}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("7|t|Gout\n7|a|\n7\t0\t4\tGout\tDisease\tA\t0.9000 accepted\n", "pubtator"),
        ("<collection><document><id>7</id></document></collection>", "bioc"),
        ('{"mention": "gout", "state": "accepted"}\n', "jsonl"),
    ],
)
def test_decisions_are_read_from_tables_and_mappings_alone(
    tmp_path: Path, content: str, kind: str
) -> None:
    (tmp_path / "t").write_text(content, "utf-8")
    with pytest.raises(LinkerError, match=f"is {kind}; decisions are read from a table with a row"):
        list(exchange.read(tmp_path / "t"))
