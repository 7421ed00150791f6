"""Which words are forms of one word, and which are no typing errors of each other."""

from __future__ import annotations

import pytest

from linker.text import word_forms
from linker.text.normalize import rows_of
from linker.text.word_forms import (
    are_other_words,
    has_other_word,
    is_another_word,
    is_common,
    is_same_word,
    nouns_of,
    of_eponym,
    shares_words,
    singular,
)


def test_the_list_is_of_words_in_order_and_each_once() -> None:
    words = (
        word_forms.resources.files("linker.text").joinpath("common_words.txt").read_text("utf-8")
    )
    listed = words.split()
    assert len(listed) == len(word_forms.common_words()) == 20_000
    assert listed == sorted(listed)
    assert all(word.isalpha() and word.islower() and len(word) >= 3 for word in listed)


def test_a_rule_is_a_row_of_its_kind() -> None:
    rows = rows_of("word_forms.tsv")
    columns = {"inflection": 3, "eponym": 2, "prefix": 2, "ending": 2}
    assert {row[0] for row in rows} == set(columns)
    assert all(len(row) == columns[row[0]] for row in rows)
    assert len(rows) == len({tuple(row) for row in rows})


@pytest.mark.parametrize(
    ("word", "one"),
    [("kidneys", "kidney"), ("biopsies", "biopsy"), ("arthritis", "arthritis"), ("virus", "virus")],
)
def test_singular(word: str, one: str) -> None:
    assert singular(word) == one


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("anaemic", "anemia"),
        ("hypothermic", "hypothermia"),
        ("kidneys", "kidney"),
        ("stenoses", "stenosis"),
        ("larvae", "larva"),
        ("cirrhotic", "cirrhosis"),
        ("epileptic", "epilepsy"),
        ("erythematous", "erythema"),
        ("hypotensive", "hypotension"),
        ("cancerous", "cancer"),
    ],
)
def test_forms_of_one_word(first: str, second: str) -> None:
    assert is_same_word(first, second)
    assert is_same_word(second, first)
    assert not is_another_word(first, second)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("enema", "edema"),  # a common word
        ("would", "wound"),
        ("thinners", "thinness"),
        ("apyrexial", "pyrexial"),
        ("nondiabetic", "diabetic"),
        ("rehydration", "dehydration"),
        ("citrulline", "citrullinemia"),
        ("somatostatinoma", "somatostatin"),
        ("ketones", "ketonemia"),
        ("gastrotomy", "gastrostomy"),
        ("nephrosis", "nephritis"),
    ],
)
def test_another_word(word: str, other: str) -> None:
    assert is_another_word(word, other)


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("sthma", "asthma"),  # lacks a letter, and no prefix: it is no word
        ("astmha", "asthma"),
        ("melanma", "melanoma"),
        ("bronchits", "bronchitis"),
        ("dislexia", "dyslexia"),
        ("reformity", "deformity"),  # "formity" is no word
        ("leukema", "leukemia"),
        ("chron", "crohn"),
    ],
)
def test_a_typing_error_is_no_other_word(word: str, other: str) -> None:
    assert not is_another_word(word, other)


def test_a_plural_of_a_common_word_is_one() -> None:
    assert is_common("enema")
    assert is_common("enemas")
    assert not is_common("astmha")


def test_nouns_that_a_word_may_stand_for() -> None:
    assert {"cirrhosis", "cirrhotic"} <= set(nouns_of("cirrhotic"))
    assert "thrombus" in nouns_of("thrombi")
    assert "digestive" not in nouns_of("digestion")
    assert list(nouns_of("gout")) == ["gout"]


@pytest.mark.parametrize(
    ("words", "others", "expected"),
    [
        ("serum eosinophils", "eosinophilia", True),
        ("feeling cold", "feeding and eating disorders", True),
        ("alzeimers", "alzheimer disease", False),  # no word of the list
        ("heart attack", "myocardial infarction", False),  # nothing is alike
        ("anaemic", "anemia", False),
        ("", "anemia", False),
    ],
)
def test_words_that_are_alike_by_letters_alone(words: str, others: str, expected: bool) -> None:
    assert are_other_words(words.split(), others.split()) is expected


@pytest.mark.parametrize(
    ("words", "others", "expected"),
    [
        ("nonalcoholic fatty liver", "alcoholic fatty liver", True),
        ("methylmalonic acid", "methylmalonic acidemia", True),
        ("alcoholic fatty liver", "fatty liver alcoholic", False),
        ("cardiac arythmia", "cardiac arrhythmia", False),
    ],
)
def test_one_word_of_several_is_another(words: str, others: str, expected: bool) -> None:
    assert has_other_word(words.split(), others.split()) is expected


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("wilsons", "wilson s disease"),
        ("wilson s", "wilson s disease"),
        ("hashimoto", "hashimoto s disease"),  # which is a name with and without the s
        ("noonans", "noonan syndrome"),
        ("hemoglobin", ""),  # hemoglobin S is another thing
        ("kidneys", ""),
        ("heart valve", ""),
    ],
)
def test_what_an_eponym_stands_for(form: str, name: str) -> None:
    names = {
        *("wilson s disease", "hashimoto s disease", "hashimoto disease", "noonan syndrome"),
        *("hemoglobin s disease", "kidney disease", "heart valve disease"),
    }
    assert of_eponym(form, names.__contains__) == name


def test_half_of_the_words_of_a_name() -> None:
    assert shares_words(["gastrin"], ["gastrin", "tumors"])
    assert not shares_words(["gastrin"], ["gastrin", "secreting", "tumor"])
    assert not shares_words([], [])
