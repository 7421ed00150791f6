"""The Deep Averaging Network: the mean of a name's word vectors, through one hidden layer.

Fivez et al. 2021a, and 2021b for higher levels. Linking needs no torch; `trainable.py` trains.
"""

from __future__ import annotations

import dataclasses
import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass
from safetensors.numpy import load, save_file
from scipy.sparse import csr_matrix

from linker.dictionary.classes import Classes, Floats, concept_means, of_concepts
from linker.encoders.base import Changes, Encoder, EncoderContext, Preset, merged
from linker.encoders.words import WordVectors, joined, unit
from linker.errors import LinkerError
from linker.io import persistence
from linker.io.option_group import OptionGroup

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.getLogger(__name__)

_WORDS = "words"
_WEIGHTS, _OPTIONS = "weights.safetensors", "options.json"
_CELLS = 4_000_000  # units of the hidden layer in memory at once, 16 MB
_NAMES = 2048  # names that are encoded at once, at most
_HIGHER = {"classes": "level", "anchors": "context between", "triplets": 1, "patience": 10}
_SMALL = 1e-6  # share of the largest variance below which a direction counts as having none


# The defaults of encoders that are made from word vectors. λ is large here, and would take long to
# grow. A word of a single name identifies its concept, so that no word is too rare.
OF_WORDS: Changes = {
    "words": {"min_count": 1},
    "align": {"epochs": 0},
    "training": {"epochs": 10, "batch_size": 64, "learning_rate": 1e-3},
    "recipe": {"sparse_weight": 8},
}
# No training on lists: it would separate the concepts of one large class.
LARGE_CLASSES: Changes = {"training": {"dictionary_queries": 0}}
# What the papers on encoders made from word vectors share: triplets of all names, no annotated
# mentions.
FIVEZ: Changes = {
    "words": {"dim": 300, "max_n": 6, "buckets": 200_000},
    "align": {"epochs": 0},
    "ground": {"epochs": 100},
    "training": {"epochs": 0},
    "recipe": {"loss": "triplet", "triplets": 0, "patience": 1, "batch_size": 64},
}


class NumpyEncoder(Encoder):
    """Fixed vectors of names through a network of one hidden layer, without torch.

    Attributes:
        weights: arrays by the names that the encoder in training gives them. Those of its network
            are `layers.0` and `layers.3`; a new encoder has none of these.
        seed: of the random weights of the network that the training of a new encoder starts from.
    """

    has_weights = True
    is_grounded = True
    weights: Mapping[str, Floats]
    seed: int = 0

    @abstractmethod
    def transform(self, names: Sequence[str]) -> Floats:
        """Encode names at once to float32 (len(names), dim)."""

    def encode(self, names: Sequence[str]) -> Floats:
        step = max(1, min(_NAMES, _CELLS // max(1, self.options.hidden)))
        vectors = np.empty((len(names), self.dim), np.float32)
        for i in range(0, len(names), step):
            vectors[i : i + step] = self.transform(names[i : i + step])
        return vectors

    def network(self, vectors: Floats) -> Floats:
        """Bring vectors (n, dim) through the hidden layer, which has rectified linear units."""
        hidden = vectors @ self.weights["layers.0.weight"].T
        hidden += self.weights["layers.0.bias"]
        np.maximum(hidden, 0, out=hidden)
        moved = hidden @ self.weights["layers.3.weight"].T
        moved += self.weights["layers.3.bias"]
        return np.asarray(moved, np.float32)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each of the weights."""
        dim, hidden = self.dim, self.options.hidden
        first = {"layers.0.weight": (hidden, dim), "layers.0.bias": (hidden,)}
        return first | {"layers.3.weight": (dim, hidden), "layers.3.bias": (dim,)}

    def with_weights(self, folder: Path) -> Self:
        """This encoder with the weights that `write_weights` wrote."""
        self.weights = read_weights(folder, self.shapes())
        return self


def write_weights(folder: Path, saved: object, weights: Mapping[str, Floats]) -> None:
    """Write the weights of an encoder, and values that JSON can hold."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: np.ascontiguousarray(values) for name, values in weights.items()}
    save_file(arrays, folder / _WEIGHTS)
    persistence.save_json(folder / _OPTIONS, saved)


def read_options(folder: Path) -> Any:
    """The values that `write_weights` wrote beside the weights."""
    return persistence.load_json(folder / _OPTIONS)


def read_weights(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Floats]:
    """Read the weights of an encoder.

    Args:
        folder: of the encoder.
        shapes: the shape that each of them must have.

    Raises:
        LinkerError: a shape is another one, or a number is not finite.
    """
    # the bytes, since safetensors opens paths in UTF-8 only
    weights: dict[str, Floats] = load((folder / _WEIGHTS).read_bytes())
    if {name: values.shape for name, values in weights.items()} != shapes:
        raise LinkerError(f"{folder}: its weights do not fit what they stand on; train again")
    if not all(np.isfinite(values).all() for values in weights.values()):
        raise LinkerError(f"{folder / _WEIGHTS}: its weights are not finite; train again")
    return weights


@dataclass(frozen=True, slots=True)
class DanOptions(OptionGroup):
    """The Deep Averaging Network: the mean of a name's word vectors, through one hidden layer."""

    group: ClassVar[str] = "dan"

    # project the mean by canonical correlation analysis of names with their concepts
    cca: bool = True
    # units of the hidden layer, 38,400 in the paper; 0: no network, the mean is the vector
    hidden: Annotated[int, Field(ge=0, le=100_000)] = 2400
    normalize: ClassVar[bool] = True  # unit vectors, so that the dense score is a cosine


class DanEncoder(NumpyEncoder):
    """Dense: the mean of a name's word vectors through one hidden layer (DAN), small and fast.

    `f(n) = enc(CCA(u_n))`, u_n the mean of the word vectors, brought to length 1 (Fivez et al.
    2021a, eq. 1 and section 3.2). The word vectors and the projection are not trained. A name
    without any known word or n-gram has a vector of zeros. Make one with `create` or `load`.

    Args:
        words: the word vectors.
        options: which of the parts there are.

    Attributes:
        concept_projection: the projection of concepts, for training; one that was loaded has none.
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
                {"ground": {"epochs": 30}, "recipe": _HIGHER},
            ),
        ),
        "paper-dan": Preset(
            "The DAN of Fivez et al. 2021a.", merged(FIVEZ, {"encoder": {"hidden": 38_400}})
        ),
        "paper-dan-higher": Preset(
            "The higher-level DAN of Fivez et al. 2021b.",
            merged(
                FIVEZ,
                {"encoder": {"cca": False, "hidden": 76_800}, "ground": {"epochs": 200}},
                {"recipe": _HIGHER},
            ),
        ),
    }

    concept_projection: Projection

    def __init__(self, words: WordVectors, options: DanOptions) -> None:
        self.words, self.options, self.weights = words, options, {}

    @classmethod
    def create(cls, context: EncoderContext) -> DanEncoder:
        """Fit the projection to the names of a dictionary; the network is to be trained.

        Raises:
            LinkerError: there is no word vector of a word of a name.
        """
        names = of_concepts(context.table)
        return cls.fitted(names, context.options, context.words, context.seed)

    @classmethod
    def fitted(
        cls, names: Classes, options: DanOptions, words: WordVectors, seed: int = 0
    ) -> DanEncoder:
        """As `create`, for the names of any classes.

        With too few names for a projection it is left out, with a warning.

        Args:
            names: the names and their classes.
            options: which of the parts there are.
            words: the word vectors.
            seed: of the network.

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
        encoder.seed = seed
        if options.cca:
            y = concept_means(means, names.labels)[names.labels[known]]
            (mean, weights), encoder.concept_projection = fit_cca(x, y)
            encoder.weights = {"cca_mean": mean, "cca_weights": weights}
        return encoder

    @classmethod
    def needs_words(cls, options: DanOptions) -> bool:
        return True

    @property
    def dim(self) -> int:
        return self.words.dim

    def transform(self, names: Sequence[str]) -> Floats:
        means = self._means(names)
        known, vectors = means.any(axis=1), unit(means)
        if self.options.cca:
            vectors = project(vectors, (self.weights["cca_mean"], self.weights["cca_weights"]))
        if self.options.hidden:
            vectors = self.network(vectors)
        vectors[~known] = 0
        return unit(vectors)

    def _means(self, names: Sequence[str]) -> Floats:
        """The mean word vector of each name, all by one sparse product."""
        rows, weights, ends = joined(map(self.words.pieces, names))
        used, columns = np.unique(rows, return_inverse=True)
        matrix = csr_matrix((weights, columns, ends), shape=(len(names), len(used)))
        return np.asarray(matrix @ self.words.floats(used), np.float32)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        dim = self.dim
        projection = {"cca_mean": (dim,), "cca_weights": (dim, dim)} if self.options.cca else {}
        return projection | (super().shapes() if self.options.hidden else {})

    def save(self, folder: Path) -> None:
        self.words.write(folder / _WORDS)
        write_weights(folder, dataclasses.asdict(self.options), self.weights)

    @classmethod
    def load(cls, folder: Path) -> DanEncoder:
        words, saved = WordVectors.open(folder / _WORDS), read_options(folder)
        return cls(words, DanOptions(**saved)).with_weights(folder)


Projection = tuple[Floats, Floats]
"""A linear map of x, `(x - mean) @ weights`: mean (dim,) and weights (dim, dim)."""


def project(vectors: Floats, projection: Projection) -> Floats:
    """Apply a projection to vectors (n, dim)."""
    mean, weights = projection
    return np.asarray((vectors - mean) @ weights, np.float32)


def fit_cca(x: Floats, y: Floats) -> tuple[Projection, Projection]:
    """Find the projections of two views that correlate best, with as many components as dim.

    This is canonical correlation analysis, the linear constraint of Fivez et al. 2021a (section
    3.2). The components are scaled as by scikit-learn's `CCA`, which the published code calls: it
    finds one component after another and takes each out of the data. Its weight vectors have length
    1 and are at right angles to the earlier canonical directions a_1, ..., so that they are the
    columns of Q in the QR decomposition of these, and the scores are those of the closed form
    divided by the diagonal of R. One decomposition takes the place of hundreds of fits; a test
    compares it with scikit-learn's values.

    Args:
        x: (n, dim) name vectors.
        y: (n, dim) the vector of each name's concept.

    Returns:
        The projections of x and of y. Directions without variance project to 0.
    """
    (mean_x, scale_x, x64), (mean_y, scale_y, y64) = _standardised(x), _standardised(y)
    white_x, white_y = _whitening(x64), _whitening(y64)
    left, _, right = np.linalg.svd((x64 @ white_x).T @ (y64 @ white_y))
    count = min(len(left), len(right))
    directions_x, directions_y = white_x @ left[:, :count], white_y @ right[:count].T
    return _projection(directions_x, mean_x, scale_x), _projection(directions_y, mean_y, scale_y)


def _standardised(
    values: Floats,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean, standard deviation (1 where it is 0) and the values with mean 0 and deviation 1."""
    wide = values.astype(np.float64)
    mean, scale = wide.mean(0), wide.std(0, ddof=1)
    scale[scale == 0] = 1
    return mean, scale, (wide - mean) / scale


def _whitening(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Directions in which the values are uncorrelated with variance 1/n: (dim, rank).

    Directions without variance are left out.
    """
    variance, axes = np.linalg.eigh(values.T @ values)
    kept = variance > _SMALL * variance[-1]
    whitening: NDArray[np.float64] = axes[:, kept] / np.sqrt(variance[kept])
    return whitening


def _projection(
    directions: NDArray[np.float64], mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> Projection:
    """Scale the canonical directions as scikit-learn does; columns of zeros make it square."""
    lengths = np.abs(np.diag(np.linalg.qr(directions, mode="r")))
    weights = np.zeros((len(directions), len(directions)))
    weights[:, : directions.shape[1]] = directions / lengths / scale[:, None]
    return mean.astype(np.float32), weights.astype(np.float32)
