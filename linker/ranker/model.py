"""The list-wise ranker: an encoder, λ, and the scores that they give a list."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from linker.encoders.trainable import TrainableEncoder


class ListwiseRanker(nn.Module):
    """An encoder and λ: scores z = scale · v_m · v_e + λ · sparse (BioSyn eq. 1-4, BCNH eq. 1-3)."""

    def __init__(self, encoder: TrainableEncoder, scale: float, sparse_weight: float) -> None:
        super().__init__()
        self.encoder, self.scale = encoder, scale
        self.sparse_weight = nn.Parameter(torch.tensor(float(sparse_weight)))

    def embed(self, names: Sequence[str]) -> Tensor:
        """Encode names to (len(names), dim), with gradients."""
        return self.encoder.embed(names)

    def scores(self, mentions: Tensor, candidates: Tensor, sparse: Tensor) -> Tensor:
        """Score the candidates (B, K, d) of mentions (B, d), given their sparse scores (B, K): z, (B, K)."""
        return (
            self.scale * torch.einsum("bd,bkd->bk", mentions, candidates)
            + self.sparse_weight * sparse
        )


def spread(vectors: Tensor, *masks: Tensor) -> list[Tensor]:
    """Put the vectors of names, in order, into the places where masks (B, K) are True; zeros elsewhere: (B, K, d) for each mask."""
    spread, start = [], 0
    for mask in masks:
        places = mask.nonzero(as_tuple=True)
        count = len(places[0])
        empty = vectors.new_zeros(*mask.shape, vectors.shape[-1])
        spread.append(empty.index_put(places, vectors[start : start + count]))
        start += count
    return spread
