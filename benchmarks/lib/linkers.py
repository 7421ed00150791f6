"""Linkers without a ranker, and MEDIC with the names that other vocabularies lend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any
from unittest import mock

from benchmarks.lib.data import locate, medic
from linker import Dictionary, Linker, LinkerOptions
from linker.dictionary.lending import KINDS, Lending, consider, read
from linker.records import NameKind
from linker.training.pipeline import Validate, without_ranker
from linker.training.plan import RunSettings, make

if TYPE_CHECKING:
    from linker.encoders.words import WordVectors

ONTOLOGIES = ("ontologies/doid.obo.gz", "ontologies/hp.obo.gz")
MAPPINGS = tuple(
    f"mappings/mondo_exactmatch_{other}.sssom.tsv.gz"
    for other in ("doid", "mesh", "omim", "ncit", "orphanet")
)
NONE, LENT, MAPPED = "", "DOID, HPO", "DOID, HPO, MONDO's mappings"
LENDERS = {NONE: (), LENT: ONTOLOGIES, MAPPED: (*ONTOLOGIES, *MAPPINGS)}


def by_score(
    dictionary: Dictionary,
    encoder: str,
    mentions: Sequence[Any] = (),
    options: LinkerOptions | None = None,
    words: WordVectors | None = None,
    validate: Validate | None = None,
    settings: RunSettings | None = None,
) -> Linker:
    """As `train`, without a ranker: candidates stand in the order of their scores."""
    chosen = (lambda _: options) if options else None
    plan = replace(make(encoder, options=chosen, has_words=words is not None), words=words)
    return without_ranker(plan, dictionary, mentions, settings or RunSettings(), validate)


def lending(
    receiver: Dictionary, files: Sequence[str], kinds: Sequence[NameKind] = KINDS
) -> tuple[Dictionary, Lending]:
    """A dictionary with the names that some files lend, and the account of these names."""
    lenders = [read(locate(name)) for name in files]
    with mock.patch("linker.dictionary.lending.KINDS", kinds):
        account = consider(receiver.columns, lenders)
    return receiver.with_lent_names(account), account


@cache
def with_lent(lent: str = LENT, year: str = "2017") -> Dictionary:
    """A release of MEDIC with the names of some lenders."""
    return lending(medic(year), LENDERS[lent])[0]
