"""Learning of decisions: what is learnt, what is held out, and the figures, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Linker
from linker.desk.decisions.store import DecisionStore, Step
from linker.desk.projects import marks, sources
from linker.desk.projects.learning import (
    FEWEST_DOCUMENTS,
    PARTS,
    Learner,
    Reviewed,
    figures_of,
    learn,
    lessons_of,
)
from linker.desk.projects.marks import Mark, Place
from linker.desk.projects.store import Origin, create
from linker.linking.decided import Decided
from linker.records import Activity, Decision, Document, GoldGroup, Mention, Passage

ATAXIA, GAIT = "MESH:D001260", "vermillion gait"


def lesson(text: str, identifier: str) -> Mention:
    return Mention(text, gold=(GoldGroup((identifier,)),))


def known(linker: Linker, count: int) -> list[Mention]:
    """Preferred names, which the model knows, decided as they are."""
    dictionary = linker.dictionary
    return [lesson(dictionary.preferred_name(n), dictionary.ids[n]) for n in range(count)]


def test_accepted_decisions_that_hold_everywhere_are_learnt(linker: Linker) -> None:
    said = [
        Decision("one", "MESH:D001943", id=0),
        Decision("zero", ATAXIA, id=1),
        Decision("one", ATAXIA, id=9),
        Decision("two", ATAXIA, accepted=False, id=2),
        Decision("three", ATAXIA, scope="7", id=3),
        Decision("four", ATAXIA, reviewer="Ann", id=4),
        Decision("four", "MESH:D001943", reviewer="Bob", id=5),
        Decision("five", "OMIM:208900", id=6),  # an old id
        Decision("six", "", id=7),
        Decision("seven", "MESH:D0", id=8),  # of no concept
    ]
    learnt = [(lesson.text, lesson.gold) for lesson in lessons_of(said, linker)]
    ataxia = (GoldGroup((ATAXIA,)),)
    assert learnt == [("zero", ataxia), ("five", ataxia), ("six", ()), ("one", ataxia)]


def test_figures_by_hand() -> None:
    record = figures_of([(True, True), (True, True), (False, True), (False, False)])
    assert (record["held_out"], record["better"], record["worse"]) == (4, 1, 0)
    assert record["old"] == {"right": 2, "accuracy": 0.5, "interval": [0.15, 0.85]}
    assert record["new"]["accuracy"] == 0.75


def test_a_name_is_learnt_and_its_like_profits(linker: Linker) -> None:
    taught = [lesson(GAIT, ATAXIA)]
    new, compared = learn(linker, taught, lambda _: None)
    assert compared == {}
    assert new.ranker is linker.ranker  # one decision is too few to fit it to
    assert {c.concept_id for c in new.link("Vermillion-gait").parts[0].candidates} >= {ATAXIA}
    best = new.link(GAIT).parts[0].best
    assert best
    assert best.concept_id == ATAXIA
    assert GAIT not in linker.dictionary.names


def test_no_model_has_learnt_what_it_is_measured_on(
    linker: Linker, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught, seen = known(linker, 60), []
    learnt = Learner.learnt

    def noted(learner: Learner, is_taken: list[bool]) -> Linker:
        seen.append({place for place, taken in enumerate(is_taken) if taken})
        return learnt(learner, is_taken)

    monkeypatch.setattr(Learner, "learnt", noted)
    told: list[Activity] = []
    new, compared = learn(linker, taught, told.append)
    assert compared
    assert compared["held_out"] == 60
    gain = compared["new"]["right"] - compared["old"]["right"]
    assert gain == compared["better"] - compared["worse"]
    for part in range(PARTS):
        held_out = set(range(12 * part, 12 * part + 12))  # decisions one after another
        assert seen[part] == set(range(60)) - held_out
    assert seen[PARTS:] == [set(range(60))]
    assert [round(of.share or 0, 2) for of in told] == [0.0, 0.14, 0.29, 0.43, 0.57, 0.71, 0.86]
    assert new.ranker
    assert new.ranker.described.startswith("fitted to 60 decisions, and before that as it is ship")


DOCUMENTS = (
    "7|t|Ataxia telangiectasia (AT)\n7|a|AT was seen, and breast cancer.\n"
    "7\t23\t25\tAT\tDisease\n7\t27\t29\tAT\tDisease\n7\t44\t57\tbreast cancer\tDisease\n\n"
    "8|t|No breast cancer\n8|a|Here.\n8\t3\t16\tbreast cancer\tDisease\n\n"
)


def test_documents_teach_what_was_decided_in_them_and_where_mentions_are(
    linker: Linker, tmp_path: Path
) -> None:
    content = sources.read(DOCUMENTS.encode(), "a.pubtator.txt", None, None, 10**6)
    here = [
        Decision("AT", ATAXIA, scope="7"),
        Decision("breast cancer", "MESH:D001943"),  # everywhere: it is a lesson of its own
        Decision("AT", "MESH:D001943", scope="9"),
    ]
    with DecisionStore(tmp_path / "decisions.sqlite") as kept:
        assert create(kept, "a", content, "Disease", "Ada", Origin("", "")) == 1
        decided = Decided(kept.add(here), linker)
        with kept.transaction() as connection:
            version = marks.version_of(connection, 1, 1)
        added = Mark("add", None, Place(((0, 21),), "Disease"))
        marks.add(kept, Step("", "Ada", 1), 1, [added, Mark("done")], version)
        with kept.reading() as connection:
            reviewed = Reviewed.of(connection, linker, decided)
    ataxia = (GoldGroup((ATAXIA,)),)
    (with_decisions,) = reviewed.decided
    assert [(m.text, m.gold) for m in with_decisions.mentions] == [
        ("Ataxia telangiectasia", None),
        ("AT", ataxia),
        ("AT", ataxia),
        ("breast cancer", None),
    ]
    assert [(d.id, len(d.mentions)) for d in reviewed.done] == [("7", 4)]


def test_many_documents_teach_where_mentions_are(linker: Linker) -> None:
    def document(number: int) -> Document:
        texts = f"Ataxia telangiectasia number {number}.", "No cancer was seen."
        passages = (Passage(texts[0]), Passage(texts[1], len(texts[0]) + 1))
        mention = Mention("Ataxia telangiectasia", ((0, 21),), type="Disease")
        return Document(str(number), passages, (mention,))

    done = [document(number) for number in range(FEWEST_DOCUMENTS)]
    taught = [lesson(GAIT, ATAXIA)]
    few, _ = learn(linker, taught, lambda _: None, Reviewed(done=done[1:]))
    assert few.spans is None
    new, _ = learn(linker, taught, lambda _: None, Reviewed(done=done))
    assert new.spans
    assert (new.spans.documents, new.spans.type) == (FEWEST_DOCUMENTS, "Disease")
    assert learn(new, taught, lambda _: None, Reviewed(done=done[1:]))[0].spans is new.spans
