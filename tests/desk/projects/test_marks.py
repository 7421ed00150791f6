"""Marks by hand: what they make of a document, what is refused, and what an undo gives back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linker import LinkerError
from linker.desk.decisions.store import DecisionStore, Step
from linker.desk.projects import marks
from linker.desk.projects.marks import Mark, Place
from linker.desk.projects.store import RECORD, Kept
from linker.ids import parse_gold
from linker.records import Document, Mention, Passage

TITLE, ABSTRACT = "Gout and breast or ovarian cancer", "No gout was seen."
TEXT = f"{TITLE} {ABSTRACT}"  # the abstract begins at 34
GOUT = Mention("Gout", ((0, 4),), type="Disease", document_id="7", annotation_id="T1")
BOTH = Mention("breast or ovarian cancer", ((9, 33),), type="Disease", document_id="7")
DOCUMENT = Document("7", (Passage(TITLE), Passage(ABSTRACT, 34)), (GOUT, BOTH))
PLACE_OF_GOUT, PLACE_OF_BOTH = Place(((0, 4),), "Disease"), Place(((9, 33),), "Disease")


def place(*spans: tuple[int, int], type: str = "Disease") -> Place:
    return Place(spans, type)


def add(*spans: tuple[int, int], type: str = "Disease") -> Mark:
    return Mark("add", None, Place(spans, type))


class Project:
    """A document of a project."""

    def __init__(self, store: DecisionStore) -> None:
        self.store = store
        record = RECORD.dump_json(Kept(DOCUMENT, (None, None))).decode()
        with store.transaction() as connection:
            place = connection.execute("SELECT count(*) + 1 FROM documents").fetchone()
            (self.number,) = place
            for table, values in {
                "projects": (1, "p", "documents", "{}", "2026-11-28", "", "", ""),
                "sources": (1, 1, "s", "pubtator", "utf-8", "", b""),
                "documents": (1, self.number, 1, "7", record, 1),
            }.items():
                signs = ", ".join("?" * len(values))
                connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({signs})", values)
            marks.refresh(connection, 1, self.number, DOCUMENT)

    def version(self) -> str:
        with self.store.transaction() as connection:
            return marks.version_of(connection, 1, self.number)

    def mark(self, *given: Mark, version: str | None = None) -> int:
        step = Step("", "Ada", project=1)
        return marks.add(self.store, step, self.number, given, version or self.version())

    def undo(self, step: int) -> None:
        with self.store.transaction() as connection:
            connection.execute("UPDATE steps SET undone = 'now' WHERE id = ?", [step])
            assert marks.of_step(connection, step) == [self.number]
            marks.refresh(connection, 1, self.number, DOCUMENT)

    def marks(self) -> list[Mark]:
        with self.store.transaction() as connection:
            return marks.of_document(connection, 1, self.number)

    def now(self) -> Document:
        return marks.marked(DOCUMENT, self.marks())

    def rows(self) -> list[tuple[Any, ...]]:
        """Places of the kept mentions with their numbers, in the order of the text."""
        with self.store.transaction() as connection:
            rows = connection.execute(
                "SELECT spans, type, text, place, id FROM mentions WHERE document = ?",
                [self.number],
            ).fetchall()
        return sorted((json.loads(spans), *rest) for spans, *rest in rows)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DecisionStore]:
    with DecisionStore(tmp_path_factory.mktemp("marks") / "decisions.sqlite") as store:
        yield store


@pytest.fixture
def project(store: DecisionStore) -> Project:
    return Project(store)


def shown(document: Document) -> list[tuple[str, str]]:
    return [(mention.text, mention.type) for mention in document.mentions]


def test_mentions_are_added_changed_and_deleted(project: Project) -> None:
    numbers = {row[2]: row[4] for row in project.rows()}
    project.mark(add((37, 41)))
    project.mark(Mark("change", PLACE_OF_GOUT, place((0, 4), type="Finding")))
    project.mark(Mark("delete", PLACE_OF_BOTH))
    assert shown(project.now()) == [("Gout", "Finding"), ("gout", "Disease")]
    changed, added = project.now().mentions
    assert changed.annotation_id == "T1"  # which relations name
    said = {"document_id": "7", "annotation_id": "H1", "metadata": {"marked_by": "Ada"}}
    assert added == Mention("gout", ((37, 41),), type="Disease", **said)
    assert [row[:4] for row in project.rows()] == [
        ([[0, 4]], "Finding", "Gout", 0),
        ([[37, 41]], "Disease", "gout", 37),
    ]
    assert not {row[4] for row in project.rows()} & set(numbers.values())  # both are linked anew


def test_what_a_file_says_of_a_mention_stays_where_only_its_type_is_another() -> None:
    said = dataclasses.replace(GOUT, gold=parse_gold("MESH:D006073"), metadata={"comment": "old"})
    document = dataclasses.replace(DOCUMENT, mentions=(said,))
    mark = Mark("change", PLACE_OF_GOUT, place((0, 4), type="Finding"), "Gout", "Ada")
    (mention,) = marks.marked(document, [mark]).mentions
    metadata = {"comment": "old", "marked_by": "Ada"}
    assert mention == dataclasses.replace(said, type="Finding", metadata=metadata)
    moved = Mark("change", PLACE_OF_GOUT, place((0, 3)), "Gou", "Ada")
    assert marks.marked(document, [moved]).mentions[0].gold is None


@pytest.mark.parametrize(
    "mark",
    [
        Mark("delete", place((0, 5))),  # there is no such mention
        Mark("delete", place((0, 4), type="Drug")),
        Mark("add", PLACE_OF_GOUT, place((37, 41))),
        Mark("change", PLACE_OF_GOUT),
        Mark("done", PLACE_OF_GOUT),
        *(add(), add((5, 5)), add((8, 5)), add((-1, 4)), add((48, 52))),  # not in the text
        *(add((4, 5)), add((0, 4), (8, 9))),  # a piece is blank
        *(add((27, 41)), add((0, 4), (37, 41)), add((33, 36))),  # across passages
        add((0, 4)),  # is there already
        Mark("change", PLACE_OF_BOTH, PLACE_OF_GOUT),
    ],
)
def test_what_does_not_fit_is_refused_with_all_of_its_step(project: Project, mark: Mark) -> None:
    rows = project.rows()
    with pytest.raises(marks.Unfit):
        project.mark(add((37, 41)), mark)
    assert (project.now(), project.rows()) == (DOCUMENT, rows)


def test_what_was_changed_meanwhile_is_not_marked(project: Project) -> None:
    version = project.version()
    step = project.mark(add((37, 41)), version=version)
    after = project.version()
    with pytest.raises(marks.Outdated):
        project.mark(add((9, 15)), version=version)
    project.undo(step)
    assert project.version() not in (version, after)  # who saw the mark does not see it any more


def test_a_document_is_done_when_it_was_said_last(project: Project) -> None:
    for mark, expected in (("done", True), ("reopen", False), ("done", True)):
        step = project.mark(Mark(mark))
        assert marks.is_done(project.marks()) is expected
    project.undo(step)
    assert not marks.is_done(project.marks())
    assert project.now() is DOCUMENT


class Twin:
    """Mentions as sets of the characters that they have, made anew from all that was ever done."""

    def __init__(self) -> None:
        self.steps: list[tuple[Sequence[Mark], bool]] = []  # what was done, and whether it counts

    @staticmethod
    def characters(place: Place) -> tuple[frozenset[int], str]:
        return frozenset(i for start, end in place.spans for i in range(start, end)), place.type

    def mentions(self) -> set[tuple[frozenset[int], str]]:
        there = {self.characters(PLACE_OF_GOUT), self.characters(PLACE_OF_BOTH)}
        for done, counts in self.steps:
            for mark in done if counts else ():
                after = self.after(there, mark)
                there = there if after is None else after
        return there

    def after(self, there: set[Any], mark: Mark) -> set[Any] | None:
        """The mentions after a mark; None where it does not fit."""
        there = set(there)
        after = mark.after and self.characters(mark.after)
        if mark.before and self.characters(mark.before) not in there:
            return None
        if after and (after in there or not after[0] or not self.fits(after[0])):
            return None
        if mark.before:
            there.remove(self.characters(mark.before))
        return there | ({after} if after else set())

    @staticmethod
    def fits(characters: frozenset[int]) -> bool:
        in_passage = characters <= {*range(33)} or characters <= {*range(34, 51)}
        pieces = "".join(TEXT[i] if i in characters else "\n" for i in range(51)).split("\n")
        return in_passage and all(piece.strip() for piece in pieces if piece)

    def can(self, given: Sequence[Mark]) -> bool:
        there: set[Any] | None = self.mentions()
        for mark in given:
            there = None if there is None else self.after(there, mark)
        return there is not None


def _steps() -> st.SearchStrategy[Any]:
    starts = st.sampled_from([0, 4, 5, 9, 15, 19, 26, 27, 33, 34, 37, 41, 47, 51])
    spans = st.lists(
        st.tuples(starts, starts).filter(lambda span: span[0] < span[1]), min_size=1, max_size=2
    )
    known = st.sampled_from([PLACE_OF_GOUT, PLACE_OF_BOTH, place((37, 41)), place((9, 15))])
    places = known | st.builds(
        lambda spans, type: Place(marks._joined(spans), type),
        spans,
        st.sampled_from(["Disease", ""]),
    )
    mark = (
        st.builds(lambda place: Mark("add", None, place), places)
        | st.builds(lambda before, after: Mark("change", before, after), places, places)
        | st.builds(lambda before: Mark("delete", before), places)
    )
    return st.lists(st.lists(mark, min_size=1, max_size=3) | st.integers(0, 5), max_size=8)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(_steps())
def test_any_marks_and_undos_give_what_a_slow_twin_gives(
    store: DecisionStore, steps: list[Any]
) -> None:
    project, twin, numbers = Project(store), Twin(), list[int]()
    for step in steps:
        if isinstance(step, int):  # undo one of those that were done, in whatever order
            if step < len(numbers):
                twin.steps[step] = twin.steps[step][0], False
                project.undo(numbers[step])
        elif twin.can(step):
            twin.steps.append((step, True))
            numbers.append(project.mark(*step))
        else:
            with pytest.raises(LinkerError):
                project.mark(*step)
        expected = twin.mentions()
        now = project.now().mentions
        assert {Twin.characters(Place.of(mention)) for mention in now} == expected
        assert len(now) == len(expected) == len(project.rows())
        kept = {(tuple(map(tuple, spans)), type) for spans, type, *_ in project.rows()}
        assert kept == {(mention.spans, mention.type) for mention in now}
