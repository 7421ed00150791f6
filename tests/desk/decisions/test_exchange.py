"""Decisions as tables, as mentions to train on, and as mappings."""

from __future__ import annotations

import io
import string
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linker.desk.decisions import exchange
from linker.desk.decisions.store import DecisionStore, Step, add_step, undo
from linker.errors import InputError, Skip
from linker.ids import parse_gold
from linker.io import mentions
from linker.records import Decision

TEXT = st.text(string.ascii_letters + "\"' é,;|", max_size=8).map(str.strip)
ONE = st.builds(
    Decision,
    TEXT.filter(bool),
    st.sampled_from(["MESH:D1", "", "A|-1", "A+B|C", "A|?", r"?|\?", "-1|?"]),
    st.just(True),
    TEXT,
    TEXT,
    TEXT,
    TEXT,
    TEXT,
    settles=st.sampled_from([(), ("ann", ""), ("a; b",)]),
    bulk=st.booleans(),
)


KINDS = {"": "", "exact": "", "Broad": "broad", "narrow": "narrow", "related": "related"}


def table(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "d.tsv"
    path.write_text(text, "utf-8")
    return path


@given(decisions=st.lists(ONE, min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_is_read_as_it_was_written(tmp_path: Path, decisions: list[Decision]) -> None:
    decisions.append(Decision("m", "X", accepted=False))
    decisions.append(Decision("m", "X", predicate="broad"))
    file = io.StringIO()
    exchange.write(decisions, file)
    assert list(exchange.read(table(tmp_path, file.getvalue()))) == decisions


def test_tables_of_curators(tmp_path: Path) -> None:
    plain = table(tmp_path, "Ataxia\tMeSH:D001260\ngout\t-1\n\n")
    assert list(exchange.read(plain)) == [Decision("Ataxia", "MESH:D001260"), Decision("gout", "")]
    named = table(tmp_path, "Document_ID\tid\tmention\tACCEPTED\n7\tD1\tm\tNo\n7\tD1\tm\n")
    said = [Decision("m", "D1", accepted, "7") for accepted in (False, True)]
    assert list(exchange.read(named)) == said
    kinds = table(tmp_path, "mention\tid\tpredicate\n" + "".join(f"m\tA\t{k}\n" for k in KINDS))
    assert [decision.predicate for decision in exchange.read(kinds)] == [*KINDS.values()]


def test_open_parts_in_a_table_that_a_person_filled_in(tmp_path: Path) -> None:
    plain = table(tmp_path, "a and b\tA|?\nc\t?\nd and e\t? | ?\nf\tF\ng and h\t?,-1\n")
    said = [("a and b", "A|?"), ("f", "F"), ("g and h", "?|-1")]
    assert [(d.mention, d.concept_id) for d in exchange.read(plain)] == said


BAD = (
    "m\tA\tmaybe",
    "only",
    "\tA",
    "m\t\tno",
    "x" * 1001 + "\tA",
    "m\tA\tyes\tclose",
    "m\tA\tno\tbroad",
)


@pytest.mark.parametrize("row", BAD)
def test_bad_rows(tmp_path: Path, row: str) -> None:
    path = table(tmp_path, f"mention\tid\taccepted\tpredicate\n{row}\ngood\tA\n")
    with pytest.raises(InputError) as caught:
        list(exchange.read(path))
    assert caught.value.line == 2
    assert list(exchange.read(path, on_error=Skip())) == [Decision("good", "A")]


def test_an_import_may_be_repeated(tmp_path: Path) -> None:
    rows = [Decision("m", concept, time=time) for concept, time in ("A1", "B2", "A1")]
    with DecisionStore(tmp_path / "d.db") as store:
        assert len(exchange.add_new(store, [*rows, *rows])) == 2
        assert exchange.add_new(store, rows) == []
        assert [d.concept_id for d in store.list()] == ["B"]
        store.withdraw([2])
        assert exchange.add_new(store, rows) == []  # what was withdrawn stays so
        assert [d.concept_id for d in store.list()] == ["A"]


def test_an_import_of_parts_may_be_repeated(tmp_path: Path) -> None:
    """Also of an export, in which what was said at once may be in parts, or the other way round."""
    rows = [Decision("m", ids, time="1") for ids in ("A|B", "C|?")]
    with DecisionStore(tmp_path / "d.db") as store:
        assert len(exchange.add_new(store, rows)) == 2
        assert exchange.add_new(store, rows) == []
        assert [d.concept_id for d in store.list()] == ["?|B", "C|?"]
        assert exchange.add_new(store, store.list()) == []
        assert exchange.add_new(store, [Decision("m", "A|?", time="1")]) == []
        assert len(exchange.add_new(store, [Decision("m", "?|D", time="1")])) == 1


def test_mentions_to_train_on(tmp_path: Path) -> None:
    decisions = [
        Decision("open", "A|?"),
        Decision("by parts", "B|?", reviewer="ann"),
        Decision("by parts", "?|C", reviewer="bob"),
        Decision("a part has none", "B|?"),
        Decision("a part has none", "?|-1"),
        Decision("a", "A"),
        Decision("a", "A", reviewer="ann"),
        Decision("b", "B|C"),
        Decision("together", "B+C|A"),
        Decision("none", ""),
        Decision("wrong", "A", accepted=False),
        Decision("part", "A|-1"),
        Decision("of one document", "A", scope="7"),
        Decision("broader", "A", reviewer="ann"),
        Decision("broader", "A", reviewer="bob", predicate="broad"),
        Decision("a", "B", scope="7"),
        Decision("disputed", "A", reviewer="ann"),
        Decision("disputed", "B", reviewer="bob"),
    ]
    file = io.StringIO()
    assert exchange.export(decisions, "mentions", file) == len(decisions) - 7
    path = table(tmp_path, file.getvalue())
    assert [(m.text, m.gold) for m in mentions.read(path)] == [
        ("by parts", parse_gold("B|C")),
        ("a", parse_gold("A")),
        ("b", parse_gold("B|C")),
        ("together", parse_gold("B+C|A")),
        ("none", ()),
    ]


def test_the_log_says_who_did_what_when(tmp_path: Path) -> None:
    early, late = (f"{year}-01-01T00:00:00+00:00" for year in (2020, 2090))
    with DecisionStore(tmp_path / "d.sqlite") as store:
        store.add([Decision("m", "A", time=late)], Step("accepted A for m", "ann"))
        store.add([Decision("m", "B", reviewer="eve", settles=[""], time=early)])
        with store.transaction() as connection:
            number = add_step(connection, Step("wrote a note", "bob", time=early))
            connection.execute("INSERT INTO remarks VALUES (1, ?, 'm', 'note', 'Why?')", (number,))
            undo(connection, None, "bob")
        file = io.StringIO()
        exchange.write_log(store, file)
    header, *rows = [line.split("\t") for line in file.getvalue().splitlines()]
    shown = ("state", "mention", "concept", "reviewer", "withdrawn_by", "words", "action", "value")
    assert [tuple(row[header.index(name)] for name in shown) for row in rows] == [
        ("in force", "m", "B", "eve", "", "", "decision", ""),
        ("undone", "m", "", "bob", "bob", "wrote a note", "note", "Why?"),
        ("overruled", "m", "A", "", "", "accepted A for m", "decision", ""),
    ]


def test_what_was_accepted_in_bulk_is_neither_curated_nor_learnt(tmp_path: Path) -> None:
    alone = Decision("gout", "MESH:D6073", True, "", "ann", "2026-01-02")
    in_bulk = Decision("ALS", "MESH:D690", True, "7", "ann", "2026-01-02", bulk=True)
    split = Decision("a and b", "MESH:D1|MESH:D2", True, "", "ann", "2026-01-02", bulk=True)
    every = [alone, in_bulk, split]
    for form in ("tsv", "sssom"):
        file = io.StringIO()
        exchange.export(every, form, file, None)
        back = list(exchange.read(table(tmp_path, file.getvalue())))
        whose = ["ann", "ann", "ann"] if form == "tsv" else ["ann", "", ""]
        assert back == [replace(d, reviewer=who) for d, who in zip(every, whose, strict=True)]
    claims = [tuple(line.split("\t")[5:7]) for line in file.getvalue().splitlines()[-4:]]
    unseen = ("semapv:UnspecifiedMatching", "")  # whoever accepted it is not its author
    assert claims == [("semapv:ManualMappingCuration", "ann"), unseen, unseen, unseen]
    assert exchange.taught([[alone], [in_bulk], [split]]) == [alone]
    before = "mention\tconcept_id\tothers\ngout\tA\t9\nALS\tB\t\n"  # with how many, as it was
    assert [d.bulk for d in exchange.read(table(tmp_path, before))] == [True, False]
