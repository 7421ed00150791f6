"""The phases of a training, and the fingerprint of their options."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from linker.errors import shown
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


def flat(options: object, *groups: str) -> dict[str, object]:
    """List the options of some groups, those that there are, as `group.field`.

    Texts, which may be paths, are written as JSON can hold them.
    """
    records = {name: record for name in groups if (record := getattr(options, name, None))}
    return {
        f"{getattr(record, 'group', name)}.{field}": shown(value)
        if isinstance(value, str)
        else value
        for name, record in records.items()
        for field, value in dataclasses.asdict(record).items()
    }
