"""What becomes of decisions in another release."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.decisions.check import State, check
from linker.types import Decision

OBO = """format-version: 1.2

[Term]
id: X:1
name: one
alt_id: X:11
alt_id: X:12

[Term]
id: X:2
name: two
synonym: "deux" EXACT []
alt_id: X:12

[Term]
id: X:3
name: old three
is_obsolete: true
replaced_by: X:2

[Term]
id: X:4
name: old four
is_obsolete: true
"""


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    (tmp_path / "d.obo").write_text(OBO, "utf-8")
    return Dictionary.read(tmp_path / "d.obo")


@pytest.mark.parametrize(
    ("mention", "concept", "accepted", "state", "now"),
    [
        ("m", "X:1", True, "current", ("X:1",)),
        ("m", "X:11", True, "merged", ("X:1",)),
        ("m", "X:3", True, "merged", ("X:2",)),
        ("m", "X:4", True, "obsolete", ()),
        ("m", "X:1|X:4", True, "obsolete", ("X:1",)),
        ("m", "X:9", True, "unknown", ()),
        ("m", "X:12", True, "ambiguous", ("X:1", "X:2")),
        ("Deux", "X:1", True, "ambiguous", ("X:2",)),
        ("deux", "X:2", True, "current", ("X:2",)),
        ("deux", "X:2", False, "current", ("X:2",)),
        ("deux", "", True, "ambiguous", ("X:2",)),
        ("m", "", True, "current", ()),
        ("deux", "X:1|-1", True, "current", ("X:1",)),
    ],
)
def test_states(
    dictionary: Dictionary,
    mention: str,
    concept: str,
    accepted: bool,
    state: State,
    now: tuple[str, ...],
) -> None:
    (result,) = check([Decision(mention, concept, accepted)], dictionary)
    assert (result.state, result.now) == (state, now)
