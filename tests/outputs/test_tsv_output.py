"""Tab-separated predictions."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from linker.outputs import decision_from_json, tsv
from linker.readers import tsv as reader
from linker.types import Candidate, Decision, Document, Mention, Part, Prediction

GOUT = Candidate("MESH:D006073", "Gout", "gouts", 0.98765)
TWO = (
    Candidate("MESH:D001943", "Breast Neoplasms", "breast cancer", 1),
    Candidate("MESH:D061325", "HBOC", "breast cancer syndrome", 0.5),
)


def written(*items: tuple[Document | None, Sequence[Prediction]]) -> list[str]:
    file = io.StringIO()
    tsv.write(items, file)
    return file.getvalue().split("\n")


def test_loose_mentions() -> None:
    composite = Prediction(
        Mention("breast and x cancer"),
        (Part("breast cancer", candidates=TWO), Part("x cancer", nil=True)),
    )
    assert written(
        (None, [Prediction(Mention("gout"), (Part("gout", candidates=(GOUT,)),))]),
        (None, [composite]),
    ) == [
        "mention\tpart\tconcept_id\tname\tscore\tmatched_name\trank\tconfidence\trejected",
        "gout\tgout\tMESH:D006073\tGout\t0.9877\tgouts\t1\t\t",
        "breast and x cancer\tbreast cancer\tMESH:D001943\tBreast Neoplasms\t1.0000\tbreast cancer\t1\t\t",
        "breast and x cancer\tbreast cancer\tMESH:D061325\tHBOC\t0.5000\tbreast cancer syndrome\t2\t\t",
        "breast and x cancer\tx cancer\t\t\t\t\t\t\t",
        "",
    ]


def test_lent_names_have_a_column_for_their_source() -> None:
    lent = Candidate("MESH:D006073", "Gout", "podagra", 0.5, source="doid.obo")
    parts = (Part("podagra", candidates=(lent, GOUT)), Part("x", nil=True))
    file = io.StringIO()
    mention = Mention("podagra", document_id="7")
    tsv.write([(None, [Prediction(mention, parts)])], file, sources=True)
    header, first, second, none = (line.split("\t") for line in file.getvalue().splitlines())
    assert header[-4:] == ["document_id", "spans", "source", "rejected"]
    assert [row[-2] for row in (first, second, none)] == ["doid.obo", "", ""]
    assert (len(header), header[5], first[5]) == (12, "matched_name", "podagra")


def test_confidences_and_what_was_rejected() -> None:
    sure = dataclasses.replace(GOUT, confidence=0.98765)
    unsure = Candidate("A:1", "Tea", "tea", 0.4, confidence=0.12)
    parts = (
        Part("gout", candidates=(sure, dataclasses.replace(TWO[0], confidence=0.0))),
        Part("tea", nil=True, rejected=unsure),
    )
    lines = written((None, [Prediction(Mention("gout and tea"), parts)]))
    assert [line.split("\t")[1:] for line in lines[1:4]] == [
        ["gout", "MESH:D006073", "Gout", "0.9877", "gouts", "1", "0.9877", ""],
        [
            *("gout", "MESH:D001943", "Breast Neoplasms", "1.0000", "breast cancer", "2"),
            *("0.0000", ""),
        ],
        ["tea", "", "", "", "", "", "0.1200", "A:1"],
    ]


def test_documents_have_two_more_columns() -> None:
    mention = Mention("a\tb\nc", ((0, 5), (7, 9)), document_id="1")
    item = (
        Document("1", mentions=(mention,)),
        [Prediction(mention, (Part("a\r\nb", candidates=(GOUT,)),))],
    )
    assert written((Document("0"), []), item)[:2] == [
        "mention\tpart\tconcept_id\tname\tscore\tmatched_name\trank\tconfidence\tdocument_id\tspans\trejected",
        "a b c\ta  b\tMESH:D006073\tGout\t0.9877\tgouts\t1\t\t1\t0-5;7-9\t",
    ]


def test_loose_mention_with_a_document_id() -> None:
    lines = written(
        (None, [Prediction(Mention("x", document_id="7"), (Part("x"),))]),
        (None, [Prediction(Mention("y"), (Part("y"),))]),
    )
    assert lines[1:3] == ["x\tx\t\t\t\t\t\t\t7\t\t", "y\ty\t\t\t\t\t\t\t\t\t"]


def test_nil_part_with_candidates_has_no_concept() -> None:
    assert (
        written((None, [Prediction(Mention("x"), (Part("x", candidates=TWO, nil=True),))]))[1]
        == "x\tx\t\t\t\t\t\t\t"
    )


def test_nothing_gives_a_header() -> None:
    assert written() == ["\t".join((*tsv.COLUMNS, "rejected")), ""]


def test_the_columns_of_documents_can_be_asked_for() -> None:
    def head(documents: bool | None, *items: Prediction) -> list[str]:
        file = io.StringIO()
        tsv.write([(None, [item]) for item in items], file, documents=documents)
        return file.getvalue().splitlines()

    loose, of_document = (
        Prediction(Mention("x"), (Part("x"),)),
        Prediction(Mention("y", ((0, 1),), document_id="7"), (Part("y"),)),
    )
    assert head(True, loose, of_document)[1:] == [
        "x\tx\t\t\t\t\t\t\t\t\t",
        "y\ty\t\t\t\t\t\t\t7\t0-1\t",
    ]
    assert head(False, of_document) == [
        "\t".join((*tsv.COLUMNS, "rejected")),
        "y\ty\t\t\t\t\t\t\t",
    ]
    assert head(True) == ["\t".join((*tsv.COLUMNS, *tsv.DOCUMENT_COLUMNS, "rejected"))]


def test_quotes() -> None:
    part = Part('5" scar', candidates=(Candidate("A:1", '"Scar"', "it's", 1),))
    assert (
        written((None, [Prediction(Mention('"'), (part,))]))[1]
        == '""""\t"5"" scar"\tA:1\t"""Scar"""\t1.0000\tit\'s\t1\t\t'
    )


TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\"\t\r\n\0 '\\,|#"), max_size=8
)
PREDICTIONS = st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=4)


def table(texts: list[tuple[str, str, str]]) -> tuple[str, list[list[str]]]:
    """A table of predictions with these mentions, names and documents; and its rows as others should read them."""
    items = [
        (
            None,
            [
                Prediction(
                    Mention(mention, document_id=document),
                    (Part(mention, candidates=(Candidate("A:1", name, name, 1),)),),
                )
            ],
        )
        for mention, name, document in texts
    ]
    file = io.StringIO()
    tsv.write(items, file, documents=True)
    plain = [
        ["".join(" " if sign in "\t\r\n\0" else sign for sign in text) for text in row]
        for row in texts
    ]
    return file.getvalue(), [
        [mention, mention, "A:1", name, "1.0000", name, "1", "", document, "", ""]
        for mention, name, document in plain
    ]


@given(PREDICTIONS)
@settings(deadline=None)
@example([('"', '""', 'a"b')])
def test_csv_reads_what_was_written(texts: list[tuple[str, str, str]]) -> None:
    written, rows = table(texts)
    assert list(csv.reader(io.StringIO(written, newline=""), "excel-tab")) == [
        [*tsv.COLUMNS, *tsv.DOCUMENT_COLUMNS, "rejected"],
        *rows,
    ]
    assert all(line.count("\t") == 10 for line in written.split("\n")[:-1])  # also for cut


@given(PREDICTIONS)
@settings(deadline=None)
@example([('"', '""', 'a"b')])
def test_pandas_reads_what_was_written(texts: list[tuple[str, str, str]]) -> None:
    pandas = pytest.importorskip("pandas")
    written, rows = table(texts)
    frame = pandas.read_csv(
        io.BytesIO(written.encode()), sep="\t", dtype=str, keep_default_na=False
    )
    assert frame.values.tolist() == rows
    assert list(frame) == [*tsv.COLUMNS, *tsv.DOCUMENT_COLUMNS, "rejected"]


@given(PREDICTIONS)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([('"', '""', 'a"b')])
def test_what_was_written_is_read_as_mentions_without_gold(
    tmp_path: Path, texts: list[tuple[str, str, str]]
) -> None:
    texts = [row for row in texts if row[0].translate({0: " "}).strip()]
    written, rows = table(texts)
    (tmp_path / "x.tsv").write_bytes(written.encode())
    # nobody said that the ids are right: they are no annotations to train on
    assert list(reader.read(tmp_path / "x.tsv")) == [Mention(row[0].strip()) for row in rows]


def test_answers_of_decisions_have_a_source_and_a_state() -> None:
    chosen = dataclasses.replace(GOUT, source="decision")
    unsure, rejected = (Part("m", nil=True, rejected=candidate) for candidate in (GOUT, chosen))
    said = (
        Decision("m", GOUT.concept_id, accepted=False, reviewer="ann", time="2026-01-02"),
        Decision("m", "A:1", accepted=False, reviewer="bob", time="2026-01-01", id=3),
    )
    predictions = [
        Prediction(Mention("gout"), (Part("gout", candidates=(chosen,)),), state="accepted"),
        Prediction(Mention("m"), (Part("m", nil=True, candidates=(GOUT,)),), state="no concept"),
        Prediction(Mention("m"), (rejected,), state="open", decisions=said),
        Prediction(Mention("m"), (unsure,)),
    ]
    file = io.StringIO()
    tsv.write([(None, predictions)], file, sources=True, decisions=True)
    rows = list(csv.DictReader(file.getvalue().splitlines(), delimiter="\t"))
    columns = ("concept_id", "source", "rejected", "state", "reviewer", "time")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("MESH:D006073", "decision", "", "accepted", "", ""),
        ("", "decision", "", "no concept", "", ""),
        ("", "decision", "MESH:D006073", "open", "ann; bob", "2026-01-02"),
        ("", "", "MESH:D006073", "model", "", ""),
    ]
    assert list(map(decision_from_json, json.loads(rows[2]["decisions"]))) == [
        said[0],
        dataclasses.replace(said[1], id=None),
    ]
