"""The list-wise ranker: it scores candidates by an encoder and, weighted by λ, by characters."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from linker.encoders.trainable import TrainableEncoder


class ListwiseRanker(nn.Module):
    """The trained weights: those of an encoder, and λ.

    The score of a candidate e of a mention m is `z = scale · (v_m · v_e) + λ · sparse(m, e)`
    (BioSyn eq. 1-4, BCNH eq. 1-3).

    Args:
        encoder: gives the vectors v.
        scale: multiplies the dot products.
        sparse_weight: λ at the start.
    """

    def __init__(self, encoder: TrainableEncoder, scale: float, sparse_weight: float) -> None:
        super().__init__()
        self.encoder, self.scale = encoder, scale
        self.sparse_weight = nn.Parameter(torch.tensor(float(sparse_weight)))

    def embed(self, names: Sequence[str]) -> Tensor:
        """Encode names to (len(names), dim), with gradients."""
        return self.encoder.embed(names)

    def scores(self, mentions: Tensor, candidates: Tensor, sparse: Tensor) -> Tensor:
        """Score the candidates of mentions.

        Args:
            mentions: v_m, (B, d).
            candidates: v_e, (B, K, d).
            sparse: the sparse scores, (B, K).

        Returns:
            z, (B, K).
        """
        dense = self.scale * torch.einsum("bd,bkd->bk", mentions, candidates)
        return dense + self.sparse_weight * sparse


def spread(vectors: Tensor, *masks: Tensor) -> list[Tensor]:
    """Put a sequence of vectors into the places where masks are True, and zeros elsewhere.

    Args:
        vectors: (n, d), for the places of the first mask in row order, then of the next one.
        masks: bool (B, K), each with its own K.

    Returns:
        (B, K, d) for each mask.
    """
    padded, start = [], 0
    for mask in masks:
        places = mask.nonzero(as_tuple=True)
        count = len(places[0])
        empty = vectors.new_zeros(*mask.shape, vectors.shape[-1])
        padded.append(empty.index_put(places, vectors[start : start + count]))
        start += count
    return padded
