"""Linker: a dictionary, the encoders of its names and the options, that together map mentions to concepts."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linker import files, persistence, registry
from linker.candidates import agreement
from linker.candidates.base import Generator, Ranked
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import SparseEncoder
from linker.encoders.tfidf import TfidfEncoder
from linker.errors import LinkerError
from linker.ids import counted, namespace, prefixes
from linker.options import LinkerOptions, for_encoder, preset, restored
from linker.text import composites, spelling
from linker.text.mentions import Group, Item, contexts, expanded, grouped
from linker.text.normalize import normalize
from linker.training import supervision
from linker.training.settings import RunSettings
from linker.types import Candidate, Document, Mention, Part, Prediction, Span
from linker.version import install_hint

if TYPE_CHECKING:
    from linker.encoders.words import WordVectors
    from linker.ranker.rerank import Asked, Reranker

logger = logging.getLogger(__name__)

_CACHE = 100_000  # candidates that are kept, for mentions that come again
_CONCEPTS, _NAMES = (
    20,
    60,
)  # concepts, and names, that are fetched at least where the mentions of a document order them anew
_HISTORY, _RERANK = "training.jsonl", "rerank"

Linked = tuple[Document | None, list[Prediction]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a model was trained on, so that evaluation can report the unseen apart: normalised mentions and concept ids."""

    mentions: frozenset[str] = frozenset()
    concepts: frozenset[str] = frozenset()


class Linker:
    """Links mentions to the concepts of a dictionary. Make one with `train` or `load`."""

    def __init__(
        self,
        dictionary: Dictionary,
        generator: Generator,
        options: LinkerOptions,
        seen: Seen,
        corrections: Mapping[str, str],
        encoder: str = "tfidf",
        history: Sequence[Mapping[str, Any]] = (),
        reranker: Reranker | None = None,
    ) -> None:
        self.dictionary, self.generator, self.options, self.seen, self.encoder = (
            dictionary,
            generator,
            options,
            seen,
            encoder,
        )
        self.history = list(history)  # a record of each epoch of the training
        self.reranker = reranker  # the second stage, where there is one
        self._corrections = corrections
        self._cache: dict[tuple[str, str, int], tuple[Candidate, ...]] = {}

    @classmethod
    def train(
        cls,
        dictionary: Dictionary,
        *,
        encoder: str = "tfidf",
        mentions: Iterable[Mention | Document] = (),
        options: LinkerOptions | None = None,
        extend: bool = True,
        corrections: Mapping[str, str] | None = None,
        validate: Callable[[Linker], Mapping[str, float]] | None = None,
        work: RunSettings | None = None,
        words: WordVectors | None = None,
    ) -> Linker:
        """Fit a linker to a dictionary and annotated mentions.

        A dense encoder is trained on the mentions, or on the synonyms of the dictionary where there are none.

        Args:
            dictionary: the names to link to.
            encoder: a name of `registry.encoders()`.
            mentions: annotated mentions; they become names of kind `training`.
            options: see `LinkerOptions`; the defaults of the encoder where None.
            extend: whether the mentions become names; without, they only count as seen.
            corrections: misspelt words or phrases, and what they become.
            validate: judges the linker after each epoch of a dense encoder; `dev_acc1` decides which epoch is kept.
            work: checkpoints and progress of a dense encoder's training.
            words: word vectors, for encoders that are made of them; where None they are trained on the names of the dictionary.

        Raises:
            LinkerError: no name of the dictionary is left once normalised, there is no such encoder, or its training fails.
        """
        kind = registry.load(encoder)
        options = for_encoder(options or preset("default", encoder), kind)
        corrections = _normalized(corrections or {}, options)
        is_sparse = issubclass(kind, SparseEncoder)
        if options.rerank.epochs and is_sparse:
            raise LinkerError(
                f"a second stage (rerank.epochs) needs a dense encoder, not {encoder}; take one, or leave the stage out"
            )
        data = _data(dictionary, mentions, options, extend, corrections, kind)
        supervision.report(data.known, dictionary)
        seen = _seen(data)
        if is_sparse:
            return cls(data.extended, data.indexed, options, seen, corrections, encoder)

        from linker import dense

        def judge(generator: Generator) -> Mapping[str, float]:
            assert validate  # noqa: S101 - handed on only where there is one
            metrics = validate(cls(data.extended, generator, options, seen, corrections, encoder))
            if "dev_acc1" not in metrics:
                raise LinkerError(
                    f"`validate` gives {', '.join(metrics) or 'nothing'}; expected: dev_acc1, and what else is to be logged"
                )
            return metrics

        made = dense.train(
            kind, encoder, data, options, judge if validate else None, work or RunSettings(), words
        )
        return cls(
            data.extended,
            made.generator,
            made.options,
            seen,
            corrections,
            encoder,
            made.history,
            made.reranker,
        )

    def over(
        self,
        dictionary: Dictionary,
        mentions: Iterable[Mention | Document] = (),
        *,
        extend: bool = True,
    ) -> Linker:
        """Link to another dictionary with the encoder and λ of this linker; nothing is trained.

        Args:
            dictionary, mentions, extend: as for `train`.
        """
        data = _data(
            dictionary,
            mentions,
            self.options,
            extend,
            self._corrections,
            registry.load(self.encoder),
        )
        generator: Generator = data.indexed
        if isinstance(self.generator, HybridGenerator):
            from linker import dense

            generator = dense.index(self.generator, data, self.options)
        return self._with(generator, data.extended, _seen(data))

    def weighted(self, factor: float) -> Linker:
        """The same linker with another λ, so many times what it is; one that links by characters alone has none, and stays."""
        one = self.generator
        if not isinstance(one, HybridGenerator):
            return self
        return self._with(
            HybridGenerator(
                one.sparse, one.encoder, one.vectors, factor * one.sparse_weight, one.bias
            )
        )

    def by_characters(self) -> Linker:
        """The linker that links to the same names by characters alone."""
        sparse = (
            self.generator.sparse if isinstance(self.generator, HybridGenerator) else self.generator
        )
        options = for_encoder(self.options, TfidfEncoder)
        return Linker(self.dictionary, sparse, options, self.seen, self._corrections, "tfidf")

    def _with(
        self, generator: Generator, dictionary: Dictionary | None = None, seen: Seen | None = None
    ) -> Linker:
        """The same linker with other candidates."""
        dictionary, reranker = dictionary or self.dictionary, self.reranker
        if reranker and isinstance(generator, HybridGenerator):
            reranker = type(reranker)(
                generator, reranker.encoder, dictionary, reranker.options, reranker.weight
            )
        return Linker(
            dictionary,
            generator,
            self.options,
            seen or self.seen,
            self._corrections,
            self.encoder,
            self.history,
            reranker,
        )

    @property
    def best_epoch(self) -> int:
        """The epoch of the list-wise phase, the last of several, whose weights are kept; 0 where there was none."""
        listwise = [
            r["phase"]
            for r in self.history
            if r["phase"] not in ("align", "ground") and not r["phase"].endswith("-rerank")
        ]
        records = (
            [record for record in self.history if record["phase"] == listwise[-1]]
            if listwise
            else []
        )
        if self.options.training.keep_best and records and "dev_acc1" in records[0]:
            return int(max(records, key=lambda record: record["dev_acc1"])["epoch"])
        return int(records[-1]["epoch"]) if records else 0

    def link(
        self,
        items: Iterable[Item],
        *,
        k: int = 5,
        threshold: float | None = None,
        batch_size: int = 1024,
    ) -> Iterator[Prediction]:
        """Link mentions, in order, in bounded memory.

        Args:
            items: texts, mentions, or documents with mentions (whose own text then explains their short forms).
            k: how many concepts to return for each part.
            threshold: leave out candidates with a lower score; a part that keeps none is `nil`.
            batch_size: mentions that are read before they are linked together; 1 answers each at once.
        """
        for _, predictions in self.link_items(
            items, k=k, threshold=threshold, batch_size=batch_size
        ):
            yield from predictions

    def link_items(
        self,
        items: Iterable[Item],
        *,
        k: int = 5,
        threshold: float | None = None,
        batch_size: int = 1024,
        wanted: Callable[[Mention], bool] | None = None,
    ) -> Iterator[Linked]:
        """As `link`, but item by item: each document (None for a loose mention) with the predictions of its `wanted` mentions."""
        if k < 1 or batch_size < 1:
            raise LinkerError(f"k is {k} and batch_size {batch_size}; expected: 1 or more")
        if threshold != threshold:
            raise LinkerError("the threshold is not a number; give one, or leave it out")
        for batch in _batches(grouped(items, self.options.text, wanted), batch_size):
            split = [
                [self._split(m, definitions) for m in mentions]
                for _, mentions, definitions in batch
            ]
            groups: list[Asked] = []
            for (document, mentions, _), item in zip(batch, split, strict=True):
                around = self.contexts(document, mentions)
                asked = [
                    (self.normalize(long or text), words)
                    for words, parts in zip(around, item, strict=True)
                    for text, long in parts
                ]
                groups += [asked] if document else [[pair] for pair in asked]
            ranked = itertools.chain.from_iterable(self._rank(groups, k))
            for (document, mentions, _), item in zip(batch, split, strict=True):
                predictions = []
                for mention, parts in zip(mentions, item, strict=True):
                    spans = mention.spans if len(parts) == 1 else ()
                    made = [
                        _part(text, expanded, spans, next(ranked), threshold)
                        for text, expanded in parts
                    ]
                    predictions.append(Prediction(mention, tuple(made)))
                yield document, predictions

    def restricted(self, namespaces: Iterable[str]) -> Linker:
        """The linker that answers with concepts of these CURIE prefixes only (all where empty); the rest of it is shared.

        Raises:
            LinkerError: it has no concept with one of the prefixes.
        """
        wanted = prefixes(namespaces)
        if not wanted:
            return self
        there = [namespace(self.dictionary.ids[row]) for row in self.linkable.tolist()]
        if unknown := sorted(wanted - prefixes(there)):
            raise LinkerError(
                f"the model has no concept with the prefix {', '.join(prefix or 'none' for prefix in unknown)}; it has: {counted(there)}"
            )
        concepts = np.zeros(len(self.dictionary), bool)
        concepts[self.linkable] = [prefix.upper() in wanted for prefix in there]
        return self._with(self.generator.among(concepts))

    @cached_property
    def linkable(self) -> NDArray[np.int32]:
        """The rows of the concepts that it can answer with."""
        return np.unique(self.generator.table.concepts)

    def normalize(self, text: str) -> str:
        """The form of a text that is looked up."""
        return _normal_form(text, self.options, self._corrections)

    def _split(
        self, mention: Mention, definitions: Mapping[str, str]
    ) -> list[tuple[str, str | None]]:
        """The parts of a mention: their text, and its expansion where that differs."""
        text = expanded(mention, definitions, self.options.text)
        parts = composites.split(text, self._is_name) if self.options.text.composites else [text]
        if len(parts) == 1:
            return [(mention.text, text if text != mention.text else None)]
        return [(part, None) for part in parts]

    def _is_name(self, text: str) -> bool:
        return self.normalize(text) in self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.generator.table.texts)

    def contexts(self, document: Document | None, mentions: Sequence[Mention]) -> list[str]:
        """What the second stage reads around each mention; empty where there is none."""
        return contexts(document, mentions, self.options.rerank.words if self.reranker else None)

    def names(
        self, groups: Sequence[Asked], k: int
    ) -> Iterator[list[tuple[NDArray[np.int32], NDArray[np.float32]]]]:
        """Rank the k best names of normalised names, each with its context: rows of `generator.table` and scores.

        Args:
            groups: the names of each document, which have a say in each other's ranking, and each other name alone.
        """
        distinct, depth = self._distinct(groups, k, _NAMES)
        every = (
            self.reranker.names(distinct, depth)
            if self.reranker
            else self.generator.names([query for query, _ in distinct], depth)
        )
        table = self.generator.table
        concepts = lambda row: table.concepts[table.indptr[row] : table.indptr[row + 1]].tolist()  # noqa: E731
        found = dict(zip(distinct, every, strict=True))
        for group in groups:
            if len(group) == 1 or not self.options.text.document_weight:
                yield [(found[pair][0][:k], found[pair][1][:k]) for pair in group]
                continue
            rankings = {
                pair: list(zip(map(concepts, found[pair][0]), found[pair][1].tolist(), strict=True))
                for pair in group
            }
            settled = {
                pair
                for pair in group
                if len(found[pair][0]) and table.texts[found[pair][0][0]] == pair[0]
            }
            agreed = agreement.agreed(rankings, settled, self.options.text.document_weight, k)
            yield [
                (found[pair][0][order], scores.astype(np.float32))
                for pair in group
                for order, scores in (agreed[pair],)
            ]

    def _rank(self, groups: Sequence[Asked], k: int) -> Iterator[list[tuple[Candidate, ...]]]:
        """The k best candidates of each name, as `names` has them; those of what came before are remembered."""
        distinct, depth = self._distinct(groups, k, _CONCEPTS)
        found = {
            pair: self._cache[(*pair, depth)] for pair in distinct if (*pair, depth) in self._cache
        }
        new = [pair for pair in distinct if pair not in found]
        ranked = (
            self.reranker.concepts(new, depth)
            if self.reranker
            else self.generator.concepts([query for query, _ in new], depth)
        )
        found |= {pair: self._candidates(r) for pair, r in zip(new, ranked, strict=True)}
        if (len(self._cache) + len(new)) * depth > _CACHE:
            self._cache.clear()
        self._cache.update(((*pair, depth), found[pair]) for pair in new)
        for group in groups:
            if len(group) == 1 or not self.options.text.document_weight:
                yield [found[pair][:k] for pair in group]
                continue
            rankings = {pair: [((c.concept_id,), c.score) for c in found[pair]] for pair in group}
            settled = {
                pair
                for pair in group
                if found[pair] and self.normalize(found[pair][0].matched_name) == pair[0]
            }
            agreed = agreement.agreed(rankings, settled, self.options.text.document_weight, k)
            yield [_rescored(found[pair], *agreed[pair]) for pair in group]

    def _distinct(self, groups: Sequence[Asked], k: int, least: int) -> tuple[Asked, int]:
        """The names that are asked for, each once, and how many candidates: more than k where names of a document order them anew."""
        together = self.options.text.document_weight and any(len(group) > 1 for group in groups)
        return list(dict.fromkeys(itertools.chain.from_iterable(groups))), max(
            k, least
        ) if together else k

    def _candidates(self, ranked: Ranked) -> tuple[Candidate, ...]:
        ids, names, preferred = (
            self.dictionary.ids,
            self.dictionary.names,
            self.dictionary.preferred_name,
        )
        columns = [
            [None if v is None else round(v, 6) for v in _list(part, ranked)]
            for part in (ranked.scores, ranked.sparse, ranked.dense)
        ]
        rows = zip(
            ranked.concepts.tolist(), ranked.entries.tolist(), *columns, strict=True
        )  # float32 holds no more digits
        return tuple(
            Candidate(ids[c], preferred(c), names[entry], *scores) for c, entry, *scores in rows
        )

    def save(self, folder: files.Pathlike) -> None:
        """Write the model folder; one that stood there is replaced at the end."""
        config = {
            "encoder": self.encoder,
            "options": dataclasses.asdict(self.options),
            "dictionary": self.describe_dictionary(),
        }
        with persistence.saving(folder, "model", config) as aside:
            (aside / "dictionary").mkdir()
            self.dictionary.write(aside / "dictionary")
            self.generator.save(aside)
            if self.reranker:
                self.reranker.save(aside / _RERANK)
            persistence.save_json(
                aside / "seen.json",
                {"mentions": sorted(self.seen.mentions), "concepts": sorted(self.seen.concepts)},
            )
            persistence.save_json(aside / "spelling.json", dict(self._corrections))
            if self.history:
                from linker.training import plot

                (aside / _HISTORY).write_text(plot.jsonl(self.history), encoding="utf-8")
                if importlib.util.find_spec("matplotlib"):
                    plot.plot(self.history, aside / "training.png")
                else:
                    logger.warning(
                        "matplotlib is not installed, so that training.png is left out: %s",
                        install_hint("dense"),
                    )

    @classmethod
    def load(cls, folder: files.Pathlike) -> Linker:
        """Load a model folder; its arrays are memory-mapped, but for vectors in half precision.

        Raises:
            LinkerError: the folder is no model, of another version, or a file of it is missing or changed.
        """
        return persistence.load(folder, "model", cls._read)

    @classmethod
    def _read(cls, path: Path, config: Mapping[str, Any]) -> Linker:
        try:
            dictionary = Dictionary.open(path / "dictionary")
            kind = registry.load(config["encoder"])
            generator: Generator
            if issubclass(kind, SparseEncoder):
                generator = SparseGenerator.load(path, dictionary, kind)
            else:
                generator = HybridGenerator.load(path, dictionary, TfidfEncoder, kind)
            history = (
                [json.loads(line) for line in (path / _HISTORY).read_text("utf-8").splitlines()]
                if (path / _HISTORY).exists()
                else []
            )
            seen = persistence.load_json(path / "seen.json")
            options = restored(config["options"], config["encoder"])
            known = Seen(frozenset(seen["mentions"]), frozenset(seen["concepts"]))
            reranker = None
            if options.rerank.epochs and isinstance(generator, HybridGenerator):
                from linker.ranker.rerank import Reranker

                reranker = Reranker.load(path / _RERANK, generator, dictionary, options.rerank)
            corrections = persistence.load_json(path / "spelling.json")
            if not isinstance(corrections, dict) or not all(
                isinstance(text, str) for pair in corrections.items() for text in pair
            ):
                raise ValueError("spelling.json holds no texts")
            return cls(
                dictionary,
                generator,
                options,
                known,
                corrections,
                config["encoder"],
                history,
                reranker,
            )
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ) as error:
            # as its maker wrote it, and no model of ours
            raise LinkerError(
                f"{path}: is not a model that linker wrote ({type(error).__name__}: {error}); train again"
            ) from None

    def describe_dictionary(self) -> dict[str, object]:
        """What the dictionary was made of, for `config.json` and `metrics.json`."""
        sources = [dataclasses.asdict(source) for source in self.dictionary.sources]
        return {
            "concepts": len(self.dictionary),
            "names": len(self.generator.table),
            "sources": sources,
        }


def _part(
    text: str,
    expanded: str | None,
    spans: tuple[Span, ...],
    candidates: tuple[Candidate, ...],
    threshold: float | None,
) -> Part:
    if threshold is not None:
        candidates = tuple(c for c in candidates if c.score >= threshold)
    return Part(text, expanded, spans, candidates, nil=not candidates)


def _rescored(
    candidates: Sequence[Candidate], order: NDArray[np.int64], scores: NDArray[np.float64]
) -> tuple[Candidate, ...]:
    pairs = zip(order.tolist(), scores.tolist(), strict=True)
    return tuple(dataclasses.replace(candidates[i], score=round(score, 6)) for i, score in pairs)


def normal_form(options: LinkerOptions, corrections: Mapping[str, str]) -> Callable[[str], str]:
    """What gives the form by which a linker with these options and corrections looks a name up."""
    return partial(_normal_form, options=options, corrections=_normalized(corrections, options))


def _normalized(corrections: Mapping[str, str], options: LinkerOptions) -> dict[str, str]:
    return {
        normalize(a, options.normalize): normalize(b, options.normalize)
        for a, b in corrections.items()
    }


def _normal_form(text: str, options: LinkerOptions, corrections: Mapping[str, str]) -> str:
    """The one form of a name for index and query."""
    text = normalize(text, options.normalize)
    return spelling.correct(text, corrections) if corrections else text


def _data(
    dictionary: Dictionary,
    mentions: Iterable[Mention | Document],
    options: LinkerOptions,
    extend: bool,
    corrections: Mapping[str, str],
    kind: Any,
) -> supervision.Data:
    """The names of a dictionary and of annotated mentions, with a sparse encoder that is fitted to them: `kind` where it is one."""
    known, form = (
        list(supervision.collect(mentions, options)),
        partial(_normal_form, options=options, corrections=corrections),
    )
    extended = (
        dictionary.add([(one.name, one.ids) for one in known if one.name], form)
        if extend
        else dictionary
    )
    table = _table(dictionary, form)
    sparse = (kind if issubclass(kind, SparseEncoder) else TfidfEncoder)(options.sparse)
    sparse.fit([text for text in table.texts if text])  # as BioSyn: without the mentions
    indexed = SparseGenerator.index(
        table if extended is dictionary else _table(extended, form), extended, sparse
    )
    return supervision.Data(dictionary, extended, indexed, known, form)


def _seen(data: supervision.Data) -> Seen:
    return Seen(
        frozenset(data.normalize(one.mention.text) for one in data.known),
        frozenset(c for one in data.known for i in one.ids for c in data.dictionary.resolve(i)),
    )


def _table(dictionary: Dictionary, form: Callable[[str], str]) -> NameTable:
    table = dictionary.table(form)
    if not len(table.concepts):
        raise LinkerError(
            "no name of the dictionary is left once normalised; check normalize.punctuation and the dictionary"
        )
    return table


def _list(scores: Any, ranked: Ranked) -> list[Any]:
    return [None] * len(ranked.scores) if scores is None else list(scores.tolist())


def _batches(groups: Iterable[Group], mentions: int) -> Iterator[list[Group]]:
    """Groups that hold at least so many mentions together."""
    batch, size = [], 0
    for group in groups:
        batch.append(group)
        size += max(1, len(group[1]))  # documents without mentions take memory too
        if size >= mentions:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
