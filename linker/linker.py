"""Linker: a dictionary, the encoders of its names and the options, that together map mentions to concepts."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linker import files, matching, persistence, registry
from linker.candidates.base import Generator, Ranked
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary, NameTable
from linker.encoders.base import SparseEncoder
from linker.encoders.tfidf import TfidfEncoder
from linker.errors import LinkerError
from linker.options import LinkerOptions, changed
from linker.text import abbreviations, composites, spelling
from linker.text.biosyn import biosyn_parts
from linker.text.normalize import normalize
from linker.types import Candidate, Document, Gold, Mention, Part, Prediction, Span

if TYPE_CHECKING:
    from linker.ranker.lists import Query

logger = logging.getLogger(__name__)

_CACHE = 100_000  # candidates that are kept, for mentions that come again
_HISTORY = "training.jsonl"

Item = str | Mention | Document
Linked = tuple[Document | None, list[Prediction]]
_Pair = tuple[Mention, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a model was trained on, so that evaluation can report the unseen apart: normalised mentions and concept ids."""

    mentions: frozenset[str] = frozenset()
    concepts: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Work:
    """How the training of a dense encoder goes on and what it tells."""

    checkpoints: Path | None = None  # folder for checkpoints
    resume: bool = False  # go on from them, where there are any
    phase: str = "rank"  # name of the list-wise phase: another one trains anew, from the same alignment
    judged_by: str = ""  # what tells the development mentions of `validate` from others, for `resume`
    on_event: Callable[[Any], None] = lambda event: None  # is told each step (`training.loop.Step`) and the record of each epoch
    progress: bool = False  # show a bar while the names of the dictionary are encoded


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
    ) -> None:
        self.dictionary, self.generator, self.options, self.seen, self.encoder = dictionary, generator, options, seen, encoder
        self.history = list(history)  # a record of each epoch of the training
        self._corrections = corrections
        self._cache: dict[tuple[str, int], tuple[Candidate, ...]] = {}

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
        work: Work | None = None,
    ) -> Linker:
        """Fit a linker to a dictionary and annotated mentions.

        A dense encoder is trained on the mentions, or on the synonyms of the dictionary where there are none.

        Args:
            dictionary: the names to link to.
            encoder: a name of `registry.encoders()`.
            mentions: annotated mentions; they become names of kind `training`.
            options: see `LinkerOptions`; the defaults where None.
            extend: whether the mentions become names; without, they only count as seen.
            corrections: misspelt words or phrases, and what they become.
            validate: judges the linker after each epoch of a dense encoder; `dev_acc1` decides which epoch is kept.
            work: checkpoints and progress of a dense encoder's training.

        Raises:
            LinkerError: no name of the dictionary is left once normalised, there is no such encoder, or its training fails.
        """
        options = options or LinkerOptions()
        corrections = {normalize(a, options.normalize): normalize(b, options.normalize) for a, b in (corrections or {}).items()}
        pairs = list(training_names(mentions, options))
        seen = Seen(
            frozenset(_normal_form(mention.text, options, corrections) for mention, _, _ in pairs),
            frozenset(c for _, _, ids in pairs for i in ids for c in dictionary.resolve(i)),
        )
        names = [(name, ids) for _, name, ids in pairs if name]
        _report_training(dictionary, pairs, names)
        extended = dictionary.add(names) if extend else dictionary
        table = _table(dictionary, options, corrections)
        kind = registry.load(encoder)
        sparse = (kind if issubclass(kind, SparseEncoder) else TfidfEncoder)(options.sparse)
        sparse.fit([text for text in table.texts if text])  # as BioSyn: without the mentions
        if extended is not dictionary:
            indexed = SparseGenerator.index(_table(extended, options, corrections), extended, sparse)
        else:
            indexed = SparseGenerator.index(table, dictionary, sparse)
        linker = cls(extended, indexed, options, seen, corrections, encoder)
        if not issubclass(kind, SparseEncoder):
            linker._train_dense(kind, dictionary, pairs, validate, work or Work())
        return linker

    def _train_dense(
        self,
        kind: Any,
        dictionary: Dictionary,
        pairs: Sequence[_Pair],
        validate: Callable[[Linker], Mapping[str, float]] | None,
        work: Work,
    ) -> None:
        """Put a hybrid generator with a trained encoder in the place of the sparse one."""
        from linker.ranker.train import Material, Run, fit, flat

        indexed = self.generator
        assert isinstance(indexed, SparseGenerator)  # noqa: S101 - as `train` made it
        base = indexed
        if self.dictionary is not dictionary:  # lists never hold the mentions that they train on
            base = SparseGenerator.index(_table(dictionary, self.options, self._corrections), dictionary, indexed.encoder)
        options, texts = self.options, list(base.table.texts)
        group = getattr(options, self.encoder, None)
        frequency = _frequency(pairs, dictionary, indexed.table)
        material = Material(_training_queries(pairs, dictionary, self.normalize), dictionary, base, indexed, frequency)
        fingerprint = {
            "encoder": self.encoder,
            "names": _checksum(texts, base.table.concepts.tolist(), *dictionary.hierarchy.arrays().values()),
            "mentions": _checksum([(query.text, sorted(query.right)) for query in material.queries or ()]),
            "indexed": _checksum(list(indexed.table.texts), indexed.table.concepts.tolist(), frequency),
            "development": work.judged_by,
            **flat(options, self.encoder, "sparse", "text"),
        }
        how = Run(options.training, options.align, work.checkpoints, work.resume, work.phase, fingerprint, work.on_event, work.progress)

        def judge(generator: HybridGenerator) -> Mapping[str, float]:
            assert validate  # noqa: S101 - handed on only where there is one
            metrics = validate(Linker(self.dictionary, generator, options, self.seen, self._corrections, self.encoder))
            if "dev_acc1" not in metrics:
                raise LinkerError(f"`validate` gives {', '.join(metrics) or 'nothing'}; expected: dev_acc1, and what else is to be logged")
            return metrics

        encoder = kind.create(group, texts)
        self.generator, self.history = fit(encoder, material, how, judge if validate else None)
        if group is not None:  # what is saved names the pretrained model, not where it was found on this machine
            self.options = dataclasses.replace(options, **{self.encoder: encoder.options})

    @property
    def best_epoch(self) -> int:
        """The epoch of the list-wise phase, the last of several, whose weights are kept; 0 where there was none."""
        phase = self.history[-1]["phase"] if self.history else "align"
        records = [record for record in self.history if record["phase"] == phase != "align"]
        if self.options.training.keep_best and records and "dev_acc1" in records[0]:
            return int(max(records, key=lambda record: record["dev_acc1"])["epoch"])
        return int(records[-1]["epoch"]) if records else 0

    def link(self, items: Iterable[Item], *, k: int = 5, threshold: float | None = None, batch_size: int = 1024) -> Iterator[Prediction]:
        """Link mentions, in order, in bounded memory.

        Args:
            items: texts, mentions, or documents with mentions (whose own text then explains their short forms).
            k: how many concepts to return for each part.
            threshold: leave out candidates with a lower score; a part that keeps none is `nil`.
            batch_size: mentions that are read before they are linked together; 1 answers each at once.
        """
        for _, predictions in self.link_items(items, k=k, threshold=threshold, batch_size=batch_size):
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
        for batch in _batches(grouped(items, self.options, wanted), batch_size):
            split = [[self._split(m, definitions) for m in mentions] for _, mentions, definitions in batch]
            queries = [self.normalize(expanded or text) for item in split for parts in item for text, expanded in parts]
            ranked = iter(self._rank(queries, k))
            for (document, mentions, _), item in zip(batch, split, strict=True):
                predictions = []
                for mention, parts in zip(mentions, item, strict=True):
                    spans = mention.spans if len(parts) == 1 else ()
                    made = [_part(text, expanded, spans, next(ranked), threshold) for text, expanded in parts]
                    predictions.append(Prediction(mention, tuple(made)))
                yield document, predictions

    def normalize(self, text: str) -> str:
        """The form of a text that is looked up."""
        return _normal_form(text, self.options, self._corrections)

    def _split(self, mention: Mention, definitions: Mapping[str, str]) -> list[tuple[str, str | None]]:
        """The parts of a mention: their text, and its expansion where that differs."""
        text = _expanded(mention, definitions, self.options)
        parts = composites.split(text, self._is_name) if self.options.text.composites else [text]
        if len(parts) == 1:
            return [(mention.text, text if text != mention.text else None)]
        return [(part, None) for part in parts]

    def _is_name(self, text: str) -> bool:
        return self.normalize(text) in self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.generator.table.texts)

    def _rank(self, queries: Sequence[str], k: int) -> list[tuple[Candidate, ...]]:
        """The candidates of normalised names; those of names that came before are remembered."""
        distinct = dict.fromkeys(queries)
        found = {q: self._cache[q, k] for q in distinct if (q, k) in self._cache}
        new = [q for q in distinct if q not in found]
        found |= {q: self._candidates(ranked) for q, ranked in zip(new, self.generator.concepts(new, k), strict=True)}
        if (len(self._cache) + len(new)) * k > _CACHE:
            self._cache.clear()
        self._cache.update(((q, k), found[q]) for q in new)
        return [found[q] for q in queries]

    def _candidates(self, ranked: Ranked) -> tuple[Candidate, ...]:
        ids, names, preferred = self.dictionary.ids, self.dictionary.names, self.dictionary.preferred_name
        columns = [
            [None if v is None else round(v, 6) for v in _list(part, ranked)] for part in (ranked.scores, ranked.sparse, ranked.dense)
        ]
        rows = zip(ranked.concepts.tolist(), ranked.entries.tolist(), *columns, strict=True)  # float32 holds no more digits
        return tuple(Candidate(ids[c], preferred(c), names[entry], *scores) for c, entry, *scores in rows)

    def save(self, folder: files.Pathlike) -> None:
        """Write the model folder; one that stood there is replaced at the end."""
        config = {"encoder": self.encoder, "options": dataclasses.asdict(self.options), "dictionary": self.describe_dictionary()}
        with persistence.saving(folder, "model", config) as aside:
            (aside / "dictionary").mkdir()
            self.dictionary.write(aside / "dictionary")
            self.generator.save(aside)
            persistence.save_json(aside / "seen.json", {"mentions": sorted(self.seen.mentions), "concepts": sorted(self.seen.concepts)})
            persistence.save_json(aside / "spelling.json", dict(self._corrections))
            if self.history:
                from linker.training import plot

                (aside / _HISTORY).write_text(plot.jsonl(self.history), encoding="utf-8")
                if importlib.util.find_spec("matplotlib"):
                    plot.plot(self.history, aside / "training.png")
                else:
                    logger.warning("matplotlib is not installed, so that training.png is left out; pip install 'linker[dense]'")

    @classmethod
    def load(cls, folder: files.Pathlike) -> Linker:
        """Load a model folder; its arrays are memory-mapped.

        Raises:
            LinkerError: the folder is no model, of another version, or a file of it is missing or changed.
        """
        path, config = persistence.opening(folder, "model")
        try:
            dictionary = Dictionary.open(path / "dictionary")
            kind = registry.load(config["encoder"])
            generator: Generator
            if issubclass(kind, SparseEncoder):
                generator = SparseGenerator.load(path, dictionary, kind)
            else:
                generator = HybridGenerator.load(path, dictionary, TfidfEncoder, kind)
            history = [json.loads(line) for line in (path / _HISTORY).read_text("utf-8").splitlines()] if (path / _HISTORY).exists() else []
            seen = persistence.load_json(path / "seen.json")
            options = changed(LinkerOptions(), config["options"])
            known = Seen(frozenset(seen["mentions"]), frozenset(seen["concepts"]))
        except (KeyError, ValueError, IndexError, TypeError, AttributeError) as error:  # as its maker wrote it, and no model of ours
            raise LinkerError(f"{folder}: is not a model that linker wrote ({type(error).__name__}: {error}); train again") from None
        return cls(dictionary, generator, options, known, persistence.load_json(path / "spelling.json"), config["encoder"], history)

    def describe_dictionary(self) -> dict[str, object]:
        """What the dictionary was made of, for `config.json` and `metrics.json`."""
        sources = [dataclasses.asdict(source) for source in self.dictionary.sources]
        return {"concepts": len(self.dictionary), "names": len(self.generator.table), "sources": sources}


def _part(text: str, expanded: str | None, spans: tuple[Span, ...], candidates: tuple[Candidate, ...], threshold: float | None) -> Part:
    if threshold is not None:
        candidates = tuple(c for c in candidates if c.score >= threshold)
    return Part(text, expanded, spans, candidates, nil=not candidates)


def _normal_form(text: str, options: LinkerOptions, corrections: Mapping[str, str]) -> str:
    """The one form of a name for index and query."""
    text = normalize(text, options.normalize)
    return spelling.correct(text, corrections) if corrections else text


def _table(dictionary: Dictionary, options: LinkerOptions, corrections: Mapping[str, str]) -> NameTable:
    table = dictionary.table(lambda text: _normal_form(text, options, corrections))
    if not len(table.concepts):
        raise LinkerError("no name of the dictionary is left once normalised; check normalize.punctuation and the dictionary")
    return table


def _training_queries(pairs: Sequence[_Pair], dictionary: Dictionary, form: Callable[[str], str]) -> list[Query] | None:
    """The queries that annotated mentions of one concept give; None where there are none.

    Raises:
        LinkerError: there are mentions, and none gives a query.
    """
    from linker.ranker.lists import mention_queries

    single = [(mention, name) for mention, name, _ in pairs if name and mention.gold and is_single(mention.gold)]
    if not single:
        if pairs:
            logger.warning(
                "none of the %d annotated mentions has one concept; the encoder is trained on the dictionary's names", len(pairs)
            )
        return None
    counted = mention_queries(((form(name), matching.accepted(m.gold or (), dictionary.resolve)) for m, name in single), dictionary)
    if not counted.queries:
        problem = f"{len(counted.unknown):,} have an id that the dictionary does not know, {counted.empty:,} are empty once normalised"
        raise LinkerError(f"none of the {len(single):,} training mentions of one concept can be trained on: {problem}")
    kept, left = len(counted.queries), len(counted.unknown)
    logger.info(
        "%d training queries; %d mentions came before, %d have an id that the dictionary does not know", kept, counted.duplicates, left
    )
    return counted.queries


def _frequency(pairs: Iterable[_Pair], dictionary: Dictionary, table: NameTable) -> NDArray[np.float32]:
    """For each name of a table log(1 + how often mentions of one concept are annotated with its concept), (names,).

    An annotation is parted among the concepts that its id means; of a name's several concepts the most frequent counts.
    """
    times = np.zeros(len(dictionary))
    for mention, _, _ in pairs:
        if mention.gold and is_single(mention.gold):
            rows = {row for i in matching.accepted(mention.gold, dictionary.resolve) for row in dictionary.rows(i)}
            for row in rows:
                times[row] += 1 / len(rows)
    most = np.zeros(len(table))
    np.maximum.at(most, np.repeat(np.arange(len(table)), np.diff(table.indptr)), times[table.concepts])
    return np.log1p(most).astype(np.float32)


def _checksum(*values: Any) -> str:
    """What tells data from other data."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(value.tobytes() if hasattr(value, "tobytes") else json.dumps(value).encode())
    return digest.hexdigest()


def _list(scores: Any, ranked: Ranked) -> list[Any]:
    return [None] * len(ranked.scores) if scores is None else list(scores.tolist())


def _report_training(dictionary: Dictionary, pairs: Sequence[object], names: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    """Say how many training mentions become names.

    Raises:
        LinkerError: there are some, and the dictionary knows the ids of none.
    """
    unknown = [ids for _, ids in names if not any(map(dictionary.rows, ids))]
    if names and len(unknown) == len(names):
        theirs, ours = "|".join(unknown[0]), dictionary.ids[0]
        raise LinkerError(f"the dictionary knows the id of none of the {len(names):,} training mentions ({theirs}; its own: {ours})")
    if unknown:
        logger.warning("%d of %d training mentions have no id that the dictionary knows; they add no name", len(unknown), len(names))
        logger.info("unknown ids: %s", ", ".join(sorted({i for ids in unknown for i in ids})))
    logger.info("%d annotated mentions, %d of a single concept", len(pairs), len(names))


def is_single(gold: Gold) -> bool:
    """Whether an annotation means one concept: not a composite, not an aggregate."""
    return len(gold) == 1 and gold[0].operator == "one_of"


def training_names(items: Iterable[Mention | Document], options: LinkerOptions) -> Iterator[tuple[Mention, str, tuple[str, ...]]]:
    """Turn annotated mentions into names: yield (mention, name, CURIEs).

    The name is empty for a mention that gives none: a composite or aggregate of several concepts, unless
    `text.training_composites` is `join`, or one annotated as having no concept. Mentions that are not annotated are left out.
    """
    for _, mentions, definitions in grouped(items, options):
        for mention in mentions:
            gold = mention.gold or ()
            ids = tuple(i for group in gold for i in group.ids)
            if options.text.training_composites == "join" and ids:
                yield mention, " ".join(biosyn_parts(mention.text, definitions, ids)), ids
            elif ids:
                yield mention, _expanded(mention, definitions, options) if is_single(gold) else "", ids
            elif mention.gold is not None:
                yield mention, "", ()


def _expanded(mention: Mention, definitions: Mapping[str, str], options: LinkerOptions) -> str:
    return abbreviations.expand(mention.text, definitions) if options.text.abbreviations else mention.text


def definitions_of(document: Document | None, options: LinkerOptions) -> Mapping[str, str]:
    """The short forms that a document defines; none for a loose mention, or where they are switched off."""
    if document is None or not options.text.abbreviations:
        return {}
    found = abbreviations.table(abbreviations.find(document.text, permuted=options.text.permuted))
    return found | abbreviations.compounds(found) if options.text.compounds else found


_Group = tuple[Document | None, Sequence[Mention], Mapping[str, str]]  # the last: short form -> long form


def grouped(items: Iterable[Item], options: LinkerOptions, wanted: Callable[[Mention], bool] | None = None) -> Iterator[_Group]:
    """Yield each document with its (wanted) mentions and the short forms that it defines, each loose mention alone."""
    if isinstance(items, str | Document | Mention):
        raise LinkerError(f"one {type(items).__name__} was given where a list of them is expected; put it in brackets")
    for item in items:
        if isinstance(item, Document):
            yield item, [m for m in item.mentions if wanted is None or wanted(m)], definitions_of(item, options)
            continue
        mention = Mention(item) if isinstance(item, str) else item
        if wanted is None or not mention.type or wanted(mention):
            yield None, [mention], {}


def _batches(groups: Iterable[_Group], mentions: int) -> Iterator[list[_Group]]:
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
