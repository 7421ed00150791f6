"""Self-alignment: synonyms of the dictionary come together, other names move apart (SapBERT)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from linker.dictionary import NameTable
from linker.training import losses, sampling
from linker.training.loop import Batch, Loss, Phase, Schedule
from linker.training.sampling import Stream, rng

if TYPE_CHECKING:
    from linker.training.encoder import ModelInTraining

# share of the steps with a rising learning rate, which falls linearly afterwards
_WARMUP = 0.05


def prepare(model: ModelInTraining) -> Phase | None:
    """Pair synonyms, and contrast each pair with the other names of its batch (InfoNCE).

    It is skipped where no concept has two names, or no weight can be trained.
    """
    options, seed = model.options.align, model.seed
    count = len(sampling.synonym_pairs(model.data.table, seed, 1))
    if not (options.epochs and count and [*model.encoder.parameters()]):
        return None
    steps = -(-count // options.batch_size)
    return Phase(
        "align",
        model,
        model.parameter_groups(options.learning_rate)[:1],
        partial(_batches, model),
        Schedule(options.epochs, steps, warmup=_WARMUP, clip=1.0, seed=seed),
        model.check,
        model.names_fingerprint("align"),
    )


def _batches(model: ModelInTraining, epoch: int) -> list[Batch]:
    options, table = model.options.align, model.data.table
    texts = table.texts
    pairs = sampling.synonym_pairs(table, model.seed, epoch)
    random = rng(model.seed, Stream.PAIR_ORDER, epoch)
    if options.hard_negatives:
        vectors = model.encode([texts[row] for row in pairs[:, 0]])
        order = sampling.similar_together(vectors, options.batch_size, random)
    else:
        order = random.permutation(len(pairs))
    concepts = _concepts_of_names(table)
    batches = []
    for start in range(0, len(order), options.batch_size):
        batch = pairs[order[start : start + options.batch_size][model.share]]
        left, right = batch.T
        same = (concepts[left] @ concepts[right].T).toarray() > 0
        names = [texts[row] for row in (*left, *right)]
        batches.append(Batch(names, partial(_loss, same, options.temperature)))
    return batches


def _concepts_of_names(table: NameTable) -> csr_matrix:
    """Which concepts a name stands for: (names, concepts), 1 or 0."""
    shape = len(table), int(table.concepts.max(initial=0)) + 1
    ones = np.ones(len(table.concepts), np.int32)
    return csr_matrix((ones, table.concepts, table.indptr), shape=shape)


def _loss(same: np.ndarray, temperature: float, vectors: Tensor) -> Loss:
    """Compute the InfoNCE of a batch.

    Args:
        same: (pairs, pairs) bool, which left and right names share a concept: no negatives.
        temperature: of InfoNCE.
        vectors: (2 · pairs, dim), the left names before the right ones.
    """
    left, right = vectors[: len(same)], vectors[len(same) :]
    mask = torch.from_numpy(same).to(vectors.device)
    return Loss(losses.info_nce(left, right, mask, temperature), len(same))
