"""What the ranker is fitted to: the lists of texts asked of views of a vocabulary's dictionary."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.lib.vocabularies import Items, Vocabulary, name_of, names_of_domain
from linker import Dictionary, Document, Linker, Mention
from linker.io.mentions import flatten
from linker.linking.lists import Judged
from linker.training import fit_ranker, release
from linker.training.sampling import Stream, rng

SEED = 0
JUDGE = "foreign dev"  # lists that nothing is fitted to
FOREIGN = 600  # names of other domains
NAMES = 1_500  # names that the dictionary is asked for without them
NOISY = 1_000  # mentions that are asked with typing errors and in wrappings
ONE_NAME = 1_200  # mentions that are asked of the dictionary with one name a concept
MISSING = 0.2  # share of the concepts that are taken out
SIZES = {5: 20, 20: 8, 100: 4, 1_000: 2, 5_000: 1}  # concepts of a part, and how many such parts
PART = 800  # mentions that are asked of a part
FOREIGN_SIZES = {20: 4, 100: 3, 400: 3}  # parts that are asked for names of other domains
FOREIGN_PART = 60  # such names that are asked of each

Bools = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """Lists of one kind."""

    kind: str
    lists: Judged


def sources(linker: Linker, dictionary: Dictionary, vocabulary: Vocabulary) -> Iterator[Source]:
    """Yield the lists of a vocabulary.

    Args:
        linker: of the dictionary alone, whose ranker only has to be there.
        dictionary: its names.
        vocabulary: what is asked of it.
    """
    items = vocabulary.asked(dictionary)
    mentions = [mention for mention, _ in flatten(items) if mention.gold is not None]
    random = np.random.default_rng(SEED)
    none = np.zeros(len(dictionary), bool)
    for number, view in enumerate(halves(items)):
        yield Source(f"asked {number}", fit_ranker.judged(linker, view))
    if noisy := fit_ranker.noisy(drawn(mentions, NOISY, random), rng(SEED, Stream.NOISE)):
        yield Source("noisy", fit_ranker.judged(linker, noisy))
    others = other_names(dictionary)
    if len(others):
        held = np.sort(random.permutation(others)[:NAMES])
        texts = [name_of(dictionary, row) for row in held.tolist()]
        yield Source("names", fit_ranker.judged(without_names(linker, held, none), texts))
        one = without_names(linker, others, none)
        texts = drawn(mentions, ONE_NAME, random)
        texts += [name_of(dictionary, row) for row in random.permutation(others)[: ONE_NAME // 2]]
        yield Source("one name", fit_ranker.judged(one, texts))
    rows = [concepts_of(mention, dictionary) for mention in mentions]
    is_out = random.random(len(dictionary)) < MISSING
    missing = [m for m, own in zip(mentions, rows, strict=True) if own and all(is_out[list(own)])]
    if missing:
        lacking = without_names(linker, np.zeros(0, np.int64), is_out)
        yield Source("out", fit_ranker.judged(lacking, missing))
    yield from parts(linker, dictionary, mentions, rows, random)
    texts = foreign(linker, vocabulary, "train")
    yield Source("foreign train", fit_ranker.judged(linker, texts))
    if len(others):
        yield Source("foreign one name", fit_ranker.judged(one, drawn(texts, 300, random)))
    yield foreign_parts(linker, texts, random)
    yield Source(JUDGE, fit_ranker.judged(linker, foreign(linker, vocabulary, "dev")))
    if vocabulary.is_learnt:
        train, rest = halves(items)
        yield Source("folds", fit_ranker.folds(linker, dictionary, train, SEED))
        learnt = release.with_dictionary(linker, dictionary, train)
        yield Source("learnt", fit_ranker.judged(learnt, rest))
    if any(isinstance(item, Document) for item in items):
        texts = fit_ranker.no_disease(items, linker.engine.is_name, rng(SEED, Stream.NOISE))
        yield Source("no disease", fit_ranker.judged(linker, drawn(texts, 1_500, random)))


def halves(items: Items) -> tuple[Items, Items]:
    """The first and the second half."""
    return items[: len(items) // 2], items[len(items) // 2 :]


def drawn(mentions: Sequence[Mention], most: int, random: np.random.Generator) -> list[Mention]:
    """A sample of mentions."""
    return [mentions[place] for place in random.permutation(len(mentions))[:most].tolist()]


def other_names(dictionary: Dictionary) -> NDArray[np.int64]:
    """The rows of all names but the preferred ones."""
    is_other = np.ones(len(dictionary.names), bool)
    is_other[dictionary.preferred] = False
    return np.flatnonzero(is_other)


def concepts_of(mention: Mention, dictionary: Dictionary) -> set[int]:
    """The rows of the annotated concepts of a mention."""
    ids = [identifier for group in mention.gold or () for identifier in group.ids]
    return {row for identifier in ids for row in dictionary.rows(identifier)}


def without_names(linker: Linker, names: NDArray[np.int64], concepts: Bools) -> Linker:
    """The linker that does not know some names and some concepts; it shares all vectors.

    Args:
        linker: the linker.
        names: rows of names of the dictionary.
        concepts: which concepts are not known, (concepts of the dictionary,).
    """
    table, columns = linker.generator.table, linker.dictionary.columns.names
    is_out = concepts[table.concepts]
    for name in names.tolist():
        row = table.row(linker.normalize(columns.texts[name]))
        pairs = np.arange(*table.indptr[row : row + 2])
        is_out[pairs[table.entries[pairs] == name]] = True
    return dataclasses.replace(linker, generator=linker.generator.without(is_out))


def parts(
    linker: Linker,
    dictionary: Dictionary,
    mentions: Sequence[Mention],
    rows: Sequence[set[int]],
    random: np.random.Generator,
) -> Iterator[Source]:
    """Yield the lists of parts of the dictionary.

    Half of the concepts of a part, at most, are those of mentions; as many other mentions as those
    of its concepts are asked, too.
    """
    named = np.unique([row for own in rows for row in own])
    for size, count in SIZES.items():
        if size > len(dictionary) / 2:
            continue
        found = []
        for _ in range(count):
            is_in = np.zeros(len(dictionary), bool)
            is_in[random.permutation(named)[: size // 2 + 1]] = True
            more = random.permutation(len(dictionary))[: max(0, size - int(is_in.sum()))]
            is_in[more] = True
            inside = np.array([any(is_in[row] for row in own) for own in rows])
            known = random.permutation(np.flatnonzero(inside))[:PART]
            others = random.permutation(np.flatnonzero(~inside))[: len(known)]
            asked = [mentions[place] for place in [*known, *others]]
            if asked:
                part = dataclasses.replace(linker, generator=linker.generator.among(is_in))
                found.append(fit_ranker.judged(part, asked))
        if found:
            yield Source(f"part {size}", Judged.joined(found))


def foreign_parts(linker: Linker, texts: Sequence[Mention], random: np.random.Generator) -> Source:
    """The lists of names of other domains, asked of parts of the dictionary."""
    found = []
    for size, count in FOREIGN_SIZES.items():
        for _ in range(count):
            is_in = np.zeros(len(linker.dictionary), bool)
            is_in[random.permutation(len(linker.dictionary))[:size]] = True
            part = dataclasses.replace(linker, generator=linker.generator.among(is_in))
            found.append(fit_ranker.judged(part, drawn(texts, FOREIGN_PART, random)))
    return Source("foreign part", Judged.joined(found))


def foreign(linker: Linker, vocabulary: Vocabulary, split: str) -> list[Mention]:
    """Names of other domains that hold no name of the dictionary."""
    each = -(-FOREIGN // len(vocabulary.foreign))
    random = np.random.default_rng(SEED)
    mentions = []
    for domain in vocabulary.foreign:
        texts = names_of_domain(domain, split)
        texts = [text for text in texts if not fit_ranker.holds_name(text, linker.engine.is_name)]
        order = random.permutation(len(texts))[:each]
        mentions += [Mention(texts[place], gold=()) for place in order.tolist()]
    return mentions
