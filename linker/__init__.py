"""linker maps names of diseases and other concepts, as people write them, to dictionary ids."""

from __future__ import annotations

import importlib

from linker.version import VERSION

# importing typing takes longer than all the rest, and Ctrl-C in that time would show a traceback
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from linker.desk.decisions.store import DecisionStore as DecisionStore
    from linker.dictionary import Dictionary as Dictionary
    from linker.errors import InputError as InputError
    from linker.errors import LinkerError as LinkerError
    from linker.evaluation.run import evaluate as evaluate
    from linker.integrations import load as load
    from linker.integrations.frames import link_column as link_column
    from linker.integrations.hub import push_to_hub as push_to_hub
    from linker.integrations.scikit import LinkTransformer as LinkTransformer
    from linker.io import mentions
    from linker.io.files import OpenFile as OpenFile
    from linker.linking.decided import Decided as Decided
    from linker.linking.documents import Annotator as Annotator
    from linker.linking.explain import Explanation as Explanation
    from linker.linking.linker import Linker as Linker
    from linker.linking.linker import Predictions as Predictions
    from linker.linking.options import LinkerOptions as LinkerOptions
    from linker.linking.options import changed as changed
    from linker.linking.options import preset as preset
    from linker.linking.requests import Request as Request
    from linker.records import Candidate as Candidate
    from linker.records import Concept as Concept
    from linker.records import Decision as Decision
    from linker.records import Document as Document
    from linker.records import Mention as Mention
    from linker.records import Name as Name
    from linker.records import Part as Part
    from linker.records import Passage as Passage
    from linker.records import Prediction as Prediction
    from linker.records import Selection as Selection
    from linker.training.pipeline import train as train
    from linker.training.plan import RunSettings as RunSettings
    from linker.training.release import update as update

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
    "Predictions": "linker.linking.linker",
    "Annotator": "linker.linking.documents",
    "LinkTransformer": "linker.integrations.scikit",
    "read_mentions": "linker.io.mentions:read",
    "evaluate": "linker.evaluation.run",
    "Decided": "linker.linking.decided",
    "DecisionStore": "linker.desk.decisions.store",
    **dict.fromkeys(("LinkerOptions", "changed", "preset"), "linker.linking.options"),
    "RunSettings": "linker.training.plan",
    "Request": "linker.linking.requests",
    "OpenFile": "linker.io.files",
    "Explanation": "linker.linking.explain",
    **dict.fromkeys(("Candidate", "Part", "Prediction"), "linker.records"),
    **dict.fromkeys(("Document", "Mention", "Passage", "Selection"), "linker.records"),
    **dict.fromkeys(("Concept", "Decision", "Name"), "linker.records"),
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
