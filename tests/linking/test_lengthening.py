"""Names whose words a text has cut off."""

from __future__ import annotations

import dataclasses

import pytest

from linker import Dictionary, Linker
from linker.linking.lengthening import Lengthening
from linker.linking.ranker import Ranker
from linker.records import Document, Mention, Passage, Selection
from linker.training.pipeline import train

ROWS = [
    "id\tname\tsynonyms",
    "D:1\tLeukemia, Myeloid, Acute\tAcute Myeloid Leukemia",
    "D:2\tLeukemia, Lymphoid\tLymphoid Leukemia",
    "D:3\tBecker Muscular Dystrophy\t",
    "D:4\tOsteoarthritis, Hip\t",
    "D:5\tEpidermal Cyst\t",
    "D:6\tEpidemic Cyst\t",
    "D:7\tRenal Insufficiency, Chronic\tchronic kidney disease",
    "D:8\tDiabetes Mellitus\t",
    "D:9\tDiabetes Mellitus, Type 2\tDiabetes Mellitus type 2",
    "D:10\tOsteoarthritis\t",
    "D:11\tCancer of the Lung\t",
    "D:12\tIron Deficiency Anemia\t",
    "D:13\tCysts\t",
    "D:14\tEstrogen Hip\t",
]


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    path = tmp_path_factory.mktemp("lengthening") / "dictionary.tsv"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    return train(Dictionary.read(path), encoder="tfidf").with_ranker(Ranker.shipped())


@pytest.fixture(scope="module")
def lengthening(linker: Linker) -> Lengthening:
    return Lengthening(linker.dictionary, linker.words)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("acute myel. leuk.", ["Acute Myeloid Leukemia"]),
        ("ac. myel. leuk.", ["Acute Myeloid Leukemia"]),
        ("leuk myel acute", ["Leukemia, Myeloid, Acute"]),
        ("iron def anaem", ["Iron Deficiency Anemia"]),
        ("oest hip", ["Estrogen Hip"]),  # four letters of a British word
        ("Becker MD", ["Becker Muscular Dystrophy"]),
        ("becker md", []),  # letters that stand for words are capitals
        ("canc lung", ["Cancer of the Lung"]),
        ("myel leuk", []),  # "acute" is lacking
        ("acute myel leuk severe", []),
        ("acute quux leuk", []),
        ("leuk", []),  # one word says too little
        ("acute myeloid leukemia", []),  # nothing is cut off
        ("", []),
        ("... . .", []),
    ],
)
def test_names_of_cut_texts(lengthening: Lengthening, text: str, names: list[str]) -> None:
    assert [found.name for found in lengthening.lengthened(text, False)] == names


def test_several_names_are_no_only_one(lengthening: Lengthening) -> None:
    found = lengthening.lengthened("epid cyst", False)
    assert {one.name for one in found} == {"Epidermal Cyst", "Epidemic Cyst"}
    assert {one.is_only for one in found} == {False}
    assert [one.is_only for one in lengthening.lengthened("acute myel leuk", False)] == [True]


def test_initials_are_a_short_form(lengthening: Lengthening) -> None:
    assert [one.is_short_form for one in lengthening.lengthened("Becker MD", False)] == [True]
    assert [one.is_short_form for one in lengthening.lengthened("Beck. Musc. Dyst.", False)] == [
        False
    ]


def test_an_expanded_text_may_stand_in_another_order(lengthening: Lengthening) -> None:
    assert lengthening.lengthened("hip osteoarthritis", False) == []
    (found,) = lengthening.lengthened("hip osteoarthritis", True)
    assert found.name == "Osteoarthritis, Hip"


@pytest.mark.parametrize(
    ("cell", "concept", "is_sure"),
    [
        ("acute myel. leuk.", "D:1", True),
        ("iron def. an.", "D:12", True),  # whose last point is no full stop
        ("h/o ac. myel. leuk. (2014)", "D:1", True),
        ("Becker MD", "D:3", False),  # letters
        ("OA L hip", "D:4", False),
        ("osteoarth R hip", "D:4", False),  # a side is left out
        ("epid. cyst", "D:5", False),  # or D:6
        ("CKD 3", "D:7", False),
        ("CKD 3a", "D:7", False),
        ("DM 2", "D:9", False),
    ],
)
def test_cells(linker: Linker, cell: str, concept: str, is_sure: bool) -> None:
    prediction = linker.link(cell)
    (part,) = prediction.parts
    assert part.best is not None
    if concept != "D:5":
        assert part.best.concept_id == concept
    assert part.best.confidence is not None
    assert (part.best.confidence >= 0.8) is is_sure


def test_cut_words_are_read_in_cells_alone(linker: Linker) -> None:
    text = "Beck. Muscu. Dyst."
    mention = Mention(text, ((0, len(text)),))
    document = Document("1", (Passage(text, 0),), (mention,))
    (prediction,) = linker.link(document)
    assert prediction.reading != "expanded"
    options = dataclasses.replace(linker.options.text, everyday=False)
    off = dataclasses.replace(linker, options=dataclasses.replace(linker.options, text=options))
    assert off.link(text).reading != "expanded"
    assert linker.link(text).reading == "expanded"


def test_a_part_of_the_dictionary_is_given_its_own_names(linker: Linker) -> None:
    part = linker.restricted(Selection(under=("D:2",)))
    best = part.link("acute myel leuk").parts[0].best
    assert best is None or best.concept_id == "D:2"
