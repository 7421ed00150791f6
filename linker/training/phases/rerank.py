"""The second stage: a cross-encoder learns to reorder the candidates that the first stage finds.

It reads the mention, a candidate and the words around together. Its lists are made once, of the
concepts that the trained first stage ranks highest; the loss is the list-wise one (BCNH eq. 4-6).
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from linker.candidates.base import Ranked
from linker.candidates.hybrid import HybridGenerator
from linker.encoders.base import Encoder
from linker.encoders.cross import CrossEncoder
from linker.encoders.trainable import checksum, resolve_precision
from linker.encoders.transformer_training import TrainableTransformer
from linker.errors import LinkerError
from linker.matching import SYNONYM, relevance
from linker.ranker.lists import Query, hypernyms_of
from linker.ranker.model import spread
from linker.ranker.options import RerankOptions
from linker.ranker.rerank import Contexts, Reranker
from linker.training import losses
from linker.training.data import TrainingData
from linker.training.loop import Batch, Loss, Plan
from linker.training.model import ModelInTraining
from linker.training.phases.base import Phase
from linker.training.randomness import Stream, rng
from linker.training.settings import PhaseName
from linker.types import Lookup

logger = logging.getLogger(__name__)

_SAME = 0.9999  # sparse score of names with the same n-grams


@dataclass(frozen=True, slots=True)
class _Candidates:
    """A query with its candidates: rows of concepts, and of the names that matched best."""

    query: Query
    contexts: Sequence[str]  # the words around each of its mentions
    concepts: Sequence[tuple[int, int]]
    relevance: Sequence[int]


def check(encoder: Encoder, options: RerankOptions, data: TrainingData) -> None:
    """Refuse, before the first stage is trained, what a second stage cannot start from.

    Raises:
        LinkerError: the encoder is no transformer, or reads fewer tokens than the options say; or
            there are no mentions of one concept.
    """
    if not options.epochs:
        return
    if data.contexts is None:
        raise LinkerError(
            "a second stage (rerank.epochs) learns from annotated mentions of one concept; "
            "give some, or leave it out"
        )
    if not isinstance(encoder, TrainableTransformer):
        raise LinkerError(
            "a second stage (rerank.epochs) starts from a transformer; "
            "take --encoder transformer, or leave it out"
        )
    limit = getattr(encoder.model.config, "max_position_embeddings", None) or options.max_length
    if limit < options.max_length:
        raise LinkerError(
            f"the transformer reads at most {limit} tokens; "
            f"rerank.max_length is {options.max_length}, set it to {limit} or less"
        )


def prepare(model: ModelInTraining) -> Phase | None:
    """Take a copy of the trained encoder, and the first stage's candidates of each mention."""
    options, training = model.options.rerank, model.options.training
    if not options.epochs:
        return None
    first, contexts = model.generator("fp32"), model.data.contexts or {}
    assert isinstance(first.encoder, TrainableTransformer)  # noqa: S101 - see `check`
    encoder = CrossEncoder.of(first.encoder, options.max_length)
    weight = options.weight / model.ranker.scale
    model.reranker = Reranker(first, encoder, model.data.extended, options, weight)
    lists = _lists(first, model, contexts)
    encoder.precision = resolve_precision(encoder.device, training.precision)
    rates = (
        (encoder.model, options.learning_rate),
        (encoder.head, options.head_learning_rate),
    )
    groups = [
        {"params": [*part.parameters()], "lr": rate, "weight_decay": training.weight_decay}
        for part, rate in rates
    ]
    steps = -(-len(lists) // options.batch_size)
    return Phase(
        PhaseName.REFIT_RERANK if model.settings.refit else PhaseName.RERANK,
        encoder,
        groups,
        partial(_batches, model, model.reranker, lists),
        Plan(options.epochs, steps, warmup=options.warmup, clip=1.0, seed=model.seed),
        partial(_check, encoder),
        model.mentions_fingerprint("align", "rerank")
        | {"first_stage": checksum(first.encoder), "contexts": _fingerprint(contexts)},
    )


def _fingerprint(contexts: Contexts) -> str:
    texts = [[query.text, *sorted(query.right), *around] for query, around in contexts.items()]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _check(encoder: CrossEncoder, epoch: int) -> Mapping[str, float]:
    """Refuse weights that the last step of an epoch broke, before they are kept."""
    if not np.isfinite(encoder.encode([""])).all():
        raise LinkerError(
            "the second stage gives scores that are not finite; "
            "training stopped; try a lower rerank.learning_rate"
        )
    return {}


def _lists(
    generator: HybridGenerator, model: ModelInTraining, contexts: Contexts
) -> list[_Candidates]:
    """Rank the concepts of each query by the names without the mentions.

    A list is left out where no synonym is in it, or its first name is the mention itself, which
    leaves nothing to learn.

    Raises:
        LinkerError: none is left.
    """
    data, dictionary = model.data, model.data.dictionary
    vectors, weight = generator.vectors[: len(data.table)], generator.sparse_weight
    first = HybridGenerator(data.names, generator.encoder, vectors, weight)
    queries = list(contexts)
    lookups = [Lookup.of(query.text) for query in queries]
    above = hypernyms_of(queries, data.table, dictionary, model.options.training.height)
    rankings = first.rank(lookups, model.options.rerank.candidates, "concepts")
    lists = []
    for query, hypernyms, ranked in zip(queries, above, rankings, strict=True):
        concepts = list(zip(ranked.concepts.tolist(), ranked.entries.tolist(), strict=True))
        grades = [
            relevance([dictionary.ids[concept]], query.right, hypernyms.ids)
            for concept, _ in concepts
        ]
        if SYNONYM in grades and not (_starts_with_query(ranked) and grades[0] == SYNONYM):
            lists.append(_Candidates(query, contexts[query], concepts, grades))
    if not lists:
        raise LinkerError(
            "the second stage has nothing to learn from: "
            "no mention has a right candidate that is not its own name"
        )
    text = "second stage: %d of %d queries have candidates to be put in order"
    logger.info(text, len(lists), len(contexts))
    return lists


def _starts_with_query(ranked: Ranked) -> bool:
    """Whether the first candidate is the query, to its characters."""
    return ranked.sparse is not None and ranked.sparse[:1].max(initial=0) > _SAME


def _batches(
    model: ModelInTraining, reranker: Reranker, lists: Sequence[_Candidates], epoch: int
) -> list[Batch]:
    """Put the lists in random order, each with the context of one of its mentions."""
    random, options = rng(model.seed, Stream.CONTEXTS, epoch), model.options
    order, place = random.permutation(len(lists)), random.random(len(lists))
    width = max(len(part.relevance) for part in lists)
    batches = []
    for start in range(0, len(order), options.rerank.batch_size):
        texts, parts = [], []
        for row in order[start : start + options.rerank.batch_size][model.share]:
            part = lists[row]
            context = part.contexts[int(place[row] * len(part.contexts))]
            texts += [reranker.read(part.query.text, context, *pair) for pair in part.concepts]
            parts.append(part.relevance)
        loss = partial(_loss, *_padded(parts, width), options.training.relevance_temperature)
        batches.append(Batch(texts, loss))
    return batches


def _padded(
    grades: Sequence[Sequence[int]], width: int
) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Fill lists of relevance up with 0 to a width, and tell which places are filled by grades."""
    lengths = np.array([len(part) for part in grades], np.int64)
    mask = np.arange(width) < lengths[:, None]
    relevances = np.zeros(mask.shape, np.int8)
    relevances[mask] = [grade for part in grades for grade in part]
    return relevances, mask


def _loss(
    relevances: NDArray[np.int8], mask: NDArray[np.bool_], temperature: float, vectors: Tensor
) -> Loss:
    """Compute the list-wise loss of lists (B, K), given the score of each candidate, (n, 1)."""
    grades = torch.from_numpy(relevances).to(vectors.device)
    places = torch.from_numpy(mask).to(vectors.device)
    scores = spread(vectors, places)[0].squeeze(-1)
    value = losses.listwise(scores, grades, places, temperature).mean()
    best = scores.detach().masked_fill(~places, -torch.inf).argmax(-1, keepdim=True)
    right = float((grades.gather(-1, best) == SYNONYM).float().mean())
    return Loss(value, float(len(mask)), {"right_first": (right, float(len(mask)))})
