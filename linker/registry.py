"""Names of plug-ins and where their classes are, imported on use. Entry points `linker.encoders` add third-party ones."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from typing import Any

from linker.errors import LinkerError
from linker.version import install_hint

ENCODERS = {
    "tfidf": "linker.encoders.tfidf:TfidfEncoder",
    "transformer": "linker.encoders.transformer:TransformerEncoder",
    "dan": "linker.encoders.dan:DanEncoder",
    "dan-higher": "linker.encoders.dan:DanHigherEncoder",
    "fewshot": "linker.encoders.fewshot:FewShotEncoder",
    "bne": "linker.encoders.bne:BneEncoder",
    "bne-words": "linker.encoders.bne:BneWordsEncoder",
}


def encoders() -> dict[str, str]:
    """All encoders by name, as "module:Class"; ours win over a third-party one of the same name."""
    others = {
        point.name: point.value
        for point in importlib.metadata.entry_points(group="linker.encoders")
    }
    return others | ENCODERS


def best() -> tuple[str, str]:
    """The encoder to take where none is asked for, of those that need neither a download nor an hour, and why (figures: docs/names.md)."""
    missing = [
        package
        for package in ("torch", "accelerate", "gensim")
        if importlib.util.find_spec(package) is None
    ]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        why = f"sparse; dan may be more accurate, but {' and '.join(missing)} {verb} not installed: {install_hint('dense')}"
        return "tfidf", why
    return "dan", "needs no download; --encoder tfidf takes seconds"


def load(name: str) -> Any:
    """The class of an encoder.

    Raises:
        LinkerError: there is no such encoder, or the package that it needs is not installed.
    """
    table = encoders()
    if not isinstance(name, str) or name not in table:
        raise LinkerError(
            f"there is no encoder {name!r}; choose one of: {', '.join(sorted(table))}"
        )
    module, _, attribute = table[name].partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        remedy = (
            install_hint("dense")
            if name in ENCODERS
            else f"install what {module.partition('.')[0]} asks for"
        )
        raise LinkerError(
            f"encoder {name!r} needs {error.name}, which is not installed: {remedy}"
        ) from error
