"""What a cell says between its names: denials, other cues, and what they govern."""

from __future__ import annotations

import time

import pytest

from linker.text.cells import parts, plain
from linker.text.normalize import normalize

NAMES = """
diabetes | type 2 diabetes | retinopathy | nephropathy | asthma | gout | eczema | migraine
migraine without aura | aura | hand, foot and mouth disease | status asthmaticus | relapses | acute gout
empyema with no fistula | asthma without status asthmaticus
cysts, renal, 5, without ascites | ulcer without clot and without bleeding | bleeding
seizures without loss or lack of tone | seizures without impairment of tone | seizures | ulcer
""".replace("\n", "|").split("|")
FORMS = frozenset(normalize(name) for name in NAMES if name.strip())
EN = ("en",)


def is_name(text: str) -> bool:
    return normalize(text) in FORMS


def read(cell: str, codes: tuple[str, ...] = EN) -> str:
    """The names in a cell that are certain, each with what is said of it, unless it is present."""
    named = [part for part in parts(plain(cell), is_name, codes) if not part.is_doubtful]
    said = ("" if part.assertion == "present" else f" ({part.assertion})" for part in named)
    return " + ".join(part.text + word for part, word in zip(named, said, strict=True))


DENIALS = (
    """
{} no {} | {} with no {} | {} not {} | {} nil {} | {} excluding {} | {} (no {}) | {} without {}
{} denies {} | {} denies: {} | {} but no {} | {}, but there is no {} | {}, negative for {}
{} neg for {} | {} -ve for {} | {} w/o {} | {} w/o any {} | {} rules out {} | {} has no {}
{} does not have {} | {} - no evidence of {} | {} -no {} | {}/no {} | {} [no {}] | {} {{no {}}}
{} (no {} (2012)) | {} with no {} (2014) | 2. E11.9 - {} with no {} | {} no {} at present
{} ohne {} | {} sans {} | {} sin {} | {}. No {}. | {}: no {} | {} never had {} | {} ({}: no)
{} hat keine {} | {} "no {}" | {} *no {}* | {} - {} not present | {} with {} ruled out
{} ({} excluded) | {} (no {}, no medication) | {}, no medication, no {}
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)


@pytest.mark.parametrize("form", DENIALS)
@pytest.mark.parametrize("names", [("diabetes", "retinopathy"), ("asthma", "gout")])
def test_a_cue_in_the_middle_denies_what_follows(form: str, names: tuple[str, str]) -> None:
    assert read(form.format(*names)) == f"{names[0]} + {names[1]} (absent)"


IDLE = (
    """
{} not controlled | {} no medication | {}, no medication | {} with no complications
{} not on insulin | {} never treated | {} not well controlled | {} (no treatment) | {} denies pains
{} not seen by doctor | {} no indication for insulin | {} no longer on tablets | {}. No follow up.
""".strip()
    .replace("\n", " | ")
    .split(" | ")
)


@pytest.mark.parametrize("form", IDLE)
def test_what_is_denied_and_names_nothing_is_left_out(form: str) -> None:
    assert read(form.format("asthma")) == "asthma"


def test_what_is_denied_and_no_name_is_doubtful() -> None:
    cell = "asthma, no gout or insulin, no swollen eczema, no pains"
    named = parts(cell, is_name, EN)
    doubtful = {"insulin", "pains"}
    assert [part.text for part in named] == ["asthma", "gout", "insulin", "swollen eczema", "pains"]
    assert all(part.is_doubtful == (part.text in doubtful) for part in named)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("diabetes no retinopathy, asthma", "diabetes + retinopathy (absent) + asthma"),
        ("diabetes no retinopathy and asthma", "diabetes + retinopathy (absent) + asthma"),
        ("diabetes no retinopathy with gout", "diabetes with gout + retinopathy (absent)"),
        ("diabetes no retinopathy; asthma", "diabetes + retinopathy (absent) + asthma"),
        ("diabetes (no retinopathy), gout", "diabetes + retinopathy (absent) + gout"),
        ("type 2 (no retinopathy) diabetes", "type 2 diabetes + retinopathy (absent)"),
        ("asthma no gout or eczema", "asthma + gout (absent) + eczema (absent)"),
        (
            "asthma no gout, eczema or aura",
            "asthma + gout (absent) + eczema (absent) + aura (absent)",
        ),
        ("asthma, neither gout nor eczema", "asthma + gout (absent) + eczema (absent)"),
        ("asthma (no gout, eczema)", "asthma + gout (absent) + eczema (absent)"),
        ("asthma [no gout; no eczema]", "asthma + gout (absent) + eczema (absent)"),
        ("asthma no gout no eczema", "asthma + gout (absent) + eczema (absent)"),
        ("asthma and gout with no eczema", "asthma + gout + eczema (absent)"),
        ("asthma (gout; no eczema)", "asthma + gout + eczema (absent)"),
        ("no asthma, has gout", "asthma (absent) + gout"),
        ("no asthma, she has rare thing", "asthma (absent) + rare thing"),
        ("rare thing, gout, no asthma", "rare thing + gout + asthma (absent)"),
        ("asthma (on steroids (no gout))", "asthma (on steroids) + gout (absent)"),
        (
            "asthma, no hand, foot and mouth disease",
            "asthma + hand, foot and mouth disease (absent)",
        ),
        ("asthma with no acute gout", "asthma + acute gout (absent)"),
        ("asthma no acute eczema", "asthma + eczema (absent)"),
        ("gout attacks nil asthma", "gout attacks + asthma (absent)"),
        ("h/o asthma with no gout", "asthma (historical) + gout (absent)"),
        ("no asthma no gout", "asthma (absent) + gout (absent)"),
        ("asthma no gout, on steroids", "asthma + gout (absent)"),
        ("asthma: no gout: yes", "asthma (absent) + gout"),
        ("asthma not only gout", "asthma + gout"),
        ("asthma not seen on CT", "asthma (absent)"),
        ("asthma not confirmed", "asthma (possible)"),
        ("asthma not assessed", "asthma (possible)"),
        ("asthma with or with no gout", "asthma with or without gout"),  # it says neither
        ("i can not sleep", "i can not sleep"),  # there is no name
    ],
)
def test_how_far_a_denial_reaches(cell: str, expected: str) -> None:
    assert read(cell) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("migraine with no aura", "migraine without aura"),
        ("severe migraine, no aura", "severe migraine without aura"),
        ("gout, migraine (no aura), asthma", "gout + migraine without aura + asthma"),
        ("migraine w/o aura", "migraine without aura"),
        ("migraine in absence of aura", "migraine without aura"),
        ("migraine and no aura", "migraine without aura"),
        ("migraine, no sign of aura", "migraine without aura"),
        ("migraine w/o aura and gout", "migraine without aura + gout"),
        ("gout and migraine w/o aura", "gout + migraine without aura"),
        ("no migraine w/o aura", "migraine without aura (absent)"),
        ("cysts, renal, 5 w/o ascites", "cysts, renal, 5 without ascites"),
        ("ulcer w/o clot and no bleeding", "ulcer without clot and without bleeding"),
        ("seizures, no loss or lack of tone", "seizures without loss or lack of tone"),
        ("seizures, no impairment of tone", "seizures without impairment of tone"),
        ("migraine, but no aura", "migraine without aura"),
        ("migraine ohne aura", "migraine without aura"),
        ("empyema without fistula", "empyema with no fistula"),
        ("asthma without status asthmaticus", "asthma without status asthmaticus"),
        ("gout without status asthmaticus", "gout + status asthmaticus (absent)"),
        ("migraine with possible aura", "migraine + aura (possible)"),
    ],
)
def test_a_name_that_denies_the_same_is_not_cut(cell: str, expected: str) -> None:
    assert read(cell) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("asthma possible gout", "asthma + gout (possible)"),
        ("asthma ?gout", "asthma + gout (possible)"),
        ("asthma (r/o gout)", "asthma + gout (possible)"),
        ("asthma h/o gout, eczema", "asthma + gout (historical) + eczema"),
        ("asthma mother had gout", "asthma + gout (family)"),
        ("asthma (mother: gout)", "asthma + gout (family)"),
        ("asthma family history of gout", "asthma + gout (family)"),
        ("rare thing possible thing", "rare thing possible thing"),  # no name is before the cue
        ("asthma old thing", "asthma old thing"),  # the cue is weak, and no name is behind it
    ],
)
def test_other_cues_in_the_middle(cell: str, expected: str) -> None:
    assert read(cell) == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("no, not, denies", ""),
        ("PAs", "PAs"),  # it may be a short form
        ("no " * 300, ""),
        ("no " * 1_000, ""),  # it is too long to be read
        ("no asthma, asthma", "asthma (absent)"),
        ("asthma no asthma", "asthma + asthma (absent)"),
        ("asthma no ربو", "asthma"),
        ("ربو no asthma", "ربو + asthma (absent)"),
        ("\u202basthma (no gout)\u202c", "asthma + gout (absent)"),
        ("asthma (no gout", "asthma + gout (absent)"),
        ("asthma no gout)", "asthma + gout (absent)"),
        ("asthma no", "asthma (absent)"),
        ("asthma no, gout", "asthma (absent) + gout"),
        ("asthma and gout excluded", "asthma (absent) + gout (absent)"),
        ("rare thing, gout excluded", "rare thing, gout (absent)"),
        ("asthma (no)", "asthma (absent)"),
    ],
)
def test_cells_that_are_not_well_formed(cell: str, expected: str) -> None:
    assert read(cell) == expected


@pytest.mark.parametrize(
    "unit", ["no ", "neg a ", "asthma no gout ", "no a, ", "(no ", "a no b or "]
)
def test_a_cell_of_many_cues_is_read_in_a_moment(unit: str) -> None:
    start = time.process_time()
    read("asthma " + unit * (950 // len(unit)))
    assert time.process_time() - start < 5


@pytest.mark.parametrize("code", ["de", "fr", "es"])
def test_denials_of_other_languages(code: str) -> None:
    form = {
        "de": "{} ohne Hinweis auf {}",
        "fr": "{} sans signe de {}",
        "es": "{} sin signos de {}",
    }
    cell = form[code].format("asthma", "gout")
    assert read(cell, (code,)) == read(cell) == "asthma + gout (absent)"


def test_mentions_of_running_text_are_not_cut() -> None:
    (part,) = parts("asthma no gout", is_name, EN, lines=False)
    assert (part.text, part.assertion) == ("asthma no gout", "present")


def test_blanks_before_commas_cost_no_more_than_their_number() -> None:
    # a pattern that tried all ways to share out these blanks would not end
    cell = "asthma no gout" + " , gout" * 120
    texts = [part.text for part in parts(cell, {"asthma", "gout"}.__contains__)]
    assert texts[0] == "asthma"
    assert set(texts) == {"asthma", "gout"}
