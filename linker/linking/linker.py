"""Linker: a dictionary, what ranks its names and the options, which map mentions to concepts."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from cachetools import LRUCache, cachedmethod
from numpy.typing import NDArray
from tabulate import tabulate

from linker.arguments import WHOLE, Kind, public
from linker.dictionary import Dictionary, everyday, hierarchy
from linker.dictionary.lookup import DictionaryNames
from linker.encoders.base import Device, Precision
from linker.errors import LinkerError, shown
from linker.io import files, persistence, tsv
from linker.linking import folder as model_folder
from linker.linking.calibration import Calibration
from linker.linking.engine import Engine, NameOrders
from linker.linking.folder import Seen
from linker.linking.options import LinkerOptions, as_saved
from linker.linking.ranker import Ranker
from linker.linking.ranking import DescribedBatch, batch_of
from linker.linking.requests import (
    LIMITS,
    Answer,
    Limits,
    Linked,
    Request,
    Restrictions,
    Task,
    batches,
    linked,
)
from linker.linking.spans import SpanModel
from linker.linking.words import Words
from linker.records import Document, Mention, Prediction, Selection
from linker.search.concepts import Generator
from linker.search.hybrid import HybridGenerator
from linker.text import everyday as everyday_names
from linker.text import short_forms, spelling
from linker.text.everyday import EverydayNames
from linker.text.mentions import Item, several
from linker.text.short_forms import ShortForms

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from linker.linking.decided import Decided
    from linker.linking.explain import Explanation

_CACHES = 10_000  # names that take as much memory as the caches of a linker
_PARTS = 32  # small parts of the dictionary that are kept for mentions restricted to them
_BATCH = 1024  # mentions that are linked together
_NAMES = 100  # that are put in order by the ranker, where names are ranked
_SHOWN = 20  # predictions that a notebook shows
_MENTION = Kind("a text or a Mention", (str, Mention))
_ITEMS = Kind("a text, a Mention, a Document, or several", (*_MENTION.classes, Document, Iterable))
_AS_TEXT: dict[str, Any] = {"disable_numparse": True, "preserve_whitespace": True}


class Predictions(list[Prediction]):
    """The answers for a list of mentions, in their order: a list that shows itself as a table."""

    def __getitem__(self, place: Any) -> Any:
        """One answer, or those of a slice."""
        found = super().__getitem__(place)
        return Predictions(found) if isinstance(found, list) else found

    def to_dict(self) -> list[dict[str, Any]]:
        """An object for each answer, see `Prediction.to_dict`."""
        return [prediction.to_dict() for prediction in self]

    def to_frame(self) -> Any:
        """A data frame with the rows of the tsv that `linker link` writes, best candidates first.

        It is one of pandas where that is installed, else one of polars. Columns that a tsv has only
        for documents, lent names and decisions are there where they have a value.

        Raises:
            LinkerError: neither is installed.
        """
        return _frame(*tsv.table(self))

    def __repr__(self) -> str:
        linked = sum(all(part.best for part in prediction.parts) for prediction in self)
        lines = [f"<Predictions: {len(self):,} mentions, {linked:,} linked>"]
        lines += [f"  {prediction}" for prediction in self[:_SHOWN]]
        if more := len(self[_SHOWN:]):
            lines.append(f"  and {more:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns, rows = tsv.table(self[:_SHOWN])
        table = tabulate([list(map(_text, row)) for row in rows], columns, "html", **_AS_TEXT)
        more = len(self[_SHOWN:])
        return str(table) + (f"<p>and {more:,} more</p>" if more else "")


def _frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Any:
    """A data frame of pandas where that is installed, else one of polars.

    Raises:
        LinkerError: neither is installed.
    """
    for package, options in (
        ("pandas", {"columns": columns}),
        ("polars", {"schema": columns, "orient": "row", "infer_schema_length": None}),
    ):
        try:
            library = importlib.import_module(package)
        except ImportError:
            continue
        return library.DataFrame(list(rows), **options)
    raise LinkerError("a data frame needs pandas or polars: pip install pandas")


def _text(cell: Any) -> str:
    return shown("" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell))


@dataclasses.dataclass(eq=False, repr=False)
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
        known_words: of the names; None: they are found when they are needed.
        restrictions: the part of the dictionary that it answers with; see `restricted`.
        short_forms: of clinical notes, for mentions without a document that explains them.
    """

    dictionary: Dictionary
    generator: Generator
    options: LinkerOptions
    seen: Seen
    corrections: Mapping[str, str]
    encoder: str = "tfidf"
    history: Sequence[Mapping[str, Any]] = ()
    ranker: Ranker | None = None
    spans: SpanModel | None = None
    known_words: Words | None = None
    restrictions: Restrictions = ()
    short_forms: ShortForms = dataclasses.field(default_factory=short_forms.shipped)

    def __post_init__(self) -> None:
        total = 2 * len(self.generator.table) + _PARTS * _CACHES
        self._parts: LRUCache[Restrictions, Linker] = LRUCache(total, _size)
        self._lock = Lock()  # of the cache; parts are made outside it
        self.whole: Linker | None = None  # that it is a part of

    def __reduce__(self) -> tuple[Any, ...]:  # a copy starts with empty caches
        return Linker, tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    def with_ranker(self, ranker: Ranker | None) -> Linker:
        """The same linker with another ranker; None: candidates are ordered by score."""
        return dataclasses.replace(self, ranker=ranker)

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
                with self._lock:
                    self._parts.clear()  # they search where they did
                self.generator.move(device)
            return [encoder.use(precision) for encoder in self.generator.encoders][-1]
        if device == "cuda" or precision not in ("auto", "fp32"):
            raise LinkerError(
                "the model links by characters, which have no vectors to search on a GPU or to "
                "compute in another precision; train with another encoder, such as static"
            )
        return "fp32"

    @property
    def best_epoch(self) -> int:
        """The epoch whose weights are kept, of the last list-wise phase; 0 where there was none."""
        listwise = [r for r in self.history if r["phase"] not in ("align", "ground")]
        if not listwise:
            return 0
        records = [record for record in listwise if record["phase"] == listwise[-1]["phase"]]
        if not self.options.recipe.published and "dev_acc1" in records[0]:
            return int(max(records, key=lambda record: record["dev_acc1"])["epoch"])
        return int(records[-1]["epoch"])

    @public("Linker.link", LIMITS, items=_ITEMS, batch_size=WHOLE)
    def link(
        self,
        items: Item | Iterable[Item],
        *,
        batch_size: int = _BATCH,
        **limits: Unpack[Limits],
    ) -> Any:
        """Link one mention, or many in their order.

        Args:
            items: a text, a mention, a document with mentions, whose text explains their short
                forms, or many of these: a list or another collection, or what is read only once.
            batch_size: mentions that are read before they are linked together; 1 answers each at
                once.
            limits: how many candidates, and which: the fields of a `Request`, such as k=5.

        Returns:
            One prediction for a text or a mention. For a document or a collection, a list of
            predictions. For any other iterable, such as a generator, an iterator, which reads and
            links in bounded memory as it is asked.

        Raises:
            LinkerError: a number is out of its range, or there is a threshold and the model gives
                no confidence, or no concept has a reference to a vocabulary, or an item is none.
        """
        many = items if isinstance(items, Iterable) and not isinstance(items, str) else [items]
        linked = self.link_items(many, batch_size=batch_size, **limits)
        predictions = (prediction for _, of_item in linked for prediction in of_item)
        if isinstance(items, str | Mention):
            return next(predictions)
        return Predictions(predictions) if isinstance(many, Collection) else predictions

    @public("Linker.link_items", LIMITS, items=_ITEMS, batch_size=WHOLE)
    def link_items(
        self,
        items: Iterable[Item],
        *,
        batch_size: int = _BATCH,
        wanted: Callable[[Mention], bool] | None = None,
        **limits: Unpack[Limits],
    ) -> Iterator[Linked]:
        """As `link`, but item by item: each document with the predictions of its `wanted` mentions.

        Args:
            items, batch_size, limits: as for `link`.
            wanted: which mentions are linked; None: all.
        """
        if batch_size < 1:
            raise LinkerError(f"batch_size is {batch_size}; expected: 1 or more")
        request = self.checked(Request("", **limits))  # before anything is read
        self.restricted(request.within)
        requests = (Request(item, **limits) for item in several(items))
        yield from self.answers(requests, batch_size, wanted)

    def answer(self, requests: Iterable[Request]) -> list[Linked]:
        """Link what is requested; each item is answered as it would be alone."""
        return list(self.answers(requests))

    def answers(
        self,
        requests: Iterable[Request],
        batch_size: int = _BATCH,
        wanted: Callable[[Mention], bool] | None = None,
    ) -> Iterator[Linked]:
        """As `answer`, in bounded memory; all linking goes this way, and on to `Engine.link`.

        Args:
            requests: items, each with its own limits.
            batch_size, wanted: as for `link_items`.
        """
        checked = map(self.checked, requests)
        for batch in batches(checked, self.options.text, batch_size, wanted):
            for engine, answers in self._by_engine(batch):
                engine.link(answers)
            yield from map(linked, batch)

    def _by_engine(self, batch: Sequence[Task]) -> list[tuple[Engine, list[Answer]]]:
        """The mentions of a batch by the part of the dictionary that may answer them."""
        by_part: dict[Restrictions, list[Answer]] = {}
        for _, _, answers in batch:
            for answer in answers:
                by_part.setdefault(answer.restrictions, []).append(answer)
        return [(self._part(part).engine, answers) for part, answers in by_part.items()]

    def checked(self, request: Request) -> Request:
        """A request; what the model cannot give is refused: a confidence, or ids of a vocabulary.

        Raises:
            LinkerError: it is asked for.
        """
        if request.threshold and self.ranker is None:
            raise LinkerError(
                "the linker gives no confidence, so that there is no threshold on it; "
                "limit the raw score (--min-score)"
            )
        if request.coverage and not self.has_sets:
            raise LinkerError(
                "nothing calibrates sets of answers of this model (--coverage): its candidates are "
                "ordered by score, or an earlier release trained it; train it again"
            )
        if request.labels and not self.options.text.cells:
            raise LinkerError(
                "the model takes mentions as they are written (text.cells=false), so that no label "
                "is taken off them; train it with text.cells=true, or leave the labels out"
            )
        if request.also:
            self.dictionary.check_also(request.also)
        return request

    @property
    def has_broader(self) -> bool:
        """Whether mentions without an exact concept can have a broader one."""
        return bool(self.ranker and self.dictionary.hierarchy.edges)

    @property
    def has_sets(self) -> bool:
        """Whether sets of answers can be asked for."""
        return bool(self.calibration.groups)

    @property
    def calibration(self) -> Calibration:
        """That of the ranker; an empty one, which promises nothing, where there is no ranker."""
        return self.ranker.calibration if self.ranker else Calibration()

    def lists(self, items: Iterable[Item]) -> Iterator[tuple[list[Mention], DescribedBatch]]:
        """The described candidates of mentions, a batch at a time, as the ranker sees them."""
        for tasks in batches(map(Request, several(items)), self.options.text, _BATCH):
            for engine, answers in self._by_engine(tasks):
                engine.read(answers)
                batch = batch_of(answers, engine.generator, engine.matches, engine.allowed)
                yield [answer.mention for answer in answers], batch

    @public(
        "Linker.explain",
        mention=_MENTION,
        document=Kind("a Document", (Document,)).or_none(),
        k=WHOLE,
        within=LIMITS["within"],
        decisions=LIMITS["decisions"],
    )
    def explain(
        self,
        mention: str | Mention,
        *,
        concept: str | None = None,
        document: Document | None = None,
        k: int = 5,
        within: Selection | None = None,
        decisions: Decided | None = None,
    ) -> Explanation:
        """Say why a mention is answered as it is, and why a concept is not the answer.

        Args:
            mention: the mention, or its text.
            concept: the id of a concept that was expected.
            document: the document of the mention, which need not be marked in it.
            k: how many concepts to explain for each part.
            within, decisions: as for `link`.

        Raises:
            LinkerError: the mention is blank, or the dictionary does not have the id.
        """
        from linker.linking import explain  # nothing that is linked needs it

        mention, item = explain.marked(mention, document)
        request = Request(item, k, within=within, decisions=decisions)
        ((_, _, answers),) = next(batches([request], self.options.text, 1))
        answer = next(answer for answer in answers if answer.mention == mention)
        together = [a for a in answers if a.restrictions == answer.restrictions]
        engine = self._part(answer.restrictions).engine
        return explain.explain(engine, answer, engine.link(together), concept)

    @public("Linker.restricted", within=LIMITS["within"])
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
        mentions = item.mentions if isinstance(item, Document) else ()
        for within in dict.fromkeys((None, *(mention.within for mention in mentions))):
            self._part(tuple(filter(None, (item.within, within))))

    def _part(self, restrictions: Restrictions) -> Linker:
        """The linker of the concepts that fit all restrictions; the latest ones are kept."""
        whole = self.whole or self
        together = tuple(dict.fromkeys((*self.restrictions, *restrictions)))
        return self if together == self.restrictions else whole._made(together)

    @cachedmethod(lambda self: self._parts, lock=lambda self: self._lock)
    def _made(self, restrictions: Restrictions) -> Linker:
        linkable = np.zeros(len(self.dictionary), bool)
        linkable[self.linkable] = True
        concepts = hierarchy.selected(self.dictionary, restrictions, linkable)
        generator = self.generator.among(concepts)
        part = dataclasses.replace(self, generator=generator, restrictions=restrictions)
        part.whole = self
        return part

    @cached_property
    def engine(self) -> Engine:
        """What links the mentions that it answers; it does not hold the linker."""
        return Engine(self)

    @property
    def words(self) -> Words:
        """The words of the names of the dictionary."""
        if self.known_words is None:
            self.known_words = Words.of(self.dictionary, self.normalize)
        return self.known_words

    @property
    def linkable(self) -> NDArray[np.int32]:
        """The rows of the concepts that it can answer with."""
        return self.engine.linkable

    @cached_property
    def found_names(self) -> DictionaryNames:
        """Finds the names of the concepts that it can answer with."""
        table = self.generator.table
        everyday = []
        for name in self.everyday.in_texts():
            row = table.row(self.normalize(name.target))
            if row >= 0:
                everyday.append((name.name, int(table.entries[table.indptr[row]])))
        return DictionaryNames(self.dictionary, self.options.text, self.linkable, everyday)

    @cached_property
    def normalize(self) -> Callable[[str], str]:
        """Gives the form of a text that is looked up; it does not hold the linker."""
        options = self.options
        return partial(
            spelling.normal_form,
            options=options.normalize,
            corrections=self.corrections,
            language=options.text.language,
        )

    @cached_property
    def everyday(self) -> EverydayNames:
        """The names that people use that its dictionary is lent; a part has those of the whole.

        Names are English; short forms of notes are written in other languages, too.
        """
        if self.whole:
            return self.whole.everyday
        options = self.options.text
        if not options.everyday or options.biosyn:
            return EverydayNames()
        names = everyday_names.shipped()
        if "en" not in options.codes:
            return EverydayNames(short_forms=[name for name in names if name.is_short_form])
        return everyday.lent(self.dictionary, self.generator.table, self.normalize, names)

    def rank_names(self, texts: Sequence[str], k: int) -> list[NameOrders]:
        """The k best names of each text, for the protocol `biosyn`; see `Engine.names`."""
        orders = self.engine.names(texts, max(k, _NAMES))
        return [NameOrders(*(names.only(slice(k)) for names in of_one)) for of_one in orders]

    def save(self, folder: files.Pathlike) -> None:
        """Write the model folder; one that stood there is replaced at the end."""
        config = {
            "encoder": self.encoder,
            "options": as_saved(self.options, self.encoder),
            "dictionary": self.describe_dictionary(),
        }
        with persistence.saving(folder, "model", config, model_folder.read) as aside:
            model_folder.write(aside, self)

    @classmethod
    def load(cls, folder: files.Pathlike, *, renew: bool = False) -> Linker:
        """Load a model folder; its arrays are memory-mapped.

        Args:
            folder: the folder.
            renew: whether a ranker whose weights were shipped gets those that are shipped now; one
                that learnt mentions stays as it is.

        Raises:
            LinkerError: the folder is no model, of another version, or a file of it is missing or
                changed.
        """
        return cls(**persistence.load(folder, "model", partial(model_folder.read, renew=renew)))

    def describe_dictionary(self) -> dict[str, object]:
        """What the dictionary was made of, for `config.json` and `metrics.json`."""
        sources = [dataclasses.asdict(source) for source in self.dictionary.sources]
        return {
            "concepts": len(self.dictionary),
            "names": len(self.generator.table),
            "sources": sources,
        }

    def __repr__(self) -> str:
        return f"<Linker {self.encoder} of {self.dictionary!r}>"

    def __sklearn_clone__(self) -> Linker:
        return self  # which is never changed in place, and large


def _size(linker: Linker) -> int:
    """The memory that a linker takes beside others of its dictionary, in names."""
    return len(linker.generator.table) + _CACHES
