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
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from linker.dictionary import NameTable
from linker.dictionary.classes import Rows, bags
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
from linker.training import (
    ground,
    listwise,
    losses,
    sampling,
)
from linker.training.data import TrainingData, name_of_each
from linker.training.loop import Batch, Losses, Phase, run
from linker.training.plan import Record, RunSettings, TrainingPlan, flat, remove_checkpoints
from linker.training.sampling import Stream, rng

logger = logging.getLogger(__name__)

Validate = Callable[[HybridGenerator], Mapping[str, float]]
"""Measures a generator on development data; `dev_acc1` chooses the epoch that is kept."""

_SPARSE_RATE = 0.01  # learning rate of λ, which has no decay
# of aligning: the share of the steps with a rising learning rate, which falls linearly afterwards
_ALIGN_WARMUP = 0.05
_ALIGN_BATCH = 128  # pairs; the other pairs of a batch are the negatives
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
        logger.warning("the dictionary has no hierarchy: no hypernyms, and no norm loss")
        norm = False
    training = dataclasses.replace(training, precision=encoder.precision, hypernym_norm=norm)
    options = dataclasses.replace(plan.options, training=training)
    model = ModelInTraining(encoder, data, options, settings, validate).to(device)
    fingerprint = _fingerprint(model, provenance)  # before any work: mentions may give no query
    if settings.checkpoints and not settings.resume:
        remove_checkpoints(settings.checkpoints)
    history: list[Record] = []
    for prepare in (align, ground.prepare, listwise.prepare):
        if phase := prepare(model):
            settings.on_activity(Activity(phase.name))
            history += run(phase, settings, fingerprint(phase.name))
    settings.on_activity(Activity("encoding names", None))
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


def align(model: ModelInTraining) -> Phase | None:
    """Pair synonyms, and contrast each pair with the other names of its batch (InfoNCE).

    It is skipped where no concept has two names, or no weight can be trained.
    """
    options, seed = model.options.align, model.seed
    count = len(synonym_pairs(model.data.table, seed, 1))
    if not (options.epochs and count and [*model.encoder.parameters()]):
        return None
    return Phase(
        "align",
        model,
        model.parameter_groups(model.encoder.align_rate)[:1],
        partial(_pair_batches, model),
        lambda _: {},
        options.epochs,
        steps=-(-count // _ALIGN_BATCH),
        warmup=_ALIGN_WARMUP,
        clip=1.0,
        seed=seed,
    )


def _pair_batches(model: ModelInTraining, epoch: int) -> list[Batch]:
    encoder, table = model.encoder, model.data.table
    texts = table.texts
    pairs = synonym_pairs(table, model.seed, epoch)
    random = rng(model.seed, Stream.PAIR_ORDER, epoch)
    if encoder.hard_negatives:
        vectors = model.encode([texts[row] for row in pairs[:, 0]])
        order = sampling.similar_together(vectors, _ALIGN_BATCH, random)
    else:
        order = random.permutation(len(pairs))
    shape = len(table), int(table.concepts.max(initial=0)) + 1
    ones = np.ones(len(table.concepts), np.int32)
    concepts = csr_matrix((ones, table.concepts, table.indptr), shape=shape)  # of each name
    batches = []
    for start in range(0, len(order), _ALIGN_BATCH):
        batch = pairs[order[start : start + _ALIGN_BATCH]]
        left, right = batch.T
        same = (concepts[left] @ concepts[right].T).toarray() > 0
        names = [texts[row] for row in (*left, *right)]
        batches.append(Batch(names, partial(_contrast, same, encoder.align_temperature)))
    return batches


def synonym_pairs(table: NameTable, seed: int, epoch: int) -> Rows:
    """Pair the names of each concept at random, each name with one other.

    Where their number is odd, the last name is paired with the first one again. Of names that
    have the same words in another order ("cancer breast", a third of MEDIC) one is sampled, since
    such pairs teach next to nothing. Every epoch has the same number of pairs.

    Args:
        table: the names and their concepts.
        seed: of the training.
        epoch: from 1.

    Returns:
        Rows of two names of the same concept, (pairs, 2).
    """
    names = name_of_each(table)
    shuffled = rng(seed, Stream.PAIRS, epoch).permutation(len(names))
    words = bags(table.texts)
    # names of the same concept with the same words are of one kind; the first of each kind is kept
    kinds = table.concepts.astype(np.int64) * len(table) + words[names]
    shuffled = shuffled[np.sort(np.unique(kinds[shuffled], return_index=True)[1])]
    order = shuffled[np.argsort(table.concepts[shuffled], kind="stable")]
    names, concepts = names[order], table.concepts[order]
    first = np.searchsorted(concepts, concepts)  # where the names of the same concept begin
    nth = np.arange(len(names)) - first
    lefts = np.flatnonzero(nth % 2 == 0)
    has_next = np.append(concepts[1:] == concepts[:-1], False)[lefts]
    rights = np.where(has_next, np.minimum(lefts + 1, len(names) - 1), first[lefts])
    pairs = np.stack([lefts, rights], axis=1)[lefts != rights]
    return np.asarray(names[pairs])


def _contrast(same: np.ndarray, temperature: float, vectors: Tensor) -> Losses:
    """Compute the InfoNCE of a batch.

    Args:
        same: (pairs, pairs) bool, which left and right names share a concept: no negatives.
        temperature: of InfoNCE.
        vectors: (2 · pairs, dim), the left names before the right ones.
    """
    left, right = vectors[: len(same)], vectors[len(same) :]
    mask = torch.from_numpy(same).to(vectors.device)
    return {"loss": (losses.info_nce(left, right, mask, temperature), len(same))}
