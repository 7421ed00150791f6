"""The base class of dense encoders with weights: names to batches, batches to vectors."""

from __future__ import annotations

import contextlib
import hashlib
import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from linker.encoders.base import Encoder, Precision
from linker.errors import LinkerError

logger = logging.getLogger(__name__)

_GPU_STEP = 512  # names that are embedded at once on a GPU; fewer do not use all of it
_ENCODED = 256  # names that are encoded at once, at most

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
        try:
            self.to(pick_device(device))
        except torch.OutOfMemoryError:
            self.to("cpu")
            raise LinkerError(
                "the memory of the GPU does not hold the encoder; free some of it, or take the "
                "device cpu"
            ) from None

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def embed(self, names: Sequence[str]) -> Tensor:
        """Encode names to (len(names), dim) with gradients, each distinct name once."""
        if not names:
            return torch.zeros(0, self.dim, device=self.device)
        distinct, places = _distinct(names)
        tokens = self._cut(distinct)
        order, step = _longest_first(tokens), self.step if self.device.type == "cpu" else _GPU_STEP
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

        Where a batch does not fit into the memory of the GPU, it and the later ones are cut in
        half.

        Args:
            names: any number; the vectors and tokens of all of them are in memory.
            progress: is called from time to time with the number of distinct names encoded so
                far, and with that of all.

        Returns:
            float32 (len(names), dim).

        Raises:
            LinkerError: not even one name fits into the memory of the GPU.
        """
        distinct, places = _distinct(names)
        tokens = self._cut(distinct)
        step = min(_ENCODED, self.step) if self.device.type == "cpu" else _ENCODED
        vectors = np.empty((len(distinct), self.dim), np.float32)
        remaining = _longest_first(tokens)  # so that too large a batch fails at once
        with self._evaluating():
            while len(remaining):
                if progress:
                    progress(len(distinct) - len(remaining), len(distinct))
                rows = remaining[:step]
                try:
                    vectors[rows] = self._run(tokens, rows).float().cpu().numpy()
                except torch.OutOfMemoryError:
                    step = len(rows) // 2
                else:
                    remaining = remaining[len(rows) :]
                    continue
                if not step:
                    raise LinkerError(
                        "the memory of the GPU does not hold the encoding of one name; "
                        "free some of it, or take --device cpu"
                    )
                torch.cuda.empty_cache()  # here, as the error held the tensors of the failed try
                logger.warning("CUDA out of memory; going on with %d names at once", step)
        return vectors if len(distinct) == len(names) else vectors[places]

    def _cut(self, names: Sequence[str]) -> list[Tokens]:
        """The tokens of distinct names, from the cache where possible."""
        missing = [name for name in names if name not in self._cache]
        cut = dict(zip(missing, self.tokenize(missing), strict=True)) if missing else {}
        self._cache.update(islice(cut.items(), max(0, self.cached - len(self._cache))))
        return [cut[name] if name in cut else self._cache[name] for name in names]

    def _run(self, tokens: Sequence[Tokens], rows: NDArray[np.int64]) -> Tensor:
        batch = self.collate([tokens[i] for i in rows])
        vectors: Tensor = self({name: values.to(self.device) for name, values in batch.items()})
        return vectors

    @contextlib.contextmanager
    def _evaluating(self) -> Iterator[None]:
        """Without dropout and gradients; the mode is put back afterwards."""
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


def _distinct(names: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct names, and for each name where it is among them."""
    rows: dict[str, int] = {}
    places = np.fromiter((rows.setdefault(name, len(rows)) for name in names), np.int64, len(names))
    return list(rows), places


def _longest_first(tokens: Sequence[Tokens]) -> NDArray[np.int64]:
    """The rows of names by falling length, so that a batch has names of similar length."""
    return np.argsort([-len(pieces) for pieces in tokens], kind="stable")
