"""Static vectors: a name is the sum of the vectors of its sub-words; needs neither torch nor hub.

The vectors are those that a sentence encoder makes of single words, brought to sub-words once and
for all (`wordpieces_making.py`). They are fitted to a dictionary by two closed forms.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from linker import persistence
from linker.dictionary import NameTable
from linker.dictionary.classes import of_concepts
from linker.encoders.base import Changes, Encoder, EncoderContext, Preset, merged
from linker.encoders.wordpieces import WordPieces
from linker.encoders.words import unit
from linker.errors import LinkerError
from linker.fields import OptionGroup, Share
from linker.version import install_hint

logger = logging.getLogger(__name__)

_OPTIONS = "static.json"
_FITTED = 200_000  # names that the vectors are fitted to, at most
_ENOUGH = 100  # names for each component that is kept; with fewer all components are
_SMALL = 1e-6  # variance that rounding alone makes

_UNTRAINED: Changes = {"training": {"epochs": 0, "sparse_weight": 10}}  # λ = 10 / 20
_TUNED: Changes = {
    "align": {"learning_rate": 1e-2, "temperature": 0.1, "hard_negatives": False},
    "training": {"epochs": 1, "learning_rate": 3e-3, "weight_decay": 0, "dictionary_queries": 0},
}

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StaticOptions(OptionGroup):
    """Static vectors: which table of sub-words, and how it is fitted to the dictionary."""

    group: ClassVar[str] = "static"

    # the transformer whose vectors the table is made of, with the words of the dictionary, a folder
    # or an id on the Hugging Face hub; empty: the table that comes with linker
    model: str = ""
    # components of a vector, at most; small dictionaries keep all of the table's
    dim: Annotated[int, Field(ge=1, le=4096)] = 128
    # share of the identity in the covariance of names of one concept, which vectors are whitened
    # by; 1: they are not
    shrinkage: Share = 0.5


class StaticEncoder(Encoder):
    """Dense: static vectors of sub-words, fitted to the dictionary in seconds; no torch, no hub.

    `f(n) = unit(Σ t_w)` over the sub-words w of n. A name without sub-words has a vector of zeros.
    Make one with `create` or `load`.

    Args:
        table: the sub-words and their vectors t_w.
        options: how the table was made.
    """

    Options = StaticOptions
    presets: ClassVar[Mapping[str, Preset]] = {
        "static": Preset(
            "Dense: static vectors of sub-words, fitted to the dictionary; no torch, no download; "
            "the default.",
            _UNTRAINED,
        ),
        "static-tuned": Preset(
            "Dense: static, whose vectors torch trains further, by synonyms and by mentions; links "
            "without torch.",
            merged(_UNTRAINED, _TUNED),
        ),
    }
    trained_as = "static-tuned"
    covers_characters = True

    def __init__(self, table: WordPieces, options: StaticOptions) -> None:
        self.table, self.options = table, options

    @classmethod
    def create(cls, context: EncoderContext) -> StaticEncoder:
        """Fit the shipped table, or one made of another transformer, to the names of a dictionary.

        Where no name has a sub-word with a vector, as in other scripts, a warning says so.

        Raises:
            LinkerError: the table is missing or damaged, or the transformer cannot be loaded.
        """
        options = context.options
        if options.model:
            from linker.encoders import wordpieces_making

            label, table = wordpieces_making.make(options.model, context.table.texts)
            options = dataclasses.replace(options, model=label)
        else:
            table = WordPieces.shipped()
        return cls(table.projected(_fit(table, context.table, options)), options)

    @classmethod
    def check(cls, options: StaticOptions) -> None:
        """Open the table; or load the transformer, which may be missing or broken."""
        if options.model:
            try:
                from linker.encoders import pretrained
            except ModuleNotFoundError as error:
                raise LinkerError(
                    "static vectors of another transformer are made by "
                    f"{error.name}, which is not installed: {install_hint('dense')}"
                ) from None
            folder, label = pretrained.find(options.model)
            pretrained.load(folder, label or options.model)
        else:
            WordPieces.shipped()

    def trainable(self) -> Encoder:
        from linker.encoders.static_training import TrainableStatic

        return TrainableStatic(self)

    @property
    def dim(self) -> int:
        return self.table.dim

    def encode(
        self, names: Sequence[str], *, batch_size: int = 256, progress: bool = False
    ) -> Floats:
        return unit(self.table.sums(names))

    def save(self, folder: Path) -> None:
        self.table.write(folder)
        persistence.save_json(folder / _OPTIONS, dataclasses.asdict(self.options))

    @classmethod
    def load(cls, folder: Path) -> StaticEncoder:
        options = persistence.load_json(folder / _OPTIONS)
        try:
            return cls(WordPieces.open(folder), StaticOptions(**options))
        except (TypeError, ValueError) as error:
            raise LinkerError(
                f"{folder / _OPTIONS}: holds no options of static vectors ({error}); train again"
            ) from None


def _fit(table: WordPieces, names: NameTable, options: StaticOptions) -> Floats:
    """The weights (dim of the table, dim) that the vectors of sub-words are multiplied by.

    They whiten the vectors of names, and keep the components with the largest variance.
    """
    classes = of_concepts(names)
    if len(classes) > _FITTED:  # the first concepts, with all their names
        classes = classes[np.flatnonzero(classes.labels < np.sort(classes.labels)[_FITTED])]
    vectors = unit(table.sums(classes.texts))
    known = np.asarray(vectors.any(axis=1))
    if not known.all():
        logger.warning(
            "%d of %d names have no word with a static vector; only characters find them",
            np.sum(~known),
            len(known),
        )
    weights = _whitening(vectors[known], classes.labels[known], options.shrinkage)
    if options.dim >= table.dim or known.sum() < _ENOUGH * options.dim:
        return weights
    whitened = unit(vectors @ weights)
    _, axes = np.linalg.eigh(whitened.T @ whitened)  # the largest component last
    return np.asarray(weights @ axes[:, : -options.dim - 1 : -1], np.float32)


def _whitening(vectors: Floats, labels: NDArray[np.int64], shrinkage: float) -> Floats:
    """S^(-1/2), S the covariance of names within their concepts, shrunk towards the identity.

    Directions in which synonyms differ count less then (WCCN, Hatch et al. 2006). Each concept
    counts alike. With few concepts of several names S is shrunk more.

    Args:
        vectors: of names, (n, dim), of length 1.
        labels: the concepts of the names, (n,).
        shrinkage: the share of the identity, at least; 1: no whitening.
    """
    order = np.argsort(labels, kind="stable")
    _, start, counts = np.unique(labels[order], return_index=True, return_counts=True)
    dim, several = vectors.shape[1], counts > 1
    shrinkage = max(shrinkage, dim / (dim + int(several.sum())))
    if shrinkage == 1 or not several.any():
        return np.eye(dim, dtype=np.float32)
    means = np.add.reduceat(vectors[order], start) / counts[:, None]
    apart = vectors[order] - np.repeat(means, counts, axis=0)
    apart /= np.sqrt(np.repeat(np.maximum(counts - 1, 1), counts))[:, None]
    covariance = apart.T @ apart / several.sum()
    mean = np.trace(covariance) / dim
    if mean * dim < _SMALL:  # synonyms have the same vectors
        return np.eye(dim, dtype=np.float32)
    covariance = (1 - shrinkage) * covariance + shrinkage * mean * np.eye(dim)
    variance, axes = np.linalg.eigh(covariance)
    return np.asarray((axes / np.sqrt(variance)) @ axes.T, np.float32)
