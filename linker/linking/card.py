"""The card of a model: README.md of its folder, with what the Hugging Face hub reads of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from linker.errors import LinkerError
from linker.types import Source
from linker.version import VERSION
from linker.vocabularies import KnownVocabulary, of_prefix

if TYPE_CHECKING:
    from linker.linking.linker import Linker

CARD = "README.md"


def licence(source: Source) -> KnownVocabulary | None:
    """The vocabulary that a file holds; None where its licence is not known."""
    format, _, _ = source.format.partition(",")  # ", names only" or the like may follow
    known = map(of_prefix, (format, source.namespace))
    return next((vocabulary for vocabulary in known if vocabulary.terms), None)


def check_licences(sources: Iterable[Source]) -> None:
    """Refuse to give away names that may not be passed on.

    Raises:
        LinkerError: they are of a vocabulary whose licence does not allow it.
    """
    for source in sources:
        known = licence(source)
        if known and not known.may_be_passed_on:
            raise LinkerError(
                f"{source.file}: the model holds names of {known.title}, which may not be "
                f"passed on ({known.terms}: {known.licence}); where you are allowed to, give "
                "licence_allows=True"
            )


def card(linker: Linker, place: str = "") -> str:
    """What is in a model, for people and for the Hugging Face hub to read, in Markdown.

    Args:
        linker: the model.
        place: its id on the hub; empty: it is only saved.
    """
    from jinja2 import Environment, StrictUndefined  # nothing that is linked needs it

    licences = [(source, licence(source)) for source in linker.dictionary.sources]
    words = {known and known.on_hub for _, known in licences} or {None}
    environment = Environment(  # noqa: S701 - Markdown
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    template = resources.files("linker.linking").joinpath("card.md.jinja").read_text("utf-8")
    return environment.from_string(template).render(
        linker=linker,
        place=place,
        version=VERSION,
        licences=licences,
        on_hub=None if None in words else words.pop() if len(words) == 1 else "other",
        languages=_languages(linker),
        accuracy=_accuracy(linker),
    )


def _languages(linker: Linker) -> list[str]:
    """The codes of the languages of the names, where their source tells them."""
    dictionary = linker.dictionary
    labels = np.unique(dictionary.columns.names.language)
    codes = (dictionary.labels[label].lower() for label in labels)
    return sorted(code for code in codes if re.fullmatch("[a-z]{2,3}", code))


def _accuracy(linker: Linker) -> float | None:
    """Acc@1 on development mentions of the epoch that was kept; None where there were none."""
    records = [record for record in linker.history if "dev_acc1" in record]
    kept = [record["dev_acc1"] for record in records if record["epoch"] == linker.best_epoch]
    return kept[-1] if kept else None
