"""Static vectors in training: gradients move the vectors of sub-words; linking needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from linker.encoders.static import StaticEncoder
from linker.encoders.trainable import Batch, Tokens, TrainableEncoder
from linker.encoders.wordpieces import WordPieces


class TrainableStatic(TrainableEncoder):
    """Static vectors that gradients train; `finished` rounds them to 8 bits again.

    Names have the same vectors as by the encoder that it starts from.

    Args:
        encoder: fitted to the dictionary.
    """

    step = 2048  # names at once, also on a CPU

    def __init__(self, encoder: StaticEncoder) -> None:
        super().__init__()
        self.start, self.options = encoder, encoder.options
        vectors = torch.from_numpy(encoder.table.floats())
        # of a mean square of 1, so that a learning rate means the same for every dictionary
        size = vectors.square().mean().sqrt()
        self.vectors = nn.Parameter(vectors / size if size else vectors)

    @property
    def dim(self) -> int:
        return self.start.dim

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        counts, used = self.start.table.counts(names)
        return np.split(used[counts.indices], counts.indptr[1:-1])

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        ends = np.cumsum([len(rows) for rows in tokens])
        arrays = {"rows": np.concatenate(tokens), "offsets": np.append(0, ends[:-1])}
        return {name: torch.from_numpy(values) for name, values in arrays.items()}

    def forward(self, batch: Batch) -> Tensor:
        sums = functional.embedding_bag(batch["rows"], self.vectors, batch["offsets"], mode="sum")
        return functional.normalize(sums, dim=-1)

    def finished(self) -> StaticEncoder:
        vectors = self.vectors.detach().cpu().numpy()
        return StaticEncoder(WordPieces.of(self.start.table.pieces, vectors), self.options)

    def save(self, folder: Path) -> None:
        self.finished().save(folder)

    @classmethod
    def load(cls, folder: Path) -> TrainableStatic:
        return cls(StaticEncoder.load(folder))
