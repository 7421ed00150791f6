"""Where people work already: a module for each program that linker is used from."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from linker.arguments import PATH, TEXT, public
from linker.errors import LinkerError
from linker.io import persistence
from linker.io.files import Pathlike
from linker.linking.linker import Linker

DEFAULT_MODEL = "linker-model"
HUB = "hf:"  # before the name of a model on the Hugging Face hub
Model = Linker | str | os.PathLike[str] | None
"""A linker; the folder of one, or hf:USER/NAME[@REVISION]; None: that of `default_model`."""


def default_model() -> str:
    """The model where none is named."""
    return os.environ.get("LINKER_MODEL") or DEFAULT_MODEL


@public(
    "linker.load",
    model=PATH.or_none(),
    revision=TEXT.or_none(),
    token=TEXT.or_none(),
    cache_dir=PATH.or_none(),
)
def load(
    model: Pathlike | None = None,
    *,
    revision: str | None = None,
    token: str | None = None,
    cache_dir: Pathlike | None = None,
) -> Linker:
    """Load a model from a folder or the Hugging Face hub, whose cache keeps what was fetched.

    Args:
        model: a folder, else USER/NAME or hf:USER/NAME[@REVISION] on the hub; None: that of
            `default_model`.
        revision: of the hub: a branch, a tag or a commit; None: the main branch. The log says
            which commit that is.
        token: for the hub; None: that of HF_TOKEN or of `hf auth login`.
        cache_dir: None: the cache of the hub.

    Raises:
        LinkerError: there is no such model, it cannot be fetched, or a file of it is missing, was
            changed, or is of another release.
    """
    name = os.fspath(model or default_model())
    if Path(name).is_dir() or not (name.startswith(HUB) or name.count("/") == 1):
        if revision:
            raise LinkerError(f"{name}: is a folder, which has no revision {revision!r}")
        return Linker.load(name)
    from linker.integrations import hub

    name, _, given = name.removeprefix(HUB).partition("@")
    return Linker.load(hub.fetched(name, revision or given or None, token, cache_dir))


@functools.lru_cache(maxsize=1)
def fetched(model: str) -> Path:
    """The folder of a model hf:USER/NAME[@REVISION], which stays the same for a process.

    Raises:
        LinkerError: it cannot be fetched.
    """
    from linker.integrations import hub

    name, _, revision = model.removeprefix(HUB).partition("@")
    return hub.fetched(name, revision or None, token=None, cache=None)


def linker_of(model: Model) -> Linker:
    """The linker of a folder, which is kept until another is asked for, or the folder changes.

    Raises:
        LinkerError: as for `load`.
    """
    if isinstance(model, Linker):
        return model
    named = str(model or default_model())
    folder = fetched(named) if named.startswith(HUB) else Path(named).absolute()
    state = persistence.state(folder / "manifest.json") or {}
    return _loaded(folder, tuple(state.values()))


@functools.lru_cache(maxsize=1)
def _loaded(folder: Path, _state: tuple[int, ...]) -> Linker:
    return Linker.load(folder)
