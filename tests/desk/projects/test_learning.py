"""Learning of decisions: what is learnt, what is held out, and the figures, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Linker
from linker.desk.decisions.store import DecisionStore, Step
from linker.desk.projects import marks, sources
from linker.desk.projects.learning import (
    FEWEST,
    FEWEST_DOCUMENTS,
    PARTS,
    Learner,
    Lesson,
    Reviewed,
    figures_of,
    learn,
    lessons_of,
)
from linker.desk.projects.marks import Mark, Place
from linker.desk.projects.store import Origin, create
from linker.errors import LinkerError
from linker.linking.decided import Decided
from linker.linking.ranker import Judged, Ranker
from linker.records import Activity, Decision, Document, GoldGroup, Mention, Passage

ATAXIA, GAIT = "MESH:D001260", "vermillion gait"


def lesson(text: str, identifier: str, number: int = 1) -> Lesson:
    return Lesson(Mention(text, gold=(GoldGroup((identifier,)),)), number)


def known(linker: Linker, count: int) -> list[Lesson]:
    """Preferred names, which the model knows, decided as they are."""
    dictionary = linker.dictionary
    names = map(dictionary.preferred_name, range(count))
    return [lesson(name, dictionary.ids[n], n + 1) for n, name in enumerate(names)]


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
    learnt = [(of.mention.text, of.mention.gold, of.number) for of in lessons_of(said, linker)]
    ataxia = (GoldGroup((ATAXIA,)),)
    assert learnt == [("zero", ataxia, 1), ("five", ataxia, 6), ("six", (), 7), ("one", ataxia, 9)]


def test_figures_by_hand() -> None:
    record = figures_of([(True, True), (True, True), (False, True), (False, False)])
    assert (record["held_out"], record["better"], record["worse"]) == (4, 1, 0)
    assert record["old"] == {"right": 2, "accuracy": 0.5, "interval": [0.15, 0.85]}
    assert record["new"]["accuracy"] == 0.75


def test_a_name_is_learnt_and_its_like_profits(linker: Linker) -> None:
    taught = [lesson(GAIT, ATAXIA)]
    new, compared = learn(linker, taught, 0, lambda _: None)
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
        seen.append({of.number for of, taken in zip(taught, is_taken, strict=True) if taken})
        return learnt(learner, is_taken)

    monkeypatch.setattr(Learner, "learnt", noted)
    told: list[Activity] = []
    new, compared = learn(linker, taught, 20, told.append)
    assert compared
    assert compared["held_out"] == 60
    gain = compared["new"]["right"] - compared["old"]["right"]
    assert gain == compared["better"] - compared["worse"]
    for part in range(PARTS):
        before, rest = seen[2 * part : 2 * part + 2]
        held_out = set(range(12 * part + 1, 12 * part + 13))  # decisions one after another
        assert rest == {of.number for of in taught} - held_out
        assert before == {number for number in rest if number <= 20}
    assert seen[-1] == {of.number for of in taught}
    assert [round(of.share or 0, 2) for of in told] == [0.0, 0.14, 0.29, 0.43, 0.57, 0.71, 0.86]
    assert new.ranker
    assert new.ranker.described.startswith("fitted to 60 decisions, and before that as it is ship")


def test_a_model_without_a_ranker_learns_names(linker: Linker) -> None:
    taught = [*known(linker, FEWEST * 2), lesson(GAIT, ATAXIA, 61)]
    new, compared = learn(linker.with_ranker(None), taught, 0, lambda _: None)
    assert new.ranker is None
    assert compared
    assert GAIT in new.dictionary.names


def test_nothing_to_learn(linker: Linker) -> None:
    with pytest.raises(LinkerError):
        learn(linker, [], 0, lambda _: None)


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


def test_mentions_with_a_decision_in_their_document_are_for_the_ranker(
    linker: Linker, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold = (GoldGroup((ATAXIA,)),)
    mention = Mention(GAIT, ((0, 15),), gold=gold, document_id="7")
    reviewed = Reviewed(decided=[Document("7", (Passage(f"{GAIT} was seen."),), (mention,))])
    fitted = list[int]()

    def noted(judged: Judged, seed: int, start: Ranker) -> Ranker:
        fitted.append(len(judged.weight))
        return start

    monkeypatch.setattr("linker.linking.ranker.fit", noted)
    new, _ = learn(linker, known(linker, 50), 0, lambda _: None, reviewed)
    assert fitted[-1] == 51
    assert GAIT not in new.dictionary.names


def test_many_documents_teach_where_mentions_are(linker: Linker) -> None:
    def document(number: int) -> Document:
        texts = f"Ataxia telangiectasia number {number}.", "No cancer was seen."
        passages = (Passage(texts[0]), Passage(texts[1], len(texts[0]) + 1))
        mention = Mention("Ataxia telangiectasia", ((0, 21),), type="Disease")
        return Document(str(number), passages, (mention,))

    done = [document(number) for number in range(FEWEST_DOCUMENTS)]
    taught = [lesson(GAIT, ATAXIA)]
    few, _ = learn(linker, taught, 0, lambda _: None, Reviewed(done=done[1:]))
    assert few.spans is None
    new, _ = learn(linker, taught, 0, lambda _: None, Reviewed(done=done))
    assert new.spans
    assert (new.spans.documents, new.spans.type) == (FEWEST_DOCUMENTS, "Disease")
    assert learn(new, taught, 0, lambda _: None, Reviewed(done=done[1:]))[0].spans is new.spans
