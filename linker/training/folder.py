"""The folder that holds the checkpoints of a training while it runs, beside the model's."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from linker.errors import LinkerError
from linker.files import replacing
from linker.training.settings import PhaseName

WORDS = "words"  # folder in it of the word vectors that were trained for this training
_OURS = {WORDS, *(phase.value for phase in PhaseName)}


def check(folder: Path, resume: bool) -> str:
    """Refuse to train over checkpoints of an interrupted training, and over a folder of others.

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
    replacing.clean(folder / WORDS)  # what a killed run left
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if foreign := [name for name in names if name not in _OURS]:
        raise LinkerError(
            f"{folder}: holds {foreign[0]}, which linker did not write there; "
            "move it, or name another folder with -o"
        )
    if names and names != [WORDS] and not resume:
        raise LinkerError(
            f"{folder}: holds an interrupted training; go on with --resume, "
            "or remove the folder to train from the start"
        )
    if not resume:
        return ""
    if names:
        return f"resume: from the checkpoints in {folder}"
    return f"resume: no checkpoints in {folder}, training from the start"


def remove(folder: Path) -> None:
    """Remove the checkpoints of a finished training; `check` saw that nothing else is there."""
    for name in _OURS:
        shutil.rmtree(folder / name, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.rmdir()
