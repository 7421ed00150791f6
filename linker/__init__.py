"""linker maps names of diseases and other concepts, as people write them, to dictionary ids."""

from __future__ import annotations

import importlib

from linker.version import VERSION

# importing typing takes longer than all the rest, and Ctrl-C in that time would show a traceback
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from linker.decisions.store import DecisionStore as DecisionStore
    from linker.dictionary import Dictionary as Dictionary
    from linker.errors import InputError as InputError
    from linker.errors import LinkerError as LinkerError
    from linker.evaluation.run import evaluate as evaluate
    from linker.files import OpenFile as OpenFile
    from linker.integrations import load as load
    from linker.integrations.frames import link_column as link_column
    from linker.integrations.hub import push_to_hub as push_to_hub
    from linker.integrations.scikit import LinkTransformer as LinkTransformer
    from linker.linking.decided import Decided as Decided
    from linker.linking.documents import Annotator as Annotator
    from linker.linking.explain import Explanation as Explanation
    from linker.linking.linker import Linker as Linker
    from linker.linking.predictions import Predictions as Predictions
    from linker.linking.requests import Request as Request
    from linker.options import LinkerOptions as LinkerOptions
    from linker.options import changed as changed
    from linker.options import preset as preset
    from linker.readers import mentions
    from linker.training.pipeline import train as train
    from linker.training.plan import RunSettings as RunSettings
    from linker.training.release import update as update
    from linker.types import Candidate as Candidate
    from linker.types import Concept as Concept
    from linker.types import Decision as Decision
    from linker.types import Document as Document
    from linker.types import Mention as Mention
    from linker.types import Name as Name
    from linker.types import Part as Part
    from linker.types import Passage as Passage
    from linker.types import Prediction as Prediction
    from linker.types import Selection as Selection

    read_mentions = mentions.read

__version__ = VERSION

_PUBLIC = {  # each name with its module, and what it is called there
    "train": "linker.training.pipeline",
    "update": "linker.training.release",
    "load": "linker.integrations",
    "link_column": "linker.integrations.frames",
    "push_to_hub": "linker.integrations.hub",
    "Dictionary": "linker.dictionary",
    "Linker": "linker.linking.linker",
    "Predictions": "linker.linking.predictions",
    "Annotator": "linker.linking.documents",
    "LinkTransformer": "linker.integrations.scikit",
    "read_mentions": "linker.readers.mentions:read",
    "evaluate": "linker.evaluation.run",
    "Decided": "linker.linking.decided",
    "DecisionStore": "linker.decisions.store",
    **dict.fromkeys(("LinkerOptions", "changed", "preset"), "linker.options"),
    "RunSettings": "linker.training.plan",
    "Request": "linker.linking.requests",
    "OpenFile": "linker.files",
    "Explanation": "linker.linking.explain",
    **dict.fromkeys(("Candidate", "Part", "Prediction"), "linker.types"),
    **dict.fromkeys(("Document", "Mention", "Passage", "Selection"), "linker.types"),
    **dict.fromkeys(("Concept", "Decision", "Name"), "linker.types"),
    **dict.fromkeys(("InputError", "LinkerError"), "linker.errors"),
}

__all__ = [*_PUBLIC, "__version__"]  # type checkers go by what is imported above


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'linker' has no attribute {name!r}")
    module, _, called = _PUBLIC[name].partition(":")
    return getattr(importlib.import_module(module), called or name)


def __dir__() -> list[str]:
    """The public names."""
    return __all__
