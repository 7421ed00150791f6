"""The table that people read on a terminal."""

from __future__ import annotations

import pytest
import wcwidth

from linker.records import Assertion, Candidate, Decision, Mention, Part, Prediction

from .conftest import written

GOUT = Candidate("MESH:D006073", "Gout", "gout", 1.5, confidence=0.988)
LONG = Candidate("SNOMEDCT:123456789012345678", "a name " * 30, "name", 1.0, confidence=0.1)


def predicted(text: str, *parts: Part) -> tuple[None, list[Prediction]]:
    return None, [Prediction(Mention(text), parts or (Part(text, candidates=(GOUT,)),))]


def cut(line: str) -> list[str]:
    """The columns of a line of 80."""
    return [wcwidth.clip(line, *ends).strip() for ends in ((0, 18), (18, 34), (34, 63), (63, 80))]


def test_columns() -> None:
    composite = [Part("gout", candidates=(GOUT, LONG)), Part("asthma", nil=True)]
    lines = written("text", predicted("gout, asthma", *composite)).splitlines()
    assert [cut(line) for line in (*lines[:2], lines[3])] == [
        ["mention", "concept", "name", "confidence"],
        ["gout, asthma", "MESH:D006073", "Gout", "0.99"],
        ["asthma", "-", "no concept", ""],
    ]
    assert lines[2].split()[0] == LONG.concept_id  # the mention stands in its first line alone


@pytest.mark.parametrize("assertion", ["absent", "possible", "historical", "family"])
def test_what_is_not_present_says_so(assertion: Assertion) -> None:
    part = Part("gout", candidates=(GOUT,), assertion=assertion)
    line = written("text", predicted("no gout", part)).splitlines()[1]
    assert cut(line)[-1] == f"0.99 {assertion}"


def test_what_people_decided_has_no_confidence_of_the_model() -> None:
    decided = Prediction(
        Mention("gout"), (Part("gout", candidates=(GOUT, LONG)),), state="accepted"
    )
    lines = written("text", (None, [decided]), decisions=True).splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["accepted", "0.10"]


def test_what_was_accepted_in_bulk_says_so_of_the_first_candidate_alone() -> None:
    said = Decision("gout", GOUT.concept_id, bulk=True)
    decided = Prediction(
        Mention("gout"), (Part("gout", candidates=(GOUT, LONG)),), decisions=(said,)
    )
    lines = written("text", (None, [decided]), decisions=True).splitlines()
    assert [line.rpartition("  ")[2] for line in lines[1:]] == ["accepted in bulk", "0.10"]


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize(
    "text", ["gout", "糖尿病" * 20, "cafe\u0301" * 20, "x" * 500, "a\tb\x1b[31mc", "👩🏽‍🔬 burn"]
)
def test_lines_fit_the_terminal_and_align(width: int, text: str) -> None:
    items = [predicted("gout"), predicted(text), predicted(text, Part(text, candidates=(LONG,)))]
    lines = written("text", *items, width=width).splitlines()
    assert len(lines) == 4
    assert max(map(wcwidth.width, lines)) <= width
    assert "\x1b" not in "".join(lines)
    (start,) = {wcwidth.width(line[: line.index("MESH:D006073")]) for line in lines[1:3]}
    assert start == lines[0].index("concept")
    assert {wcwidth.width(line[: line.rindex(" 0.")]) for line in lines[1:]} == {
        lines[0].index(" confidence")
    }
