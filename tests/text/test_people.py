"""Names of people: what looks the same is the same."""

from __future__ import annotations

import pytest

from linker.text.normalize import person


@pytest.mark.parametrize(
    "other",
    [
        *("eve", " EVE ", "Ｅｖｅ", "Eve\u200b", "E\u00adve", "\ufeffEve", "E\u2066ve\u2069"),
        *("Eve\ufe0f", "Ev\u034fe", "Eve\u3164", "Eve\U000e0041"),
        *("Eve\x07", "\x7fEve", "Eve\u2065", "Eve \u200b", "E\ue000ve"),
    ],
)
def test_what_looks_like_a_name_is_that_name(other: str) -> None:
    assert person(other) == person("Eve")


def test_other_names_are_others() -> None:
    names = ["Eve", "Ève", "Eva", "Eve M", "", "李", "Straße 1"]
    assert len({*map(person, names)}) == len(names)
    assert person("Zoe\u0301  B") == person("zoé b")
    assert person("Zoe \u200b B") == person("Zoe B") != person("ZoeB")
    assert person("STRASSE 1") == person("Straße 1")
