"""Both protocols on a dictionary whose rankings can be worked out by hand, and kinds of errors."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from linker import Dictionary, Linker, Mention
from linker.evaluation import protocols
from linker.evaluation.protocols import Outcome
from linker.ids import parse_gold
from linker.io import mentions
from linker.linking.ranker import unfitted
from linker.records import Candidate, Document, Part, Prediction


def annotated(text: str, gold: str) -> Mention:
    return Mention(text, gold=parse_gold(gold))


def ranks(
    tiny: Linker, protocol: str, given: Sequence[Mention | Document], k: int = 20
) -> list[int]:
    return [outcome.rank for outcome in getattr(protocols, protocol)(tiny, given, k)]


@pytest.mark.parametrize(
    ("text", "gold", "strict", "biosyn"),
    [
        ("abcd", "D:1", 1, 1),
        ("abcd", "D:6", 2, 3),  # two names of D:1 stand before it
        ("abcd", "D:2", 3, 4),
        ("twin", "D:2", 2, 1),  # a name of both: any id, against least id first
        ("abcd", "OLD:2", 3, 4),  # an alternative id of D:2
        ("abcd", "OLD:9", 1, 1),  # of D:1 and of D:2: either is right
        ("abcd", "X:1", 0, 0),  # not in the dictionary
        ("breast and ovarian cancer", "D:3|D:4", 1, 1),
        ("breast and ovarian cancer", "D:4|D:3", 1, 1),
        ("breast and ovarian cancer", "D:3+D:4", 1, 1),
        # strict splits without the gold; to the whole text ovarian cancer is nearer
        ("breast and ovarian cancer", "D:3", 0, 2),
        ("abcd", "D:1+D:6", 2, 1),  # all ids, against any
        ("…", "D:1", 0, 0),  # nothing is returned
    ],
)
def test_ranks(tiny: Linker, text: str, gold: str, strict: int, biosyn: int) -> None:
    assert ranks(tiny, "strict", [annotated(text, gold)]) == [strict]
    assert ranks(tiny, "biosyn", [annotated(text, gold)]) == [biosyn]


@pytest.mark.parametrize(
    ("gold", "names", "concepts"), [("D:1", 1, 1), ("D:6", 3, 2), ("D:2", 4, 3)]
)
def test_a_ranker_puts_one_name_of_each_concept_first(
    tiny: Linker, gold: str, names: int, concepts: int
) -> None:
    """Of "abcd" the second best name is another one of D:1."""
    (outcome,) = protocols.biosyn(tiny.with_ranker(unfitted()), [annotated("abcd", gold)], 20)
    assert (outcome.rank, outcome.rank_of_concepts) == (names, concepts)


def test_mentions_without_a_concept(tiny: Linker) -> None:
    given = [Mention("…", gold=()), Mention("abcd", gold=()), Mention("abcd")]
    # right when nothing is returned; the third is not annotated
    assert ranks(tiny, "strict", given) == [1, 0]
    assert ranks(tiny, "biosyn", given) == []


def test_strict_predictions_never_depend_on_the_gold(sample: Path, sample_linker: Linker) -> None:
    model = sample_linker
    given = [
        *mentions.read(sample.with_name("sample_documents.pubtator.txt")),
        *mentions.read(sample.with_name("sample_mentions.tsv")),
    ]
    expected = [outcome.parts for outcome in protocols.strict(model, given, 20)]
    for gold in (parse_gold("D000001|D000002|D000003"), ()):
        outcomes = protocols.strict(model, [_with(item, gold) for item in given], 20)
        assert [outcome.parts for outcome in outcomes] == expected
    unknown = model.link([_with(item, None) for item in given], k=20)
    assert [tuple(part.best for part in p.parts) for p in unknown] == expected


def _with(item: Mention | Document, gold: object) -> Mention | Document:
    if isinstance(item, Mention):
        return dataclasses.replace(item, gold=gold)
    return dataclasses.replace(item, mentions=tuple(_with(m, gold) for m in item.mentions))


def answered(*candidates: tuple[str, float | None]) -> Part:
    return Part("x", candidates=tuple(Candidate(i, "", "", 1, confidence=c) for i, c in candidates))


def rejected(identifier: str, confidence: float) -> Part:
    return Part("x", nil=True, rejected=Candidate(identifier, "", "", 1, confidence=confidence))


NIL = Part("x", nil=True)


@pytest.mark.parametrize(
    ("gold", "parts", "rank", "first_is_right", "confidence"),
    [
        ("D:1", [answered(("D:1", 0.5))], 1, True, 0.5),
        ("D:1", [answered(("D:2", 0.5), ("D:1", 0.25))], 2, False, 0.5),
        ("D:1", [rejected("D:1", 0.25)], 0, True, 0.25),
        ("-1", [rejected("D:1", 0.25)], 1, False, 0.25),
        ("-1", [NIL], 1, True, None),
        ("D:1|D:2", [answered(("D:1", 0.5)), rejected("D:2", 0.25)], 0, True, 0.125),
        ("D:1|D:2", [answered(("D:1", 0.5)), NIL], 0, False, None),
        ("D:1", [answered(("D:1", None))], 1, True, None),
    ],
)
def test_the_confidence_of_a_mention_is_that_of_its_first_candidates(
    gold: str, parts: list[Part], rank: int, first_is_right: bool, confidence: float | None
) -> None:
    mention = annotated("x", gold)
    prediction = Prediction(mention, tuple(parts), "expanded")
    outcome = protocols.outcome_of(prediction, mention, "strict", lambda i: frozenset((i,)))
    assert (outcome.rank, outcome.first_is_right) == (rank, first_is_right)
    assert (outcome.confidence, outcome.reading) == (confidence, "expanded")
    by_names = protocols.outcome_of(prediction, mention, "biosyn", lambda i: frozenset((i,)))
    assert by_names.confidence is None


HEART, VALVE = ("D:1", "heart disease"), ("D:2", "valve disease")


@pytest.mark.parametrize(
    ("kind", "gold", "answers"),
    [
        ("no_candidate", "D:1", [None]),
        ("no_candidate", "D:1", []),
        ("concept_not_in_dictionary", "D:77", [HEART]),
        ("concept_not_expected", "-1", [HEART]),
        ("wrong_split", "D:1", [HEART, VALVE]),
        ("wrong_split", "D:1|D:2|D:3", [HEART, VALVE]),
        ("unrelated", "D:2|D:3", [VALVE, VALVE]),  # incomplete
        ("hyponym", "D:1+D:2", [HEART, ("D:3", "rhythm disease")]),  # two parts are no wrong split
        ("hypernym", "D:4", [VALVE]),
        ("hypernym", "D:4", [("D:0", "disease")]),
        ("hypernym", "D:2|D:3", [VALVE, HEART]),
        ("hyponym", "D:1", [("D:4", "mitral disease")]),
        ("hyponym", "OLD:1", [("D:4", "mitral disease")]),
        ("unrelated", "D:4", [("D:9", "Cardiac  Disease")]),
        ("unrelated", "D:4", [("X:1", "not ours")]),
        ("unrelated", "D:4", [("D:3", "rhythm disease")]),  # an aunt
    ],
)
def test_kinds_of_error(
    hearts: Dictionary, kind: str, gold: str, answers: list[tuple[str, str] | None]
) -> None:
    parts = tuple(Candidate(part[0], part[1], part[1], 0.5) if part else None for part in answers)
    outcome = Outcome(annotated("m", gold), 0, parts)
    assert protocols.error(outcome, hearts) == kind
    assert kind in protocols.ERRORS
