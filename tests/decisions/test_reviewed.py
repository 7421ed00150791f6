"""Decisions in tables of answers that a person went through."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from linker.decisions import exchange
from linker.errors import InputError
from linker.outputs import decisions_text
from linker.outputs.tsv import COLUMNS
from linker.types import Decision

MEMBERS = "breast and ovarian cancer"
HEADER = [*COLUMNS, "document_id", "spans", "state", "decisions"]


def read(path: Path, header: list[str], *rows: list[str], column: str | None = None) -> set[object]:
    """What is said of mentions, by whom, and in which document."""
    text = io.StringIO()
    csv.writer(text, "excel-tab", lineterminator="\n").writerows([header, *rows])
    (path / "t.tsv").write_text(text.getvalue(), "utf-8")
    read = exchange.read(path / "t.tsv", column=column, reviewer="eve")
    return {(d.mention, d.concept_id, d.accepted, d.scope, d.reviewer) for d in read}


def answer(part: str, concept: str, rank: int, state: str, *decisions: Decision) -> list[str]:
    """A row of candidates of a mention in a document."""
    cells = [MEMBERS, part, concept, "n", "1", "n", str(rank), "0.9", "7", "0-25", state]
    return [*cells, decisions_text(decisions) if decisions else ""]


@pytest.mark.parametrize(
    ("states", "expected"),
    [  # of breast A1, breast A2, ovarian B1
        (("model", "model", "model"), set()),
        (("rejected", "model", "model"), {("A1", False)}),  # the other part is not touched
        (("accepted", "model", "accepted"), {("A1|B1", True)}),
        (("model", "accepted", "accepted"), {("A2|B1", True)}),  # the second candidate
        (("accepted", "accepted", "accepted"), {("A1|B1", True)}),
        (("no concept", "no concept", "accepted"), {("-1|B1", True)}),
        (("accepted", "model", "model"), "the state of some parts of the mention is set"),
        (("accepted", "no concept", "model"), "states that exclude each other"),
        (
            ("accepted in bulk", "model", "accepted"),
            "the state of some parts of the mention is set",
        ),
        (("accepted in bulk", "accepted", "accepted"), {("A2|B1", True)}),  # and not the first one
        (("accepted in bulk", "model", "accepted in bulk"), "which linker alone writes"),
        (("certainly", "model", "model"), "the state is 'certainly'; expected one of model"),
    ],
)
def test_states_of_candidates(
    tmp_path: Path, states: tuple[str, ...], expected: set[tuple[str, bool]] | str
) -> None:
    parts = [("breast cancer", "A1", 1), ("breast cancer", "A2", 2), ("ovarian cancer", "B1", 1)]
    rows = [answer(*part, state) for part, state in zip(parts, states, strict=True)]
    if isinstance(expected, str):
        with pytest.raises(InputError, match=f"line 2: .*{expected}"):
            read(tmp_path, HEADER, *rows)
        return
    assert read(tmp_path, HEADER, *rows) == {(MEMBERS, *said, "7", "eve") for said in expected}


def test_equal_mentions_one_after_the_other_are_no_parts(tmp_path: Path) -> None:
    rows = [answer("AT", i, rank, s) for i, rank, s in (("A", 1, "accepted"), ("B", 2, ""))]
    again = [answer("AT", i, rank, s) for i, rank, s in (("C", 1, "accepted"), ("B", 2, ""))]
    said = {("A", True), ("C", True)}
    assert read(tmp_path, HEADER, *rows, *again) == {(MEMBERS, *one, "7", "eve") for one in said}


ANN, BOB = (Decision("x", i, reviewer=who, time="2026") for i, who in (("A", "ann"), ("B", "bob")))
BULK = Decision("x", "A", reviewer="ann", time="2026", others=7)
BROAD = Decision("x", "A", reviewer="ann", time="2026", predicate="broad")
NOT_A = Decision("x", "A", False, reviewer="ann", time="2026")


@pytest.mark.parametrize(
    ("state", "concept", "before", "new"),
    [
        ("accepted", "A", [ANN], None),  # as linker wrote it
        ("accepted", "A", [BROAD], None),  # a table of candidates does not say the kind
        ("accepted in bulk", "A", [BULK], None),
        ("accepted", "A", [BULK], ("A", True)),  # somebody looked at it since
        ("accepted", "A", [BULK, ANN], None),
        ("accepted in bulk", "C", [BULK], ("C", True)),  # somebody put another id
        ("accepted in bulk", "A", [], "which linker alone writes"),
        ("rejected", "C", [NOT_A], None),  # as linker wrote it: C is the model's
        ("accepted", "C", [NOT_A], ("C", True)),
        ("rejected", "A", [NOT_A, ANN], ("A", False)),  # it was accepted
        ("accepted", "A", [ANN, BOB], ("A", True)),  # they disagreed
        ("no concept", "A", [ANN], ("", True)),
        ("model", "A", [ANN], None),
        ("rejected", "A|B", [], "concept_id has several ids"),
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


def test_columns_of_the_user_are_not_linker_s(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    header = ["rank", "expanded", "reviewer", "document_id", "accepted", "disease", "state"]
    header += ["concept_id", "matched_name", "linker_state"]
    rows = [
        [str(n), "yes", "Dr House", "7", "no", "gout", "", "A", "m", "accepted"] for n in (1, 2)
    ]
    said = ("gout", "A", True, "", "eve")
    assert read(tmp_path, header, *rows, column="disease") == {said}
    assert "the column linker_state counts, and not the table's own column state" in caplog.text


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
        (["mention", "part", "concept_id", "rank"], "answers that linker wrote, without a column"),
        (WRITTEN, "without a column state"),
        ([*WRITTEN, "state", "source", "reviewer", "time"], "the column decisions is missing"),
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


def bioc(**infons: str) -> str:
    said = "".join(f'<infon key="{key}">{value}</infon>' for key, value in infons.items())
    place = '<location offset="0" length="4"/><text>Gout</text>'
    annotation = f'<annotation id="1">{said}{place}</annotation>'
    text = f"<passage><offset>0</offset><text>Gout</text>{annotation}</passage>"
    return f"<collection><document><id>7</id>{text}</document></collection>"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (bioc(identifier="A", confidence="0.9000", state="model"), None),
        (bioc(identifier="A", confidence="0.9000", state="Accepted"), ("A", True)),
        (bioc(identifier="A", confidence="-", state="accepted"), ("A", True)),  # it had no answer
        (bioc(identifier="-", confidence="-", state="no concept"), ("", True)),
        (bioc(identifier="A", confidence="0.9000", state="rejected"), ("A", False)),
        (bioc(identifier="A", state="accepted"), None),  # another program's
        (bioc(identifier="A", confidence="0.9", state="accepted"), None),
        (bioc(identifier="A", confidence="0.9000", state="active"), None),
        ("7|t|Gout\n7|a|\n7\t0\t4\tGout\tDisease\tA\t0.9000 model\n", None),
        ("7|t|Gout\n7|a|\n7\t0\t4\tGout\tDisease\tA\t0.9000 Accepted\n", ("A", True)),
        ("7|t|Gout\n7|a|\n7\t0\t4\tGout\tDisease\tA\t0.9\n", None),
    ],
)
def test_states_in_documents(
    tmp_path: Path, content: str, expected: tuple[str, bool] | None
) -> None:
    (tmp_path / "t").write_text(content, "utf-8")
    said = [
        (d.mention, d.concept_id, d.accepted, d.scope, d.reviewer)
        for d in exchange.read(tmp_path / "t", reviewer="eve")
    ]
    assert said == ([("Gout", *expected, "7", "eve")] if expected else [])
