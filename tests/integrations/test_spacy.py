"""The component of spaCy, in real pipelines."""

from __future__ import annotations

import dataclasses
import importlib
import multiprocessing
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from linker import Document, Linker, LinkerError
from linker.io import mentions
from linker.io.outputs import joined_ids
from linker.text.find import longest

spacy = pytest.importorskip("spacy")
module = importlib.import_module("linker.integrations.spacy")

TEXT = "Ataxia telangiectasia (A-T), gout, and breast and ovarian cancer. In A-T, zzz qqq."
RULES = {
    "DISEASE": ["Ataxia telangiectasia", "A-T", "breast and ovarian cancer", "zzz qqq"],
    "OTHER": ["gout"],
}
COMPOSITE = "MESH:D001943|MESH:D010051"


@pytest.fixture(scope="module")
def linker(sample_linker: Linker) -> Linker:
    return sample_linker


@pytest.fixture(scope="module")
def model(linker: Linker, tmp_path_factory: pytest.TempPathFactory) -> str:
    linker.save(folder := tmp_path_factory.mktemp("spacy") / "model")
    return str(folder)


@pytest.fixture(scope="module")
def documents(sample: Path) -> list[Document]:
    """The annotated documents of the sample, several times; a nested mention is left out."""
    read = list(mentions.read(sample.with_name("sample_documents.pubtator.txt")))
    documents = [item for item in read if isinstance(item, Document)]
    for number, document in enumerate(documents):
        places = longest([mention.spans[0] for mention in document.mentions])
        kept = tuple(mention for mention in document.mentions if mention.spans[0] in places)
        documents[number] = dataclasses.replace(document, mentions=kept)
    return documents * 5


def pipeline(model: str, *, rules: bool = True, name: str = "linker", **config: Any) -> Any:
    nlp = spacy.blank("en")
    if rules:
        ruler = nlp.add_pipe("entity_ruler")
        ruler.add_patterns([{"label": k, "pattern": v} for k in RULES for v in RULES[k]])
    nlp.add_pipe("linker", name=name, config={"model": model, **config})
    return nlp


def marked(nlp: Any, documents: Iterable[Document]) -> list[Any]:
    """Documents of spaCy whose entities are the annotated mentions."""
    docs = []
    for document in documents:
        doc = nlp.make_doc(document.text)
        doc.ents = [doc.char_span(*m.spans[0], label="DISEASE") for m in document.mentions]
        docs.append(doc)
    return docs


def ids(spans: Iterable[Any]) -> list[tuple[str, str]]:
    return [(span.text, span.kb_id_) for span in spans]


def test_what_the_text_denies_is_an_attribute(model: str, deny: Callable[..., None]) -> None:
    deny("gout")
    doc = pipeline(model, name="diseases", ent_labels=["OTHER"])(TEXT)
    said = {ent.text: ent._.diseases_assertion for ent in doc.ents}
    assert said == dict.fromkeys(said) | {"gout": "absent"}
    assert len(said) > 1


def answers(doc: Any) -> tuple[Any, ...]:
    """All that the component wrote."""
    entities = [(ent.label_, ent._.linker, ent._.linker_json) for ent in doc.ents]
    return ids(doc.ents), entities, ids(doc.spans["linker"])


def test_entities_are_linked(model: str) -> None:
    doc = pipeline(model, k=2)(TEXT)
    assert ids(doc.ents) == [
        ("Ataxia telangiectasia", "MESH:D001260"),
        ("A-T", "MESH:D001260"),  # by the definition in the text
        ("gout", "MESH:D006073"),
        ("breast and ovarian cancer", COMPOSITE),
        ("A-T", "MESH:D001260"),
        ("zzz qqq", "NIL"),
    ]
    assert ids(doc.spans["linker"]) == ids(doc.ents)
    first = doc.ents[0]._.linker.parts[0]
    assert [len(part.candidates) for part in doc.ents[0]._.linker.parts] == [2]
    assert (first.best.name, first.confidence > 0.5) == ("Ataxia Telangiectasia", True)


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_ids_are_those_of_link_in_any_process(
    method: Any,
    linker: Linker,
    model: str,
    documents: list[Document],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # threads that a forked process does not have
    linked = linker.link_items(documents)
    expected = [[joined_ids(prediction) for prediction in found] for _, found in linked]
    nlp = pipeline(model, rules=False)
    docs = list(nlp.pipe(marked(nlp, documents)))
    assert [[ent.kb_id_ for ent in doc.ents] for doc in docs] == expected
    assert sum(map(len, expected)) == 26 * 5

    before = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method(method, force=True)
    try:
        others = list(nlp.pipe(marked(nlp, documents), n_process=2, batch_size=4))
    finally:
        multiprocessing.set_start_method(before, force=True)
    assert list(map(answers, others)) == list(map(answers, docs))


def test_names_of_the_dictionary_are_found(model: str) -> None:
    nlp = pipeline(model, find="FOUND", ent_labels=["DISEASE"])
    doc = nlp("Hereditary breast and ovarian cancer or gout, gout_asthma, (A-T)-like leukaemia.")
    nested = ("breast and ovarian cancer", COMPOSITE)  # by the ruler; nothing is found on it
    assert ids(doc.spans["linker"]) == [
        nested,
        ("gout_asthma", "MESH:D001249"),
        ("leukaemia", "MESH:D007938"),
    ]
    assert [(ent.text, ent.label_) for ent in doc.ents] == [
        (nested[0], "DISEASE"),
        ("gout", "OTHER"),
        ("gout_asthma", "FOUND"),
        ("leukaemia", "FOUND"),
    ]
    doc = pipeline(model, rules=False, find="FOUND")("Hereditary breast and ovarian cancer")
    assert ids(doc.ents) == [("Hereditary breast and ovarian cancer", "MESH:D061325")]
    assert ids(doc.spans["linker"]) == [*ids(doc.ents), nested, ("ovarian cancer", "MESH:D010051")]


def test_a_pipeline_holds_its_model(linker: Linker, tmp_path: Path) -> None:
    linker.save(tmp_path / "model")
    nlp = pipeline(str(tmp_path / "model"), find="FOUND", k=1)
    expected = answers(nlp(TEXT))
    nlp.to_disk(tmp_path / "pipeline", exclude=["linker"])
    assert answers(spacy.load(tmp_path / "pipeline")(TEXT)) == expected  # by the path

    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "model").rename(tmp_path / "gone")
    (tmp_path / "pipeline").rename(tmp_path / "moved")
    loaded = spacy.load(tmp_path / "moved")
    loaded.to_disk(tmp_path / "moved")  # over itself
    assert answers(loaded(TEXT)) == answers(spacy.load(tmp_path / "moved")(TEXT)) == expected
    assert len(Linker.load(tmp_path / "moved" / "linker").dictionary) == len(linker.dictionary)


def test_documents_are_stored_with_their_answers(model: str) -> None:
    nlp = pipeline(model, find="FOUND")
    doc = nlp("Hereditary breast and ovarian cancer. " + TEXT)
    stored = spacy.tokens.DocBin(docs=[doc], store_user_data=True).to_bytes()
    (back,) = spacy.tokens.DocBin().from_bytes(stored).get_docs(nlp.vocab)
    assert answers(back) == answers(doc)


def test_errors_can_be_mended(model: str) -> None:
    with pytest.raises(LinkerError):
        pipeline("nowhere")(TEXT)
    with pytest.raises(LinkerError, match="MESH:D0"):
        pipeline(model, under=["MESH:D0"])(TEXT)
    with pytest.raises(LinkerError, match="k is 0"):
        pipeline(model, k=0)(TEXT)
    with pytest.raises(LinkerError):
        list(pipeline(model, threshold=2.0).pipe([TEXT, "gout"]))


def test_spacy_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy.language", None)
    monkeypatch.delitem(sys.modules, module.__name__)
    with pytest.raises(LinkerError):
        importlib.import_module(module.__name__)
