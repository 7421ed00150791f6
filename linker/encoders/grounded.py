"""What encoders that are trained from pretrained vectors of names share: the vectors that the grounding phase holds them to."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from linker.encoders.trainable import TrainableEncoder
from linker.training.classes import Classes, Floats, Rows


class GroundedEncoder(TrainableEncoder):
    """An encoder with pretrained vectors of names beside its own (see `ranker.ground`)."""

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


def concept_means(vectors: Floats, labels: Rows) -> Floats:
    """The mean of the vectors of each class: float32 (classes, dim)."""
    sums = np.zeros((int(labels.max(initial=-1)) + 1, vectors.shape[1]), np.float64)
    np.add.at(sums, labels, vectors)
    means: Floats = (sums / np.maximum(np.bincount(labels, minlength=len(sums)), 1)[:, None]).astype(np.float32)
    return means
