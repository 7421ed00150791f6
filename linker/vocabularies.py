"""Vocabularies: prefixes of ids, addresses and terms, as `vocabularies.json` has them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class KnownVocabulary(NamedTuple):
    """What is known of a vocabulary; fields that are empty are not known."""

    prefix: str  # of its ids
    title: str = ""
    spellings: Sequence[str] = ()  # prefixes, in any case, that are replaced where ids are read
    aliases: Sequence[str] = ()  # other prefixes for it, which users see as files have them
    system: str = ""  # of FHIR: HL7 Terminology (THO), or the ontology itself, names it so
    addresses: Sequence[str] = ()  # others that name it
    keeps_prefix: bool = False  # whether a code of FHIR is an id with its prefix, as HP:0001250
    iri: str = ""  # what the IRI of a concept has in place of the prefix
    page: str = ""  # of a concept; {} is the id without its prefix, {curie} the id
    terms: str = ""  # under which it is given away
    licence: str = ""  # the address where they stand
    on_hub: str = "other"  # the word of the Hugging Face hub for them
    may_be_passed_on: bool = True


VOCABULARIES = [
    KnownVocabulary(prefix, **fields)
    for prefix, fields in json.loads(
        Path(__file__).with_name("vocabularies.json").read_bytes()
    ).items()
]
_RELEASE = re.compile(r"_\d{4}_\d\d_\d\d\Z")  # DOID writes SNOMEDCT_US_2023_03_01


def of_prefix(prefix: str) -> KnownVocabulary:
    """The vocabulary that has a prefix, in any case; one with only this prefix if none has it.

    >>> of_prefix("SNOMEDCT_US_2023_03_01").title, of_prefix("Xy").prefix
    ('SNOMED CT', 'XY')
    """
    prefix = _RELEASE.sub("", prefix.upper())
    return _BY_PREFIX.get(prefix) or KnownVocabulary(prefix)


def of_address(address: str) -> KnownVocabulary:
    """The vocabulary that has an address, with http or https; one without a prefix if none has it.

    >>> of_address("https://snomed.info/sct").prefix, of_address("http://a").prefix
    ('SNOMEDCT', '')
    """
    return _BY_ADDRESS.get(_place(address)) or KnownVocabulary("")


def _place(address: str) -> str:
    return re.sub("^https?://", "", address).rstrip("/#")


_BY_PREFIX = {
    name.upper(): known
    for known in VOCABULARIES
    for name in (known.prefix, *known.spellings, *known.aliases)
}
_BY_ADDRESS = {
    _place(address): known
    for known in VOCABULARIES
    for address in (known.system, known.iri, *known.addresses)
    if address
}
