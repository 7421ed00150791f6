"""Encoders of torch: names to batches, batches to vectors, and what gradients train.

`dan`, `fewshot` and `static` link without torch; here are the encoders that train in their place.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from linker.dictionary.classes import Classes, Floats, concept_means
from linker.encoders.base import Encoder, Precision
from linker.encoders.dan import DanEncoder, NumpyEncoder, project
from linker.encoders.fewshot import FewShotEncoder
from linker.encoders.static import StaticEncoder, WordPieces
from linker.encoders.words import joined, unit
from linker.errors import LinkerError

_GPU_STEP = 512  # names that are embedded at once on a GPU; fewer do not use all of it
_ENCODED = 256  # names that are encoded at once, at most
_DROPOUT = 0.5  # share of the hidden units in training, counted in 256ths

Tokens = Sequence[Any]  # the pieces of one name; padding costs their number
Batch = dict[str, Tensor]


def pick_device(choice: Literal["auto", "cpu", "cuda"]) -> torch.device:
    """Choose where to compute; auto is a GPU where there is one.

    Raises:
        LinkerError: the choice is cuda, and there is no GPU that torch can use.
    """
    has_gpu = torch.cuda.is_available()
    if choice == "cuda" and not has_gpu:
        raise LinkerError(
            "the device is cuda, but torch finds no GPU; take auto or cpu, "
            "or install a torch that was built for your GPU"
        )
    return torch.device("cuda" if has_gpu and choice != "cpu" else "cpu")


@contextlib.contextmanager
def in_memory(what: str) -> Iterator[None]:
    """Say in a sentence that the memory of the GPU does not hold something."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise LinkerError(
            f"the memory of the GPU does not hold {what}; free some of it, or take the device cpu"
        ) from None


def bf16_is_fast(device: torch.device) -> bool:
    """Whether bf16 is faster than fp32 on a device, since the processor computes it natively.

    Elsewhere autocast is slower, three times on AVX-512. CPUs with AMX or AVX512-BF16 compute it
    natively; if torch is too old to list the abilities of a CPU, the answer is no.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu" or not hasattr(torch.cpu, "get_capabilities"):
        return False
    abilities = torch.cpu.get_capabilities()
    return bool(abilities.get("amx_bf16") or abilities.get("avx512_bf16"))


def resolve_precision(device: torch.device, precision: Precision) -> Literal["fp32", "bf16"]:
    """Replace auto by the precision for a device: bf16 where it is fast, else fp32."""
    is_bf16 = bf16_is_fast(device) if precision == "auto" else precision == "bf16"
    return "bf16" if is_bf16 else "fp32"


def autocast(device: torch.device, precision: Precision) -> torch.autocast:
    """Compute in this precision within a `with` block. fp32 also undoes an outer autocast."""
    is_bf16 = resolve_precision(device, precision) == "bf16"
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=is_bf16)


class TrainableEncoder(Encoder, nn.Module):
    """An encoder that gradients can train: `tokenize`, `collate` and `forward` make the vectors.

    Attributes:
        step: the names that a CPU encodes at once. More do not fit its caches: with MiniLM, each
            name takes a quarter longer with 256 at once, half as long again with 320 and
            gradients.
        cached: the number of names whose tokens are cached, about 100 bytes each, since every
            epoch encodes the same dictionary.
        weight_decay: of its weights, where lists or self-alignment train them.
        align_rate: the learning rate of self-alignment, at its highest.
        align_temperature: of its InfoNCE: cosines are divided by it.
        hard_negatives: whether pairs with similar vectors share a batch there.
        precision: in which `embed` and `encode` compute; they return float32 in any case.
    """

    has_weights = True
    step: ClassVar[int] = 64
    cached: ClassVar[int] = 200_000
    weight_decay: ClassVar[float] = 0.01
    align_rate: ClassVar[float] = 2e-5
    align_temperature: ClassVar[float] = 0.05
    hard_negatives: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self.precision: Precision = "fp32"
        self._cache: dict[str, Tokens] = {}

    @abstractmethod
    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        """Cut names into pieces; done once for each name."""

    @abstractmethod
    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        """Pad names to tensors for `forward`, on the CPU."""

    @abstractmethod
    def forward(self, batch: Batch) -> Tensor:
        """Encode a batch to (n, dim), with gradients."""

    def finished(self) -> Encoder:
        """The encoder that links once the training is over."""
        return self

    def use(self, precision: Precision) -> Precision:
        self.precision = resolve_precision(self.device, precision)
        return self.precision

    def move(self, device: Literal["cpu", "cuda"]) -> None:
        with in_memory("the encoder"):
            self.to(pick_device(device))

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def embed(self, names: Sequence[str]) -> Tensor:
        """Encode names to (len(names), dim) with gradients, each distinct name once."""
        if not names:
            return torch.zeros(0, self.dim, device=self.device)
        tokens, places = self._cut(names)
        step = self.step if self.device.type == "cpu" else _GPU_STEP
        order = _longest_first(tokens)
        with autocast(self.device, self.precision):
            pieces = [
                self._run(tokens, order[i : i + step]).float() for i in range(0, len(order), step)
            ]
        rows = np.argsort(order)[places]  # where each name is among the pieces
        # `embedding` adds up gradients in a fixed order
        return functional.embedding(torch.from_numpy(rows).to(self.device), torch.cat(pieces))

    def encode(
        self, names: Sequence[str], progress: Callable[[int, int], object] | None = None
    ) -> NDArray[np.float32]:
        """Encode each distinct name once, without dropout and gradients.

        Args:
            names: any number; the vectors and tokens of all of them are in memory.
            progress: is called from time to time with the number of distinct names encoded so
                far, and with that of all.

        Returns:
            float32 (len(names), dim).

        Raises:
            LinkerError: the memory of the GPU does not hold a batch.
        """
        tokens, places = self._cut(names)
        step = min(_ENCODED, self.step) if self.device.type == "cpu" else _ENCODED
        vectors = np.empty((len(tokens), self.dim), np.float32)
        order = _longest_first(tokens)  # so that too large a batch fails at once
        with self._evaluating(), in_memory("the encoding of names"):
            for start in range(0, len(order), step):
                if progress:
                    progress(start, len(order))
                rows = order[start : start + step]
                vectors[rows] = self._run(tokens, rows).float().cpu().numpy()
        return vectors if len(tokens) == len(names) else vectors[places]

    def _cut(self, names: Sequence[str]) -> tuple[list[Tokens], NDArray[np.int64]]:
        """The tokens of the distinct names, and for each name where it is among these."""
        rows: dict[str, int] = {}
        places = np.fromiter((rows.setdefault(name, len(rows)) for name in names), np.int64)
        missing = [name for name in rows if name not in self._cache]
        cut = dict(zip(missing, self.tokenize(missing), strict=True)) if missing else {}
        self._cache.update(islice(cut.items(), max(0, self.cached - len(self._cache))))
        return [cut[name] if name in cut else self._cache[name] for name in rows], places

    def _run(self, tokens: Sequence[Tokens], rows: NDArray[np.int64]) -> Tensor:
        batch = self.collate([tokens[row] for row in rows.tolist()])
        vectors: Tensor = self({name: values.to(self.device) for name, values in batch.items()})
        return vectors

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        was_training = self.training
        self.eval()
        try:
            with torch.inference_mode(), autocast(self.device, self.precision):
                yield
        finally:
            self.train(was_training)


def checksum(module: nn.Module) -> str:
    """A fingerprint of the weights of a module."""
    digest = hashlib.sha256()
    for tensor in module.state_dict().values():
        digest.update(tensor.detach().cpu().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def to_arrays(module: nn.Module) -> dict[str, Floats]:
    """The weights of a module as arrays of numpy, which share memory with those on a CPU."""
    state = module.state_dict()
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in state.items()}


def _longest_first(tokens: Sequence[Tokens]) -> NDArray[np.int64]:
    """The rows of names by falling length, so that a batch has names of similar length."""
    return np.argsort([-len(pieces) for pieces in tokens], kind="stable")


def _tensors(**arrays: NDArray[Any]) -> Batch:
    return {name: torch.from_numpy(values) for name, values in arrays.items()}


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


class Standin(TrainableEncoder):
    """Is trained in place of an encoder that links without torch, which `finished` makes."""

    linking: Any

    @property
    def dim(self) -> int:
        return int(self.linking.dim)

    def save(self, folder: Path) -> None:
        self.finished().save(folder)

    @classmethod
    def load(cls, folder: Path) -> Standin:
        raise NotImplementedError("what is saved is the encoder that links")


class TrainableNetwork(Standin, GroundedEncoder):
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
        encoder: NumpyEncoder = copy.copy(self.linking)
        encoder.weights = to_arrays(self)
        return encoder


class TrainableDan(TrainableNetwork):
    """The Deep Averaging Network that gradients train."""

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

    @property
    def device(self) -> torch.device:
        return self.table.device

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        return [self.linking.words.pieces(name) for name in names]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        rows, weights, ends = joined(tokens)
        return _tensors(rows=rows, offsets=ends[:-1], weights=weights)

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

    cached = 20_000  # names whose vectors are kept, 1 to 3 KB each

    def pretrained(self, names: Sequence[str]) -> Floats:
        return unit(self.linking.base.encode(names))

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        return [row.copy() for row in self.pretrained(names)]  # a view would keep all of them

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        return _tensors(vectors=np.stack(tokens))

    def forward(self, batch: Batch) -> Tensor:
        moved = (self.network(batch["vectors"]) + batch["vectors"]) / 2
        known = batch["vectors"].any(dim=-1, keepdim=True)  # to the encoder below
        return known * functional.normalize(moved, dim=-1)


class TrainableStatic(Standin):
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

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        counts, used = self.linking.table.counts(names)
        return [rows.tolist() for rows in np.split(used[counts.indices], counts.indptr[1:-1])]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        ends = np.cumsum([len(rows) for rows in tokens])
        rows = np.fromiter(chain.from_iterable(tokens), np.int64)
        return _tensors(rows=rows, offsets=np.append(0, ends[:-1]))

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


_TRAINERS: dict[type[Encoder], Callable[[Any], TrainableEncoder]] = {
    DanEncoder: TrainableDan,
    FewShotEncoder: TrainableFewShot,
    StaticEncoder: TrainableStatic,
}


def in_training(encoder: Encoder) -> TrainableEncoder:
    """The encoder that gradients train, which starts from this one and may be the same."""
    if isinstance(encoder, TrainableEncoder):
        return encoder
    return _TRAINERS[type(encoder)](encoder)
