"""Functions and parts of the body, of which it is a finding that they are lacking."""

from __future__ import annotations

import pytest

from linker.text.functions import is_function, lacking


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reflexes", True),
        ("Left ankle jerk", True),
        ("deep tendon reflexes", True),
        ("eye contact", True),
        ("kidney", True),
        ("abnormal reflexes", False),
        ("double vision", False),
        ("loss of appetite", False),
        ("asthma", False),
        ("left", False),
        ("", False),
    ],
)
def test_functions(text: str, expected: bool) -> None:
    assert is_function(text) is expected


def test_names_of_what_is_lacking() -> None:
    assert {"absent speech", "loss of speech", "no speech"} <= set(lacking("speech"))
