"""Losses against sums and loops in plain Python; masks, invariances and gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from math import e

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
    mean_of_lists,
    prototype,
    triplet,
)

INF = math.inf


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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


def test_the_target_of_one_synonym_one_hypernym_and_one_other() -> None:
    # equal scores: every candidate has log(1/3), whatever the target
    flat = listwise(
        doubles([[4.0, 4.0, 4.0]]), torch.tensor([[2, 1, 0]]), torch.ones(1, 3, dtype=torch.bool)
    )
    assert flat.tolist() == pytest.approx([math.log(3)])
    # of scores 1, 0, 0, the first place has P_y = e^2 / (e^2 + e + 1) and P_z = e / (e + 2); the
    # others have P_z = 1 / (e + 2)
    synonym = e**2 / (e**2 + e + 1)
    loss = listwise(
        doubles([[1.0, 0.0, 0.0]]), torch.tensor([[2, 1, 0]]), torch.ones(1, 3, dtype=torch.bool)
    )
    assert loss.tolist() == pytest.approx(
        [-synonym * math.log(e / (e + 2)) - (1 - synonym) * math.log(1 / (e + 2))]
    )


def test_a_low_temperature_leaves_the_target_to_the_synonyms() -> None:
    arguments = torch.tensor([[2, 2, 1]]), torch.ones(1, 3, dtype=torch.bool)
    scores = doubles([[1.0, 0.0, 0.0]])
    assert listwise(scores, *arguments, temperature=0.01).tolist() == pytest.approx(
        [-0.5 * math.log(e / (e + 2)) - 0.5 * math.log(1 / (e + 2))]
    )
    target = [e ** (2 / 0.5), e ** (2 / 0.5), e ** (1 / 0.5)]
    expected = -(
        target[0] * math.log(e / (e + 2)) + (target[1] + target[2]) * math.log(1 / (e + 2))
    ) / sum(target)
    assert listwise(scores, *arguments, temperature=0.5).tolist() == pytest.approx([expected])


def test_the_listwise_loss_is_least_where_score_gaps_are_relevance_gaps() -> None:
    scores = doubles([[7.0, 6.0, 5.0]])
    listwise(scores, torch.tensor([[2, 1, 0]]), torch.ones(1, 3, dtype=torch.bool)).sum().backward()
    assert scores.grad is not None
    assert scores.grad.tolist()[0] == pytest.approx([0, 0, 0])


@given(batches(), st.sampled_from([0.25, 1.0, 3.0]))
@settings(deadline=None, max_examples=60)
def test_listwise_the_slow_way(batch: tuple, temperature: float) -> None:
    scores, relevance, mask = batch
    computed = listwise(
        doubles(scores), torch.tensor(relevance), torch.tensor(mask), temperature
    ).tolist()
    assert computed == pytest.approx(
        [slow_listwise(*row, temperature) for row in zip(*batch, strict=True)], abs=1e-9
    )


@given(batches())
@settings(deadline=None, max_examples=60)
def test_marginal_the_slow_way(batch: tuple) -> None:
    scores, relevance, mask = batch
    computed = marginal(doubles(scores), torch.tensor(relevance), torch.tensor(mask)).tolist()
    assert computed == pytest.approx(
        [slow_marginal(*row) for row in zip(*batch, strict=True)], rel=1e-7, abs=1e-7
    )


def test_marginal_sums_the_synonyms_and_counts_hypernyms_as_wrong() -> None:
    scores = doubles([[1.0, 0.0, 0.0, 9.0], [0.0, 0.0, 0.0, 0.0]])
    mask = torch.tensor([[True, True, True, False], [True, True, True, True]])
    computed = marginal(scores, torch.tensor([[2, 2, 1, 2], [2, 1, 1, 0]]), mask)
    assert computed.tolist() == pytest.approx([-math.log((e + 1) / (e + 2)), math.log(4)])


def test_marginal_is_neither_clamped_nor_infinite_where_the_synonym_is_far_behind() -> None:
    scores = torch.tensor(
        [[-200.0, 200.0], [-1e6, 1e6]], requires_grad=True
    )  # float32: the probability is 0
    computed = marginal(scores, torch.tensor([[2, 0], [2, 0]]), torch.ones(2, 2, dtype=torch.bool))
    assert computed.tolist() == [400.0, 2e6]
    computed.sum().backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[-1.0, 1.0], [-1.0, 1.0]]


def test_a_list_without_a_synonym_has_no_marginal_loss_and_no_gradient() -> None:
    scores = doubles([[3.0, 1.0], [3.0, 1.0], [0.0, 0.0]])
    mask = torch.tensor([[True, True], [False, True], [True, True]])
    computed = marginal(scores, torch.tensor([[1, 0], [2, 0], [2, 0]]), mask)
    assert computed.tolist() == pytest.approx([0, 0, math.log(2)])
    computed.sum().backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[0, 0], [0, 0], pytest.approx([-0.5, 0.5])]


LossOfLists = Callable[[Tensor, Tensor, Tensor], Tensor]
BOTH = pytest.mark.parametrize("loss", [listwise, marginal])


@BOTH
@given(batch=batches(), shift=st.floats(-50, 50), data=st.data())
@settings(deadline=None, max_examples=50)
def test_shifted_scores_and_another_order_change_nothing(
    loss: LossOfLists, batch: tuple, shift: float, data: st.DataObject
) -> None:
    scores, relevance, mask = (torch.tensor(part) for part in batch)
    scores = scores.double()
    order = data.draw(st.permutations(range(scores.shape[1])))
    expected = pytest.approx(loss(scores, relevance, mask).tolist(), abs=1e-6)
    assert loss(scores + shift, relevance, mask).tolist() == expected
    assert loss(scores[:, order], relevance[:, order], mask[:, order]).tolist() == expected


@BOTH
@pytest.mark.parametrize("rubbish", [1e30, -1e30, INF, -INF, math.nan])
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


@BOTH
@given(batch=batches())
@settings(deadline=None, max_examples=8)
def test_gradients_of_lists_are_those_of_differences(loss: LossOfLists, batch: tuple) -> None:
    scores, relevance, mask = doubles(batch[0]), torch.tensor(batch[1]), torch.tensor(batch[2])
    assert torch.autograd.gradcheck(lambda z: loss(z, relevance, mask), (scores,))


def test_the_mean_is_over_judged_lists() -> None:
    losses = doubles([1.0, 100.0, 4.0])
    mean = mean_of_lists(losses, torch.tensor([True, False, True]))
    assert mean.item() == (1 + 4) / 2
    mean.backward()
    assert losses.grad is not None
    assert losses.grad.tolist() == [0.5, 0, 0.5]


def test_without_a_judged_list_the_mean_is_0_and_can_be_differentiated() -> None:
    losses = doubles([1.0, 2.0])
    mean = mean_of_lists(losses, torch.tensor([False, False]))
    mean.backward()
    assert losses.grad is not None
    assert (mean.item(), losses.grad.tolist()) == (0, [0, 0])


def test_the_norm_loss_of_vectors_with_known_norms() -> None:
    mentions = doubles([[3.0, 4.0], [0.0, 1.0], [6.0, 8.0]])  # norms 5, 1, 10
    hypernyms = doubles(
        [[[0.0, 10.0], [15.0, 0.0]], [[0.0, 3.0], [7.0, 7.0]], [[9.0, 9.0], [9.0, 9.0]]]
    )
    mask = torch.tensor([[True, True], [True, False], [False, False]])
    first = ((5 - 10) / (5 + 10) + (5 - 15) / (5 + 15)) / 2
    assert hypernym_norm(mentions, hypernyms, mask).item() == pytest.approx(
        (first + (1 - 3) / (1 + 3)) / 2
    )


@given(st.data())
@settings(deadline=None, max_examples=60)
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


def test_the_norm_loss_makes_hypernyms_longer_and_mentions_shorter() -> None:
    mentions, hypernyms = doubles([[2.0, 0.0]]), doubles([[[0.0, 2.0], [0.0, 2.0]]])
    hypernym_norm(mentions, hypernyms, torch.tensor([[True, False]])).backward()
    assert mentions.grad is not None
    assert hypernyms.grad is not None
    # d/dx (x - y) / (x + y) = 2y / (x + y)^2 = 4 / 16, and for y its negative
    assert mentions.grad.tolist()[0] == pytest.approx([0.25, 0])
    assert hypernyms.grad.tolist() == [[pytest.approx([0, -0.25]), [0, 0]]]


def test_masked_hypernyms_may_be_anything_for_the_norm_loss() -> None:
    mentions, hypernyms = doubles([[2.0, 0.0]]), doubles([[[0.0, 6.0], [math.nan, INF]]])
    loss = hypernym_norm(mentions, hypernyms, torch.tensor([[True, False]]))
    loss.backward()
    assert loss.item() == pytest.approx((2 - 6) / (2 + 6))
    assert mentions.grad is not None
    assert hypernyms.grad is not None
    assert mentions.grad.isfinite().all()
    assert hypernyms.grad[0, 1].tolist() == [0, 0]


def test_gradients_of_the_norm_loss_are_those_of_differences() -> None:
    random = torch.Generator().manual_seed(1)
    mentions = torch.randn(3, 4, generator=random, dtype=torch.float64, requires_grad=True)
    hypernyms = torch.randn(3, 2, 4, generator=random, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True], [True, False], [False, False]])
    assert torch.autograd.gradcheck(lambda m, h: hypernym_norm(m, h, mask), (mentions, hypernyms))


def test_info_nce_of_two_pairs() -> None:
    a, b = (
        doubles([[2.0, 0.0], [0.0, 1.0]]),
        doubles([[5.0, 0.0], [3.0, 4.0]]),
    )  # cosines [[1, 0.6], [0, 0.8]]
    nothing = torch.zeros(2, 2, dtype=torch.bool)
    rows = [math.log(1 + math.exp((0.6 - 1) / 0.5)), math.log(1 + math.exp((0 - 0.8) / 0.5))]
    columns = [math.log(1 + math.exp((0 - 1) / 0.5)), math.log(1 + math.exp((0.6 - 0.8) / 0.5))]
    assert info_nce(a, b, nothing, 0.5).item() == pytest.approx((sum(rows) + sum(columns)) / 4)
    left_out = torch.tensor(
        [[True, True], [False, False]]
    )  # a[0] and b[1] are one concept; the diagonal stays, marked or not
    assert info_nce(a, b, left_out, 0.5).item() == pytest.approx((rows[1] + columns[0]) / 4)


@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.sampled_from([0.05, 1.0]),
    st.integers(0, 999),
    st.data(),
)
@settings(deadline=None, max_examples=60)
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


def test_info_nce_does_not_depend_on_lengths_or_on_the_order_of_pairs() -> None:
    random = torch.Generator().manual_seed(2)
    a, b = (torch.randn(4, 3, generator=random, dtype=torch.float64) for _ in "ab")
    same = torch.tensor(
        [[False, True, False, False], [True, False, False, False], [False] * 4, [False] * 4]
    )
    expected = pytest.approx(info_nce(a, b, same, 0.1).item())
    order = [2, 0, 3, 1]
    assert info_nce(a * 7, b * 0.1, same, 0.1).item() == expected
    assert info_nce(a[order], b[order], same[order][:, order], 0.1).item() == expected
    assert info_nce(b, a, same.T, 0.1).item() == expected


def test_gradients_of_info_nce_are_those_of_differences() -> None:
    random = torch.Generator().manual_seed(3)
    a, b = (
        torch.randn(3, 4, generator=random, dtype=torch.float64, requires_grad=True) for _ in "ab"
    )
    same = torch.tensor([[True, False, True], [False, True, False], [True, False, True]])
    assert torch.autograd.gradcheck(lambda x, y: info_nce(x, y, same, 0.3), (a, b))


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
