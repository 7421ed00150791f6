"""Proposals of new terms: kept, withdrawn, written as a template of ROBOT."""

from __future__ import annotations

import io
import sqlite3
from pathlib import Path

import pytest

from linker import Linker, LinkerError
from linker.decisions import proposals
from linker.decisions.proposals import Proposal
from linker.decisions.store import DecisionStore
from linker.types import Decision

TERM = Proposal("odd gout", "Odd gout", "Gout\nthat is odd.", "MESH:D1", "?", "ann", "", ("a", "b"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "d.sqlite"


def test_a_proposal_is_kept_until_it_is_withdrawn(path: Path) -> None:
    with DecisionStore(path) as store:
        kept = proposals.add(store, TERM)
        assert (kept.id, kept.label, kept.synonyms) == (1, "odd gout", ("a", "b"))
        assert kept.time.endswith("+00:00")
        second = proposals.add(store, Proposal("x"))
        assert store.list() == []
    with DecisionStore(path, read_only=True) as store:
        assert proposals.listed(store) == [kept, second]
    with DecisionStore(path) as store:
        assert proposals.withdraw(store, 1, "bob")
        assert not proposals.withdraw(store, 1, "bob")
        assert not proposals.withdraw(store, 7)
        assert proposals.listed(store) == [second]
        with store.reading() as connection:
            undone = connection.execute("SELECT undone, undone_by FROM steps").fetchall()
    assert [(time[-6:], by) for time, by in undone] == [("+00:00", "bob"), ("", "")]


def test_a_template_of_robot() -> None:
    file = io.StringIO()
    term = Proposal(**{name: getattr(TERM, name) for name in TERM.__slots__} | {"id": 3})
    proposals.write([term, Proposal("y", id=4)], file, {"MESH:D1": "Gout"}.__getitem__)
    header, template, *rows = (line.split("\t") for line in file.getvalue().splitlines())
    assert header[:5] == ["ID", "LABEL", "DEFINITION", "PARENT", "SYNONYMS"]
    assert template[:3] == ["ID", "LABEL", "A IAO:0000115"]
    assert template[3:5] == ["SC %", "A oboInOwl:hasExactSynonym SPLIT=|"]
    assert set(template[6:]) == {""}
    assert rows[0][:6] == ["PROPOSED:3", "odd gout", "Gout that is odd.", "MESH:D1", "a|b", "?"]
    assert rows[0][6:] == ["Gout", "Odd gout", "ann", ""]
    assert rows[1][:6] == ["PROPOSED:4", "y", "", "", "", ""]


def test_the_parent_is_of_the_dictionary(linker: Linker) -> None:
    term = proposals.identified(
        Proposal(" x ", parent="D001943", synonyms=(" ", "y ")), linker.dictionary
    )
    assert (term.label, term.parent, term.synonyms) == ("x", "MESH:D001943", ("y",))
    for bad, problem in (
        (Proposal(" "), "blank"),
        (Proposal("x", parent="X:1"), "no concept X:1"),
        (Proposal("x", synonyms=("a|b",)), r"'a\|b' holds"),
    ):
        with pytest.raises(LinkerError, match=problem):
            proposals.identified(bad, linker.dictionary)


def test_a_damaged_proposal(path: Path) -> None:
    with DecisionStore(path) as store:
        store.add([Decision("gout", "MESH:D1")])
        proposals.add(store, TERM)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE proposals SET synonyms = '3'")
    with DecisionStore(path) as store, pytest.raises(LinkerError, match="proposal 1 is damaged"):
        proposals.listed(store)
