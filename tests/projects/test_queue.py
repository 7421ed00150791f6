"""The queue of a project: where changes were taken up, it is what one that is made anew is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from linker import Dictionary, Linker
from linker.decisions.store import DecisionStore, Step
from linker.linking.decided import Decided
from linker.projects import changes, linking, sources
from linker.projects import store as rows
from linker.projects.groups import Filter
from linker.projects.queue import Queue
from linker.projects.store import Origin
from linker.training.pipeline import train
from linker.types import Decision

TABLE = b"name\nataxia\ngout\nAtaxia\nbreast cancer\nzzzz\n"
TEXTS = (
    "1|t|Breast cancer (BC) and gout\n1|a|\n1\t0\t13\tBreast cancer\tDisease\n"
    "1\t15\t17\tBC\tDisease\n1\t23\t27\tgout\tDisease\n\n"
    "2|t|Gout, BC\n2|a|\n2\t0\t4\tGout\tDisease\n2\t6\t8\tBC\tDisease\n\n"
)
MORE = {
    "table": "name\ngout\nnew name {}\n",
    "documents": "9{0}|t|Gout {0}\n9{0}|a|\n9{0}\t0\t4\tGout\tDisease\n",
}


@pytest.fixture(scope="module")
def linker(sample: Path) -> Linker:
    return train(Dictionary.read(sample), encoder="tfidf")


class Reviewed:
    """A project, its queue, and one who does things in it."""

    def __init__(self, store: DecisionStore, linker: Linker, content: bytes, name: str) -> None:
        self.store, self.linker = store, linker
        file = sources.read(content, name, "name" if name.endswith("tsv") else None, None, 1_000)
        self.number = rows.created(store, name, file, "", "Ada", Origin("", ""))
        self.decided, self.added = Decided([], linker), 0
        with store.reading() as connection:
            self.project = rows.project(connection, self.number)
        self.queue = Queue(self.project, linker)
        self.link()

    def link(self) -> None:
        while True:
            with self.store.reading() as connection:
                batch = linking.pending(connection, self.project)
            if batch is None:
                break
            linked = self.linker.answer(batch.requests)
            with self.store.transaction() as connection:
                linking.keep(connection, self.project, linking.answered(batch, linked, self.linker))

    def refresh(self, some: Queue, *, is_hurried: bool = False) -> Queue:
        self.decided = self.decided.after(self.store)
        with self.store.reading() as connection:
            some.refresh(connection, self.decided, is_hurried=is_hurried)
        return some

    def do(self, what: str, place: int, reviewer: str) -> None:
        """Do something about a row of the queue as it is, which may not have all."""
        known = list(self.queue.rows())
        step = Step(what, reviewer, self.number)
        if what == "undo":
            changes.undo(self.store, self.number, reviewer)
        elif what in ("refresh", "hurry"):
            self.refresh(self.queue, is_hurried=what == "hurry").page(Filter())
        elif what == "more":
            kind = self.project.kind
            name, column = ("9.tsv", "name") if kind == "table" else ("9.txt", None)
            content = MORE[kind].format(self.added).encode()
            self.added += 1
            file = sources.read(content, name, column, None, 1_000)
            rows.added(self.store, self.number, file)
            self.link()
        elif what == "at once":
            wanted = self.queue.acceptable(Filter())
            said = {(r.group.form, r.scope): Decision(r.group.text, r.ids) for r in wanted}
            some = [
                Decision(d.mention, d.concept_id, reviewer=reviewer, bulk=True, scope=s)
                for (_, s), d in said.items()
            ]
            if some:
                self.store.add(some, step)
        elif known:
            row = known[place % len(known)]
            scope = ""
            if what in ("here", "as written"):
                scope = self.queue.documents.get(row.members[-1][1], "")
            text = row.group.mention if what == "as written" else row.group.text
            concept = "" if what == "none" else "MESH:D001260"
            decision = Decision(text, concept, what != "reject", scope, reviewer)
            self.store.add([decision], step)


def seen(some: Queue) -> dict[str, Any]:
    """All that a queue says."""
    pages = {sort: some.page(Filter(), sort)["rows"] for sort in ("doubt", "document", "alphabet")}
    found = some.page(Filter(q="gout"))["rows"], some.page(Filter(show="undecided"))["mentions"]
    acceptable = [row.key for row in some.acceptable(Filter(above=0.1))]
    said = {"pages": pages, "found": found, "acceptable": acceptable, **some.summary()}
    said |= some.disagreements()
    return said | {"version": 0}


ACTIONS = (
    *("accept", "reject", "none", "here", "as written", "at once", "undo", "more"),
    *("refresh", "hurry"),
)
actions = st.tuples(st.sampled_from(ACTIONS), st.integers(0, 9), st.sampled_from(["Ada", "Bob"]))


@pytest.mark.parametrize(("content", "name"), [(TABLE, "a.tsv"), (TEXTS.encode(), "a.txt")])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(done=[("refresh", 0, "Ada")] * 6 + [("more", 0, "Ada")])  # a row that grows
@given(done=st.lists(actions, max_size=8))
def test_it_is_as_one_made_anew(
    tmp_path_factory: Any, linker: Linker, content: bytes, name: str, done: list[Any]
) -> None:
    with DecisionStore(tmp_path_factory.mktemp("queue") / "decisions.sqlite") as store:
        reviewed = Reviewed(store, linker, content, name)
        for action in done:
            reviewed.do(*action)
        reviewed.refresh(reviewed.queue)
        anew = reviewed.refresh(Queue(reviewed.project, linker))
        assert seen(reviewed.queue) == seen(anew)


def test_decisions_of_before_do_not_undo_later_ones(tmp_path: Path, linker: Linker) -> None:
    with DecisionStore(tmp_path / "decisions.sqlite") as store:
        reviewed = Reviewed(store, linker, TABLE, "a.tsv")
        before = reviewed.decided
        store.add([Decision("gout", "MESH:D001943")])
        reviewed.refresh(reviewed.queue)
        with store.reading() as connection:
            reviewed.queue.refresh(connection, before)
        assert reviewed.queue.summary()["decided"] == 1


def test_what_is_denied_is_left_for_a_look(
    tmp_path: Path, linker: Linker, deny: Callable[..., None]
) -> None:
    deny("no gout")
    deny("asthma?", assertion="possible")
    table = b"name\ngout\nno gout\nasthma?\nbreast cancer\n"
    with DecisionStore(tmp_path / "d.sqlite") as store:
        some = Reviewed(store, linker, table, "a.tsv")
        there = some.refresh(some.queue)
        rows = {row["mention"]: row for row in there.page(Filter(), "document")["rows"]}
        assert {text: row["assertion"] for text, row in rows.items()} == {
            "gout": "present",
            "no gout": "absent",
            "asthma?": "possible",
            "breast cancer": "present",
        }
        assert rows["no gout"]["answers"] == [
            rows["gout"]["answers"][0]
            | {"assertion": "absent", "confidence": rows["no gout"]["confidence"]}
        ]

        def wanted(**limits: Any) -> set[str]:
            return {row["mention"] for row in there.page(Filter(**limits))["rows"]}

        assert wanted(above=0.0) == {"gout", "breast cancer"}
        assert wanted(below=0.0) == {"no gout", "asthma?"}
        assert not wanted(show="no-concept")  # the concept is there
        accepted = [row.group.mention for row in there.acceptable(Filter())]
        assert accepted == ["gout", "breast cancer"]
        by_doubt = [row["mention"] for row in there.page(Filter())["rows"]]
        assert by_doubt[:2] == ["no gout", "asthma?"]
