"""What encoders that are trained from pretrained vectors of names share: the vectors that the grounding phase holds them to."""

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
from linker.encoders.trainable import TrainableEncoder, pick_device
from linker.errors import LinkerError

if TYPE_CHECKING:
    from typing_extensions import Self

_WEIGHTS = "weights.safetensors"


class GroundedEncoder(TrainableEncoder):
    """An encoder with pretrained vectors of names beside its own (see `ranker.ground`)."""

    grounded = True

    @abstractmethod
    def pretrained(self, names: Sequence[str]) -> Floats:
        """The vector u_n of each name before any training, float32 (len(names), dim)."""

    def prototypes(self, names: Classes, projected: bool) -> Floats:
        """The vector u_c of each class, the mean of its names' pretrained ones (Fivez et al. 2021a, eq. 2): float32 (classes, dim).

        Args:
            names: of the classes, each of which has one or more.
            projected: as the encoder's own projection makes it, where it has one.
        """
        return concept_means(self.pretrained(names.texts), names.labels)

    def groups(self, learning_rate: float, weight_decay: float) -> list[dict[str, Any]]:
        """What is trained, as the groups of an optimizer."""
        return [{"params": [*self.parameters()], "lr": learning_rate, "weight_decay": weight_decay}]

    @abstractmethod
    def _write(self, folder: Path) -> object:
        """Write what the encoder stands on, and give back what `_read` needs beside it, for a JSON file."""

    @classmethod
    @abstractmethod
    def _read(cls, folder: Path, saved: Any) -> Self:
        """Make the encoder out of what `_write` wrote and gave back; its weights are set later."""

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
        """Read a saved encoder, and one below it, onto a GPU where there is one.

        Raises:
            LinkerError: a file is missing, or was changed so that they no longer belong together.
        """
        try:
            encoder = cls._read(folder, persistence.load_json(folder / "options.json"))
            weights = load(
                (folder / _WEIGHTS).read_bytes()
            )  # by its path safetensors takes UTF-8 names only
            for name, own in encoder.state_dict().items():
                if (shape := weights[name].shape) != own.shape:
                    other = f"{name} is {'×'.join(map(str, shape))}, expected: {'×'.join(map(str, own.shape))}"
                    raise LinkerError(
                        f"{folder}: its weights have other dimensions than what they stand on ({other}); train again"
                    )
            encoder.load_state_dict(weights)
        except (SafetensorError, OSError, RuntimeError, TypeError, LookupError) as error:
            raise LinkerError(
                f"{folder}: holds no encoder {cls.group} as linker writes it ({error}); train again"
            ) from None
        if not all(torch.isfinite(tensor).all() for tensor in encoder.state_dict().values()):
            raise LinkerError(f"{folder / _WEIGHTS}: its weights are not finite; train again")
        return encoder.eval().to(pick_device("auto"))


def concept_means(vectors: Floats, labels: Rows) -> Floats:
    """The mean of the vectors of each class: float32 (classes, dim). A name without a vector, all zeros, does not count."""
    sums = np.zeros((int(labels.max(initial=-1)) + 1, vectors.shape[1]), np.float64)
    np.add.at(sums, labels, vectors)
    counts = np.bincount(labels[vectors.any(axis=1)], minlength=len(sums))
    means: Floats = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return means
