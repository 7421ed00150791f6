"""Self-alignment: synonyms of the dictionary come together, other names move apart (SapBERT)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from linker.dictionary import NameTable
from linker.dictionary.classes import Rows, bags
from linker.training import losses, sampling
from linker.training.data import name_of_each
from linker.training.loop import Batch, Losses, Phase
from linker.training.sampling import Stream, rng

if TYPE_CHECKING:
    from linker.training.encoder import ModelInTraining

# share of the steps with a rising learning rate, which falls linearly afterwards
_WARMUP = 0.05
_BATCH = 128  # pairs; the other pairs of a batch are the negatives


def prepare(model: ModelInTraining) -> Phase | None:
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
        partial(_batches, model),
        lambda _: {},
        options.epochs,
        steps=-(-count // _BATCH),
        warmup=_WARMUP,
        clip=1.0,
        seed=seed,
    )


def _batches(model: ModelInTraining, epoch: int) -> list[Batch]:
    encoder, table = model.encoder, model.data.table
    texts = table.texts
    pairs = synonym_pairs(table, model.seed, epoch)
    random = rng(model.seed, Stream.PAIR_ORDER, epoch)
    if encoder.hard_negatives:
        vectors = model.encode([texts[row] for row in pairs[:, 0]])
        order = sampling.similar_together(vectors, _BATCH, random)
    else:
        order = random.permutation(len(pairs))
    shape = len(table), int(table.concepts.max(initial=0)) + 1
    ones = np.ones(len(table.concepts), np.int32)
    concepts = csr_matrix((ones, table.concepts, table.indptr), shape=shape)  # of each name
    batches = []
    for start in range(0, len(order), _BATCH):
        batch = pairs[order[start : start + _BATCH]]
        left, right = batch.T
        same = (concepts[left] @ concepts[right].T).toarray() > 0
        names = [texts[row] for row in (*left, *right)]
        batches.append(Batch(names, partial(_loss, same, encoder.align_temperature)))
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


def _loss(same: np.ndarray, temperature: float, vectors: Tensor) -> Losses:
    """Compute the InfoNCE of a batch.

    Args:
        same: (pairs, pairs) bool, which left and right names share a concept: no negatives.
        temperature: of InfoNCE.
        vectors: (2 · pairs, dim), the left names before the right ones.
    """
    left, right = vectors[: len(same)], vectors[len(same) :]
    mask = torch.from_numpy(same).to(vectors.device)
    return {"loss": (losses.info_nce(left, right, mask, temperature), len(same))}
