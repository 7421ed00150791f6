"""The table of names that people use, and what a text means by them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.errors import InputError
from linker.text.everyday import (
    KINDS,
    EverydayName,
    EverydayNames,
    Meaning,
    form_of,
    read,
    shipped,
)

LAZY_EYE = EverydayName("lazy eye", "Amblyopia", "lay", is_in_texts=True)
LOW_SALT = EverydayName("low salt", "Hyponatremia", "lay")
DEAF = EverydayName("colour-deaf", "Deafness", "British")
RUNS = EverydayName("the runs", "Diarrhea", "slang")
COLD = EverydayName("cold", "Common Cold", "lay")
NAMES = (LAZY_EYE, LOW_SALT, DEAF, RUNS, COLD)
LENT = EverydayNames({form_of(n.name): [Meaning(n, True, n is COLD)] for n in NAMES})


def names_of(meanings: object) -> list[EverydayName]:
    assert isinstance(meanings, list | tuple)
    return [meaning.name for meaning in meanings]


def test_the_table_is_whole() -> None:
    names = shipped()
    assert len(names) >= 4_000
    assert {name.kind for name in names} == {*KINDS}
    # no row says what another says; the case of short forms counts
    rows = Counter(
        (n.name if n.kind == "short" else form_of(n.name), form_of(n.target)) for n in names
    )
    assert [row for row, times in rows.items() if times > 1] == []
    assert [n for n in names if n.name != n.name.strip() or not form_of(n.name)] == []


@pytest.mark.parametrize(
    "row",
    ["lazy eye", "lazy eye\tAmblyopia", "lazy eye\t\tlay", "lazy eye\tAmblyopia\tlay\tBritish", ""],
)
def test_rows_with_other_fields(row: str) -> None:
    with pytest.raises(InputError) as raised:
        read(f"# notes\npop eye\tExophthalmos\tslang\n{row}\nred eye\tConjunctivitis\tlay\n")
    assert (raised.value.line, raised.value.path) == (3, "everyday.tsv")


def test_a_kind_that_is_unknown() -> None:
    with pytest.raises(InputError) as raised:
        read("lazy eye\tAmblyopia\tScottish\n")
    assert raised.value.line == 1
    assert read("# notes\n#\nlazy eye\tAmblyopia\tlay\ttext\n") == (LAZY_EYE,)
    assert read("low salt\tHyponatremia\tlay\n") == (LOW_SALT,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("low salt", [LOW_SALT]),
        ("lazy eye", [LAZY_EYE]),
        ("Lazy-Eye", [LAZY_EYE]),
        ("LAZY EYES", [LAZY_EYE]),
        ("a lazy eye", [LAZY_EYE]),
        ("lazy the eye", [LAZY_EYE]),
        ("color deaf", [DEAF]),
        ("runs", []),  # "the runs" alone
        ("the runs", [RUNS]),
        ("lazy", []),
        ("lazy eye of the left", []),
        ("cold", [COLD]),
        ("Cold", [COLD]),
        ("COLD", []),  # which the dictionary has
        ("lazy eye " * 100, []),
        ("", []),
        ("...", []),
    ],
)
def test_what_a_cell_means(text: str, expected: list[EverydayName]) -> None:
    assert names_of(LENT.of_cell(text)) == expected


def test_running_text_has_names_that_are_open_to_it() -> None:
    assert names_of(LENT.of_mention("lazy eye")) == [LAZY_EYE]
    assert names_of(LENT.of_mention("low salt")) == [LOW_SALT]  # which somebody has marked
    assert LENT.of_mention("the runs") == ()
    assert LENT.of_mention("cold") == ()
    assert [*LENT.in_texts()] == [LAZY_EYE]


def test_names_that_are_open_to_running_text_are_of_several_words_and_no_slang() -> None:
    opened = [name for name in shipped() if name.is_in_texts]
    assert len(opened) > 1_000
    assert [name for name in opened if not name.is_of_mention] == []


@pytest.mark.parametrize(
    "first", ["low", "high", "bad", "big", "small", "black", "broken", "sore", "long", "short"]
)
def test_an_everyday_adjective_opens_no_name_to_running_text(first: str) -> None:
    """ "Low sodium" is a diet, "big baby" a shower, "black eye" a pea, "broken neck" a bottle's."""
    signs = ("blood", "platelet", "of breath")  # which say that a body is meant
    names = [name.name for name in shipped() if name.is_in_texts and name.name.split()[0] == first]
    assert [name for name in names if not any(sign in name for sign in signs)] == []


@pytest.mark.parametrize(
    "text",
    [
        "can't sleep",
        "can’t sleep",
        "cannot sleep",
        "Can not sleep",
        "unable to sleep",
        "is unable to sleep",
        "not able to sleep",
        "Patient is not able to sleep at all",
        "no longer able to sleep",
        "couldn't sleep",
        "inability to sleep",
        "she can no longer sleep any more",
    ],
)
def test_one_form_has_all_that_somebody_is_not_able_to_do(text: str) -> None:
    assert form_of(text) == "cant sleep"


def test_what_is_something_else_has_another_form() -> None:
    for text in ("able to sleep", "can sleep", "unable", "cannot", "canted sleep", "sleep"):
        assert form_of(text) == text


def test_the_table_says_once_what_somebody_is_not_able_to_do() -> None:
    names = {n.name for n in shipped() if form_of(n.name).startswith("cant ")}
    assert len(names) >= 100
    assert [name for name in names if not name.startswith("can't ")] == []


@pytest.mark.parametrize(
    "name", ["funny turn", "yeast infection", "blackout", "nervous breakdown", "wind", "senile"]
)
def test_what_means_several_things_has_several_rows(name: str) -> None:
    assert len({n.target for n in shipped() if n.name == name}) > 1


def test_forms_are_stable() -> None:
    for name in shipped():
        assert form_of(form_of(name.name)) == form_of(name.name)


@given(st.text(max_size=100))
def test_without_names_no_text_means_anything(text: str) -> None:
    assert EverydayNames().of_cell(text) == ()
