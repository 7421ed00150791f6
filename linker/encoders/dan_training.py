"""The Deep Averaging Network in training: torch trains its hidden layer; linking needs no torch."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from linker.dictionary.classes import Classes, Floats, of_concepts
from linker.encoders.base import EncoderContext
from linker.encoders.dan import DanEncoder, DanOptions
from linker.encoders.grounded import GroundedEncoder, to_arrays
from linker.encoders.trainable import Batch, Tokens
from linker.encoders.words import WordVectors, unit
from linker.errors import LinkerError


class Dropout(nn.Module):
    """Dropout that takes one random byte for each unit, so that the share is a multiple of 1/256.

    `nn.Dropout` takes most of the time of a step on a CPU.

    Args:
        share: of the units that are set to 0 in training.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = round(share * 256) / 256

    def forward(self, values: Tensor) -> Tensor:
        """Set a share of the values to 0 in training, and make up for it in the others."""
        if not (self.training and self.share):
            return values
        words = torch.randint(-(2**63), 2**63 - 1, (-(-values.numel() // 8),), device=values.device)
        kept = words.view(torch.uint8)[: values.numel()].view(values.shape) >= round(
            self.share * 256
        )
        return values * kept.to(values.dtype).mul_(1 / (1 - self.share))


class TrainableDan(GroundedEncoder):
    """The Deep Averaging Network that gradients train, with the vectors of `DanEncoder`.

    Args:
        encoder: gives the word vectors, the projection, and the weights of the network; without
            the latter they are random.
        seed: of random weights.
    """

    Options = DanOptions
    step = 2048  # names at once, also on a CPU

    def __init__(self, encoder: DanEncoder, seed: int = 0) -> None:
        super().__init__()
        self.words, self.options, dim = encoder.words, encoder.options, encoder.dim
        self.concept_projection = encoder.concept_projection
        # saved with the words, not with the weights
        vectors = torch.from_numpy(np.asarray(self.words.vectors))
        self.table = nn.Buffer(vectors, persistent=False)
        if self.options.cca:
            self.cca_mean, self.cca_weights = nn.Buffer(torch.zeros(dim)), nn.Buffer(torch.eye(dim))
        if self.options.hidden:
            torch.manual_seed(seed)
            self.layers = network(dim, self.options.hidden, self.options.dropout)
        weights = {name: torch.tensor(values) for name, values in encoder.weights.items()}
        self.load_state_dict(weights, strict=False)

    @classmethod
    def create(cls, context: EncoderContext) -> TrainableDan:
        if context.words is None:
            raise LinkerError(
                "the encoder dan is made of word vectors; name some with --words, or train them"
            )
        names = of_concepts(context.table)
        return cls.of(names, context.options, context.words, context.seed)

    @classmethod
    def of(cls, names: Classes, options: DanOptions, words: WordVectors, seed: int) -> TrainableDan:
        """Fit the projection (`DanEncoder.fitted`); the network has random weights by the seed."""
        return cls(DanEncoder.fitted(names, options, words), seed)

    def finished(self) -> DanEncoder:
        return DanEncoder(self.words, self.options, to_arrays(self))

    @property
    def dim(self) -> int:
        return self.words.dim

    @property
    def device(self) -> torch.device:
        return self.table.device

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        return [self.words.pieces(name) for name in names]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        rows, weights = array("i"), array("f")
        for name_rows, name_weights in tokens:
            rows.extend(name_rows)
            weights.extend(name_weights)
        offsets = [0, *accumulate(len(name_rows) for name_rows, _ in tokens)][:-1]
        arrays = {
            "rows": np.asarray(rows, np.int64),
            "offsets": np.asarray(offsets, np.int64),
            "weights": np.asarray(weights, np.float32),
        }
        return {name: torch.from_numpy(values) for name, values in arrays.items()}

    def forward(self, batch: Batch) -> Tensor:
        rows, offsets, weights = batch["rows"], batch["offsets"], batch["weights"]
        means = functional.embedding_bag(
            rows, self.table, offsets, mode="sum", per_sample_weights=weights
        )
        vectors, known = functional.normalize(means, dim=-1), means.any(dim=-1, keepdim=True)
        if self.options.cca:
            vectors = (vectors - self.cca_mean) @ self.cca_weights
        if self.options.hidden:
            vectors = self.layers(vectors)
        return known * (
            functional.normalize(vectors, dim=-1) if self.options.normalize else vectors
        )

    def pretrained(self, names: Sequence[str]) -> Floats:
        return unit(self.words.means(names))

    def prototypes(self, names: Classes, projected: bool) -> Floats:
        """As for any grounded encoder; projected: CCA(u_c) (Fivez et al. 2021a, eq. 4).

        Else it is u_c, as in the published code.
        """
        means = super().prototypes(names, projected)
        if not (projected and self.options.cca):
            return means
        if self.concept_projection is None:
            raise ValueError(
                "an encoder that was loaded has no projection of concepts; "
                "make a new one to train it"
            )
        return self.concept_projection(means)

    def _write(self, folder: Path) -> object:
        return self.finished()._write(folder)

    @classmethod
    def _read(cls, folder: Path, saved: Any) -> TrainableDan:
        return cls(DanEncoder._read(folder, saved))


def network(dim: int, hidden: int, dropout: float) -> nn.Sequential:
    """A network of one hidden layer, whose weights are random; vectors go in and come out.

    Args:
        dim: components of the vectors.
        hidden: units of the hidden layer.
        dropout: the share of them that is set to 0 in training.
    """
    return nn.Sequential(
        nn.Linear(dim, hidden), nn.ReLU(), Dropout(dropout), nn.Linear(hidden, dim)
    )
