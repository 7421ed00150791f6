"""Documents with predictions as BioC XML."""

from __future__ import annotations

from pathlib import Path

import bioc as library
import pytest

from linker.io import bioc as reader
from linker.io import pubtator as pubtator_reader
from linker.records import Candidate, Document, Mention, Part, Passage, Prediction

from .conftest import written

DATA = Path(__file__).parent.parent / "data"


def read_back(folder: Path, text: str) -> list[Document]:
    path = folder / "back.xml"
    path.write_text(text, encoding="utf-8")
    return list(reader.read(path))


def unchanged(documents: list[Document]) -> str:
    return written("bioc", *((document, ()) for document in documents))


def part(identifier: str, score: float, source: str = "") -> Part:
    return Part("x", candidates=(Candidate(identifier, "x", "x", score, source=source),))


@pytest.mark.parametrize("name", ["mini.bioc.xml", "mini.bioc.json"])
def test_unchanged_documents_come_back(tmp_path: Path, name: str) -> None:
    documents = list(reader.read(DATA / name))
    assert read_back(tmp_path, unchanged(documents)) == documents


def test_confidences_and_rejected_candidates_are_infons(tmp_path: Path) -> None:
    first, _ = reader.read(DATA / "mini.bioc.xml")
    _, breast, ovarian, *_ = first.mentions
    sure = Part("x", candidates=(Candidate("X:1", "x", "x", 1, confidence=0.97),))
    unsure = Part("x", nil=True, rejected=Candidate("X:2", "x", "x", 0.5, confidence=0.125))
    predictions = [Prediction(breast, (sure, unsure)), Prediction(ovarian, (unsure,))]
    (again,) = read_back(tmp_path, written("bioc", (first, predictions)))
    infons = {m.text: dict(m.metadata) for m in again.mentions}
    keys = ("identifier", "score", "confidence", "rejected")
    assert [[infons[m.text].get(key) for key in keys] for m in (breast, ovarian)] == [
        ["X:1|-1", "1.0000|-", "0.9700|0.1250", "-|X:2"],
        ["-1", None, "0.1250", "X:2"],
    ]
    # linked again by a model without confidences: nothing of the first answer stays
    linked = [Prediction(m, (Part("x"),)) for m in again.mentions if m.text == ovarian.text]
    (third,) = read_back(tmp_path, written("bioc", (again, linked)))
    infons = {m.text: dict(m.metadata) for m in third.mentions}
    assert [infons[ovarian.text].get(key) for key in keys] == ["-1", None, "-", None]


def test_predictions_are_infons_that_the_library_reads() -> None:
    first, _ = reader.read(DATA / "mini.bioc.xml")
    _, breast, ovarian, gout, thalassaemia = first.mentions
    predictions = [
        Prediction(breast, (part("MESH:D001943", 0.93, source="d.obo"), Part("x"))),
        Prediction(ovarian, (Part("x"),)),
        Prediction(gout, (part("MESH:D006073", 1),)),
        Prediction(thalassaemia, (part("MESH:D017086", 0.5), part("MESH:D000740", 0.25))),
    ]
    collection = library.loads(written("bioc", (first, predictions)))
    fields = [collection.source, collection.date, collection.key, collection.infons]
    assert fields == ["hand & written", "2026-01-02", "mini.key", {"license": "CC0"}]
    (document,) = collection.documents
    title, abstract = document.passages
    annotations = [*title.annotations, *(a for s in abstract.sentences for a in s.annotations)]
    kept = {"type": "Disease", "MESH": "D001943", "note": "split"}
    guess, both = {"confidence": "-", "state": "model"}, {"confidence": "-|-", "state": "model"}
    assert [annotation.infons for annotation in annotations] == [
        kept | {"identifier": "MESH:D001943|-1", "score": "0.9300|-", "source": "d.obo|-"} | both,
        {"type": "Disease", "identifier": "-1"} | guess,
        {"type": "Disease", "identifier": "MESH:D006073", "score": "1.0000"} | guess,
        {"type": "Disease", "identifier": "MESH:D017086|MESH:D000740", "score": "0.5000|0.2500"}
        | both,
    ]
    assert [(loc.offset, loc.length) for loc in title.annotations[0].locations] == [(0, 6), (19, 6)]
    assert document.annotations[0].infons == {"type": "Topic", "concept_id": "D006073"}
    assert [(s.offset, s.text) for s in abstract.sentences] == [
        (26, "Gout hurts."),
        (38, "So does β-thalassaemia."),
    ]
    assert [node.refid for node in abstract.sentences[1].relations[0].nodes] == ["T3", "T4"]
    assert document.relations[0].id == "R2"


def test_documents_of_pubtator(tmp_path: Path) -> None:
    documents = list(pubtator_reader.read(DATA / "mini.pubtator.txt"))
    back = read_back(tmp_path, unchanged(documents))
    assert [d.text for d in back] == [d.text for d in documents]
    for document, again in zip(documents, back, strict=True):
        by_passage = sorted(document.mentions, key=lambda m: m.spans[0][0] > 40)
        assert [(m.text, m.spans, m.gold, m.type) for m in again.mentions] == [
            (m.text, m.spans, m.gold, m.type) for m in by_passage
        ]
    assert [m.metadata["bioc:in"] for m in back[0].mentions] == ["0", "0", "1", "1", "1", "1", "1"]
    assert [(r.type, r.arguments, r.id) for r in back[0].relations] == [
        ("CID", (("arg1", "D008094"), ("arg2", "D014202")), "R0")
    ]


def test_characters_that_xml_cannot_hold(tmp_path: Path) -> None:
    mention = Mention("b\x01<", ((2, 5),), type="x\x00")
    kept = {"bioc:key": "<\x03>", "bioc:infon:'\"": "\x04"}
    document = Document("1&", (Passage("a\x02b\x01<", 0),), (mention,), metadata=kept)
    (back,) = read_back(tmp_path, unchanged([document]))
    (again,) = back.mentions
    assert [back.id, back.text, again.text, again.type] == ["1&", "a b <", "b <", "x "]
    assert back.metadata == {"bioc:key": "< >", "bioc:infon:'\"": " "}


@pytest.mark.data
def test_abbreviation_corpus_comes_back(data: Path, tmp_path: Path) -> None:
    documents = list(reader.read(data / "abbreviations" / "SH_bioc_gold.xml.gz"))
    assert read_back(tmp_path, unchanged(documents)) == documents
