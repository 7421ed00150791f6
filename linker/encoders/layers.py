"""Encoders whose weights are arrays of numpy, which link without torch; torch trains them before.

The files are those that `grounded.GroundedEncoder` writes, so that either reads what the other
wrote.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save_file

from linker import persistence
from linker.encoders.base import Encoder
from linker.errors import LinkerError

if TYPE_CHECKING:
    from typing_extensions import Self

WEIGHTS = "weights.safetensors"
OPTIONS = "options.json"
UNREADABLE = (SafetensorError, OSError, RuntimeError, TypeError, LookupError)
"""What reading an encoder raises where its files were changed."""

_CELLS = 4_000_000  # units of the hidden layer in memory at once, 16 MB
_NAMES = 2048  # names that are encoded at once, at most

Floats = NDArray[np.float32]


class NumpyEncoder(Encoder):
    """An encoder of names whose weights are arrays of numpy; gradients train its twin of torch.

    Attributes:
        weights: the arrays by the names that the twin gives them. Those of its network of one
            hidden layer are `layers.0` and `layers.3`.
    """

    has_weights = True
    is_grounded = True
    weights: Mapping[str, Floats]

    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each of the weights."""

    @abstractmethod
    def transform(self, names: Sequence[str]) -> Floats:
        """Encode names at once to float32 (len(names), dim)."""

    @abstractmethod
    def _write(self, folder: Path) -> object:
        """Write all but the weights; return the values for `_read`, which go into a JSON file."""

    @classmethod
    @abstractmethod
    def _read(cls, folder: Path, saved: Any) -> Self:
        """Make the encoder from what `_write` wrote and returned; its weights are set later."""

    def encode(
        self, names: Sequence[str], *, batch_size: int = _NAMES, progress: bool = False
    ) -> Floats:
        step = max(1, min(batch_size, _NAMES, _CELLS // max(1, self.options.hidden)))
        vectors = np.empty((len(names), self.dim), np.float32)
        for i in range(0, len(names), step):
            vectors[i : i + step] = self.transform(names[i : i + step])
        return vectors

    def network(self, vectors: Floats) -> Floats:
        """Bring vectors (n, dim) through the hidden layer, which has rectified linear units."""
        hidden = vectors @ self.weights["layers.0.weight"].T
        hidden += self.weights["layers.0.bias"]
        np.maximum(hidden, 0, out=hidden)
        moved = hidden @ self.weights["layers.3.weight"].T
        moved += self.weights["layers.3.bias"]
        return np.asarray(moved, np.float32)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        saved = self._write(folder)
        weights = {name: np.ascontiguousarray(values) for name, values in self.weights.items()}
        save_file(weights, folder / WEIGHTS)
        persistence.save_json(folder / OPTIONS, saved)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a saved encoder, with its base encoder if it has one.

        Raises:
            LinkerError: a file is missing, or was changed so that the files no longer fit.
        """
        try:
            encoder = cls._read(folder, persistence.load_json(folder / OPTIONS))
            encoder.weights = read_weights(folder, encoder.shapes())
        except UNREADABLE as error:
            raise not_written(folder, cls, error) from None
        return encoder


def network_shapes(dim: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of a network with one hidden layer.

    Args:
        dim: components of the vectors that go in and come out.
        hidden: units of the hidden layer; 0: there is no network.
    """
    if not hidden:
        return {}
    return {
        "layers.0.weight": (hidden, dim),
        "layers.0.bias": (hidden,),
        "layers.3.weight": (dim, hidden),
        "layers.3.bias": (dim,),
    }


def read_weights(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Floats]:
    """Read the weights of an encoder.

    Args:
        folder: of the encoder.
        shapes: the shape that each of them must have.

    Raises:
        LinkerError: a shape is another one, or a number is not finite.
    """
    # the bytes, since safetensors opens paths in UTF-8 only
    weights: dict[str, Floats] = load((folder / WEIGHTS).read_bytes())
    for name, shape in shapes.items():
        if weights[name].shape != shape:
            actual, expected = ("×".join(map(str, s)) for s in (weights[name].shape, shape))
            raise LinkerError(
                f"{folder}: its weights have other dimensions than what they stand on "
                f"({name} is {actual}, expected: {expected}); train again"
            )
    if other := sorted(weights.keys() - shapes.keys()):
        raise LinkerError(f"{folder}: holds weights that are not of its encoder ({other[0]})")
    if not all(np.isfinite(values).all() for values in weights.values()):
        raise LinkerError(f"{folder / WEIGHTS}: its weights are not finite; train again")
    return weights


def not_written(folder: Path, kind: type, error: BaseException) -> LinkerError:
    """The error that a folder holds no encoder of a class, and why."""
    return LinkerError(
        f"{folder}: holds no {kind.__name__} as linker writes it ({error}); train again"
    )
