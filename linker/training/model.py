"""The model in training, and what all phases ask of it: vectors of names, and fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from accelerate.utils import gather_object

from linker import persistence
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.index import Floats
from linker.encoders.base import PROBE, Encoder, is_unit
from linker.encoders.trainable import Precision, TrainableEncoder, checksum
from linker.errors import LinkerError
from linker.options import LinkerOptions
from linker.ranker.model import ListwiseRanker
from linker.training.data import TrainingData
from linker.training.settings import RunSettings, flat
from linker.types import Activity

Validate = Callable[[HybridGenerator], Mapping[str, float]]
"""Measures a generator on development data; `dev_acc1` chooses the epoch that is kept."""

_SHARED = ("seed", "device", "precision", "weight_decay")  # options that phases on names depend on


class ModelInTraining:
    """An encoder and λ in training.

    Args:
        encoder: of names; its weights are trained.
        data: what is trained on.
        options: of all phases.
        settings: where checkpoints are, and who is told.
        provenance: fingerprints of what the encoder was made from.
        validate: measures each epoch of the list-wise phase; None: nothing does.
        share: the share of each batch that this process trains on.
    """

    def __init__(
        self,
        encoder: TrainableEncoder,
        data: TrainingData,
        options: LinkerOptions,
        settings: RunSettings,
        provenance: Mapping[str, object],
        validate: Validate | None = None,
        share: slice = slice(None),
    ) -> None:
        self.data, self.options, self.settings = data, options, settings
        self.validate, self.share = validate, share
        scale = options.training.scale(is_unit(encoder))
        self.ranker = ListwiseRanker(encoder, scale, options.training.sparse_weight)
        self.is_pretrained = False  # whether a phase has trained the encoder
        self._provenance = provenance
        self._vectors: tuple[tuple[str, Precision], Floats] | None = None  # and their weights

    @property
    def encoder(self) -> TrainableEncoder:
        """The encoder of names, with the weights of the moment."""
        return self.ranker.encoder

    @property
    def seed(self) -> int:
        """Where all random numbers come from."""
        return self.options.training.seed

    def generator(self, precision: Precision) -> HybridGenerator:
        """Index the names with the weights of the moment.

        Scores are divided by the scale, so that those of unit vectors are about a cosine.
        """
        self.encoder.precision = precision
        return self._generator(self.encoder, self.indexed_vectors())

    def _generator(self, encoder: Encoder, vectors: Floats | None = None) -> HybridGenerator:
        sparse_weight = float(self.ranker.sparse_weight.detach()) / self.ranker.scale
        return self.data.generator(encoder, sparse_weight, self.options.training, vectors)

    def generator_of_all_names(self, finished: Encoder) -> HybridGenerator:
        """Index the names with the encoder as it links after the training."""
        return self.generator("fp32") if finished is self.encoder else self._generator(finished)

    def parameter_groups(self, learning_rate: float) -> list[dict[str, Any]]:
        """Give the encoder's parameters, then λ, which has its own learning rate and no decay."""
        options = self.options.training
        weights = [weight for weight in self.encoder.parameters() if weight.requires_grad]
        λ = [self.ranker.sparse_weight]
        return [
            {"params": weights, "lr": learning_rate, "weight_decay": options.weight_decay},
            {"params": λ, "lr": options.sparse_learning_rate, "weight_decay": 0.0},
        ]

    def encode(self, names: Sequence[str], progress: bool = False) -> Floats:
        """Encode names, each process a share of them; float32 (len(names), dim).

        Raises:
            LinkerError: the vectors are not finite.
        """

        def tell(done: int, count: int) -> None:
            at = f"{done:,} of {count:,}"
            self.settings.on_activity(Activity("encoding names", done / count, at))

        vectors = np.empty((len(names), self.encoder.dim), np.float32)
        shares = gather_object([self.encoder.encode(names[self.share], progress=progress or tell)])
        for i, share in enumerate(shares):
            vectors[i :: len(shares)] = share
        if not np.isfinite([vectors.min(initial=0), vectors.max(initial=0)]).all():
            folder = self.settings.checkpoints
            kept = f"; the last good checkpoint is kept in {folder}" if folder else ""
            raise LinkerError(
                "the encoder makes vectors that are not finite; "
                f"training stopped{kept}; try a lower learning rate"
            )
        return vectors

    def indexed_vectors(self) -> Floats:
        """Encode the indexed names, unless the weights are those of the last time.

        The vectors are rounded to half precision, which halves the model.
        """
        weights = checksum(self.encoder), self.encoder.precision
        if self._vectors is None or self._vectors[0] != weights:
            self._vectors = None  # before the new ones take their memory
            show = self.settings.progress and self.share.start in (None, 0)
            vectors = self.encode(list(self.data.indexed.table.texts), show)
            self._vectors = weights, persistence.to_fp16(vectors)
        return self._vectors[1]

    def check(self, epoch: int) -> Mapping[str, float]:
        """Refuse weights that the last step of an epoch broke, before they are kept."""
        self.encode(PROBE)
        return {}

    @cached_property
    def _of_names(self) -> dict[str, object]:
        return {**self._provenance, **self.data.fingerprint_of_names()}

    @cached_property
    def _of_mentions(self) -> dict[str, object]:
        development = {"development": self.settings.development}
        return (
            self.data.fingerprint_of_mentions() | development | flat(self.options, "sparse", "text")
        )

    def names_fingerprint(self, *groups: str) -> dict[str, object]:
        """Fingerprint what a phase on the dictionary's names depends on.

        A refit and other list-wise trainings share such a phase.

        Args:
            groups: the options of the phase, and of those before it.
        """
        shared = flat(self.options, "training")
        shared = {name: shared[name] for name in (f"training.{field}" for field in _SHARED)}
        return self._of_names | flat(self.options, *groups) | shared

    def mentions_fingerprint(self, *groups: str) -> dict[str, object]:
        """Fingerprint what a phase on annotated mentions depends on; `groups` as above."""
        return self._of_names | self._of_mentions | flat(self.options, "training", *groups)
