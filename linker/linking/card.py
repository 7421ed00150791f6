"""The card of a model: README.md of its folder, with what the Hugging Face hub reads of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linker.errors import LinkerError
from linker.types import Source
from linker.version import VERSION

if TYPE_CHECKING:
    from linker.linking.linker import Linker

CARD = "README.md"


class Licence(NamedTuple):
    """Under which terms a vocabulary is given away, and where they stand."""

    vocabulary: str
    terms: str
    address: str
    on_hub: str = "other"  # the word of the Hugging Face hub for it
    may_be_passed_on: bool = True


_CTD = (
    "CTD's own terms: cite CTD, link to it from applications that use its data, tell CTD of your "
    "use, give it access for quality control"
)
_MESH = "https://www.nlm.nih.gov/databases/download/terms_and_conditions_mesh.html"
_CC0 = "https://creativecommons.org/publicdomain/zero/1.0/"
_CC_BY = "https://creativecommons.org/licenses/by/4.0/"
_HPO = "the HPO licence: acknowledge HPO, show its version, do not alter its content"
_OWN = "each user needs an own licence"
_UMLS = "https://uts.nlm.nih.gov/uts/assets/LicenseAgreement.pdf"
_SNOMED = "https://www.snomed.org/get-snomed"
_EACH = "each has its own terms, and some may not be passed on, such as SNOMED CT and MedDRA"
_ATHENA = "https://athena.ohdsi.org"
_LICENCES = {  # by the format of the file, or the prefix of most of its ids
    "medic": Licence("MEDIC (CTD)", _CTD, "http://ctdbase.org/about/legal.jsp"),
    "MESH": Licence("MeSH", "NLM's terms: free, name NLM and the version", _MESH),
    "DOID": Licence("the Disease Ontology", "CC0 1.0", _CC0, "cc0-1.0"),
    "HP": Licence("the Human Phenotype Ontology", _HPO, "https://hpo.jax.org/app/license"),
    "MONDO": Licence("MONDO", "CC BY 4.0", _CC_BY, "cc-by-4.0"),
    "UMLS": Licence("UMLS", _OWN, _UMLS, may_be_passed_on=False),
    "OMOP": Licence("OMOP's vocabularies", _EACH, _ATHENA, may_be_passed_on=False),
    "SNOMED": Licence("SNOMED CT", _OWN, _SNOMED, may_be_passed_on=False),
    "SNOMEDCT": Licence("SNOMED CT", _OWN, _SNOMED, may_be_passed_on=False),
    "SCTID": Licence("SNOMED CT", _OWN, _SNOMED, may_be_passed_on=False),
}


def licence(source: Source) -> Licence | None:
    """The licence of the vocabulary that a file holds; None where it is not known."""
    format, _, _ = source.format.partition(",")  # ", names only" or the like may follow
    prefix, _, _ = source.namespace.upper().partition("_")  # SNOMEDCT_US
    return _LICENCES.get(format) or _LICENCES.get(prefix)


def check_licences(sources: Iterable[Source]) -> None:
    """Refuse to give away names that may not be passed on.

    Raises:
        LinkerError: they are of a vocabulary whose licence does not allow it.
    """
    for source in sources:
        known = licence(source)
        if known and not known.may_be_passed_on:
            raise LinkerError(
                f"{source.file}: the model holds names of {known.vocabulary}, which may not be "
                f"passed on ({known.terms}: {known.address}); where you are allowed to, give "
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
