"""The list-wise phase: synonyms rank before hypernyms before other names (BioSyn, BCNH).

Each query has a list of candidates, half of them the best by characters and the rest the best by
the encoder. The lists are made anew every epoch, and λ is trained with the encoder.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from linker import registry
from linker.candidates.index import VectorIndex
from linker.encoders.base import Encoder, is_unit
from linker.encoders.grounded import GroundedEncoder
from linker.encoders.trainable import TrainableEncoder
from linker.errors import LinkerError
from linker.options import LinkerOptions
from linker.training import losses
from linker.training.candidate_lists import CandidateLists, ListMaker, TrainingQuery
from linker.training.data import TrainingData
from linker.training.loop import Batch, Loss, Phase, Schedule
from linker.training.plan import TrainingPlan
from linker.training.sampling import Stream, dictionary_queries, rng, with_synonyms

if TYPE_CHECKING:
    from linker.training.encoder import ModelInTraining

logger = logging.getLogger(__name__)


def checked_options(plan: TrainingPlan, encoder: Encoder, data: TrainingData) -> LinkerOptions:
    """Give the options of a plan, without the norm loss where there is no hierarchy.

    Raises:
        LinkerError: `hypernym_norm` is set, and the encoder learns unit vectors.
    """
    options, training = plan.options, plan.options.training
    uses_hierarchy = training.hypernym_norm or training.loss == "listwise"
    if uses_hierarchy and not data.dictionary.hierarchy.edges:
        off = "the norm loss is switched off, and " * training.hypernym_norm
        logger.warning("the dictionary has no hierarchy: %sno candidate counts as hypernym", off)
        if training.hypernym_norm:
            training = dataclasses.replace(training, hypernym_norm=False)
    if training.hypernym_norm and isinstance(encoder, TrainableEncoder) and is_unit(encoder):
        remedy = "take another encoder"
        if hasattr(options.encoder, "normalize"):
            remedy = f"set {registry.options_group(plan.encoder)}.normalize=false"
        raise LinkerError(
            f"the norm loss needs vectors of any length, these are unit vectors; {remedy}"
        )
    return dataclasses.replace(options, training=training)


def prepare(model: ModelInTraining) -> Phase | None:
    """Make candidate lists of the annotated mentions, or of names of the dictionary."""
    options, data = model.options.training, model.data
    with torch.no_grad():  # a checkpoint of an earlier phase may hold another λ
        model.sparse_weight.fill_(options.sparse_weight)
    if not options.epochs or (data.queries is None and not options.dictionary_queries):
        return None
    if data.queries is None and model.is_pretrained and not len(with_synonyms(data.table)):
        logger.warning(
            "no concept has two names, and there are no annotated mentions: "
            "the list-wise phase is left out"
        )
        return None
    validates = model.validate is not None
    schedule = Schedule(
        options.epochs,
        -(-len(_queries(model, 1)) // options.batch_size),
        options.optimizer,
        options.warmup,
        options.clip,
        best_by="dev_acc1" if validates and options.keep_best else None,
        patience=options.patience if validates else 0,
        seed=options.seed,
    )
    grounded = ["ground"] if isinstance(model.encoder, GroundedEncoder) else []
    return Phase(
        "refit" if model.settings.refit else "rank",
        model,
        model.parameter_groups(options.learning_rate),
        _list_batches(model),
        schedule,
        partial(_validate, model),
        model.mentions_fingerprint("align", *grounded),
    )


def _validate(model: ModelInTraining, epoch: int) -> Mapping[str, float]:
    metrics = {**model.check(epoch), "sparse_weight": float(model.sparse_weight.detach())}
    if model.validate is not None:
        metrics |= model.validate(model.generator(model.options.training.precision))
    return metrics


def _queries(model: ModelInTraining, epoch: int) -> Sequence[TrainingQuery]:
    """The annotated mentions, or a sample of the names of the dictionary."""
    data, count = model.data, model.options.training.dictionary_queries
    if data.queries is not None:
        return data.queries
    return dictionary_queries(data.table, data.dictionary, count, model.seed, epoch)


def _list_batches(model: ModelInTraining) -> Callable[[int], list[Batch]]:
    """Return the function that makes the batches of an epoch; sparse candidates are ranked once."""

    def maker(queries: Sequence[TrainingQuery]) -> ListMaker:
        data = model.data
        return ListMaker(
            queries,
            data.dictionary,
            data.names,
            model.options.training,
            exclude_own=data.queries is None,
        )

    queries = model.data.queries
    annotated = None if queries is None else maker(queries)
    return lambda epoch: _batches(model, annotated or maker(_queries(model, epoch)), epoch)


def _batches(model: ModelInTraining, maker: ListMaker, epoch: int) -> list[Batch]:
    options, table = model.options.training, model.data.table
    lists = maker.make(_dense_candidates(model, maker))
    if not lists.with_gold.any():
        raise LinkerError(
            f"none of the {len(lists.rows):,} candidate lists holds a right name; "
            "raise top_k, or check the ids of the mentions"
        )
    hypernyms = np.empty((len(maker.queries), 0), np.int32)
    if options.hypernym_norm:
        hypernyms = maker.hypernym_names(rng(model.seed, Stream.HYPERNYMS, epoch))
    order = rng(model.seed, Stream.LIST_ORDER, epoch).permutation(len(maker.queries))
    batches = []
    for start in range(0, len(order), options.batch_size):
        rows = order[start : start + options.batch_size][model.share]
        queries = [maker.queries[row].text for row in rows]
        names = (*lists.rows[rows].ravel(), *hypernyms[rows].ravel())
        texts = [table.texts[row] for row in names if row >= 0]
        loss = partial(_loss, model, lists[rows], hypernyms[rows] >= 0)
        batches.append(Batch([*queries, *texts], loss))
    return batches


def _dense_candidates(model: ModelInTraining, maker: ListMaker) -> np.ndarray:
    """The rows of the names that the encoder ranks highest for each query; -1: none."""
    table = model.data.table
    names = model.indexed_vectors()[: len(table)]
    queries, k = model.encode([query.text for query in maker.queries]), maker.dense_wanted + 1
    rows = VectorIndex(names).search(queries, k).rows.reshape(-1, min(k, len(names)))
    rows[np.diff(table.indptr)[rows] == 0] = -1  # the empty name, which stands for no concept
    return rows


def _loss(
    model: ModelInTraining, lists: CandidateLists, has_hypernym: np.ndarray, vectors: Tensor
) -> Loss:
    """Compute the loss of candidate lists, and the norm loss if `hypernym_norm` is set.

    Args:
        model: scores the lists.
        lists: B of them, of K places.
        has_hypernym: (B, H) bool, where there is a hypernym name.
        vectors: of the queries, then of the candidates and the hypernyms that there are.
    """
    options, device = model.options.training, vectors.device
    mask, sparse = (
        torch.from_numpy(lists.mask).to(device),
        torch.from_numpy(lists.sparse).to(device),
    )
    relevance = torch.from_numpy(lists.relevance).to(device)
    above = torch.from_numpy(has_hypernym).to(device)
    mentions = vectors[: len(mask)]
    candidates, hypernyms = spread(vectors[len(mask) :], mask, above)
    scores = model.scores(mentions, candidates, sparse)
    if options.loss == "listwise":
        each = losses.listwise(scores, relevance, mask, options.relevance_temperature)
        counted = np.ones(len(mask), bool) if options.keep_unjudged else lists.has_relevant
    else:
        each, counted = losses.marginal(scores, relevance, mask), lists.with_gold
    value = losses.mean_of_lists(each, torch.from_numpy(counted).to(device))
    numbers = {"gold_share": (lists.gold_share, float(len(mask)))}
    if options.hypernym_norm:
        numbers["list_loss"] = (float(value.detach()), float(counted.sum()))
        norm = losses.hypernym_norm(mentions, hypernyms, above)
        numbers["norm_loss"] = (float(norm.detach()), float(above.any(-1).sum()))
        value = value + options.norm_weight * norm
    return Loss(value, float(counted.sum()), numbers)


def spread(vectors: Tensor, *masks: Tensor) -> list[Tensor]:
    """Put a sequence of vectors into the places where masks are True, and zeros elsewhere.

    Args:
        vectors: (n, d), for the places of the first mask in row order, then of the next one.
        masks: bool (B, K), each with its own K.

    Returns:
        (B, K, d) for each mask.
    """
    padded, start = [], 0
    for mask in masks:
        places = mask.nonzero(as_tuple=True)
        count = len(places[0])
        empty = vectors.new_zeros(*mask.shape, vectors.shape[-1])
        padded.append(empty.index_put(places, vectors[start : start + count]))
        start += count
    return padded
