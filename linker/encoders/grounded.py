"""The base class of encoders that start from pretrained vectors of names, anchored to them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file

from linker import persistence
from linker.dictionary.classes import Classes, Floats, Rows
from linker.encoders.base import Changes
from linker.encoders.trainable import TrainableEncoder, pick_device
from linker.errors import LinkerError

if TYPE_CHECKING:
    from typing_extensions import Self

_WEIGHTS = "weights.safetensors"

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


class GroundedEncoder(TrainableEncoder):
    """An encoder that knows the pretrained vectors of names, so that grounding can train it."""

    @abstractmethod
    def pretrained(self, names: Sequence[str]) -> Floats:
        """The vector u_n of each name before any training, float32 (len(names), dim)."""

    def prototypes(self, names: Classes, projected: bool) -> Floats:
        """The vector u_c of each class, the mean of its names' (Fivez et al. 2021a, eq. 2).

        Args:
            names: of the classes, each of which has one or more.
            projected: whether to apply the encoder's projection, where it has one.

        Returns:
            float32 (classes, dim).
        """
        return concept_means(self.pretrained(names.texts), names.labels)

    def groups(self, learning_rate: float, weight_decay: float) -> list[dict[str, Any]]:
        """The parameters to train, as the groups of an optimizer.

        Args:
            learning_rate: of all of them.
            weight_decay: likewise.
        """
        return [{"params": [*self.parameters()], "lr": learning_rate, "weight_decay": weight_decay}]

    @abstractmethod
    def _write(self, folder: Path) -> object:
        """Write all but the weights; return the values for `_read`, which go into a JSON file."""

    @classmethod
    @abstractmethod
    def _read(cls, folder: Path, saved: Any) -> Self:
        """Make the encoder from what `_write` wrote and returned; its weights are set later."""

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        saved = self._write(folder)
        save_file(
            {
                name: tensor.detach().cpu().contiguous()
                for name, tensor in self.state_dict().items()
            },
            folder / _WEIGHTS,
        )
        persistence.save_json(folder / "options.json", saved)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a saved encoder, with its base encoder if it has one, onto a GPU if there is one.

        Raises:
            LinkerError: a file is missing, or was changed so that the files no longer fit.
        """
        try:
            encoder = cls._read(folder, persistence.load_json(folder / "options.json"))
            # the bytes, since safetensors opens paths in UTF-8 only
            weights = load((folder / _WEIGHTS).read_bytes())
            for name, tensor in encoder.state_dict().items():
                if weights[name].shape != tensor.shape:
                    actual, expected = (
                        "×".join(map(str, values.shape)) for values in (weights[name], tensor)
                    )
                    raise LinkerError(
                        f"{folder}: its weights have other dimensions than what they stand on "
                        f"({name} is {actual}, expected: {expected}); train again"
                    )
            encoder.load_state_dict(weights)
        except (SafetensorError, OSError, RuntimeError, TypeError, LookupError) as error:
            raise LinkerError(
                f"{folder}: holds no {cls.__name__} as linker writes it ({error}); train again"
            ) from None
        if not all(torch.isfinite(tensor).all() for tensor in encoder.state_dict().values()):
            raise LinkerError(f"{folder / _WEIGHTS}: its weights are not finite; train again")
        return encoder.eval().to(pick_device("auto"))


def concept_means(vectors: Floats, labels: Rows) -> Floats:
    """The mean of the vectors of each class; a name without a vector, all zeros, does not count.

    Args:
        vectors: (names, dim).
        labels: (names,) the class of each name.

    Returns:
        float32 (classes, dim).
    """
    sums = np.zeros((int(labels.max(initial=-1)) + 1, vectors.shape[1]), np.float64)
    np.add.at(sums, labels, vectors)
    counts = np.bincount(labels[vectors.any(axis=1)], minlength=len(sums))
    means: Floats = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return means
