"""Explanations as text and JSON: everything is shown, and no sign is one that a terminal obeys."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from linker.linking import explanation as e
from linker.types import Candidate, Decision, Mention, Part, Prediction

EVIL = "<script>alert('1')</script>&\x1b[31m\x00\u202e\""
SAFE = "<script>alert('1')</script>&\\x1b[31m\\x00\\u202e\""


def candidate(rank: int, identifier: str, text: str) -> e.ExplainedCandidate:
    return e.ExplainedCandidate(
        rank,
        identifier,
        text,
        e.MatchedName(text, "exact", text, False, rank == 1, rank),
        e.ScoreParts(1.6 - rank / 10, 1.0, 0.9, 0.5, 0.2 - rank / 10),
        0.5 / rank,
        None if rank == 1 else "probability",
        {"score": 1.6 - rank / 10},
        () if rank == 1 else (e.ColumnEffect("of_name", f"what {text} says", 0.5, 0.25, 0.75),),
    )


def explained(text: str, **changes: object) -> e.Explanation:
    lookup = e.LookedUp(text, f"normal {text}", f"wrong {text}")
    first, second = candidate(1, "A:1", text), candidate(2, "A:2", text)
    explanation = e.Explanation(
        text,
        "1",
        (
            e.ExplainedReading(
                "expanded",
                (lookup,),
                (e.ExpandedForm(text, text, (3, 9)), e.ExpandedForm("SF", "short form", None)),
                True,
                (e.NamedConcept("A:1", text),),
                0.625,
            ),
            e.ExplainedReading("whole", (lookup,), (), False, (None,), 0.0),
        ),
        (e.ExplainedPart(lookup, (first, second), False, none=0.125, missed=0.0625),),
        f"from the ranker fitted to {text}",
        e.AskedConcepts(
            "A:9",
            "alternative",
            (
                e.ExplainedConcept(
                    "A:2",
                    text,
                    (),
                    (text,),
                    0,
                    second,
                ),
                e.ExplainedConcept("A:3", text, (f"it is not under {text}",)),
                e.ExplainedConcept("A:4", text),
            ),
        ),
    )
    return replace(explanation, **changes)  # type: ignore[arg-type]


DECISIONS = (
    Decision("m", "A:2", True, "7", EVIL, "2026-11-23"),
    Decision("m", "", True, "", "", "2026-11-24"),
    Decision("m", "A:1", False, "", "bob", "2026-11-25"),
)


def test_a_decision_answers() -> None:
    parts = Part("m", candidates=(Candidate("A:2", "two", "two", 1.0),)), Part("m", nil=True)
    by = Prediction(Mention("m"), parts, state="accepted", decisions=DECISIONS)
    text = " ".join(str(explained("heart", by_decision=by)).split())
    assert "Answer: A:2 two | none By a decision: A:2 was accepted" in text
    assert f"A:2 was accepted by {SAFE}, 2026-11-23, for document 7 By" in text
    assert "no concept was accepted by somebody, 2026-11-24 By" in text
    last = "A:1 was rejected by bob, 2026-11-25 State: accepted"
    assert f"{last} The model, of which all below is, answers: A:1 heart" in text
    record = json.loads(e.Explanation.to_json(explained("heart", by_decision=by)))["by_decision"]
    assert record["answer"] == [{"concept_id": "A:2", "name": "two"}, None]
    assert (record["state"], record["decisions"][2]["accepted"]) == ("accepted", False)
    assert record["decisions"][1]["concept_id"] is None
    assert "by_decision" not in json.loads(e.Explanation.to_json(explained("heart")))


def test_text_has_no_sign_that_a_terminal_obeys() -> None:
    text = str(explained(EVIL))
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert text.startswith(f"Mention: {SAFE}\nAnswer: A:1 {SAFE}\n")


def test_the_text_says_everything() -> None:
    shown = " ".join(str(explained("heart")).split())
    for text in (
        'heart, corrected from "wrong heart" to "normal heart"',
        "heart is heart, defined at characters 3 to 9 of the document",
        "SF is short form, by the definition of a compound of it",
        "heart (exact synonym, exact match, of heart, annotated once)",
        "expanded heart A:1 heart 0.6250 whole heart none 0.0000",
        "the first candidate is the answer; other probabilities: "
        "0.1250 that the dictionary has no concept for the mention, "
        "0.0625 that it has one which was not found",
        "1.5000 = 0.9000 (vectors) + 0.5 · 1.0000 (characters) + 0.1000 (bonus of a frequent name)",
        "ahead of A:2 by 1.10 in log odds",
        "A:1 is ahead by 1.10 in log odds",
        "what puts the first before it first this one log odds what heart says 0.5 0.25 +0.75",
        "log odds: what the first would lose with the value of the other one",
        "A:9 is an alternative id; it stands for A:2 heart, A:3 heart, A:4 heart",
        "A:2 heart has rank 2, by its name heart (exact synonym, of heart, annotated 2 times)",
        "it is first where the mention is read as heart",
        "A:3 heart cannot be answered here: it is not under heart",
        "A:4 heart is no candidate: none of its names shares an n-gram with the mention",
        "from the ranker fitted to heart",
    ):
        assert text in shown, text


def test_why_there_is_no_answer() -> None:
    (part,) = explained("heart").parts
    rejected = explained("heart", parts=(replace(part, rejected=True, none=0.75),))
    assert "Answer: none" in str(rejected)
    said = "0.7500 that the dictionary has no concept for the mention"
    assert f"answer: the first one is too improbable; probabilities: {said}" in str(rejected)
    best = replace(part.candidates[0], confidence=None)
    unsure = replace(part, candidates=(best,), none=None, missed=None)
    assert "there is no confidence, so that the first candidate is the answer" in str(
        explained("heart", parts=(unsure,))
    )
    empty = replace(part, candidates=())
    shown = str(explained("heart", parts=(empty,), question=None))
    assert "o name of the dictionary is like it" in shown
    assert "Answer: none" in shown


def test_why_the_confidence_has_a_limit() -> None:
    (part,) = explained("FAP").parts
    limited = replace(part, doubt="short form", limit=0.4)
    said = "0.4 at most, since FAP is a short form, and no text says what it stands for"
    assert f"the confidence is {said}" in str(explained("FAP", parts=(limited,)))
    assert "at most" not in str(explained("FAP"))
    same = replace(part.candidates[1], confidence=part.candidates[0].confidence)
    both = replace(limited, candidates=(part.candidates[0], same))
    shown = str(explained("FAP", parts=(both,)))
    assert "ahead of A:2 by its probability without the limit" in shown


def test_scores_decide_where_the_ranker_does_not() -> None:
    explanation = explained("heart")
    (part,), best = explanation.parts, explanation.parts[0].candidates[0]
    ahead = "0.1000 of score"
    note = "; the ranker weighs only the best by score"
    unseen = replace(part.candidates[1], decided_by="score", match={}, behind=())
    shown = str(replace(explanation, parts=(replace(part, candidates=(best, unseen)),)))
    assert f"by {ahead}{note}" in shown
    both = replace(best, match={}), unseen  # there is no ranker
    shown = str(replace(explanation, parts=(replace(part, candidates=both),)))
    assert f"by {ahead}" in shown
    assert note not in shown
    assert "what the first would lose" not in shown


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("annotations", "how often its name was annotated with it (1 to 2)"),
        ("lent", "its name, which no other vocabulary lent"),
        ("kind", "the kind of its name (exact before exact)"),
        ("id", "its id, which comes first in order"),
    ],
)
def test_a_rule_decides_between_equal_scores(rule: e.Rule, sentence: str) -> None:
    (part,), question = (explanation := explained("heart")).parts, explanation.question
    assert question is not None
    other = replace(part.candidates[1], parts=part.candidates[0].parts, decided_by=rule)
    asked = replace(question.concepts[0], candidate=other)
    parts = (replace(part, candidates=(part.candidates[0], other)),)
    asked_of = replace(question, concepts=(asked,))
    shown = str(replace(explanation, parts=parts, question=asked_of))
    assert shown.count(f" by {sentence}, since the scores are equal") == 2
    assert "of score" not in shown


def test_json_holds_the_record() -> None:
    explanation = explained(EVIL)
    line = e.Explanation.to_json(explanation)
    record = json.loads(line)
    assert "\n" not in line
    assert "\x1b" not in line
    assert record["text"] == str(explanation)
    assert record["schema"] == 1
    assert record["mention"] == EVIL
    second = record["parts"][0]["candidates"][1]
    assert (second["parts"]["sparse_weight"], second["decided_by"]) == (0.5, "probability")
    effect = {"name": "of_name", "says": f"what {EVIL} says", "first": 0.5, "other": 0.25}
    assert second["behind"] == [effect | {"log_odds": 0.75}]
    assert (record["parts"][0]["none"], record["parts"][0]["missed"]) == (0.125, 0.0625)
    assert record["readings"][0]["expansions"][0] == {"short": EVIL, "long": EVIL, "span": [3, 9]}
