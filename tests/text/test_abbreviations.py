"""Definitions of short forms in texts, and their expansion in mentions."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.text.abbreviations import Definition, compounds, expand, find, table
from linker.text.biosyn import expand_tokens


def pairs(text: str, *, permuted: bool = False) -> dict[str, str]:
    return {d.short: d.long for d in find(text, permuted=permuted)}


def test_a_definition_has_its_places() -> None:
    assert find("A case of ataxia telangiectasia (AT).") == [
        Definition("AT", "ataxia telangiectasia", (33, 35), (10, 31))
    ]


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        (
            "patients with Duchenne muscular dystrophy (DMD) were",
            "DMD",
            "Duchenne muscular dystrophy",
        ),
        ("von Hippel-Lindau (VHL) disease", "VHL", "von Hippel-Lindau"),
        ("adenomatous polyposis of the colon (APC)", "APC", "adenomatous polyposis of the colon"),
        ("a severe combined immunodeficiency (SCID)", "SCID", "severe combined immunodeficiency"),
        ("two-dimensional (2D) gels", "2D", "two-dimensional"),
        ("of nuclear pore complexes (NPCs)", "NPCs", "nuclear pore complexes"),
        ("the type 1 protein phosphatase (PP1)", "PP1", "type 1 protein phosphatase"),
        ("with 7,12-dimethylbenzanthracene [DMBA]", "DMBA", "7,12-dimethylbenzanthracene"),
        (
            "by HPLC (high-performance liquid chromatography)",
            "HPLC",
            "high-performance liquid chromatography",
        ),
        ("phenylketonuria (PKU; 12 cases)", "PKU", "phenylketonuria"),
        ("Wilson disease (WD, n = 12)", "WD", "Wilson disease"),
        ("a rare disease (Menkes disease, MD)", "MD", "Menkes disease"),
        ('so-called "ataxia telangiectasia" (AT)', "AT", "ataxia telangiectasia"),
    ],
)
def test_forms_of_definitions(text: str, short: str, long: str) -> None:
    assert pairs(text) == {short: long}


@pytest.mark.parametrize(
    "text",
    [
        "twelve patients (n = 12)",
        "the substrate(s) of this enzyme",
        "a large study (see below)",
        "investigations (i.e., by biopsy)",
        "It ends here. The AT group (AT)",
        "unbalanced ) brackets ( are ] no [ matter",
        "Duchenne or Becker muscular dystrophy (DMD)",
        "()",
        "( )",
        "x (\t)",
        "",
    ],
)
def test_what_defines_nothing(text: str) -> None:
    assert pairs(text) == {}


def test_a_long_form_does_not_cross_a_sentence() -> None:
    assert pairs("Ataxia was seen. Telangiectasia (AT) was not.") == {}


def test_initials_in_another_order_only_on_request() -> None:
    text = "families with myotonic dystrophy (DM)"
    assert pairs(text) == {}
    assert pairs(text, permuted=True) == {"DM": "myotonic dystrophy"}


def test_the_first_definition_counts() -> None:
    text = "ataxia telangiectasia (AT) and antithrombin (AT)"
    assert [d.long for d in find(text)] == ["ataxia telangiectasia", "antithrombin"]
    assert table(find(text)) == {"AT": "ataxia telangiectasia"}


TABLE = {
    "AT": "ataxia telangiectasia",
    "NBS": "Nijmegen breakage syndrome",
    "G6PD": "glucose-6-phosphate dehydrogenase",
    "H": "hypodontia",
    "DM1": "DM type 1",
    "DM": "myotonic dystrophy",
}


@pytest.mark.parametrize(
    ("mention", "expanded"),
    [
        ("AT", "ataxia telangiectasia"),
        ("AT patients", "ataxia telangiectasia patients"),
        ("AT/NBS", "ataxia telangiectasia/Nijmegen breakage syndrome"),
        ("AT, NBS", "ataxia telangiectasia, Nijmegen breakage syndrome"),
        ("AT-like disorder", "ataxia telangiectasia-like disorder"),
        ("ATs", "ataxia telangiectasias"),
        ("NBSs", "Nijmegen breakage syndromes"),
        ("at", "at"),
        ("ATM", "ATM"),
        ("H", "hypodontia"),
        ("type H disease", "type H disease"),
        ("DM1", "myotonic dystrophy type 1"),
        ("G6PD deficiency", "glucose-6-phosphate dehydrogenase deficiency"),
        (
            "glucose-6-phosphate dehydrogenase (G6PD) deficiency",
            "glucose-6-phosphate dehydrogenase deficiency",
        ),
        (
            "G6PD (glucose-6-phosphate dehydrogenase) deficiency",
            "glucose-6-phosphate dehydrogenase deficiency",
        ),
        ("Fanconi anaemia (FA) cells", "Fanconi anaemia cells"),
        ("breast cancer", "breast cancer"),
        ("", ""),
    ],
)
def test_expand(mention: str, expanded: str) -> None:
    assert expand(mention, TABLE) == expanded


def test_expand_stops_in_a_cycle() -> None:
    assert expand("A1 and B1", {"A1": "x B1", "B1": "y A1"}) == "x B1 and y A1"
    assert expand("A1", {"A1": "x B1", "B1": "y A1"}) == "x y A1"
    assert expand_tokens("A1", {"A1": "B1", "B1": "A1"}) == "A1"
    assert len(expand_tokens("A1", {"A1": "A1 A1"})) < 10_000


@pytest.mark.parametrize(
    ("mention", "expanded"),
    [
        ("AT  patients", "ataxia telangiectasia patients"),
        ("AT/NBS", "ataxia telangiectasia/Nijmegen breakage syndrome"),
        ("AT, x", "ataxia telangiectasia, x"),
        ("AT-like", "AT-like"),
        ("(AT)", "(AT)"),
        ("type H disease", "type hypodontia disease"),
        ("DM1", "myotonic dystrophy type 1"),
    ],
)
def test_expand_tokens_knows_words_only(mention: str, expanded: str) -> None:
    assert expand_tokens(mention, TABLE) == expanded


ALPHABET = st.text(alphabet="ABCabcİß1² -/,.;()[]=\"'\n\t\u0307βé", max_size=80)


@given(ALPHABET)
def test_any_text_gives_pieces_of_itself(text: str) -> None:
    for definition in find(text, permuted=True):
        assert text[slice(*definition.short_span)] == definition.short
        assert text[slice(*definition.long_span)] == definition.long
        assert len(definition.long) > len(definition.short)


@given(
    ALPHABET,
    st.dictionaries(
        st.text(alphabet="ABab1 ", min_size=1, max_size=3),
        st.text(alphabet="ABab1 s", max_size=9),
        max_size=4,
    ),
)
def test_expansion_ends(mention: str, definitions: dict[str, str]) -> None:
    assert isinstance(expand(mention, definitions), str)
    assert isinstance(expand_tokens(mention, definitions), str)


def test_a_very_long_line() -> None:
    assert pairs("(" * 50_000 + "a" * 50_000 + ")" * 50_000 + " ataxia telangiectasia (AT)") == {
        "AT": "ataxia telangiectasia"
    }


def test_agrees_with_ab3p() -> None:
    ab3p = pytest.importorskip("pyab3p").Ab3p()
    text = (
        "We studied ataxia telangiectasia (AT), familial adenomatous polyposis (FAP) and "
        "multiple endocrine neoplasia type 1 (MEN1)."
    )
    assert {a.short_form: a.long_form for a in ab3p.get_abbrs(text)} == pairs(text)


@pytest.mark.data
@pytest.mark.parametrize("name", ["Ab3P_bioc_gold.xml.gz", "SH_bioc_gold.xml.gz"])
def test_precision_and_recall_on_gold(data: Path, name: str) -> None:
    from bioc import biocxml

    right = defined = wanted = 0
    with gzip.open(data / "abbreviations" / name, "rt", encoding="utf-8") as file:
        documents = biocxml.load(file).documents
    for document in documents:
        gold, ours = set(), set()
        for passage in document.passages:
            texts = {a.id: a.text for a in passage.annotations}
            for relation in passage.relations:
                roles = {node.role: texts[node.refid] for node in relation.nodes}
                gold.add((roles["ShortForm"], roles["LongForm"]))
            ours |= {(d.short, d.long) for d in find(passage.text or "")}
        right, defined = right + len(gold & ours), defined + len(ours)
        wanted += len(gold)
    assert right / defined >= 0.96
    assert right / wanted >= 0.83


@pytest.mark.parametrize(
    ("short", "long", "parts"),
    [
        (
            "HPT-JT",
            "hyperparathyroidism-jaw tumor",
            {"HPT": "hyperparathyroidism", "JT": "jaw tumor"},
        ),
        (
            "VCFS/DGS",
            "velo-cardio-facial syndrome/DiGeorge syndrome",
            {"VCFS": "velo-cardio-facial syndrome", "DGS": "DiGeorge syndrome"},
        ),
        ("RT-PCR", "reverse transcription polymerase chain reaction", {}),  # not as many parts
        ("IL-2", "interleukin-two", {}),  # a number is no short form
        ("T-ALL", "thymic-acute lymphoblastic leukemia", {}),  # nor is a letter
        (
            "HPT-XQ",
            "hyperparathyroidism-jaw tumor",
            {},
        ),  # the letters of a part are not in its long form
        ("HPT", "hyperparathyroidism", {}),
    ],
)
def test_the_parts_of_compound_short_forms(short: str, long: str, parts: dict[str, str]) -> None:
    assert compounds({short: long}) == parts


def test_a_part_that_is_defined_itself_keeps_its_definition() -> None:
    definitions = {"HPT-JT": "hyperparathyroidism-jaw tumor", "HPT": "hypothalamus"}
    assert compounds(definitions) == {"JT": "jaw tumor"}
