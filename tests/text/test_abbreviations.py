"""Definitions of short forms in texts, and their expansion in mentions."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.records import Document, Passage
from linker.text.abbreviations import compounds, expand, expansion, find
from linker.text.biosyn import expand_tokens
from linker.text.mentions import TextOptions, definitions_of


def pairs(text: str, *, permuted: bool = False) -> dict[str, str]:
    return {d.short: d.long for d in find(text, permuted=permuted)}


DEFINED = """
patients with Duchenne muscular dystrophy (DMD) were: DMD: Duchenne muscular dystrophy
von Hippel-Lindau (VHL) disease: VHL: von Hippel-Lindau
adenomatous polyposis of the colon (APC): APC: adenomatous polyposis of the colon
a severe combined immunodeficiency (SCID): SCID: severe combined immunodeficiency
two-dimensional (2D) gels: 2D: two-dimensional
of nuclear pore complexes (NPCs): NPCs: nuclear pore complexes
the type 1 protein phosphatase (PP1): PP1: type 1 protein phosphatase
with 7,12-dimethylbenzanthracene [DMBA]: DMBA: 7,12-dimethylbenzanthracene
by HPLC (high-performance liquid chromatography): HPLC: high-performance liquid chromatography
phenylketonuria (PKU; 12 cases): PKU: phenylketonuria
Wilson disease (WD, n = 12): WD: Wilson disease
a rare disease (Menkes disease, MD): MD: Menkes disease
so-called "ataxia telangiectasia" (AT): AT: ataxia telangiectasia
"""


@pytest.mark.parametrize("line", DEFINED.strip().split("\n"))
def test_forms_of_definitions(line: str) -> None:
    text, short, long = line.split(": ")
    assert pairs(text) == {short: long}


NOTHING = """
twelve patients (n = 12)
the substrate(s) of this enzyme
a large study (see below)
investigations (i.e., by biopsy)
It ends here. The AT group (AT)
Ataxia was seen. Telangiectasia (AT) was not.
unbalanced ) brackets ( are ] no [ matter
Duchenne or Becker muscular dystrophy (DMD)
()
( )
"""


@pytest.mark.parametrize("text", [*NOTHING.strip().split("\n"), "x (\t)", ""])
def test_what_defines_nothing(text: str) -> None:
    assert pairs(text) == {}


TABLE = {
    "AT": "ataxia telangiectasia",
    "NBS": "Nijmegen breakage syndrome",
    "G6PD": "glucose-6-phosphate dehydrogenase",
    "H": "hypodontia",
    "DM1": "DM type 1",
    "DM": "myotonic dystrophy",
}


EXPANDED = """
AT: ataxia telangiectasia
AT patients: ataxia telangiectasia patients
AT/NBS: ataxia telangiectasia/Nijmegen breakage syndrome
AT, NBS: ataxia telangiectasia, Nijmegen breakage syndrome
AT-like disorder: ataxia telangiectasia-like disorder
ATs: ataxia telangiectasias
NBSs: Nijmegen breakage syndromes
at: at
ATM: ATM
H: hypodontia
type H disease: type H disease
DM1: myotonic dystrophy type 1
G6PD deficiency: glucose-6-phosphate dehydrogenase deficiency
glucose-6-phosphate dehydrogenase (G6PD) deficiency: glucose-6-phosphate dehydrogenase deficiency
G6PD (glucose-6-phosphate dehydrogenase) deficiency: glucose-6-phosphate dehydrogenase deficiency
Fanconi anaemia (FA) cells: Fanconi anaemia cells
breast cancer: breast cancer
"""


@pytest.mark.parametrize("line", EXPANDED.strip().split("\n"))
def test_expand(line: str) -> None:
    mention, _, expanded = line.partition(": ")
    assert expand(mention, TABLE) == expanded


ALPHABET = st.text(alphabet="ABCabcİß1² -/,.;()[]=\"'\n\t\u0307βé", max_size=80)


@given(ALPHABET)
def test_any_text_gives_pieces_of_itself(text: str) -> None:
    for definition in find(text, permuted=True):
        assert text[slice(*definition.short_span)] == definition.short
        assert text[slice(*definition.long_span)] == definition.long
        assert len(definition.long) > len(definition.short)


TABLES = st.dictionaries(
    st.text("ABab1 ", min_size=1, max_size=3), st.text("ABab1 s", max_size=9), max_size=4
)


@given(ALPHABET, TABLES)
def test_expansion_ends(mention: str, definitions: dict[str, str]) -> None:
    assert isinstance(expand(mention, definitions), str)
    assert isinstance(expand_tokens(mention, definitions), str)


def test_a_very_long_line() -> None:
    assert pairs("(" * 50_000 + "a" * 50_000 + ")" * 50_000 + " ataxia telangiectasia (AT)") == {
        "AT": "ataxia telangiectasia"
    }


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
        ("HPT-JT", "hyperparathyroidism-jaw tumor", "HPT: hyperparathyroidism; JT: jaw tumor"),
        (
            "VCFS/DGS",
            "velo-cardio-facial syndrome/DiGeorge syndrome",
            "VCFS: velo-cardio-facial syndrome; DGS: DiGeorge syndrome",
        ),
        ("RT-PCR", "reverse transcription polymerase chain reaction", ""),  # not as many parts
        ("IL-2", "interleukin-two", ""),  # a number is no short form
        ("T-ALL", "thymic-acute lymphoblastic leukemia", ""),  # nor is a letter
        ("HPT-XQ", "hyperparathyroidism-jaw tumor", ""),  # its letters are not in the long form
        ("HPT", "hyperparathyroidism", ""),
    ],
)
def test_the_parts_of_compound_short_forms(short: str, long: str, parts: str) -> None:
    expected = dict(part.split(": ") for part in parts.split("; ") if part)
    assert compounds({short: long}) == expected


# the definitions that a reading rests on

TEXT = (
    "Adenomatous polyposis coli (APC), ataxia telangiectasia (AT) and hyperparathyroidism-jaw "
    "tumor (HPT-JT); antigen presenting cells (APC). Adenomatous polyposis coli (APC)."
)
DOCUMENT = Document("1", (Passage(TEXT),))
COLI, CELLS, AT = "Adenomatous polyposis coli", "antigen presenting cells", TABLE["AT"]


def test_the_short_forms_that_are_expanded() -> None:
    definitions = definitions_of(DOCUMENT, TextOptions())
    assert expansion("AT and JT", definitions.first)[1] == (("AT", AT), ("JT", "jaw tumor"))
    assert expansion("fever", definitions.first)[1] == ()
    jaw = "hyperparathyroidism-jaw tumor"
    assert {*definitions.spans} == {("APC", COLI), ("AT", AT), ("HPT-JT", jaw), ("APC", CELLS)}
    assert all(TEXT[slice(*span)] == long for (_, long), span in definitions.spans.items())
    assert definitions.spans["APC", COLI][0] == 0  # the first of equal definitions counts
