"""Where people work already: a module for each program that linker is used from."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linker.linking.linker import Linker

DEFAULT_MODEL = "linker-model"


def default_model() -> str:
    """The folder of the model where none is named."""
    return os.environ.get("LINKER_MODEL") or DEFAULT_MODEL


def linker_of(model: Linker | str | os.PathLike[str] | None) -> Linker:
    """The linker of a folder, which is kept until another is asked for, or the folder changes.

    Args:
        model: a linker, which is returned; the folder of one; None: that of `default_model`.

    Raises:
        LinkerError: the folder is no model.
    """
    from linker.files import verified
    from linker.linking.linker import Linker

    if isinstance(model, Linker):
        return model
    folder = Path(model or default_model()).absolute()
    state = verified.state(folder / "manifest.json") or {}
    return _loaded(folder, tuple(state.values()))


@functools.lru_cache(maxsize=1)
def _loaded(folder: Path, _state: tuple[int, ...]) -> Linker:
    from linker.linking.linker import Linker

    return Linker.load(folder)
