r"""Identifiers: how they are spelled, and how several are joined in one text.

`A|B`, also with `,` or `;`, are the ids of two parts of a mention; `A+B` are ids that are all
meant; `A|?` has a second part that is open, since nobody decided on it. A backslash before one of
these signs, or before a backslash, says that it is part of an id; so it does before an id that is
`?` itself.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from linker.records import Gold, GoldGroup


class KnownVocabulary(NamedTuple):
    """What is known of a vocabulary; fields that are empty are not known."""

    prefix: str  # of its ids
    title: str = ""
    spellings: Sequence[str] = ()  # prefixes, in any case, that are replaced where ids are read
    series: Mapping[str, str] = MappingProxyType({})  # such prefixes, of ids that begin like this
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
NO_CONCEPT = frozenset(
    {"", "-", "-1", "none", "null", "cui-less", "cuiless"}
)  # how files write that there is none, in lower case

OPEN = "?"
"""What stands for a part of a mention that nobody decided; an id that is `?` itself is escaped."""

_PREFIXES: dict[str, str] = {}  # how each prefix is written, by its small letters
_SERIES: dict[str, str] = {}  # likewise, how ids of a series begin
for _known in VOCABULARIES:
    for _name in (_known.prefix, *_known.aliases):
        _PREFIXES[_name.lower()] = _name
    for _name in _known.spellings:
        _PREFIXES[_name.lower()] = _known.prefix
    for _name, _start in _known.series.items():
        _SERIES[_name.lower()] = f"{_known.prefix}:{_start}"
_REPEATED = re.compile(r"\A(?:(?:[dD][oO]|DOID):\s*)+(?!\s)(?=[^:]*:)")  # "DO:" of "DO:DOID:1"
_BARE = (  # order matters: MeSH supplements have 6 or 9 digits behind the C, UMLS concepts 7
    (re.compile(r"D\d{6}(\d{3})?"), "MESH"),
    (re.compile(r"C\d{6}(\d{3})?"), "MESH"),
    (re.compile(r"C\d{7}"), "UMLS"),
    (re.compile(r"\d{6}"), "OMIM"),
    (re.compile(r"PS\d{6}"), "OMIM"),
)
_UNDERSCORED = re.compile(r"(?:([A-Za-z]\w*)_)?(\d+)")
_WITH_UNDERSCORE = re.compile(r"([A-Za-z][\w.-]*)_([A-Za-z]*\d[\w.]*)", re.ASCII)
_WITH_PREFIX = re.compile(r"([A-Za-z][\w.-]*?)[:_](?=[A-Za-z]*\d)", re.ASCII)
IRI = re.compile(r"<?https?://(.+?)[/#]([^/#]+?)>?")  # its namespace, and the part behind it
# namespaces in which the prefix is a part of the local name, as in obo/DOID_4
_UNDERSCORED_SPACES = frozenset(
    ("purl.obolibrary.org/obo", "www.orpha.net/ORDO", "www.ebi.ac.uk/efo")
)
# of registries, where the prefix is in the local name, or the last part of the namespace
_REGISTRIES = frozenset(("identifiers.org", "bioregistry.io"))
_BELOW_REGISTRIES = ("identifiers.org/", "bioregistry.io/", "purl.bioontology.org/ontology/")
_BARS, _COMMAS, _PLUSES = (  # between ids; an escaped sign is matched with its backslash
    re.compile(rf"(?s)\\.|{sign}") for sign in (r"\|", "[,;]", r"(?!\A)\+(?=\s*[^+\s])")
)
_SIGN = re.compile(r"[\\|,;+]")  # any of them
_JOINING = re.compile(r"[\\|,;]|\A\+|\+(?!\Z)")  # a plus that ends an id stands between no ids
_ESCAPED = re.compile(r"\\([\\|,;+])|\A\\(?=\?\Z)")

Identify = Callable[[str], str | None]
"""Gives the id that a text stands for in a dictionary; None where the dictionary has none."""


def not_known(text: str) -> None:
    """Identify nothing, where no dictionary is known."""


@lru_cache(maxsize=1 << 16)
def normalized(text: str) -> str:
    """Write the prefix of an identifier in one way; an id without a prefix is kept as it is.

    So is an IRI, unless it is known which vocabulary has it.

    >>> normalized("MeSH: D001260"), normalized("DO:DOID:1"), normalized("D001260")
    ('MESH:D001260', 'DOID:1', 'D001260')
    >>> normalized("MONDO_0001"), normalized("http://purl.obolibrary.org/obo/MONDO_0001")
    ('MONDO:0001', 'MONDO:0001')
    >>> normalized("OMIMPS:208900")
    'OMIM:PS208900'
    """
    text = _REPEATED.sub("", text.strip()).strip()
    if iri := IRI.fullmatch(text):
        return _of_iri(text, iri[1], iri[2])
    text = with_colon(text, _PREFIXES)
    prefix, colon, local = text.partition(":")
    if not colon:
        return text
    local = local.strip()
    if start := _SERIES.get(prefix.lower()):
        return start + local.removeprefix(start.partition(":")[2])
    if not (spelled := _PREFIXES.get(prefix.lower())):
        return f"{prefix}:{local}"
    again = _WITH_PREFIX.match(local)  # Orphanet:Orphanet_558, DOID:DOID:4
    if again and of_prefix(again[1]).prefix == of_prefix(spelled).prefix:
        local = local[again.end() :]
    return f"{spelled}:{local}"


def with_colon(text: str, prefixes: Container[str]) -> str:
    """Write a colon for the underscore of an id such as MONDO_0001.

    Args:
        text: the id.
        prefixes: in small letters; ids with others are kept as they are.
    """
    match = _WITH_UNDERSCORE.fullmatch(text)
    return f"{match[1]}:{match[2]}" if match and match[1].lower() in prefixes else text


def prefixes_of(ids: Iterable[str]) -> dict[str, str]:
    """The prefix that ids have for each vocabulary, by its own prefix in small letters.

    It is the first one of ids that are no IRIs. Prefixes of no known vocabulary that differ in case
    are left out: nobody knows whether they are the same.
    """
    of_curies: dict[str, str] = {}
    of_iris: dict[str, str] = {}
    seen: set[str] = set()
    unclear: set[str] = set()
    for identifier in ids:
        as_written = namespace(identifier)
        if as_written in seen:
            continue
        is_iri = IRI.fullmatch(identifier)
        if as_written and not is_iri:
            seen.add(as_written)
        if prefix := namespace(normalized(identifier)):
            prefixes = of_iris if is_iri else of_curies
            vocabulary = of_prefix(prefix).prefix
            first = prefixes.setdefault(vocabulary.lower(), prefix)
            if first != prefix and vocabulary not in _BY_PREFIX:
                unclear.add(vocabulary.lower())
    prefixes = of_iris | of_curies
    return {name: prefix for name, prefix in prefixes.items() if name not in unclear}


def respelled(text: str, prefixes: Mapping[str, str]) -> str:
    """Write an id with the prefix that other ids have for its vocabulary, and with a colon.

    >>> respelled("orpha:558", {"orphanet": "Orphanet"}), respelled("XY_1", {"xy": "XY"})
    ('Orphanet:558', 'XY:1')

    Args:
        text: the id.
        prefixes: see `prefixes_of`.
    """
    identifier = normalized(with_colon(text.strip(), prefixes))
    prefix, colon, local = identifier.partition(":")
    prefix = prefixes.get(of_prefix(prefix).prefix.lower(), prefix)
    return f"{prefix}:{local}" if colon else identifier


def _of_iri(iri: str, namespace: str, local: str) -> str:
    """The id that an IRI stands for; the IRI where nobody knows."""
    if namespace in _REGISTRIES or namespace in _PAGES_OF_CURIES:
        identifier = normalized(local)
        return identifier if ":" in identifier else iri
    if namespace in _UNDERSCORED_SPACES and "_" in local:
        prefix, _, local = local.rpartition("_")
    elif namespace.startswith(_BELOW_REGISTRIES):
        prefix = namespace.rpartition("/")[2]
        if local.lower().startswith(f"{prefix.lower()}:"):  # identifiers.org/hgnc/HGNC:5
            return normalized(local)
    else:
        prefix = of_address(namespace).prefix
    return normalized(f"{prefix}:{local}") if prefix else iri


@lru_cache(maxsize=1 << 16)
def curie(text: str) -> str:
    """Write an identifier as a CURIE, guessing a prefix that is not there.

    Bare ids of MeSH, UMLS and OMIM are recognised by their form; any other id is kept as it is.
    Other vocabularies have ids of these forms, too: guess in files of known vocabularies only, or
    where a dictionary does not have the bare id.

    >>> curie("D001260"), curie("208900"), curie("MeSH:D001260")
    ('MESH:D001260', 'OMIM:208900', 'MESH:D001260')
    """
    text = normalized(text)
    return next((f"{name}:{text}" for form, name in _BARE if form.fullmatch(text)), text)


def namespace(identifier: str) -> str:
    """The prefix of a CURIE: 'MESH:D001260' -> 'MESH'; empty for an id without one."""
    prefix, colon, _ = identifier.partition(":")
    return prefix if colon else ""


def prefixes(names: Iterable[str]) -> frozenset[str]:
    """Prefixes of CURIEs as they are compared: in upper case, without a colon behind them."""
    return frozenset(name.rstrip(":").upper() for name in names)


def counted(prefixes: Iterable[str] | Mapping[str, int]) -> str:
    """Count prefixes for a message, the ten most frequent ones: "MESH 7, none 2"."""
    return ", ".join(
        f"{prefix or 'none'} {count:,}" for prefix, count in Counter(prefixes).most_common(10)
    )


def split_ids(
    text: str, identify: Identify = not_known, spell: Callable[[str], str] = normalized
) -> list[list[str] | None]:
    r"""Split a text of ids into those of each part; a part without a concept has none.

    An open part is None. What the dictionary has as an id is one, whatever signs it holds; but `?`
    always stands for an open part.

    >>> split_ids("A+B|-1|C"), split_ids(r"A\+B"), split_ids("A17.0+|G01*")
    ([['A', 'B'], [], ['C']], [['A+B']], [['A17.0+'], ['G01*']])
    >>> split_ids("A|?"), split_ids(r"A|\?")
    ([['A'], None], [['A'], ['?']])

    Args:
        text: the ids.
        identify: of the dictionary, where one is known.
        spell: writes an id that the dictionary does not have.
    """
    parts: list[list[str] | None] = []
    for written in _split_parts(text, identify):
        if written is None:
            parts.append(None)
        else:
            ids = [i for i in written if i.lower() not in NO_CONCEPT]
            parts.append([identify(i) or spell(i) for i in ids])
    return parts


def part_ids(text: str) -> list[str | None]:
    """The ids in a text one after the other, empty for a part without a concept, None for an open
    one.

    They are as the text has them: those of a decision are spelled as the dictionary does it.
    """
    ids: list[str | None] = []
    for part in split_ids(text, spell=str):
        if part is None:
            ids.append(None)
        else:
            ids.extend(part or [""])
    return ids


def _split_parts(text: str, identify: Identify) -> list[list[str] | None]:
    """The ids of each part as they are written; None for an open one."""
    if text.strip() == OPEN:
        return [None]
    if not _SIGN.search(text):  # as nearly all texts
        return [[text.strip()]]
    texts = [text]
    for signs in (_BARS, _COMMAS):
        pieces: list[str] = []
        for each in texts:
            pieces += _split(each, signs, identify)
        texts = pieces
    parts: list[list[str] | None] = []
    for each in texts:
        if each == OPEN:
            parts.append(None)
        else:
            ids = _split(each, _PLUSES, identify)
            parts.append([_ESCAPED.sub(r"\1", identifier) for identifier in ids])
    return parts


def _split(text: str, signs: re.Pattern[str], identify: Identify) -> list[str]:
    """The pieces of a text between signs, without blanks around them.

    An id that the dictionary has is not split, and is escaped so that it never will be.
    """
    text = text.strip()
    if text != OPEN and identify(text) is not None:
        return [escaped(text)]
    cuts = (match.start() for match in signs.finditer(text) if not match[0].startswith("\\"))
    return [text[start + 1 : end].strip() for start, end in pairwise((-1, *cuts, len(text)))]


def escaped(identifier: str) -> str:
    r"""Write an id so that `split_ids` does not split it.

    >>> escaped("C81,3"), escaped("A+B"), escaped("A17.0+"), escaped("?")
    ('C81\\,3', 'A\\+B', 'A17.0+', '\\?')
    """
    if identifier == OPEN:
        return rf"\{OPEN}"
    return _JOINING.sub(r"\\\g<0>", identifier)


def join_ids(parts: Iterable[Sequence[str] | None]) -> str:
    """Write the ids of each part as `split_ids` reads them.

    It is -1 for a part without a concept, and `?` for an open one, which is None.
    """
    texts = [OPEN if part is None else "+".join(map(escaped, part)) or "-1" for part in parts]
    return "|".join(texts) or "-1"


def spelled_as(own: str, text: str) -> str:
    """Write the id of another concept of a file with the prefix and the colon that its ids have.

    >>> spelled_as("HP:0040316", "HP_0030261"), spelled_as("HP:0040316", "0030261")
    ('HP:0030261', 'HP:0030261')
    """
    prefix, colon, _ = own.partition(":")
    match = _UNDERSCORED.fullmatch(text) if colon else None
    return f"{match[1] or prefix}:{match[2]}" if match else text


def parse_gold(
    text: str, identify: Identify = not_known, spell: Callable[[str], str] = normalized
) -> Gold | None:
    """Read annotated ids, see `split_ids`; -1 or nothing says that there is no concept.

    Where a part is open, the mention is not annotated, and there is no gold: None.

    >>> parse_gold("MeSH:D001260")
    (GoldGroup(ids=('MESH:D001260',), operator='one_of'),)
    """
    groups = []
    for part in split_ids(text, identify, spell):
        if part is None:
            return None
        ids = tuple(dict.fromkeys(part))
        if ids:
            groups.append(GoldGroup(ids, "all_of" if len(ids) > 1 else "one_of"))
    return tuple(groups)


def format_gold(gold: Gold) -> str:
    """Write gold groups as `parse_gold` reads them; of a `one_of` group the first id is written."""
    return join_ids(group.ids if group.operator == "all_of" else group.ids[:1] for group in gold)


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
_PAGES_OF_CURIES = {
    _place(known.page.partition("{curie}")[0]) for known in VOCABULARIES if "{curie}" in known.page
}
