"""Linker: a dictionary, what ranks its names and the options, which map mentions to concepts."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linker import cancelling, files, matching, metrics, persistence
from linker.candidates.base import Generator, Ranked
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.options import IndexOptions
from linker.dictionary import Dictionary, selection
from linker.dictionary.finding import DictionaryNames
from linker.encoders.base import Device, Precision
from linker.errors import LinkerError
from linker.explanation import Explanation
from linker.linking import folder as model_folder
from linker.linking import reasons
from linker.linking import spans as span_models
from linker.linking.answers import Answer, Answers
from linker.linking.cache import SizedCache
from linker.linking.folder import ModelParts
from linker.linking.lists import Batch, Read
from linker.linking.requests import Request, batches
from linker.linking.scope import (
    RestrictedBatch,
    RestrictedItem,
    Restrictions,
    answered,
    restrictions_of,
)
from linker.linking.spans import SpanModel
from linker.options import LinkerOptions, as_saved
from linker.ranker.matches import Matches
from linker.ranker.ranker import Ranker
from linker.ranker.words import Words
from linker.text import spelling
from linker.text.mentions import Item, grouped
from linker.text.readings import NameForms, Wording, of_mention
from linker.training import release, supervision
from linker.training.course import Course
from linker.training.creation import without_training
from linker.training.data import Seen, TrainingData
from linker.training.plan import TrainingPlan, TrainingRequest
from linker.training.plan import make as make_plan
from linker.training.release import Changes
from linker.training.settings import RunSettings
from linker.types import Document, Lookup, Mention, Prediction, Selection

if TYPE_CHECKING:
    from linker.encoders.words import WordVectors

logger = logging.getLogger(__name__)

_CACHES = 10_000  # names that take as much memory as the caches of a linker
_PARTS = 32  # small parts of the dictionary that are kept for mentions restricted to them
_BATCH = 1024  # mentions that are linked together
_NAMES = 100  # that are put in order by the ranker, where names are ranked

Validate = Callable[["Linker"], Mapping[str, float]]
"""Measures a linker on development data; `dev_acc1` chooses the epoch that is kept."""

Linked = tuple[Document | None, list[Prediction]]
"""A document, None for a loose mention, with the predictions of its mentions."""


class Linker:
    """Links mentions to the concepts of a dictionary. Make one with `train` or `load`.

    Many threads may link with one linker.

    Args:
        dictionary: the concepts.
        generator: finds the names of the dictionary that are like a mention.
        options: what is done to a mention before, and how the linker was trained.
        seen: what it was trained on.
        corrections: normalised words or phrases, and what they become.
        encoder: the name of the encoder in the registry.
        history: a record of each epoch of the training.
        ranker: says which candidates are right, how probably; None: they are ordered by score, and
            answers have no confidence.
        spans: how probable it is that a name found in a text is a mention there; None where no
            annotated documents told.
        words: of the names; None: they are found when they are needed.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        generator: Generator,
        options: LinkerOptions,
        seen: Seen,
        corrections: Mapping[str, str],
        encoder: str = "tfidf",
        history: Sequence[Mapping[str, Any]] = (),
        ranker: Ranker | None = None,
        spans: SpanModel | None = None,
        words: Words | None = None,
    ) -> None:
        self.dictionary, self.generator, self.options = dictionary, generator, options
        self.seen, self.encoder, self.history = seen, encoder, list(history)
        self._corrections, self.spans = corrections, spans
        self.ranker, self._words = ranker, words
        total = 2 * len(self.generator.table) + _PARTS * _CACHES
        self._parts: SizedCache[Restrictions, Linker] = SizedCache(total, _size)
        # the linker that this one is a part of, and what it is restricted to
        self._origin: tuple[Linker, Restrictions] | None = None

    @cached_property
    def words(self) -> Words:
        """The words of the names of the dictionary."""
        return self._words or Words.of(self.dictionary, self.normalize)

    @cached_property
    def _answers(self) -> Answers:
        # a linker without a ranker never looks at the words
        weight = getattr(self.generator, "sparse_weight", 1.0)
        matches = (
            Matches(self.dictionary, self.generator.table, self.words, weight)
            if self.ranker
            else None
        )
        return Answers(self.dictionary, self.generator, matches, self.ranker)

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
        """Fit a linker to a dictionary and annotated mentions (see `linker.training.pipeline`).

        Args:
            dictionary: the names to link to.
            encoder: of `registry.encoders()`; None: the best without a download, where it wins.
            mentions: annotated mentions, which become names; without, synonyms are trained on.
            dev: annotated mentions that choose the best epoch, by Acc@1 of the protocol `strict`.
            refit: whether to train again on `mentions` and `dev`, with the choices made.
            options: the defaults of the encoder where None.
            extend: whether the mentions become names; without, they only count as seen.
            corrections: misspelt words or phrases, and what they become.
            words: vectors for encoders made of words; trained on the dictionary where None.
            validate: measures the linker after each epoch in place of `dev`; `dev_acc1` decides.
            settings: checkpoints and progress of a dense encoder's training.

        Raises:
            LinkerError: what is asked for does not fit together, or the training fails.
        """
        request = TrainingRequest(
            encoder=encoder,
            options=None if options is None else lambda _: options,
            has_mentions=bool(mentions := list(mentions)),
            has_dev=bool(dev := list(dev)),
            refit=refit,
            has_words=words is not None,
            extend=extend,
            corrections=corrections or {},
        )
        plan = make_plan(request, words)
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
        validate = validate or _validation(dev)
        settings = settings or RunSettings()
        if dev and not settings.development:
            fingerprint = hashlib.sha256(repr(list(dev)).encode("utf-8", "replace")).hexdigest()
            settings = dataclasses.replace(settings, development=fingerprint)
        course: Course[Linker] = Course(
            plan, dictionary, mentions, dev, settings, cls.trained, validate
        )
        linker = course.run()
        learnt = [*mentions, *(dev if plan.refit else ())]
        if any(isinstance(item, Document) for item in learnt):
            linker.spans = span_models.fit(linker.found_names, learnt, plan.options.training.seed)
        return linker

    @classmethod
    def trained(
        cls,
        plan: TrainingPlan,
        dictionary: Dictionary,
        mentions: Iterable[Mention | Document],
        settings: RunSettings,
        validate: Validate | None = None,
    ) -> Linker:
        """Train once, as a plan says; the linker has no ranker."""
        data = TrainingData.of(plan, dictionary, mentions)
        supervision.report(data.mentions, dictionary)
        options, corrections = plan.options, plan.corrections
        linker = cls(data.extended, data.indexed, options, Seen.of(data), corrections, plan.encoder)
        if plan.is_sparse:
            return linker
        if plan.is_trained:
            from linker.training import pipeline

            measure = partial(linker._measured, validate) if validate else None
            trained = pipeline.train(plan, data, settings, measure)
        else:
            trained = without_training(plan, data, settings)
        return cls(
            data.extended,
            trained.generator,
            dataclasses.replace(options, encoder=trained.encoder.options),
            linker.seen,
            corrections,
            plan.encoder,
            trained.history,
        )

    def _measured(self, validate: Validate, generator: Generator) -> Mapping[str, float]:
        """What `validate` measures of this linker with another generator."""
        measured = validate(self._with(generator))
        if "dev_acc1" not in measured:
            raise LinkerError(
                f"`validate` gives {', '.join(measured) or 'nothing'}; "
                "expected: dev_acc1, and what else is to be logged"
            )
        return measured

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
            vectors = trained.vectors_of(list(data.indexed.table.texts))
            generator = data.generator(trained.encoder, trained.sparse_weight, options, vectors)
        return self._with(generator, data.extended, Seen.of(data))

    def renewed(
        self,
        dictionary: Dictionary | None = None,
        mentions: Iterable[Mention | Document] = (),
        *,
        index: IndexOptions | None = None,
    ) -> tuple[Linker, Changes]:
        """Take a new release of the dictionary, or corrections, without training.

        Unlike `over`, it keeps what was learnt: the terms of the sparse encoder and their weights,
        annotated mentions of concepts that are still there, and the ranker. Only names that
        are new are encoded.

        Args:
            dictionary: the new release; None: the one that the linker has.
            mentions: annotated mentions, which become names as in `train`.
            index: how the vectors are searched, once it is saved; None: as before.

        Returns:
            The linker, and what changed.
        """
        options = dataclasses.replace(self.options, index=index or self.options.index)
        plan = TrainingPlan(self.encoder, options, self._corrections)
        before = release.Previous(self.dictionary, self.generator, self.seen)
        now = release.renewed(plan, before, dictionary, mentions)
        record = dataclasses.replace(
            self._record,
            dictionary=now.dictionary,
            generator=now.generator,
            seen=now.seen,
            options=options,
            words=None,
        )
        return Linker._of(record), now.changes

    def with_ranker(self, ranker: Ranker | None) -> Linker:
        """The same linker with another ranker; None: candidates are ordered by score."""
        return Linker._of(dataclasses.replace(self._record, ranker=ranker))

    def by_characters(self) -> Linker:
        """The same linker with names scored by characters alone."""
        return self._with(getattr(self.generator, "sparse", self.generator))

    def use(self, precision: Precision, device: Device = "auto") -> Precision:
        """Compute in this precision and on this device from now on; vectors of names are the same.

        Call it of the whole linker: those that were restricted before share the encoder, and search
        where they did.

        Args:
            precision: in which mentions are encoded. fp32 is the default; auto is the fastest that
                the processor, or the GPU, has and the model was prepared for.
            device: cuda: names are searched on a GPU, and mentions encoded there if torch encodes
                them; cpu: neither; auto: both stay where they are.

        Returns:
            The precision, never auto.

        Raises:
            LinkerError: there is no such device, or nothing to compute there; or, on the device
                then, the encoder or this machine does not compute in the precision.
        """
        if isinstance(self.generator, HybridGenerator):
            if device != "auto":
                self._parts.clear()  # they search where they did
                self.generator.move(device)
            return self.generator.encoder.use(precision)
        if device == "cuda":
            raise LinkerError(
                "the model links by characters, which have no vectors to search on a GPU; "
                "take the device auto, or train with another encoder, such as static"
            )
        if precision in ("auto", "fp32"):
            return "fp32"
        raise LinkerError(f"the model links by characters, which have no {precision}")

    def _with(
        self, generator: Generator, dictionary: Dictionary | None = None, seen: Seen | None = None
    ) -> Linker:
        """The same linker with another generator."""
        record = dataclasses.replace(
            self._record,
            dictionary=dictionary or self.dictionary,
            generator=generator,
            seen=seen or self.seen,
            spans=None if dictionary else self.spans,
            words=None if dictionary else self._known_words,
        )
        return Linker._of(record)

    @property
    def _record(self) -> ModelParts:
        """What it is made of."""
        return ModelParts(
            self.dictionary,
            self.generator,
            self.options,
            self.seen,
            self._corrections,
            self.encoder,
            self.history,
            self.ranker,
            self.spans,
            self._known_words,
        )

    @property
    def _known_words(self) -> Words | None:
        """The words of the names, where they were found already."""
        return self.__dict__.get("words", self._words)

    @classmethod
    def _of(cls, record: ModelParts) -> Linker:
        """The linker that is made of these parts."""
        return cls(*(getattr(record, field.name) for field in dataclasses.fields(record)))

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights are kept, of the last list-wise phase; 0 where there was none."""
        listwise = [r["phase"] for r in self.history if r["phase"] not in ("align", "ground")]
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
        min_score: float | None = None,
        batch_size: int = _BATCH,
        within: Selection | None = None,
    ) -> Iterator[Prediction]:
        """Link mentions, in order, in bounded memory.

        Args:
            items: texts, mentions, or documents with mentions, whose text explains their short
                forms.
            k: how many concepts to return for each part.
            threshold: the confidence from 0 to 1 that a part needs; one with less is `nil`, and
                its best candidate is `rejected`; 0: everything is answered. None: a mention is
                `nil` where that it has no concept is more probable than any concept.
            min_score: leave out candidates with a lower score; a part that keeps none is `nil`.
            batch_size: mentions that are read before they are linked together; 1 answers each at
                once.
            within: the part of the dictionary to answer with, as `restricted` does it; None: the
                whole. What a document or a mention has in its own `within` must hold, too.

        Raises:
            LinkerError: a number is out of its range, or there is a threshold and the model gives
                no confidence.
        """
        for _, predictions in self.link_items(
            items,
            k=k,
            threshold=threshold,
            min_score=min_score,
            batch_size=batch_size,
            within=within,
        ):
            yield from predictions

    def link_items(
        self,
        items: Iterable[Item],
        *,
        k: int = 5,
        threshold: float | None = None,
        min_score: float | None = None,
        batch_size: int = _BATCH,
        within: Selection | None = None,
        wanted: Callable[[Mention], bool] | None = None,
    ) -> Iterator[Linked]:
        """As `link`, but item by item: each document with the predictions of its `wanted` mentions.

        Args:
            items, k, threshold, min_score, batch_size, within: as for `link`.
            wanted: which mentions are linked; None: all.
        """
        if batch_size < 1:
            raise LinkerError(f"batch_size is {batch_size}; expected: 1 or more")
        request = self._checked(Request("", k, threshold, min_score, within))
        self.restricted(within)  # a wrong selection is reported before anything is read
        restricted = (
            RestrictedItem(request, *group) for group in grouped(items, self.options.text, wanted)
        )
        for batch in batches(restricted, batch_size):
            yield from answered(batch, self._answer_part)

    def answer(self, requests: Iterable[Request]) -> list[Linked]:
        """Link items in one batch, each with its own limits, as each alone would be."""
        requests = list(map(self._checked, requests))
        groups = grouped([request.item for request in requests], self.options.text)
        restricted = [
            RestrictedItem(request, *group) for request, group in zip(requests, groups, strict=True)
        ]
        return list(answered(restricted, self._answer_part))

    def _answer_part(
        self, restrictions: Restrictions, items: RestrictedBatch
    ) -> Iterator[Prediction]:
        """The predictions of some mentions of each item, answered with a part of the dictionary."""
        linker = self._part(restrictions)
        answers = [
            Answer(item.request, mention, read)
            for number, (item, mentions) in enumerate(items)
            for mention, read in zip(mentions, linker.read(item, mentions, number), strict=True)
        ]
        return iter([*linker._answers.predictions(answers)])

    def _checked(self, request: Request) -> Request:
        """Refuse a threshold that a model without a confidence cannot apply."""
        if request.threshold and self.ranker is None:
            raise LinkerError(
                "the linker gives no confidence, so that there is no threshold on it; "
                "limit the raw score (--min-score)"
            )
        return request

    def read(
        self, item: RestrictedItem, mentions: Sequence[Mention], number: int
    ) -> Iterator[Read]:
        """The ways to read some mentions of an item.

        Args:
            item: with the short forms of its document.
            mentions: some of its own.
            number: of the item in its batch.
        """
        rivals = self.ranker is not None and self.options.text.rivals
        wordings: dict[str, list[Wording]] = {}  # documents repeat their mentions
        document = number if item.document else -1
        for mention in mentions:
            cancelling.check()
            ways = wordings.get(mention.text)
            if ways is None:
                ways = of_mention(
                    mention.text, item.definitions, self._names, self.options.text, rivals
                )
                wordings[mention.text] = ways
            without = self.seen.without_concept.get(ways[0].forms[0], 0)
            yield Read(mention.text, ways, document, math.log1p(without))

    def lists(self, items: Iterable[Item]) -> Iterator[tuple[list[Mention], Batch]]:
        """The described candidates of mentions, a batch at a time, as the ranker sees them."""
        requests = (
            RestrictedItem(Request(""), *group) for group in grouped(items, self.options.text)
        )
        for batch in batches(requests, _BATCH):
            mentions = [mention for item in batch for mention in item.mentions]
            reads = [
                read
                for number, item in enumerate(batch)
                for read in self.read(item, item.mentions, number)
            ]
            yield mentions, self._answers.batch(reads)

    def explain(
        self,
        mention: str | Mention,
        *,
        concept: str | None = None,
        document: Document | None = None,
        k: int = 5,
        within: Selection | None = None,
    ) -> Explanation:
        """Say why a mention is answered as it is, and why a concept is not the answer.

        Args:
            mention: the mention, or its text.
            concept: the id of a concept that was expected.
            document: the document of the mention, which need not be marked in it.
            k: how many concepts to explain for each part.
            within: as for `link`.

        Raises:
            LinkerError: the mention is blank, or the dictionary does not have the id.
        """
        task = reasons.Task.of(mention, document, within, self.options.text, k)
        linker = self._part(task.restrictions)
        answers = [
            Answer(task.item.request, mention, read)
            for mention, read in zip(
                task.item.mentions, linker.read(task.item, task.item.mentions, 0), strict=True
            )
        ]
        model = reasons.Model(
            self.dictionary,
            linker.generator,
            self.options.text,
            self.options.normalize,
            linker._answers,
            linker._origin[1] if linker._origin else (),
        )
        return reasons.explanation(model, task, answers, concept)

    def restricted(self, within: Selection | None) -> Linker:
        """The linker that answers with a part of the dictionary only; the rest is shared.

        It gives the answers of a linker whose dictionary holds that part alone, with the same
        encoder and weights. It may be restricted again.

        Args:
            within: the part; None or an empty selection: this linker.

        Raises:
            LinkerError: an id, type or prefix is not there, or no concept is in the part.
        """
        return self._part((within,) if within else ())

    def check_selection(self, item: Mention | Document) -> None:
        """Check the own selections of a document or a mention.

        Raises:
            LinkerError: one names what is not there, or no concept is left to answer with.
        """
        document = item if isinstance(item, Document) else None
        mentions = item.mentions if isinstance(item, Document) else [item]
        for restrictions in dict.fromkeys(restrictions_of(document, mentions, None)):
            self._part(restrictions)

    def _part(self, restrictions: Restrictions) -> Linker:
        """The linker of the concepts that fit all restrictions; the latest ones are kept."""
        whole, own = self._origin or (self, ())
        together = tuple(dict.fromkeys((*own, *restrictions)))
        return self if together == own else whole._parts.get(together, whole._make_part)

    def _make_part(self, restrictions: Restrictions) -> Linker:
        linkable = np.zeros(len(self.dictionary), bool)
        linkable[self.linkable] = True
        concepts = selection.selected(self.dictionary, restrictions, linkable)
        part = self.among(concepts)
        part._origin = self, restrictions
        return part

    def among(self, concepts: NDArray[np.bool_]) -> Linker:
        """The linker that answers with some concepts only; the rest is shared.

        Args:
            concepts: which ones, (concepts of the dictionary,).
        """
        return self._with(self.generator.among(concepts))

    def without(self, names: NDArray[np.int64], concepts: NDArray[np.bool_]) -> Linker:
        """The linker that does not know some names and some concepts; it shares all vectors.

        Names that were annotated stay.

        Args:
            names: rows of names of the dictionary.
            concepts: which concepts are not known, (concepts of the dictionary,).
        """
        table, columns = self.generator.table, self.dictionary.columns.names
        is_out = concepts[table.concepts]
        for name in names.tolist():
            row = table.row(self.normalize(columns.texts[name]))
            pairs = np.arange(*table.indptr[row : row + 2])
            pairs = pairs[table.concepts[pairs] == columns.concept[name]]
            if columns.annotated is None or not columns.annotated[table.entries[pairs]].any():
                is_out[pairs] = True
        return self._with(self.generator.without(is_out))

    @cached_property
    def linkable(self) -> NDArray[np.int32]:
        """The rows of the concepts that it can answer with."""
        return np.unique(self.generator.table.concepts)

    @cached_property
    def found_names(self) -> DictionaryNames:
        """Finds the names of the concepts that it can answer with."""
        return DictionaryNames(self.dictionary, self.options.text, self.linkable)

    def normalize(self, text: str) -> str:
        """The form of a text that is looked up."""
        return spelling.normal_form(text, self.options.normalize, self._corrections)

    @cached_property
    def _names(self) -> NameForms:
        return NameForms(self.generator.table, self.normalize)

    def rank_names(self, texts: Sequence[str], k: int) -> list[Ranked]:
        """The k best names of each text, for the protocol `biosyn`.

        The ranker orders concepts: the best name of each stands in this order, and behind these the
        other names in the order of their scores.
        """
        lookups = [Lookup.of(self.normalize(text)) for text in texts]
        names = self.generator.rank(lookups, max(k, _NAMES), "names")
        if self.ranker is not None:
            reads = [
                Read(text, [Wording("whole", (text,), (lookup.normalized,))], -1)
                for text, lookup in zip(texts, lookups, strict=True)
            ]
            names = self._answers.with_names(reads, names)
        return [of_one[:k] for of_one in names]

    def save(self, folder: files.Pathlike) -> None:
        """Write the model folder; one that stood there is replaced at the end."""
        config = {
            "encoder": self.encoder,
            "options": as_saved(self.options, self.encoder),
            "dictionary": self.describe_dictionary(),
        }
        parts = dataclasses.replace(self._record, words=self.words if self.ranker else None)
        with persistence.saving(folder, "model", config, model_folder.read) as aside:
            model_folder.write(aside, config, parts)

    @classmethod
    def load(cls, folder: files.Pathlike) -> Linker:
        """Load a model folder; its arrays are memory-mapped.

        Raises:
            LinkerError: the folder is no model, of another version, or a file of it is missing or
                changed.
        """
        return cls._of(persistence.load(folder, "model", model_folder.read))

    def describe_dictionary(self) -> dict[str, object]:
        """What the dictionary was made of, for `config.json` and `metrics.json`."""
        sources = [dataclasses.asdict(source) for source in self.dictionary.sources]
        return {
            "concepts": len(self.dictionary),
            "names": len(self.generator.table),
            "sources": sources,
        }


def _size(linker: Linker) -> int:
    """The memory that a linker takes beside others of its dictionary, in names."""
    return len(linker.generator.table) + _CACHES


def _strict_ranks(dev: Iterable[Mention | Document], linker: Linker, k: int) -> list[int]:
    """The least k at which each annotated mention is right by the protocol `strict`; 0: never."""
    ranks = []
    for prediction in linker.link(dev, k=k):
        if (gold := prediction.mention.gold) is not None:
            ids = [
                [candidate.concept_id for candidate in part.returned] for part in prediction.parts
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
