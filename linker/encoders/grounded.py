"""Encoders in training, by torch, that link without: dan, fewshot, static.

Grounding trains the first two from the pretrained vectors of names.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from linker.dictionary.classes import Classes, Floats, concept_means
from linker.encoders.base import Encoder
from linker.encoders.dan import DanEncoder, NumpyEncoder, project
from linker.encoders.fewshot import FewShotEncoder
from linker.encoders.static import StaticEncoder, WordPieces
from linker.encoders.trainable import Batch, Tokens, TrainableEncoder
from linker.encoders.words import joined, unit

_DROPOUT = 0.5  # share of the hidden units in training, counted in 256ths


class GroundedEncoder(TrainableEncoder):
    """An encoder that knows the pretrained vectors of names, so that grounding can train it."""

    is_grounded = True

    @abstractmethod
    def pretrained(self, names: Sequence[str]) -> Floats:
        """The vector u_n of each name before any training, float32 (len(names), dim)."""

    def prototypes(self, names: Classes, projected: bool) -> Floats:
        """The vector u_c of each class, the mean of its names' (Fivez et al. 2021a, eq. 2).

        Args:
            names: of the classes, each of which has one or more.
            projected: whether to apply the encoder's projection, where it has one.

        Returns:
            float32 (classes, dim).
        """
        return concept_means(self.pretrained(names.texts), names.labels)


def dropped(values: Tensor, share: float) -> Tensor:
    """Set a share of the values to 0, and make up for it in the others, as `nn.Dropout`.

    That takes most of the time of a step on a CPU. This takes one random byte for each value, so
    that the share is rounded to a multiple of 1/256.
    """
    limit = round(share * 256)
    if not limit:
        return values
    words = torch.randint(-(2**63), 2**63 - 1, (-(-values.numel() // 8),), device=values.device)
    kept = words.view(torch.uint8)[: values.numel()].view(values.shape) >= limit
    return values * kept.to(values.dtype).mul_(1 / (1 - limit / 256))


class TrainableNetwork(GroundedEncoder):
    """A network of one hidden layer in training, with the vectors of the encoder that links.

    Args:
        encoder: gives the vectors that go into the network, and its weights; a new one without
            these gives the seed of random ones.
    """

    step = 2048  # names at once, also on a CPU

    def __init__(self, encoder: NumpyEncoder) -> None:
        super().__init__()
        self.linking, self.options = encoder, encoder.options
        hidden, dim = self.options.hidden, encoder.dim
        torch.manual_seed(encoder.seed)
        if hidden:
            into, out = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
            self.layers = nn.ModuleDict({"0": into, "3": out})  # called as in earlier releases
        weights = {name: torch.tensor(values) for name, values in encoder.weights.items()}
        self.load_state_dict(weights, strict=False)

    def network(self, vectors: Tensor) -> Tensor:
        """Bring vectors (n, dim) through the hidden layer, as `NumpyEncoder.network`."""
        hidden = functional.relu(self.layers["0"](vectors))
        if self.training:
            hidden = dropped(hidden, _DROPOUT)
        moved: Tensor = self.layers["3"](hidden)
        return moved

    def finished(self) -> NumpyEncoder:
        encoder = copy.copy(self.linking)
        encoder.weights = to_arrays(self)
        return encoder

    @property
    def dim(self) -> int:
        return self.linking.dim

    def save(self, folder: Path) -> None:
        self.finished().save(folder)


class TrainableDan(TrainableNetwork):
    """The Deep Averaging Network that gradients train."""

    linking: DanEncoder

    def __init__(self, encoder: DanEncoder) -> None:
        super().__init__(encoder)
        # saved with the words, not with the weights
        vectors = torch.from_numpy(np.asarray(encoder.words.vectors))
        self.table = nn.Buffer(vectors, persistent=False)
        if self.options.cca:
            self.cca_mean, self.cca_weights = (
                nn.Buffer(torch.tensor(encoder.weights[name]))
                for name in ("cca_mean", "cca_weights")
            )

    @classmethod
    def load(cls, folder: Path) -> TrainableDan:
        return cls(DanEncoder.load(folder))

    @property
    def device(self) -> torch.device:
        return self.table.device

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        return [self.linking.words.pieces(name) for name in names]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        rows, weights, ends = joined(tokens)
        arrays = {"rows": rows, "offsets": ends[:-1], "weights": weights}
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
            vectors = self.network(vectors)
        return known * functional.normalize(vectors, dim=-1)

    def pretrained(self, names: Sequence[str]) -> Floats:
        return unit(self.linking.words.means(names))

    def prototypes(self, names: Classes, projected: bool) -> Floats:
        """As for any grounded encoder; projected: CCA(u_c) (Fivez et al. 2021a, eq. 4).

        Else it is u_c, as in the published code.
        """
        means = super().prototypes(names, projected)
        if not (projected and self.options.cca):
            return means
        return project(means, self.linking.concept_projection)


class TrainableFewShot(TrainableNetwork):
    """The few-shot encoder that gradients train; the encoder below stays as it is."""

    linking: FewShotEncoder
    cached = 20_000  # names whose vectors are kept, 1 to 3 KB each

    @classmethod
    def load(cls, folder: Path) -> TrainableFewShot:
        return cls(FewShotEncoder.load(folder))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> TrainableFewShot:
        """Move the encoder below as well, when `to` moves this one."""
        if isinstance(self.base, nn.Module):
            self.base._apply(fn, recurse)  # type: ignore[no-untyped-call]
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    @property
    def base(self) -> Encoder:
        """The encoder below."""
        return self.linking.base

    def pretrained(self, names: Sequence[str]) -> Floats:
        return unit(self.base.encode(names))

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        return [row.copy() for row in self.pretrained(names)]  # a view would keep all of them

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        return {"vectors": torch.from_numpy(np.stack(tokens))}

    def forward(self, batch: Batch) -> Tensor:
        moved = (self.network(batch["vectors"]) + batch["vectors"]) / 2
        known = batch["vectors"].any(dim=-1, keepdim=True)  # to the encoder below
        return known * functional.normalize(moved, dim=-1)


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
    weight_decay = 0.0
    align_rate, align_temperature, hard_negatives = 1e-2, 0.1, False

    def __init__(self, encoder: StaticEncoder) -> None:
        super().__init__()
        self.linking, self.options = encoder, encoder.options
        self.table = nn.Buffer(torch.from_numpy(encoder.table.floats()))
        self.log_weights = nn.Parameter(torch.zeros(len(self.table), 1))
        self.projection = nn.Parameter(torch.eye(self.dim))

    @property
    def dim(self) -> int:
        return self.linking.dim

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        counts, used = self.linking.table.counts(names)
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
        return StaticEncoder(WordPieces.of(self.linking.table.pieces, vectors), self.options)

    def save(self, folder: Path) -> None:
        self.finished().save(folder)

    @classmethod
    def load(cls, folder: Path) -> TrainableStatic:
        return cls(StaticEncoder.load(folder))


def to_arrays(module: nn.Module) -> dict[str, Floats]:
    """The weights of a module as arrays of numpy, which share memory with those on a CPU."""
    state = module.state_dict()
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in state.items()}
