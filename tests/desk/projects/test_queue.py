"""The queue of a project: where changes were taken up, it is what one that is made anew is."""

from __future__ import annotations

import contextlib
import json
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from linker import Linker
from linker.desk.decisions.store import DecisionStore, Step
from linker.desk.projects import changes, linking, sources
from linker.desk.projects import queue as queues
from linker.desk.projects import store as rows
from linker.desk.projects.filters import Filter
from linker.desk.projects.queue import Queue
from linker.desk.projects.store import Missing, Origin, Taken
from linker.errors import LinkerError
from linker.evaluation.failures import KINDS
from linker.ids import part_ids
from linker.linking import decided as applying
from linker.linking.calibration import Calibration
from linker.linking.decided import Decided
from linker.records import Decision

from .conftest import Desk

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


class Reviewed:
    """A project, its queue, and one who does things in it."""

    def __init__(self, store: DecisionStore, linker: Linker, content: bytes, name: str) -> None:
        self.store, self.linker, self.name = store, linker, name
        file = sources.read(content, name, "name" if name.endswith("tsv") else None, None, 1_000)
        self.number = rows.create(store, name, file, "", "Ada", Origin("", ""))
        self.decided, self.added = Decided([], linker), 0
        self.queue = Queue(store, self.number, linker)
        self.link()

    def link(self) -> None:
        assert list(linking.link(self.store, self.number, self.linker))[-1] == 1

    def reading(self, some: Queue, *, is_hurried: bool = False) -> Any:
        self.decided = self.decided.after(self.store)
        return some.reading(self.decided, is_hurried=is_hurried)

    def do(self, what: str, place: int, reviewer: str) -> None:
        """Do something about a row of the queue as it is, which may not have all."""
        step, origin = Step(what, reviewer, self.number), Origin("", "")
        if what == "undo":
            with contextlib.suppress(Missing):
                changes.undo(self.store, self.number, reviewer)
        elif what == "more":
            is_table = "tsv" in self.name
            name, column = ("9.tsv", "name") if is_table else ("9.txt", None)
            content = MORE["table" if is_table else "documents"].format(self.added).encode()
            self.added += 1
            rows.add(self.store, self.number, sources.read(content, name, column, None, 1_000))
            self.link()
        else:
            with self.reading(self.queue, is_hurried=what == "hurry") as queue:
                known = queue.page(Filter(), "document")["rows"]
                decisions = list[Decision]()
                if what == "at once":
                    with contextlib.suppress(LinkerError):
                        asked = queue, Filter(), None, reviewer, origin
                        _, decisions = changes.acceptance(*asked)
                elif what not in ("refresh", "hurry") and known:
                    of = {"here": what == "here", "as_written": what == "as written"}
                    concept = "" if what == "none" else "MESH:D001260"
                    said = Decision("", concept, what != "reject", reviewer=reviewer)
                    key = known[place % len(known)]["key"]
                    decisions = [changes.decision_on(queue, key, said, **of)]
            if decisions:
                self.store.add(decisions, step)


def seen(some: Queue) -> dict[str, Any]:
    """All that a queue says."""
    pages = {sort: some.page(Filter(), sort)["rows"] for sort in ("doubt", "document", "alphabet")}
    found = some.page(Filter(q="gout"))["rows"], some.page(Filter(show="undecided"))["mentions"]
    acceptable = [row.key for row in some.acceptable(Filter(above=0.1))]
    said = {"pages": pages, "found": found, "acceptable": acceptable, **some.summary()}
    return said | {"disputed": some.disputed(), "version": 0}


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
        with reviewed.reading(reviewed.queue) as queue:
            there = seen(queue)
        with reviewed.reading(Queue(store, reviewed.number, linker)) as anew:
            assert there == seen(anew)


def test_decisions_of_before_do_not_undo_later_ones(tmp_path: Path, linker: Linker) -> None:
    with DecisionStore(tmp_path / "decisions.sqlite") as store:
        reviewed = Reviewed(store, linker, TABLE, "a.tsv")
        before = reviewed.decided
        store.add([Decision("gout", "MESH:D001943")])
        with reviewed.reading(reviewed.queue):
            pass
        with reviewed.queue.reading(before) as queue:
            assert queue.summary()["decided"] == 1


def test_what_is_denied_is_left_for_a_look(
    tmp_path: Path, linker: Linker, deny: Callable[..., None]
) -> None:
    deny("no gout")
    deny("asthma?", assertion="possible")
    table = b"name\ngout\nno gout\nasthma?\nbreast cancer\n"
    with DecisionStore(tmp_path / "d.sqlite") as store:
        some = Reviewed(store, linker, table, "a.tsv")
        with some.reading(some.queue) as there:
            rows = {row["mention"]: row for row in there.page(Filter(), "document")["rows"]}
            limits = {"above": Filter(above=0.0), "below": Filter(below=0.0)}
            limits["no concept"] = Filter(show="no-concept")
            wanted = {
                name: {row["mention"] for row in there.page(limit)["rows"]}
                for name, limit in limits.items()
            }
            accepted = [row.mention for row in there.acceptable(Filter())]
            by_doubt = [row["mention"] for row in there.page(Filter())["rows"]]
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
    sure, unsure = {"gout", "breast cancer"}, {"no gout", "asthma?"}
    # the concept of what is denied is there
    assert wanted == {"above": sure, "below": unsure, "no concept": set()}
    assert accepted == ["gout", "breast cancer"]
    assert {*by_doubt[2:]} == unsure  # apart from the others, behind them


def test_cells_in_which_nothing_was_entered_come_last_by_doubt(
    desk: Desk, deny: Callable[..., None]
) -> None:
    deny("no gout")
    desk.create("name\nN/A\nn/a\n--\nzzzz qqqq\nno gout\nbreast cancer\n", "a.csv", "name")
    by_doubt = [row["mention"] for row in desk.rows(sort="doubt")]
    # a name that is no concept's may be one of which the dictionary lacks the name
    assert by_doubt == ["zzzz qqqq", "breast cancer", "no gout", "N/A", "--"]
    desk.decide("N/A", "MESH:D006073")
    assert [row["mention"] for row in desk.rows(sort="doubt")] == by_doubt


def test_a_decision_on_one_document_splits_a_row(desk: Desk) -> None:
    desk.create(TEXTS, "a.txt")
    rows = [(row["mention"], row["expanded"], row["count"]) for row in desk.rows()]
    short = ("BC", "Breast cancer", 1), ("BC", None, 1)
    assert rows == [("Breast cancer", None, 1), short[0], ("gout", None, 2), short[1]]
    (key,) = (row["key"] for row in desk.rows() if row["mention"] == "gout")
    desk.decide("gout", None, here=True, document=2)
    there = {row["key"]: row["state"] for row in desk.rows(q="gout")}
    assert there == {key: "model", f"{key}@2": "no concept"}
    desk.decide("BC", "MESH:D001260")
    assert [row["state"] for row in desk.rows()][:2] == ["accepted", "accepted"]


def test_in_bulk_only_what_was_counted_is_decided(desk: Desk) -> None:
    text = "7|t|Breast cancer (BC), BC and breast cancer\n7|a|\n"
    places = ((0, 13, "Breast cancer"), (15, 17, "BC"), (20, 22, "BC"), (27, 40, "breast cancer"))
    lines = "".join(f"7\t{start}\t{end}\t{name}\tDisease\n" for start, end, name in places)
    desk.create(f"{text}{lines}", "a.txt")
    least, most = desk.row("Breast cancer")["confidence"], desk.row("BC")["confidence"]
    assert least < most

    def counted(**wanted: Any) -> tuple[int, int]:
        with desk.reading() as queue:
            figures = queue.acceptable_figures(Filter(**wanted))
        return figures["groups"], figures["mentions"]

    assert counted(above=least) == (2, 4)
    # a decision on the long form, which these leave out, is one on the short form, too
    assert counted(above=most) == counted(q="bc") == (0, 0)


def test_a_bulk_that_some_rows_would_not_fit_leaves_them_out(desk: Desk) -> None:
    desk.create(TEXTS, "a.txt")
    # a rejection of what is not the model's answer, in one document
    desk.decide("gout", "MESH:D009369", accepted=False, here=True, document=2)
    with desk.reading() as queue:
        of_one = queue.acceptable_figures(Filter(document=1, q="gout"))
        assert (of_one["mentions"], queue.acceptable_figures(Filter(q="gout"))["mentions"]) == (
            0,
            2,
        )
    with pytest.raises(Missing):
        desk.decide("gout", None, here=True, document=99)


def test_what_was_rejected_and_accepted_in_bulk_is_as_sure_as_the_model(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "SURE", 0.0)  # another candidate answers, whatever it has
    desk.create("mention\nretina tumor\nleukaemia\n")
    desk.decide("retina tumor", "MESH:D012164", accepted=False)
    before = desk.row("retina tumor")
    assert before["state"] == "rejected"
    assert desk.accept(reviewer="Bob")["mentions"] == 2
    after = desk.row("retina tumor")
    assert (after["state"], after["bulk"]) == ("accepted", True)
    assert after["answers"] == before["answers"]


def test_who_looks_stands_above_a_bulk(desk: Desk) -> None:
    desk.create("mention\nA-T\nbreast cancer\nataxia telangiectasia\n")
    assert desk.accept()["groups"] == 3
    desk.decide("A-T", "MESH:D001260", "Bob")  # the same
    desk.decide("breast cancer", None, "Bob")  # another one
    desk.decide("ataxia telangiectasia", "MESH:D001260", "Bob", accepted=False)  # it is wrong
    states = [(row["state"], row["reviewers"]) for row in desk.rows()]
    assert states[:2] == [("accepted", ["Bob"]), ("no concept", ["Bob"])]
    assert states[2][0] in ("rejected", "open")
    assert not desk.rows(show="disputed")
    for _ in range(3):
        changes.undo(desk.store, 1, "Bob")
    assert len(desk.rows(show="in-bulk")) == 3


def test_how_many_sure_answers_are_right(desk: Desk) -> None:
    half = Calibration(worth=((0.0, 0.0), (1.0, 0.5)))  # of what confidences say
    desk.linker = desk.linker.with_ranker(replace(desk.linker.ranker, calibration=half))
    names = [f"name {number}" for number in range(26)]
    desk.create("\n".join(["mention", *names, "name 0", "name 0", "none", "one and two"]))
    said = {"concept_id": "MESH:D006073", "name": "Gout"}
    of_one, of_two = ([said | {"confidence": p} for p in shares] for shares in ([0.8], [0.9, 0.4]))
    change = "UPDATE answers SET ids = ?, shown = ?, confidence = ? WHERE id {} (SELECT answer FROM mentions WHERE text {})"
    with desk.store.transaction() as connection:
        connection.execute(change.format("IN", "LIKE 'name%'"), ["A", json.dumps(of_one), 0.8])
        connection.execute(
            change.format("IN", "= 'one and two'"), ["A|A", json.dumps(of_two), 0.36]
        )
        connection.execute(change.format("IN", "= 'none'"), ["", "[null]", None])
    desk.decide("name 1", "MESH:D006073")
    with desk.reading() as queue:
        expected = queue.expected()
    assert expected is not None
    # 27 mentions, for "name 0" stands three times, and 25 names; a part of one is a guess
    assert (expected.answers, expected.share) == (27, pytest.approx(0.4))
    error = 1.96 * (0.4 * 0.6 / 25 + 0.035**2) ** 0.5
    assert (expected.low, expected.high) == (pytest.approx(0.4 - error), pytest.approx(0.4 + error))
    for number in range(2, 8):
        desk.decide(f"name {number}", None)
    with desk.reading() as queue:
        assert queue.expected() is None  # of 19 names


def test_without_a_calibration_nothing_is_expected(desk: Desk) -> None:
    desk.linker = desk.linker.with_ranker(replace(desk.linker.ranker, calibration=Calibration()))
    desk.create("mention\n" + "".join(f"gout {number}\n" for number in range(30)))
    with desk.reading() as queue:
        assert queue.expected() is None


def test_why_rows_have_no_sure_answer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [*["zzzz qqqq"] * 2, "QXZ", "gout", "bbbb cccc", *[f"zzzz qqqq{n}" for n in range(12)]]
    desk.create("\n".join(["mention", *rows]))

    def failed() -> list[tuple[str, int, int, list[str]]]:
        with desk.reading() as queue:
            kinds = queue.failed()["kinds"]
        assert all(kind["help"] == KINDS[kind["kind"]] for kind in kinds)
        return [
            (k["kind"], k["mentions"], k["groups"], [e["mention"] for e in k["examples"]])
            for k in kinds
        ]

    unlike, short = failed()
    first_ten = ["zzzz qqqq", "bbbb cccc", *[f"zzzz qqqq{n}" for n in range(8)]]
    assert unlike == ("no name like it", 15, 14, first_ten)
    assert short == ("short form", 1, 1, ["QXZ"])
    desk.decide("QXZ", None)
    desk.decide("gout", "MESH:D006073", accepted=False)  # and the model is sure of no other
    with_gout = ["zzzz qqqq", "gout", "bbbb cccc", *[f"zzzz qqqq{n}" for n in range(7)]]
    assert failed() == [("no name like it", 16, 15, with_gout)]
    monkeypatch.setattr(queues, "_EXPLAINED", 2)
    assert failed() == [("no name like it", 3, 2, with_gout[:2])]
    with desk.reading() as queue:
        assert queue.failed()["left_out"] == 13


def test_reviewers_disagree_until_somebody_settles_it(desk: Desk) -> None:
    desk.create("mention\ngout\nlymphoma\n")
    desk.decide("gout", None)
    desk.decide("gout", "MESH:D006073", "Bob")
    with desk.reading() as queue:
        (row,) = queue.disputed()
        summary = queue.summary()
    assert [d["concept_id"] or None for d in row["decisions"]] == [None, "MESH:D006073"]
    assert summary["disagreements"] == 1
    desk.decide("gout", "MESH:D006073", "Eve", settles=("Ada", "Bob"))
    assert desk.row("gout")["reviewers"] == ["Eve"]


COMPOSITE = "breast and ovarian cancer"
BREAST, OVARIAN, ATAXIA = "MESH:D001943", "MESH:D010051", "MESH:D001260"


def test_a_row_stays_open_until_each_part_is_decided(desk: Desk) -> None:
    desk.create(f"mention\n{COMPOSITE}\ngout\n")
    before = desk.row(COMPOSITE)
    assert [answer["concept_id"] for answer in before["answers"]] == [BREAST, OVARIAN]
    desk.decide(COMPOSITE, f"{ATAXIA}|?")
    row = desk.row(COMPOSITE)
    assert (row["state"], row["reviewers"]) == ("open", ["Ada"])
    first, second = row["answers"]
    assert (first["concept_id"], first["confidence"]) == (ATAXIA, 1.0)
    assert (second, row["ids"]) == (before["answers"][1], f"{ATAXIA}|?")
    assert [row["mention"] for row in desk.rows(show="undecided")] == [COMPOSITE, "gout"]
    with desk.reading() as queue:
        assert queue.summary()["decided"] == 0
        assert not queue.acceptable(Filter(q=COMPOSITE))  # a bulk decides no part alone
        decided = queues.decided_mentions(queue.connection, 1, desk.decided.places)
    assert decided == 0
    desk.decide(COMPOSITE, "?|-1", "Bob")
    row = desk.row(COMPOSITE)
    assert (row["state"], row["reviewers"]) == ("accepted", ["Ada", "Bob"])
    assert row["answers"][1] is None
    changes.undo(desk.store, 1, "Bob")
    assert desk.row(COMPOSITE)["state"] == "open"
    desk.decide(COMPOSITE, f"{BREAST}|?", "Bob")  # the same part, differently
    assert desk.row(COMPOSITE)["state"] == "disputed"
    desk.decide(COMPOSITE, f"{BREAST}|?", "Eve", settles=("Ada", "Bob"))
    row = desk.row(COMPOSITE)
    assert (row["state"], row["reviewers"]) == ("open", ["Eve"])


def test_a_part_of_ids_that_a_person_wrote_in_another_order(desk: Desk) -> None:
    """What is seen as the second part is replaced, and not what was written second."""
    desk.create(f"mention\n{COMPOSITE}\n")
    desk.store.add([Decision(COMPOSITE, f"{OVARIAN}|{BREAST}", reviewer="Ada")])
    shown = [answer["concept_id"] for answer in desk.row(COMPOSITE)["answers"]]
    assert shown == [BREAST, OVARIAN]
    desk.decide(COMPOSITE, f"?|{ATAXIA}")
    assert desk.row(COMPOSITE)["ids"] == f"{BREAST}|{ATAXIA}"
    desk.decide(COMPOSITE, f"{BREAST}|?", "Bob")  # who claims nothing of the other part
    assert desk.store.list()[-1].concept_id == f"{BREAST}|?"


LEUKAEMIA = "MESH:D007938"
NEVER_THE_MODELS = [ATAXIA, LEUKAEMIA, "MESH:D008223"]
"""No answer of the model to the names here: who did not choose one never has it."""


def last_decision(desk: Desk) -> tuple[str, str]:
    """Who made it, and what it says."""
    decision = desk.store.list()[-1]
    return decision.reviewer, decision.concept_id


def test_a_part_is_decided_of_the_reading_that_was_shown(desk: Desk) -> None:
    """Another model may have read the mention in other parts since."""
    desk.create(f"mention\n{COMPOSITE}\ngout\n")
    with desk.reading() as queue:
        key = desk.row_key(queue, COMPOSITE)
        texts = [part.text for part in queue.prediction(queue.row(key)).parts]
        said = Decision("", f"{BREAST}|?", reviewer="Ada")
        decision = changes.decision_on(queue, key, said, part_texts=texts)
        assert decision.concept_id == f"{BREAST}|?"
        for others in ([*reversed(texts)], [COMPOSITE], [*texts, "gout"], []):
            with pytest.raises(Taken):
                changes.decision_on(queue, key, said, part_texts=others)


def test_a_part_is_of_as_many_as_the_mention_has(desk: Desk) -> None:
    desk.create(f"mention\n{COMPOSITE}\ngout\n")
    for mention, ids in (("gout", f"{BREAST}|?"), (COMPOSITE, f"{BREAST}|?|?")):
        with pytest.raises(LinkerError):
            desk.decide(mention, ids)
    assert desk.store.list() == []
    desk.store.add([Decision("gout", f"{BREAST}|?", reviewer="Bob")])  # by a file
    desk.decide("gout", f"?|{ATAXIA}")
    assert desk.row("gout")["ids"] == f"{BREAST}|{ATAXIA}"


def test_on_a_disputed_row_a_part_is_decided_alone(desk: Desk) -> None:
    """The row shows the model's answer, of which the reviewer said nothing."""
    desk.create(f"mention\n{COMPOSITE}\n")
    desk.decide(COMPOSITE, f"{ATAXIA}|{LEUKAEMIA}", "Bob")
    desk.decide(COMPOSITE, f"{BREAST}|{LEUKAEMIA}", "Ada")
    row = desk.row(COMPOSITE)
    assert (row["state"], row["ids"]) == ("disputed", f"{BREAST}|{OVARIAN}")
    desk.decide(COMPOSITE, f"{BREAST}|?", "Bob", settles=("Ada", "Bob"))
    assert last_decision(desk) == ("Bob", f"{BREAST}|?")
    row = desk.row(COMPOSITE)
    assert (row["state"], row["ids"]) == ("accepted", f"{BREAST}|{LEUKAEMIA}")


def test_what_another_said_of_a_part_is_taken_alone(desk: Desk) -> None:
    desk.create(f"mention\n{COMPOSITE}\n")
    desk.decide(COMPOSITE, f"{ATAXIA}|{LEUKAEMIA}", "Bob")
    desk.decide(COMPOSITE, f"{BREAST}|?", "Ada")
    desk.decide(COMPOSITE, f"{BREAST}|?", "Bob", settles=("Ada", "Bob"))
    assert last_decision(desk) == ("Bob", f"{BREAST}|?")
    assert desk.row(COMPOSITE)["ids"] == f"{BREAST}|{LEUKAEMIA}"


def test_what_was_accepted_in_bulk_fills_no_part(desk: Desk) -> None:
    desk.create(f"mention\n{COMPOSITE}\n")
    desk.store.add([Decision(COMPOSITE, f"{OVARIAN}|{BREAST}", reviewer="Bob", bulk=True)])
    desk.decide(COMPOSITE, f"{ATAXIA}|?", "Bob")
    assert last_decision(desk) == ("Bob", f"{ATAXIA}|?")
    row = desk.row(COMPOSITE)
    assert (row["state"], row["ids"]) == ("open", f"{ATAXIA}|?")


@pytest.mark.parametrize("seed", range(2))
def test_two_reviewers_store_no_decision_that_neither_made(desk: Desk, seed: int) -> None:
    """What each chose is written down, as in benchmarks/workbench/keys.py, and compared."""
    draw = random.Random(seed)
    texts = [COMPOSITE, "breast and ovarian cancers", "gout"]
    desk.create("mention\n" + "\n".join(texts) + "\n")
    chosen = defaultdict[tuple[str, str], set[str]](set)
    for _ in range(100):
        text = draw.choice(texts)
        reviewer = draw.choice(["Ada", "Bob"])
        action = draw.choice(["part", "part", "part", "both", "take", "bulk", "undo"])
        row = desk.row(text)
        place = draw.randrange(len(row["answers"]))
        concept = draw.choice([*NEVER_THE_MODELS, "-1"])
        ids = ["?"] * len(row["answers"])
        ids[place] = concept
        with desk.reading() as queue:
            disputed = {other["key"]: other["decisions"] for other in queue.disputed()}
        decisions = disputed.get(row["key"], [])
        settles = tuple({decision["reviewer"] for decision in decisions})
        if action == "bulk":
            with contextlib.suppress(LinkerError):  # there is nothing to accept
                desk.accept(reviewer=reviewer)
            continue
        if action == "undo":
            with contextlib.suppress(Missing):
                changes.undo(desk.store, 1, reviewer)
            continue
        if action == "both":  # of a table, in any order
            ids = draw.sample(NEVER_THE_MODELS, len(ids))
        if action == "take" and decisions:
            ids = part_texts(draw.choice(decisions)["concept_id"])
        chosen[text, reviewer] |= {*ids} - {"?"}
        desk.decide(text, "|".join(ids), reviewer, settles=settles)
        for decision in desk.store.list():
            if not decision.bulk:
                stored = {*part_texts(decision.concept_id)} - {"?"}
                assert stored <= chosen[decision.mention, decision.reviewer]
        row = desk.row(text)
        if row["state"] == "accepted" and not row["bulk"]:
            by_reviewers = [chosen[text, name] for name in row["reviewers"]]
            assert {*part_texts(row["ids"])} <= set().union(*by_reviewers)


def part_texts(ids: str | None) -> list[str]:
    """The parts as somebody writes them: `?` where one is open, -1 where it has no concept."""
    return ["?" if part is None else part or "-1" for part in part_ids(ids or "")]


def test_in_bulk_each_part_is_above_the_limit(desk: Desk) -> None:
    desk.create(f"mention\n{COMPOSITE}\n")
    shown = [
        {"concept_id": i, "name": i, "confidence": sure}
        for i, sure in ((BREAST, 0.99), (OVARIAN, 0.1))
    ]
    with desk.store.transaction() as connection:
        statement = "UPDATE answers SET shown = ?, confidence = ?"
        connection.execute(statement, [json.dumps(shown), 0.99 * 0.1])
    with desk.reading() as queue:
        for limit, count in ((0.9, 0), (0.5, 0), (0.05, 1)):
            assert queue.acceptable_figures(Filter(above=limit))["groups"] == count


def test_flags_and_notes_filter_and_are_undone(desk: Desk) -> None:
    desk.create("mention\nHämophilie\ngout\nbreast cancer\n")
    for kind, value in (("flag", "1"), ("note", "ask Bob")):
        desk.remark("gout", kind, value)
    (row,) = desk.rows(show="flagged")
    assert (row["mention"], row["flag"], row["note"]) == ("gout", True, "ask Bob")
    with desk.reading() as queue:
        of_all, flagged = map(queue.acceptable, (Filter(), Filter(show="flagged")))
    assert "gout" not in {row.mention for row in of_all}
    assert [row.mention for row in flagged] == ["gout"]
    with pytest.raises(changes.Remarked):
        desk.remark("gout", "note", "ask Eve", before="")
    changes.undo(desk.store, 1, "Ada")
    assert desk.row("gout")["note"] == ""
    for query in ("hamo", "HÄMO"):  # a search passes over accents
        assert [row["mention"] for row in desk.rows(q=query)] == ["Hämophilie"]
