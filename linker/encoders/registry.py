"""Encoders by name. A class is imported on use; entry points `linker.encoders` add further ones."""

from __future__ import annotations

import importlib
import importlib.metadata
from contextlib import nullcontext
from typing import Any

from linker.errors import LinkerError, needing

ENCODERS = {
    "tfidf": "linker.encoders.tfidf:TfidfEncoder",
    "static": "linker.encoders.static:StaticEncoder",
    "static-tuned": "linker.encoders.static:StaticEncoder",
    "transformer": "linker.encoders.transformer:TransformerEncoder",
    "dan": "linker.encoders.dan:DanEncoder",
    "dan-higher": "linker.encoders.dan:DanEncoder",
    "fewshot": "linker.encoders.fewshot:FewShotEncoder",
    "bne": "linker.encoders.bne:BneEncoder",
    "bne-words": "linker.encoders.bne:BneEncoder",
}


def encoders() -> dict[str, str]:
    """All encoders by name, as "module:Class"; ours win over a third-party one of the same name."""
    others = {
        point.name: point.value
        for point in importlib.metadata.entry_points(group="linker.encoders")
    }
    return ENCODERS | {name: place for name, place in others.items() if name not in ENCODERS}


def both(name: str) -> tuple[str, str]:
    """The encoders of "FIRST,SECOND"; the second one is empty where there is one alone."""
    first, _, second = name.partition(",")
    return first.strip(), second.strip()


def place(name: object) -> str | None:
    """Where the class of an encoder is, as "module:Class"; None where there is no such encoder.

    The entry points of all installed packages, which take a tenth of a second to read, are read
    for names that are not ours only.
    """
    if not isinstance(name, str):
        return None
    return ENCODERS.get(name) or encoders().get(name)


BEST = "static"
"""The encoder to take where none is named: the best one that needs neither download nor minutes."""


def load(name: str) -> Any:
    """The class of an encoder.

    Raises:
        LinkerError: there is no such encoder, a package that it needs is not installed, or the
            package that brings it is broken.
    """
    where = place(name)
    if where is None:
        raise LinkerError(
            f"there is no encoder {name!r}; choose one of: {', '.join(sorted(encoders()))}"
        )
    module, _, attribute = where.partition(":")
    try:
        with needing(f"encoder {name!r}", "dense") if name in ENCODERS else nullcontext():
            return getattr(importlib.import_module(module), attribute)
    except Exception as error:  # another package may raise anything
        if name in ENCODERS:
            raise
        raise LinkerError(
            f"encoder {name!r}: {where} cannot be imported ({type(error).__name__}: {error}); "
            f"install what {module.partition('.')[0]} asks for, or ask its authors"
        ) from error


def options_group(name: str) -> str:
    """The name of the options of an encoder: the first name that its class has.

    "dan-higher" is of the class of "dan", and so are its options. Nothing is imported.
    """
    table = ENCODERS if name in ENCODERS else encoders()
    return next((first for first, where in table.items() if where == table.get(name)), name)


def describe(name: str) -> str:
    """One line on an encoder: of the preset of that name, or else of its class."""
    kind = load(name)
    presets = getattr(kind, "presets", {})
    if name in presets:
        return str(presets[name].description)
    return (kind.__doc__ or "").strip().partition("\n")[0]
