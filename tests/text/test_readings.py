"""The ways to read a mention."""

from __future__ import annotations

import dataclasses

from linker.text.mentions import Definitions, TextOptions, definitions_of
from linker.text.normalize import normalize
from linker.text.readings import NameForms, of_mention
from linker.types import Document, Mention, Passage

NAMES = NameForms(
    frozenset(
        [
            *("breast cancer", "ovarian cancer", "cancer", "deafness", "cystitis"),
            *("hemorrhagic", "atm", "ataxia telangiectasia", "colitis", "a"),
        ]
    ),
    normalize,
)
OPTIONS, NONE = TextOptions(), Definitions()


def ways(
    mention: str,
    definitions: Definitions = NONE,
    options: TextOptions = OPTIONS,
    names: NameForms = NAMES,
) -> list[tuple[str, tuple[str, ...]]]:
    return [(way.kind, way.forms) for way in of_mention(mention, definitions, names, options)]


def test_a_name_is_read_as_it_is() -> None:
    assert ways("Breast Cancer") == [("whole", ("breast cancer",))]
    assert ways("no name") == [("whole", ("no name",))]


def test_a_coordination_is_split_or_whole() -> None:
    assert ways("breast and ovarian cancer") == [
        ("split", ("breast cancer", "ovarian cancer")),
        ("whole", ("breast and ovarian cancer",)),
        ("shortened", ("ovarian cancer",)),
    ]


def test_a_coordination_that_is_a_name_is_whole_or_split() -> None:
    names = NameForms(NAMES.forms | {"breast and ovarian cancer"}, normalize)
    assert ways("breast and ovarian cancer", names=names) == [
        ("whole", ("breast and ovarian cancer",)),
        ("split", ("breast cancer", "ovarian cancer")),
    ]


def test_words_before_a_name_may_be_left_out() -> None:
    assert ways("hereditary deafness") == [
        ("whole", ("hereditary deafness",)),
        ("shortened", ("deafness",)),
    ]
    assert ways("severe early breast cancer")[1:] == [("shortened", ("breast cancer",))]
    assert ways("vitamin a") == [("whole", ("vitamin a",))]  # too short


def test_two_names_in_a_row_may_be_two() -> None:
    assert ways("hemorrhagic cystitis") == [
        ("whole", ("hemorrhagic cystitis",)),
        ("shortened", ("cystitis",)),
        ("split", ("hemorrhagic", "cystitis")),
    ]


def test_a_short_form_is_expanded_by_each_definition() -> None:
    definitions = Definitions(
        {"APC": "adenomatous polyposis coli"},
        {"APC": ["antigen presenting cell", "activated protein C"]},
    )
    assert ways("APC", definitions) == [
        ("expanded", ("adenomatous polyposis coli",)),
        ("expanded", ("antigen presenting cell",)),
        ("expanded", ("activated protein c",)),
    ]
    assert ways("APC tumours", definitions)[1] == ("expanded", ("antigen presenting cell tumours",))
    assert ways("deafness", definitions) == [("whole", ("deafness",))]


def test_a_short_form_that_is_a_name_is_read_as_it_is_too() -> None:
    definitions = Definitions({"ATM": "ataxia telangiectasia"})
    assert ways("ATM", definitions) == [
        ("expanded", ("ataxia telangiectasia",)),
        ("whole", ("atm",)),
    ]


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
    assert ways("breast and ovarian cancer", options=whole) == [
        ("whole", ("breast and ovarian cancer",)),
        ("shortened", ("ovarian cancer",)),
    ]
    written = dataclasses.replace(OPTIONS, abbreviations=False)
    definitions = Definitions({"ATM": "ataxia telangiectasia"})
    assert ways("ATM", definitions, written) == [("whole", ("atm",))]


def test_without_rivals_there_is_one_way() -> None:
    (way,) = of_mention("breast and ovarian cancer", Definitions(), NAMES, OPTIONS, rivals=False)
    assert way.kind == "split"


def test_lookups_of_a_reading() -> None:
    definitions = Definitions({"ATM": "Ataxia telangiectasia"})
    mention = Mention("ATM")
    expanded, whole = of_mention("ATM", definitions, NAMES, OPTIONS)
    (lookup,) = expanded.lookups(mention)
    assert (lookup.text, lookup.expanded) == ("ATM", "Ataxia telangiectasia")
    assert lookup.normalized == "ataxia telangiectasia"
    (lookup,) = whole.lookups(mention)
    assert (lookup.text, lookup.expanded, lookup.normalized) == ("ATM", None, "atm")
