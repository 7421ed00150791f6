"""Mentions of documents are found and linked."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker import Dictionary, Linker, LinkerError
from linker.linking.documents import Annotator, recognizer, windows
from linker.linking.requests import FoundSpan
from linker.records import Document, GoldGroup, Mention, Passage, Prediction
from linker.training.pipeline import train

ATAXIA, LEUKEMIA = "MESH:D001260", "MESH:D054198"


@pytest.fixture(scope="module")
def taught(dictionary: Dictionary) -> Linker:
    """A linker that learnt from documents in which leukaemia is annotated, and lymphoma never."""
    documents = []
    for number in range(6):
        text = f"A leukaemia, no lymphoma {number}."
        mention = Mention("leukaemia", ((2, 11),), (GoldGroup(("MESH:D007938",)),), "Illness")
        documents.append(Document(str(number), (Passage(text),), (mention,)))
    return train(dictionary, encoder="tfidf", mentions=documents)


def of_passages(*passages: str, mentions: Iterable[Mention] = ()) -> Document:
    """A document of passages with a character between them."""
    parts, offset = [], 0
    for passage in passages:
        parts.append(Passage(passage, offset))
        offset += len(passage) + 1
    return Document("d", tuple(parts), tuple(mentions))


def annotated(annotator: Annotator, document: Document, **options: object) -> list[Prediction]:
    ((_, predictions),) = annotator.annotate([document], **options)  # type: ignore[arg-type]
    return predictions


def answers(predictions: Iterable[Prediction]) -> list[tuple[str, list[str]]]:
    return [
        (p.mention.text, [part.best.concept_id if part.best else "-" for part in p.parts])
        for p in predictions
    ]


def test_found_and_linked(tfidf: Linker) -> None:
    source = of_passages(
        "Ataxia telangiectasia",
        "Ataxia telangiectasia (A-T) and breast or ovarian cancers. In A-T, all is well.",
    )
    predictions = annotated(Annotator(tfidf), source, k=1)
    assert answers(predictions) == [
        ("Ataxia telangiectasia", [ATAXIA]),
        ("Ataxia telangiectasia", [ATAXIA]),
        ("A-T", [ATAXIA]),
        ("breast or ovarian cancers", ["MESH:D001943", "MESH:D010051"]),
        ("A-T", [ATAXIA]),
    ]
    for mention in (prediction.mention for prediction in predictions):
        ((start, end),) = mention.spans
        assert source.text[start:end] == mention.text
        assert mention.document_id == "d"


def test_documents_come_back_in_order_with_their_mentions(tfidf: Linker) -> None:
    documents = [
        dataclasses.replace(of_passages(words), id=str(number))
        for number, words in enumerate(["asthma", "", " \n", "no name", "asthma and gout"])
    ]
    linked = list(Annotator(tfidf).annotate(documents))
    assert [document.id for document, _ in linked if document] == ["0", "1", "2", "3", "4"]
    assert [len(predictions) for _, predictions in linked] == [1, 0, 0, 0, 2]
    for document, predictions in linked:
        assert document is not None
        assert [id(m) for m in document.mentions] == [id(p.mention) for p in predictions]


def test_marked_mentions_stay_and_are_not_doubled(tfidf: Linker) -> None:
    known = Mention("asthma", ((0, 6),), (GoldGroup(("X:1",)),), "Old", "d", "L1")
    unknown = Mention("gout", ((11, 15),), None, "Old", "d", "L3")
    nested = Mention("breast", ((17, 23),), (), "Old", "d")
    loose = Mention("asthma gout", ((0, 6), (11, 15)), (GoldGroup(("X:2",)),), "Old", "d")
    source = of_passages(
        "asthma and gout, breast cancer; asthma", mentions=(known, unknown, nested, loose)
    )
    ((document, predictions),) = Annotator(tfidf, type="New").annotate([source])
    assert document is not None
    assert [(m.text, m.type, m.annotation_id) for m in document.mentions] == [
        ("asthma", "Old", "L1"),
        ("asthma gout", "Old", ""),
        ("gout", "Old", "L3"),
        ("breast", "Old", ""),
        ("asthma", "New", "L2"),
    ]
    assert document.mentions[0] is known
    assert [p.mention for p in predictions] == [unknown, document.mentions[-1]]


def test_what_annotated_documents_teach(taught: Linker) -> None:
    source = of_passages("A leukaemia, no lymphoma either.")
    (prediction,) = annotated(Annotator(taught), source)
    assert prediction.mention.text == "leukaemia"
    assert prediction.mention.type == "Illness"
    confidence = prediction.parts[0].confidence
    assert confidence is not None
    assert taught.spans is not None
    assert taught.spans.threshold < confidence <= 1
    everything = annotated(Annotator(taught, type="T"), source, threshold=0.0)
    assert [(p.mention.text, p.mention.type) for p in everything] == [
        ("leukaemia", "T"),
        ("lymphoma", "T"),
    ]
    assert annotated(Annotator(taught), source, threshold=1.0) == []


def test_what_is_learnt_is_saved(taught: Linker, tfidf: Linker, tmp_path: Path) -> None:
    source = of_passages("A leukaemia, no lymphoma either.")
    taught.save(tmp_path / "taught")
    again = Linker.load(tmp_path / "taught")
    expected = annotated(Annotator(taught), source, threshold=0.0)
    assert annotated(Annotator(again), source, threshold=0.0) == expected
    tfidf.save(tmp_path / "tfidf")
    assert not (tmp_path / "tfidf" / "spans.json").exists()
    assert Linker.load(tmp_path / "tfidf").spans is None


def test_another_finder(tfidf: Linker) -> None:
    def find(words: str) -> Iterator[FoundSpan]:
        start = words.index("louis")
        yield FoundSpan(start, start + 9, 0.4, "Eponym")
        yield FoundSpan(0, 3, 0.1, "Word")

    source = of_passages("Of louis-bar.")
    first, second = annotated(Annotator(tfidf, find), source, threshold=0.0)
    assert (second.mention.text, second.mention.type) == ("louis-bar", "Eponym")
    assert second.parts[0].confidence is not None
    assert second.parts[0].confidence <= 0.4
    assert first.mention.text == "Of "
    assert len(annotated(Annotator(tfidf, find, "Kind"), source, threshold=0.3)) <= 1


# ------------------------------------------------------------- recognisers of other packages


@pytest.mark.parametrize("spec", ["", "spacy:", "flair:x"])
def test_no_such_recogniser(spec: str) -> None:
    with pytest.raises(LinkerError):
        recognizer(spec)


@pytest.mark.parametrize("kind", ["spacy", "gliner"])
def test_not_installed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(LinkerError, match=kind):
        recognizer(f"{kind}:model")


def test_spacy(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns(
        [{"label": "DISEASE", "pattern": "gout"}, {"label": "DRUG", "pattern": "aspirin"}]
    )
    pipeline.to_disk(tmp_path / "model")
    text = "é aspirin for gout"
    disease, drug = FoundSpan(14, 18, type="DISEASE"), FoundSpan(2, 9, type="DRUG")
    assert list(recognizer(f"spacy:{tmp_path / 'model'}")(text)) == [drug, disease]
    assert list(recognizer(f"spacy:{tmp_path / 'model'}", ["DISEASE"])(text)) == [disease]
    with pytest.raises(LinkerError):
        recognizer(f"spacy:{tmp_path / 'none'}")


def test_gliner_by_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, list[str]]] = []

    class GLiNER:
        @classmethod
        def from_pretrained(cls, model: str) -> GLiNER:
            if model != "known":
                raise OSError("no such model")
            return cls()

        def predict_entities(self, text: str, labels: list[str]) -> list[dict[str, Any]]:
            asked.append((text, labels))
            at = text.find("gout")
            entity = {"start": at, "end": at + 4, "text": "gout", "label": labels[0], "score": 0.75}
            return [entity] if at >= 0 else []

    stub: Any = ModuleType("gliner")
    stub.GLiNER = GLiNER
    monkeypatch.setitem(sys.modules, "gliner", stub)
    text = "x" * 600 + ". " + "y" * 600 + " gout."
    assert list(recognizer("gliner:known")(text)) == [FoundSpan(1203, 1207, 0.75, "Disease")]
    assert [(len(part), labels) for part, labels in asked] == [
        (602, ["Disease"]),
        (606, ["Disease"]),
    ]
    assert text[1203:1207] == "gout"
    assert next(iter(recognizer("gliner:known", ["Pain"])("gout"))).type == "Pain"
    with pytest.raises(LinkerError):
        recognizer("gliner:other")


@given(st.text(st.sampled_from("ab. \n!"), max_size=40), st.integers(1, 12))
def test_windows_are_the_text(text: str, size: int) -> None:
    stretches = list(windows(text, size))
    assert "".join(text[start:end] for start, end in stretches) == text
    assert all(0 < end - start <= size for start, end in stretches)
