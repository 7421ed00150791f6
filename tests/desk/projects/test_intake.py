"""Files that come into a project: what of them is new, and what people decided in them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from linker.desk.decisions import exchange
from linker.desk.decisions.store import undo
from linker.desk.projects import intake
from linker.desk.projects.store import OtherKind, Taken
from linker.errors import LinkerError
from linker.records import Decision

from .conftest import Desk

WARDS = "mention,ward\nA-T,1\nbreast cancer,2\nA-T,3\nataxia telangiectasia,4\nzzzz qqqq,5\n,6\n"
PUBTATOR = (
    "7|t|Ataxia telangiectasia (AT)\n7|a|AT was seen, and breast cancer.\n"
    "7\t0\t21\tAtaxia telangiectasia\tDisease\n7\t27\t29\tAT\tDisease\n"
    "7\t44\t57\tbreast cancer\tDisease\n\n"
    "8|t|On breast cancer\n8|a|Here.\n8\t3\t16\tbreast cancer\tDisease\n\n"
)


def said(desk: Desk) -> list[tuple[str, str, str]]:
    return [(d.mention, d.concept_id, d.reviewer) for d in desk.store.list()]


def test_a_reviewed_file_is_read_back_once(desk: Desk) -> None:
    desk.create(WARDS)
    header, lines = desk.table()
    assert (lines[1]["concept_id"], lines[1]["state"]) == ("MESH:D001943", "model")
    lines[1] |= {"state": "accepted", "note": "seen"}
    text = desk.written(header, lines)
    assert [desk.add(text).imported for _ in range(2)] == [1, 0]
    assert said(desk) == [("breast cancer", "MESH:D001943", "Bob")]
    assert desk.row("breast cancer")["note"] == "seen"


def test_a_concept_that_was_changed_without_a_state_is_told(desk: Desk) -> None:
    desk.create(WARDS)
    header, lines = desk.table()
    lines[0]["state"] = "accepted"
    lines[1]["concept_id"] = "MESH:D001260"
    lines[4]["concept_id"] = "MESH:D001260"
    stored = desk.add(desk.written(header, lines))
    assert stored.imported == 1
    (note,) = [note for note in stored.notes if "another concept" in note]
    assert ": 2, the first is row 3;" in note
    lines[1]["state"] = lines[4]["state"] = "accepted"
    stored = desk.add(desk.written(header, lines))
    assert stored.imported == 2
    assert not [note for note in stored.notes if "another concept" in note]


def test_a_file_that_is_read_again_undoes_nothing(desk: Desk) -> None:
    desk.create(WARDS)
    header, lines = desk.table()
    lines[1]["state"] = "accepted"
    text = desk.written(header, lines)
    desk.add(text)
    desk.decide("breast cancer", None, "Bob")
    stored = desk.add(text)
    assert (stored.imported, stored.repeated) == (0, 1)
    assert said(desk)[-1] == ("breast cancer", "", "Bob")
    stored = desk.add(text, again=True)
    assert (stored.imported, stored.repeated) == (1, 0)
    desk.store.withdraw([d.id or 0 for d in desk.store.list()])
    assert desk.add(text).repeated == 1
    assert desk.row("breast cancer")["state"] == "no concept"  # which the withdrawn one replaced


def test_who_returns_to_an_earlier_concept_in_a_later_table_is_heard(desk: Desk) -> None:
    desk.create(WARDS)
    filled = []
    for state in ("accepted", "no concept", "accepted"):
        header, lines = desk.table()
        lines[1] |= {"state": state, "concept_id": "MESH:D001943" if state == "accepted" else ""}
        filled.append(desk.written(header, lines))
        assert desk.add(filled[-1]).imported == 1
    assert [desk.add(text).imported for text in filled] == [0, 0, 0]
    assert said(desk) == [("breast cancer", "MESH:D001943", "Bob")]


def test_documents_are_reviewed_in_a_table(desk: Desk) -> None:
    desk.create(PUBTATOR, "a.txt")
    header, lines = desk.table(form="tsv")
    assert header[:4] == ["mention", "document_id", "spans", "expanded"]
    next(line for line in lines if line["document_id"] == "8")["state"] = "accepted"
    assert desk.add(desk.written(header, lines)).imported == 1
    (decision,) = desk.store.list()
    assert (decision.mention, decision.scope) == ("breast cancer", "8")
    assert desk.add(desk.export("tsv"), "back.tsv").imported == 0


def test_flags_notes_and_predicates_are_read_back(desk: Desk) -> None:
    desk.create("Mention,Note\nA-T,x\nbreast cancer,\nzzzz qqqq,\nfever,\n")
    desk.decide("A-T", "MESH:D001260", predicate="broad")
    desk.remark("A-T", "note", "ask\nBob")
    desk.remark("fever", "flag", "1")
    header, lines = desk.table()
    filled = [[line[name] for name in ("predicate", "flag", "note")] for line in lines]
    assert filled == [["broad", "", "ask Bob"], ["", "", ""], ["", "", ""], ["", "1", ""]]
    assert desk.add(desk.written(header, lines)).imported == 0
    lines[1] |= {"state": "accepted", "predicate": "narrow", "flag": "x"}
    lines[2] |= {"flag": "no", "note": "'-?"}
    assert [desk.add(desk.written(header, lines)).imported for _ in range(2)] == [1, 0]
    shown = [(row["predicate"], row["flag"], row["note"]) for row in desk.rows()]
    assert shown == [
        *(("broad", False, "ask\nBob"), ("narrow", True, ""), ("", False, "-?"), ("", True, ""))
    ]


def test_the_column_is_that_of_the_project(desk: Desk) -> None:
    desk.create("disease,found\nold,breast cancer\nnew,fever\n", column="found")
    header, lines = desk.table()
    lines[0]["state"], lines[1]["state"] = "accepted", "no concept"
    text = desk.written(header, lines)
    assert desk.add(text, column="disease").imported == 0  # mentions that are not there
    other = desk.create(WARDS).number
    assert desk.add(text, column="found", number=other).imported == 1
    assert desk.add(text).imported == 1
    assert {mention for mention, *_ in said(desk)} == {"breast cancer", "fever"}


def test_a_table_of_another_column_is_refused(desk: Desk) -> None:
    came = (
        "group,diagnosis\nbreast cancer,lymphoma\nleukaemia,breast cancer\nfever,leukaemia\n"
        "lymphoma,Ataxia Telangiectasia\n"
    )
    desk.create(came, column="diagnosis")
    desk.accept(above=0.5)
    content = desk.export().replace(b",model,", b",accepted,")
    other = desk.create(came, column="group").number
    count = len(said(desk))
    for number, column in ((other, None), (1, "group")):
        with pytest.raises(LinkerError):
            desk.add(content, column=column, number=number)
    with pytest.raises(LinkerError):
        desk.create(content, column="group")
    assert len(said(desk)) == count


def test_rows_that_contradict_each_other_decide_nothing(desk: Desk) -> None:
    desk.create("mention\nA-T\nA-T\ngout\nGout\n")
    header, lines = desk.table()
    for line, state in zip(lines, ("accepted", *["no concept"] * 3), strict=True):
        line["state"] = state
    stored = desk.add(desk.written(header, lines))
    assert (stored.imported, len(stored.notes)) == (1, 2)
    assert said(desk) == [("gout", "", "Bob")]


def test_decisions_on_documents_of_others_are_not_read(desk: Desk) -> None:
    other = desk.create(
        PUBTATOR.replace("7|", "99|").replace("\n7\t", "\n99\t"), "other.txt"
    ).number
    project = desk.create(PUBTATOR, "a.txt").number
    desk.decide("breast cancer", None, number=other, document=1, here=True)
    content = desk.export("tsv", other)
    desk.store.withdraw([d.id or 0 for d in desk.store.list()])
    stored = desk.add(content, "b.tsv", number=project)
    assert (stored.imported, len(stored.notes)) == (0, 2)


@pytest.mark.parametrize(
    ("content", "file", "error"),
    [
        ("mention,ward\nfever,1\n", "list.csv", Taken),  # twice
        (PUBTATOR, "some.txt", OtherKind),
        ("time,reviewer,what,mention,concept_id,project\n", "log.tsv", LinkerError),
    ],
)
def test_what_is_refused(desk: Desk, content: str, file: str, error: type[Exception]) -> None:
    desk.create("mention,ward\nfever,1\n")
    with pytest.raises(error):
        desk.add(content, file)
    assert len(desk.rows()) == 1


def test_documents_that_a_project_has_are_not_added_again(desk: Desk) -> None:
    desk.create(PUBTATOR, "a.txt")
    desk.decide("breast cancer", None)
    new = "9|t|Gout in a boy\n9|a|\n9\t0\t4\tGout\tDisease\n"
    notes = desk.add(desk.export().decode() + new, "back.txt").notes
    assert notes[-1] == "documents that the project has already, which were not added: 2"
    with desk.reading() as queue:
        assert queue.summary()["documents"] == 3


def test_long_documents_are_compared_a_few_at_a_time(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "No gout was seen here. " * 5_000
    lines = [json.dumps({"id": str(number), "text": text}) for number in range(30)]
    counts = list[int]()

    def texts(_: Any, ids: list[str], __: int) -> dict[str, set[str]]:
        counts.append(len(ids))
        return {}

    desk.create(lines[0], "a.jsonl")
    monkeypatch.setattr("linker.desk.projects.intake._texts", texts)
    file = desk.read("\n".join(lines[1:]), "b.jsonl", None, None, 1)
    with desk.store.reading() as connection:
        assert intake._known_documents(connection, file, 1) == frozenset()
    assert (sum(counts), max(counts) * len(text) < 1_200_000) == (29, True)


def test_texts_of_one_name_have_ids_of_their_own(desk: Desk) -> None:
    text, other = "No gout here. It was lymphoma, they said.", "Another patient. He had leukaemia."

    def identifier(number: int) -> Any:
        return desk.rows(number)[0]["first"]["document_id"]

    first = desk.create(text, "note.txt").number
    stored = desk.create(other, "note.txt")
    assert (identifier(first), len(stored.notes)) == ("note", 1)
    own = identifier(stored.number)
    assert own != "note"
    # a decision in a text outlives its project, and is not on another text of its name
    desk.store.add([Decision("x", "A", scope="gone")])
    assert identifier(desk.create(other, "gone.txt").number) != "gone"


def steps(desk: Desk) -> list[str]:
    """What was done, in words."""
    with desk.store.reading() as connection:
        return [words for (words,) in connection.execute("SELECT words FROM steps ORDER BY id")]


def test_a_file_of_a_name_that_was_read_to_its_end_is_a_step_of_its_own(desk: Desk) -> None:
    desk.create(WARDS)
    header, lines = desk.table()
    for line in (lines[1], lines[3]):
        line["state"] = "accepted"
        assert desk.add(desk.written(header, lines)).imported == 1
    assert steps(desk) == ["read back.csv", "read back.csv"]


def test_a_reviewed_file_whose_reading_was_stopped_is_sent_again(desk: Desk) -> None:
    lines = "".join(f",gout {number},-1,true,Ann\n" for number in range(1_200))
    table = "decision,mention,concept_id,accepted,reviewer\n" + lines
    file = desk.read(table, "b.csv", None, None, 1)
    reviewed = intake.reviewed_in(file, desk.session)
    assert reviewed
    assert len(reviewed.decisions) == 1_200

    def busy(function: Any, *arguments: Any) -> Any:
        if function is exchange._add_batch and desk.store.list():
            raise LinkerError("the file of decisions is busy; try again later")
        return function(*arguments)

    with pytest.raises(LinkerError):
        intake.create(desk.store, file, reviewed, desk.session, "q", None, write=busy)
    assert len(desk.store.list()) == 500
    assert steps(desk) == ["read b.csv, not to its end"]
    stored = intake.create(desk.store, file, reviewed, desk.session, "q", None)
    assert (stored.number, stored.imported, len(desk.store.list())) == (1, 700, 1_200)
    assert steps(desk) == ["read b.csv"]
    with desk.store.transaction() as connection:
        undo(connection, 1, "Bob")
    assert desk.store.list() == []
    with pytest.raises(Taken):  # another file
        intake.create(
            desk.store, desk.read(WARDS, "c.csv", None, None, 0), None, desk.session, "q", None
        )
