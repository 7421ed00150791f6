"""What a phase of a training is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from linker.training.loop import Batch, Plan
from linker.training.settings import PhaseName


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a training: what is trained, on which batches, for how long, to what end."""

    name: PhaseName  # of its records and checkpoints
    module: nn.Module  # has `embed(names)`, and all that is trained
    parameter_groups: Sequence[dict[str, Any]]  # with a learning rate and a weight decay each
    batches: Callable[[int], Sequence[Batch]]  # makes those of an epoch (from 1)
    plan: Plan  # epochs, steps, optimizer, what the best epoch is
    validate: Callable[[int], Mapping[str, float]]  # measures the weights after an epoch
    fingerprint: Mapping[str, object]  # of all that its checkpoints depend on
