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

from linker import files, matching, metrics, persistence, registry
from linker.candidates import agreement
from linker.candidates.base import Generator, Ranked
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary
from linker.encoders.base import SparseEncoder
from linker.encoders.tfidf import TfidfEncoder
from linker.errors import LinkerError
from linker.ids import counted, namespace, prefixes
from linker.options import LinkerOptions, changed
from linker.text import composites, spelling
from linker.text.mentions import Group, Item, contexts, expanded, grouped
from linker.training import supervision
from linker.training.course import Course
from linker.training.data import TrainingData
from linker.training.plan import TrainingPlan, TrainingRequest
from linker.training.plan import make as make_plan
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

Validate = Callable[["Linker"], Mapping[str, float]]
"""Measures a linker on development data; `dev_acc1` chooses the epoch that is kept."""

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
        encoder: str | None = "tfidf",
        mentions: Iterable[Mention | Document] = (),
        dev: Iterable[Mention | Document] = (),
        refit: bool = False,
        options: LinkerOptions | None = None,
        extend: bool = True,
        corrections: Mapping[str, str] | None = None,
        words: WordVectors | None = None,
        validate: Validate | None = None,
        settings: RunSettings | None = None,
    ) -> Linker:
        """Fit a linker to a dictionary and annotated mentions.

        A dense encoder is trained on the mentions, or on the synonyms of the dictionary where there
        are none (`linker.training.pipeline` says how).

        Args:
            dictionary: the names to link to.
            encoder: a name of `registry.encoders()`; None: the best that needs no download, if it
                beats characters.
            mentions: annotated mentions; they become names of kind `training`.
            dev: annotated mentions that choose the best epoch, by Acc@1 of the protocol `strict`.
            refit: whether to train again on `mentions` and `dev`, with the choices made.
            options: the defaults of the encoder where None.
            extend: whether the mentions become names; without, they only count as seen.
            corrections: misspelt words or phrases, and what they become.
            words: word vectors, for encoders that are made of them; trained on the names of the
                dictionary where None.
            validate: measures the linker after each epoch in place of `dev`; `dev_acc1` decides.
            settings: checkpoints and progress of a dense encoder's training.

        Raises:
            LinkerError: no name of the dictionary is left once normalised, what is asked for does
                not fit together, or the training fails.
        """
        mentions, dev = list(mentions), list(dev)
        plan = make_plan(
            TrainingRequest(
                encoder=encoder,
                options=None if options is None else lambda _: options,
                has_mentions=bool(mentions),
                has_dev=bool(dev),
                refit=refit,
                has_words=words is not None,
                extend=extend,
                corrections=corrections or {},
            )
        )
        plan = dataclasses.replace(plan, words=words)
        return cls.from_plan(plan, dictionary, mentions, dev, settings, validate)

    @classmethod
    def from_plan(
        cls,
        plan: TrainingPlan,
        dictionary: Dictionary,
        mentions: Sequence[Mention | Document] = (),
        dev: Sequence[Mention | Document] = (),
        settings: RunSettings | None = None,
        validate: Validate | None = None,
    ) -> Linker:
        """Train as a plan says; see `train` for the other arguments."""
        fit = partial(cls._trained, validate=validate or _validation(dev))
        right = partial(_first_is_right, dev)
        course = Course(plan, dictionary, mentions, dev, settings or RunSettings(), fit, right)
        return course.run()

    @classmethod
    def _trained(
        cls,
        plan: TrainingPlan,
        dictionary: Dictionary,
        mentions: Iterable[Mention | Document],
        settings: RunSettings,
        validate: Validate | None = None,
    ) -> Linker:
        """Train once."""
        data = TrainingData.of(plan, dictionary, mentions)
        supervision.report(data.mentions, dictionary)
        options, corrections = plan.options, plan.corrections
        linker = cls(data.extended, data.indexed, options, _seen(data), corrections, plan.encoder)
        if plan.is_sparse:
            return linker

        from linker.training import pipeline

        def validate_generator(generator: Generator) -> Mapping[str, float]:
            assert validate  # noqa: S101 - handed on only where there is one
            measured = validate(linker._with(generator))
            if "dev_acc1" not in measured:
                raise LinkerError(
                    f"`validate` gives {', '.join(measured) or 'nothing'}; "
                    "expected: dev_acc1, and what else is to be logged"
                )
            return measured

        trained = pipeline.train(plan, data, settings, validate_generator if validate else None)
        return cls(
            data.extended,
            trained.generator,
            dataclasses.replace(options, encoder=trained.encoder.options),
            linker.seen,
            corrections,
            plan.encoder,
            trained.history,
            trained.reranker,
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
        plan = TrainingPlan(self.encoder, self.options, self._corrections, extend)
        data = TrainingData.of(plan, dictionary, mentions)
        generator: Generator = data.indexed
        if (trained := self.generator) and isinstance(trained, HybridGenerator):
            options = self.options.training
            generator = data.generator(trained.encoder, trained.sparse_weight, options)
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
        return Linker(self.dictionary, sparse, self.options, self.seen, self._corrections, "tfidf")

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
        return spelling.normal_form(text, self.options.normalize, self._corrections)

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
            options = changed(LinkerOptions(), config["options"])
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


def _strict_ranks(dev: Iterable[Mention | Document], linker: Linker, k: int) -> list[int]:
    """The least k at which each annotated mention is right by the protocol `strict`; 0: never."""
    ranks = []
    for prediction in linker.link(dev, k=k):
        if (gold := prediction.mention.gold) is not None:
            ids = [
                [candidate.concept_id for candidate in part.candidates] for part in prediction.parts
            ]
            ranks.append(matching.strict_rank(ids, gold, linker.dictionary.resolve) or 0)
    return ranks


def _validation(dev: Sequence[Mention | Document]) -> Validate | None:
    """Give what measures a linker on development mentions; None where there are none."""

    def validate(linker: Linker) -> Mapping[str, float]:
        ranks = _strict_ranks(dev, linker, 20)
        names = {"dev_acc1": 1, "dev_acc5": 5, "candidate_recall": 20}
        return {name: round(float(np.mean(metrics.hits(ranks, k))), 5) for name, k in names.items()}

    return validate if dev else None


def _first_is_right(dev: Iterable[Mention | Document], linker: Linker) -> NDArray[np.bool_]:
    """Which development mentions have the right concept first."""
    return np.array([rank == 1 for rank in _strict_ranks(dev, linker, 1)], bool)


def _seen(data: TrainingData) -> Seen:
    ids = {identifier for mention in data.mentions for identifier in mention.ids}
    return Seen(
        frozenset(data.normalize(mention.mention.text) for mention in data.mentions),
        frozenset(current for identifier in ids for current in data.dictionary.resolve(identifier)),
    )


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
