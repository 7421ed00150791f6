"""What names an organism or a measurement by the form of its words."""

from __future__ import annotations

import pytest

from linker.text.normalize import rows_of
from linker.text.things import Thing, adds_direction, thing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Schistosoma mansoni", "organism"),
        ("E. coli", "organism"),
        ("Citrobacter koseri", "organism"),
        ("Brucella spp.", "organism"),
        ("Toxoplasma gondii antibodies", "organism"),
        ("Candida oesophagitis", None),
        ("Klebsiella pneumonia", None),
        ("Chlamydia infection", None),
        ("Staphylococcus", None),
        ("citrulline level", "measurement"),
        ("eosinophil count", "measurement"),
        ("serum calcium", "measurement"),
        ("plasma cell dyscrasia", None),
        ("low platelet count", None),
        ("raised ALT levels", None),
        ("count", None),
        ("", None),
    ],
)
def test_thing(text: str, expected: Thing | None) -> None:
    assert thing(text) == expected


@pytest.mark.parametrize(
    ("words", "others", "expected"),
    [
        ("triglycerides", "increased triglycerides", True),
        ("cobalamin", "cobalamin deficiency", True),
        ("low sodium", "increased sodium", False),  # the text says what came out
        ("wilson", "wilson disease", False),
        ("cobalamin", "cobalamin deficiency type c", False),  # another name than one of direction
    ],
)
def test_direction_that_a_name_adds(words: str, others: str, expected: bool) -> None:
    assert adds_direction(words.split(), others.split()) is expected


def test_the_table_has_each_row_once() -> None:
    rows = [tuple(row) for row in rows_of("things.tsv")]
    assert len(rows) == len(set(rows))
    assert {row[0] for row in rows} == {
        *("around", "direction", "finding", "genus", "itself", "measured", "species"),
        "specimen",
    }
