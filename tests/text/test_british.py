"""British and American spelling."""

from __future__ import annotations

import pytest

from linker.text.british import Spellings, american

NAMES = frozenset(
    ("iron deficiency anaemia", "anemia", "edema", "oedema of the larynx", "motor neuron disease")
)
SPELLINGS = Spellings(NAMES, NAMES.__contains__)


@pytest.mark.parametrize(
    ("british", "expected"),
    [
        ("localised oedema of the tumours", "localized edema of the tumors"),
        ("coeliac disease", "celiac disease"),
        ("paralysed by sulphur", "paralyzed by sulfur"),
        ("neurofibre goitre", "neurofiber goiter"),
        ("motor neurone disease", "motor neuron disease"),
        ("behavioural odour", "behavioral odor"),
        ("four does mourn a disease of sour toe", "four does mourn a disease of sour toe"),
        ("metastasis and arthritis", "metastasis and arthritis"),
    ],
)
def test_american(british: str, expected: str) -> None:
    assert american(british) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("iron deficiency anemia", "iron deficiency anaemia"),  # a name in British spelling
        ("motor neurone disease", "motor neuron disease"),
        ("anaemia and oedema", "anemia and edema"),  # words of names
        ("leukaemia and anaemia", "leukaemia and anemia"),  # no name has "leukemia"
        ("asthma", "asthma"),
    ],
)
def test_spelling_of_the_dictionary(form: str, expected: str) -> None:
    assert SPELLINGS.of(form) == expected
