"""Losses against sums and loops in plain Python; masks, invariances and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

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


def test_the_contrast_pair_by_pair() -> None:
    """In both directions; what means the same concept as a pair is no negative of it."""
    a, b = torch.randn(2, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    same = torch.tensor([[i == j or {i, j} == {0, 2} for j in range(4)] for i in range(4)])
    cosines = torch.nn.functional.cosine_similarity(a[:, None], b[None], dim=-1).tolist()
    each = []
    for i in range(4):
        rivals = [j for j in range(4) if j == i or not same[i][j]]
        for rows in ([cosines[i][j] for j in rivals], [cosines[j][i] for j in rivals]):
            powers = [math.exp(cosine / 0.2) for cosine in rows]
            each.append(-math.log(math.exp(cosines[i][i] / 0.2) / sum(powers)))
    assert info_nce(a, b, same, 0.2).item() == pytest.approx(sum(each) / len(each))
