"""Decisions in an SQLite file: threads, processes that are killed, and files of something else."""

from __future__ import annotations

import contextlib
import importlib
import sqlite3
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Dictionary
from linker.desk.decisions.store import (
    DecisionStore,
    Step,
    add_step,
    checked,
    identified,
    replaced,
    undo,
)
from linker.errors import LinkerError
from linker.linking.decisions import conflicts, in_force, parts_of
from linker.linking.decisions_file import APPLICATION, SCHEMAS
from linker.records import Decision

ROOT = Path(__file__).resolve().parents[3]
OF_SCHEMA_2 = ROOT / "tests/data/decisions-2.sql"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "decisions.db"


def test_decisions_come_back(path: Path) -> None:
    one = Decision("Ataxia", "MeSH:D001260", False, "12", "ann", "2020-01-01", "model", "2017")
    with DecisionStore(path) as store:
        (added,) = store.add([one])
        assert added == replace(one, concept_id="MESH:D001260", id=1)
        (second,) = store.add([Decision("gout", "")])
        assert second.id == 2
        assert second.time.endswith("+00:00")
    with DecisionStore(path, read_only=True) as store:
        assert store.list() == [added, second]
        with pytest.raises(LinkerError):
            store.add([one])
    with pytest.raises(LinkerError):
        DecisionStore(path.with_name("none"), read_only=True)


def test_a_file_of_the_first_schema_is_read_and_given_the_further_tables(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(";".join(SCHEMAS[0]))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute("PRAGMA user_version = 1")
    connection.execute("INSERT INTO decisions VALUES (7, 'gout', 'A', 1, '', 'ann', '', '', '')")
    connection.commit()
    connection.close()
    old = Decision("gout", "A", reviewer="ann", id=7)
    with DecisionStore(path, read_only=True) as store:
        assert store.list() == [old]
    with DecisionStore(path) as store, DecisionStore(path) as other:
        settled = Decision("gout", "B", reviewer="eve", settles=("ann",), predicate="broad")
        (added,) = store.add([settled], Step("settled gout", "eve"))
        assert (added.id, added.step) == (8, 1)
        assert other.list() == [old, added]


@pytest.mark.parametrize("read_only", [True, False])
def test_a_file_of_schema_2_keeps_what_people_said(path: Path, read_only: bool) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(OF_SCHEMA_2.read_text("utf-8"))  # as the code of that schema made it
    connection.close()
    with DecisionStore(path, read_only=read_only) as store:
        assert [p.decision.id for p in store.history()] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
        assert [decision.id for decision in store.list()] == [1, 2, 3, 5, 6, 7, 8, 9]
        settled = [p.decision.settles for p in store.history()]
        assert [p.decision.id for p in store.history() if p.decision.bulk] == [4, 5, 6]
        assert [{*names} for names in settled] == [set(), set(), {"ann", "bob"}, *[set()] * 6]
        assert [[d.id for d in said] for said in conflicts(in_force(store.list()))] == [[8, 9]]
    with DecisionStore(path) as store, store.reading() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(SCHEMAS),)
        assert {*connection.execute("SELECT form <> '' FROM decisions")} == {(1,)}
        proposed = connection.execute("SELECT label, parent FROM proposals").fetchall()
        assert proposed == [("odd gout", "A:1")]


def test_the_history_says_what_became_of_each(path: Path) -> None:
    with DecisionStore(path) as store:
        store.add([Decision("m", "A"), Decision("M", "B"), Decision("n", "C", scope="7")])
        states = [(p.decision.id, p.state) for p in store.history()]
        assert states == [(1, "replaced"), (2, "in force"), (3, "in force")]
        assert store.withdraw([2, 7], "bob") == 1
        assert store.withdraw([2]) == 0
        first, second, third = store.history()
        assert [p.state for p in (first, second, third)] == ["in force", "withdrawn", "in force"]
        assert (second.withdrawn_by, second.withdrawn[-6:]) == ("bob", "+00:00")
        assert (first.withdrawn_by, first.withdrawn) == ("", "")
        assert store.history("m ") == [first, second]
        assert store.list() == [first.decision, third.decision]


def undone(store: DecisionStore, reviewer: str) -> Step | None:
    with store.transaction() as connection:
        return undo(connection, None, reviewer)


def test_steps_are_undone_one_by_one_by_who_made_them(path: Path) -> None:
    with DecisionStore(path) as store:
        (alone,) = store.add([Decision("m", "A", reviewer="ann")])
        store.add([Decision("m", "B"), Decision("n", "C")], Step("accepted 2", "ann"))
        store.add([Decision("m", "D")], Step("accepted D for m", "bob"))
        with store.transaction() as connection:
            number = add_step(connection, Step("flagged m", "ann"))
            connection.execute("INSERT INTO remarks VALUES (1, ?, 'm', 'flag', '1')", (number,))
        flagged, accepted = undone(store, "Ann"), undone(store, "ann")
        assert flagged
        assert accepted
        assert (flagged.words, flagged.id, accepted.id) == ("flagged m", 3, 1)
        assert undone(store, "ann") is None  # a decision outside of steps is no step
        assert [p.withdrawn_by for p in store.history()] == ["", "ann", "ann", ""]
        with store.reading() as connection:
            there = connection.execute("SELECT id, undone_by FROM steps").fetchall()
        assert there == [(1, "ann"), (2, ""), (3, "Ann")]
        assert alone in store.list()


def test_all_or_none_are_added(path: Path) -> None:
    with DecisionStore(path) as store:
        with pytest.raises(LinkerError):
            store.add([Decision("m", "A"), Decision("", "B")])
        assert store.list() == []


def test_writers_that_are_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    writers: Any = importlib.import_module("benchmarks.curation.writers")
    figures = writers.run(tmp_path, 3, 200, pause=0.1)
    assert figures["acknowledged"] >= 200
    assert figures["acknowledged_and_lost"] == 0
    assert figures["kept_but_not_acknowledged"] <= figures["kills"]
    assert figures["intact"]


def test_files_of_something_else(tmp_path: Path) -> None:
    text, other, newer = (tmp_path / name for name in ("text", "other", "newer"))
    text.write_text("no database\n" * 100, "utf-8")
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    connection.close()
    before = other.read_bytes()
    DecisionStore(newer).close()
    connection = sqlite3.connect(newer)
    connection.execute(f"PRAGMA user_version = {len(SCHEMAS) + 1}")
    connection.close()
    for file in (text, other, newer, tmp_path, tmp_path / "no" / "folder.db"):
        with pytest.raises(LinkerError):
            DecisionStore(file)
    assert other.read_bytes() == before


def test_a_locked_file(path: Path) -> None:
    with DecisionStore(path, patience=0.05) as store:
        locker = sqlite3.connect(path, isolation_level=None)
        locker.execute("BEGIN IMMEDIATE")
        with pytest.raises(LinkerError):
            store.add([Decision("m", "A")])
        assert store.list() == []  # which can still be read
        locker.close()
        assert len(store.add([Decision("m", "A")])) == 1


def test_reading_does_not_wait_for_who_waits_to_write(path: Path) -> None:
    with DecisionStore(path) as store:
        locker = sqlite3.connect(path, isolation_level=None)
        locker.execute("BEGIN IMMEDIATE")
        writer = threading.Thread(target=store.add, args=([Decision("m", "A")],))
        writer.start()
        assert (store.since((0, 0)), store.list()) == (((0, 0), (), ()), [])
        assert writer.is_alive()
        locker.close()
        writer.join()
        assert [d.concept_id for d in store.list()] == ["A"]


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TRIGGER t AFTER INSERT ON decisions BEGIN DELETE FROM decisions; END",
        "CREATE INDEX i ON decisions (mention)",
        "ALTER TABLE decisions ADD COLUMN note TEXT",
        "ALTER TABLE decisions RENAME TO d; CREATE VIEW decisions AS SELECT * FROM d",
        "DROP TABLE marks",
        "UPDATE decisions SET reviewer = CAST(x'ff' AS TEXT)",
        "UPDATE decisions SET accepted = 'yes' WHERE id = 2",
        "UPDATE withdrawals SET time = x''",
        "UPDATE withdrawals SET decision = x'02'",
        "UPDATE details SET settles = '{}'",
    ],
)
def test_a_file_that_was_changed_is_refused(path: Path, script: str) -> None:
    with DecisionStore(path) as store:
        store.add([Decision("m", "A", reviewer="ann"), Decision("n", "B")])
        store.withdraw([2], "bob")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    with pytest.raises(LinkerError), DecisionStore(path, read_only=True) as store:
        store.list()


@pytest.mark.parametrize(
    ("text", "concept_id", "parts"),
    [
        ("MeSH:D001260", "MESH:D001260", ("MeSH:D001260",)),
        ("", "", ("",)),
        ("-1", "", ("",)),
        ("-1|-1", "", ("", "")),
        ("MeSH:D001260|-1", "MESH:D001260|-1", ("MeSH:D001260", "")),
        ("-1 | MIM:100100", "-1|OMIM:100100", ("", "MIM:100100")),
        ("D1+D2|D3", "D1+D2|D3", ("D1", "D2", "D3")),
        ("A17.0+|G01*", "A17.0+|G01*", ("A17.0+", "G01*")),
        (r"C81\,3", r"C81\,3", ("C81,3",)),
        ("127009", "127009", ("127009",)),
        ("D1 | ?", "D1|?", ("D1", None)),
        ("-1|?", "-1|?", ("", None)),
        (r"\?|?", r"\?|?", ("?", None)),
    ],
)
def test_parts(text: str, concept_id: str, parts: tuple[str | None, ...]) -> None:
    assert parts_of(Decision("m", text)) == parts
    assert checked(Decision(" m ", text)) == Decision("m", concept_id)


@pytest.mark.parametrize(
    "decision",
    [
        Decision(" ", "D1"),
        Decision("x" * 1001, "D1"),
        *(Decision("m", ids) for ids in ("|||", ";", " , ", "?", "?|?")),
        *(Decision("m", ids, accepted=False) for ids in ("", "D1|D2", "D1|-1", "D1|?")),
        Decision("m", "D1", predicate="close"),  # type: ignore[arg-type]
        Decision("m", "", predicate="broad"),
        Decision("m", "-1|?", predicate="broad"),
        Decision("m\ud800", "D1"),
        Decision("m", "D1", reviewer="\0"),
        Decision("m", "D1", settles=("\0",)),
    ],
)
def test_bad_decisions(decision: Decision) -> None:
    with pytest.raises(LinkerError):
        checked(decision)


SAID = st.builds(
    Decision,
    st.sampled_from(["m", "n"]),
    st.sampled_from(["A", "B", "C"]),
    st.booleans(),
    st.sampled_from(["", "doc"]),
    st.sampled_from(["ann", "bob"]),
)


@given(st.lists(SAID), st.integers(0, 9))
def test_what_is_added_replaces_as_in_the_whole_log(decisions: list[Decision], cut: int) -> None:
    log = [replace(d, id=number) for number, d in enumerate(decisions)]

    def kept(log: Sequence[Decision]) -> list[Decision]:
        return [d for d in log if any(d is one for of in in_force(log).values() for one in of)]

    before, added, after = kept(log[:cut]), log[cut:], kept(log)
    still_said = [replace(d, id=None) for d in after]
    assert replaced(before, added) == [
        d for d in (*before, *added) if d not in after and replace(d, id=None) not in still_said
    ]


def test_what_is_replaced_of_parts() -> None:
    first, second = Decision("m", "A|?", id=1), Decision("m", "A|B", id=2)
    assert replaced([first], [Decision("m", "?|B")]) == []
    assert replaced([first], [second]) == []  # it says the same, and more
    assert replaced([second], [Decision("m", "C|?", id=3)]) == [replace(second, concept_id="A|?")]
    assert replaced([second], [Decision("m", "X", id=3)]) == [second]


def test_parts_are_withdrawn_one_by_one(path: Path) -> None:
    """The log keeps what was said at once, and the list what of it holds."""
    with DecisionStore(path) as store:
        store.add([Decision("m", "A|?", reviewer="ann")], Step("first", "ann"))
        store.add([Decision("m", "?|B", reviewer="ann")], Step("second", "ann"))
        assert [d.concept_id for d in store.list("m")] == ["A|?", "?|B"]
        with store.transaction() as connection:
            undo(connection, None, "ann")
        assert [d.concept_id for d in store.list()] == ["A|?"]
        store.add([Decision("m", "C|D", reviewer="ann"), Decision("m", "E|?", reviewer="ann")])
        assert [d.concept_id for d in store.list()] == ["?|D", "E|?"]
        past = [(entry.decision.concept_id, entry.state) for entry in store.history()]
        assert past[2:] == [("C|D", "in force"), ("E|?", "in force")]
        store.withdraw([4])
        assert [d.concept_id for d in store.list()] == ["C|D"]


def test_a_dictionary_that_has_the_sign_of_an_open_part_as_an_id(tmp_path: Path) -> None:
    (tmp_path / "odd.tsv").write_text("id\tname\n?\tunknown\nA\tgout\n")
    dictionary = Dictionary.read(tmp_path / "odd.tsv")
    assert parts_of(identified(Decision("m", "A|?"), dictionary)) == ("A", None)
    assert parts_of(identified(Decision("m", r"A|\?"), dictionary)) == ("A", "?")


def test_ids_are_looked_up_whole(tmp_path: Path) -> None:
    """They may hold the signs that join ids, and parts of them may be ids, too."""
    ids = ("A17.0", "A17.0+", "C81", "C81,3", "A|1")
    (tmp_path / "odd.tsv").write_text("id\tname\n" + "".join(f"{i}\tof {i}\n" for i in ids))
    dictionary = Dictionary.read(tmp_path / "odd.tsv")
    for text in (*ids, "A17.0+|C81,3"):
        decision = identified(Decision("m", text), dictionary)
        assert "|".join(map(str, parts_of(decision))) == text
        assert checked(decision) == decision
    for text in ("A17.1+", "C81,4", "OMIM:127009"):
        with pytest.raises(LinkerError):
            identified(Decision("m", text), dictionary)
