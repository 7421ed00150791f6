"""MEDIC with names of other vocabularies: those of DOID and HPO, and those in MONDO's mappings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from benchmarks.lib.data import locate, medic
from linker import Dictionary
from linker.dictionary.lending import KINDS, Lending, consider, read
from linker.types import NameKind

ONTOLOGIES = ("ontologies/doid.obo.gz", "ontologies/hp.obo.gz")
MAPPINGS = tuple(
    f"mappings/mondo_exactmatch_{other}.sssom.tsv.gz"
    for other in ("doid", "mesh", "omim", "ncit", "orphanet")
)
NONE, LENT, MAPPED = "", "DOID, HPO", "DOID, HPO, MONDO's mappings"
LENDERS = {NONE: (), LENT: ONTOLOGIES, MAPPED: (*ONTOLOGIES, *MAPPINGS)}


def lending(
    receiver: Dictionary, files: Sequence[str], kinds: Sequence[NameKind] = KINDS
) -> tuple[Dictionary, Lending]:
    """A dictionary with the names that some files lend, and the account of these names."""
    lenders = [read(locate(name)) for name in files]
    account = consider(receiver.columns, receiver.sources, lenders, kinds)
    return receiver.with_lent_names(account), account


@cache
def dictionary(year: str, lent: str) -> Dictionary:
    """A release of MEDIC with the names of some lenders."""
    return lending(medic(year), LENDERS[lent])[0]
