"""How and where a training runs; importing it needs no torch."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from linker.errors import shown
from linker.types import Activity

logger = logging.getLogger(__name__)

Record = Mapping[str, Any]
"""One line of `training.jsonl`: the phase, the epoch, and what was measured."""


class PhaseName(str, Enum):
    """The phases of a training, as records and folders of checkpoints name them."""

    ALIGN = "align"
    GROUND = "ground"
    RANK = "rank"
    REFIT = "refit"  # the list-wise phase, on the development mentions too

    def __str__(self) -> str:
        return self.value


def _ignore(_: object) -> None: ...


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Where a training keeps its checkpoints, and the functions it reports to."""

    # folder that holds one for each phase; what it held goes unless `resume`; None: none are kept
    checkpoints: Path | None = None
    resume: bool = False  # continue from the checkpoints, where there are any
    # folder of the phases on the dictionary's names, where trainings share them; None: the above
    shared: Path | None = None
    development: str = ""  # fingerprint of the development mentions, which checkpoints depend on
    refit: bool = False  # whether this is the training after the report, on all mentions
    on_event: Callable[[Any], None] = _ignore  # called with each `loop.Step` and epoch's `Record`
    on_activity: Callable[[Activity], None] = _ignore  # called with what begins, and its progress
    on_trained: Callable[[Any], None] = _ignore  # called with the `Linker` before a refit
    say: Callable[[str], None] = logger.info  # called with a sentence for each decision
    progress: bool = False  # show a bar while the names of the dictionary are encoded

    def folder(self, phase: PhaseName) -> Path | None:
        """The folder for the checkpoints of a phase; None: none are kept."""
        on_names = phase in (PhaseName.ALIGN, PhaseName.GROUND)
        parent = self.shared if on_names and self.shared else self.checkpoints
        return parent and parent / phase.value


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
