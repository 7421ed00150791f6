"""The base class of encoders that start from pretrained vectors of names, anchored to them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.numpy import save_file
from torch import nn

from linker import persistence
from linker.dictionary.classes import Classes, Floats, concept_means
from linker.encoders.layers import OPTIONS, UNREADABLE, WEIGHTS, not_written, read_weights
from linker.encoders.trainable import TrainableEncoder, pick_device

if TYPE_CHECKING:
    from typing_extensions import Self


class GroundedEncoder(TrainableEncoder):
    """An encoder that knows the pretrained vectors of names, so that grounding can train it."""

    is_grounded = True

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
        save_file(to_arrays(self), folder / WEIGHTS)
        persistence.save_json(folder / OPTIONS, saved)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a saved encoder, with its base encoder if it has one, onto a GPU if there is one.

        Raises:
            LinkerError: a file is missing, or was changed so that the files no longer fit.
        """
        try:
            encoder = cls._read(folder, persistence.load_json(folder / OPTIONS))
            state = encoder.state_dict()
            arrays = read_weights(folder, {name: tuple(state[name].shape) for name in state})
        except UNREADABLE as error:
            raise not_written(folder, cls, error) from None
        encoder.load_state_dict({name: torch.tensor(values) for name, values in arrays.items()})
        return encoder.eval().to(pick_device("auto"))


def to_arrays(module: nn.Module) -> dict[str, Floats]:
    """The weights of a module as arrays of numpy, which share memory with those on a CPU."""
    state = module.state_dict()
    return {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in state.items()}
