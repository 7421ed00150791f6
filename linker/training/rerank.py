"""Training of the second stage on lists that are made once, of the concepts that the trained first stage ranks highest (BCNH eq. 4-6)."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor

from linker.candidates.hybrid import HybridGenerator
from linker.dictionary import Dictionary
from linker.encoders.base import Encoder
from linker.encoders.cross import CrossEncoder
from linker.encoders.trainable import checksum, resolve_precision
from linker.encoders.transformer import TransformerEncoder
from linker.errors import LinkerError
from linker.matching import SYNONYM, relevance
from linker.ranker.lists import Query, hypernyms_of
from linker.ranker.model import scale_of, spread
from linker.ranker.options import RerankOptions
from linker.ranker.rerank import Contexts, Reranker, _Found
from linker.training import losses
from linker.training.checkpoints import Checkpoints
from linker.training.loop import Batch, Epoch, Loss, Plan, run
from linker.training.train import Material, Record, Run, flat
from linker.types import Activity

logger = logging.getLogger(__name__)

_CONTEXTS = (
    5  # keeps the random draws of an epoch apart from those of ranker.lists and training.sampling
)
_SAME = 0.9999  # sparse score of names with the same n-grams


@dataclass(frozen=True, slots=True)
class _Lists:
    """What is trained on: for each query its candidates (n of them), their relevance, and the contexts of its mentions."""

    queries: list[Query]
    found: list[_Found]
    relevance: NDArray[np.int8]  # (queries, candidates), 0 where there is none
    mask: NDArray[np.bool_]  # (queries, candidates)
    contexts: list[Sequence[str]]


def fit(
    generator: HybridGenerator,
    material: Material,
    dictionary: Dictionary,
    contexts: Contexts | None,
    how: Run,
) -> tuple[Reranker, list[Record]]:
    """Train a second stage on the mentions that its first stage was trained on.

    Args:
        generator: the trained first stage; its encoder is copied, not changed.
        dictionary: that of the generator; its first names are those of `material`.
        contexts: what is trained on.

    Returns:
        The reranker, and a record of each epoch.

    Raises:
        LinkerError: see `check`; or no list is left to learn from.
    """
    training, options = how.training, how.rerank
    start, contexts = check(generator.encoder, options, contexts)
    encoder = CrossEncoder.of(start, options.max_length)
    reranker = Reranker(
        generator,
        encoder,
        dictionary,
        options,
        options.weight / scale_of(generator.encoder, training),
    )
    lists = _lists(generator, material, contexts, training.height, options)
    logger.info(
        "second stage: %d of %d queries have candidates to be put in order",
        len(lists.queries),
        len(contexts),
    )
    encoder.precision = resolve_precision(encoder.device, training.precision)
    plan = Plan(
        options.epochs,
        -(-len(lists.queries) // options.batch_size),
        warmup=options.warmup,
        clip=1.0,
        seed=training.seed,
    )
    head = [*encoder.head.parameters()]
    groups = [
        {
            "params": [*encoder.model.parameters()],
            "lr": options.learning_rate,
            "weight_decay": training.weight_decay,
        },
        {"params": head, "lr": options.head_learning_rate, "weight_decay": training.weight_decay},
    ]
    accelerator = Accelerator(cpu=encoder.device.type == "cpu")
    make = partial(
        _batches, reranker, lists, training.seed, training.relevance_temperature, accelerator
    )

    def probe(epoch: int) -> Mapping[str, float]:
        """Refuse weights that the last step of an epoch broke, before they are kept."""
        if not np.isfinite(encoder.encode([""])).all():
            raise LinkerError(
                "the second stage gives scores that are not finite; training stopped; try a lower rerank.learning_rate"
            )
        return {}

    history: list[Record] = []
    phase = f"{how.phase}-rerank"
    seen = json.dumps(
        [[query.text, *sorted(query.right), *around] for query, around in contexts.items()]
    )
    made_of = {
        "first_stage": checksum(start),
        "contexts": hashlib.sha256(seen.encode()).hexdigest(),
    }
    how.on_activity(Activity(phase, epochs=plan.epochs))
    for event in run(
        encoder,
        groups,
        make,
        plan,
        accelerator,
        after_epoch=probe,
        checkpoints=_checkpoints(how, phase, made_of),
    ):
        if isinstance(event, Epoch):
            history.append({"phase": phase, **event.record})
        how.on_event(history[-1] if isinstance(event, Epoch) else event)
    encoder.precision = "fp32"
    return reranker, history


def check(
    encoder: Encoder, options: RerankOptions, contexts: Contexts | None
) -> tuple[TransformerEncoder, Contexts]:
    """Give back what a second stage starts from and learns from, as what it must be.

    Raises:
        LinkerError: the encoder is no transformer, or reads fewer tokens than asked for; or there are no mentions of one concept.
    """
    if contexts is None:
        raise LinkerError(
            "a second stage (rerank.epochs) learns from annotated mentions of one concept; give some, or leave it out"
        )
    if not isinstance(encoder, TransformerEncoder):
        raise LinkerError(
            "a second stage (rerank.epochs) starts from a transformer; take --encoder transformer, or leave it out"
        )
    limit = getattr(encoder.model.config, "max_position_embeddings", None) or options.max_length
    if limit < options.max_length:
        raise LinkerError(
            f"the transformer reads at most {limit} tokens; rerank.max_length is {options.max_length}, set it to {limit} or less"
        )
    return encoder, contexts


def _checkpoints(how: Run, phase: str, made_of: Mapping[str, object]) -> Checkpoints | None:
    if how.checkpoints is None:
        return None
    found = Checkpoints(
        how.checkpoints / phase,
        {**how.fingerprint, **flat(how, "align", "training", "rerank"), **made_of},
    )
    return replace(found, resume=how.resume and found.exists)


def _lists(
    generator: HybridGenerator,
    material: Material,
    contexts: Contexts,
    height: int,
    options: RerankOptions,
) -> _Lists:
    """The candidates of each query among the names without the mentions; lists are left out that have no synonym, or nothing to learn.

    Raises:
        LinkerError: none is left.
    """
    table, dictionary = material.table, material.dictionary
    first = HybridGenerator(
        material.sparse, generator.encoder, generator.vectors[: len(table)], generator.sparse_weight
    )
    queries = list(contexts)
    above = hypernyms_of(queries, table, dictionary, height)
    kept: list[tuple[Query, _Found, list[int]]] = []
    for query, up, ranked in zip(
        queries,
        above,
        first.concepts([query.text for query in queries], options.candidates),
        strict=True,
    ):
        grades = [
            relevance([dictionary.ids[concept]], query.right, up.ids)
            for concept in ranked.concepts.tolist()
        ]
        is_same = (
            ranked.sparse is not None
            and ranked.sparse[:1].max(initial=0) > _SAME
            and grades[0] == SYNONYM
        )
        if SYNONYM in grades and not is_same:
            kept.append(
                (
                    query,
                    list(zip(ranked.concepts.tolist(), ranked.entries.tolist(), strict=True)),
                    grades,
                )
            )
    if not kept:
        raise LinkerError(
            "the second stage has nothing to learn from: no mention has a right candidate that is not its own name"
        )
    lengths = np.array([len(grades) for _, _, grades in kept])
    mask = np.arange(lengths.max()) < lengths[:, None]
    relevances = np.zeros(mask.shape, np.int8)
    relevances[mask] = np.concatenate([grades for _, _, grades in kept])
    return _Lists(
        [q for q, _, _ in kept],
        [found for _, found, _ in kept],
        relevances,
        mask,
        [contexts[q] for q, _, _ in kept],
    )


def _batches(
    reranker: Reranker,
    lists: _Lists,
    seed: int,
    temperature: float,
    accelerator: Accelerator,
    epoch: int,
) -> list[Batch]:
    """The lists in random order, each with the context of one of its mentions."""
    random = np.random.default_rng((seed, epoch, _CONTEXTS))
    order, drawn = random.permutation(len(lists.queries)), random.random(len(lists.queries))
    size, share = (
        reranker.options.batch_size,
        slice(accelerator.process_index, None, accelerator.num_processes),
    )
    batches = []
    for i in range(0, len(order), size):
        rows = order[i : i + size][share]
        texts = []
        for row in rows:
            context = lists.contexts[row][int(drawn[row] * len(lists.contexts[row]))]
            texts += [
                reranker.read(lists.queries[row].text, context, *one) for one in lists.found[row]
            ]
        batches.append(
            Batch(texts, partial(_loss, lists.relevance[rows], lists.mask[rows], temperature))
        )
    return batches


def _loss(
    relevances: NDArray[np.int8], mask: NDArray[np.bool_], temperature: float, vectors: Tensor
) -> Loss:
    grades, there = (
        torch.from_numpy(relevances).to(vectors.device),
        torch.from_numpy(mask).to(vectors.device),
    )
    scores = spread(vectors, there)[0].squeeze(-1)
    value = losses.listwise(scores, grades, there, temperature).mean()
    best = scores.detach().masked_fill(~there, -torch.inf).argmax(-1, keepdim=True)
    right = float((grades.gather(-1, best) == SYNONYM).float().mean())
    return Loss(value, float(len(mask)), {"right_first": (right, float(len(mask)))})
