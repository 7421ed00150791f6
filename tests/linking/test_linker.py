"""Training, linking, saving and loading, with each encoder, on the sample dictionary."""

from __future__ import annotations

import dataclasses
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
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
    Predictions,
    Request,
    Selection,
)
from linker.ids import parse_gold
from linker.io import files, persistence
from linker.io import mentions as readers
from linker.linking.options import PRESETS, changed, preset
from linker.records import Passage
from linker.training.pipeline import train
from linker.training.plan import RunSettings

Trained = Callable[..., Linker]

QUICK: dict[str, Any] = {
    "words": {"dim": 16, "min_count": 1, "epochs": 2, "buckets": 500},
    "dan": {"hidden": 32},
    "fewshot": {"hidden": 32},
    "bne": {"hidden": 8},
    "ground": {"epochs": 2, "level": 1, "parts": 5, "shots": 0},
    "align": {"epochs": 0},
    "training": {"epochs": 2, "dictionary_queries": 40, "device": "cpu", "top_k": 8},
}
GROUND, RANK = [("ground", 1), ("ground", 2)], [("rank", 1), ("rank", 2)]
LISTS = {"loss", "gold_share", "sparse_weight"}
CASES: list[tuple[str, str, list[tuple[str, int]], set[str]]] = [
    # encoder, preset, phases of the training, and what the first epoch tells
    *(("tfidf", name, [], set()) for name in PRESETS),
    ("static", "default", [], set()),
    ("transformer", "default", RANK, LISTS),
    ("transformer", "paper-biosyn", RANK, LISTS),
    ("transformer", "paper-bcnh", RANK, {*LISTS, "norm_loss", "list_loss"}),
    ("dan", "default", GROUND + RANK, {"synonym_loss", "prototype_loss", "dev_map"}),
    ("dan-higher", "default", GROUND + RANK, {"context_loss", "between_loss", "dev_map"}),
    ("fewshot", "default", GROUND + RANK, {"synonym_loss", "between_loss", "dev_loss"}),
    *(
        (name, "default", GROUND + RANK, {"context_loss", "concept_loss", "dev_map"})
        for name in ("bne", "bne-words")
    ),
]


@pytest.fixture(scope="module")
def trained(
    dictionary: Dictionary, mentions: list[Mention], request: pytest.FixtureRequest
) -> Trained:
    """Trains a linker with an encoder and a preset, once."""

    @cache
    def make(encoder: str, name: str = "default", *, has_mentions: bool = True) -> Linker:
        values = QUICK
        if encoder not in ("tfidf", "static"):
            request.getfixturevalue("one_thread")
            pytest.importorskip("gensim")
        if encoder == "transformer":
            values = {**QUICK, encoder: {"model": str(request.getfixturevalue("tiny_bert"))}}
        elif encoder == "fewshot":
            values = {**QUICK, "ground": {**QUICK["ground"], "shots": 4}}
        if not has_mentions:
            ground = {**values["ground"], "epochs": 1}
            values = {**values, "ground": ground, "training": {"device": "cpu"}}
        return train(
            dictionary,
            encoder=encoder,
            options=changed(preset(name, encoder), values, encoder),
            mentions=mentions if has_mentions else [],
            corrections={"distrophy": "dystrophy"},
        )

    return make


@pytest.fixture
def model(tfidf: Linker) -> Linker:
    return tfidf


@pytest.fixture(scope="module")
def items(sample: Path) -> list[Mention | Document]:
    """The bundled documents and mentions."""
    files = ("sample_documents.pubtator.txt", "sample_mentions.tsv", "sample_mentions.txt")
    return [item for file in files for item in readers.read(sample.with_name(file))]


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


def gold(text: str, *concepts: str) -> Mention:
    return Mention(text, gold=parse_gold("|".join(concepts)))


# ------------------------------------------------------------------------------- each encoder


@pytest.mark.parametrize(("encoder", "name", "phases", "told"), CASES)
def test_trained_with_mentions_saved_and_loaded(
    trained: Trained,
    mentions: list[Mention],
    tmp_path: Path,
    encoder: str,
    name: str,
    phases: list[tuple[str, int]],
    told: set[str],
) -> None:
    model = trained(encoder, name)
    assert [(record["phase"], record["epoch"]) for record in model.history] == phases
    assert not phases or model.history[0].keys() >= told
    right = [
        ids(p)[0] in {i for group in p.mention.gold for i in group.ids}
        for p in model.link(mentions, threshold=0)
        if p.mention.gold
    ]
    assert np.mean(right) > 0.9
    mask = os.umask(0o022)
    try:
        model.save(folder := tmp_path / "model")
    finally:
        os.umask(mask)
    loaded = Linker.load(folder)
    assert [p.parts for p in loaded.link(mentions)] == [p.parts for p in model.link(mentions)]
    assert (loaded.options, loaded.seen, loaded.encoder) == (model.options, model.seen, encoder)
    assert loaded.describe_dictionary() == model.describe_dictionary()
    assert loaded.normalize("muscular distrophy") == "muscular dystrophy"
    assert list(loaded.history) == list(model.history)
    inside = [*folder.rglob("*")]
    suffixes = {path.suffix for path in inside if path.is_file()}
    assert suffixes <= {".npy", ".json", ".safetensors", ".jsonl", ".md", ".txt", ".png"}
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in [folder, *inside]}
    assert modes == {(False, 0o644), (True, 0o755)}
    for path in inside:  # no path of this machine
        assert path.is_dir() or str(tmp_path.parent.parent).encode() not in path.read_bytes()


@pytest.mark.parametrize(
    ("encoder", "name"),
    [
        ("dan-higher", "default"),
        ("fewshot", "default"),
        *((name, f"paper-{name}") for name in ("dan-higher", "fewshot", "bne", "bne-words")),
    ],
)
def test_trained_by_the_dictionary_alone(trained: Trained, encoder: str, name: str) -> None:
    """No lists undo what large classes taught, nor what a paper without lists says."""
    model = trained(encoder, name, has_mentions=False)
    assert {record["phase"] for record in model.history} == {"ground"}
    if name == "default":  # λ as it starts, by the scale of the dense score
        assert model.generator.sparse_weight == pytest.approx(8 / 20)  # type: ignore[attr-defined]
    best = model.link("louis-bar syndrome", threshold=0).parts[0].best
    assert best is not None
    assert np.isfinite(best.score)


def test_what_was_annotated_often_is_likelier(
    trained: Trained, dictionary: Dictionary, tiny_bert: Path
) -> None:
    """A name has 0.1 / 20 · log(1 + annotations of its concept); AD names two concepts."""
    given = [
        gold("addisons", "MESH:D000224"),
        *[gold("alzheimers", "MESH:D000544")] * 3,
        gold("two", "MESH:D000224", "MESH:D000544"),  # of several concepts: is not counted
    ]
    none = {"transformer": {"model": str(tiny_bert)}, "training": {"epochs": 0}}
    options = changed(trained("transformer").options, none)
    generator: Any = train(
        dictionary, encoder="transformer", options=options, mentions=given
    ).generator
    bias = dict(zip(generator.table.texts, generator.bias.tolist(), strict=True))
    assert bias["addisons"] == bias["addison disease"] == pytest.approx(0.005 * np.log(1 + 1))
    # the more frequent one of AD's two
    assert bias["alzheimers"] == bias["ad"] == pytest.approx(0.005 * np.log(1 + 3))
    assert {bias[name] for name in ("anemia", "amyloidosis", "als")} == {0}


@pytest.mark.parametrize(
    ("history", "best", "last"),
    [
        ([], 0, 0),
        ([("align", 1, None), ("align", 2, None)], 0, 0),
        ([("align", 1, None), ("rank", 1, None), ("rank", 2, None)], 2, 2),
        ([("rank", 1, 0.5), ("rank", 2, 0.7), ("rank", 3, 0.7), ("rank", 4, 0.1)], 2, 4),
        ([("rank", 1, 0.5), ("rank", 2, 0.4), ("refit", 1, None)], 1, 1),
        ([("rank", 1, 0.1), ("rank", 2, 0.4), ("refit", 1, None), ("refit", 2, None)], 2, 2),
    ],
)
def test_the_best_epoch(
    model: Linker, history: list[tuple[str, int, float | None]], best: int, last: int
) -> None:
    records = [
        {"phase": phase, "epoch": epoch} | ({} if acc is None else {"dev_acc1": acc})
        for phase, epoch, acc in history
    ]
    for published, expected in ((False, best), (True, last)):
        recipe = dataclasses.replace(model.options.recipe, published=published)
        options = dataclasses.replace(model.options, recipe=recipe)
        told = dataclasses.replace(model, history=records, options=options)
        assert told.best_epoch == expected


def test_more_mentions_go_on_from_the_same_grounding(
    trained: Trained, dictionary: Dictionary, tmp_path: Path
) -> None:
    """As --refit does, where the mentions bring words that the model keeps."""
    options = changed(trained("dan").options, {"training": {"epochs": 0}})
    from linker.encoders.words import WordVectors

    names = [f"rare{i}" for i in range(30_000)]
    random = np.random.default_rng(0).normal(size=(30_004, 4)).astype(np.float32)
    more: dict[str, Any] = {
        "encoder": "dan",
        "options": options,
        "words": WordVectors([*names, "cancer", "breast", "fever", "syndrome"], random),
    }
    first = train(dictionary, settings=RunSettings(tmp_path), **more)
    mentions = [gold("rare29999 cancer", "MESH:D001943")]
    resumed = RunSettings(tmp_path, resume=True)
    again = train(dictionary, mentions=mentions, settings=resumed, **more)
    assert again.history == first.history
    assert "rare29999" in again.generator.encoder.words.row  # type: ignore[attr-defined]
    assert "rare29999" not in first.generator.encoder.words.row  # type: ignore[attr-defined]


def test_mentions_become_names(dictionary: Dictionary, model: Linker) -> None:
    given = [gold("gaint sickness", "D003924")]
    learnt = train(dictionary, encoder="tfidf", mentions=given, corrections={"gaint": "giant"})
    assert learnt.seen.mentions == {"giant sickness"}
    for text in ("gaint sickness", "Giant sickness"):
        prediction = learnt.link(text, k=1)
        assert prediction.parts[0].candidates[0].score == pytest.approx(1.0)
        assert ids(prediction) == ["MESH:D003924"]
    assert len(learnt.dictionary.names) == len(dictionary.names) + 1
    assert learnt.dictionary.name(len(dictionary.names)).kind == "training"
    query = "colorectal cancers"  # the encoder is fitted without the mentions
    assert model.link(query).parts == learnt.link(query).parts


@pytest.mark.parametrize(
    ("text", "encoder"),
    [("id\tname\nA:1\t???\n", "tfidf"), ("id\tname\nA:1\tbreast cancer\n", "dan")],
)
def test_a_dictionary_that_teaches_nothing(
    trained: Trained, tmp_path: Path, text: str, encoder: str
) -> None:
    (path := tmp_path / "d.tsv").write_text(text)
    options = trained(encoder).options
    if encoder == "dan":
        options = changed(options, {"words": {"tokens": "concepts"}})
    with pytest.raises(LinkerError):
        train(Dictionary.read(path), encoder=encoder, options=options)


# ------------------------------------------------------------------------------------ linking


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
    first = model.link("Louis-Bar syndrome", k=2, also=["OMIM"]).parts[0].candidates[0]
    (other,) = first.also
    assert (first.concept_id, other.id) == ("MESH:D001260", "OMIM:208900")
    assert (other.predicate, other.source) == ("oboInOwl:hasAlternativeId", "sample_medic.tsv")
    none = model.link("Louis-Bar syndrome", k=2, threshold=1, also=["DOID"])
    assert none.parts[0].rejected.also[0].id == "DOID:12704"
    assert model.link("Louis-Bar syndrome", k=1).parts[0].candidates[0].also == ()
    with pytest.raises(LinkerError):
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
    lone = model.link("FAP", threshold=0)  # ambiguous: the least id
    assert [(*ids(p), p.parts[0].text, p.parts[0].expanded) for p in (aml, fap, lone)] == [
        ("MESH:D015470", "AML", "Acute myeloid leukaemia"),
        ("MESH:D028227", "FAP", "familial amyloid polyneuropathy"),
        ("MESH:D011125", "FAP", None),
    ]


def test_items_come_back_in_order(model: Linker, items: list[Mention | Document]) -> None:
    given = [mention for mention, _ in readers.flatten(items)]
    assert [p.mention for p in model.link(items)] == given
    pairs = list(model.link_items(items))
    expected = [item if isinstance(item, Document) else None for item in items]
    assert [document for document, _ in pairs] == expected
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
        assert [answer] == list(fresh.link_items([one.item], k=one.k, **limits))
    assert list(model.answers([])) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"within": {"under": ["X:1"]}},
        {"min_score": float("nan")},
        {"labels": ["Diagnosis", " : "]},
        {"labels": [3]},
        *({"threshold": value} for value in (float("nan"), 1.1, -0.1)),
    ],
)
def test_a_request_that_cannot_be_answered(wrong: dict[str, Any]) -> None:
    with pytest.raises(LinkerError, match=next(iter(wrong))):
        Request("cancer", **wrong)


def test_labels_are_of_each_request_and_of_no_document(model: Linker) -> None:
    text = "Father had: ataxia telangiectasia"
    document = Document("1", (Passage(text),), (Mention(text, spans=((0, len(text)),)),))
    requests = [
        Request(text, labels=["Father had"]),
        Request(text),
        Request("Father had", labels=["Father had"]),
        Request(document, labels=["Father had"]),
    ]
    labelled, as_it_is, empty, in_document = (
        predictions[0].parts[0] for _, predictions in model.answers(requests)
    )
    assert (labelled.text, labelled.assertion) == ("ataxia telangiectasia", "present")
    assert labelled.best
    assert labelled.best.concept_id == "MESH:D001260"
    assert as_it_is.assertion == "family"
    assert empty.best is None
    assert in_document == model.link(document)[0].parts[0]
    options = dataclasses.replace(model.options.text, cells=False)
    as_written = dataclasses.replace(
        model, options=dataclasses.replace(model.options, text=options)
    )
    with pytest.raises(LinkerError, match="cells=false"):
        as_written.link(text, labels=["Father had"])


def test_many_threads_link_like_one(model: Linker, items: list[Mention | Document]) -> None:
    """Eight threads link the same and other items with a linker that is new; each as one would."""
    new = lambda: model.with_ranker(None)  # noqa: E731
    shares = [[*items[i % 4 :: 4], *items[:3]] for i in range(8)]
    expected = [list(new().link(share, k=3, batch_size=2)) for share in shares]
    shared, ready = new(), threading.Barrier(8)

    def work(share: list[Mention | Document]) -> list[Prediction]:
        ready.wait()
        return list(shared.link(share, k=3, batch_size=2))

    with ThreadPoolExecutor(8) as threads:
        for _ in range(3):
            assert list(threads.map(work, shares)) == expected


def test_one_is_answered_by_one_a_collection_by_a_list_and_a_generator_by_an_iterator(
    model: Linker,
) -> None:
    one = model.link("gout")
    assert isinstance(one, Prediction)
    assert model.link(Mention("gout")) == one
    several = model.link(("gout", "phenylketonuria"))
    assert isinstance(several, Predictions)
    assert [ids(p) for p in several] == [["MESH:D006073"], ["MESH:D010661"]]
    marked = document("gout and phenylketonuria", "phenylketonuria")
    assert [ids(p) for p in model.link(marked)] == [["MESH:D010661"]]
    lazy = model.link(iter(["gout"]))
    assert next(lazy) == one
    assert next(lazy, None) is None
    assert model.link([]) == []


@pytest.mark.parametrize("wrong", [float("nan"), ["gout", None], None])
def test_what_is_no_mention_is_refused(model: Linker, wrong: Any) -> None:
    with pytest.raises(LinkerError):
        model.link(wrong)
    with pytest.raises(LinkerError):
        list(model.link_items("text"))


# ------------------------------------------------------------------------------ model folders


def test_a_part_of_a_model_is_saved(model: Linker, tmp_path: Path) -> None:
    part = model.restricted(Selection(under=("MESH:D009369",))).with_ranker(None)
    part.save(tmp_path / "model")
    loaded = Linker.load(tmp_path / "model")
    assert loaded.ranker is None
    texts = ["breast cancer", "gout"]
    assert [p.parts for p in loaded.link(texts)] == [p.parts for p in part.link(texts)]
    with pytest.raises(LinkerError):
        loaded.restricted(Selection(under=("MESH:D006073",)))


Damage = Callable[[Path], object]


def json_file(name: str, **changes: Any) -> Damage:
    """Change entries of a JSON file, those of its options alone where it has any."""

    def damage(folder: Path) -> None:
        record = persistence.load_json(folder / name)
        options = record.get("options", {}) | changes.get("options", {})
        record |= changes | ({"options": options} if options else {})
        persistence.save_json(folder / name, record)

    return damage


def array(name: str, change: Callable[[Any], Any]) -> Damage:
    return lambda folder: np.save(folder / name, change(np.load(folder / name)))


def damaged(linker: Linker, folder: Path, damage: Damage) -> Path:
    """The folder of a model that was changed after it was saved; its manifest is true."""
    linker.save(folder)
    damage(folder)
    kept = sorted(f for f in folder.rglob("*") if f.is_file() and f.name != "manifest.json")
    sums = {f.relative_to(folder).as_posix(): files.sha256(f) for f in kept}
    persistence.save_json(folder / "manifest.json", {"sha256": sums})
    return folder


def removed(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("encoder", "damage"),
    [
        ("tfidf", array("words/weight.npy", lambda w: w[1:])),
        ("tfidf", array("words/weight.npy", lambda w: w * np.float32("nan"))),
        ("tfidf", array("words/weight.npy", lambda w: w[None])),
        ("tfidf", array("words/weight.npy", lambda w: w.astype("U1"))),
        ("tfidf", array("words/is_number.npy", lambda w: w.astype(np.float32))),
        ("tfidf", array("words/heads.npy", lambda w: w - 1)),
        ("tfidf", array("words/word.data.npy", lambda w: w | 0xFF)),
        ("tfidf", array("words/hashed.npy", lambda w: w + 1)),
        ("tfidf", array("words/hashes.npy", lambda w: w[::-1])),
        ("tfidf", array("words/name.indices.npy", lambda w: w + 9999)),
        ("tfidf", array("names/hashes.npy", lambda w: w.astype(np.float64))),
        ("tfidf", removed("ranker/w.npy")),
        ("tfidf", json_file("ranker/ranker.json", columns=["score"])),
        ("tfidf", json_file("config.json", options={"ground": {"stop_by": "loss"}})),
        ("transformer", array("dense_names/vectors.npy", lambda v: v[:-1])),
        ("transformer", removed("hybrid.json")),
        ("transformer", removed("dense/model/model.safetensors")),
        ("transformer", json_file("config.json", encoder="word2vec")),
        ("transformer", lambda folder: (folder / "training.jsonl").write_text("{")),
    ],
)
def test_a_damaged_model_is_refused_by_name(
    trained: Trained, tmp_path: Path, encoder: str, damage: Damage
) -> None:
    folder = damaged(trained(encoder), tmp_path / "model", damage)
    with pytest.raises(LinkerError, match=str(folder)):
        Linker.load(folder)


def test_vectors_that_are_not_finite_are_refused_by_linking(
    trained: Trained, tmp_path: Path
) -> None:
    nan = array("dense_names/vectors.npy", lambda v: v * np.float32("nan"))
    linker = Linker.load(damaged(trained("transformer"), tmp_path / "model", nan))
    with pytest.raises(LinkerError):
        linker.link(["AIDS"])
