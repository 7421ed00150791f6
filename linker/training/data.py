"""What a linker is trained on: a dictionary and annotated mentions, as names and as queries."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from linker import persistence
from linker.candidates.index import Floats
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import Encoder, is_unit
from linker.errors import LinkerError
from linker.linking.seen import Seen
from linker.ranker.lists import Query
from linker.training import supervision
from linker.training.supervision import Annotated
from linker.types import Document, Mention

if TYPE_CHECKING:
    from linker.candidates.hybrid import HybridGenerator
    from linker.ranker.options import TrainingOptions
    from linker.training.plan import TrainingPlan


@dataclass(frozen=True)
class TrainingData:
    """A dictionary, annotated mentions, and how their names score by characters."""

    dictionary: Dictionary
    extended: Dictionary  # with the mentions as names, unless the plan leaves them out
    indexed: SparseGenerator  # ranks the names of `extended`, those of `dictionary` first
    mentions: Sequence[Annotated]
    normalize: Callable[[str], str]

    @classmethod
    def of(
        cls, plan: TrainingPlan, dictionary: Dictionary, mentions: Iterable[Mention | Document]
    ) -> TrainingData:
        """Add the mentions to the dictionary, and fit a sparse encoder to the names.

        Raises:
            LinkerError: no name of the dictionary is left once normalised.
        """
        annotated = list(supervision.collect(mentions, plan.options))
        names = [name for mention in annotated for name in mention.names]
        extended = dictionary.add(names, plan.normalize) if plan.extend else dictionary
        table = table_of(dictionary, plan.normalize)
        encoder = plan.sparse_encoder()
        named = np.flatnonzero(np.diff(table.indptr))  # not the empty name
        encoder.fit(table.texts.take(named))  # as BioSyn: without the mentions
        if extended is not dictionary:
            table = table_of(extended, plan.normalize)
        indexed = SparseGenerator.index(table, extended, encoder, plan.options.index)
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
    def queries(self) -> Sequence[Query] | None:
        """The annotated queries; None where names of the dictionary take their place.

        Raises:
            LinkerError: there are mentions, and none gives a query.
        """
        return supervision.queries(self.mentions, self.dictionary, self.normalize)

    def check(self) -> None:
        """Refuse mentions that give no query, before any work is done.

        Raises:
            LinkerError: see `queries`.
        """
        _ = self.queries

    @cached_property
    def frequency(self) -> Floats:
        """log(1 + how often the concept of an indexed name is annotated), (indexed names,).

        It is used for linking only: in training it would tell the answer.
        """
        return supervision.frequency(self.mentions, self.dictionary, self.indexed.table)

    def generator(
        self,
        encoder: Encoder,
        sparse_weight: float,
        options: TrainingOptions,
        vectors: Floats | None = None,
    ) -> HybridGenerator:
        """Make what ranks the indexed names by an encoder and λ.

        Args:
            encoder: of the names.
            sparse_weight: λ beside dense scores that are not scaled.
            options: `score_scale` and `frequency_weight` are used.
            vectors: float32 (indexed names, dim), in half precision; encoded here where None.
        """
        from linker.candidates.hybrid import HybridGenerator, encode_names

        weight = np.float32(options.frequency_weight / options.scale(is_unit(encoder)))
        if vectors is None:
            vectors = persistence.to_fp16(encode_names(encoder, list(self.indexed.table.texts)))
        return HybridGenerator(
            self.indexed, encoder, vectors, sparse_weight, weight * self.frequency
        )

    def fingerprint_of_names(self) -> dict[str, object]:
        """Fingerprint what phases on the names of the dictionary alone depend on."""
        table, parents = self.table, self.dictionary.columns.parents
        lists = [table.concepts.tolist(), parents.indptr.tolist(), parents.indices.tolist()]
        return {"names": _checksum(list(table.texts), lists)}

    def fingerprint_of_mentions(self) -> dict[str, object]:
        """Fingerprint what phases on the mentions depend on beside the names."""
        queries = [(query.text, sorted(query.right)) for query in self.queries or ()]
        table = self.indexed.table
        indexed = _checksum(list(table.texts), table.concepts.tolist(), self.frequency)
        return {"mentions": _checksum(queries), "indexed": indexed}


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


def _checksum(*values: Any) -> str:
    """Make a fingerprint of arrays and of what JSON can hold."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(value.tobytes() if hasattr(value, "tobytes") else json.dumps(value).encode())
    return digest.hexdigest()
