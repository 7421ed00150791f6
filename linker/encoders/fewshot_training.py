"""The few-shot encoder in training: torch trains its network; linking needs no torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from linker import files, persistence, registry
from linker.dictionary.classes import Floats, of_concepts
from linker.encoders.base import Encoder, EncoderContext, SparseEncoder
from linker.encoders.dan import DanEncoder, DanOptions
from linker.encoders.dan_training import network
from linker.encoders.fewshot import OF_WORD_VECTORS, FewShotEncoder, FewShotOptions
from linker.encoders.grounded import GroundedEncoder, to_arrays
from linker.encoders.trainable import Batch, Tokens, checksum
from linker.encoders.words import unit
from linker.errors import LinkerError


class TrainableFewShot(GroundedEncoder):
    """The few-shot encoder that gradients train, with the vectors of `FewShotEncoder`.

    Args:
        encoder: gives the encoder below, and the weights of the network; without the latter they
            are random.
        seed: of random weights.
    """

    Options = FewShotOptions
    step = 2048  # names at once, also on a CPU
    cached = 20_000  # names whose vectors are kept, 1 to 3 KB each

    def __init__(self, encoder: FewShotEncoder, seed: int = 0) -> None:
        super().__init__()
        self._below = (encoder.base,)  # in a tuple, so that its weights are not trained with these
        self.kind, self.options = encoder.kind, encoder.options
        torch.manual_seed(seed)
        self.layers = network(self.dim, self.options.hidden, self.options.dropout)
        weights = {name: torch.tensor(values) for name, values in encoder.weights.items()}
        self.load_state_dict(weights, strict=False)

    @classmethod
    def create(cls, context: EncoderContext) -> TrainableFewShot:
        base = _base(context)
        options = dataclasses.replace(context.options, base=base.label)
        encoder = cls(FewShotEncoder(base.encoder, base.kind, options), context.seed)
        encoder.provenance = base.provenance
        return encoder

    def finished(self) -> FewShotEncoder:
        return FewShotEncoder(self.base, self.kind, self.options, to_arrays(self))

    @property
    def base(self) -> Encoder:
        """The encoder below."""
        return self._below[0]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> TrainableFewShot:
        """Move the encoder below as well, when `to` moves this one."""
        if isinstance(self.base, nn.Module):
            self.base._apply(fn, recurse)  # type: ignore[no-untyped-call]
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    @property
    def dim(self) -> int:
        return self.base.dim

    def pretrained(self, names: Sequence[str]) -> Floats:
        return unit(self.base.encode(names))

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        return [row.copy() for row in self.pretrained(names)]  # a view would keep all of them

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        return {"vectors": torch.from_numpy(np.stack(tokens))}

    def forward(self, batch: Batch) -> Tensor:
        moved = (self.layers(batch["vectors"]) + batch["vectors"]) / 2
        known = batch["vectors"].any(dim=-1, keepdim=True)  # to the encoder below
        return known * (functional.normalize(moved, dim=-1) if self.options.normalize else moved)

    def _write(self, folder: Path) -> object:
        return self.finished()._write(folder)

    @classmethod
    def _read(cls, folder: Path, saved: Any) -> TrainableFewShot:
        return cls(FewShotEncoder._read(folder, saved))


@dataclasses.dataclass(frozen=True, slots=True)
class _Base:
    """The encoder below."""

    encoder: Encoder
    kind: str  # its name in the registry
    label: str  # the value of `base` that is saved; it has no path of this machine
    provenance: str  # fingerprint of its weights; empty for word vectors, which have one already


def _base(context: EncoderContext) -> _Base:
    """Make or load the encoder that the options ask for."""
    name = context.options.base
    if name in OF_WORD_VECTORS:
        if context.words is None:
            raise LinkerError(
                "the encoder fewshot stands on word vectors here; "
                "name some with --words, or set fewshot.base"
            )
        options = DanOptions(cca=name == "cca", hidden=0)
        means = DanEncoder.fitted(of_concepts(context.table), options, context.words)
        return _Base(means, "dan", name, "")
    kind, _, model = name.partition(":")
    if kind == "transformer":
        # importing it takes seconds
        from linker.encoders.transformer import TransformerOptions
        from linker.encoders.transformer_training import TrainableTransformer

        encoder = TrainableTransformer.pretrained(TransformerOptions(model=model)).eval()
        label = f"{kind}:{encoder.options.model}".removesuffix(":")
        return _Base(encoder, kind, label, checksum(encoder))
    if not Path(name).is_dir():
        raise LinkerError(
            f"fewshot.base is {name!r}; "
            "expected: cca, words, transformer, transformer:ID, or the folder of a model"
        )
    return persistence.load(
        name, "model", lambda folder, config: _of_model(folder, config, Path(name).resolve().name)
    )


def _of_model(folder: Path, config: Mapping[str, Any], label: str) -> _Base:
    """The dense encoder of a model."""
    name = config["encoder"]
    kind = registry.load(name)
    if issubclass(kind, SparseEncoder):
        raise LinkerError(
            f"{folder}: is a model of the encoder {name}, which is sparse; "
            "expected: one of a dense encoder"
        )
    provenance = files.sha256(folder / persistence.MANIFEST)
    return _Base(kind.load(folder / "dense"), name, label, provenance)
