"""What a linker is trained on: a dictionary and annotated mentions, as names and as queries."""

from __future__ import annotations

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linker import matching
from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import Encoder, Recipe, SparseEncoder, is_unit
from linker.encoders.tfidf import TfidfEncoder
from linker.errors import LinkerError, shorten
from linker.io import persistence
from linker.linking.folder import Seen
from linker.linking.options import LinkerOptions
from linker.records import Activity, Document, Gold, Mention
from linker.search.index import Floats
from linker.search.sparse import SparseGenerator
from linker.text.biosyn import biosyn_parts
from linker.text.find import is_short_form
from linker.text.mentions import expanded, grouped

if TYPE_CHECKING:
    from linker.search.hybrid import HybridGenerator
    from linker.training.plan import TrainingPlan

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TrainingQuery:
    """A name to be linked, and what it should be linked to."""

    text: str  # normalized
    right: frozenset[str]  # ids of the right concepts (see `matching.accepted`)


@dataclass(frozen=True)
class TrainingData:
    """A dictionary, annotated mentions, and how their names score by characters."""

    dictionary: Dictionary
    extended: Dictionary  # with the mentions as names
    indexed: SparseGenerator  # ranks the names of `extended`, those of `dictionary` first
    mentions: Sequence[Annotated]
    normalize: Callable[[str], str]

    @classmethod
    def of(
        cls,
        plan: TrainingPlan,
        dictionary: Dictionary,
        mentions: Iterable[Mention | Document],
        fitted: SparseEncoder | None = None,
        further: Sequence[tuple[str, Sequence[str]]] = (),
        on_activity: Callable[[Activity], None] = lambda activity: None,
    ) -> TrainingData:
        """Add the mentions to the dictionary, and index the names by characters.

        Args:
            plan: of the training.
            dictionary: the names.
            mentions: annotated ones, and others.
            fitted: the sparse encoder; None: one is fitted to the names.
            further: names to add, each with its ids.
            on_activity: is called with each step.

        Raises:
            LinkerError: no name of the dictionary is left once normalised.
        """

        def report(share: float, at: str) -> None:
            on_activity(Activity("indexing names by characters", share, at))

        report(0.0, "normal forms")
        annotated = list(collect(mentions, plan.options))
        names = [*further, *(name for mention in annotated for name in mention.names)]
        extended = dictionary.add(names, plan.normalize)
        if fitted is None:
            table, kind = table_of(dictionary, plan.normalize), plan.encoder_class
            fitted = (kind if plan.is_sparse else TfidfEncoder)(plan.options.sparse)
            named = np.flatnonzero(np.diff(table.indptr))  # not the empty name
            report(0.25, "n-grams")
            fitted.fit(table.texts.take(named))  # as BioSyn: without the mentions
        report(0.55, "normal forms")
        table = table_of(extended, plan.normalize)
        report(0.75, "n-grams of each")
        indexed = SparseGenerator.index(table, extended, fitted, plan.options.index)
        return cls(dictionary, extended, indexed, annotated, plan.normalize)

    @cached_property
    def names(self) -> SparseGenerator:
        """Ranks the names of the dictionary alone: lists never hold the mentions they train on."""
        if self.extended is self.dictionary:
            return self.indexed
        table = self.dictionary.table(self.normalize)
        return SparseGenerator.index(table, self.dictionary, self.indexed.encoder)

    @property
    def table(self) -> NameTable:
        """The names of the dictionary alone."""
        return self.names.table

    @property
    def seen(self) -> Seen:
        """What a training sees of the mentions."""
        forms = [(self.normalize(m.mention.text), m.ids) for m in self.mentions]
        resolve = self.dictionary.resolve
        current = {new for _, ids in forms for identifier in ids for new in resolve(identifier)}
        without = Counter(form for form, ids in forms if not ids)
        return Seen(frozenset(form for form, _ in forms), frozenset(current), dict(without))

    @cached_property
    def queries(self) -> Sequence[TrainingQuery] | None:
        """The annotated queries; None where names of the dictionary take their place.

        Raises:
            LinkerError: there are mentions, and none gives a query.
        """
        return queries(self.mentions, self.dictionary, self.normalize)

    @cached_property
    def frequency(self) -> Floats:
        """log(1 + how often the concept of an indexed name is annotated), (indexed names,).

        It is used for linking only: in training it would tell the answer.
        """
        return frequency(concept_counts(self.mentions, self.dictionary), self.indexed.table)

    def generator(
        self,
        encoder: Encoder,
        sparse_weight: float,
        recipe: Recipe,
        vectors: NDArray[Any] | None = None,
        frequency: Floats | None = None,
    ) -> HybridGenerator:
        """Make what ranks the indexed names by an encoder and λ.

        Args:
            encoder: of the names.
            sparse_weight: λ beside dense scores that are not scaled.
            recipe: `scale` and `frequency_weight` are used.
            vectors: (indexed names, dim), in half precision; encoded here where None.
            frequency: of the concepts of the indexed names; None: that of the mentions here.
        """
        from linker.search.hybrid import HybridGenerator, encode_names

        weight = np.float32(recipe.frequency_weight / recipe.scale(is_unit(encoder)))
        if vectors is None:
            vectors = persistence.to_fp16(encode_names(encoder, list(self.indexed.table.texts)))
        bias = weight * (self.frequency if frequency is None else frequency)
        return HybridGenerator(self.indexed, encoder, vectors, sparse_weight, bias)

    def fingerprint(self) -> dict[str, object]:
        """Fingerprint the names of the dictionary, the mentions, and the names that are indexed."""
        table, parents = self.table, self.dictionary.columns.parents
        lists = [table.concepts.tolist(), parents.indptr.tolist(), parents.indices.tolist()]
        queries = [(query.text, sorted(query.right)) for query in self.queries or ()]
        indexed = self.indexed.table
        return {
            "names": _checksum(list(table.texts), lists),
            "mentions": _checksum(queries),
            "indexed": _checksum(list(indexed.texts), indexed.concepts.tolist(), self.frequency),
        }


def table_of(dictionary: Dictionary, normalize: Callable[[str], str]) -> NameTable:
    """The distinct normalised names of a dictionary.

    Raises:
        LinkerError: there is none.
    """
    table = dictionary.table(normalize)
    if not len(table.concepts):
        raise LinkerError(
            "no name of the dictionary is left once normalised; "
            "check normalize.punctuation and the dictionary"
        )
    return table


def ids_of(table: NameTable, dictionary: Dictionary) -> Callable[[int], tuple[str, ...]]:
    """Return a function from the row of a name to the ids of its concepts; it caches them."""

    @cache
    def ids(row: int) -> tuple[str, ...]:
        return tuple(
            dictionary.ids[concept]
            for concept in table.concepts[table.indptr[row] : table.indptr[row + 1]].tolist()
        )

    return ids


def name_of_each(table: NameTable) -> NDArray[np.int64]:
    """The row of the name that each entry of `table.concepts` belongs to."""
    return np.repeat(np.arange(len(table)), np.diff(table.indptr))


def _checksum(*values: Any) -> str:
    """Make a fingerprint of arrays and of what JSON can hold."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(value.tobytes() if hasattr(value, "tobytes") else json.dumps(value).encode())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Annotated:
    """An annotated mention as training sees it."""

    mention: Mention
    name: str  # short forms expanded; empty for a mention that gives no name
    ids: tuple[str, ...]  # all its CURIEs

    @property
    def names(self) -> list[tuple[str, tuple[str, ...]]]:
        """What it adds to a dictionary, with its ids: its name, and the short form that it is.

        Mentions that are joined from several parts are no short forms.
        """
        texts = [self.name] if self.name else []
        if texts and self.is_single and is_short_form(self.mention.text):
            texts.append(self.mention.text)
        return [(text, self.ids) for text in dict.fromkeys(texts)]

    @property
    def is_single(self) -> bool:
        """Whether it is a name of one concept."""
        return bool(self.name) and is_single(self.mention.gold or ())


def is_single(gold: Gold) -> bool:
    """Whether an annotation means one concept: not a composite, not an aggregate."""
    return len(gold) == 1 and gold[0].operator == "one_of"


def collect(items: Iterable[Mention | Document], options: LinkerOptions) -> Iterator[Annotated]:
    """Turn annotated mentions into names. Mentions that are not annotated are left out.

    A mention gives no name (the empty one) if it is annotated as having no concept, or is a
    composite or aggregate of several, unless `text.biosyn` is set.
    """
    for _, mentions, definitions in grouped(items, options.text):
        for mention in mentions:
            if mention.gold is None:
                continue
            ids = tuple(identifier for group in mention.gold for identifier in group.ids)
            name = ""
            if options.text.biosyn and ids:
                name = " ".join(biosyn_parts(mention.text, definitions.first, ids))
            elif ids and is_single(mention.gold):
                name = expanded(mention, definitions, options.text)
            yield Annotated(mention, name, ids)


def check_known(annotated: Sequence[Annotated], dictionary: Dictionary, name: str) -> None:
    """Refuse annotated mentions of which the dictionary knows no id; warn where it misses some.

    Args:
        annotated: the mentions.
        dictionary: knows ids.
        name: what the message calls them, such as their file.

    Raises:
        LinkerError: they have ids, and all are unknown.
    """
    logger.info("%s: %d", name, len(annotated))
    ids = dict.fromkeys(identifier for mention in annotated for identifier in mention.ids)
    unknown = sorted(identifier for identifier in ids if not dictionary.rows(identifier))
    if unknown and len(unknown) == len(ids):
        raise LinkerError(
            f"{name}: the dictionary has none of their {len(ids):,} annotated ids "
            f"({unknown[0]}; its own: {dictionary.ids[0]})"
        )
    if unknown:
        text = "%s: the dictionary does not have %d of %d annotated ids, which add no name: %s"
        logger.warning(text, name, len(unknown), len(ids), shorten(", ".join(unknown)))


def queries(
    mentions: Sequence[Annotated], dictionary: Dictionary, normalize: Callable[[str], str]
) -> list[TrainingQuery] | None:
    """Turn mentions of one concept into distinct queries.

    Args:
        mentions: annotated ones; those of several concepts, of unknown ones, and those that are
            empty once normalised give no query.
        dictionary: knows the ids.
        normalize: gives the normal form of a name.

    Returns:
        The queries in the order of mentions; None where no mention has one concept.

    Raises:
        LinkerError: there are mentions of one concept, and none gives a query.
    """
    single = [mention for mention in mentions if mention.is_single]
    if not single:
        return None
    distinct: dict[TrainingQuery, None] = {}
    for mention in single:
        right = matching.accepted(mention.mention.gold or (), dictionary.resolve)
        query = TrainingQuery(normalize(mention.name), right)
        if query.text and any(map(dictionary.rows, right)):
            distinct[query] = None
    if not distinct:
        raise LinkerError(
            f"none of the {len(single):,} training mentions of one concept can be trained on: "
            "their ids are unknown, or they are empty once normalised"
        )
    return list(distinct)


def concept_counts(mentions: Iterable[Annotated], dictionary: Dictionary) -> NDArray[np.float64]:
    """Count how often mentions of one concept are annotated with each concept, (concepts,).

    An annotation is split evenly among the concepts that its id means.
    """
    counts = np.zeros(len(dictionary))
    for mention in mentions:
        gold = mention.mention.gold
        if gold and is_single(gold):
            ids = matching.accepted(gold, dictionary.resolve)
            rows = {row for identifier in ids for row in dictionary.rows(identifier)}
            for row in rows:
                counts[row] += 1 / len(rows)
    return counts


def frequency(counts: NDArray[np.float64], table: NameTable) -> NDArray[np.float32]:
    """Compute log(1 + count of the concept of a name), (names,); the most of several concepts.

    Args:
        counts: of annotations of each concept.
        table: the names.
    """
    most = np.zeros(len(table))
    np.maximum.at(most, name_of_each(table), counts[table.concepts])
    return np.log1p(most).astype(np.float32)
