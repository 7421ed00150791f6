"""Training, linking, saving and loading on the sample dictionary."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linker import (
    Dictionary,
    Document,
    Linker,
    LinkerError,
    Mention,
    Prediction,
    Request,
    Selection,
)
from linker.ids import parse_gold
from linker.io import files, mentions, persistence
from linker.linking.options import PRESETS, preset
from linker.linking.predictions import Predictions
from linker.records import Passage
from linker.training.pipeline import train


@pytest.fixture
def model(tfidf: Linker) -> Linker:
    return tfidf


@pytest.fixture(scope="module")
def items(sample: Path) -> list[Mention | Document]:
    """The bundled documents and mentions."""
    files = ("sample_documents.pubtator.txt", "sample_mentions.tsv", "sample_mentions.txt")
    return [item for file in files for item in mentions.read(sample.with_name(file))]


def ids(prediction: Prediction) -> list[str | None]:
    return [part.best.concept_id if part.best else None for part in prediction.parts]


def document(text: str, *names: str) -> Document:
    """A document of one passage with the first occurrence of each name as a mention."""
    starts = [text.index(name) for name in names]
    found = tuple(
        Mention(name, ((start, start + len(name)),))
        for name, start in zip(names, starts, strict=True)
    )
    return Document("1", (Passage(text),), found)


# ------------------------------------------------------------------------------------------------------------- linking


@pytest.mark.parametrize(
    ("mention", "concept"),
    [
        ("Louis-Bar syndrome", "MESH:D001260"),  # a synonym
        ("ATAXIA TELANGIECTASIA", "MESH:D001260"),  # the preferred name in another case
        ("Sjögren’s syndrome", "MESH:D012859"),  # accents and quotes
        ("beta-thalassaemia", "MESH:D017086"),  # a Greek letter spelt out
        ("phenylketonurea", "MESH:D010661"),  # misspelt
    ],
)
def test_known_mentions_give_known_ids(model: Linker, mention: str, concept: str) -> None:
    assert [ids(p) for p in model.link([mention])] == [[concept]]


def test_other_ids_of_candidates(model: Linker) -> None:
    (prediction,) = model.link(["Louis-Bar syndrome"], k=2, also=["OMIM"])
    first = prediction.parts[0].candidates[0]
    (other,) = first.also
    assert (first.concept_id, other.id) == ("MESH:D001260", "OMIM:208900")
    assert (other.predicate, other.source) == ("oboInOwl:hasAlternativeId", "sample_medic.tsv")
    (none,) = model.link(["Louis-Bar syndrome"], k=2, threshold=1, also=["DOID"])
    assert none.parts[0].rejected
    assert none.parts[0].rejected.also[0].id == "DOID:12704"
    (plain,) = model.link(["Louis-Bar syndrome"], k=1)
    assert plain.parts[0].candidates[0].also == ()
    with pytest.raises(LinkerError, match="no concept has a reference to 'MONDO', but to "):
        next(model.link(iter(()), also=["MONDO"]))


def test_composites_give_a_part_for_each_name(model: Linker) -> None:
    texts = ["breast and ovarian cancer", "hepatitis B/C", "deficiency of C5, C6 and C7"]
    texts.append("hereditary breast and ovarian cancer")  # is a name itself
    predictions = list(model.link(texts))
    assert [ids(p) for p in predictions] == [
        ["MESH:D001943", "MESH:D010051"],
        ["MESH:D006509", "MESH:D006526"],
        ["MESH:C537005", "MESH:C567307", "MESH:C566443"],
        ["MESH:D061325"],
    ]
    assert [part.text for part in predictions[0].parts] == ["breast cancer", "ovarian cancer"]


def test_short_forms_are_those_of_the_document(model: Linker) -> None:
    text = (
        "Acute myeloid leukaemia (AML) and familial amyloid polyneuropathy (FAP). FAP came first."
    )
    aml, fap = model.link([document(text, "AML", "FAP")])
    (lone,) = model.link(["FAP"], threshold=0)  # ambiguous: the least id
    assert [(*ids(p), p.parts[0].text, p.parts[0].expanded) for p in (aml, fap, lone)] == [
        ("MESH:D015470", "AML", "Acute myeloid leukaemia"),
        ("MESH:D028227", "FAP", "familial amyloid polyneuropathy"),
        ("MESH:D011125", "FAP", None),
    ]


def test_items_come_back_in_order(model: Linker, items: list[Mention | Document]) -> None:
    given = [mention for mention, _ in mentions.flatten(items)]
    assert [p.mention for p in model.link(items)] == given
    pairs = list(model.link_items(items))
    assert [document for document, _ in pairs] == [
        item if isinstance(item, Document) else None for item in items
    ]
    assert [p for _, predictions in pairs for p in predictions] == list(model.link(items))


def test_k_concepts_each_once_best_first(model: Linker) -> None:
    lists = {k: model.link("leukaemia", k=k).parts[0].candidates for k in (1, 5, 50)}
    for k, candidates in lists.items():
        assert len({c.concept_id for c in candidates}) == len(candidates) == k
        confidences = [c.confidence for c in candidates]
        assert confidences == sorted(confidences, reverse=True)
        assert candidates == lists[50][:k]


def test_input_is_read_a_batch_at_a_time(model: Linker) -> None:
    taken = itertools.count()

    def endless() -> Iterator[str]:
        for _ in taken:
            yield "breast cancer"

    assert len(list(itertools.islice(model.link(endless(), k=1), 10))) == 10
    assert next(taken) <= 1025


def test_requests_in_a_batch_are_answered_like_each_alone(
    model: Linker, items: list[Mention | Document]
) -> None:
    wanted = itertools.cycle(
        [(1, None, None), (5, 0.5, None), (30, None, 0.8), (2, 0.0, 0.0), (5, None, 2.0)]
    )
    requests = [Request(item, *one) for item, one in zip(items, wanted, strict=False)]
    answers = list(model.answers(requests))
    assert len(answers) == len(items)
    for one, answer in zip(requests, answers, strict=True):
        fresh = model.with_ranker(model.ranker)  # with empty caches
        limits: dict[str, Any] = {"threshold": one.threshold, "min_score": one.min_score}
        alone = list(fresh.link_items([one.item], k=one.k, **limits))
        assert [answer] == alone
    assert list(model.answers([])) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "k is 0; expected: 1 or more"),
        ({"within": {"under": ["X:1"]}}, "within is a dict; expected: a Selection, such as"),
        ({"min_score": float("nan")}, "not a number"),
        ({"threshold": float("nan")}, "nan; expected: a confidence from 0 to 1"),
        ({"threshold": 1.1}, "1.1; expected: a confidence from 0 to 1"),
        ({"threshold": -0.1}, "-0.1; expected: a confidence from 0 to 1"),
    ],
)
def test_a_request_that_cannot_be_answered(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(LinkerError, match=message):
        Request("cancer", **wrong)


def test_many_threads_link_like_one(model: Linker, items: list[Mention | Document]) -> None:
    """Eight threads link the same and other items with a linker that is new; each as one would."""
    new = lambda: Linker(  # noqa: E731
        model.dictionary, model.generator, model.options, model.seen, {}, model.encoder
    )
    shares = [[*items[i % 4 :: 4], *items[:3]] for i in range(8)]
    expected = [list(new().link(share, k=3, batch_size=2)) for share in shares]
    shared, ready = new(), threading.Barrier(8)

    def work(share: list[Mention | Document]) -> list[Prediction]:
        ready.wait()
        return list(shared.link(share, k=3, batch_size=2))

    with ThreadPoolExecutor(8) as threads:
        for _ in range(3):
            assert list(threads.map(work, shares)) == expected


# ------------------------------------------------------------------------------------------------------------ training


def test_mentions_become_names(dictionary: Dictionary, model: Linker) -> None:
    trained = train(
        dictionary, encoder="tfidf", mentions=[Mention("sugar trouble", gold=parse_gold("D003924"))]
    )
    assert ids(trained.link("Sugar trouble")) == ["MESH:D003924"]
    assert len(trained.dictionary.names) == len(dictionary.names) + 1
    assert trained.dictionary.name(len(dictionary.names)).kind == "training"
    query = "colorectal cancers"  # the encoder is fitted without the mentions
    assert model.link(query).parts == trained.link(query).parts


def test_corrections_reach_mentions_training_names_and_seen(dictionary: Dictionary) -> None:
    given = [Mention("gaint sickness", gold=parse_gold("D003924"))]
    trained = train(dictionary, encoder="tfidf", mentions=given, corrections={"gaint": "giant"})
    assert trained.normalize("Gaint sickness") == "giant sickness"
    assert trained.seen.mentions == {"giant sickness"}
    for text in ("gaint sickness", "giant sickness"):
        (prediction,) = trained.link([text], k=1)
        assert prediction.parts[0].candidates[0].score == pytest.approx(1.0)
        assert ids(prediction) == ["MESH:D003924"]


def test_names_of_signs_alone_cannot_be_linked_to(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text("id\tname\nA:1\t???\n")
    message = "no name of the dictionary is left once normalised; check normalize.punctuation"
    with pytest.raises(LinkerError, match=message):
        train(Dictionary.read(path), encoder="tfidf")


# ------------------------------------------------------------------------------------------------------ saving, loading


@pytest.mark.parametrize("name", PRESETS)
def test_a_loaded_model_answers_the_same(
    dictionary: Dictionary, items: list[Mention | Document], sample: Path, tmp_path: Path, name: str
) -> None:
    given = list(mentions.read(sample.with_name("sample_documents.pubtator.txt")))
    trained = train(
        dictionary,
        encoder="tfidf",
        mentions=given,
        options=preset(name),
        corrections={"distrophy": "dystrophy"},
    )
    trained.save(tmp_path / "model")
    loaded = Linker.load(tmp_path / "model")
    assert list(loaded.link(items, k=7)) == list(trained.link(items, k=7))
    assert (loaded.options, loaded.seen, loaded.encoder) == (trained.options, trained.seen, "tfidf")
    assert loaded.normalize("muscular distrophy") == "muscular dystrophy"
    assert loaded.describe_dictionary() == trained.describe_dictionary()


def test_one_is_answered_by_one_a_collection_by_a_list_and_a_generator_by_an_iterator(
    model: Linker,
) -> None:
    text = "gout and phenylketonuria"
    one = model.link("gout")
    assert isinstance(one, Prediction)
    assert model.link(Mention("gout")) == one
    several = model.link(("gout", "phenylketonuria"))
    assert isinstance(several, Predictions)
    assert [ids(p) for p in several] == [["MESH:D006073"], ["MESH:D010661"]]
    assert [ids(p) for p in model.link(document(text, "phenylketonuria"))] == [["MESH:D010661"]]
    lazy = model.link(iter(["gout"]))
    assert next(lazy) == one
    assert next(lazy, None) is None
    assert model.link([]) == []


@pytest.mark.parametrize("wrong", [float("nan"), ["gout", None], None])
def test_what_is_no_mention_is_refused(model: Linker, wrong: Any) -> None:
    message = "^(nan|None) cannot be linked; give texts, Mention or Document records$"
    with pytest.raises(LinkerError, match=message):
        model.link(wrong)
    with pytest.raises(LinkerError, match="one str was given where a list of them is expected"):
        list(model.link_items("text"))


# ---------------------------------------------------------------------------------------------- several dictionaries in one

SEVERAL = (
    "id\tname\tsynonyms",
    "A:1\theart attack\tinfarction",
    "B:1\tInfarction of the heart\theart attack",
    "B:2\theart and kidney disease\t",
    "b:3\tkidney disease\t",
    "A:2\theart disease\t",
    "A:3\tkidney disease\t",
)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    path = tmp_path_factory.mktemp("several") / "d.tsv"
    path.write_text("\n".join(SEVERAL) + "\n")
    return train(Dictionary.read(path), encoder="tfidf")


def found(linker: Linker, text: str, k: int = 1) -> list[list[str]]:
    return [
        [c.concept_id for c in part.candidates]
        for p in linker.link([text], k=k, threshold=0)
        for part in p.parts
    ]


def test_a_restricted_model_can_be_saved(several: Linker, tmp_path: Path) -> None:
    several.restricted(Selection(namespaces=("B",))).save(tmp_path / "model")
    loaded = Linker.load(tmp_path / "model")
    assert found(loaded, "heart attack") == [["B:1"]]
    with pytest.raises(LinkerError, match="no concept with the prefix A; it has: B"):
        loaded.restricted(Selection(namespaces=("A",)))


def test_words_that_do_not_fit_are_refused(model: Linker, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    model.save(folder)
    path = folder / "words" / "weight.npy"
    np.save(path, np.load(path)[1:])
    with pytest.raises(LinkerError, match="train it again"):
        Linker.load(signed(folder))


def signed(folder: Path) -> Path:
    """Make the manifest of a changed folder true."""
    path = folder / "manifest.json"
    sums = persistence.load_json(path)["sha256"]
    names = {name for name in sums if (folder / name).is_file()}
    persistence.save_json(path, {"sha256": {n: files.sha256(folder / n) for n in sorted(names)}})
    return folder


@pytest.mark.parametrize("content", [None, '{"columns": ["score"]}'])
def test_a_damaged_ranker_with_a_true_manifest_is_named(
    model: Linker, tmp_path: Path, content: str | None
) -> None:
    folder = tmp_path / "model"
    model.save(folder)
    if content is None:
        (folder / "ranker" / "w.npy").unlink()
    else:
        (folder / "ranker" / "ranker.json").write_text(content)
    with pytest.raises(LinkerError, match=str(folder)):
        Linker.load(signed(folder))


def test_a_model_without_a_ranker_stays_without(model: Linker, tmp_path: Path) -> None:
    model.with_ranker(None).save(tmp_path / "m")
    assert Linker.load(tmp_path / "m").ranker is None


def test_a_model_of_another_release_is_refused(model: Linker, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    model.save(folder)
    config = persistence.load_json(folder / "config.json")
    config["options"]["ground"]["stop_by"] = "loss"
    persistence.save_json(folder / "config.json", config)
    with pytest.raises(LinkerError) as error:
        Linker.load(signed(folder))
    assert str(error.value) == (
        f"{folder}: is a model of another release (there is no option ground.stop_by); "
        "train it again (linker train --dict FILE -o DIR)"
    )
