"""How and where a training runs; importing it needs no torch."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from linker.errors import LinkerError, shown
from linker.types import Activity

logger = logging.getLogger(__name__)

Record = Mapping[str, Any]
"""One line of `training.jsonl`: the phase, the epoch, and what was measured."""


PHASES = ("align", "ground", "rank", "refit")
"""The phases of a training, as records and folders of checkpoints name them.

`refit` is the list-wise phase on the development mentions too.
"""


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

    def folder(self, phase: str) -> Path | None:
        """The folder for the checkpoints of a phase; None: none are kept."""
        on_names = phase in ("align", "ground")
        parent = self.shared if on_names and self.shared else self.checkpoints
        return parent and parent / phase


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


def check_folder(folder: Path, resume: bool) -> str:
    """Refuse to train over checkpoints of an interrupted training, and over a folder of others.

    Args:
        folder: it is to hold a folder of checkpoints for each phase.
        resume: whether to go on from the checkpoints.

    Returns:
        What to tell a user who resumes; empty otherwise.

    Raises:
        LinkerError: there are checkpoints, and they are not resumed; or the folder holds something
            else.
    """
    if folder.exists() and not folder.is_dir():
        raise LinkerError(
            f"{folder}: is a file, and checkpoints are written there; "
            "move it, or name another folder with -o"
        )
    names = {path.name for path in folder.glob("*")}
    if foreign := names - {*PHASES}:
        raise LinkerError(
            f"{folder}: holds {min(foreign)}, which linker did not write there; "
            "move it, or name another folder with -o"
        )
    if names and not resume:
        raise LinkerError(
            f"{folder}: holds an interrupted training; go on with --resume, "
            "or remove the folder to train from the start"
        )
    if not resume:
        return ""
    if names:
        return f"resume: from the checkpoints in {folder}"
    return f"resume: no checkpoints in {folder}, training from the start"


def remove_folder(folder: Path) -> None:
    """Remove the checkpoints of a finished training; what else is in the folder stays."""
    for name in PHASES:
        shutil.rmtree(folder / name, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()
