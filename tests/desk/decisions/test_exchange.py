"""Decisions as tables, as mentions to train on, and as mappings."""

from __future__ import annotations

import io
import string
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linker.desk.decisions import exchange
from linker.desk.decisions.store import DecisionStore, Step, add_step, undo
from linker.errors import Cancelled, InputError, LinkerError, Skip
from linker.ids import parse_gold
from linker.io import mentions
from linker.io.outputs import decisions_text
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


def add_new(store: DecisionStore, *rows: Decision, again: bool = False) -> tuple[list[str], int]:
    """The ids that are new, and how many were passed over that hold no more."""
    with store.transaction() as connection:
        imported = exchange.add_new(store, connection, rows, again=again)
    return [d.concept_id for d in imported.added], imported.repeated


def in_force(store: DecisionStore) -> list[str]:
    return [d.concept_id for d in store.list()]


def test_an_import_may_be_repeated(tmp_path: Path) -> None:
    rows = [Decision("m", concept, time=time) for concept, time in ("A1", "B2", "A1")]
    with DecisionStore(tmp_path / "d.db") as store:
        assert add_new(store, *rows, *rows) == (["A", "B"], 0)
        assert add_new(store, *rows) == ([], 0)
        assert in_force(store) == ["B"]
        store.withdraw([2])
        assert add_new(store, *rows) == ([], 0)  # what was withdrawn stays so
        assert in_force(store) == ["A"]
        assert add_new(store, *rows, again=True) == ([], 0)
        assert add_new(store, Decision("m", "B", time="3")) == (["B"], 0)  # said anew


def test_what_came_by_its_day_is_not_added_anew_with_its_time(tmp_path: Path) -> None:
    """Mappings have days, and tables times: both may be of the same decisions."""
    day = "2026-11-20"
    by_day = [Decision("gout", "A", time=day), Decision("both", "A|B", time=day)]
    by_time = [replace(decision, time=f"{day}T08:00:00+00:00") for decision in by_day]
    with DecisionStore(tmp_path / "d.db") as store:
        assert add_new(store, *by_day) == (["A", "A|B"], 0)
        store.add([Decision("gout", "C"), Decision("both", "C|?")])
        assert add_new(store, *by_time) == ([], 0)
        in_parts = replace(by_time[1], concept_id="?|B")
        assert add_new(store, in_parts) == ([], 0)
        assert sorted(in_force(store)) == ["?|B", "C", "C|?"]
        assert add_new(store, replace(by_time[0], reviewer="Eve")) == (["A"], 0)
        next_day = replace(by_time[0], time="2026-11-21T08:00:00+00:00")
        assert add_new(store, next_day) == (["A"], 0)


def test_who_returned_on_the_same_day_is_heard(tmp_path: Path) -> None:
    day = "2026-11-20"
    hours = (("A", "08"), ("B", "09"), ("A", "10"))
    by_time = [Decision("m", ids, time=f"{day}T{hour}:00:00+00:00") for ids, hour in hours]
    with DecisionStore(tmp_path / "d.db") as store:
        add_new(store, Decision("m", "A", time=day))
        assert add_new(store, *by_time) == (["B", "A"], 0)
        assert add_new(store, *by_time) == ([], 0)
        assert in_force(store) == ["A"]


def test_a_row_without_a_time_is_taken_once(tmp_path: Path) -> None:
    """However often its file is imported, and whatever was decided after that."""
    gout, none = Decision("Gout", "A", reviewer="Ann"), Decision("gout", "", reviewer="ann")
    with DecisionStore(tmp_path / "d.db") as store:
        assert add_new(store, gout, gout) == (["A"], 0)
        assert add_new(store, none) == ([""], 0)
        assert add_new(store, gout) == ([], 1)  # it was replaced
        assert in_force(store) == [""]
        store.withdraw([1, 2])
        assert add_new(store, replace(gout, reviewer="ANN"), none) == ([], 2)
        assert add_new(store, gout, replace(gout, scope="7")) == (["A"], 1)  # in one document
        assert add_new(store, replace(gout, predicate="broad")) == (["A"], 0)
        assert add_new(store, replace(gout, accepted=False)) == (["A"], 0)


def test_what_was_decided_before_is_taken_again_where_that_is_wanted(tmp_path: Path) -> None:
    a, b = Decision("m", "A"), Decision("m", "B")
    with DecisionStore(tmp_path / "d.db") as store:
        add_new(store, a, b)
        assert add_new(store, b, again=True) == ([], 0)  # as it is
        assert add_new(store, a, a, again=True) == (["A"], 0)
        assert in_force(store) == ["A"]
        assert add_new(store, a, b, a, again=True) == (["B", "A"], 0)


def test_who_returns_to_an_earlier_concept_in_an_exported_table_is_heard(tmp_path: Path) -> None:
    """The table says what was in force when it was written, so that it is later than that."""

    def reviewed(state: str, concept: str) -> list[Decision]:
        before = decisions_text(store.list()) if store.list() else ""
        header = "mention\tconcept_id\tmatched_name\tstate\tdecisions\n"
        cells = "m", concept, "x", state, '"' + before.replace('"', '""') + '"'
        return list(exchange.read(table(tmp_path, header + "\t".join(cells) + "\n")))

    with DecisionStore(tmp_path / "d.db") as store:
        first = reviewed("accepted", "A")
        assert add_new(store, *first) == (["A"], 0)
        second = reviewed("accepted", "B")
        assert add_new(store, *second) == (["B"], 0)
        third = reviewed("accepted", "A")
        assert add_new(store, *third) == (["A"], 0)
        for earlier, count in ((first, 0), (second, 1), (third, 0)):
            assert add_new(store, *earlier) == ([], count)
        assert in_force(store) == ["A"]
        fourth = reviewed("rejected", "A")
        assert add_new(store, *fourth) == (["A"], 0)
        assert add_new(store, *reviewed("accepted", "A")) == (["A"], 0)
        assert add_new(store, *fourth) == ([], 1)
        assert [d.accepted for d in store.list()] == [True]


IMPORTING = """
import sys
from linker.desk.decisions import exchange
from linker.desk.decisions.store import DecisionStore
from linker.records import Decision

rows = [Decision(f"mention {number}", "A", reviewer="ann") for number in range(1_800)]
with DecisionStore(sys.argv[1]) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    print(len(exchange.import_new(store, rows).added))
"""


def test_imports_of_one_file_at_once_store_each_decision_once(tmp_path: Path) -> None:
    path = str(tmp_path / "d.db")
    DecisionStore(path).close()
    about: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", IMPORTING, path]
    imports = [subprocess.Popen(command, **about) for _ in range(4)]
    for each in imports:
        assert each.stdout.readline() == "ready\n"
    for each in imports:  # which begin at once
        each.stdin.write("\n")
        each.stdin.flush()
    counts = [int(each.communicate(timeout=60)[0]) for each in imports]
    assert sum(counts) == 1_800
    with DecisionStore(path) as store:
        assert {d.mention for d in store.list()} == {f"mention {n}" for n in range(1_800)}
        assert len(store.history()) == 1_800
        store.withdraw([1])
        assert len(store.list()) == 1_799  # no double is left in force


def test_a_long_import_lets_others_write_and_goes_on_after_a_stop(tmp_path: Path) -> None:
    mentions = [f"mention {number % 1_100}" for number in range(1_200)]
    rows = [Decision(mention, "A", reviewer="ann") for mention in mentions]
    rows.append(Decision("mention 0", "B", reviewer="ann"))
    step = Step("read", "ann")
    counts = list[int]()

    def write(function: Any, *arguments: Any) -> Any:
        store.add([Decision(f"other {len(counts)}", "A")])
        counts.append(len(arguments[1]))
        if len(counts) == 2:
            raise Cancelled
        return function(*arguments)

    with DecisionStore(tmp_path / "d.db") as store:
        with pytest.raises(Cancelled):
            exchange.import_new(store, rows, step, write=write)
        assert (
            len(store.list()) == 2 + 399
        )  # of the first batch, where a mention has 3 and 99 have 2
        added = exchange.import_new(store, rows, step, write=write).added
        assert (len(added), len({d.step for d in added})) == (1_101 - 400, 1)
        assert max(counts) < 600
        assert exchange.import_new(store, rows, step).added == []
        assert [d.concept_id for d in store.list("mention 0")] == ["B"]


def test_an_import_that_is_undone_meanwhile_stops(tmp_path: Path) -> None:
    rows = [Decision(f"mention {number}", "A", reviewer="ann") for number in range(1_200)]

    def write(function: Any, *arguments: Any) -> Any:
        with store.transaction() as connection:
            undo(connection, None, "ann")
        return function(*arguments)

    with DecisionStore(tmp_path / "d.db") as store:
        with pytest.raises(LinkerError):
            exchange.import_new(store, rows, Step("read", "ann"), write=write)
        assert store.list() == []


def test_decisions_of_a_short_file_stay_in_their_order(tmp_path: Path) -> None:
    mentions = ["b", "a", "b", "c", "a"]
    rows = [Decision(mention, str(number)) for number, mention in enumerate(mentions)]
    with DecisionStore(tmp_path / "d.db") as store:
        assert len(exchange.import_new(store, rows).added) == 5
        assert [entry.decision.concept_id for entry in store.history()] == ["0", "1", "2", "3", "4"]


def test_an_import_of_parts_may_be_repeated(tmp_path: Path) -> None:
    """Also of an export, in which what was said at once may be in parts, or the other way round."""
    rows = [Decision("m", ids, time="1") for ids in ("A|B", "C|?")]
    with DecisionStore(tmp_path / "d.db") as store:
        assert add_new(store, *rows) == (["A|B", "C|?"], 0)
        assert add_new(store, *rows) == ([], 0)
        assert in_force(store) == ["?|B", "C|?"]
        assert add_new(store, *store.list()) == ([], 0)
        assert add_new(store, Decision("m", "A|?", time="1")) == ([], 0)
        assert add_new(store, Decision("m", "?|D", time="1")) == (["?|D"], 0)


def test_rows_on_parts_without_a_time_are_taken_once(tmp_path: Path) -> None:
    rows = [Decision("m", ids, reviewer="ann") for ids in ("A|?", "?|B")]
    with DecisionStore(tmp_path / "d.db") as store:
        assert add_new(store, *rows) == (["A|?", "?|B"], 0)
        assert add_new(store, *rows) == ([], 0)
        assert in_force(store) == ["A|?", "?|B"]


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
