"""linker maps names of diseases and other concepts, as people write them, to dictionary ids."""

from __future__ import annotations

import importlib

from linker.version import VERSION

# importing typing takes longer than all the rest, and Ctrl-C in that time would show a traceback
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from linker.dictionary import Dictionary
    from linker.errors import InputError, LinkerError
    from linker.linking.linker import Linker
    from linker.linking.requests import Request
    from linker.options import LinkerOptions
    from linker.types import (
        Candidate,
        Concept,
        Document,
        Mention,
        Name,
        Part,
        Prediction,
        Selection,
    )

__version__ = VERSION

_PUBLIC = {
    "Dictionary": "linker.dictionary",
    "Linker": "linker.linking.linker",
    "LinkerOptions": "linker.options",
    "Request": "linker.linking.requests",
    **dict.fromkeys(("InputError", "LinkerError"), "linker.errors"),
    **dict.fromkeys(
        ("Candidate", "Concept", "Document", "Mention", "Name", "Part", "Prediction", "Selection"),
        "linker.types",
    ),
}

__all__ = [  # noqa: RUF022 - in the order of use
    "Dictionary",
    "Linker",
    "LinkerOptions",
    "Request",
    "Candidate",
    "Concept",
    "Document",
    "Mention",
    "Name",
    "Part",
    "Prediction",
    "Selection",
    "InputError",
    "LinkerError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'linker' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    """The public names."""
    return __all__
