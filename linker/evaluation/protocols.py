"""The two ways to judge: `strict`, the model as deployed, and `biosyn`, as published figures are made."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from linker import matching
from linker.candidates.agreement import Group
from linker.errors import LinkerError
from linker.linker import Linker
from linker.matching import Resolve
from linker.text.biosyn import biosyn_parts
from linker.text.mentions import grouped
from linker.types import Candidate, Document, Gold, Lookup, Mention, Prediction

PROTOCOLS = ("strict", "biosyn")
_BATCH = 1024
_Judged = tuple[Mention, list[Lookup]]  # a mention, and what is looked up for it


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one annotated mention came out.

    `rank` is the least k at which it is right, 0 for never; `parts` are the best candidates, None for a part without.
    """

    mention: Mention
    rank: int
    parts: tuple[Candidate | None, ...]

    @property
    def gold(self) -> Gold:
        """The annotated ids."""
        return self.mention.gold or ()


def strict(
    linker: Linker, items: Iterable[Mention | Document], k: int, threshold: float | None = None
) -> Iterator[Outcome]:
    """Judge the model as deployed: it sees texts, never gold ids; k counts concepts. Mentions that are not annotated are left out."""
    for prediction in linker.link(items, k=k, threshold=threshold):
        if prediction.mention.gold is not None:
            yield judge(prediction, prediction.mention, "strict", linker.dictionary.resolve)


def biosyn(linker: Linker, items: Iterable[Mention | Document], k: int) -> Iterator[Outcome]:
    """Judge as BioSyn does: composites are split by their gold ids, k counts names, and any shared id is right.

    Mentions without a concept are left out, as there. A mention that holds a `|` was split before (`.concept` files).
    """
    batch: list[list[_Judged]] = []  # of each document, and each other mention alone
    for document, mentions, definitions in grouped(items, linker.options.text):
        around = linker.contexts(document, mentions)
        judged = [
            (m, [Lookup(m, q, None, q, context) for q in biosyn_queries(linker, m, definitions)])
            for m, context in zip(mentions, around, strict=True)
            if m.gold
        ]
        batch += [judged] if document else [[one] for one in judged]
        if sum(map(len, batch)) >= _BATCH:
            yield from _judge_names(linker, batch, k)
            batch = []
    yield from _judge_names(linker, batch, k)


def biosyn_queries(linker: Linker, mention: Mention, definitions: Mapping[str, str]) -> list[str]:
    """The names that are looked up for a mention by the protocol `biosyn`: one, or one for each part."""
    pieces = mention.text.split("|")
    ids = [i for group in mention.gold or () for i in group.ids]
    return [
        linker.normalize(p)
        for p in (pieces if len(pieces) > 1 else biosyn_parts(mention.text, definitions, ids))
    ]


def _judge_names(linker: Linker, batch: Sequence[Sequence[_Judged]], k: int) -> Iterator[Outcome]:
    table, dictionary = linker.generator.table, linker.dictionary
    groups = [Group([lookup for _, parts in judged for lookup in parts], k) for judged in batch]
    for judged, ranked in zip(batch, linker.rank(groups, "names"), strict=True):
        rankings = iter(ranked)
        for mention, parts in judged:
            ids: list[list[frozenset[str]]] = []
            best: list[Candidate | None] = []
            for names in itertools.islice(rankings, len(parts)):
                ids.append(
                    [
                        frozenset(dictionary.ids[c] for c in table.concepts_of(row))
                        for row in names.names.tolist()
                    ]
                )
                best.append(None)
                if len(names):
                    first = int(names.concepts[0])
                    best[-1] = Candidate(
                        dictionary.ids[first],
                        dictionary.preferred_name(first),
                        table.texts[int(names.names[0])],
                        float(names.scores[0]),
                    )
            rank = matching.biosyn_rank(ids, mention.gold or (), dictionary.resolve)
            yield Outcome(mention, rank or 0, tuple(best))


def judge(prediction: Prediction, mention: Mention, protocol: str, resolve: Resolve) -> Outcome:
    """Judge a prediction against an annotated mention; its candidates count one a concept in both protocols.

    Raises:
        LinkerError: there is no such protocol.
    """
    ranked = [[c.concept_id for c in part.candidates] for part in prediction.parts]
    if protocol == "strict":
        rank = matching.strict_rank(ranked, mention.gold or (), resolve)
    elif protocol == "biosyn":
        rank = matching.biosyn_rank(
            [[{i} for i in ids] for ids in ranked], mention.gold or (), resolve
        )
    else:
        raise LinkerError(
            f"there is no protocol {protocol!r}; choose one of: {', '.join(PROTOCOLS)}"
        )
    return Outcome(mention, rank or 0, tuple(part.best for part in prediction.parts))
