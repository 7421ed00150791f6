"""Words that say how bad a disease is, how it runs, since when and where."""

from __future__ import annotations

import pytest

from linker.text.modifiers import Modifiers, kept_together
from linker.text.normalize import normalize

MODIFIERS = Modifiers(
    normalize, lambda shipped: ["triggered by cold"] if "acute" in shipped else []
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Acute", True),
        ("relapsed/refractory", True),
        ("mild to moderate", True),
        ("Left-sided", True),
        ("Triggered by cold", True),  # of the dictionary
        ("acute asthma", False),
        ("", False),
        ("-", False),
    ],
)
def test_what_is_a_modifier(text: str, expected: bool) -> None:
    assert (text in MODIFIERS) is expected


def test_what_is_left_without_modifiers() -> None:
    assert MODIFIERS.left_out("severe and acute asthma of the left lung") == "asthma of the lung"
    assert MODIFIERS.begins_or_ends("acute asthma")
    assert MODIFIERS.begins_or_ends("asthma acute")
    assert not MODIFIERS.begins_or_ends("not acute asthma")
    assert not MODIFIERS.begins_or_ends("")


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (["asthma", " severe ", "gout"], ["asthma, severe", "gout"]),
        (["acute", "left", "gout", "asthma"], ["acute, left, gout", "asthma"]),
        (["acute", "severe"], ["acute", "severe"]),
        ([], []),
    ],
)
def test_modifiers_stay_with_their_name(pieces: list[str], expected: list[str]) -> None:
    assert kept_together(pieces, MODIFIERS.__contains__) == expected
