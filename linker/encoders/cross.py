"""A transformer that scores several texts read together: the second stage of ranking."""

from __future__ import annotations

import copy
import dataclasses
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file
from torch import Tensor, nn

from linker.encoders.trainable import Batch
from linker.encoders.transformer import TransformerOptions
from linker.encoders.transformer_training import TrainableTransformer
from linker.errors import LinkerError

_HEAD = "head.safetensors"


class CrossEncoder(TrainableTransformer):
    """Gives one score to texts that were put together by `join`; 0 until it is trained.

    It starts from a `TrainableTransformer`, and is trained, batched and saved like one: its
    "vectors" have one component, the score.
    """

    cached = 0  # the same text hardly ever comes again

    def __init__(self, model: Any, tokenizer: Any, options: TransformerOptions) -> None:
        super().__init__(model, tokenizer, options)
        self.head = nn.Linear(int(model.config.hidden_size), 1).to(next(model.parameters()).device)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    @classmethod
    def of(cls, encoder: TrainableTransformer, max_length: int) -> CrossEncoder:
        """Start from a copy of an encoder of names.

        Args:
            encoder: the encoder of names.
            max_length: of all texts together, in tokens.
        """
        return cls(
            copy.deepcopy(encoder.model),
            copy.deepcopy(encoder.tokenizer),
            dataclasses.replace(encoder.options, max_length=max_length),
        )

    @property
    def dim(self) -> int:
        return 1

    def join(self, *texts: str) -> str:
        """Make one text out of several, the important ones first; empty ones are left out.

        What is too long is cut at the end.
        """
        return f" {self.tokenizer.sep_token or '|'} ".join(filter(None, texts))

    def forward(self, batch: Batch) -> Tensor:
        scores: Tensor = self.head(self.pooled(batch))
        return scores

    def save(self, folder: Path) -> None:
        super().save(folder)
        save_file(
            {
                name: tensor.detach().cpu().contiguous()
                for name, tensor in self.head.state_dict().items()
            },
            folder / _HEAD,
        )

    @classmethod
    def load(cls, folder: Path) -> CrossEncoder:
        encoder = super().load(folder)
        assert isinstance(encoder, CrossEncoder)  # noqa: S101 - what `_open` of this class makes
        try:
            encoder.head.load_state_dict(load((folder / _HEAD).read_bytes()))
        except (SafetensorError, OSError, RuntimeError) as error:
            raise LinkerError(
                f"{folder / _HEAD}: does not fit the transformer ({error}); train again"
            ) from None
        if not all(torch.isfinite(tensor).all() for tensor in encoder.head.parameters()):
            raise LinkerError(f"{folder / _HEAD}: its weights are not finite; train again")
        return encoder
