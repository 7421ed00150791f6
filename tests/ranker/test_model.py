"""The score of the hybrid ranker, by hand."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from linker.ranker.model import ListwiseRanker  # noqa: E402


def test_scores_by_hand() -> None:
    ranker = ListwiseRanker(nn.Identity(), scale=2.0, sparse_weight=0.5)
    mentions = torch.tensor([[1.0, 2.0], [0.0, -1.0]])
    candidates = torch.tensor([[[3.0, 4.0], [1.0, 0.0]], [[5.0, 6.0], [0.0, 2.0]]])
    sparse = torch.tensor([[0.25, 0.0], [1.0, 0.5]])
    expected = [
        [2 * (1 * 3 + 2 * 4) + 0.5 * 0.25, 2 * 1 + 0],
        [2 * -6 + 0.5 * 1, 2 * -2 + 0.5 * 0.5],
    ]
    assert ranker.scores(mentions, candidates, sparse).tolist() == expected
    ranker.scores(mentions, candidates, sparse).sum().backward()
    assert ranker.sparse_weight.grad == 0.25 + 0 + 1 + 0.5
