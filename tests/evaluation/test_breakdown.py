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


def test_composites_and_single_mentions_that_were_split() -> None:
    heart, valve = ("D:1", "heart disease"), ("D:2", "valve disease")
    cases = [
        outcome("D:1|D:2", heart, valve, rank=1),
        outcome("D:1|D:2", heart, heart),
        outcome("D:1|D:2", heart),
        outcome("D:1|D:2", heart, valve, heart),
        outcome("D:1", heart, rank=1),
        outcome("D:1", heart, valve),
        outcome("D:1+D:2", heart, valve, rank=1),  # may be split, or not
        outcome("-1", heart, valve),
    ]
    assert breakdown.composites(cases) == {
        "composites": 4,
        "split_right": 2,
        "answered_right": 1,
        "left_whole": 1,
        "split_otherwise": 1,
        "singles": 4,
        "singles_split": 2,
    }


def test_accuracy_by_branch(dictionary: Dictionary, tmp_path: Path) -> None:
    heart = ("D:1", "heart disease")
    cases = [
        outcome("D:4", heart, rank=1),  # below valve disease, below heart disease
        outcome("OLD:1", heart),
        outcome("D:0", heart),  # the root
        outcome("-1", None, rank=1),
        outcome("X:1", heart),
    ]
    (branch,) = breakdown.branches(dictionary, cases)
    assert (branch["id"], branch["name"], branch["n"], branch["acc"]) == (
        "D:1",
        "heart disease",
        2,
        0.5,
    )
    low, high = branch["acc_interval"]
    assert 0 < low < 0.5 < high < 1
    rows = (*_ROWS[:1], "D:1\ta\t\t\t", "D:2\tb\t\t\t", "D:3\tc\t\tD:1|D:2\t", "D:4\td\t\tD:2\t")
    (tmp_path / "two.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    two = Dictionary.read(tmp_path / "two.tsv")
    cases = [outcome("D:3", heart, rank=1), outcome("D:4|D:3", heart), outcome("D:2", heart)]
    assert [(b["id"], b["n"], b["acc"]) for b in breakdown.branches(two, cases)] == [
        ("D:2", 3, 0.33333),
        ("D:1", 2, 0.5),
    ]


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
