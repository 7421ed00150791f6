"""Linkers without a ranker, and MEDIC with the names that other vocabularies lend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from benchmarks.lib.data import locate, medic
from linker import Dictionary, Linker, LinkerOptions
from linker.dictionary.lending import consider, read
from linker.training.pipeline import Validate, without_ranker
from linker.training.plan import RunSettings, make

if TYPE_CHECKING:
    from linker.encoders.words import WordVectors

ONTOLOGIES = ("ontologies/doid.obo.gz", "ontologies/hp.obo.gz")


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


def lending(receiver: Dictionary) -> Dictionary:
    """A dictionary with the names that DOID and HPO lend."""
    lenders = [read(locate(name)) for name in ONTOLOGIES]
    return receiver.with_lent_names(consider(receiver.columns, lenders))


@cache
def with_lent(year: str = "2017") -> Dictionary:
    """A release of MEDIC with the names of DOID and HPO."""
    return lending(medic(year))
