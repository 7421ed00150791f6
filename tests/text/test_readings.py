"""The ways to read a mention."""

from __future__ import annotations

import dataclasses

import pytest

from linker.text.british import Spellings
from linker.text.mentions import Definitions, TextOptions
from linker.text.normalize import normalize
from linker.text.readings import NameForms, PartWording, Reader, Wording, _turned
from linker.text.short_forms import ShortForms

FORMS = frozenset(
    [
        *("breast cancer", "ovarian cancer", "cancer", "deafness", "cystitis"),
        *("hemorrhagic", "atm", "ataxia telangiectasia", "colitis", "a"),
    ]
)
NAMES = NameForms(FORMS, normalize)
OPTIONS = TextOptions()


DEFINITIONS = Definitions(
    {"APC": "adenomatous polyposis coli", "ATM": "Ataxia telangiectasia"},
    {"APC": ["antigen presenting cell", "activated protein C"]},
)


def read(reader: Reader, mention: str, definitions: Definitions | None = None) -> list[Wording]:
    return reader.of_names(reader.divide(mention, definitions), definitions)


def ways(mention: str, options: TextOptions = OPTIONS, names: NameForms = NAMES) -> str:
    """The kinds of the readings of a mention, with the forms that are looked up."""
    readings = read(Reader(names, options), mention, DEFINITIONS)
    return "; ".join(f"{reading.kind} {' + '.join(reading.forms)}" for reading in readings)


READINGS = """
Breast Cancer: whole breast cancer
plain words: whole plain words
breast and ovarian cancer: split breast cancer + ovarian cancer; whole breast and ovarian cancer; split breast + ovarian cancer
hereditary deafness: whole hereditary deafness; shortened deafness
severe early breast cancer: whole severe early breast cancer; shortened breast cancer
vitamin a: whole vitamin a
hemorrhagic cystitis: whole hemorrhagic cystitis; shortened cystitis; split hemorrhagic + cystitis
APC: expanded adenomatous polyposis coli; expanded antigen presenting cell; expanded activated protein c
APC tumours: expanded adenomatous polyposis coli tumours; expanded antigen presenting cell tumours; expanded activated protein c tumours
ATM: expanded ataxia telangiectasia; whole atm
"""


@pytest.mark.parametrize("line", READINGS.strip().split("\n"))
def test_readings(line: str) -> None:
    mention, _, readings = line.partition(": ")
    assert ways(mention) == readings


@pytest.mark.parametrize(
    ("mention", "readings"),
    [
        ("Wilsons", "whole wilsons; expanded wilson s disease"),
        ("wilson's", "whole wilson s; expanded wilson s disease"),
        ("wilsen's", "whole wilsen s; respelt wilson s; respelt wilson s disease"),
        ("budd chiary", "whole budd chiary; respelt budd chiari; respelt budd chiari syndrome"),
        ("kidneys", "whole kidneys"),  # of nobody called Kidney
        ("wilson valve", "whole wilson valve"),
    ],
)
def test_what_stands_behind_an_eponym_is_added(mention: str, readings: str) -> None:
    respelt = {"wilsen s": ["wilson s"], "budd chiary": ["budd chiari"]}
    forms = frozenset(
        ["wilson s disease", "wilson disease", "kidney disease", "budd chiari syndrome"]
    )
    names = NameForms(forms, normalize, lambda form: respelt.get(form, []))
    assert ways(mention, names=names) == readings


def test_words_that_a_line_end_breaks_are_joined() -> None:
    assert ways("heredi-\ntary deaf-\n  ness") == ("whole hereditary deafness; shortened deafness")
    # a hyphen that a name has stays, too
    names = NameForms(FORMS | {"post partum cancer"}, normalize)
    assert ways("post-\npartum cancer", names=names) == (
        "whole postpartum cancer; shortened cancer; whole post partum cancer"
    )


def test_a_coordination_that_is_a_name_is_whole_or_split() -> None:
    names = NameForms(FORMS | {"breast and ovarian cancer"}, normalize)
    assert ways("breast and ovarian cancer", names=names) == (
        "whole breast and ovarian cancer; split breast cancer + ovarian cancer"
    )


def test_options_switch_ways_off() -> None:
    whole = dataclasses.replace(OPTIONS, composites=False, cells=False)
    assert ways("breast and ovarian cancer", whole) == (
        "whole breast and ovarian cancer; shortened ovarian cancer"
    )
    assert ways("ATM", dataclasses.replace(OPTIONS, abbreviations=False)) == "whole atm"


def test_the_parts_of_a_reading() -> None:
    expanded, whole = read(Reader(NAMES, OPTIONS), "ATM", DEFINITIONS)
    long_form = "Ataxia telangiectasia"
    used = (("ATM", long_form),)
    assert expanded.parts == (PartWording("ATM", long_form, "ataxia telangiectasia", used=used),)
    assert whole.parts == (PartWording("ATM", None, "atm"),)
    assert (expanded.texts, expanded.forms) == ((long_form,), ("ataxia telangiectasia",))


CELL_NAMES = frozenset(
    [
        *("gout", "asthma", "hypertension", "breast cancer", "ovarian cancer", "cancer", "colitis"),
        *("rheumatoid arthritis", "type 2 diabetes", "arthritis", "neoplasms breast", "lupus"),
    ]
)
LISTED = ShortForms(
    {"RA": "rheumatoid arthritis", "GI": "gastrointestinal"}, {"htn": "hypertension"}
)
RESPELT = {"gotu": ["gout"], "hypertnesion": ["hypertension"], "severe astmha": ["severe asthma"]}
CELL = NameForms(CELL_NAMES, normalize, lambda form: RESPELT.get(form, []))


def cell_ways(
    cell: str,
    options: TextOptions = OPTIONS,
    definitions: Definitions | None = None,
    rivals: bool = True,
) -> list[Wording]:
    return read(Reader(CELL, options, LISTED, rivals), cell, definitions)


def told(ways: list[Wording]) -> str:
    """The kinds of readings, with what is looked up and what is said of each part."""
    parts = [
        " + ".join(
            part.form + ("" if part.assertion == "present" else f" ({part.assertion})")
            for part in way.parts
        )
        for way in ways
    ]
    return "; ".join(f"{way.kind} {form}" for way, form in zip(ways, parts, strict=True))


CELLS = """
gout: whole gout
- gout: whole gout
2. E11.9 - h/o type 2 diabetes (2014): whole type 2 diabetes (historical)
no gout: whole gout (absent)
?gout: whole gout (possible)
asthma; no gout: split asthma + gout (absent)
asthma, gout: split asthma + gout
asthma|gout|colitis: split asthma + gout + colitis
Neoplasms, Breast: whole neoplasms breast
FH: breast and ovarian cancer: split breast cancer (family) + ovarian cancer (family); whole breast and ovarian cancer (family); split breast (family) + ovarian cancer (family)
gout, quux: whole gout quux; split gout + quux; shortened gout
mild gout: whole gout
gout (left foot): whole gout left foot; shortened gout
gout with tophi: whole gout with tophi; shortened gout
no gout with tophi: whole gout with tophi (absent); shortened gout (absent)
RA: expanded rheumatoid arthritis
no RA: expanded rheumatoid arthritis (absent)
RA; HTN: split rheumatoid arthritis + hypertension
RA, severe: whole ra severe; expanded rheumatoid arthritis severe; shortened ra; expanded rheumatoid arthritis
mild gout; asthma stage II: split gout + asthma
gotu: whole gotu; respelt gout
no hypertnesion: whole hypertnesion (absent); respelt hypertension (absent)
gotu; asthma: split gout + asthma
quux: whole quux
"""


@pytest.mark.parametrize("line", CELLS.strip().split("\n"))
def test_cells(line: str) -> None:
    cell, expected = line.rsplit(": ", 1) if line.startswith("FH") else line.split(": ", 1)
    assert told(cell_ways(cell)) == expected


def test_listed_short_forms_are_for_mentions_without_a_document() -> None:
    (expanded,) = cell_ways("RA")
    assert expanded.parts == (
        PartWording("RA", "rheumatoid arthritis", "rheumatoid arthritis", is_listed=True),
    )
    assert told(cell_ways("RA", definitions=Definitions())) == "whole ra"
    (defined,) = cell_ways("RA", definitions=Definitions({"RA": "right atrium"}))
    assert not defined.parts[0].is_listed
    assert defined.forms == ("right atrium",)
    # none where abbreviations are left as they are, but for those of the list
    options = dataclasses.replace(OPTIONS, abbreviations=False)
    definitions = Definitions({"RA": "right atrium"})
    assert told(cell_ways("RA", options, definitions)) == "whole ra"


def test_respelt_mentions() -> None:
    *_, way = cell_ways("Severe astmha")
    assert way.kind == "respelt"
    assert way.parts == (PartWording("Severe astmha", "severe asthma", "severe asthma", errors=1),)
    names = NameForms(CELL_NAMES, normalize, lambda form: ["one", "two", "three"])
    respelt = [way for way in read(Reader(names, OPTIONS), "quux") if way.kind == "respelt"]
    assert [way.forms for way in respelt] == [("one",), ("two",)]  # the first ones
    for text, is_respelt in (("QUUX", False), ("QUUXXX", True), ("gout", False)):
        found = read(Reader(names, OPTIONS), text)
        assert any(way.kind == "respelt" for way in found) is is_respelt


def test_a_word_is_not_completed_beside_a_name_that_it_may_be() -> None:
    forms = frozenset(["fever", "feer s disease"])
    names = NameForms(forms, normalize, lambda form: ["fever", "feer"])
    ways_to_read = read(Reader(names, OPTIONS), "fveer")
    assert [way.forms for way in ways_to_read] == [("fveer",), ("fever",), ("feer",)]
    names = NameForms(forms, normalize, lambda form: ["feer"])
    assert ("feer s disease",) in [way.forms for way in read(Reader(names, OPTIONS), "ffeer")]


@pytest.mark.parametrize(
    ("respelt", "form"),
    [
        ("trunk", ""),
        ("wilson", "wilson s disease"),
        ("heart", ""),
        ("quuxy", "quuxy s disease"),
    ],
)
def test_a_common_word_that_is_respelt_is_no_eponym(respelt: str, form: str) -> None:
    forms = ["trunk ataxia", "wilson s disease", "wilson disease", "heart disease"]
    known = frozenset([*forms, "quuxy s disease"])
    names = NameForms(known, normalize, lambda _: [respelt])
    found = read(Reader(names, OPTIONS), "quuxx")
    listed = [way.forms[0] for way in found if way.parts[0].is_listed]
    assert listed == ([form] if form else [])


@pytest.mark.parametrize(("words", "is_completed"), [(10, True), (10_000, False)])
def test_a_cell_that_is_too_long_is_not_completed(words: int, is_completed: bool) -> None:
    completed: list[str] = []
    names = NameForms(CELL_NAMES, normalize, lambda form: completed.append(form) or [])  # type: ignore[func-returns-value]
    Reader(names, OPTIONS).divide("Sj?gren " * words)
    assert any("\ufffd" in form for form in completed) is is_completed


@pytest.mark.parametrize(
    "cell", ["sinusitis, acute", "sinusitis - acute", "Sinusitis (acute)", "sinusitis; acute"]
)
def test_a_name_is_read_with_its_last_words_first(cell: str) -> None:
    names = NameForms(frozenset(["sinusitis", "acute", "acute sinusitis"]), normalize)
    assert ways(cell, names=names) == "whole acute sinusitis"
    many = "sinusitis " + "acute " * 12
    assert ways(many, names=names).startswith("whole " + many.strip())


@pytest.mark.parametrize("mark", ["1)", "(1)", "1.", "[1]", "#1", "1/", "1:", "1,", "1 -", "1.)"])
def test_the_number_of_an_item_is_no_last_word_of_a_name(mark: str) -> None:
    names = NameForms(frozenset(["thrombocytopenia", "thrombocytopenia 1"]), normalize)
    assert ways(f"{mark} thrombocytopenia", names=names) == "whole thrombocytopenia"
    assert ways("thrombocytopenia, 1", names=names) == "whole thrombocytopenia 1"


@pytest.mark.parametrize("mark", ["a)", "(b)", "[b]", "c.", "A:", "d/", "ii)", "iv.", "IV."])
def test_the_letter_of_an_item_is_no_last_word_of_a_name(mark: str) -> None:
    letter = mark.strip("()[].:/").lower()
    names = NameForms(frozenset(["hepatitis", f"hepatitis {letter}"]), normalize)
    assert ways(f"{mark} hepatitis", names=names) == "whole hepatitis"


def test_a_letter_in_front_of_what_is_no_name_stays() -> None:
    names = NameForms(frozenset(["colitis"]), normalize)
    assert ways("c. difficile colitis", names=names).startswith("whole c difficile colitis")


def test_a_text_is_read_in_the_spelling_of_the_names() -> None:
    forms = frozenset(["anemia", "iron deficiency", "iron deficiency anemia", "oedema"])
    spellings = Spellings(forms, forms.__contains__)
    names = NameForms(forms, normalize, spell=spellings.of)
    assert ways("Anaemia - iron deficiency", names=names) == "whole iron deficiency anemia"
    assert ways("edema", names=names) == "whole oedema"
    assert ways("oedema and anaemia", names=names).startswith("split oedema + anemia")


QUALIFIED = """
myeloma, relapsed/refractory: whole myeloma
relapsed / refractory myeloma: whole myeloma
Relapsed or refractory myeloma: whole myeloma
recurrence of myeloma: whole myeloma
myeloma recurrence: whole myeloma
myeloma; acute: whole myeloma acute; shortened myeloma
acute and chronic sinusitis: split acute sinusitis + chronic sinusitis; whole acute and chronic sinusitis
acute and chronic gout: whole acute and chronic gout; shortened gout
gout, acute, myeloma: split gout acute + myeloma
Acute: whole acute
recurrence: whole recurrence
"""


@pytest.mark.parametrize("line", QUALIFIED.strip().split("\n"))
def test_a_modifier_is_no_answer_beside_a_name(line: str) -> None:
    names = ("myeloma", "gout", "sinusitis", "acute sinusitis", "chronic sinusitis")
    modifiers = ("acute", "recurrence", "relapse", "refractory")
    cell, _, expected = line.partition(": ")
    reader = Reader(NameForms({*names, *modifiers}, normalize), OPTIONS)
    assert told(read(reader, cell)) == expected


@pytest.mark.parametrize(("form", "is_turned"), [("appetite no", False), ("sinusitis acute", True)])
def test_an_answer_is_no_first_word_of_a_name(form: str, is_turned: bool) -> None:
    assert bool(list(_turned(form))) is is_turned
