"""One example of each kind of error, and the seen apart from the unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Candidate, Dictionary, Linker, Mention
from linker.evaluation import breakdown
from linker.evaluation.protocols import Outcome
from linker.ids import parse_gold
from linker.text.normalize import normalize

_ROWS = (
    "id\tname\tsynonyms\tparents\talt_ids",
    "D:0\tdisease\t\t\t",
    "D:1\theart disease\tcardiac disease\tD:0\tOLD:1",
    "D:2\tvalve disease\t\tD:1\t",
    "D:3\trhythm disease\t\tD:1\t",
    "D:4\tmitral disease\t\tD:2\t",
    "D:9\tCardiac  Disease\t\t\t",
)


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path: Path = tmp_path_factory.mktemp("breakdown") / "d.tsv"
    path.write_text("\n".join(_ROWS) + "\n", encoding="utf-8")
    return Dictionary.read(path)


def outcome(gold: str, *found: tuple[str, str] | None, rank: int = 0, text: str = "m") -> Outcome:
    parts = tuple(Candidate(part[0], part[1], part[1], 0.5) if part else None for part in found)
    return Outcome(Mention(text, gold=parse_gold(gold)), rank, parts)


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        ("no_candidate", outcome("D:1", None)),
        ("no_candidate", outcome("D:1")),
        ("concept_not_in_dictionary", outcome("D:77", ("D:1", "heart disease"))),
        ("concept_not_expected", outcome("-1", ("D:1", "heart disease"))),
        ("wrong_split", outcome("D:1", ("D:1", "heart disease"), ("D:2", "valve disease"))),
        ("wrong_split", outcome("D:1|D:2|D:3", ("D:1", "heart disease"), ("D:2", "valve disease"))),
        ("incomplete", outcome("D:2|D:3", ("D:2", "valve disease"), ("D:2", "valve disease"))),
        ("incomplete", outcome("D:2+D:3", ("D:2", "valve disease"))),
        (
            "hyponym",
            outcome("D:1+D:2", ("D:1", "heart disease"), ("D:3", "rhythm disease")),
        ),  # two parts for A+B are no wrong split
        ("same_name", outcome("D:1", ("D:9", "cardiac disease"))),
        ("hypernym", outcome("D:4", ("D:2", "valve disease"))),
        ("hypernym", outcome("D:4", ("D:0", "disease"))),
        ("hypernym", outcome("D:2|D:3", ("D:2", "valve disease"), ("D:1", "heart disease"))),
        ("hyponym", outcome("D:1", ("D:4", "mitral disease"))),
        ("hyponym", outcome("OLD:1", ("D:4", "mitral disease"))),
        ("sibling", outcome("D:2", ("D:3", "rhythm disease"))),
        ("unrelated", outcome("D:4", ("D:9", "Cardiac  Disease"))),
        ("unrelated", outcome("D:4", ("X:1", "not ours"))),
        ("unrelated", outcome("D:4", ("D:3", "rhythm disease"))),  # an aunt
    ],
)
def test_kinds_of_error(dictionary: Dictionary, kind: str, case: Outcome) -> None:
    assert breakdown.error(case, dictionary, normalize) == kind
    assert kind in breakdown.ERRORS


def test_the_seen_apart_from_the_unseen(dictionary: Dictionary) -> None:
    given = [
        Mention("Bad heart", gold=parse_gold("OLD:1")),
        Mention("bad valve", gold=parse_gold("D:2")),
    ]
    model = Linker.train(dictionary, mentions=given, corrections={"haert": "heart"})
    cases = [
        outcome("D:1", text="bad, haert", rank=1),  # seen as normalised and corrected
        outcome("D:1", text="ill heart"),
        outcome("D:3", text="bad valve"),
        outcome("D:1|D:2", text="bad heart and valve"),  # all its concepts are seen
        outcome("D:1|D:3", text="bad heart and rhythm"),  # not all
        outcome("-1", text="good heart"),
    ]
    found = {
        name: [cases.index(case) for case in members]
        for name, members in breakdown.groups(model, cases).items()
    }
    assert found == {
        "seen_mention": [0, 2],
        "unseen_mention": [1, 3, 4, 5],
        "seen_concept": [0, 1, 3],
        "unseen_concept": [2, 4, 5],
    }
