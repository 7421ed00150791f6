"""The files of a model folder, beside what the generator and the dictionary write; its card."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linker.dictionary import Dictionary
from linker.encoders import registry
from linker.encoders.base import SparseEncoder
from linker.encoders.tfidf import TfidfEncoder
from linker.errors import LinkerError
from linker.ids import KnownVocabulary, of_prefix
from linker.io import persistence
from linker.linking.options import restored
from linker.linking.ranker import OlderRankerError, Ranker
from linker.linking.spans import SpanModel
from linker.linking.words import Words
from linker.records import Source
from linker.search import ann, hybrid
from linker.search.concepts import Generator
from linker.search.hybrid import HybridGenerator
from linker.search.index import IndexOptions
from linker.search.sparse import SparseGenerator
from linker.version import VERSION

if TYPE_CHECKING:
    from linker.linking.linker import Linker

CARD = "README.md"
_DICTIONARY, _SEEN, _SPELLING = "dictionary", "seen.json", "spelling.json"
_HISTORY, _SPANS = "training.jsonl", "spans.json"
_RANKER, _WORDS = "ranker", "words"  # a model without a ranker has neither


@dataclass(frozen=True, slots=True)
class Seen:
    """The normalised mentions and the concept ids that a model was trained on.

    Evaluation reports those that were not seen in training by themselves.
    """

    mentions: frozenset[str] = frozenset()
    concepts: frozenset[str] = frozenset()
    # how often a normalised mention was annotated as having no concept
    without_concept: Mapping[str, int] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Any]:
        """What `json` can write."""
        return {
            "mentions": sorted(self.mentions),
            "concepts": sorted(self.concepts),
            "without_concept": dict(sorted(self.without_concept.items())),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Seen:
        """Read what `to_json` made."""
        return cls(
            frozenset(record["mentions"]),
            frozenset(record["concepts"]),
            {form: int(times) for form, times in record["without_concept"].items()},
        )


def write(folder: Path, linker: Linker) -> None:
    """Write the files into a folder that is being saved."""
    (folder / _DICTIONARY).mkdir()
    linker.dictionary.write(folder / _DICTIONARY)
    linker.generator.save(folder)
    _write_index(folder, linker.generator, linker.options.index)
    persistence.save_json(folder / _SEEN, linker.seen.to_json())
    persistence.save_json(folder / _SPELLING, dict(linker.corrections))
    if linker.spans:
        persistence.save_json(folder / _SPANS, linker.spans.to_json())
    if linker.ranker:
        linker.ranker.save(folder / _RANKER)
        persistence.save_arrays(folder / _WORDS, linker.words.arrays())
    (folder / CARD).write_text(card(linker), "utf-8")
    if linker.history:
        lines = [json.dumps(dict(record)) + "\n" for record in linker.history]
        (folder / _HISTORY).write_text("".join(lines), "utf-8")


def _write_index(folder: Path, generator: Generator, options: IndexOptions) -> None:
    """Write the index of the vectors, where the options or the number of names want one."""
    if not isinstance(generator, HybridGenerator):
        return
    names = generator.table.texts
    if ann.is_wanted(options, len(names)):
        ann.write(
            folder / hybrid.INDEX,
            folder / hybrid.VECTORS,
            options,
            lambda: hybrid.encode_names(generator.encoder, ann.changed_names(names)),
            generator.dense.on_cpu,
        )


def described_index(folder: Path) -> str:
    """A line on the index of a model folder; empty where there is none."""
    record = ann.IndexRecord.load(folder / hybrid.INDEX)
    return record.summary if record else ""


def read(folder: Path, config: Mapping[str, Any], *, renew: bool = False) -> dict[str, Any]:
    """Read what a linker is made of, in a folder whose files were checked, by its arguments.

    Arrays are memory-mapped.

    Args:
        folder: the folder.
        config: its `config.json`.
        renew: whether weights that were shipped become those that are shipped now.

    Raises:
        LinkerError: the encoder is not installed, or the options are of another release.
        Exception: the files are not as linker writes them; `persistence.load` says so.
    """
    name = config["encoder"]
    try:
        first, second = registry.both(name)
        encoder, options = registry.load(first), restored(config["options"], name)
        further = registry.load(second) if second else None
    except LinkerError as error:
        raise LinkerError(f"{folder}: {error}") from error
    dictionary = Dictionary.open(folder / _DICTIONARY)
    generator: Generator
    if issubclass(encoder, SparseEncoder):
        generator = SparseGenerator.load(folder, dictionary, encoder)
    else:
        generator = HybridGenerator.load(folder, dictionary, TfidfEncoder, encoder, further)
    seen = Seen.from_json(persistence.load_json(folder / _SEEN))
    corrections = persistence.load_json(folder / _SPELLING)
    if not all(isinstance(text, str) for pair in corrections.items() for text in pair):
        raise ValueError(f"{_SPELLING} holds no texts")
    history, spans, words = [], None, None
    if (folder / _HISTORY).exists():
        history = [json.loads(line) for line in (folder / _HISTORY).read_text("utf-8").splitlines()]
    if (folder / _SPANS).exists():
        spans = SpanModel.from_json(persistence.load_json(folder / _SPANS))
    if (folder / _WORDS).is_dir():
        words = Words.from_arrays(persistence.load_arrays(folder / _WORDS))
        words.check(len(dictionary.names), len(dictionary))
    ranker = _read_ranker(folder / _RANKER, renew) if (folder / _RANKER).is_dir() else None
    return {
        "dictionary": dictionary,
        "generator": generator,
        "options": options,
        "seen": seen,
        "corrections": corrections,
        "encoder": name,
        "history": history,
        "ranker": ranker,
        "spans": spans,
        "known_words": words,
    }


def _read_ranker(folder: Path, renew: bool) -> Ranker:
    """The ranker of a model; that of this release where a shipped one is to be renewed."""
    try:
        ranker = Ranker.load(folder)
    except OlderRankerError as error:
        if not (renew and error.is_shipped):
            raise
        return Ranker.shipped()
    if renew and ranker.provenance.get("shipped"):
        return Ranker.shipped()
    return ranker


# -------------------------------------------------------------------------------------- card


def licence(source: Source) -> KnownVocabulary | None:
    """The vocabulary that a file holds; None where its licence is not known."""
    format, _, _ = source.format.partition(",")  # ", names only" or the like may follow
    known = map(of_prefix, (format, source.namespace))
    return next((vocabulary for vocabulary in known if vocabulary.terms), None)


def check_licences(sources: Iterable[Source]) -> None:
    """Refuse to give away names that may not be passed on.

    Raises:
        LinkerError: they are of a vocabulary whose licence does not allow it.
    """
    for source in sources:
        known = licence(source)
        if known and not known.may_be_passed_on:
            raise LinkerError(
                f"{source.file}: the model holds names of {known.title}, which may not be "
                f"passed on ({known.terms}: {known.licence}); where you are allowed to, give "
                "licence_allows=True"
            )


def card(linker: Linker, place: str = "") -> str:
    """What is in a model, for people and for the Hugging Face hub to read, in Markdown.

    Args:
        linker: the model.
        place: its id on the hub; empty: it is only saved.
    """
    from jinja2 import Environment, StrictUndefined  # nothing that is linked needs it

    licences = [(source, licence(source)) for source in linker.dictionary.sources]
    words = {known and known.on_hub for _, known in licences} or {None}
    environment = Environment(  # noqa: S701 - Markdown
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    template = resources.files("linker.linking").joinpath("card.md.jinja").read_text("utf-8")
    return environment.from_string(template).render(
        linker=linker,
        place=place,
        version=VERSION,
        licences=licences,
        on_hub=None if None in words else words.pop() if len(words) == 1 else "other",
        languages=_languages(linker),
        accuracy=_accuracy(linker),
    )


def _languages(linker: Linker) -> list[str]:
    """The codes of the languages of the names, where their source tells them."""
    dictionary = linker.dictionary
    labels = np.unique(dictionary.columns.names.language)
    codes = (dictionary.labels[label].lower() for label in labels)
    return sorted(code for code in codes if re.fullmatch("[a-z]{2,3}", code))


def _accuracy(linker: Linker) -> float | None:
    """Acc@1 on development mentions of the epoch that was kept; None where there were none."""
    records = [record for record in linker.history if "dev_acc1" in record]
    kept = [record["dev_acc1"] for record in records if record["epoch"] == linker.best_epoch]
    return kept[-1] if kept else None
