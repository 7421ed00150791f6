"""Losses against sums and loops in plain Python; masks, invariances and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from linker.training.losses import (  # noqa: E402
    hypernym_norm,
    info_nce,
    listwise,
    marginal,
    prototype,
    triplet,
)

INF = math.inf


pytestmark = pytest.mark.usefixtures("one_thread")


def doubles(values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def softmax(values: list[float]) -> list[float]:
    top = max(values, default=0)
    powers = [math.exp(v - top) for v in values]
    return [p / sum(powers) for p in powers]


def slow_listwise(
    scores: list[float], relevance: list[int], mask: list[bool], temperature: float
) -> float:
    kept = [i for i, there in enumerate(mask) if there]
    target, predicted = (
        softmax([relevance[i] / temperature for i in kept]),
        softmax([scores[i] for i in kept]),
    )
    return -sum(p * math.log(q) for p, q in zip(target, predicted, strict=True))


def slow_marginal(scores: list[float], relevance: list[int], mask: list[bool]) -> float:
    kept = [i for i, there in enumerate(mask) if there]
    probabilities = dict(zip(kept, softmax([scores[i] for i in kept]), strict=True))
    right = sum(probabilities[i] for i in kept if relevance[i] == 2)
    return -math.log(right) if right else 0.0


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[list[float]], list[list[int]], list[list[bool]]]:
    """Scores, relevance and mask of one to four lists of up to six candidates."""
    lists, size = draw(st.integers(1, 4)), draw(st.integers(1, 6))

    def table(cell: st.SearchStrategy) -> list:
        return draw(
            st.lists(st.lists(cell, min_size=size, max_size=size), min_size=lists, max_size=lists)
        )

    return table(st.floats(-30, 30)), table(st.integers(0, 2)), table(st.booleans())


@given(batches(), st.sampled_from([0.25, 1.0, 3.0]))
@settings(max_examples=60)
def test_listwise_the_slow_way(batch: tuple, temperature: float) -> None:
    scores, relevance, mask = batch
    computed = listwise(
        doubles(scores), torch.tensor(relevance), torch.tensor(mask), temperature
    ).tolist()
    assert computed == pytest.approx(
        [slow_listwise(*row, temperature) for row in zip(*batch, strict=True)], abs=1e-9
    )


@given(batches())
@settings(max_examples=60)
def test_marginal_the_slow_way(batch: tuple) -> None:
    scores, relevance, mask = batch
    computed = marginal(doubles(scores), torch.tensor(relevance), torch.tensor(mask)).tolist()
    assert computed == pytest.approx(
        [slow_marginal(*row) for row in zip(*batch, strict=True)], rel=1e-7, abs=1e-7
    )


def test_marginal_is_neither_clamped_nor_infinite_where_the_synonym_is_far_behind() -> None:
    scores = torch.tensor(
        [[-200.0, 200.0], [-1e6, 1e6]], requires_grad=True
    )  # float32: the probability is 0
    computed = marginal(scores, torch.tensor([[2, 0], [2, 0]]), torch.ones(2, 2, dtype=torch.bool))
    assert computed.tolist() == [400.0, 2e6]
    computed.sum().backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[-1.0, 1.0], [-1.0, 1.0]]


LossOfLists = Callable[[Tensor, Tensor, Tensor], Tensor]
BOTH = pytest.mark.parametrize("loss", [listwise, marginal])


@BOTH
@pytest.mark.parametrize("rubbish", [-1e30, INF, math.nan])
def test_what_stands_in_masked_places_is_never_seen(loss: LossOfLists, rubbish: float) -> None:
    mask = torch.tensor([[True, True, False], [False, False, False]])
    short = loss(
        torch.tensor([[0.5, 1.5]]), torch.tensor([[2, 1]]), torch.ones(1, 2, dtype=torch.bool)
    ).item()
    scores = torch.tensor([[0.5, 1.5, rubbish], [rubbish, 0.0, rubbish]], requires_grad=True)
    computed = loss(scores, torch.tensor([[2, 1, 2], [2, 2, 2]]), mask)
    assert computed.tolist() == pytest.approx([short, 0])
    computed.sum().backward()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert scores.grad[~mask].tolist() == [0, 0, 0, 0]
    assert (scores.grad[mask] != 0).all()


@given(st.data())
@settings(max_examples=60)
def test_the_norm_loss_the_slow_way(data: st.DataObject) -> None:
    mentions, above, dim = (
        data.draw(st.integers(1, 4)),
        data.draw(st.integers(1, 4)),
        data.draw(st.integers(1, 3)),
    )
    vector = st.lists(st.integers(-3, 3).map(float), min_size=dim, max_size=dim)
    mention_vectors = data.draw(st.lists(vector, min_size=mentions, max_size=mentions))
    hypernyms = data.draw(
        st.lists(
            st.lists(vector, min_size=above, max_size=above), min_size=mentions, max_size=mentions
        )
    )
    mask = data.draw(
        st.lists(
            st.lists(st.booleans(), min_size=above, max_size=above),
            min_size=mentions,
            max_size=mentions,
        )
    )
    means = []
    for m, vectors, there in zip(mention_vectors, hypernyms, mask, strict=True):
        norms = [math.hypot(*h) for h, keep in zip(vectors, there, strict=True) if keep]
        ratios = [
            (math.hypot(*m) - n) / (math.hypot(*m) + n) if math.hypot(*m) + n else 0.0
            for n in norms
        ]
        means += [sum(ratios) / len(ratios)] if ratios else []
    left, right = doubles(mention_vectors), doubles(hypernyms)
    loss = hypernym_norm(left, right, torch.tensor(mask))
    assert loss.item() == pytest.approx(sum(means) / len(means) if means else 0, abs=1e-9)
    loss.backward()
    assert left.grad is not None
    assert right.grad is not None
    assert left.grad.isfinite().all()
    assert right.grad.isfinite().all()


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from([0.05, 1.0]),
    st.integers(0, 999),
    st.data(),
)
@settings(max_examples=60)
def test_info_nce_the_slow_way(
    size: int, dim: int, temperature: float, seed: int, data: st.DataObject
) -> None:
    random = torch.Generator().manual_seed(seed)
    a, b = (
        torch.randn(size, dim, generator=random, dtype=torch.float64, requires_grad=True)
        for _ in "ab"
    )
    same = data.draw(
        st.lists(
            st.lists(st.booleans(), min_size=size, max_size=size), min_size=size, max_size=size
        )
    )

    def cosine(i: int, j: int) -> float:
        x, y = a[i].tolist(), b[j].tolist()
        return sum(p * q for p, q in zip(x, y, strict=True)) / math.hypot(*x) / math.hypot(*y)

    total = 0.0
    for i in range(size):
        negatives = [cosine(i, j) for j in range(size) if j != i and not same[i][j]]
        others = [cosine(j, i) for j in range(size) if j != i and not same[j][i]]
        for rest in (negatives, others):
            total -= math.log(softmax([c / temperature for c in (cosine(i, i), *rest)])[0])
    loss = info_nce(a, b, torch.tensor(same), temperature)
    assert loss.item() == pytest.approx(total / (2 * size), abs=1e-9)
    loss.backward()
    assert a.grad is not None
    assert a.grad.isfinite().all()


def test_triplets_by_hand() -> None:
    anchor = doubles([[1, 0], [1, 0], [0, 2]])
    positive = doubles([[3, 0], [0, 1], [0, 1]])
    negative = doubles([[0, 5], [1, 0], [0, -1]])
    # distances to the positive 0, 1, 0; to the negative 1, 0, 2
    assert triplet(anchor, positive, negative, 0.1).tolist() == pytest.approx([0, 1 - 0 + 0.1, 0])
    assert triplet(anchor, positive, negative, 1.5).tolist() == pytest.approx([0.5, 2.5, 0])


def test_prototypes_by_hand() -> None:
    names = doubles([[2, 0], [0, 2], [0, 3], [1, 1]])
    targets = doubles([[1, 1], [-1, 0], [1, 0]])
    losses = prototype(names, torch.tensor([0, 0, 1, 2]), targets)
    assert losses.tolist() == pytest.approx([0, 1, 1 - 1 / math.sqrt(2)])


def test_zero_vectors_have_a_distance_and_a_gradient() -> None:
    zero = doubles([[0, 0]]).requires_grad_()
    loss = (
        triplet(zero, doubles([[1, 0]]), doubles([[0, 1]]), 0.1).sum()
        + prototype(zero, torch.tensor([0]), doubles([[1, 0]])).sum()
    )
    assert loss.item() == pytest.approx(0.1 + 1)
    loss.backward()
    assert zero.grad is not None
    assert zero.grad.isfinite().all()
