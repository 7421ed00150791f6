"""Decisions win over the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linker import Dictionary, Document, Linker, Mention, Selection
from linker.desk.decisions.store import DecisionStore
from linker.errors import LinkerError
from linker.io.outputs import DECISION, joined_ids
from linker.linking.decided import Decided
from linker.linking.decisions import Ruling, conflicts
from linker.records import Decision, Part, Passage, Prediction
from linker.text.mentions import Definitions
from linker.training.pipeline import train


@pytest.fixture(scope="session")
def linker(tfidf: Linker) -> Linker:
    return tfidf


BREAST, OVARIAN, ATAXIA = "MESH:D001943", "MESH:D010051", "MESH:D001260"


def answer(
    linker: Linker, item: str | Mention | Document, *decisions: Decision, k: int = 3
) -> Prediction:
    decided = Decided(decisions, linker)
    (prediction,) = linker.link([item], k=k, decisions=decided)
    return prediction


def applied(
    decided: Decided,
    linker: Linker,
    prediction: Prediction,
    k: int = 9,
    threshold: float | None = None,
) -> Prediction:
    """What decisions make of the prediction for a loose mention."""
    ruling = decided.on_mention(prediction.mention, None, Definitions())
    return decided.apply(prediction, ruling, linker.linkable, k=k, threshold=threshold)


def ids(prediction: Prediction) -> list[list[str]]:
    return [[candidate.concept_id for candidate in part.candidates] for part in prediction.parts]


def test_an_accepted_concept_comes_first(linker: Linker) -> None:
    (before,) = linker.link(["breast cancer"], k=3)
    prediction = answer(linker, "breast cancer", Decision("Breast  Cancer", OVARIAN))
    (part,), (was,) = prediction.parts, before.parts
    others = [c.concept_id for c in was.candidates if c.concept_id != OVARIAN]
    assert ids(prediction) == [[OVARIAN, *others][:3]]
    first, *rest = part.candidates
    assert (first.confidence, first.source, first.name) == (1.0, "decision", "Ovarian Neoplasms")
    assert prediction.state == "accepted"
    assert all(c.confidence in (None, 0.0) and not c.source for c in rest)
    assert first.score >= max(c.score for c in rest)
    (part,) = answer(linker, "…", Decision("…", ATAXIA)).parts  # the model finds nothing
    assert [(c.concept_id, c.matched_name) for c in part.candidates] == [
        (ATAXIA, "Ataxia Telangiectasia")
    ]


def test_what_was_accepted_in_bulk_is_as_sure_as_the_model(linker: Linker) -> None:
    (before,) = linker.link(["breast cancer"], k=3)
    found, sure = BREAST, before.parts[0].confidence
    assert sure is not None
    assert sure < 1.0
    in_bulk = Decision("breast cancer", found, reviewer="ann", bulk=True)
    prediction = answer(linker, "breast cancer", in_bulk)
    assert (prediction.state, prediction.decisions) == ("model", (in_bulk,))
    assert prediction.parts == before.parts
    seen = answer(linker, "breast cancer", in_bulk, Decision("breast cancer", found))
    assert (seen.state, seen.parts[0].candidates[0].source) == ("accepted", DECISION)
    assert seen.parts[0].confidence == 1.0
    # the model answers otherwise
    other = answer(linker, "breast cancer", replace(in_bulk, concept_id=ATAXIA))
    assert other.state == "model"
    assert other.parts[0].candidates[0].source == ""
    assert (other.parts[0].candidates[0].concept_id, other.parts[0].confidence) == (ATAXIA, None)


def test_no_concept(linker: Linker) -> None:
    (part,) = (prediction := answer(linker, "breast cancer", Decision("breast cancer", ""))).parts
    assert (part.nil, part.best, part.rejected) == (True, None, None)
    assert {candidate.confidence for candidate in part.candidates} == {0.0}
    assert prediction.state == "no concept"


def confident(prediction: Prediction, *confidences: float | None) -> Prediction:
    """The prediction of one part with other confidences, the first ones of its candidates."""
    (part,) = prediction.parts
    candidates = tuple(
        replace(candidate, confidence=confidence)
        for candidate, confidence in zip(part.candidates, confidences, strict=True)
    )
    return replace(prediction, parts=(replace(part, candidates=candidates),))


@pytest.mark.parametrize(
    ("second", "threshold", "state"),
    [
        (0.0012, None, "open"),  # sure of nothing: the model's second choice is no answer
        (0.49, 0.0, "open"),
        (0.5, 0.0, "rejected"),
        (0.5, 0.6, "open"),
        (0.6, 0.6, "rejected"),
        (None, None, "open"),  # nobody knows how sure it is
    ],
)
def test_behind_a_rejected_concept_only_a_sure_one_answers(
    linker: Linker, second: float | None, threshold: float | None, state: str
) -> None:
    (prediction,) = linker.link(["breast cancer"], k=2, threshold=0)
    prediction = confident(prediction, None if second is None else 0.4, second)
    first, other = prediction.parts[0].candidates
    decided = Decided([Decision("breast cancer", BREAST, accepted=False)], linker)
    corrected = applied(decided, linker, prediction, threshold=threshold)
    (part,) = corrected.parts
    assert (corrected.state, corrected.decisions[0].concept_id) == (state, BREAST)
    assert part.candidates == (other,)
    assert part.best == (other if state == "rejected" else None)
    if state == "open":  # what is rejected is what a person rejected, not the runner-up
        confidence = None if second is None else 0.0
        assert part.rejected == replace(first, source="decision", confidence=confidence)
        assert part.returned == ()


def test_a_rejection_behind_the_answer_leaves_the_answer(linker: Linker) -> None:
    (before,) = linker.link(["breast cancer"], k=3, threshold=0)
    second = before.parts[0].candidates[1].concept_id
    decided = Decided([Decision("breast cancer", second, accepted=False)], linker)
    after = applied(decided, linker, before)
    assert after.state == "rejected"
    assert ids(after) == [[i for i in ids(before)[0] if i != second]]
    unsure = Part("breast cancer", nil=True, rejected=before.parts[0].best)
    after = applied(decided, linker, replace(before, parts=(unsure,)))
    assert (after.state, after.parts) == ("open", (unsure,))  # the model was not sure of another


def test_composites(linker: Linker) -> None:
    text = "breast and ovarian cancer"
    both = answer(linker, text, Decision(text, f"{OVARIAN}|{BREAST}"))
    assert [part.text for part in both.parts] == ["breast cancer", "ovarian cancer"]
    assert [part[0] for part in ids(both)] == [BREAST, OVARIAN]  # each where it is a candidate
    swapped = answer(linker, text, Decision(text, f"{ATAXIA}|{BREAST}"))
    assert [part[0] for part in ids(swapped)] == [BREAST, ATAXIA]
    one = answer(linker, text, Decision(text, f"{BREAST}|-1"))
    assert [part.nil for part in one.parts] == [False, True]
    whole = answer(linker, text, Decision(text, ATAXIA))
    assert [part.text for part in whole.parts] == [text]
    assert [part[0] for part in ids(whole)] == [ATAXIA]
    three = answer(linker, text, Decision(text, f"{BREAST}|{OVARIAN}|{ATAXIA}"))
    assert ids(three) == [[BREAST], [OVARIAN], [ATAXIA]]
    assert three.reading == "split"


COMPOSITE = "breast and ovarian cancer"


def test_a_part_is_decided_alone(linker: Linker) -> None:
    """What is open is as the model answers it, and nobody's."""
    (model,) = linker.link([COMPOSITE], k=3)
    prediction = answer(linker, COMPOSITE, Decision(COMPOSITE, f"{ATAXIA}|?", reviewer="ann"))
    assert (prediction.state, prediction.reading) == ("open", "split")
    first, second = prediction.parts
    assert (first.best and first.best.concept_id, first.confidence) == (ATAXIA, 1.0)
    assert (first.is_open, first.candidates[0].source) == (False, DECISION)
    assert second == replace(model.parts[1], is_open=True)
    assert second.confidence == model.parts[1].confidence
    assert DECISION not in {candidate.source for candidate in second.candidates}
    decided = Decided([Decision(COMPOSITE, f"{ATAXIA}|?")], linker)
    said = linker.explain(COMPOSITE, decisions=decided).to_dict()["by_decision"]
    assert [part["concept_id"] for part in said["answer"]] == [ATAXIA, "?"]


def test_reasons_name_the_id_that_a_person_named(tmp_path: Path) -> None:
    rows = "id\tname\talt_ids\nX:2\ttwo\tX:1\nX:3\tthree\t\n"
    (tmp_path / "d.tsv").write_text(rows, "utf-8")
    linker = train(Dictionary.read(tmp_path / "d.tsv"), encoder="tfidf")
    decided = Decided([Decision("two", "X:1", accepted=False, reviewer="ann")], linker)
    explanation = linker.explain("two", decisions=decided)
    assert "X:1 (now X:2) was rejected by ann" in str(explanation)
    parts = [Decision("two", "X:1|X:3"), Decision("two", "X:1", accepted=False)]
    explanation = linker.explain("two", decisions=Decided(parts, linker))
    first, second = explanation.to_dict()["by_decision"]["decisions"]
    assert (first["concept_id"], second["said"]) == ("?|X:3", "X:1")


def test_parts_stay_in_their_places(linker: Linker) -> None:
    """Where a part was decided alone, no other part gets its concept, be it a candidate there."""
    other = answer(linker, COMPOSITE, Decision(COMPOSITE, f"?|{BREAST}"))
    assert [part.is_open for part in other.parts] == [True, False]
    assert ids(other)[1][0] == BREAST
    both = [Decision(COMPOSITE, f"?|{BREAST}"), Decision(COMPOSITE, f"{OVARIAN}|?")]
    whole = answer(linker, COMPOSITE, *both)
    assert (whole.state, [part[0] for part in ids(whole)]) == ("accepted", [OVARIAN, BREAST])
    assert not whole.has_open_part


def test_a_part_without_a_concept_beside_an_open_one(linker: Linker) -> None:
    prediction = answer(linker, COMPOSITE, Decision(COMPOSITE, "-1|?"))
    assert prediction.state == "open"
    assert [(part.nil, part.is_open) for part in prediction.parts] == [(True, False), (False, True)]
    assert joined_ids(prediction) == "-1|?"
    none = answer(linker, COMPOSITE, Decision(COMPOSITE, "-1|?"), Decision(COMPOSITE, "?|-1"))
    assert (none.state, [part.nil for part in none.parts]) == ("no concept", [True, True])


def test_a_rejection_keeps_what_was_accepted_of_another_part(linker: Linker) -> None:
    whole = Decision(COMPOSITE, f"{BREAST}|{OVARIAN}")
    prediction = answer(linker, COMPOSITE, whole, Decision(COMPOSITE, OVARIAN, accepted=False))
    first, second = prediction.parts
    assert (prediction.state, ids(prediction)[0][0], first.confidence) == ("open", BREAST, 1.0)
    assert second.is_open
    assert OVARIAN not in [candidate.concept_id for candidate in second.candidates]


def test_a_mention_that_is_read_in_other_parts(linker: Linker) -> None:
    prediction = answer(linker, "gout", Decision("gout", f"{ATAXIA}|?"))
    assert [(part.nil, part.is_open) for part in prediction.parts] == [(False, False), (True, True)]
    assert joined_ids(prediction) == f"{ATAXIA}|?"


A, B, C = BREAST, OVARIAN, ATAXIA


@pytest.mark.parametrize(
    ("near", "far", "expected"),
    [  # (concept, accepted, reviewer) in the document and everywhere; m may be a long form
        ([], [(A, True, "")], Ruling((A,))),
        ([(B, True, "")], [(A, True, "")], Ruling((B,))),
        ([(B, True, "")], [(B, False, "")], Ruling((B,))),
        ([(B, True, "")], [(C, False, "")], Ruling((B,), frozenset((C,)))),
        ([(A, False, "")], [(A, True, "")], Ruling((), frozenset((A,)))),
        ([(B, False, "")], [(A, True, "")], Ruling((A,), frozenset((B,)))),
        ([(A, True, "ann"), (B, True, "bob")], [(A, True, "")], Ruling(is_disputed=True)),
        ([(A, True, "ann"), (A, True, "bob")], [], Ruling((A,))),
        ([], [(A, True, "ann"), ("", True, "bob")], Ruling(is_disputed=True)),
        ([(C, True, "")], [(A, True, "ann"), ("", True, "bob")], Ruling((C,))),
        ([], [("", True, "")], Ruling(("",))),
        ([], [(f"{A}|?", True, "")], Ruling((A, None))),
        ([], [(f"{A}|?", True, "ann"), (f"?|{B}", True, "bob")], Ruling((A, B))),
        ([(f"{A}|?", True, "")], [(f"{C}|{B}", True, "")], Ruling((A, B))),
        ([(f"{A}|?", True, "")], [(f"?|{B}", True, "")], Ruling((A, B))),
        ([(f"{A}|?", True, "")], [(C, True, "")], Ruling((A, None))),
        ([(A, False, "")], [(f"{A}|{B}", True, "")], Ruling((None, B), frozenset((A,)))),
        ([(f"{A}|?", True, "ann"), (f"{C}|?", True, "bob")], [], Ruling(is_disputed=True)),
    ],
)
def test_rulings(
    linker: Linker,
    near: Sequence[tuple[str, bool, str]],
    far: Sequence[tuple[str, bool, str]],
    expected: Ruling,
) -> None:
    decisions = [Decision("m", c, a, "doc", r) for c, a, r in near]
    decisions += [Decision("m", c, a, "", r) for c, a, r in far]
    assert Decided(decisions, linker).ruling("M", "doc") == expected
    if not far:
        assert Decided(decisions, linker).ruling("M", "other") == Ruling()
        assert Decided(decisions, linker).ruling("M", "") == Ruling()


def test_what_was_accepted_in_bulk_decides_no_part_alone(linker: Linker) -> None:
    bulk = Decision("m", f"{C}|{B}", reviewer="ann", bulk=True)
    here = Decision("m", f"{A}|?", scope="doc", reviewer="ann")
    ruling = Decided([bulk, here], linker).ruling("m", "doc")
    assert (ruling, ruling.by) == (Ruling((A, None)), (here,))
    rejected = Decision("m", C, accepted=False, scope="doc")
    assert Decided([bulk, rejected], linker).ruling("m", "doc") == Ruling((), frozenset((C,)))


def test_only_what_counts_is_named(linker: Linker) -> None:
    here, far = Decision("m", f"{A}|?", scope="doc"), Decision("m", f"{C}|{B}", reviewer="bob")
    ruling = Decided([here, far], linker).ruling("m", "doc")
    assert ruling.by == (here, replace(far, concept_id=f"?|{B}"))


def test_a_dispute_behind_the_nearest_decisions_hides_none_of_the_others(linker: Linker) -> None:
    decisions = [
        Decision("A-T", A, accepted=False, scope="7"),
        Decision("long form", A, scope="7", reviewer="ann"),
        Decision("long form", C, scope="7", reviewer="bob"),
        Decision("long form", B),
    ]
    ruling = Decided(decisions, linker).ruling("A-T", "7", "long form")
    assert ruling == Ruling((B,), frozenset((A,)))
    assert ruling.by == (decisions[0], decisions[3])


def test_conflicts_are_answered_by_the_model(linker: Linker) -> None:
    text = "breast cancer"
    two = [Decision(text, OVARIAN, reviewer="ann"), Decision(text, "", reviewer="bob")]
    (before,) = linker.link([text], k=3)
    assert answer(linker, text, *two) == replace(before, state="disputed", decisions=tuple(two))
    assert conflicts(Decided(two, linker).places) == [two]


def test_restrictions_hold_for_decisions(linker: Linker) -> None:
    decision = Decision("breast cancer", ATAXIA)
    within = Selection(under=(BREAST,))
    assert ids(answer(linker.restricted(within), "breast cancer", decision))[0][0] == BREAST
    mention = Mention("breast cancer", within=within)
    assert ids(answer(linker, mention, decision))[0][0] == BREAST
    document = Document("1", (), (Mention("breast cancer"),), within=within)
    assert ids(answer(linker, document, decision))[0][0] == BREAST


def test_a_file_of_another_dictionary(linker: Linker, tmp_path: Path) -> None:
    with DecisionStore(tmp_path / "d.db") as store:
        store.add([Decision("a", "UMLS:C0000001"), Decision("b", "")])
        with pytest.raises(LinkerError, match=r"\(UMLS 1\)"):
            Decided.checked(store, linker)
        store.add([Decision("c", ATAXIA)])
        assert len(Decided.checked(store, linker).places) == 2


UNKNOWN, ALTERNATIVE = "MESH:D999999", "OMIM:100800"  # of achondroplasia
SAID = st.builds(
    Decision,
    st.sampled_from(["Breast cancer", "breast-cancer", "gout"]),
    st.sampled_from([BREAST, ALTERNATIVE, "MESH:D000130", UNKNOWN]),
    st.booleans(),
    st.sampled_from(["", "7"]),
    st.sampled_from(["ann", "bob"]),
    settles=st.sampled_from([(), ("ann", "bob")]),
)
WRITTEN = st.lists(st.lists(SAID, max_size=3) | st.integers(1, 8), max_size=8)
"""Decisions that are added together, or the number of one that is withdrawn."""


@given(WRITTEN, st.lists(st.booleans(), min_size=8, max_size=8))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_came_to_a_file_is_taken_up_as_if_all_was_read_anew(
    linker: Linker,
    tmp_path_factory: pytest.TempPathFactory,
    written: list[list[Decision] | int],
    read: list[bool],
) -> None:
    path = tmp_path_factory.mktemp("decisions") / "d.db"
    with DecisionStore(path) as writer, DecisionStore(path) as reader:
        decided = first = Decided([], linker)
        for what, is_read in zip(written, read, strict=False):
            if isinstance(what, int):
                writer.withdraw([what])
            else:
                writer.add(what)
            if is_read:
                decided = decided.after(reader)
        decided = decided.after(reader)
        anew = Decided([p.decision for p in reader.history() if not p.withdrawn], linker)
        assert decided.places == anew.places
        assert first.places == {}


def test_only_places_that_something_came_to_are_touched(linker: Linker, tmp_path: Path) -> None:
    with DecisionStore(tmp_path / "d.db") as store:
        store.add([Decision("gout", ATAXIA), Decision("ataxia", ATAXIA)])
        first = Decided([], linker).after(store)
        assert first.after(store) is first
        added = store.add([Decision("Gout", BREAST)])
        second = first.after(store)
    assert second.touched(first) == {("gout", "")}
    assert second.places["gout", ""] == added


MDS = "Patients with {} (MDS) were seen. MDS is rare."


def in_text(linker: Linker, long_form: str, *decisions: Decision) -> Prediction:
    """The answer for MDS in a text that defines it."""
    text = MDS.format(long_form)
    at = text.rindex("MDS")
    mention = Mention("MDS", ((at, at + 3),), document_id="7")
    return answer(linker, Document("7", (Passage(text),), (mention,)), *decisions)


def test_the_definition_in_a_document_wins_over_a_decision_on_these_letters(linker: Linker) -> None:
    """MDS of "Miller-Dieker syndrome (MDS)" is not what somebody accepted for another MDS."""
    everywhere = Decision("MDS", BREAST)
    assert ids(answer(linker, "MDS", everywhere))[0][0] == BREAST  # no text says otherwise
    assert in_text(linker, "myelodysplastic syndrome", everywhere).state == "model"
    here = in_text(linker, "myelodysplastic syndrome", replace(everywhere, scope="7"))
    assert (here.state, ids(here)[0][0]) == ("accepted", BREAST)


def test_a_decision_on_a_long_form_reaches_its_short_form(linker: Linker) -> None:
    long_form = Decision("Myelodysplastic syndrome", OVARIAN)
    reached = in_text(linker, "myelodysplastic syndrome", long_form)
    assert (reached.state, ids(reached)[0][0]) == ("accepted", OVARIAN)
    assert in_text(linker, "Miller-Dieker syndrome", long_form).state == "model"
    short = Decision("MDS", ATAXIA, scope="7")
    nearer = in_text(linker, "myelodysplastic syndrome", long_form, short)
    assert ids(nearer)[0][0] == ATAXIA
    document = Document("7", (Passage(MDS.format("myelodysplastic syndrome")),))
    assert linker.explain(
        "MDS", document=document, decisions=Decided([long_form], linker)
    ).by_decision


def test_a_decision_is_on_all_words_of_a_mention(linker: Linker) -> None:
    """Where the model shortens a mention, what was accepted is no answer for what is left of it."""
    (prediction,) = linker.link(["breast cancer"], k=1)
    shortened = replace(prediction, mention=Mention("sporadic breast cancer"), reading="shortened")
    decided = Decided([Decision("sporadic breast cancer", OVARIAN)], linker)
    answered = applied(decided, linker, shortened)
    assert [(part.text, part.best and part.best.concept_id) for part in answered.parts] == [
        ("sporadic breast cancer", OVARIAN)
    ]
