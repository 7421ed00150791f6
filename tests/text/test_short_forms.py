"""Short forms of clinical notes, and files of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker.errors import InputError, ignore
from linker.text.short_forms import ShortForms, read, shipped


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTN", "hypertension"),
        ("htn", "hypertension"),
        ("RA", "rheumatoid arthritis"),
        ("ra", "ra"),  # case counts
        ("MS", "multiple sclerosis"),
        ("ms", "ms"),
        ("Copd", "chronic obstructive pulmonary disease"),  # of four letters it does not
        ("chr pulm dz", "chronic pulmonary disease"),
        ("CHR. PULM. DZ.", "chronic pulmonary disease"),
        ("RA, HTN; gout", "rheumatoid arthritis, hypertension; gout"),
        ("gout w/ fx", "gout with fracture"),
        ("# hip", "fracture hip"),
        ("DRA RAD xHTN HTN2", "DRA RAD xHTN HTN2"),  # whole words only
        ("HTN-like", "HTN-like"),
        ("diabetic foot; lupus nephritis", "diabetic foot; lupus nephritis"),
        ("", ""),
        ("...", "..."),
        ("痛風 подагра", "痛風 подагра"),
    ],
)
def test_shipped(text: str, expected: str) -> None:
    assert shipped().expand(text) == expected


def test_shortened_words_are_no_short_forms() -> None:
    listed = shipped().beside(ShortForms({"XY": "x y"}))
    for text in ("HTN", "chr HTN.", "T2DM", "XY"):
        assert listed.has_short_form(text)
    for text in ("chr pulm dz", "# hip", "gout", "Diabetic"):
        assert not listed.has_short_form(text)
    assert listed.is_of_user("XY")
    assert not listed.is_of_user("HTN")


def test_a_users_long_form_wins_in_any_case() -> None:
    """A user gives "RA" in small letters, and "HTN": theirs count for what is written so."""
    theirs = ShortForms({"htn": "halitosis", "HTN": "halitosis"})
    assert shipped().beside(theirs).expand("HTN htn RA") == (
        "halitosis halitosis rheumatoid arthritis"
    )
    assert shipped().beside(ShortForms({}, {"lupus": "lupus vulgaris"})).expand("Lupus") == (
        "lupus vulgaris"
    )


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "short.tsv"
    path.write_bytes(text.encode())
    return path


def test_a_file(tmp_path: Path) -> None:
    text = "\ufeff# notes\nRA\t rheumatoid arthritis \r\n\nRA\trheumatoid arthritis\nABCD\ta b\n"
    found = read(written(tmp_path, text))
    assert found == ShortForms({"RA": "rheumatoid arthritis"}, {"abcd": "a b"})
    assert read(written(tmp_path, "")) == ShortForms()
    assert read(written(tmp_path, "痛風\tgout\n")).expand("痛風") == "gout"


@pytest.mark.parametrize(
    "line",
    [
        *("RA right atrium", "RA", "RA\t", "\tright atrium", "RA\tright atrium\tword"),
        *("R A\tright atrium", "-\tminus", "MS\tmitral stenosis"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, f"# notes\nMS\tmultiple sclerosis\n{line}\nXY\tx y\n")
    with pytest.raises(InputError) as raised:
        read(path)
    assert (raised.value.line, raised.value.path) == (3, str(path))
    # a caller may skip it: the first long form stays
    assert read(path, on_error=ignore) == ShortForms({"MS": "multiple sclerosis", "XY": "x y"})


def test_names_that_were_annotated_win_over_what_ships() -> None:
    own = shipped().beside(ShortForms({"RA": "refractory anemia"}))
    left = own.without(["DM", "Htn", "Diabetic", "RA", "dm type 1", "asthma"])
    assert own.expand("DM") == "diabetes mellitus"
    assert [left.expand(text) for text in ("DM", "dm", "HTN", "diabetic")] == [
        *("DM", "dm", "HTN", "diabetic"),
    ]
    assert left.expand("RA") == "refractory anemia"  # a user's own list says so
    assert left.expand("MI") == own.expand("MI") == "myocardial infarction"
