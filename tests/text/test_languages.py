"""Normal forms, coordinated names and short forms in German, French and Spanish."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from linker import Dictionary, Linker
from linker.errors import LinkerError
from linker.linking.options import changed, preset
from linker.text import abbreviations
from linker.text.composites import Coordination, split
from linker.text.languages import named
from linker.text.mentions import TextOptions
from linker.text.normalize import PRESETS
from linker.text.spelling import normal_form
from linker.training.pipeline import train

SAME = [  # languages, texts with one normal form
    ("de", "Anämie", "Anaemie", "Anamie", "ANÄMIE", "Ana\u0308mie"),
    ("de", "Fußmykose", "Fussmykose"),
    ("de", "Überfunktion", "Ueberfunktion", "Uberfunktion"),
    ("de,en", "Ödem", "Oedem", "Odem"),
    ("de,fr", "Fœtus", "foetus", "fötus"),
    ("fr,de", "Fœtus", "foetus", "fötus"),
    ("fr", "Malformation du cœur", "malformation de coeur", "malformation de la coeur"),
    ("fr", "cancer de l'ovaire", "cancer de l’ovaire", "cancer d'ovaire", "cancer des ovaire"),
    ("es", "cáncer del niño", "cancer del nino"),
]


def form(language: str, text: str) -> str:
    return normal_form(text, PRESETS["default"], {}, language)


@pytest.mark.parametrize(("language", "first", "others"), [(a, b, c) for a, b, *c in SAME])
def test_ways_to_write_a_name_have_one_normal_form(
    language: str, first: str, others: list[str]
) -> None:
    assert [form(language, other) for other in others] == [form(language, first)] * len(others)


NAMES = {
    "de": "Leberversagen, Nierenversagen, Herzversagen, Nierenzyste, Nierenstein, akute Bronchitis,"
    "chronische Bronchitis, Vitamin-B-Mangel, Vitamin-A-Mangel, Karzinom der Brust, Geburt und Tod,"
    "Karzinom der Lunge",
    "fr": "cancer du sein, cancer de l'ovaire, hépatite aiguë, hépatite chronique, fœtus",
    "es": "cáncer de mama, cáncer de ovario, hepatitis A, hepatitis B, hepatitis E, tibia, "
    "fractura de tibia, fractura de peroné, otitis, infección, tumor maligno, tumor benigno",
}
SPLIT = """
de: Leber- und Nierenversagen: Leberversagen | Nierenversagen
de: Herz-, Leber- sowie Nierenversagen: Herzversagen | Leberversagen | Nierenversagen
de: Nierenzysten und -steine: Nierenzysten | Nierensteine
de: Vitamin-A- bzw. Vitamin-B-Mangel: Vitamin-A-Mangel | Vitamin-B-Mangel
de: akute und/oder chronische Bronchitis: akute Bronchitis | chronische Bronchitis
de: Karzinome der Brust und der Lunge: Karzinome der Brust | Karzinome der Lunge
de: Geburt und Tod: Geburt und Tod
de: Leber- und Magenversagen: Leber- und Magenversagen
fr: cancer du sein et de l’ovaire: cancer du sein | cancer de l’ovaire
fr: cancers du sein et/ou de l'ovaire: cancers du sein | cancers de l'ovaire
fr: hepatite aigue ou chronique: hepatite aigue | hepatite chronique
es: cáncer de mama y de ovario: cáncer de mama | cáncer de ovario
es: cancer de mama u ovario: cancer de mama | cancer de ovario
es: fracturas de tibia y peroné: fracturas de tibia | fracturas de peroné
es: tumores malignos o benignos: tumores malignos | tumores benignos
es: otitis e infección: otitis | infección
es: hepatitis A y E: hepatitis A | hepatitis E
es: hepatitis E: hepatitis E
es: breast and ovarian cancer: breast and ovarian cancer
de,es: Leber- und Nierenversagen: Leber- und Nierenversagen
"""


def known(language: str) -> Callable[[str], bool]:
    names = {form(language, name) for name in NAMES[language].split(",")}
    return lambda text: form(language, text) in names


@pytest.mark.parametrize("line", SPLIT.strip().splitlines())
def test_coordinated_names_are_split_in_their_language(line: str) -> None:
    language, mention, parts = line.split(": ")
    is_name = known(language.partition(",")[2] or language)
    assert split(mention, is_name, named(language)) == parts.split(" | ")


def test_a_mention_is_split_in_any_of_several_languages() -> None:
    names = {"leberversagen", "nierenversagen", "breast cancer", "ovarian cancer", "leberkrebs"}
    for mention, parts in (
        ("Leber- und Nierenversagen", ["Leberversagen", "Nierenversagen"]),
        ("breast and ovarian cancer", ["breast cancer", "ovarian cancer"]),
    ):
        coordination = Coordination(mention, lambda t: t.lower() in names, named("en,de"))
        assert coordination.split() == parts
        assert coordination.bold_split() == parts


@pytest.mark.parametrize(
    ("language", "text", "short", "long"),
    [
        ("fr", "Un état de mal épileptique (EME) dure.", "EME", "état de mal épileptique"),
        ("fr", "Un œdème aigu du poumon (OAP) survient.", "OAP", "œdème aigu du poumon"),
        (
            "de",
            "Krankheit des Herzens und der Nieren (KHN).",
            "KHN",
            "Krankheit des Herzens und der Nieren",
        ),
        ("es", "Dolor del brazo y del pie (DBP).", "DBP", "Dolor del brazo y del pie"),
    ],
)
def test_short_forms_need_no_letter_of_articles_and_no_accents(
    language: str, text: str, short: str, long: str
) -> None:
    found = abbreviations.find(text, languages=named(language))
    assert [(one.short, one.long) for one in found] == [(short, long)]
    assert text[slice(*found[0].long_span)] == long
    assert not abbreviations.find(text) or abbreviations.find(text)[0].long != long


def test_short_forms_of_english_terms_are_not_guessed() -> None:
    text = "Eine chronisch obstruktive Lungenerkrankung (COPD) liegt vor."
    assert not abbreviations.find(text, languages=named("de"))


def test_an_unknown_language_is_refused() -> None:
    expected = r"text.language is 'de,it'; there are no rules for 'it'; expected: .*en, de, fr, es"
    with pytest.raises(LinkerError, match=expected):
        TextOptions(language="de,it")


def test_a_model_links_by_the_rules_that_it_was_trained_by(tmp_path: Path) -> None:
    table = tmp_path / "names.tsv"
    table.write_text("id\tname\nX:1\tLeberversagen\nX:2\tNierenversagen\nX:3\tAnämie\n", "utf-8")
    options = changed(preset("default", "tfidf"), {"text": {"language": "de"}})
    linker = train(Dictionary.read(table), encoder="tfidf", options=options)
    linker.save(tmp_path / "model")
    loaded = Linker.load(tmp_path / "model")
    assert loaded.options.text.language == "de"
    predictions = list(loaded.link(["Leber- und Nierenversagen", "Anaemie"], k=1))
    answers = [[part.best and part.best.concept_id for part in p.parts] for p in predictions]
    assert answers == [["X:1", "X:2"], ["X:3"]]
    looked_up = loaded.explain("Anaemie").parts[0].lookup
    assert (looked_up.normalized, looked_up.misspelt) == ("anamie", None)
