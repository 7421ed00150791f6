"""What encoders made of word vectors share without torch: presets, a network, files of weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load, save_file

from linker import persistence
from linker.dictionary.classes import Floats
from linker.encoders.base import Changes, Encoder
from linker.errors import LinkerError

if TYPE_CHECKING:
    from typing_extensions import Self

_WEIGHTS, _OPTIONS = "weights.safetensors", "options.json"
_CELLS = 4_000_000  # units of the hidden layer in memory at once, 16 MB
_NAMES = 2048  # names that are encoded at once, at most

# The defaults of encoders that are made from word vectors. λ is large here, and would take long to
# grow. A word of a single name identifies its concept, so that no word is too rare.
OF_WORDS: Changes = {
    "words": {"min_count": 1},
    "align": {"epochs": 0},
    "training": {"epochs": 10, "batch_size": 64, "learning_rate": 1e-3, "sparse_weight": 8},
}
# Names stay near the vectors of the name and of the concept that they start from.
ANCHORED: Changes = {"ground": {"prototype_weight": 0, "context_weight": 1, "concept_weight": 1}}
# No training on lists: it would separate the concepts of one large class.
LARGE_CLASSES: Changes = {"training": {"dictionary_queries": 0}}
# What the papers on encoders made from word vectors share: triplets of all names, Adam at a
# constant rate, no annotated mentions.
FIVEZ: Changes = {
    "words": {"dim": 300, "max_n": 6, "buckets": 200_000},
    "align": {"epochs": 0},
    "ground": {
        "loss": "triplet",
        "epochs": 100,
        "patience": 1,
        "triplets": 0,
        "pool": 0,
        "prototype_names": 0,
        "prototype_weight": 1,
        "batch_size": 64,
        "learning_rate": 1e-3,
        "warmup": 0,
    },
    "training": {"epochs": 0},
}


class NumpyEncoder(Encoder):
    """Fixed vectors of names through a network of one hidden layer, without torch.

    Attributes:
        weights: arrays by the names that the encoder in training gives them. Those of its network
            are `layers.0` and `layers.3`; a new encoder has none of these.
        seed: of the random weights of the network that the training of a new encoder starts from.
    """

    has_weights = True
    is_grounded = True
    weights: Mapping[str, Floats]
    seed: int = 0

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

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each of the weights."""
        dim, hidden = self.dim, self.options.hidden
        first = {"layers.0.weight": (hidden, dim), "layers.0.bias": (hidden,)}
        return first | {"layers.3.weight": (dim, hidden), "layers.3.bias": (dim,)}

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_weights(folder, self._write(folder), self.weights)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a saved encoder, with its base encoder if it has one."""
        encoder = cls._read(folder, read_options(folder))
        encoder.weights = read_weights(folder, encoder.shapes())
        return encoder


def write_weights(folder: Path, saved: object, weights: Mapping[str, Floats]) -> None:
    """Write the weights of an encoder, and values that JSON can hold."""
    arrays = {name: np.ascontiguousarray(values) for name, values in weights.items()}
    save_file(arrays, folder / _WEIGHTS)
    persistence.save_json(folder / _OPTIONS, saved)


def read_options(folder: Path) -> Any:
    """The values that `write_weights` wrote beside the weights."""
    return persistence.load_json(folder / _OPTIONS)


def read_weights(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Floats]:
    """Read the weights of an encoder.

    Args:
        folder: of the encoder.
        shapes: the shape that each of them must have.

    Raises:
        LinkerError: a shape is another one, or a number is not finite.
    """
    # the bytes, since safetensors opens paths in UTF-8 only
    weights: dict[str, Floats] = load((folder / _WEIGHTS).read_bytes())
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
        raise LinkerError(f"{folder / _WEIGHTS}: its weights are not finite; train again")
    return weights
