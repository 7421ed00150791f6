"""The files of a model folder, beside what the generator and the dictionary write."""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from linker import persistence, registry
from linker.candidates import ann, ann_building, hybrid
from linker.candidates.base import Generator
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.options import IndexOptions
from linker.candidates.sparse import SparseGenerator
from linker.dictionary import Dictionary
from linker.encoders.base import SparseEncoder
from linker.encoders.tfidf import TfidfEncoder
from linker.errors import LinkerError
from linker.linking import model_card
from linker.linking.seen import Seen
from linker.linking.spans import SpanModel
from linker.options import LinkerOptions, restored
from linker.ranker.ranker import Ranker
from linker.ranker.words import Words
from linker.version import install_hint

logger = logging.getLogger(__name__)

_HISTORY, _SPANS = "training.jsonl", "spans.json"
_RANKER, _WORDS = "ranker", "words"  # older models have neither

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class ModelParts:
    """What a linker is made of."""

    dictionary: Dictionary
    generator: Generator
    options: LinkerOptions
    seen: Seen
    corrections: Mapping[str, str]
    encoder: str  # its name in the registry
    history: Sequence[Mapping[str, Any]]
    ranker: Ranker | None
    spans: SpanModel | None
    words: Words | None  # None: they are found when they are needed


def write(folder: Path, config: Mapping[str, Any], parts: ModelParts) -> None:
    """Write the files into a folder that is being saved; `config` is what the model card tells."""
    (folder / "dictionary").mkdir()
    parts.dictionary.write(folder / "dictionary")
    parts.generator.save(folder)
    _write_index(folder, parts.generator, parts.options.index)
    persistence.save_json(folder / "seen.json", parts.seen.to_json())
    persistence.save_json(folder / "spelling.json", dict(parts.corrections))
    if parts.spans:
        persistence.save_json(folder / _SPANS, parts.spans.to_json())
    if parts.ranker:
        parts.ranker.save(folder / _RANKER)
    if parts.words:
        persistence.save_arrays(folder / _WORDS, parts.words.arrays())
    card = model_card.text(config, parts.ranker, parts.spans)
    (folder / "README.md").write_text(card, "utf-8")
    if parts.history:
        _write_history(folder, parts.history)


def _write_index(folder: Path, generator: Generator, options: IndexOptions) -> None:
    """Write the index of the vectors, where the options or the number of names want one."""
    if not isinstance(generator, HybridGenerator):
        return
    names = generator.table.texts
    if ann_building.is_wanted(options, len(names)):
        vectors = folder / hybrid.VECTORS
        ann_building.write(
            folder / hybrid.INDEX,
            vectors,
            options,
            lambda: hybrid.encode_names(generator.encoder, ann_building.changed_names(names)),
            generator.dense.on_cpu,
        )


def described_index(folder: Path) -> str:
    """A line on the index of a model folder; empty where there is none."""
    record = ann.load_record(folder / hybrid.INDEX)
    return record.summary if record else ""


def _write_history(folder: Path, history: Sequence[Mapping[str, Any]]) -> None:
    from linker.training import plot

    (folder / _HISTORY).write_text(plot.jsonl(history), encoding="utf-8")
    if importlib.util.find_spec("matplotlib"):
        plot.plot(history, folder / "training.png")
    else:
        logger.warning(
            "matplotlib is not installed, so that training.png is left out: %s",
            install_hint("dense"),
        )


def read(path: Path, config: Mapping[str, Any]) -> ModelParts:
    """Read a model folder whose files were checked; its arrays are memory-mapped.

    Raises:
        LinkerError: it holds no model that linker wrote.
    """
    try:
        return _read(path, config)
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
            f"{path}: is not a model that linker wrote "
            f"({type(error).__name__}: {error}); train again"
        ) from None


def _read(path: Path, config: Mapping[str, Any]) -> ModelParts:
    dictionary = Dictionary.open(path / "dictionary")
    encoder = _encoder(path, config["encoder"])
    options = _options(path, config)
    return ModelParts(
        dictionary,
        _generator(path, dictionary, encoder),
        options,
        Seen.from_json(persistence.load_json(path / "seen.json")),
        _corrections(path / "spelling.json"),
        config["encoder"],
        _history(path / _HISTORY),
        Ranker.load(path / _RANKER) if (path / _RANKER).is_dir() else Ranker.shipped(),
        _optional(path / _SPANS, SpanModel.from_json),
        _words(path / _WORDS, dictionary),
    )


def _words(path: Path, dictionary: Dictionary) -> Words | None:
    """The words of the names of the dictionary; None where the model has none."""
    if not path.is_dir():
        return None
    words = Words.from_arrays(persistence.load_arrays(path))
    words.check(len(dictionary.names), len(dictionary))
    return words


def _generator(path: Path, dictionary: Dictionary, encoder: Any) -> Generator:
    if issubclass(encoder, SparseEncoder):
        return SparseGenerator.load(path, dictionary, encoder)
    return HybridGenerator.load(path, dictionary, TfidfEncoder, encoder)


def _encoder(path: Path, name: str) -> Any:
    """The class of the encoder of a model folder."""
    if isinstance(name, str) and registry.place(name) is None:
        raise LinkerError(
            f"{path}: there is no encoder {name!r}, which the model was trained with; "
            "install the package that brings it"
        )
    try:
        return registry.load(name)
    except LinkerError as error:
        raise LinkerError(f"{path}: {error}") from error


def _options(path: Path, config: Mapping[str, Any]) -> LinkerOptions:
    try:
        return restored(config["options"], config["encoder"])
    except LinkerError as error:
        raise LinkerError(f"{path}: {error}") from error


def _corrections(path: Path) -> Mapping[str, str]:
    corrections = persistence.load_json(path)
    if not isinstance(corrections, dict) or not all(
        isinstance(text, str) for pair in corrections.items() for text in pair
    ):
        raise ValueError("spelling.json holds no texts")
    return corrections


def _history(path: Path) -> list[Mapping[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _optional(path: Path, make: Callable[[Any], _Value]) -> _Value | None:
    """What a JSON file holds; None where the model has none."""
    return make(persistence.load_json(path)) if path.exists() else None
