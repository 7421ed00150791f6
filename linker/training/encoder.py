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
from functools import cached_property
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import gather_object
from torch import Tensor, nn

from linker import persistence
from linker.candidates.hybrid import HybridGenerator
from linker.candidates.index import Floats
from linker.encoders.base import PROBE, Encoder, Precision, is_unit
from linker.encoders.trainable import (
    TrainableEncoder,
    checksum,
    in_training,
    pick_device,
    resolve_precision,
)
from linker.errors import LinkerError
from linker.options import LinkerOptions
from linker.training import align, ground, listwise
from linker.training.data import TrainingData
from linker.training.loop import Checkpoints, Phase, Step, run
from linker.training.plan import PHASES, Record, RunSettings, TrainingPlan, flat
from linker.types import Activity

logger = logging.getLogger(__name__)

Validate = Callable[[HybridGenerator], Mapping[str, float]]
"""Measures a generator on development data; `dev_acc1` chooses the epoch that is kept."""

_SPARSE_RATE = 0.01  # learning rate of λ, which has no decay
_OF_LISTS = ("recipe.published", "recipe.sparse_weight")  # which those do not depend on
_SHARED = ("seed", "device", "precision")  # options that phases on names depend on


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

    Attributes:
        share: the share of each batch that this process trains on: every n-th query, where there
            are n processes.
        is_pretrained: whether a phase has trained the encoder.
    """

    def __init__(
        self,
        encoder: TrainableEncoder,
        data: TrainingData,
        options: LinkerOptions,
        settings: RunSettings,
        provenance: Mapping[str, object],
        validate: Validate | None = None,
    ) -> None:
        super().__init__()
        self.data, self.options, self.settings = data, options, settings
        process = PartialState()
        self.validate = validate
        self.share = slice(process.process_index, None, process.num_processes)
        self.encoder, self.scale = encoder, options.recipe.scale(is_unit(encoder))
        self.sparse_weight = nn.Parameter(torch.tensor(float(options.recipe.sparse_weight)))
        self.is_pretrained = False
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
        """Encode names, each process a share of them; float32 (len(names), dim).

        Raises:
            LinkerError: the vectors are not finite.
        """

        def tell(done: int, count: int) -> None:
            at = f"{done:,} of {count:,}"
            self.settings.on_activity(Activity("encoding names", done / count, at))

        vectors = np.empty((len(names), self.encoder.dim), np.float32)
        shares = gather_object([self.encoder.encode(names[self.share], tell)])
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
            vectors = self.encode(list(self.data.indexed.table.texts))
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
        own = flat(self.options, "recipe", *groups)
        return self._of_names | {n: v for n, v in own.items() if n not in _OF_LISTS} | shared

    def mentions_fingerprint(self, *groups: str) -> dict[str, object]:
        """Fingerprint what a phase on annotated mentions depends on; `groups` as above."""
        mentions = self.data.fingerprint_of_mentions()
        mentions["development"] = self.settings.development
        return (
            self._of_names
            | mentions
            | flat(self.options, "sparse", "text", "training", "recipe", *groups)
        )


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
    accelerator, options = _placed(encoder, _without_hierarchy(plan.options, data))
    if settings.checkpoints and not settings.resume and accelerator.is_main_process:
        for name in PHASES:  # a later --resume must not find them; what trainings share stays
            Checkpoints(settings.checkpoints / name, {}).clear()
    model = ModelInTraining(encoder, data, options, settings, provenance, validate)
    history: list[Record] = []
    for prepare in (align.prepare, ground.prepare, listwise.prepare):
        phase = prepare(model)
        if phase is not None:
            history += _run(phase, accelerator, settings)
            model.is_pretrained = True
    return model.generator(linking=encoder.finished()), history


def _without_hierarchy(options: LinkerOptions, data: TrainingData) -> LinkerOptions:
    """The options without the norm loss where there is no hierarchy, which a warning says."""
    training = options.training
    if (training.hypernym_norm or training.loss == "listwise") and (
        not data.dictionary.hierarchy.edges
    ):
        off = "the norm loss is switched off, and " * training.hypernym_norm
        logger.warning("the dictionary has no hierarchy: %sno candidate counts as hypernym", off)
        training = dataclasses.replace(training, hypernym_norm=False)
    return dataclasses.replace(options, training=training)


def _placed(encoder: TrainableEncoder, options: LinkerOptions) -> tuple[Accelerator, LinkerOptions]:
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


def _run(phase: Phase, accelerator: Accelerator, settings: RunSettings) -> list[Record]:
    """Run the epochs of a phase, tell of each step and epoch, and return the epochs' records."""
    checkpoints = None
    if folder := settings.folder(phase.name):
        checkpoints = Checkpoints(folder, phase.fingerprint, settings.resume)
    history: list[Record] = []
    settings.on_activity(Activity(phase.name, epochs=phase.schedule.epochs))
    for event in run(phase, accelerator, checkpoints):
        if not isinstance(event, Step):
            event = {"phase": phase.name, **event}
            history.append(event)
        settings.on_event(event)
    return history
