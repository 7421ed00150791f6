"""Where people work already: a module for each program that linker is used from."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linker.linking.linker import Linker

DEFAULT_MODEL = "linker-model"
HUB = "hf:"  # before the name of a model on the Hugging Face hub


def default_model() -> str:
    """The model where none is named."""
    return os.environ.get("LINKER_MODEL") or DEFAULT_MODEL


@functools.lru_cache(maxsize=1)
def fetched(model: str) -> Path:
    """The folder of a model hf:USER/NAME[@REVISION], which stays the same for a process.

    Raises:
        LinkerError: as for `Linker.from_pretrained`.
    """
    from linker.integrations import hub

    name, _, revision = model.removeprefix(HUB).partition("@")
    return hub.fetched(name, revision or None, token=None, cache=None)


def linker_of(model: Linker | str | os.PathLike[str] | None) -> Linker:
    """The linker of a folder, which is kept until another is asked for, or the folder changes.

    Args:
        model: a linker, which is returned; the folder of one, or hf:USER/NAME[@REVISION] of the
            Hugging Face hub; None: that of `default_model`.

    Raises:
        LinkerError: the folder is no model, or as for `Linker.from_pretrained`.
    """
    from linker.files import verified
    from linker.linking.linker import Linker

    if isinstance(model, Linker):
        return model
    named = str(model or default_model())
    folder = fetched(named) if named.startswith(HUB) else Path(named).absolute()
    state = verified.state(folder / "manifest.json") or {}
    return _loaded(folder, tuple(state.values()))


@functools.lru_cache(maxsize=1)
def _loaded(folder: Path, _state: tuple[int, ...]) -> Linker:
    from linker.linking.linker import Linker

    return Linker.load(folder)
