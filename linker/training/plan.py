"""What a training is to do, checked before any work; making a plan needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from linker import registry
from linker.encoders.base import SparseEncoder
from linker.encoders.tfidf import TfidfEncoder
from linker.options import LinkerOptions
from linker.text.spelling import normal_form

if TYPE_CHECKING:
    from linker.encoders.words import WordVectors


@dataclass(frozen=True)
class TrainingPlan:
    """What a training is to do."""

    encoder: str  # its name in the registry
    options: LinkerOptions
    corrections: Mapping[str, str] = field(default_factory=dict)  # in normal form
    extend: bool = True  # whether the mentions become names
    words: WordVectors | None = None  # where None, they are trained where they are needed

    @cached_property
    def encoder_class(self) -> Any:
        """The class of the encoder."""
        return registry.load(self.encoder)

    @property
    def encoder_options(self) -> Any:
        return getattr(self.options, self.encoder_class.group) if self.encoder_class.group else None

    @property
    def is_sparse(self) -> bool:
        """Whether characters alone are to score names."""
        return issubclass(self.encoder_class, SparseEncoder)

    def sparse_encoder(self) -> SparseEncoder:
        """Make the encoder of characters, which is not fitted yet."""
        kind = self.encoder_class if self.is_sparse else TfidfEncoder
        encoder: SparseEncoder = kind(self.options.sparse)
        return encoder

    @property
    def normalize(self) -> Callable[[str], str]:
        """Gives the normal form of a name."""
        return partial(normal_form, options=self.options.normalize, corrections=self.corrections)
