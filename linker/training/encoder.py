"""The training of an encoder with weights, phase after phase. What it is trained on:

- the names of the dictionary, normalised, with their concepts and its hierarchy;
- training mentions with gold ids: those of one concept are queries, and names of their concept in
  the model, though not in the candidate lists that they train on;
- development mentions, which are never trained on: with `validate` they choose the best epoch.

Up to three phases train one encoder of names, each from the weights that the one before kept:

1. align, transformers: synonyms of the dictionary are pulled together, the other names of a batch
   pushed away (self-alignment by InfoNCE, after SapBERT);
2. ground, encoders made of words: names of a concept, or of a larger class, are pulled together and
   anchored to vectors that are not trained (Fivez et al. 2021a-c: DAN, CCA and prototypes; BNE);
3. rank, all: each query has a list of candidate names, half of them the best by characters
   (TF-IDF), half the best by the encoder, made anew every epoch; names of the gold concept are to
   rank before names of its hypernyms, these before others, by z = dense + λ · sparse, where the
   weight λ of the sparse score is trained too (BioSyn, BCNH). Without mentions, names of the
   dictionary are queries.

At the end all names are encoded, and indexed beside their sparse vectors. Options of 0 epochs leave
a phase out; their files say what else does."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from linker.encoders.base import Encoder, Precision, is_unit
from linker.encoders.trainable import (
    TrainableEncoder,
    checksum,
    in_training,
    pick_device,
    resolve_precision,
)
from linker.errors import LinkerError
from linker.io import persistence
from linker.linking.options import LinkerOptions
from linker.records import Activity
from linker.search.hybrid import HybridGenerator
from linker.search.index import Floats
from linker.training import align, ground, listwise
from linker.training.data import TrainingData
from linker.training.loop import run
from linker.training.plan import Record, RunSettings, TrainingPlan, flat, remove_checkpoints

logger = logging.getLogger(__name__)

Validate = Callable[[HybridGenerator], Mapping[str, float]]
"""Measures a generator on development data; `dev_acc1` chooses the epoch that is kept."""

_SPARSE_RATE = 0.01  # learning rate of λ, which has no decay
_OF_RUN = ("seed", "device", "precision")  # what of `training` phases on names depend on


class ModelInTraining(nn.Module):
    """An encoder and λ in training, and what they are trained on.

    The score of a candidate e of a mention m is `z = scale · (v_m · v_e) + λ · sparse(m, e)`
    (BioSyn eq. 1-4, BCNH eq. 1-3). Its parameters are those of the encoder, and λ.

    Args:
        encoder: of names; its weights are trained.
        data: what is trained on.
        options: of all phases.
        settings: where checkpoints are, and who is told.
        validate: measures each epoch of the list-wise phase; None: nothing does.
    """

    def __init__(
        self,
        encoder: TrainableEncoder,
        data: TrainingData,
        options: LinkerOptions,
        settings: RunSettings,
        validate: Validate | None = None,
    ) -> None:
        super().__init__()
        self.data, self.options, self.settings, self.validate = data, options, settings, validate
        self.encoder, self.scale = encoder, options.recipe.scale(is_unit(encoder))
        self.sparse_weight = nn.Parameter(torch.tensor(float(options.recipe.sparse_weight)))
        self._vectors: tuple[tuple[str, Precision], Floats] | None = None  # and their weights

    @property
    def seed(self) -> int:
        """Where all random numbers come from."""
        return self.options.training.seed

    def embed(self, names: Sequence[str]) -> Tensor:
        """Encode names to (len(names), dim), with gradients."""
        return self.encoder.embed(names)

    def generator(
        self, precision: Precision = "fp32", linking: Encoder | None = None
    ) -> HybridGenerator:
        """Index the names with the weights of the moment.

        Scores are divided by the scale, so that those of unit vectors are about a cosine.

        Args:
            precision: in which the names are encoded.
            linking: the encoder that links after the training, where it is not the trained one.
        """
        self.encoder.precision, vectors = precision, None
        if linking is None or linking is self.encoder:
            vectors = self.indexed_vectors()
        sparse_weight = float(self.sparse_weight.detach()) / self.scale
        return self.data.generator(
            linking or self.encoder, sparse_weight, self.options.recipe, vectors
        )

    def parameter_groups(self, learning_rate: float) -> list[dict[str, Any]]:
        """Give the encoder's parameters, then λ, which has its own learning rate and no decay."""
        weights, decay = self.encoder.parameters(), self.encoder.weight_decay
        trained = [weight for weight in weights if weight.requires_grad]
        return [
            {"params": trained, "lr": learning_rate, "weight_decay": decay},
            {"params": [self.sparse_weight], "lr": _SPARSE_RATE, "weight_decay": 0.0},
        ]

    def encode(self, names: Sequence[str]) -> Floats:
        """Encode names to float32 (len(names), dim).

        Raises:
            LinkerError: the vectors are not finite.
        """

        def report(done: int, count: int) -> None:
            at = f"{done:,} of {count:,}"
            self.settings.on_activity(Activity("encoding names", done / count, at))

        vectors = self.encoder.encode(names, report)
        if not np.isfinite([vectors.min(initial=0), vectors.max(initial=0)]).all():
            raise LinkerError(
                "the encoder makes vectors that are not finite; training stopped; "
                "try a lower learning rate"
            )
        return vectors

    def indexed_vectors(self) -> Floats:
        """Encode the indexed names, unless the weights are those of the last time.

        The vectors are rounded to half precision, which halves the model.
        """
        weights = checksum(self.encoder), self.encoder.precision
        if self._vectors is None or self._vectors[0] != weights:
            self._vectors = None  # before the new ones take their memory
            vectors = self.encode(list(self.data.indexed.table.texts))
            self._vectors = weights, persistence.to_fp16(vectors)
        return self._vectors[1]


def train(
    created: Encoder,
    provenance: Mapping[str, object],
    plan: TrainingPlan,
    data: TrainingData,
    settings: RunSettings,
    validate: Validate | None = None,
) -> tuple[HybridGenerator, list[Record]]:
    """Train an encoder, and index all names with it.

    Args:
        created: the new encoder.
        provenance: fingerprints of what it was made from.
        plan: the options.
        data: the dictionary and the training mentions.
        settings: where checkpoints are written, and callbacks for progress.
        validate: measures the model after each epoch of phase 3.

    Returns:
        What ranks all names, those of training mentions among them, and a record for each epoch of
        each phase.
    """
    encoder = in_training(created)
    training = plan.options.training
    device = pick_device(training.device)
    encoder.precision = resolve_precision(device, training.precision)
    norm = training.hypernym_norm
    if not data.dictionary.hierarchy.edges and (norm or training.loss == "listwise"):
        off = "the norm loss is switched off, and " * norm
        logger.warning("the dictionary has no hierarchy: %sno candidate counts as hypernym", off)
        norm = False
    training = dataclasses.replace(training, precision=encoder.precision, hypernym_norm=norm)
    options = dataclasses.replace(plan.options, training=training)
    model = ModelInTraining(encoder, data, options, settings, validate).to(device)
    fingerprint = _fingerprint(model, provenance)  # before any work: mentions may give no query
    if settings.checkpoints and not settings.resume:
        remove_checkpoints(settings.checkpoints)
    history: list[Record] = []
    for prepare in (align.prepare, ground.prepare, listwise.prepare):
        if phase := prepare(model):
            settings.on_activity(Activity(phase.name))
            history += run(phase, settings, fingerprint(phase.name))
    return model.generator(linking=encoder.finished()), history


def _fingerprint(
    model: ModelInTraining, provenance: Mapping[str, object]
) -> Callable[[str], Mapping[str, object]]:
    """Return a function that fingerprints what a phase depends on.

    Phases on the dictionary's names do not depend on mentions, so that a refit shares them.
    """
    data, options = model.data.fingerprint(), model.options
    training = flat(options, "training")
    on_names = {"names": data["names"], **provenance, **flat(options, "recipe", "align", "ground")}
    on_names |= {f"training.{name}": training[f"training.{name}"] for name in _OF_RUN}
    on_lists = on_names | data | training | flat(options, "sparse", "text")
    on_lists["development"] = model.settings.development
    return lambda phase: on_names if phase in ("align", "ground") else on_lists
