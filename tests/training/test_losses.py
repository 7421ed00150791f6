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


def test_the_norm_loss_by_hand() -> None:
    """A masked hypernym may be anything; two zero vectors give 0."""
    mentions = doubles([[2.0, 0.0], [0.0, 0.0], [9.0, 9.0]])
    hypernyms = doubles(
        [[[0.0, 6.0], [math.nan, INF]], [[0.0, 0.0], [3.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]]
    )
    mask = torch.tensor([[True, False], [True, True], [False, False]])
    loss = hypernym_norm(mentions, hypernyms, mask)
    assert loss.item() == pytest.approx(((2 - 6) / (2 + 6) + (0 + (0 - 5) / (0 + 5)) / 2) / 2)
    loss.backward()
    assert mentions.grad is not None
    assert hypernyms.grad is not None
    assert mentions.grad.isfinite().all()
    assert hypernyms.grad[0, 1].tolist() == [0, 0]


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
