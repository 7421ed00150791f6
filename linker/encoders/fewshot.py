"""The few-shot encoder: a small network that moves pretrained vectors of names a little (Fivez et al. 2021c); stacks upon others."""

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
from linker.dictionary import NameTable
from linker.dictionary.classes import Floats
from linker.encoders.base import Encoder, SparseEncoder
from linker.encoders.dan import DanEncoder, Dropout
from linker.encoders.grounded import GroundedEncoder
from linker.encoders.options import DanOptions, FewShotOptions, TransformerOptions
from linker.encoders.trainable import Batch, Tokens, checksum
from linker.encoders.words import WordVectors, unit
from linker.errors import LinkerError

_BASE = "base"
_OF_WORDS = ("cca", "words")


class FewShotEncoder(GroundedEncoder):
    """Dense: any encoder's vectors, moved by a network that a few names of each large class train; may stand on another one.

    `f(n) = (enc(u_n) + u_n) / 2`, u_n the vector of the encoder below, brought to length 1 (Fivez et al. 2021c, eq. 1). That encoder is
    not trained. Make one with `create` or `load`.

    Args:
        base: the encoder below.
        kind: its name in the registry.
        options: of the network.
    """

    group = "fewshot"
    step = 2048  # names at once, also on a CPU
    cached = 20_000  # names whose vectors are kept, 1 to 3 KB each

    def __init__(self, base: Encoder, kind: str, options: FewShotOptions) -> None:
        super().__init__()
        self._below = (base,)  # in a tuple, so that its weights are none of this one's
        self.kind, self.options = kind, options
        dim, hidden = base.dim, options.hidden
        self.layers = nn.Sequential(
            nn.Linear(dim, hidden), nn.ReLU(), Dropout(options.dropout), nn.Linear(hidden, dim)
        )

    @classmethod
    def create(
        cls, options: FewShotOptions, table: NameTable, words: WordVectors | None, seed: int
    ) -> FewShotEncoder:
        """Put a network, as it was drawn, on an encoder.

        Args:
            table: the names that `cca` is fitted to.
            words: word vectors, where `options.base` is `cca` or `words`.
            seed: of the network.

        Raises:
            LinkerError: there are no word vectors, no such encoder, or no such model, or its encoder is not dense.
        """
        base, kind, label, made_of = _base(options.base, table, words, seed)
        torch.manual_seed(seed)
        encoder = cls(base, kind, dataclasses.replace(options, base=label))
        encoder.made_of = made_of
        return encoder

    @classmethod
    def needs_words(cls, options: FewShotOptions) -> bool:
        return options.base in _OF_WORDS

    @property
    def base(self) -> Encoder:
        """The encoder below."""
        return self._below[0]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> FewShotEncoder:
        """What `to` does, to the encoder below as well."""
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


def _base(
    asked: str, table: NameTable, words: WordVectors | None, seed: int
) -> tuple[Encoder, str, str, str]:
    """The encoder below, its name in the registry, what to remember it by, which tells nothing of this machine, and its checksum."""
    if asked in _OF_WORDS:
        if words is None:
            raise LinkerError(
                "the encoder fewshot stands on word vectors here; name some with --words, or set fewshot.base"
            )
        return (
            DanEncoder.create(DanOptions(cca=asked == "cca", hidden=0), table, words, seed).eval(),
            "dan",
            asked,
            "",
        )  # words have theirs
    kind, _, model = asked.partition(":")
    if kind == "transformer":
        from linker.encoders.transformer import TransformerEncoder  # which takes seconds to import

        base = TransformerEncoder.create(TransformerOptions(model=model)).eval()
        return base, kind, f"{kind}:{base.options.model}".removesuffix(":"), checksum(base)
    if not Path(asked).is_dir():
        raise LinkerError(
            f"fewshot.base is {asked!r}; expected: cca, words, transformer, transformer:ID, or the folder of a model"
        )
    below, encoder, made_of = persistence.load(asked, "model", _of_model)
    return below, encoder, Path(asked).resolve().name, made_of


def _of_model(folder: Path, config: Mapping[str, Any]) -> tuple[Encoder, str, str]:
    """The dense encoder of a model, its name in the registry, and its checksum."""
    kind = registry.load(config["encoder"])
    if issubclass(kind, SparseEncoder):
        raise LinkerError(
            f"{folder}: is a model of the encoder {config['encoder']}, which is sparse; expected: one of a dense encoder"
        )
    return (
        kind.load(folder / "dense"),
        config["encoder"],
        files.sha256(folder / persistence.MANIFEST),
    )
