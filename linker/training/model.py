"""The model in training, and what all phases ask of it: vectors, scores and fingerprints."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor, nn

from linker import persistence
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.index import Floats
from linker.encoders.base import PROBE, Encoder, is_unit
from linker.encoders.trainable import (
    Precision,
    TrainableEncoder,
    checksum,
    pick_device,
    resolve_precision,
)
from linker.errors import LinkerError
from linker.options import LinkerOptions
from linker.training.checkpoints import Checkpoints
from linker.training.data import TrainingData
from linker.training.settings import PhaseName, RunSettings, flat
from linker.types import Activity

Validate = Callable[[HybridGenerator], Mapping[str, float]]
"""Measures a generator on development data; `dev_acc1` chooses the epoch that is kept."""

_SHARED = ("seed", "device", "precision", "weight_decay")  # options that phases on names depend on


class ModelInTraining(nn.Module):
    """An encoder and λ in training, and what they are trained on.

    The score of a candidate e of a mention m is `z = scale · (v_m · v_e) + λ · sparse(m, e)`
    (BioSyn eq. 1-4, BCNH eq. 1-3). Its parameters are those of the encoder, and λ.

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
        super().__init__()
        self.data, self.options, self.settings = data, options, settings
        self.validate, self.share = validate, share
        self.encoder, self.scale = encoder, options.training.scale(is_unit(encoder))
        self.sparse_weight = nn.Parameter(torch.tensor(float(options.training.sparse_weight)))
        self.is_pretrained = False  # whether a phase has trained the encoder
        self._provenance = provenance
        self._vectors: tuple[tuple[str, Precision], Floats] | None = None  # and their weights

    @property
    def seed(self) -> int:
        """Where all random numbers come from."""
        return self.options.training.seed

    def embed(self, names: Sequence[str]) -> Tensor:
        """Encode names to (len(names), dim), with gradients."""
        return self.encoder.embed(names)

    def scores(self, mentions: Tensor, candidates: Tensor, sparse: Tensor) -> Tensor:
        """Score the candidates of mentions.

        Args:
            mentions: v_m, (B, d).
            candidates: v_e, (B, K, d).
            sparse: the sparse scores, (B, K).

        Returns:
            z, (B, K).
        """
        dense = self.scale * torch.einsum("bd,bkd->bk", mentions, candidates)
        return dense + self.sparse_weight * sparse

    def generator(self, precision: Precision) -> HybridGenerator:
        """Index the names with the weights of the moment.

        Scores are divided by the scale, so that those of unit vectors are about a cosine.
        """
        self.encoder.precision = precision
        return self._generator(self.encoder, self.indexed_vectors())

    def _generator(self, encoder: Encoder, vectors: Floats | None = None) -> HybridGenerator:
        sparse_weight = float(self.sparse_weight.detach()) / self.scale
        return self.data.generator(encoder, sparse_weight, self.options.training, vectors)

    def generator_of_all_names(self, finished: Encoder) -> HybridGenerator:
        """Index the names with the encoder as it links after the training."""
        return self.generator("fp32") if finished is self.encoder else self._generator(finished)

    def parameter_groups(self, learning_rate: float) -> list[dict[str, Any]]:
        """Give the encoder's parameters, then λ, which has its own learning rate and no decay."""
        options = self.options.training
        weights = [weight for weight in self.encoder.parameters() if weight.requires_grad]
        rate = options.sparse_learning_rate
        return [
            {"params": weights, "lr": learning_rate, "weight_decay": options.weight_decay},
            {"params": [self.sparse_weight], "lr": rate, "weight_decay": 0.0},
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
        mentions = self.data.fingerprint_of_mentions()
        mentions["development"] = self.settings.development
        return self._of_names | mentions | flat(self.options, "sparse", "text", "training", *groups)


def place(encoder: TrainableEncoder, options: LinkerOptions) -> tuple[Accelerator, LinkerOptions]:
    """Put an encoder on the device to train on; the options name the precision that it computes in.

    Raises:
        LinkerError: this process has trained on another kind of device before.
    """
    device = pick_device(options.training.device)
    precision = encoder.precision = resolve_precision(device, options.training.precision)
    accelerator = Accelerator(cpu=device.type == "cpu")
    if accelerator.device.type != device.type:  # accelerate decides it once for a process
        raise LinkerError(
            f"this process has trained on the {accelerator.device.type} before; "
            "train on another device in a new one"
        )
    encoder.to(accelerator.device)
    if options.training.precision != precision:
        training = dataclasses.replace(options.training, precision=precision)
        options = dataclasses.replace(options, training=training)
    return accelerator, options


def clear_checkpoints(settings: RunSettings) -> None:
    """Remove those of an earlier training, which a later --resume must not find."""
    if settings.checkpoints is not None:  # what several trainings share stays
        for phase in PhaseName:
            Checkpoints(settings.checkpoints / phase.value, {}).clear()
