"""Why mentions have no sure answer: the kinds, and the report."""

from __future__ import annotations

from collections import Counter

import pytest

from linker import Candidate, Decision, Dictionary, Linker, Part
from linker.evaluation.failures import KINDS, Failure, failures, kind_of, report, settled
from linker.linking.decided import Decided
from linker.training.pipeline import train

ROWS = (
    "id\tname\tsynonyms\tparents",
    "D:1\tHeart Diseases\t\t",
    "D:2\tHeart Failure\t\tD:1",
    "D:3\tHeart Arrest\t\tD:1",
    "D:4\tGout\tpodagra\t",
    "D:5\tFoot Pain\tpodagra\t",
)


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    path = tmp_path_factory.mktemp("failures") / "d.tsv"
    path.write_text("\n".join(ROWS) + "\n")
    return train(Dictionary.read(path))


def part(text: str, *found: tuple[str, float, str], nil: bool = False) -> Part:
    """A part with candidates: id, confidence and matched name."""
    every = [Candidate(i, i, name, 1.0, confidence=p) for i, p, name in found]
    return Part(
        text, candidates=tuple(every), nil=nil, rejected=every[0] if nil and every else None
    )


@pytest.mark.parametrize(
    ("of", "kind"),
    [
        (part("dropsy", ("D:2", 0.1, "heart failure"), nil=True), "named elsewhere"),
        (part("HF", ("D:2", 0.4, "heart failure")), "short form"),
        (
            part("podagra", ("D:4", 0.4, "podagra"), ("D:5", 0.4, "Podagra")),
            "several concepts have the name",
        ),
        (part("xyzzy", ("D:4", 0.4, "gout")), "no name like it"),
        (part("xyzzy"), "no name like it"),
        (
            part("heart trouble", ("D:2", 0.4, "heart failure"), ("D:1", 0.1, "heart diseases")),
            "a broader and a narrower concept",
        ),
        (
            part("heart stop", ("D:2", 0.4, "heart failure"), ("D:3", 0.3, "heart arrest")),
            "sibling concepts",
        ),
        (  # the second one is hardly meant
            part("gout of heart", ("D:4", 0.4, "gout"), ("D:3", 0.01, "heart arrest")),
            "more words than a name has",
        ),
        (part("heart attack", ("D:2", 0.1, "heart failure"), nil=True), "no candidate is meant"),
        (part("heart attack", ("D:2", 0.4, "heart failure")), "not sure"),
    ],
)
def test_kinds(linker: Linker, of: Part, kind: str) -> None:
    assert kind_of(of, linker, {"dropsy", "gout"}) == kind
    assert kind in KINDS


def test_failures_of_a_column(linker: Linker) -> None:
    rows = Counter(["gout", "xyzzy", "xyzzy", "n/a", "-", "podagra", "qqqq"])
    decided = Decided([Decision("qqqq", "D:4", id=1)], linker)
    predictions = linker.link(iter(rows), decisions=decided)
    found = failures(predictions, rows, linker)
    assert [(one.text, one.rows, one.kind) for one in found] == [
        ("xyzzy", 2, "no name like it"),
        ("podagra", 1, "several concepts have the name"),
    ]
    lines = "\n".join(report(found, 7, 6)).splitlines()
    assert lines[0] == "3 of 7 rows (2 of 6 distinct mentions) have no sure answer."
    assert lines[1] == "Deciding the 1 most frequent settles 2 rows, half of these."
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == [
        "## no name like it: 2 rows, 1 distinct",
        "## several concepts have the name: 1 row, 1 distinct",
    ]
    assert list(report([], 2, 2)) == ["0 of 2 rows (0 of 2 distinct mentions) have no sure answer."]


def test_decisions_that_settle_half_of_the_rows() -> None:
    def of(*rows: int) -> list[Failure]:
        return [Failure(str(count), count, "not sure", None) for count in rows]

    assert settled(of(5, 3, 2)) == (1, 5)
    assert settled(of(4, 3, 3)) == (2, 7)
    assert settled([]) == (0, 0)
