"""The Deep Averaging Network: the mean of a name's word vectors, through one hidden layer.

Fivez et al. 2021a, and 2021b for higher levels. Linking needs no torch; `dan_training.py` trains.
"""

from __future__ import annotations

import dataclasses
import logging
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass
from scipy.sparse import csr_matrix

from linker.dictionary.classes import Classes, Floats, concept_means
from linker.encoders import cca
from linker.encoders.base import Encoder, EncoderContext, Preset, merged
from linker.encoders.layers import NumpyEncoder, network_shapes
from linker.encoders.presets import ANCHORED, FIVEZ, LARGE_CLASSES, OF_WORDS
from linker.encoders.words import WordVectors, unit
from linker.errors import LinkerError
from linker.fields import OptionGroup

logger = logging.getLogger(__name__)

_WORDS = "words"


@dataclass(frozen=True, slots=True)
class DanOptions(OptionGroup):
    """The Deep Averaging Network: the mean of a name's word vectors, through one hidden layer."""

    group: ClassVar[str] = "dan"

    # project the mean by canonical correlation analysis of names with their concepts
    cca: bool = True
    # units of the hidden layer, 38,400 in the paper; 0: no network, the mean is the vector
    hidden: Annotated[int, Field(ge=0, le=100_000)] = 2400
    # share of the hidden units in training, counted in 256ths
    dropout: Annotated[float, Field(ge=0, le=0.998)] = 0.5
    normalize: bool = True  # unit vectors, so that the dense score is a cosine


class DanEncoder(NumpyEncoder):
    """Dense: the mean of a name's word vectors through one hidden layer (DAN), small and fast.

    `f(n) = enc(CCA(u_n))`, u_n the mean of the word vectors, brought to length 1 (Fivez et al.
    2021a, eq. 1 and section 3.2). The word vectors and the projection are not trained. A name
    without any known word or n-gram has a vector of zeros. Make one with `create` or `load`.

    Args:
        words: the word vectors.
        options: which of the parts there are.
        weights: of the projection, `cca_mean` and `cca_weights`, and of the network.
    """

    Options = DanOptions
    presets: ClassVar[Mapping[str, Preset]] = {
        "dan": Preset(
            "Dense: the mean of a name's word vectors through one hidden layer (DAN), small and "
            "fast; trained by conceptual grounding.",
            OF_WORDS,
        ),
        "dan-higher": Preset(
            "Dense: dan, trained to bring together what stands under the same concept some levels "
            "up the hierarchy (Fivez et al. 2021b).",
            merged(
                OF_WORDS,
                LARGE_CLASSES,
                ANCHORED,
                {"ground": {"classes": "level", "triplets": 1, "epochs": 30, "patience": 10}},
                {"ground": {"concept_weight": 0, "between_weight": 1}},
            ),
        ),
        "paper-dan": Preset(
            "The DAN of Fivez et al. 2021a.", merged(FIVEZ, {"encoder": {"hidden": 38_400}})
        ),
        "paper-dan-higher": Preset(
            "The higher-level DAN of Fivez et al. 2021b.",
            merged(
                FIVEZ,
                {"encoder": {"cca": False, "hidden": 76_800}},
                {"ground": {"classes": "level", "epochs": 200, "patience": 10, "triplets": 1}},
                {"ground": {"prototype_weight": 0, "context_weight": 1, "between_weight": 1}},
            ),
        ),
    }

    def __init__(
        self, words: WordVectors, options: DanOptions, weights: Mapping[str, Floats] | None = None
    ) -> None:
        self.words, self.options, self.weights = words, options, weights or {}
        self.concept_projection: cca.Projection | None = None  # of the concepts, for training

    @classmethod
    def create(cls, context: EncoderContext) -> Encoder:
        """Fit the projection to the names of a dictionary; torch trains what is returned.

        Raises:
            LinkerError: there are no word vectors.
        """
        from linker.encoders.dan_training import TrainableDan

        return TrainableDan.create(context)

    @classmethod
    def fitted(cls, names: Classes, options: DanOptions, words: WordVectors) -> DanEncoder:
        """Fit the projection to the names of some classes; the network has no weights yet.

        With too few names for a projection it is left out, with a warning.

        Args:
            names: the names and their classes.
            options: which of the parts there are.
            words: the word vectors.

        Raises:
            LinkerError: no name has a word with a vector.
        """
        means = unit(words.means(names.texts))
        known = means.any(axis=1)
        x = means[known]
        if not len(x):
            raise LinkerError(
                f"none of the {len(means):,} names of the dictionary has a word with a vector; "
                "take other word vectors"
            )
        if not known.all():
            logger.warning(
                "%d of %d names have no word with a vector; this encoder cannot find them",
                np.sum(~known),
                len(means),
            )
        if options.cca and len(x) <= words.dim:
            logger.warning(
                "%d distinct names of one concept have known words, too few for a projection of "
                "%d components, which is left out",
                len(x),
                words.dim,
            )
            options = dataclasses.replace(options, cca=False)
        encoder = cls(words, options)
        if options.cca:
            of_names, encoder.concept_projection = cca.fit(
                x, concept_means(means, names.labels)[names.labels[known]]
            )
            encoder.weights = {"cca_mean": of_names.mean, "cca_weights": of_names.weights}
        return encoder

    @classmethod
    def needs_words(cls, options: DanOptions) -> bool:
        return True

    def trainable(self) -> Encoder:
        from linker.encoders.dan_training import TrainableDan

        return TrainableDan(self)

    @property
    def dim(self) -> int:
        return self.words.dim

    def transform(self, names: Sequence[str]) -> Floats:
        means = self._means(names)
        known, vectors = means.any(axis=1), unit(means)
        if self.options.cca:
            mean, weights = self.weights["cca_mean"], self.weights["cca_weights"]
            vectors = cca.Projection(mean, weights)(vectors)
        if self.options.hidden:
            vectors = self.network(vectors)
        vectors[~known] = 0
        return unit(vectors) if self.options.normalize else vectors

    def _means(self, names: Sequence[str]) -> Floats:
        """The mean word vector of each name, all by one sparse product."""
        rows, weights, ends = array("i"), array("f"), array("q", [0])
        for name in names:
            name_rows, name_weights = self.words.pieces(name)
            rows.extend(name_rows)
            weights.extend(name_weights)
            ends.append(len(rows))
        used, columns = np.unique(np.asarray(rows, np.int64), return_inverse=True)
        counts = np.asarray(weights, np.float32), columns, np.asarray(ends)
        matrix = csr_matrix(counts, shape=(len(names), len(used)))
        return np.asarray(matrix @ self.words.floats(used), np.float32)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        dim = self.dim
        projection = {"cca_mean": (dim,), "cca_weights": (dim, dim)} if self.options.cca else {}
        return projection | network_shapes(dim, self.options.hidden)

    def _write(self, folder: Path) -> object:
        (folder / _WORDS).mkdir()
        self.words.write(folder / _WORDS)
        return dataclasses.asdict(self.options)

    @classmethod
    def _read(cls, folder: Path, saved: Any) -> DanEncoder:
        return cls(WordVectors.open(folder / _WORDS), DanOptions(**saved))
