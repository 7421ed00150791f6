"""How mentions are linked: in chunks of a file, or in the files of a job."""

from __future__ import annotations

import contextlib
import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from linker.encoders.base import Device
from linker.errors import InputError, LinkerError, OnError, shorten
from linker.io import files, outputs, persistence
from linker.io import mentions as readers
from linker.io.files import pyarrow_for
from linker.io.formats import FORMATS
from linker.io.mentions import NoMentions
from linker.io.outputs import Layout
from linker.io.rows import ColumnNeeded
from linker.jobs.parts import JobFile, Work
from linker.linking.decided import Decided
from linker.linking.decisions_file import DecisionsFile
from linker.linking.documents import Annotator, recognizer
from linker.linking.linker import Linker
from linker.linking.requests import Linked, Request
from linker.linking.tally import Tally
from linker.records import Document, Mention, Selection
from linker.text import short_forms

Item = Document | Mention

_KEPT = 50_000  # loose mentions whose texts are kept, some 50 MB
_OBJECTS = 50_000  # new ones between searches for cycles, of which linking makes none
_Item = TypeVar("_Item", bound=Item)
Link = Callable[[Iterable[Any]], Iterator[Linked]]


@dataclass(frozen=True, slots=True)
class Finding:
    """How mentions are found in documents; see `linker.linking.documents`."""

    mentions_by: str | None = None  # see `linker.linking.documents.recognizer`
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """How mentions are linked and written; what is not said here is as in `Linker.link`."""

    model: str  # its folder
    form: str = "tsv"  # the format that is written
    k: int = 5
    threshold: float | None = None
    min_score: float | None = None
    within: Selection | None = None
    mention_type: str | None = None  # other mentions are not linked; with `finding`, of those found
    batch_size: int = 1024  # mentions of a chunk
    input_format: str = "auto"
    column: str | None = None  # of the mentions in Parquet files
    device: Device = "auto"  # where mentions are encoded, and names are searched
    decisions: str | None = None  # a file of decisions, which win over the model
    finding: Finding | None = None  # None: mentions are marked, and none is found
    also: tuple[str, ...] = ()  # prefixes of vocabularies whose ids are added
    coverage: float | None = None  # of sets of answers; None: there are none
    exact_only: bool = False  # whether no broader concepts are given
    field_labels: tuple[str, ...] = ()  # which cells may begin with
    short_forms: str | None = None  # a list of them, which win over those of linker
    width: int = 80  # of the terminal in columns, for the format `text`

    def load(self) -> Linker:
        """Load the model, on its device, restricted to `within`.

        Raises:
            LinkerError: it cannot do what the settings ask for; nothing is written yet.
        """
        linker = Linker.load(self.model)
        if self.short_forms:
            both = linker.short_forms.beside(short_forms.read(self.short_forms))
            linker = replace(linker, short_forms=both)
        linker.use("fp32", self.device)
        limits = {name: getattr(self, name) for name in ("threshold", "also", "coverage")}
        linker.checked(Request("", **limits, labels=self.field_labels))
        _check_form(self.form, bool(self.also), bool(self.coverage))
        return linker.restricted(self.within)

    @property
    def wanted(self) -> Callable[[Mention], bool] | None:
        """Which mentions are linked; None: all."""
        return readers.of_type(self.mention_type) if self.mention_type else None

    def link(self, linker: Linker, decisions: Decided | None) -> Link:
        """What links items by these settings; `decisions`: those that win over the model."""
        asked: Any = {
            name: getattr(self, name)
            for name in ("k", "threshold", "min_score", "also", "coverage", "exact_only")
        } | {"decisions": decisions, "labels": self.field_labels}
        if finding := self.finding:
            by = finding.mentions_by
            find = recognizer(by, finding.labels) if by else None
            annotator = Annotator(linker, find, self.mention_type)
            return partial(annotator.annotate, **asked)
        return partial(linker.link_items, **asked, batch_size=self.batch_size, wanted=self.wanted)

    def layout(self, documents: bool, linker: Linker, decisions: Decided | None) -> Layout:
        """What is written beside the concepts; `documents`: whether the mentions are of some."""
        asked = bool(self.also), bool(self.coverage), self.exact_only
        layout = layout_of(self.form, documents, linker, decisions is not None, *asked)
        return replace(layout, width=self.width)

    def of_chunks(
        self, documents: bool, linker: Linker | None = None
    ) -> Callable[[Sequence[Item]], Written]:
        """What links chunks of items, and writes them into texts.

        Args:
            documents: whether the mentions are of documents, see `linker.io.outputs.Layout`.
            linker: the one that the settings ask for, if it is there.
        """
        linker = linker or self.load()
        gc.set_threshold(_OBJECTS)
        decisions = Decided.of_file(self.decisions, linker)
        link = self.link(linker, decisions)
        layout = self.layout(documents, linker, decisions)
        return partial(_written, link, outputs.writer_of(self.form), layout, {})


@dataclass(frozen=True, slots=True)
class Written:
    """The predictions of a chunk."""

    header: str  # of a file
    text: str  # its items
    items: int
    mentions: int  # that were linked
    tally: Tally  # of them


_Text = tuple[str, list[outputs.Outcome]]
"""What is written of an item, and the outcomes of its mentions."""


def _written(
    link: Link,
    format: outputs.Writer,
    layout: Layout,
    known: dict[Mention, _Text],
    items: Sequence[Item],
) -> Written:
    """Link items, and write their predictions into texts.

    Args:
        link: gives the predictions.
        format: writes them.
        layout: of what is written.
        known: the texts of loose mentions that came before, which are not linked again.
        items: documents, or loose mentions.
    """
    mentions = [item for item in items if isinstance(item, Mention)]
    is_loose = len(mentions) == len(items)
    new = [m for m in dict.fromkeys(mentions) if m not in known] if is_loose else items
    linked = list(link(new))
    texts: list[_Text] = [
        (format.item(document, predictions, layout), [*map(outputs.outcome, predictions)])
        for document, predictions in linked
    ]
    if is_loose:
        before = {mention: known[mention] for mention in mentions if mention in known}
        made = dict(zip((of_one[0].mention for _, of_one in linked), texts, strict=True))
        if len(known) > _KEPT:
            known.clear()
        known |= made
        texts = [text for m in mentions if (text := made.get(m) or before.get(m))]
    header = format.header(linked[0][0] if linked else None, layout)
    outcomes = Counter(outcome for _, of_item in texts for outcome in of_item)
    whole = "".join(text for text, _ in texts)
    tally = Tally(outcomes)
    for _, of_item in linked:
        for prediction in of_item:
            tally.see(prediction)
    return Written(header, whole, len(texts), outcomes.total(), tally)


def layout_of(
    form: str,
    documents: bool,
    linker: Linker,
    decisions: bool,
    also: bool = False,
    sets: bool = False,
    exact_only: bool = False,
) -> Layout:
    """What a file of a format has beside the concepts, given what they were linked by.

    Args:
        form: the format.
        documents: whether the mentions are of documents.
        linker: what they were linked by.
        decisions: whether decisions of people were applied.
        also: whether ids of other vocabularies were asked for.
        sets: whether sets of answers were asked for.
        exact_only: whether broader concepts were not.

    Raises:
        LinkerError: they were, and the format has no place for them.
    """
    _check_form(form, also, sets)
    vocabulary = linker.dictionary.vocabulary if form in ("sssom", "conceptmap") else None
    broader = linker.has_broader and not exact_only
    sources = decisions or lends(linker)
    return Layout(documents, sources, decisions, vocabulary, also, sets, broader)


def _check_form(form: str, also: bool, sets: bool) -> None:
    if sets and form in FORMATS and not FORMATS[form].has_sets:
        raise LinkerError(
            f"the format {form} has no place for sets of answers (coverage); choose tsv or jsonl"
        )
    if also and form in FORMATS and not FORMATS[form].has_also:
        raise LinkerError(
            f"the format {form} has no place for the ids of other vocabularies (--also); "
            "leave them out, or write tsv or jsonl"
        )


def lends(linker: Linker) -> bool:
    """Whether answers may have sources: other vocabularies, or names that people use."""
    has_names = len(linker.everyday) > len(linker.everyday.short_forms)  # which have no source
    return len(linker.dictionary.lent_rows) > 0 or has_names


def chunks(
    items: Iterable[_Item], size: int, wanted: Callable[[Mention], bool] | None = None
) -> Iterator[list[_Item]]:
    """The chunks of items that `Linker.link_items` links together; without items an empty one.

    Args:
        items: the items.
        size: of a chunk in mentions; the last one may be smaller.
        wanted: which mentions of documents are linked; None: all.
    """
    chunk: list[_Item] = []
    mentions, is_first = 0, True
    for item in items:
        chunk.append(item)
        marked = item.mentions if isinstance(item, Document) else (item,)
        mentions += max(1, sum(1 for m in marked if wanted is None or wanted(m)))
        if mentions >= size:
            yield chunk
            chunk, mentions, is_first = [], 0, False
    if chunk or is_first:
        yield chunk


def has_documents(input_format: str) -> bool:
    """Whether a format has documents, so that a table needs columns for their ids and spans."""
    return input_format not in ("txt", "tsv")


def selectable(
    items: Iterable[_Item], linker: Linker, path: str, *, on_error: OnError
) -> Iterator[_Item]:
    """Pass on the items whose own selections fit the dictionary; the others are bad records.

    Args:
        items: the items of a file.
        linker: links them.
        path: the file, for messages.
        on_error: what to do with a bad record.
    """
    for item in items:
        try:
            linker.check_selection(item)
        except LinkerError as error:
            title = f"mention {shorten(item.text)!r}"
            if isinstance(item, Document):
                title = f"document {item.id}"
            on_error(InputError(path, f"{title}: {error}"))
        else:
            yield item


def link_files(settings: LinkSettings) -> Work:
    """What links the files of a job by the model and the decisions as they are now.

    Raises:
        LinkerError: there is no model, or the format needs what is not installed.
    """
    if settings.form == "parquet":
        pyarrow_for("--format parquet")
    paths = {"model": settings.model, "decisions": settings.decisions}
    absolute: Any = {name: path and str(Path(path).absolute()) for name, path in paths.items()}
    settings = replace(settings, **absolute)
    hashes = _hashes(settings)
    contents = {"model": hashes[0], "decisions": hashes[1]}  # not where they are
    neither = {"batch_size": 0, "width": 0}  # changes an answer
    options = asdict(settings) | contents | neither
    suffix = FORMATS[settings.form].suffix or f".{settings.form}"
    return Work(partial(_load, settings, hashes), suffix, options)


def _load(settings: LinkSettings, hashes: tuple[str, str]) -> Callable[[JobFile, OnError], int]:
    """Load the model and the decisions, which must have these checksums."""
    linker = settings.load()
    decisions = Decided.of_file(settings.decisions, linker)
    if _hashes(settings) != hashes:
        files = f"{settings.model} (or its decisions)"
        raise LinkerError(f"{files}: was replaced since the job began; run it again")
    return partial(_link_file, settings, linker, decisions)


def _link_file(
    settings: LinkSettings,
    linker: Linker,
    decisions: Decided | None,
    file: JobFile,
    on_error: OnError,
) -> int:
    """Link a file of a job; returned is the number of its mentions."""
    kind = settings.input_format
    if kind == "auto":
        kind = readers.detect(file.path)
        try:
            readers.check_list(file.path, kind)
        except ColumnNeeded as error:
            remedy = "link it by itself with --column"
            raise InputError(file.path, error.problem, remedy=remedy) from None

    def items() -> Iterator[Item]:
        with contextlib.suppress(NoMentions):  # one of many files may well have none
            yield from readers.read(file.path, kind, on_error=on_error, column=settings.column)

    link = settings.link(linker, decisions)
    linked = link(selectable(items(), linker, file.path, on_error=on_error))
    if settings.form == "parquet":
        from linker.io import tsv

        with files.write_binary_aside(file.output) as raw:
            layout = replace(settings.layout(True, linker, decisions), sources=True, decisions=True)
            count = tsv.write_parquet(linked, raw, layout)
            file.check()
        return count
    layout = settings.layout(has_documents(kind), linker, decisions)
    with files.write_aside(file.output) as text:
        count = outputs.write(settings.form, linked, text, layout)
        file.check()
    return count


def model_hash(model: str) -> str:
    """The checksum of a model: that of its manifest, which has the checksums of its files.

    Raises:
        LinkerError: there is no model.
    """
    manifest = Path(model) / persistence.MANIFEST
    if not manifest.is_file():
        persistence.load(model, "model", lambda *_: None)  # which says what is wrong
    return files.sha256(manifest)


def _hashes(settings: LinkSettings) -> tuple[str, str]:
    """The checksums of the model, and of the decisions in force; empty where no file is named."""
    of_decisions = ""
    if settings.decisions:
        with DecisionsFile(settings.decisions, read_only=True) as store:
            of_decisions = hashlib.sha256(repr(store.list()).encode()).hexdigest()
    return model_hash(settings.model), of_decisions
