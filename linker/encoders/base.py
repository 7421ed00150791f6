"""What an encoder of names must provide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix


class SparseEncoder(ABC):
    """Maps normalised names to sparse vectors whose dot product is the sparse score."""

    @abstractmethod
    def fit(self, names: Sequence[str]) -> None:
        """Learn the terms and their weights from the names of the dictionary."""

    @abstractmethod
    def encode(self, names: Sequence[str]) -> csr_matrix:
        """Encode names to float32 (len(names), terms)."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what `load` needs into a folder that is being saved."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> SparseEncoder:
        """Read a saved encoder."""


class Encoder(ABC):
    """Maps normalised names to dense vectors whose dot product is the dense score."""

    group: ClassVar[str] = ""  # of `LinkerOptions`, that its options are; none where it has none
    grounded: ClassVar[bool] = False  # whether a grounding phase trains it
    made_of: str = ""  # what tells what it stands on from other things, so that no checkpoint is taken for another's

    @classmethod
    def needs_words(cls, options: Any) -> bool:
        """Whether it is made of word vectors, with these options."""
        return False

    @property
    @abstractmethod
    def dim(self) -> int:
        """The number of components of a vector."""

    @abstractmethod
    def encode(
        self, names: Sequence[str], *, batch_size: int = 256, progress: bool = False
    ) -> NDArray[np.float32]:
        """Encode names to float32 (len(names), dim)."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what `load` needs into a folder that is being saved."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Encoder:
        """Read a saved encoder."""


PROBE = ("a", "name")  # names whose vectors tell what an encoder makes


def is_unit(encoder: Encoder) -> bool:
    """Whether the vectors of an encoder have length 1: by its options, else by some names."""
    normalizes = getattr(getattr(encoder, "options", None), "normalize", None)
    if isinstance(normalizes, bool):  # a name without known words has length 0
        return normalizes
    return np.allclose(np.linalg.norm(encoder.encode(PROBE), axis=1), 1, atol=1e-2)
