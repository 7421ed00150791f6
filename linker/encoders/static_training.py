"""Static vectors in training: gradients weigh and project them; linking needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from linker.encoders.static import StaticEncoder
from linker.encoders.trainable import Batch, Tokens, TrainableEncoder
from linker.encoders.wordpieces import WordPieces


class TrainableStatic(TrainableEncoder):
    """Static vectors that gradients train: a weight for each sub-word, and a projection of all.

    `f(n) = unit(Σ exp(a_w) t_w P)` over the sub-words w of n. At the start each a_w is 0 and P the
    identity, so that names have the same vectors as by the encoder that it starts from. Both go
    into the table when the training is over. The vectors t_w themselves are not trained: those of
    sub-words that the dictionary does not have would stay behind, and the others fit its names
    too closely.

    Args:
        encoder: fitted to the dictionary.
    """

    step = 2048  # names at once, also on a CPU

    def __init__(self, encoder: StaticEncoder) -> None:
        super().__init__()
        self.start, self.options = encoder, encoder.options
        self.table = nn.Buffer(torch.from_numpy(encoder.table.floats()))
        self.log_weights = nn.Parameter(torch.zeros(len(self.table), 1))
        self.projection = nn.Parameter(torch.eye(self.dim))

    @property
    def dim(self) -> int:
        return self.start.dim

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        counts, used = self.start.table.counts(names)
        return [rows.tolist() for rows in np.split(used[counts.indices], counts.indptr[1:-1])]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        ends = np.cumsum([len(rows) for rows in tokens])
        rows = np.fromiter(chain.from_iterable(tokens), np.int64)
        arrays = {"rows": rows, "offsets": np.append(0, ends[:-1])}
        return {name: torch.from_numpy(values) for name, values in arrays.items()}

    def forward(self, batch: Batch) -> Tensor:
        rows, offsets = batch["rows"], batch["offsets"]
        # unlike that of log_weights[rows], the gradient of embedding() adds in a fixed order
        weights = functional.embedding(rows, self.log_weights).exp().squeeze(-1)
        sums = functional.embedding_bag(
            rows, self.table, offsets, mode="sum", per_sample_weights=weights
        )
        return functional.normalize(sums @ self.projection, dim=-1)

    def finished(self) -> StaticEncoder:
        vectors = (self.table * self.log_weights.exp() @ self.projection).detach().cpu().numpy()
        return StaticEncoder(WordPieces.of(self.start.table.pieces, vectors), self.options)

    def save(self, folder: Path) -> None:
        self.finished().save(folder)

    @classmethod
    def load(cls, folder: Path) -> TrainableStatic:
        return cls(StaticEncoder.load(folder))
