"""The second stage: what it reads, what that does to a ranking, what it learns from."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from linker import Dictionary, persistence  # noqa: E402
from linker.candidates.base import Ranked  # noqa: E402
from linker.candidates.hybrid import HybridGenerator  # noqa: E402
from linker.candidates.sparse import SparseGenerator  # noqa: E402
from linker.encoders.tfidf import TfidfEncoder, TfidfOptions  # noqa: E402
from linker.encoders.transformer import TransformerEncoder, TransformerOptions  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.options import AlignOptions  # noqa: E402
from linker.ranker.lists import Query  # noqa: E402
from linker.ranker.options import RerankOptions, TrainingOptions  # noqa: E402
from linker.ranker.rerank import Reranker  # noqa: E402
from linker.training.rerank import check, fit  # noqa: E402
from linker.training.train import Material, Run  # noqa: E402

NAMES = """id\tname\tsynonyms\tparents
D:0\tDisease\tIllness\t
D:1\tNeoplasms\tTumor|Mass\tD:0
D:2\tLymphoma\tGerminoblastoma\tD:1
D:3\tBurkitt Lymphoma\tBurkitt Tumor|Mass\tD:2|D:4
D:4\tVirus Diseases\t\tD:0
D:5\tFever\tPyrexia\tD:0
"""


pytestmark = pytest.mark.usefixtures("one_thread", "no_accelerator_state")


@pytest.fixture(scope="module")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Dictionary:
    path = tmp_path_factory.mktemp("rerank") / "names.tsv"
    path.write_text(NAMES, encoding="utf-8")
    return Dictionary.read(path)


class Knowing:
    """Stands for a cross-encoder: a text has the score of the first part that it holds."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.scores, self.read = scores, []

    def join(self, *texts: str) -> str:
        return " / ".join(filter(None, texts))

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.read += texts
        return np.array(
            [[next((s for part, s in self.scores.items() if part in text), 0.0)] for text in texts],
            np.float32,
        ).reshape(-1, 1)


class Ranking:
    """Stands for a first stage: always the same ranking, of concepts or of names."""

    def __init__(
        self,
        dictionary: Dictionary,
        concepts: Sequence[tuple[int, float]] = (),
        names: Sequence[tuple[str, float]] = (),
    ) -> None:
        self.table, self.asked = dictionary.table(str.lower), []
        rows, scores = (
            [row for row, _ in concepts],
            np.array([score for _, score in concepts], np.float32),
        )
        entries = [list(dictionary.name_concept).index(row) for row in rows]  # preferred names
        self.ranked = Ranked(
            np.array(rows, np.int32), np.array(entries, np.int32), scores, scores / 2, scores / 4
        )
        texts = list(self.table.texts)
        self.hits = (
            np.array([texts.index(name) for name, _ in names], np.int32),
            np.array([score for _, score in names], np.float32),
        )

    def concepts(self, queries: Sequence[str], k: int) -> list[Ranked]:
        self.asked.append((len(queries), k))
        return [self.ranked[:k] if query else self.ranked[:0] for query in queries]

    def names(self, queries: Sequence[str], k: int) -> list[tuple[Any, Any]]:
        return [(self.hits[0][:k], self.hits[1][:k]) for _ in queries]


def reranker(
    dictionary: Dictionary,
    generator: Ranking,
    scores: Mapping[str, float],
    weight: float = 0.1,
    **options: int,
) -> Any:
    return Reranker(generator, Knowing(scores), dictionary, RerankOptions(**options), weight)  # type: ignore[arg-type]


def test_what_is_read_of_a_candidate(dictionary: Dictionary) -> None:
    made = reranker(dictionary, Ranking(dictionary), {})
    burkitt = list(dictionary.names).index("Burkitt Tumor")
    assert (
        made.read("bl", "with BL and", 3, burkitt)
        == "bl / Burkitt Tumor | Burkitt Lymphoma | Lymphoma , Virus Diseases / with BL and"
    )
    assert (
        made.read("x", "", 4, burkitt) == "x / Burkitt Tumor | Virus Diseases"
    )  # the root is left out
    assert (
        reranker(dictionary, Ranking(dictionary), {}, parents=1).read("x", "", 3, 0)
        == "x / Disease | Burkitt Lymphoma | Lymphoma"
    )


def test_concepts_lose_what_they_read_worse_than_the_best(dictionary: Dictionary) -> None:
    """Scores of the second stage 0, 3 and 1: by a tenth of the distance to 3."""
    first = Ranking(dictionary, [(5, 0.9), (2, 0.8), (1, 0.7), (4, 0.75)])
    made = reranker(dictionary, first, {"Lymphoma": 3.0, "Neoplasms": 1.0}, candidates=3)
    (ranked,) = made.concepts([("q", "")], 4)
    scores = {
        2: 0.8,
        5: 0.9 - 0.1 * 3,
        1: 0.7 - 0.1 * 2,
        4: 0.75 - 0.1 * 3,
    }  # the fourth was not read, and loses the most
    assert ranked.concepts.tolist() == [2, 5, 1, 4]
    assert ranked.scores.tolist() == pytest.approx(sorted(scores.values(), reverse=True))
    assert ranked.sparse is not None
    assert ranked.dense is not None
    assert ranked.sparse.tolist() == pytest.approx(
        [0.4, 0.45, 0.35, 0.375]
    )  # parts stay with their concept
    assert ranked.dense.tolist() == pytest.approx([0.2, 0.225, 0.175, 0.1875])
    assert [dictionary.names[entry] for entry in ranked.entries] == [
        "Lymphoma",
        "Fever",
        "Neoplasms",
        "Virus Diseases",
    ]
    assert len(made.encoder.read) == 3


def test_more_candidates_are_read_than_asked_for(dictionary: Dictionary) -> None:
    first = Ranking(dictionary, [(5, 0.9), (2, 0.8)])
    (ranked,) = reranker(dictionary, first, {"Lymphoma": 9.0}, candidates=4).concepts(
        [("q", "")], 1
    )
    assert (first.asked, ranked.concepts.tolist()) == ([(1, 4)], [2])


def test_equal_scores_keep_their_order(dictionary: Dictionary) -> None:
    first = Ranking(dictionary, [(5, 0.5), (2, 0.5), (1, 0.5)])
    (ranked,) = reranker(dictionary, first, {}).concepts([("q", "")], 3)
    assert ranked.concepts.tolist() == [5, 2, 1]


def test_queries_without_candidates(dictionary: Dictionary) -> None:
    made = reranker(dictionary, Ranking(dictionary, [(5, 0.9), (2, 0.8)]), {"Lymphoma": 9.0})
    nothing, some = made.concepts([("", "around"), ("q", "around")], 2)
    assert (nothing.concepts.tolist(), some.concepts.tolist()) == ([], [2, 5])
    assert all(text.endswith(" / around") for text in made.encoder.read)
    assert made.concepts([], 2) == []


def test_the_first_stage_ranks_each_name_once(dictionary: Dictionary) -> None:
    first = Ranking(dictionary, [(5, 0.9), (2, 0.8)])
    made = reranker(dictionary, first, {"here": 1.0})
    here, there, again = made.concepts([("q", "here"), ("q", "there"), ("p", "here")], 2)
    assert first.asked == [(2, 10)]
    assert [r.concepts.tolist() for r in (here, there, again)] == [[5, 2]] * 3
    assert len(made.encoder.read) == 6


def test_as_many_candidates_are_read_whatever_is_asked_for(dictionary: Dictionary) -> None:
    first = Ranking(dictionary, names=[("tumor", 0.9), ("lymphoma", 0.8), ("fever", 0.7)])
    made = reranker(dictionary, first, {"Fever": 9.0}, candidates=3)
    for k in (1, 2, 3):
        ((rows, _),) = made.names([("q", "")], k)
        assert [made.generator.table.texts[row] for row in rows] == ["fever", "tumor", "lymphoma"][
            :k
        ]


def test_names_lose_with_their_concepts(dictionary: Dictionary) -> None:
    """Of the two concepts of "mass" the one that loses less counts; a concept that is not read loses as the worst."""
    first = Ranking(
        dictionary,
        names=[
            ("mass", 0.9),
            ("tumor", 0.85),
            ("burkitt tumor", 0.8),
            ("pyrexia", 0.78),
            ("lymphoma", 0.7),
        ],
    )
    made = reranker(dictionary, first, {"Burkitt": 2.0, "Fever": 1.0}, candidates=3)
    ((rows, scores),) = made.names([("q", "")], 4)
    assert [made.generator.table.texts[row] for row in rows] == [
        "mass",
        "burkitt tumor",
        "pyrexia",
        "tumor",
    ]
    assert scores.tolist() == pytest.approx([0.9, 0.8, 0.78 - 0.1, 0.85 - 0.2])
    assert [text.split(" / ")[1].split(" | ")[:2] for text in made.encoder.read] == [
        ["Mass", "Neoplasms"],
        ["Mass", "Burkitt Lymphoma"],
        ["Pyrexia", "Fever"],
    ]


# --------------------------------------------------------------------------------------------------------------- training


@pytest.fixture(scope="module")
def encoder(tiny_bert: Path) -> TransformerEncoder:
    return TransformerEncoder.pretrained(TransformerOptions(model=str(tiny_bert)))


@pytest.fixture(scope="module")
def material(dictionary: Dictionary) -> Material:
    table = dictionary.table(str.lower)
    sparse = TfidfEncoder(TfidfOptions())
    sparse.fit(list(table.texts))
    indexed = SparseGenerator.index(table, dictionary, sparse)
    return Material(None, dictionary, indexed, indexed)


@pytest.fixture(scope="module")
def generator(material: Material, encoder: TransformerEncoder) -> HybridGenerator:
    return HybridGenerator.index(material.indexed, encoder, 1.0)


CONTEXTS = {
    Query("lymphomas", frozenset({"D:2"})): ["a lymphomas b", "c lymphomas d"],
    Query("mass lymph", frozenset({"D:3"})): [""],
    Query("fever", frozenset({"D:5"})): ["its own name"],
    Query("unknown", frozenset({"D:99"})): ["nowhere"],
}


def how(checkpoints: Path | None = None, resume: bool = False, **options: Any) -> Run:
    training = TrainingOptions(device="cpu", precision="fp32")
    chosen = {
        "epochs": 2,
        "max_length": 48,
        "batch_size": 1,
        "learning_rate": 1e-3,
        "head_learning_rate": 1e-2,
    } | options
    return Run(
        training, AlignOptions(epochs=0), checkpoints, resume, rerank=RerankOptions(**chosen)
    )


def test_it_learns_the_lists_that_have_something_to_learn(
    generator: HybridGenerator,
    material: Material,
    dictionary: Dictionary,
    encoder: TransformerEncoder,
) -> None:
    """Two lists: "fever" is a name of its concept already, and the concept of "unknown" is not there."""
    before = encoder.encode(["lymphoma"]).tolist()
    made, history = fit(generator, material, dictionary, CONTEXTS, how(epochs=40))
    assert [(record["phase"], record["epoch"]) for record in history] == [
        ("rank-rerank", epoch) for epoch in range(1, 41)
    ]
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1]["right_first"] == 1
    assert made.weight == pytest.approx(0.1 / 20)
    first, second = made.concepts([("lymphomas", "a lymphomas b"), ("mass lymph", "")], 1)
    assert (first.concepts.tolist(), second.concepts.tolist()) == ([2], [3])
    assert encoder.encode(["lymphoma"]).tolist() == before


def test_a_batch_reads_one_context_of_each_query(
    generator: HybridGenerator,
    material: Material,
    dictionary: Dictionary,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[tuple[str, str]] = []
    original = Reranker.read
    monkeypatch.setattr(
        Reranker,
        "read",
        lambda self, query, around, *one: (
            read.append((query, around)) or original(self, query, around, *one)
        ),
    )
    fit(generator, material, dictionary, CONTEXTS, how(epochs=1, candidates=4))
    assert {query for query, _ in read} == {"lymphomas", "mass lymph"}
    assert [
        len([1 for query, _ in read if query == wanted]) for wanted in ("lymphomas", "mass lymph")
    ] == [4, 4]
    assert len({around for query, around in read if query == "lymphomas"}) == 1


def scores(made: Reranker) -> list[float]:
    return [
        float(score)
        for ranked in made.concepts([("lymphomas", "x"), ("mass", "y")], 6)
        for score in ranked.scores
    ]


def test_an_interrupted_training_goes_on(
    generator: HybridGenerator, material: Material, dictionary: Dictionary, tmp_path: Path
) -> None:
    whole, history = fit(generator, material, dictionary, CONTEXTS, how())

    def stop(event: Any) -> None:
        if isinstance(event, dict):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(
            generator,
            material,
            dictionary,
            CONTEXTS,
            dataclasses.replace(how(tmp_path), on_event=stop),
        )
    assert (tmp_path / "rank-rerank").is_dir()
    resumed, again = fit(generator, material, dictionary, CONTEXTS, how(tmp_path, resume=True))
    assert again == history
    assert scores(resumed) == scores(whole)
    with pytest.raises(
        LinkerError, match=r"the checkpoint is of another training: rerank\.words \(then 8, now 3\)"
    ):
        fit(generator, material, dictionary, CONTEXTS, how(tmp_path, resume=True, words=3))
    with pytest.raises(LinkerError, match="the checkpoint is of another training: contexts "):
        fit(
            generator,
            material,
            dictionary,
            {query: ["elsewhere"] for query in CONTEXTS},
            how(tmp_path, resume=True),
        )
    other = HybridGenerator(generator.sparse, changed(generator.encoder), generator.vectors, 1.0)
    with pytest.raises(LinkerError, match="the checkpoint is of another training: first_stage "):
        fit(other, material, dictionary, CONTEXTS, how(tmp_path, resume=True))


def changed(encoder: Any) -> TransformerEncoder:
    """A copy with another weight."""
    other: TransformerEncoder = copy.deepcopy(encoder)
    with torch.no_grad():
        next(other.parameters()).add_(1)
    return other


def test_broken_weights_are_not_kept(
    generator: HybridGenerator,
    material: Material,
    dictionary: Dictionary,
    tmp_path: Path,
) -> None:
    """One step at a rate that leaves no number finite."""
    broken = how(tmp_path, epochs=1, batch_size=2)
    for rate in ("learning_rate", "head_learning_rate"):
        object.__setattr__(broken.rerank, rate, 1e30)  # beyond its range
    with pytest.raises(LinkerError, match="scores that are not finite; training stopped"):
        fit(generator, material, dictionary, CONTEXTS, broken)
    made = Reranker(generator, Knowing({"": float("nan")}), dictionary, RerankOptions(), 0.1)  # type: ignore[arg-type]
    with pytest.raises(
        LinkerError, match="scores that are not finite; its weights are damaged, train again"
    ):
        made.concepts([("fever", "")], 1)


def test_nothing_to_learn_from(
    generator: HybridGenerator, material: Material, dictionary: Dictionary
) -> None:
    lonely = {
        query: around for query, around in CONTEXTS.items() if query.text in ("fever", "unknown")
    }
    with pytest.raises(
        LinkerError,
        match="nothing to learn from: no mention has a right candidate that is not its own name",
    ):
        fit(generator, material, dictionary, lonely, how())


def test_what_it_starts_from(encoder: TransformerEncoder) -> None:
    assert check(encoder, RerankOptions(max_length=64), CONTEXTS) == (encoder, CONTEXTS)
    with pytest.raises(
        LinkerError,
        match=r"reads at most 64 tokens; rerank\.max_length is 96, set it to 64 or less",
    ):
        check(encoder, RerankOptions(), CONTEXTS)
    with pytest.raises(
        LinkerError, match=r"a second stage \(rerank\.epochs\) starts from a transformer"
    ):
        check(SimpleNamespace(), RerankOptions(), CONTEXTS)  # type: ignore[arg-type]
    with pytest.raises(
        LinkerError,
        match="learns from annotated mentions of one concept; give some, or leave it out",
    ):
        check(encoder, RerankOptions(max_length=64), None)
    with pytest.raises(LinkerError, match=r"rerank\.weight is inf; expected: 0 to 1000000"):
        RerankOptions(weight=float("inf"))


def test_saving_and_loading(
    generator: HybridGenerator, material: Material, dictionary: Dictionary, tmp_path: Path
) -> None:
    made, _ = fit(generator, material, dictionary, CONTEXTS, how(epochs=1))
    made.save(tmp_path)
    assert scores(Reranker.load(tmp_path, generator, dictionary, made.options)) == scores(made)


@pytest.mark.parametrize("weight", ["0.1", None, float("nan"), True])
def test_a_changed_weight(
    generator: HybridGenerator,
    material: Material,
    dictionary: Dictionary,
    tmp_path: Path,
    weight: object,
) -> None:
    fit(generator, material, dictionary, CONTEXTS, how(epochs=1))[0].save(tmp_path)
    (tmp_path / "rerank.json").write_text(json.dumps({"weight": weight}), encoding="utf-8")
    with pytest.raises(
        LinkerError, match=r"rerank\.json: weight is .*; expected: a number; train again"
    ):
        Reranker.load(tmp_path, generator, dictionary, RerankOptions())
    assert persistence.load_json(tmp_path / "options.json")["max_length"] == 48
