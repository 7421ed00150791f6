"""The Deep Averaging Network: the mean of a name's word vectors, through one hidden layer.

Fivez et al. 2021a, and 2021b for higher levels.
"""

from __future__ import annotations

import dataclasses
import logging
from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from pydantic import Field
from pydantic.dataclasses import dataclass
from torch import Tensor, nn
from torch.nn import functional

from linker.dictionary.classes import Classes, Floats, of_concepts
from linker.encoders import cca
from linker.encoders.base import EncoderContext, Preset, merged
from linker.encoders.grounded import (
    ANCHORED,
    FIVEZ,
    LARGE_CLASSES,
    OF_WORDS,
    GroundedEncoder,
    concept_means,
)
from linker.encoders.trainable import Batch, Tokens
from linker.encoders.words import WordVectors, unit
from linker.errors import LinkerError
from linker.fields import OptionGroup

logger = logging.getLogger(__name__)

_WORDS = "words"


class Dropout(nn.Module):
    """Dropout that takes one random byte for each unit, so that the share is a multiple of 1/256.

    `nn.Dropout` takes most of the time of a step on a CPU.

    Args:
        share: of the units that are set to 0 in training.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = round(share * 256) / 256

    def forward(self, values: Tensor) -> Tensor:
        """Set a share of the values to 0 in training, and make up for it in the others."""
        if not (self.training and self.share):
            return values
        words = torch.randint(-(2**63), 2**63 - 1, (-(-values.numel() // 8),), device=values.device)
        kept = words.view(torch.uint8)[: values.numel()].view(values.shape) >= round(
            self.share * 256
        )
        return values * kept.to(values.dtype).mul_(1 / (1 - self.share))


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


class DanEncoder(GroundedEncoder):
    """Dense: the mean of a name's word vectors through one hidden layer (DAN), small and fast.

    `f(n) = enc(CCA(u_n))`, u_n the mean of the word vectors, brought to length 1 (Fivez et al.
    2021a, eq. 1 and section 3.2). The word vectors and the projection are not trained. A name
    without any known word or n-gram has a vector of zeros. Make one with `create` or `load`.

    Args:
        words: the word vectors.
        options: which of the parts there are.
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
    step = 2048  # names at once, also on a CPU

    def __init__(self, words: WordVectors, options: DanOptions) -> None:
        super().__init__()
        self.words, self.options, dim = words, options, words.dim
        # saved with the words, not with the weights
        self.table = nn.Buffer(torch.from_numpy(np.asarray(words.vectors)), persistent=False)
        if options.cca:
            self.cca_mean, self.cca_weights = nn.Buffer(torch.zeros(dim)), nn.Buffer(torch.eye(dim))
        if options.hidden:
            hidden = options.hidden
            self.layers = nn.Sequential(
                nn.Linear(dim, hidden), nn.ReLU(), Dropout(options.dropout), nn.Linear(hidden, dim)
            )
        self.concept_projection: cca.Projection | None = None  # of the concepts, for training

    @classmethod
    def create(cls, context: EncoderContext) -> DanEncoder:
        """Fit the projection to the names of a dictionary; the network has random weights.

        Raises:
            LinkerError: there are no word vectors.
        """
        if context.words is None:
            raise LinkerError(
                "the encoder dan is made of word vectors; name some with --words, or train them"
            )
        names = of_concepts(context.table)
        return cls.of(names, context.options, context.words, context.seed)

    @classmethod
    def of(cls, names: Classes, options: DanOptions, words: WordVectors, seed: int) -> DanEncoder:
        """Fit the projection to the names of some classes; the network has random weights.

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
        torch.manual_seed(seed)
        encoder = cls(words, options)
        if options.cca:
            of_names, encoder.concept_projection = cca.fit(
                x, concept_means(means, names.labels)[names.labels[known]]
            )
            encoder.cca_mean.copy_(torch.from_numpy(of_names.mean))
            encoder.cca_weights.copy_(torch.from_numpy(of_names.weights))
        return encoder

    @classmethod
    def needs_words(cls, options: DanOptions) -> bool:
        return True

    @property
    def dim(self) -> int:
        return self.words.dim

    @property
    def device(self) -> torch.device:
        return self.table.device

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        return [self.words.pieces(name) for name in names]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        rows, weights = array("i"), array("f")
        for name_rows, name_weights in tokens:
            rows.extend(name_rows)
            weights.extend(name_weights)
        offsets = [0, *accumulate(len(name_rows) for name_rows, _ in tokens)][:-1]
        arrays = {
            "rows": np.asarray(rows, np.int64),
            "offsets": np.asarray(offsets, np.int64),
            "weights": np.asarray(weights, np.float32),
        }
        return {name: torch.from_numpy(values) for name, values in arrays.items()}

    def forward(self, batch: Batch) -> Tensor:
        rows, offsets, weights = batch["rows"], batch["offsets"], batch["weights"]
        means = functional.embedding_bag(
            rows, self.table, offsets, mode="sum", per_sample_weights=weights
        )
        vectors, known = functional.normalize(means, dim=-1), means.any(dim=-1, keepdim=True)
        if self.options.cca:
            vectors = (vectors - self.cca_mean) @ self.cca_weights
        if self.options.hidden:
            vectors = self.layers(vectors)
        return known * (
            functional.normalize(vectors, dim=-1) if self.options.normalize else vectors
        )

    def pretrained(self, names: Sequence[str]) -> Floats:
        return unit(self.words.means(names))

    def prototypes(self, names: Classes, projected: bool) -> Floats:
        """As for any grounded encoder; projected: CCA(u_c) (Fivez et al. 2021a, eq. 4).

        Else it is u_c, as in the published code.
        """
        means = super().prototypes(names, projected)
        if not (projected and self.options.cca):
            return means
        if self.concept_projection is None:
            raise ValueError(
                "an encoder that was loaded has no projection of concepts; "
                "make a new one to train it"
            )
        return self.concept_projection(means)

    def _write(self, folder: Path) -> object:
        (folder / _WORDS).mkdir()
        self.words.write(folder / _WORDS)
        return dataclasses.asdict(self.options)

    @classmethod
    def _read(cls, folder: Path, saved: Any) -> DanEncoder:
        return cls(WordVectors.open(folder / _WORDS), DanOptions(**saved))
