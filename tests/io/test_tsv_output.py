"""Tab-separated predictions."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from linker.io import tsv as reader
from linker.io.outputs import decision_from_json
from linker.io.tsv import COLUMNS
from linker.records import Candidate, Decision, Document, Mention, Part, Prediction

from .conftest import written

GOUT = Candidate("MESH:D006073", "Gout", "gouts", 0.98765)
TWO = (
    Candidate("MESH:D001943", "Breast Neoplasms", "breast cancer", 1),
    Candidate("MESH:D061325", "HBOC", "breast cancer syndrome", 0.5),
)


def lines(*predictions: Prediction, document: Document | None = None, **layout: Any) -> list[str]:
    return written("tsv", (document, predictions), **layout).split("\n")


def test_a_row_for_each_candidate_of_each_part() -> None:
    assert lines(
        Prediction(Mention("gout"), (Part("gout", candidates=(GOUT,)),)),
        Prediction(
            Mention("breast and x cancer"),
            (Part("breast cancer", candidates=TWO), Part("x cancer", candidates=TWO, nil=True)),
        ),
    ) == [
        "mention\tpart\tconcept_id\tname\tscore\tmatched_name\trank\tconfidence\trejected\tassertion",
        "gout\tgout\tMESH:D006073\tGout\t0.9877\tgouts\t1\t\t\t",
        "breast and x cancer\tbreast cancer\tMESH:D001943\tBreast Neoplasms\t1.0000\tbreast cancer\t1\t\t\t",
        "breast and x cancer\tbreast cancer\tMESH:D061325\tHBOC\t0.5000\tbreast cancer syndrome\t2\t\t\t",
        "breast and x cancer\tx cancer\t\t\t\t\t\t\t\t",
        "",
    ]
    assert written("tsv") == "\t".join((*COLUMNS, "rejected", "assertion")) + "\n"


TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("\"\t\r\n\0 '\\,|#"), max_size=8
)


NAMED = TEXT.filter(lambda text: text.replace("\0", " ").strip())  # a blank mention is refused


@given(st.lists(st.tuples(NAMED, TEXT, TEXT), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([('"', '5" scar', 'a"b')])
def test_csv_pandas_and_our_reader_read_what_was_written(
    tmp_path: Path, texts: list[tuple[str, str, str]]
) -> None:
    predictions = [
        Prediction(
            Mention(mention, document_id=document),
            (Part(mention, candidates=(Candidate("A:1", name, name, 1),)),),
        )
        for mention, name, document in texts
    ]
    text = written("tsv", (None, predictions), documents=True)
    header = [*COLUMNS, "document_id", "spans", "rejected", "assertion"]
    plain = [[field.translate(dict.fromkeys(b"\t\r\n\0", " ")) for field in row] for row in texts]
    rows = [
        [mention, mention, "A:1", name, "1.0000", name, "1", "", document, "", "", ""]
        for mention, name, document in plain
    ]
    assert list(csv.reader(io.StringIO(text, newline=""), "excel-tab")) == [header, *rows]
    assert all(line.count("\t") == 11 for line in text.split("\n")[:-1])  # also for cut
    (tmp_path / "x.tsv").write_bytes(text.encode())
    # nobody said that the ids are right: they are no annotations to train on
    mentions = [Mention(row[0].strip()) for row in plain]
    assert list(reader.read(tmp_path / "x.tsv")) == mentions
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(io.BytesIO(text.encode()), sep="\t", dtype=str, keep_default_na=False)
    assert [list(frame), *frame.values.tolist()] == [header, *rows]


def test_answers_of_decisions_have_a_source_and_a_state() -> None:
    chosen = dataclasses.replace(GOUT, source="decision")
    unsure, rejected = (Part("m", nil=True, rejected=candidate) for candidate in (GOUT, chosen))
    said = (
        Decision("m", GOUT.concept_id, accepted=False, reviewer="ann", time="2026-01-02"),
        Decision("m", "A:1", accepted=False, reviewer="bob", time="2026-01-01", id=3),
    )
    predictions = [
        Prediction(Mention("gout"), (Part("g", candidates=(chosen,)),), state="accepted"),
        Prediction(Mention("m"), (Part("m", nil=True),), state="no concept"),
        Prediction(Mention("m"), (rejected,), state="open", decisions=said),
        Prediction(Mention("m"), (unsure,)),
    ]
    text = lines(*predictions, sources=True, decisions=True)
    rows = list(csv.DictReader(text, delimiter="\t"))
    columns = ("concept_id", "source", "rejected", "state", "reviewer", "time")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("MESH:D006073", "decision", "", "accepted", "", ""),
        ("", "decision", "", "no concept", "", ""),
        ("", "decision", "MESH:D006073", "open", "ann; bob", "2026-01-02"),
        ("", "", "MESH:D006073", "model", "", ""),
    ]
    again = [decision_from_json(record) for record in json.loads(rows[2]["decisions"])]
    assert again == [said[0], dataclasses.replace(said[1], id=None)]
