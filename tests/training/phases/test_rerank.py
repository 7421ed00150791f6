"""The phase of the second stage: what it starts from, what it learns, how it is resumed."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from linker import Dictionary  # noqa: E402
from linker.candidates.hybrid import HybridGenerator  # noqa: E402
from linker.candidates.sparse import SparseGenerator  # noqa: E402
from linker.encoders.tfidf import TfidfEncoder, TfidfOptions  # noqa: E402
from linker.encoders.transformer import TransformerOptions  # noqa: E402
from linker.encoders.transformer_training import TrainableTransformer  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.options import AlignOptions, LinkerOptions  # noqa: E402
from linker.ranker.lists import Query  # noqa: E402
from linker.ranker.options import RerankOptions, TrainingOptions  # noqa: E402
from linker.ranker.rerank import Contexts, Reranker  # noqa: E402
from linker.training.data import TrainingData  # noqa: E402
from linker.training.phases.rerank import check  # noqa: E402
from linker.training.settings import Record, RunSettings  # noqa: E402
from linker.types import Lookup  # noqa: E402

from ..small import Setup, train  # noqa: E402

NAMES = """id\tname\tsynonyms\tparents
D:0\tDisease\tIllness\t
D:1\tNeoplasms\tTumor|Mass\tD:0
D:2\tLymphoma\tGerminoblastoma\tD:1
D:3\tBurkitt Lymphoma\tBurkitt Tumor|Mass\tD:2|D:4
D:4\tVirus Diseases\t\tD:0
D:5\tFever\tPyrexia\tD:0
"""
CONTEXTS = {
    Query("lymphomas", frozenset({"D:2"})): ["a lymphomas b", "c lymphomas d"],
    Query("mass lymph", frozenset({"D:3"})): [""],
    Query("fever", frozenset({"D:5"})): ["its own name"],
    Query("unknown", frozenset({"D:99"})): ["nowhere"],
}

pytestmark = pytest.mark.usefixtures("one_thread", "no_accelerator_state")


@pytest.fixture(scope="module")
def encoder(tiny_bert: Path) -> TrainableTransformer:
    return TrainableTransformer.pretrained(TransformerOptions(model=str(tiny_bert)))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> TrainingData:
    path = tmp_path_factory.mktemp("rerank") / "names.tsv"
    path.write_text(NAMES, encoding="utf-8")
    dictionary = Dictionary.read(path)
    table = dictionary.table(str.lower)
    sparse = TfidfEncoder(TfidfOptions())
    sparse.fit(list(table.texts))
    indexed = SparseGenerator.index(table, dictionary, sparse)
    return with_contexts(TrainingData(dictionary, dictionary, indexed, (), str.lower), CONTEXTS)


def with_contexts(data: TrainingData, contexts: Contexts | None) -> TrainingData:
    """The same, as if its mentions gave these queries."""
    other = dataclasses.replace(data)
    vars(other)["contexts"] = contexts
    return other


def second_stage(checkpoints: Path | None = None, resume: bool = False, **options: Any) -> Setup:
    """Settings of a training of the second stage alone, with λ 1."""
    chosen = {
        "epochs": 2,
        "max_length": 48,
        "batch_size": 1,
        "learning_rate": 1e-3,
        "head_learning_rate": 1e-2,
    } | options
    return Setup(
        LinkerOptions(
            align=AlignOptions(epochs=0),
            training=TrainingOptions(
                epochs=0, sparse_weight=20, frequency_weight=0, device="cpu", precision="fp32"
            ),
            rerank=RerankOptions(**chosen),
        ),
        RunSettings(checkpoints, resume),
    )


def fit(
    encoder: TrainableTransformer, data: TrainingData, setup: Setup
) -> tuple[Reranker, list[Record]]:
    trained = train(encoder, data, setup)
    assert isinstance(trained.ranker, Reranker)
    assert isinstance(trained.ranker.generator, HybridGenerator)
    assert trained.ranker.generator.sparse_weight == 1
    return trained.ranker, trained.history


def test_it_learns_the_lists_that_have_something_to_learn(
    data: TrainingData,
    encoder: TrainableTransformer,
) -> None:
    """Two lists: "fever" is a name of its concept already, and the concept of "unknown" is not there."""
    before = encoder.encode(["lymphoma"]).tolist()
    made, history = fit(encoder, data, second_stage(epochs=40))
    assert [(record["phase"], record["epoch"]) for record in history] == [
        ("rank-rerank", epoch) for epoch in range(1, 41)
    ]
    assert history[-1]["loss"] < history[0]["loss"]
    assert history[-1]["right_first"] == 1
    assert made.weight == pytest.approx(0.1 / 20)
    lookups = [Lookup.of("lymphomas", "a lymphomas b"), Lookup.of("mass lymph")]
    first, second = made.rank(lookups, 1, "concepts")
    assert (first.concepts.tolist(), second.concepts.tolist()) == ([2], [3])
    assert encoder.encode(["lymphoma"]).tolist() == before


def test_a_batch_reads_one_context_of_each_query(
    data: TrainingData,
    encoder: TrainableTransformer,
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
    fit(encoder, data, second_stage(epochs=1, candidates=4))
    assert {query for query, _ in read} == {"lymphomas", "mass lymph"}
    assert [
        len([1 for query, _ in read if query == wanted]) for wanted in ("lymphomas", "mass lymph")
    ] == [4, 4]
    assert len({around for query, around in read if query == "lymphomas"}) == 1


def scores(made: Reranker) -> list[float]:
    return [
        float(score)
        for ranked in made.rank(
            [Lookup.of("lymphomas", "x"), Lookup.of("mass", "y")], 6, "concepts"
        )
        for score in ranked.scores
    ]


def test_an_interrupted_training_goes_on(
    data: TrainingData, encoder: TrainableTransformer, tmp_path: Path
) -> None:
    whole, history = fit(encoder, data, second_stage())

    def stop(event: Any) -> None:
        if isinstance(event, dict):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(encoder, data, second_stage(tmp_path).told(stop))
    assert (tmp_path / "rank-rerank").is_dir()
    resumed, again = fit(encoder, data, second_stage(tmp_path, resume=True))
    assert again == history
    assert scores(resumed) == scores(whole)
    with pytest.raises(
        LinkerError, match=r"the checkpoint is of another training: rerank\.words \(then 8, now 3\)"
    ):
        fit(encoder, data, second_stage(tmp_path, resume=True, words=3))
    elsewhere = with_contexts(data, {query: ["elsewhere"] for query in CONTEXTS})
    with pytest.raises(LinkerError, match="the checkpoint is of another training: contexts "):
        fit(encoder, elsewhere, second_stage(tmp_path, resume=True))
    with pytest.raises(LinkerError, match="the checkpoint is of another training: first_stage "):
        fit(changed(encoder), data, second_stage(tmp_path, resume=True))


def changed(encoder: Any) -> TrainableTransformer:
    """A copy with another weight."""
    other: TrainableTransformer = copy.deepcopy(encoder)
    with torch.no_grad():
        next(other.parameters()).add_(1)
    return other


def test_broken_weights_are_not_kept(
    data: TrainingData,
    encoder: TrainableTransformer,
    tmp_path: Path,
) -> None:
    """One step at a rate that leaves no number finite."""
    broken = second_stage(tmp_path, epochs=1, batch_size=2)
    for rate in ("learning_rate", "head_learning_rate"):
        object.__setattr__(broken.options.rerank, rate, 1e30)  # beyond its range
    with pytest.raises(LinkerError, match="scores that are not finite; training stopped"):
        fit(encoder, data, broken)


def test_nothing_to_learn_from(data: TrainingData, encoder: TrainableTransformer) -> None:
    lonely = {
        query: around for query, around in CONTEXTS.items() if query.text in ("fever", "unknown")
    }
    with pytest.raises(
        LinkerError,
        match="nothing to learn from: no mention has a right candidate that is not its own name",
    ):
        fit(encoder, with_contexts(data, lonely), second_stage())


def test_what_it_starts_from(data: TrainingData, encoder: TrainableTransformer) -> None:
    check(encoder, RerankOptions(epochs=1, max_length=64), data)
    with pytest.raises(
        LinkerError,
        match=r"reads at most 64 tokens; rerank\.max_length is 96, set it to 64 or less",
    ):
        check(encoder, RerankOptions(epochs=1), data)
    with pytest.raises(
        LinkerError, match=r"a second stage \(rerank\.epochs\) starts from a transformer"
    ):
        check(SimpleNamespace(), RerankOptions(epochs=1), data)  # type: ignore[arg-type]
    with pytest.raises(
        LinkerError,
        match="learns from annotated mentions of one concept; give some, or leave it out",
    ):
        check(encoder, RerankOptions(epochs=1, max_length=64), with_contexts(data, None))
    with pytest.raises(LinkerError, match=r"rerank\.weight is inf; expected: 0 to 1000000"):
        RerankOptions(weight=float("inf"))
