"""The ways to read a mention."""

from __future__ import annotations

import dataclasses

import pytest

from linker.text.mentions import Definitions, TextOptions, definitions_of
from linker.text.normalize import normalize
from linker.text.readings import NameForms, of_mention
from linker.types import Document, Passage

NAMES = NameForms(
    frozenset(
        [
            *("breast cancer", "ovarian cancer", "cancer", "deafness", "cystitis"),
            *("hemorrhagic", "atm", "ataxia telangiectasia", "colitis", "a"),
        ]
    ),
    normalize,
)
OPTIONS = TextOptions()


DEFINITIONS = Definitions(
    {"APC": "adenomatous polyposis coli", "ATM": "Ataxia telangiectasia"},
    {"APC": ["antigen presenting cell", "activated protein C"]},
)


def ways(mention: str, options: TextOptions = OPTIONS, names: NameForms = NAMES) -> str:
    """The kinds of the readings of a mention, with the forms that are looked up."""
    readings = of_mention(mention, DEFINITIONS, names, options)
    return "; ".join(f"{reading.kind} {' + '.join(reading.forms)}" for reading in readings)


READINGS = """
Breast Cancer: whole breast cancer
no name: whole no name
breast and ovarian cancer: split breast cancer + ovarian cancer; whole breast and ovarian cancer; shortened ovarian cancer
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


def test_words_that_a_line_end_breaks_are_joined() -> None:
    assert ways("heredi-\ntary deaf-\n  ness") == ("whole hereditary deafness; shortened deafness")
    # a hyphen that a name has stays, too
    names = NameForms(NAMES.forms | {"post partum cancer"}, normalize)
    assert ways("post-\npartum cancer", names=names) == (
        "whole postpartum cancer; shortened cancer; whole post partum cancer"
    )


def test_a_coordination_that_is_a_name_is_whole_or_split() -> None:
    names = NameForms(NAMES.forms | {"breast and ovarian cancer"}, normalize)
    assert ways("breast and ovarian cancer", names=names) == (
        "whole breast and ovarian cancer; split breast cancer + ovarian cancer"
    )


def test_documents_say_all_definitions() -> None:
    text = (
        "Adenomatous polyposis coli (APC) is not an antigen presenting cell (APC), "
        "nor is adenomatous Polyposis coli (APC)."
    )
    definitions = definitions_of(Document("d", (Passage(text),)), OPTIONS)
    assert definitions.first == {"APC": "Adenomatous polyposis coli"}
    assert definitions.others == {"APC": ["antigen presenting cell"]}


def test_options_switch_ways_off() -> None:
    whole = dataclasses.replace(OPTIONS, composites=False)
    assert ways("breast and ovarian cancer", whole) == (
        "whole breast and ovarian cancer; shortened ovarian cancer"
    )
    assert ways("ATM", dataclasses.replace(OPTIONS, abbreviations=False)) == "whole atm"


def test_without_rivals_there_is_one_way() -> None:
    (way,) = of_mention("breast and ovarian cancer", Definitions(), NAMES, OPTIONS, rivals=False)
    assert way.kind == "split"


def test_the_parts_of_a_reading() -> None:
    expanded, whole = of_mention("ATM", DEFINITIONS, NAMES, OPTIONS)
    long_form = "Ataxia telangiectasia"
    assert list(expanded.parts("ATM")) == [("ATM", long_form, "ataxia telangiectasia")]
    assert list(whole.parts("ATM")) == [("ATM", None, "atm")]
