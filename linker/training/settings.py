"""How and where a training runs; importing it needs no torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linker.types import Activity


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How the training of a dense encoder goes on and what it tells."""

    checkpoints: Path | None = None  # folder for checkpoints
    resume: bool = False  # go on from them, where there are any
    phase: str = (
        "rank"  # name of the list-wise phase: another one trains anew, from the same alignment
    )
    judged_by: str = (
        ""  # what tells the development mentions of `validate` from others, for `resume`
    )
    on_event: Callable[[Any], None] = lambda event: (
        None
    )  # is told each step (`training.loop.Step`) and the record of each epoch
    on_activity: Callable[[Activity], None] = lambda activity: (
        None
    )  # is told what begins, and how far what has no steps is
    progress: bool = False  # show a bar while the names of the dictionary are encoded
