"""Identifiers: ids of any spelling become CURIEs, and `A|B` and `A+B` become gold groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from linker.types import Gold, GoldGroup

NO_CONCEPT = frozenset(
    {"", "-", "-1", "none", "null", "cui-less", "cuiless"}
)  # how files write that there is none, in lower case

_PREFIXES = {
    "mesh": "MESH",
    "msh": "MESH",
    "omim": "OMIM",
    "mim": "OMIM",
    "umls": "UMLS",
    "umls_cui": "UMLS",
    "do": "DOID",
}
_REPEATED = re.compile(r"\A(?:(?:[dD][oO]|DOID):\s*)+(?=[^:]*:)")  # "DO:" of "DO:DOID:1"
_BARE = (  # order matters: MeSH supplements have 6 or 9 digits behind the C, UMLS concepts 7
    (re.compile(r"D\d{6}(\d{3})?"), "MESH"),
    (re.compile(r"C\d{6}(\d{3})?"), "MESH"),
    (re.compile(r"C\d{7}"), "UMLS"),
    (re.compile(r"\d{6}"), "OMIM"),
    (re.compile(r"PS\d{6}"), "OMIM"),
)


@lru_cache(maxsize=1 << 16)
def curie(text: str) -> str:
    """Write an identifier as a CURIE.

    Bare ids of MeSH, UMLS and OMIM are recognised by their form; any other id is kept as it is.

    >>> curie("D001260"), curie("MeSH:D001260"), curie("DO:DOID:1")
    ('MESH:D001260', 'MESH:D001260', 'DOID:1')
    """
    text = _REPEATED.sub("", text.strip()).strip()
    prefix, colon, local = text.partition(":")
    if colon:
        return f"{_PREFIXES.get(prefix.lower(), prefix)}:{local.strip()}"
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


def parse_gold(text: str) -> Gold:
    """Read annotated ids.

    `A|B`, also with `,` or `;`, is a group for each of two parts of the mention; `A+B` is one group
    of which all ids are needed; `-1` or nothing says that there is no concept.

    >>> parse_gold("D001260")
    (GoldGroup(ids=('MESH:D001260',), operator='one_of'),)
    """
    groups = []
    for part in re.split(r"[|,;]", text):
        ids = tuple(
            dict.fromkeys(curie(i) for i in part.split("+") if i.strip().lower() not in NO_CONCEPT)
        )
        if ids:
            groups.append(GoldGroup(ids, "all_of" if len(ids) > 1 else "one_of"))
    return tuple(groups)


def format_gold(gold: Gold) -> str:
    """Write gold groups as `parse_gold` reads them; of a `one_of` group the first id is written."""
    return "|".join("+".join(g.ids) if g.operator == "all_of" else g.ids[0] for g in gold) or "-1"
