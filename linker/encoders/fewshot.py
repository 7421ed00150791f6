"""The few-shot encoder: a small network on top of another encoder (Fivez et al. 2021c)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional

from linker import files, persistence, registry
from linker.dictionary.classes import Floats
from linker.encoders.base import (
    Changes,
    Encoder,
    EncoderContext,
    Preset,
    SparseEncoder,
    merged,
)
from linker.encoders.dan import DanEncoder, DanOptions, Dropout
from linker.encoders.grounded import FIVEZ, LARGE_CLASSES, OF_WORDS, GroundedEncoder
from linker.encoders.trainable import Batch, Tokens, checksum
from linker.encoders.words import unit
from linker.errors import LinkerError
from linker.fields import OptionGroup, Units

_BASE = "base"
_OF_WORDS = ("cca", "words")


_SHOTS: Changes = {
    "ground": {
        "classes": "parts",
        "shots": 15,
        "epochs": 200,
        "patience": 10,
        "monitor": "loss",
        "negatives": 1000,
        "prototype_weight": 0,
        "between_weight": 1,
        "batch_size": 16,
    }
}


@dataclass(frozen=True, slots=True)
class FewShotOptions(OptionGroup):
    """The few-shot encoder: a network that moves the vectors of another encoder."""

    group: ClassVar[str] = "fewshot"

    # cca: mean word vectors, projected; words: as they are; transformer[:PATH_OR_HUB_ID];
    # or the folder of a dense model
    base: str = "cca"
    hidden: Units = 2400  # units of the hidden layer; 9,600 in the paper
    # share of the hidden units in training, counted in 256ths
    dropout: Annotated[float, Field(ge=0, le=0.998)] = 0.5
    normalize: bool = True  # unit vectors, so that the dense score is a cosine

    def __post_init__(self) -> None:
        if not self.base:
            raise LinkerError(
                "fewshot.base is empty; expected: cca, words, transformer, or the folder of a model"
            )


class FewShotEncoder(GroundedEncoder):
    """Dense: any encoder's vectors, moved by a network that a few names of each large class train.

    `f(n) = (enc(u_n) + u_n) / 2`, u_n the vector of the encoder below, brought to length 1 (Fivez
    et al. 2021c, eq. 1). That encoder is not trained. Make one with `create` or `load`.

    Args:
        base: the encoder below.
        kind: its name in the registry.
        options: of the network.
    """

    Options = FewShotOptions
    presets: ClassVar[Mapping[str, Preset]] = {
        "fewshot": Preset(
            "Dense: any encoder's vectors, moved by a network that a few names of each large class "
            "train; may stand on another one.",
            merged(
                OF_WORDS,
                LARGE_CLASSES,
                {"ground": FIVEZ["ground"]},
                _SHOTS,
                {"ground": {"epochs": 30, "patience": 5, "batch_size": 64}},
            ),
        ),
        "paper-fewshot": Preset(
            "The few-shot encoder of Fivez et al. 2021c.",
            merged(FIVEZ, _SHOTS, {"encoder": {"base": "words", "hidden": 9600}}),
        ),
    }
    step = 2048  # names at once, also on a CPU
    cached = 20_000  # names whose vectors are kept, 1 to 3 KB each

    def __init__(self, base: Encoder, kind: str, options: FewShotOptions) -> None:
        super().__init__()
        self._below = (base,)  # in a tuple, so that its weights are not trained with these
        self.kind, self.options = kind, options
        dim, hidden = base.dim, options.hidden
        self.layers = nn.Sequential(
            nn.Linear(dim, hidden), nn.ReLU(), Dropout(options.dropout), nn.Linear(hidden, dim)
        )

    @classmethod
    def create(cls, context: EncoderContext) -> FewShotEncoder:
        """Put a network of random weights on an encoder.

        Raises:
            LinkerError: there are no word vectors, no such encoder, or no such model, or its
                encoder is not dense.
        """
        base = _base(context)
        torch.manual_seed(context.seed)
        encoder = cls(
            base.encoder, base.kind, dataclasses.replace(context.options, base=base.label)
        )
        encoder.provenance = base.provenance
        return encoder

    @classmethod
    def needs_words(cls, options: FewShotOptions) -> bool:
        return options.base in _OF_WORDS

    @property
    def base(self) -> Encoder:
        """The encoder below."""
        return self._below[0]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> FewShotEncoder:
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
        self.base.save(folder / _BASE)
        return {"base": self.kind, "options": dataclasses.asdict(self.options)}

    @classmethod
    def _read(cls, folder: Path, saved: Any) -> FewShotEncoder:
        base = registry.load(saved["base"]).load(folder / _BASE)
        return cls(base, saved["base"], FewShotOptions(**saved["options"]))


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
    if name in _OF_WORDS:
        if context.words is None:
            raise LinkerError(
                "the encoder fewshot stands on word vectors here; "
                "name some with --words, or set fewshot.base"
            )
        means = dataclasses.replace(context, options=DanOptions(cca=name == "cca", hidden=0))
        return _Base(DanEncoder.create(means).eval(), "dan", name, "")
    kind, _, model = name.partition(":")
    if kind == "transformer":
        # importing it takes seconds
        from linker.encoders.transformer import TransformerEncoder, TransformerOptions

        encoder = TransformerEncoder.pretrained(TransformerOptions(model=model)).eval()
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
