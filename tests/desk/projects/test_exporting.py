"""What comes out of a project: as it came in, with what became of it, and in other formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from linker.desk.projects import store as rows
from linker.desk.projects.exporting import Exporter

from .conftest import Desk

PUBTATOR = (
    "7|t|Ataxia telangiectasia (AT) and aspirin\n7|a|AT was seen, and breast cancer.\n"
    "7\t0\t21\tAtaxia telangiectasia\tDisease\tMESH:D001260\n"
    "7\t23\t25\tAT\tDisease\n7\t31\t38\taspirin\tChemical\n7\t39\t41\tAT\tDisease\n"
    "7\t56\t69\tbreast cancer\tDisease\n\n"
    "8|t|On breast cancer\n8|a|Here.\n8\t3\t16\tbreast cancer\tDisease\n\n"
)


def test_a_table_comes_out_as_it_came_in_with_what_became_of_it(desk: Desk) -> None:
    came = "\ufeffmention;ward\r\nA-T;Köln\r\n;2\r\nbreast cancer;3\r\n"
    desk.create(came, "wards.csv")
    desk.decide("A-T", "MESH:D001260")
    desk.remark("breast cancer", "note", "ask")
    header, first, empty, second = desk.export().decode().split("\r\n")[:4]
    assert header == (
        "\ufeffmention;ward;concept_id;name;matched_name;confidence;rejected;assertion;"
        "state (fill in);source;reviewer;time;decisions;broader;broader_name;"
        "predicate (fill in);flag (fill in);note (fill in)"
    )
    assert first.startswith("A-T;Köln;MESH:D001260;Ataxia Telangiectasia;")
    assert ";accepted;decision;Ada;" in first
    assert empty == ";2" + 16 * ";"
    assert second.startswith("breast cancer;3;MESH:D001943;")
    assert second.endswith(";model;;;;;;;;;ask")


def test_an_open_part_goes_out_and_comes_back(desk: Desk) -> None:
    composite = "breast and ovarian cancer"
    desk.create(f"mention,ward\n{composite},1\n")
    desk.decide(composite, "MESH:D001943|?", predicate="broad")
    header, (line,) = desk.table()
    shown = [line[name] for name in ("concept_id", "state", "source", "reviewer", "predicate")]
    assert shown == ["MESH:D001943|?", "open", "decision|", "Ada", "broad"]
    assert line["confidence"].startswith("1.0000|0.")
    for form in ("tsv", "decisions"):
        assert b"MESH:D001943|?" in desk.export(form)
    stored = desk.add(desk.written(header, [line]))
    assert len(desk.store.list()) == 1  # it says nothing new
    assert stored.number == 1
    line |= {"concept_id": "MESH:D001943|MESH:D010051", "state": "accepted"}
    desk.add(desk.written(header, [line]), "again.csv")
    assert [d.concept_id for d in desk.store.list()] == [
        "MESH:D001943|?",
        "MESH:D001943|MESH:D010051",
    ]
    assert {row["state"] for row in desk.rows()} == {"accepted"}


def test_documents_come_out_in_their_format_and_others(desk: Desk) -> None:
    desk.create(PUBTATOR, "some.pubtator.txt")
    desk.decide("breast cancer", None, here=True, document=2)
    lines = desk.export().decode().split("\n")
    assert lines[4] == "7\t31\t38\taspirin\tChemical"
    assert lines[3].startswith("7\t23\t25\tAT\tDisease\tMESH:D001260\t0.")
    assert lines[6].startswith("7\t56\t69\tbreast cancer\tDisease\tMESH:D001943\t0.")
    of_document = next(line for line in lines if line.startswith("8\t3"))
    assert "\t-1\t" in of_document
    assert "no concept [{" in of_document
    for form in ("bioc", "jsonl", "tsv", "sssom"):
        assert b"MESH:D001943" in desk.export(form)
    assert desk.export("decisions").count(b"\n") == 2
    assert b"said" in desk.export("log")


def test_ids_of_a_file_stay_until_somebody_looked_at_the_answer(desk: Desk) -> None:
    content = PUBTATOR.replace("breast cancer\tDisease", "breast cancer\tDisease\tD000001")
    desk.create(content, "some.pubtator.txt")
    own = b"7\t56\t69\tbreast cancer\tDisease\tD000001\n"
    assert own in desk.export()
    assert b"MESH:D001943" in desk.export("tsv")
    desk.accept()
    assert b"accepted" in desk.export("tsv")
    assert own in desk.export()
    desk.decide("breast cancer", "MESH:D001943")
    text = desk.export()
    assert own not in text
    assert b"7\t56\t69\tbreast cancer\tDisease\tMESH:D001943\t1.0000 accepted [" in text


def test_what_was_accepted_in_bulk_names_nobody(desk: Desk) -> None:
    desk.create("mention,ward\nbreast cancer,1\nzzzz,2\n,3\n")
    sure = desk.row("breast cancer")["confidence"]
    desk.accept(above=0.5)
    text = desk.export("sssom").decode()
    table = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
    mappings: dict[str, Any] = {
        row["subject_label"]: row for row in csv.DictReader(io.StringIO(table), delimiter="\t")
    }
    breast = mappings["breast cancer"]
    assert float(breast["confidence"]) == pytest.approx(sure, abs=0.001)
    assert (breast["author_label"], breast["mapping_tool"]) == ("", "concept-linker")
    _, lines = desk.table()
    assert {line["reviewer"] + line["time"] for line in lines} == {""}
    in_bulk = "accepted in bulk"
    assert [line["state"] for line in lines] == [in_bulk, "model", ""]  # of a blank cell
    assert [json.loads(line)["state"] for line in desk.export("jsonl").splitlines()] == [
        in_bulk,
        "model",
    ]
    assert "state accepted in bulk" in text
    before = desk.store.list()
    desk.add(desk.export())  # nobody looked at it, so that nothing is decided
    assert desk.store.list() == before


def test_documents_say_what_was_accepted_in_bulk(desk: Desk) -> None:
    desk.create(PUBTATOR, "some.pubtator.txt")
    desk.accept(above=0.5)
    assert b"breast cancer\tDisease\tMESH:D001943\t0." in desk.export("pubtator")
    assert desk.export("pubtator").count(b" accepted in bulk [") == 4  # the id of the file stays
    assert desk.export("bioc").count(b'<infon key="state">accepted in bulk</infon>') == 4


def test_a_plain_table_has_id_name_and_state_beside_its_own_columns(
    desk: Desk, deny: Callable[..., None]
) -> None:
    deny("gout")
    desk.create(
        "\ufeffmention;state\r\nA-T;Köln\r\n;2\r\nbreast cancer;3\r\ngout;4\r\nzzzz;5\r\n",
        "wards.csv",
    )
    desk.decide("A-T", "MESH:D001260")
    desk.accept(above=0.5)
    with desk.store.reading() as connection:
        project = rows.project(connection, 1)
        exporter = Exporter(project, connection, desk.store, desk.decided, desk.linker)
        assert exporter.described("plain").name == "wards.linked.csv"
    assert desk.export("plain").decode().split("\r\n") == [
        "\ufeffmention;state;concept_id;name;linker_state",
        "A-T;Köln;MESH:D001260;Ataxia Telangiectasia;accepted",
        ";2;;;",
        "breast cancer;3;MESH:D001943;Breast Neoplasms;accepted in bulk",
        "gout;4;MESH:D006073;Gout;model, absent",
        "zzzz;5;;;model",
        "",
    ]


def test_a_plain_table_of_lists_and_documents(desk: Desk) -> None:
    desk.create("breast cancer\nzzzz\n", "names.txt")
    assert desk.export("plain").decode().splitlines() == [
        "mention\tconcept_id\tname\tstate",
        "breast cancer\tMESH:D001943\tBreast Neoplasms\tmodel",
        "zzzz\t\t\tmodel",
    ]
    number = desk.create(PUBTATOR, "some.pubtator.txt").number
    header, first = desk.export("plain", number).decode().splitlines()[:2]
    assert header == "mention\tdocument_id\tspans\texpanded\tconcept_id\tname\tstate"
    assert first == ("Ataxia telangiectasia\t7\t0-21\t\tMESH:D001260\tAtaxia Telangiectasia\tmodel")


def test_a_plain_table_names_no_part_that_is_open(desk: Desk) -> None:
    composite = "breast and ovarian cancer"
    desk.create(f"{composite}\ngout\n", "names.txt")
    desk.decide(composite, "MESH:D001260|?")
    line = desk.export("plain").decode().splitlines()[1]
    assert line == f"{composite}\tMESH:D001260|?\tAtaxia Telangiectasia|\topen"
    desk.decide(composite, "?|-1")
    line = desk.export("plain").decode().splitlines()[1]
    assert line == f"{composite}\tMESH:D001260|\tAtaxia Telangiectasia|\taccepted"


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16"])
def test_texts_in_other_encodings_go_out_in_utf_8(desk: Desk, encoding: str) -> None:
    desk.create("mention;Ort\nMénière;Köln\n", "x.csv", encoding=encoding)
    assert desk.export().decode("utf-8-sig").split("\n")[1].startswith("Ménière;Köln;")
