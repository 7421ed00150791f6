"""The Deep Averaging Network: a name is the mean of its word vectors, projected, through one hidden layer (Fivez et al. 2021a)."""

from __future__ import annotations

import dataclasses
import logging
from array import array
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from linker.dictionary import NameTable
from linker.dictionary.classes import Classes, Floats, of_concepts
from linker.encoders import cca
from linker.encoders.grounded import GroundedEncoder, concept_means
from linker.encoders.options import DanOptions
from linker.encoders.trainable import Batch, Tokens
from linker.encoders.words import WordVectors, unit
from linker.errors import LinkerError

logger = logging.getLogger(__name__)

_WORDS = "words"


class Dropout(nn.Module):
    """Dropout by one random byte a unit, so that the share counts in 256ths; torch's own takes most of a step's time on a CPU."""

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


class DanEncoder(GroundedEncoder):
    """Dense: the mean of a name's word vectors through one hidden layer (DAN), small and fast; trained by conceptual grounding.

    `f(n) = enc(CCA(u_n))`, u_n the mean of the word vectors, brought to length 1 (Fivez et al. 2021a, eq. 1 and section 3.2). The word
    vectors and the projection are not trained. A name without any known word or n-gram has a vector of zeros.
    Make one with `create` or `load`.

    Args:
        words: the word vectors.
        options: which of the parts there are.
    """

    group = "dan"
    step = 2048  # names at once, also on a CPU

    def __init__(self, words: WordVectors, options: DanOptions) -> None:
        super().__init__()
        self.words, self.options, dim = words, options, words.dim
        self.table = nn.Buffer(
            torch.from_numpy(np.asarray(words.vectors)), persistent=False
        )  # saved with the words
        if options.cca:
            self.cca_mean, self.cca_weights = nn.Buffer(torch.zeros(dim)), nn.Buffer(torch.eye(dim))
        if options.hidden:
            hidden = options.hidden
            self.layers = nn.Sequential(
                nn.Linear(dim, hidden), nn.ReLU(), Dropout(options.dropout), nn.Linear(hidden, dim)
            )
        self.concept_projection: cca.Projection | None = None  # of the concepts, for training

    @classmethod
    def create(
        cls, options: DanOptions, table: NameTable, words: WordVectors | None, seed: int
    ) -> DanEncoder:
        """Fit the projection to the names of a dictionary; the network is as it was drawn.

        Args:
            words: the word vectors.
            seed: of the network.

        Raises:
            LinkerError: there are no word vectors.
        """
        if words is None:
            raise LinkerError(
                "the encoder dan is made of word vectors; name some with --words, or train them"
            )
        return cls.of(of_concepts(table), options, words, seed)

    @classmethod
    def of(cls, names: Classes, options: DanOptions, words: WordVectors, seed: int) -> DanEncoder:
        """Fit the projection to the names of some classes; the network is as it was drawn.

        A projection that there are too few names for is left out, with a warning.

        Raises:
            LinkerError: no name has a word with a vector.
        """
        own = unit(words.means(names.texts))
        known = own.any(axis=1)
        x = own[known]
        if not len(x):
            raise LinkerError(
                f"none of the {len(own):,} names of the dictionary has a word with a vector; take other word vectors"
            )
        if not known.all():
            logger.warning(
                "%d of %d names have no word with a vector; this encoder cannot find them",
                np.sum(~known),
                len(own),
            )
        if options.cca and len(x) <= words.dim:
            few = "%d distinct names of one concept have known words, too few for a projection of %d components, which is left out"
            logger.warning(few, len(x), words.dim)
            options = dataclasses.replace(options, cca=False)
        torch.manual_seed(seed)
        encoder = cls(words, options)
        if options.cca:
            of_names, encoder.concept_projection = cca.fit(
                x, concept_means(own, names.labels)[names.labels[known]]
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
        for some, their in tokens:
            rows.extend(some)
            weights.extend(their)
        offsets = [0, *accumulate(len(some) for some, _ in tokens)][:-1]
        made = {
            "rows": np.asarray(rows, np.int64),
            "offsets": np.asarray(offsets, np.int64),
            "weights": np.asarray(weights, np.float32),
        }
        return {name: torch.from_numpy(values) for name, values in made.items()}

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
        """As for any grounded encoder; projected: CCA(u_c) (Fivez et al. 2021a, eq. 4), else u_c, as in the published code."""
        means = super().prototypes(names, projected)
        if not (projected and self.options.cca):
            return means
        if self.concept_projection is None:
            raise ValueError(
                "an encoder that was loaded has no projection of concepts; make a new one to train it"
            )
        return self.concept_projection(means)

    def _write(self, folder: Path) -> object:
        (folder / _WORDS).mkdir()
        self.words.write(folder / _WORDS)
        return dataclasses.asdict(self.options)

    @classmethod
    def _read(cls, folder: Path, saved: Any) -> DanEncoder:
        return cls(WordVectors.open(folder / _WORDS), DanOptions(**saved))


class DanHigherEncoder(DanEncoder):
    """Dense: dan, trained to bring together what stands under the same concept some levels up the hierarchy (Fivez et al. 2021b)."""
