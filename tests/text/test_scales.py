"""Scores, stages and counts beside a name."""

from __future__ import annotations

import pytest

from linker.text import scales
from linker.text.cells import parts, plain
from linker.text.normalize import normalize, rows_of

NAMES = (
    "multiple sclerosis",
    "melanoma",
    "pain",
    "relapses",
    "gout",
    "Crohn's disease",
    "glucose-6-phosphate deficiency",
    "Wilms",
    "Wilms tumour",
    "hypertensive crisis",
    "hypertensive",
    "febrile seizures",
    "febrile",
    "panic attacks",
)
FORMS = frozenset(map(normalize, NAMES))
KINDS = ("score", "stage", "count", "finding")


def is_name(text: str) -> bool:
    return normalize(text) in FORMS


def read(cell: str) -> str:
    named = parts(plain(cell), is_name, ("en",))
    said = ("" if part.assertion == "present" else f" ({part.assertion})" for part in named)
    return " + ".join(part.text + word for part, word in zip(named, said, strict=True))


def test_the_table_has_many_scales_once() -> None:
    rows = rows_of("scales.tsv")[1:]
    names = [name.lower() for _, of_one in rows for name in of_one.split("|")]
    assert {kind for kind, _ in rows} == set(KINDS)
    assert len(rows) > 40
    assert len(names) > 500
    assert len(names) == len(set(names))
    assert not any(name.strip() != name or not name for name in names)


SCALES = [names.split("|")[0] for _, names in rows_of("scales.tsv")[1:]]


@pytest.mark.parametrize("scale", SCALES)
def test_a_zero_behind_a_scale_is_its_value(scale: str) -> None:
    for form in ("{} {} 0", "{}, {} 0", "{} ({}: 0)", "{}; {}=0", "{} - {} of 0", "{} {} (0)"):
        assert read(form.format("melanoma", scale)) == "melanoma"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("multiple sclerosis EDSS 3.5", "multiple sclerosis"),
        ("EDSS 0 multiple sclerosis", "multiple sclerosis"),
        ("multiple sclerosis, EDSS 0, gout", "multiple sclerosis + gout"),
        ("multiple sclerosis with EDSS score of 0.0", "multiple sclerosis"),
        ("multiple sclerosis, 0 relapses", "multiple sclerosis"),
        ("multiple sclerosis, relapses: none; EDSS zero", "multiple sclerosis"),
        ("melanoma T0N0M0", "melanoma"),
        ("melanoma (Ki-67 0%)", "melanoma"),
        ("Crohn's disease activity 0", "Crohn's disease"),
        ("melanoma HbA1c 7.2%, no gout", "melanoma + gout (absent)"),
        ("melanoma, attacks per month: 0", "melanoma"),
        ("melanoma 0 relapses in the last 12 months", "melanoma"),
        ("melanoma, attacks per month: 5", "melanoma"),
        ("rare melanoma relapses 0", "rare melanoma"),
        ("rare relapses 0", "rare"),
        ("Wilms tumours: 0", "Wilms tumours (absent)"),
        ("Wilms tumour number: 0", "Wilms tumour"),
        ("hypertensive crises 0", "hypertensive crises (absent)"),
        ("febrile seizures 0", "febrile seizures (absent)"),
        ("febrile seizures = 0", "febrile seizures (absent)"),
        ("number of febrile seizures: 0", "number of febrile seizures (absent)"),
        ("melanoma febrile seizures 0", "melanoma"),
        ("gout, febrile seizures: 0", "gout + febrile seizures (absent)"),
        ("panic attacks: 0", "panic attacks (absent)"),
        ("panic attacks 3", "panic attacks 3"),
        ("febrile fits 0", "febrile fits (absent)"),
        ("depressive episodes 0", "depressive episodes (absent)"),
        ("hypertensive episodes: 0", "hypertensive episodes (absent)"),
        ("hypertensive relapses 0", "hypertensive"),
        ("hypertensive (attacks per month: 0)", "hypertensive"),
        ("focal seizures: 0", "focal seizures (absent)"),
        ("melanoma axillary lymph nodes 0", "melanoma"),
        ("melanoma, axillary lymph nodes: 0", "melanoma"),
        ("melanoma (clinical relapses 0)", "melanoma"),
        ("rare tumours: 0", "rare tumours (absent)"),
        ("melanoma tumours: 0", "melanoma"),
        ("pain scale 0", "pain"),
        ("melanoma, pain scale 0", "melanoma"),
        ("pain 0/10", "pain (absent)"),
        ("pain: 0/10", "pain (absent)"),
        ("pain 7/10", "pain"),
        ("gout 0", "gout (absent)"),
        ("gout: 0", "gout (absent)"),
        ("gout=0", "gout (absent)"),
        ("gout (0)", "gout (absent)"),
        ("relapses: 0", "relapses (absent)"),
        ("gout 2019", "gout"),
        ("glucose-6-phosphate thing", "glucose-6-phosphate thing"),
    ],
)
def test_values_beside_names(cell: str, expected: str) -> None:
    assert read(cell) == expected


@pytest.mark.parametrize(
    "cell", ["EDSS 0", "NYHA: 0", "stage 0", "stage IV", "(PHQ-9: 0)", "BMI 31"]
)
def test_a_scale_without_a_name_names_nothing(cell: str) -> None:
    assert read(cell) == ""


def test_a_modifier_alone_is_not_left_of_what_is_counted() -> None:
    is_modifier = frozenset(["recent", "early"]).__contains__
    assert scales.spans("early attacks 0", is_name) == [(6, 15)]
    assert scales.spans("early attacks 0", is_name, is_modifier=is_modifier) == []
    assert scales.spans("gout recent attacks 0", is_name, is_modifier=is_modifier) == [(5, 21)]


def test_a_count_of_a_name_that_may_be_misspelt_denies_it() -> None:
    assert scales.spans("gout tumours 0", is_name) == [(5, 14)]
    assert scales.spans("gout tumours 0", is_name, is_known="gout tumours".__eq__) == []


def test_spans() -> None:
    assert scales.spans("gout, EDSS 0, stage 0", is_name) == [(6, 12), (14, 21)]
    assert scales.spans("relapses: 0", is_name) == []
    assert scales.spans("relapses: 0", is_name, is_first=False) == [(0, 11)]
