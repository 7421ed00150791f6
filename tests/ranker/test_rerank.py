"""The second stage: what it reads, what that does to a ranking, what it learns from."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from linker import Dictionary, persistence  # noqa: E402
from linker.candidates.base import Ranked, Unit  # noqa: E402
from linker.candidates.hybrid import HybridGenerator  # noqa: E402
from linker.candidates.sparse import SparseGenerator  # noqa: E402
from linker.encoders.cross import CrossEncoder  # noqa: E402
from linker.encoders.tfidf import TfidfEncoder, TfidfOptions  # noqa: E402
from linker.encoders.transformer import TransformerOptions  # noqa: E402
from linker.encoders.transformer_training import TrainableTransformer  # noqa: E402
from linker.errors import LinkerError  # noqa: E402
from linker.ranker.options import RerankOptions  # noqa: E402
from linker.ranker.rerank import Reranker  # noqa: E402
from linker.types import Lookup  # noqa: E402

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


def ask(
    made: Any, asked: Sequence[tuple[str, str]], k: int, unit: Unit = "concepts"
) -> list[Ranked]:
    """Rank names, each with the words around it."""
    return made.rank([Lookup.of(*pair) for pair in asked], k, unit)


class Ranking:
    """Stands for a first stage: always the same ranking, of concepts or of names."""

    def __init__(
        self,
        dictionary: Dictionary,
        concepts: Sequence[tuple[int, float]] = (),
        names: Sequence[tuple[str, float]] = (),
    ) -> None:
        self.table, self.asked = dictionary.table(str.lower), []
        texts = list(self.table.texts)
        owners = list(dictionary.name_concept)
        entries = [owners.index(row) for row, _ in concepts]  # preferred names
        rows = [texts.index(dictionary.names[entry].lower()) for entry in entries]
        self.ranked = {
            "concepts": ranking(rows, [row for row, _ in concepts], entries, concepts),
            "names": ranking([texts.index(name) for name, _ in names], names, names, names),
        }

    def rank(self, lookups: Sequence[Lookup], k: int, unit: Unit) -> list[Ranked]:
        self.asked.append((len(lookups), k))
        return [self.ranked[unit][: k if lookup.normalized else 0] for lookup in lookups]


def ranking(
    names: Sequence[int],
    concepts: Sequence[Any],
    entries: Sequence[Any],
    scored: Sequence[tuple[Any, float]],
) -> Ranked:
    """Answers with their scores; the parts of a score are its half and its quarter."""
    scores = np.array([score for _, score in scored], np.float32)
    columns = (np.array(names, np.int32), np.array(concepts), np.array(entries))
    return Ranked(*columns, scores, scores / 2, scores / 4)


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
    (ranked,) = ask(made, [("q", "")], 4)
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
    (ranked,) = ask(reranker(dictionary, first, {"Lymphoma": 9.0}, candidates=4), [("q", "")], 1)
    assert (first.asked, ranked.concepts.tolist()) == ([(1, 4)], [2])


def test_equal_scores_keep_their_order(dictionary: Dictionary) -> None:
    first = Ranking(dictionary, [(5, 0.5), (2, 0.5), (1, 0.5)])
    (ranked,) = ask(reranker(dictionary, first, {}), [("q", "")], 3)
    assert ranked.concepts.tolist() == [5, 2, 1]


def test_queries_without_candidates(dictionary: Dictionary) -> None:
    made = reranker(dictionary, Ranking(dictionary, [(5, 0.9), (2, 0.8)]), {"Lymphoma": 9.0})
    nothing, some = ask(made, [("", "around"), ("q", "around")], 2)
    assert (nothing.concepts.tolist(), some.concepts.tolist()) == ([], [2, 5])
    assert all(text.endswith(" / around") for text in made.encoder.read)
    assert ask(made, [], 2) == []


def test_each_name_is_read_with_its_words(dictionary: Dictionary) -> None:
    first = Ranking(dictionary, [(5, 0.9), (2, 0.8)])
    made = reranker(dictionary, first, {"here": 1.0})
    here, there, again = ask(made, [("q", "here"), ("q", "there"), ("p", "here")], 2)
    assert first.asked == [(3, 10)]
    assert [r.concepts.tolist() for r in (here, there, again)] == [[5, 2]] * 3
    assert len(made.encoder.read) == 6


def test_as_many_candidates_are_read_whatever_is_asked_for(dictionary: Dictionary) -> None:
    first = Ranking(dictionary, names=[("tumor", 0.9), ("lymphoma", 0.8), ("fever", 0.7)])
    made = reranker(dictionary, first, {"Fever": 9.0}, candidates=3)
    for k in (1, 2, 3):
        (ranked,) = ask(made, [("q", "")], k, "names")
        assert [made.generator.table.texts[row] for row in ranked.names] == [
            "fever",
            "tumor",
            "lymphoma",
        ][:k]


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
    (ranked,) = ask(made, [("q", "")], 4, "names")
    assert [made.generator.table.texts[row] for row in ranked.names] == [
        "mass",
        "burkitt tumor",
        "pyrexia",
        "tumor",
    ]
    assert ranked.scores.tolist() == pytest.approx([0.9, 0.8, 0.78 - 0.1, 0.85 - 0.2])
    assert [text.split(" / ")[1].split(" | ")[:2] for text in made.encoder.read] == [
        ["Mass", "Neoplasms"],
        ["Mass", "Burkitt Lymphoma"],
        ["Pyrexia", "Fever"],
    ]


def test_scores_that_are_not_finite(dictionary: Dictionary) -> None:
    made = reranker(dictionary, Ranking(dictionary, [(5, 0.9)]), {"": float("nan")})
    with pytest.raises(
        LinkerError, match="scores that are not finite; its weights are damaged, train again"
    ):
        ask(made, [("fever", "")], 1)


# ----------------------------------------------------------------------------------------------------------------- on disk


@pytest.fixture(scope="module")
def generator(dictionary: Dictionary, tiny_bert: Path) -> HybridGenerator:
    table = dictionary.table(str.lower)
    sparse = TfidfEncoder(TfidfOptions())
    sparse.fit(list(table.texts))
    encoder = TrainableTransformer.pretrained(TransformerOptions(model=str(tiny_bert)))
    return HybridGenerator.index(SparseGenerator.index(table, dictionary, sparse), encoder, 1.0)


def reading(generator: HybridGenerator, dictionary: Dictionary) -> Reranker:
    """A second stage whose scores differ, as after a training."""
    assert isinstance(generator.encoder, TrainableTransformer)
    encoder = CrossEncoder.of(generator.encoder, 48)
    with torch.no_grad():
        for number, weights in enumerate(encoder.head.parameters()):
            weights.copy_(torch.linspace(-1, 1 + number, weights.numel()).view_as(weights))
    return Reranker(generator, encoder, dictionary, RerankOptions(max_length=48), 0.005)


def scores(made: Reranker) -> list[float]:
    return [
        float(score)
        for ranked in ask(made, [("lymphomas", "x"), ("mass", "y")], 6)
        for score in ranked.scores
    ]


def test_saving_and_loading(
    generator: HybridGenerator, dictionary: Dictionary, tmp_path: Path
) -> None:
    made = reading(generator, dictionary)
    made.save(tmp_path)
    assert scores(Reranker.load(tmp_path, generator, dictionary, made.options)) == scores(made)
    assert scores(pickle.loads(pickle.dumps(made))) == scores(copy.deepcopy(made)) == scores(made)


@pytest.mark.parametrize("weight", ["0.1", None, float("nan"), True])
def test_a_changed_weight(
    generator: HybridGenerator,
    dictionary: Dictionary,
    tmp_path: Path,
    weight: object,
) -> None:
    reading(generator, dictionary).save(tmp_path)
    (tmp_path / "rerank" / "rerank.json").write_text(
        json.dumps({"weight": weight}), encoding="utf-8"
    )
    with pytest.raises(
        LinkerError, match=r"rerank\.json: weight is .*; expected: a number; train again"
    ):
        Reranker.load(tmp_path, generator, dictionary, RerankOptions())
    assert persistence.load_json(tmp_path / "rerank" / "options.json")["max_length"] == 48
