"""What annotated mentions give to a training: names, queries, and how often a concept occurs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linker import matching
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary, NameTable
from linker.errors import LinkerError
from linker.options import LinkerOptions
from linker.ranker.lists import Query, mention_queries
from linker.text.biosyn import biosyn_parts
from linker.text.mentions import contexts, expanded, grouped
from linker.types import Document, Gold, Mention

logger = logging.getLogger(__name__)

_SHOWN = 10  # unknown ids in a warning


@dataclass(frozen=True, slots=True)
class Annotated:
    """An annotated mention as training sees it."""

    mention: Mention
    name: str  # short forms expanded; empty for a mention that gives no name
    ids: tuple[str, ...]  # all its CURIEs
    context: str  # see `contexts`

    @property
    def is_single(self) -> bool:
        """Whether it is a name of one concept."""
        return bool(self.name) and is_single(self.mention.gold or ())


@dataclass(frozen=True, slots=True)
class Data:
    """A dictionary, annotated mentions, and how their names score by characters."""

    dictionary: Dictionary
    extended: Dictionary  # with the mentions as names, where they are names
    indexed: SparseGenerator  # of the extended one: the names of the dictionary first
    known: Sequence[Annotated]
    normalize: Callable[[str], str]

    def base(self) -> SparseGenerator:
        """As `indexed`, of the dictionary alone: lists never hold the mentions that they train on."""
        if self.extended is self.dictionary:
            return self.indexed
        return SparseGenerator.index(
            self.dictionary.table(self.normalize), self.dictionary, self.indexed.encoder
        )


def is_single(gold: Gold) -> bool:
    """Whether an annotation means one concept: not a composite, not an aggregate."""
    return len(gold) == 1 and gold[0].operator == "one_of"


def collect(items: Iterable[Mention | Document], options: LinkerOptions) -> Iterator[Annotated]:
    """Turn annotated mentions into names. Mentions that are not annotated are left out.

    The name is empty for a mention that gives none: a composite or aggregate of several concepts, unless
    `text.training_composites` is `join`, or one annotated as having no concept.
    """
    words = options.rerank.words if options.rerank.epochs else None
    for document, mentions, definitions in grouped(items, options.text):
        for mention, around in zip(mentions, contexts(document, mentions, words), strict=True):
            if mention.gold is None:
                continue
            ids = tuple(i for group in mention.gold for i in group.ids)
            name = ""
            if options.text.training_composites == "join" and ids:
                name = " ".join(biosyn_parts(mention.text, definitions, ids))
            elif ids and is_single(mention.gold):
                name = expanded(mention, definitions, options.text)
            yield Annotated(mention, name, ids, around)


def report(mentions: Sequence[Annotated], dictionary: Dictionary) -> None:
    """Log how many annotated mentions become names.

    Raises:
        LinkerError: there are some, and the dictionary knows the ids of none.
    """
    named = [one.ids for one in mentions if one.name]
    unknown = [ids for ids in named if not any(map(dictionary.rows, ids))]
    if named and len(unknown) == len(named):
        theirs, ours = "|".join(unknown[0]), dictionary.ids[0]
        raise LinkerError(
            f"the dictionary knows the id of none of the {len(named):,} training mentions ({theirs}; its own: {ours})"
        )
    if unknown:
        missing = sorted({i for ids in unknown for i in ids})
        some = ", ".join(missing[:_SHOWN]) + f", … ({len(missing)}; -v shows all)" * (
            len(missing) > _SHOWN
        )
        text = (
            "%d of %d training mentions have no id that the dictionary knows, they add no name: %s"
        )
        logger.warning(text, len(unknown), len(named), some)
        logger.info("unknown ids: %s", ", ".join(missing))
    logger.info("%d annotated mentions, %d of a single concept", len(mentions), len(named))


def queries(
    mentions: Sequence[Annotated], dictionary: Dictionary, form: Callable[[str], str]
) -> dict[Query, list[str]] | None:
    """The queries that mentions of one concept give, each with the contexts of its mentions; None where there are none.

    Args:
        form: the normal form of a name.

    Raises:
        LinkerError: there are mentions, and none gives a query.
    """
    single = [one for one in mentions if one.is_single]
    if not single:
        if mentions:
            logger.warning(
                "none of the %d annotated mentions has one concept; the encoder is trained on the dictionary's names",
                len(mentions),
            )
        return None
    made = [
        Query(form(one.name), matching.accepted(one.mention.gold or (), dictionary.resolve))
        for one in single
    ]
    counted = mention_queries(made, dictionary)
    if not counted.queries:
        problem = f"{len(counted.unknown):,} have an id that the dictionary does not know, {counted.empty:,} are empty once normalised"
        raise LinkerError(
            f"none of the {len(single):,} training mentions of one concept can be trained on: {problem}"
        )
    kept, left = len(counted.queries), len(counted.unknown)
    logger.info(
        "%d training queries; %d mentions came before, %d have an id that the dictionary does not know",
        kept,
        counted.duplicates,
        left,
    )
    found: dict[Query, list[str]] = {query: [] for query in counted.queries}
    for query, one in zip(made, single, strict=True):
        if query in found:
            found[query].append(one.context)
    return found


def frequency(
    mentions: Iterable[Annotated], dictionary: Dictionary, table: NameTable
) -> NDArray[np.float32]:
    """For each name of a table log(1 + how often mentions of one concept are annotated with its concept), (names,).

    An annotation is parted among the concepts that its id means; of a name's several concepts the most frequent counts.
    """
    times = np.zeros(len(dictionary))
    for one in mentions:
        if one.mention.gold and is_single(one.mention.gold):
            rows = {
                row
                for i in matching.accepted(one.mention.gold, dictionary.resolve)
                for row in dictionary.rows(i)
            }
            for row in rows:
                times[row] += 1 / len(rows)
    most = np.zeros(len(table))
    np.maximum.at(
        most, np.repeat(np.arange(len(table)), np.diff(table.indptr)), times[table.concepts]
    )
    return np.log1p(most).astype(np.float32)
