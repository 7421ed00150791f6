"""Which definitions of a document a reading rests on."""

from __future__ import annotations

import pytest

from linker.text import abbreviations
from linker.text.mentions import TextOptions, definitions_of
from linker.types import Document, Passage

TEXT = (
    "Adenomatous polyposis coli (APC), ataxia telangiectasia (AT) and hyperparathyroidism-jaw "
    "tumor (HPT-JT); antigen presenting cells (APC)."
)
DOCUMENT = Document("1", (Passage(TEXT),))


@pytest.mark.parametrize(
    ("mention", "expanded", "forms"),
    [
        ("APC", "Adenomatous polyposis coli", {"APC": "Adenomatous polyposis coli"}),
        ("APC", "antigen presenting cells", {"APC": "antigen presenting cells"}),
        (
            "AT and APC",
            "ataxia telangiectasia and Adenomatous polyposis coli",
            {"AT": "ataxia telangiectasia", "APC": "Adenomatous polyposis coli"},
        ),
        ("JT", "jaw tumor", {"JT": "jaw tumor"}),
        ("fever", "fever", {}),
        ("APC", "something else", {}),
    ],
)
def test_used(mention: str, expanded: str, forms: dict[str, str]) -> None:
    first = definitions_of(DOCUMENT, TextOptions()).first
    pairs = abbreviations.spans(DOCUMENT, permuted=True)
    assert abbreviations.used(mention, expanded, first, pairs) == forms


def test_spans_are_those_of_the_long_forms() -> None:
    spans = abbreviations.spans(DOCUMENT, permuted=True)
    assert {pair: TEXT[slice(*span)] for pair, span in spans.items()} == {
        ("APC", "Adenomatous polyposis coli"): "Adenomatous polyposis coli",
        ("AT", "ataxia telangiectasia"): "ataxia telangiectasia",
        ("HPT-JT", "hyperparathyroidism-jaw tumor"): "hyperparathyroidism-jaw tumor",
        ("APC", "antigen presenting cells"): "antigen presenting cells",
    }


def test_the_first_of_equal_definitions_counts() -> None:
    text = "Heart attack (HA). Heart attack (HA)."
    document = Document("1", (Passage(text),))
    assert abbreviations.spans(document, permuted=False) == {("HA", "Heart attack"): (0, 12)}
