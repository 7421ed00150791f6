"""Linkers whose candidates stand in the order of their scores, for tables that compare encoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from linker import Dictionary, Linker, LinkerOptions
from linker.training.pipeline import Validate, without_ranker
from linker.training.plan import TrainingRequest, make
from linker.training.settings import RunSettings

if TYPE_CHECKING:
    from linker.encoders.words import WordVectors


def trained(
    dictionary: Dictionary,
    encoder: str,
    mentions: Sequence[Any] = (),
    options: LinkerOptions | None = None,
    words: WordVectors | None = None,
    validate: Validate | None = None,
    settings: RunSettings | None = None,
) -> Linker:
    """As `Linker.train`, without a ranker."""
    request = TrainingRequest(
        encoder=encoder,
        options=(lambda _: options) if options else None,
        has_mentions=bool(mentions),
        has_words=words is not None,
    )
    plan = make(request, words)
    return without_ranker(plan, dictionary, mentions, settings or RunSettings(), validate)
