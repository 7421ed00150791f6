"""The list-wise phase on an encoder whose losses are computed a second, slow way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from linker import Dictionary  # noqa: E402
from linker.linking.options import TrainingOptions  # noqa: E402
from linker.search.index import Floats  # noqa: E402
from linker.training import encoder as in_training  # noqa: E402
from linker.training.data import TrainingData  # noqa: E402
from linker.training.listwise import CandidateLists, ListMaker  # noqa: E402

from .small import (  # noqa: E402
    PARENTS,
    ROOT,
    Letters,
    Setup,
    a_setup,
    data_of,
    fit,
    mean,
    trained,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def slow_list(
    text: str, data: TrainingData, vectors: Mapping[str, Floats], options: TrainingOptions
) -> list[tuple[str, float]]:
    """The candidates of a query with their sparse scores: the best sparse ones, then the best dense ones that are new."""
    names = list(data.table.texts)
    rows = data.names.encoder.encode([text, *names]).toarray()
    sparse = {name: float(rows[0] @ row) for name, row in zip(names, rows[1:], strict=True)}
    by_sparse = sorted((name for name in names if sparse[name] > 0), key=lambda name: -sparse[name])
    by_dense = sorted(names, key=lambda name: -float(vectors[text] @ vectors[name]))
    half = options.top_k - int(options.top_k * options.dense_ratio)
    chosen = list(dict.fromkeys([*by_sparse[:half], *by_dense]))[: options.top_k]
    return [(name, sparse[name]) for name in chosen]


def softmax(values: Sequence[float]) -> list[float]:
    powers = [math.exp(value - max(values)) for value in values]
    return [power / sum(powers) for power in powers]


def slow_loss(data: TrainingData, encoder: Letters, setup: Setup, scale: float) -> float:
    """The loss of all queries as one batch, from the formulas of the papers, one number at a time."""
    options, recipe, rules = setup.options.training, setup.options.recipe, setup.rules
    names = list(data.table.texts)
    queries = data.queries or ()
    texts = [*names, *(query.text for query in queries)]
    vectors = {
        text: row.astype(np.float64) for text, row in zip(texts, encoder.encode(texts), strict=True)
    }
    of = {
        name: {f"D:{c}" for c in data.table.concepts[slice(*data.table.indptr[i : i + 2])]}
        for i, name in enumerate(names)
    }
    lists, norms = [], []
    for query in queries:
        right = query.right
        above = {parent for identifier in right for parent in PARENTS.get(identifier, set())} - {
            ROOT
        }
        found = slow_list(query.text, data, vectors, options)
        y = [2 if of[name] & right else 1 if of[name] & above else 0 for name, _ in found]
        z = [
            scale * float(vectors[query.text] @ vectors[name]) + recipe.sparse_weight * sparse
            for name, sparse in found
        ]
        p = softmax(z)
        if options.loss == "listwise" and (any(y) or rules.keep_unjudged):
            target = softmax([grade / rules.relevance_temperature for grade in y])
            lists.append(-sum(t * math.log(q) for t, q in zip(target, p, strict=True)))
        if options.loss == "marginal" and 2 in y:
            lists.append(-math.log(sum(q for q, grade in zip(p, y, strict=True) if grade == 2)))
        own = float(np.linalg.norm(vectors[query.text]))
        lengths = [
            float(np.linalg.norm(vectors[name]))
            for name in names
            if of[name] & above and not of[name] & right
        ]
        if lengths:
            norms.append(mean([(own - length) / (own + length) for length in lengths]))
    return mean(lists) + (mean(norms) if options.hypernym_norm else 0)


@pytest.mark.parametrize(
    ("options", "normalize"),
    [
        ({}, True),
        ({"sparse_weight": 0.4, "relevance_temperature": 0.5}, True),
        ({"loss": "marginal", "sparse_weight": -0.3}, False),
        ({"dense_ratio": 0.7, "top_k": 3, "keep_unjudged": True}, False),
        ({"loss": "marginal", "dense_ratio": 1.0, "top_k": 3}, True),
        ({"hypernym_norm": True, "sparse_weight": 1.0}, False),
        ({"hypernym_norm": True, "loss": "marginal", "top_k": 2}, False),
        ({"top_k": 30}, True),  # more than there are names
    ],
)
def test_the_loss_of_a_batch_is_that_of_the_formulas(
    dictionary: Dictionary, options: dict[str, Any], normalize: bool
) -> None:
    data, encoder = data_of(dictionary), Letters(normalize=normalize)
    setup = a_setup(epochs=1, batch_size=10, **options)
    expected = slow_loss(data, encoder, setup, 20.0 if normalize else 1.0)
    _, (record,) = fit(encoder, data, setup)
    assert record["loss"] == pytest.approx(expected, rel=1e-5)


def test_lambda_has_a_learning_rate_of_its_own(
    dictionary: Dictionary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first step of Adam moves each weight by its learning rate."""
    before = Letters().state_dict()
    monkeypatch.setattr(in_training, "_SPARSE_RATE", 0.25)
    monkeypatch.setattr(Letters, "weight_decay", 0.0)
    setup = a_setup(epochs=1, batch_size=10, learning_rate=0.001, clip=0.0)
    weights, moved, _, _ = trained(data_of(dictionary), setup)
    # upwards: names that share letters are right more often
    assert moved == pytest.approx(0.25 / 20, rel=1e-3)
    assert max(
        float((torch.tensor(weights[name]) - before[name]).abs().max()) for name in before
    ) == pytest.approx(0.001, rel=1e-2)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[ListMaker, CandidateLists]]:
    """The lists of each epoch."""
    seen = []
    make = ListMaker.make

    def spy(self: ListMaker, dense_rows: Any) -> CandidateLists:
        seen.append((self, make(self, dense_rows)))
        return seen[-1][1]

    monkeypatch.setattr(ListMaker, "make", spy)
    return seen


def in_lists(
    data: TrainingData, made: Sequence[tuple[ListMaker, CandidateLists]]
) -> list[tuple[str, list[str]]]:
    texts = data.table.texts
    return [
        (query.text, [texts[row] for row in rows if row >= 0])
        for maker, lists in made
        for query, rows in zip(maker.queries, lists.rows.tolist(), strict=True)
    ]


def test_without_mentions_names_are_asked_and_are_never_in_their_own_lists(
    dictionary: Dictionary, made: list[tuple[ListMaker, CandidateLists]]
) -> None:
    data = data_of(dictionary, None)
    _, history = fit(Letters(), data, a_setup(epochs=3, dictionary_queries=7, top_k=5))
    assert [len(maker.queries) for maker, _ in made] == [7, 7, 7]
    # drawn anew
    assert len({tuple(query.text for query in maker.queries) for maker, _ in made}) == 3
    for text, names in in_lists(data, made):
        assert text not in names
        assert len(set(names)) == 5
    assert all(0 < record["gold_share"] <= 1 for record in history)
