"""A mention of which one part is decided, and another open, in every format."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from linker.desk.decisions import exchange
from linker.io import jsonl, mentions
from linker.io.outputs import BESIDE, DECISION
from linker.records import Candidate, Decision, Document, Mention, Part, Passage, Prediction

from .conftest import written

TEXT = "Neuropathy; malformation of the eye"
SAID = Decision(TEXT, "MESH:D010523|?", reviewer="ann", time="2026-11-28T09:00:00+00:00")
CHOSEN = Candidate(
    *("MESH:D010523", "Peripheral Nervous System Diseases", "neuropathy"),
    *(0.9, 0.9, None, DECISION, 1.0),
)
GUESS = Candidate(
    *("MESH:D006330", "Heart Defects, Congenital", "malformation of the heart"),
    *(0.8, 0.8, None, "", 0.1),
)
DECIDED = Part("Neuropathy", candidates=(CHOSEN,))
OPEN = Part("malformation of the eye", candidates=(GUESS,), is_open=True)
MENTION = Mention(TEXT, ((0, len(TEXT)),), type="Disease")
DOCUMENT = Document("1", (Passage(TEXT),), (MENTION,))


def answer(*parts: Part, said: Decision = SAID) -> Prediction:
    return Prediction(MENTION, parts, "split", state="open", decisions=(said,))


ANSWER = answer(DECIDED, OPEN)
SECOND = answer(
    Part("Neuropathy", nil=True, is_open=True),
    Part("malformation of the eye", nil=True),
    said=Decision(TEXT, "?|-1", reviewer="ann"),
)
"""Of which the second part was decided to have no concept."""


def test_columns_beside_a_mention() -> None:
    cells = {field.name: field.joined(ANSWER) for field in BESIDE}
    assert cells["concept_id"] == "MESH:D010523|?"
    assert (cells["source"], cells["confidence"]) == ("decision|", "1.0000|0.1000")
    assert (cells["state"], cells["reviewer"]) == ("open", "ann")
    assert json.loads(cells["decisions"])[0]["concept_id"] == "MESH:D010523|?"
    other = {field.name: field.joined(SECOND) for field in BESIDE}
    assert (other["concept_id"], other["source"]) == ("?|", "|decision")
    assert (other["state"], other["reviewer"]) == ("open", "ann")


def test_a_row_for_each_candidate() -> None:
    text = written("tsv", (None, [ANSWER, SECOND]), sources=True, decisions=True)
    rows = [*csv.DictReader(text.splitlines(), dialect="excel-tab")]
    columns = ("concept_id", "confidence", "source", "state", "reviewer")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("MESH:D010523", "1.0000", "decision", "open", "ann"),
        ("MESH:D006330", "0.1000", "", "open", ""),
        ("", "", "", "open", ""),
        ("", "", "decision", "open", "ann"),
    ]


def test_json_lines(tmp_path: Path) -> None:
    text = written("jsonl", (None, [ANSWER]))
    parts = json.loads(text)["parts"]
    assert [part.get("open") for part in parts] == [None, True]
    assert (parts[1]["candidates"][0]["confidence"], parts[1]["nil"]) == (0.1, False)
    (tmp_path / "a.jsonl").write_text(text, "utf-8")
    (read,) = jsonl.read_predictions(tmp_path / "a.jsonl")
    assert read.parts == ANSWER.parts
    assert (read.state, read.decisions) == ("open", (SAID,))


@pytest.mark.parametrize("form", ["pubtator", "bioc"])
def test_documents(tmp_path: Path, form: str) -> None:
    text = written(form, (DOCUMENT, [ANSWER]))
    assert "MESH:D010523|?" in text
    assert "MESH:D006330" not in text
    (tmp_path / "x").write_text(text, "utf-8")
    (read,) = mentions.read(tmp_path / "x")
    assert isinstance(read, Document)
    assert read.mentions[0].gold is None  # what is open is no annotation


def test_mappings(tmp_path: Path) -> None:
    text = written("sssom", (None, [ANSWER]), decisions=True)
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = [*csv.DictReader(lines, dialect="excel-tab")]
    columns = ("object_id", "predicate_id", "author_label", "mapping_justification", "confidence")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("MESH:D010523", "skos:relatedMatch", "ann", "semapv:ManualMappingCuration", ""),
        ("MESH:D006330", "skos:relatedMatch", "", "semapv:LexicalSimilarityThresholdMatching", "0.1"),
    ]  # fmt: skip
    assert [row["comment"].split(";")[0] for row in rows] == ["part 1 of 2", "part 2 of 2"]
    (tmp_path / "m.sssom.tsv").write_text(text, "utf-8")
    (decision,) = exchange.read(tmp_path / "m.sssom.tsv")
    assert (decision.concept_id, decision.reviewer) == ("MESH:D010523|?", "ann")


def test_mentions_with_open_parts_are_not_annotated(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("mention\tconcept_id\nx and y\tA|?\nz\tZ\n", "utf-8")
    lines = '{"mention": "x and y", "ids": ["A", "?"]}\n{"mention": "z", "id": "Z"}\n'
    (tmp_path / "a.jsonl").write_text(lines, "utf-8")
    for name in ("a.tsv", "a.jsonl"):
        read = [*mentions.read(tmp_path / name)]
        assert [mention.gold is None for mention in read] == [True, False]  # type: ignore[union-attr]


def test_the_table_on_a_terminal_says_of_each_part_what_was_decided() -> None:
    lines = written("text", (None, [ANSWER, SECOND]), decisions=True, width=100).splitlines()
    assert [line.rpartition("  ")[2] for line in lines[1:]] == [
        "accepted",
        "open 0.10",
        "open",
        "no concept",
    ]


def test_a_concept_map_says_of_each_part_whether_a_person_accepted_it() -> None:
    three = answer(
        DECIDED,
        OPEN,
        replace(DECIDED, text="x"),
        said=Decision(TEXT, "MESH:D010523|?|?", reviewer="ann"),
    )
    by_bob = Decision(TEXT, "?|?|MESH:D010523", reviewer="bob")
    record = json.loads(
        written("conceptmap", (None, [replace(three, decisions=(*three.decisions, by_bob))]))
    )
    comments = []
    for element in record["group"][0]["element"]:
        comments += [target["comment"].split("; ", 1)[1] for target in element["target"]]
    assert comments == [
        "accepted by ann",
        "not reviewed; confidence 0.1000",
        "accepted by bob",
    ]
    assert record["experimental"]
