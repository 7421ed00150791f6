"""The second stage: a cross-encoder reads a mention, a candidate and the words around together, and reorders the first candidates.

Its lists are made once, of the concepts that the trained first stage ranks highest, and its loss is the list-wise one (BCNH eq. 4-6).
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor

from linker import persistence
from linker.candidates.base import Floats, Integers, Ranked
from linker.candidates.hybrid import HybridGenerator
from linker.dictionary import Dictionary
from linker.encoders.base import Encoder
from linker.encoders.cross import CrossEncoder
from linker.encoders.trainable import checksum, settle
from linker.encoders.transformer import TransformerEncoder
from linker.errors import LinkerError
from linker.matching import SYNONYM, relevance
from linker.ranker.lists import Query, hypernyms_of
from linker.ranker.model import scale_of, spread
from linker.ranker.train import Material, Record, Run, flat
from linker.training import losses
from linker.training.checkpoints import Checkpoints
from linker.training.loop import Batch, Epoch, Loss, Plan, run
from linker.training.options import Part, RerankOptions

logger = logging.getLogger(__name__)

_CONTEXTS = 5  # keeps the random draws of an epoch apart from those of ranker.lists and training.sampling
_SAME = 0.9999  # sparse score of names with the same n-grams
_FETCH = 2  # names fetched for each name asked for
_NAMES = 10  # names fetched for each concept that is read (MEDIC has 7 a concept)

Contexts = Mapping[Query, Sequence[str]]
"""What stands around the mentions of a query, one text for each mention; empty where nothing is known."""

Asked = Sequence[tuple[str, str]]
"""Normalised names, each with what stands around it."""

_Found = Sequence[tuple[int, int]]  # concept rows, each with the row of `Dictionary.names` that matched best


class Reranker:
    """Ranks as its generator does, then takes from the score of the first concepts what they read worse than the best of them.

    Args:
        generator: the first stage.
        encoder: gives a score to a text of mention, candidate and context.
        dictionary: of the generator.
        options: what is read.
        weight: of the encoder's score, in the units of the generator's scores: `options.weight` divided by the scale of training.
    """

    def __init__(
        self, generator: HybridGenerator, encoder: CrossEncoder, dictionary: Dictionary, options: RerankOptions, weight: float
    ) -> None:
        self.generator, self.encoder, self.options, self.weight = generator, encoder, options, weight
        self._dictionary, self._about = dictionary, cache(partial(_about, dictionary, options.parents))

    def concepts(self, asked: Asked, k: int) -> list[Ranked]:
        """Rank the k best concepts of each query; equal scores as the first stage orders them."""
        distinct = list(dict.fromkeys(query for query, _ in asked))
        first = dict(zip(distinct, self.generator.concepts(distinct, max(k, self.options.candidates)), strict=True))
        ranked = [first[query] for query, _ in asked]
        found = [list(zip(r.concepts.tolist(), r.entries.tolist(), strict=True))[: self.options.candidates] for r in ranked]
        return [_reordered(r, _losing(r.concepts, lost), k) for r, lost in zip(ranked, self._lost(asked, found), strict=True)]

    def names(self, asked: Asked, k: int) -> list[tuple[Integers, Floats]]:
        """Rank the k best names of each query, those of a concept in their order: rows of the name table and scores."""
        table, distinct = self.generator.table, list(dict.fromkeys(query for query, _ in asked))
        fetched = self.generator.names(distinct, max(_FETCH * k, _NAMES * self.options.candidates))
        first = dict(zip(distinct, fetched, strict=True))
        hits = [first[query] for query, _ in asked]
        found: list[_Found] = []
        for rows, _ in hits:
            best: dict[int, int] = {}
            for row in rows:
                span = slice(table.indptr[row], table.indptr[row + 1])
                for concept, entry in zip(table.concepts[span].tolist(), table.entries[span].tolist(), strict=True):
                    best.setdefault(concept, entry)
            found.append(list(best.items())[: self.options.candidates])
        result = []
        for (rows, scores), lost in zip(hits, self._lost(asked, found), strict=True):
            of_rows = [_losing(table.concepts[table.indptr[row] : table.indptr[row + 1]], lost).min(initial=np.inf) for row in rows]
            scores = scores - np.array(of_rows, np.float32)
            order = np.argsort(-scores, kind="stable")[:k]
            result.append((rows[order], scores[order]))
        return result

    def read(self, query: str, context: str, concept: int, entry: int) -> str:
        """What the encoder reads of a candidate."""
        return self.encoder.join(query, f"{self._dictionary.names[entry]} | {self._about(concept)}", context)

    def _lost(self, asked: Asked, found: Sequence[_Found]) -> list[dict[int, float]]:
        """What each found concept of a query loses: the weighted distance of its score to the best, 0 or more."""
        texts = [self.read(*query, *one) for query, some in zip(asked, found, strict=True) for one in some]
        scores, start, lost = self.weight * self.encoder.encode(texts)[:, 0], 0, []
        if not np.isfinite(scores).all():
            raise LinkerError("the second stage gives scores that are not finite; its weights are damaged, train again")
        for some in found:
            mine = scores[start : start + len(some)]
            lost.append(dict(zip((concept for concept, _ in some), (mine.max(initial=-np.inf) - mine).tolist(), strict=True)))
            start += len(some)
        return lost

    def save(self, folder: Path) -> None:
        """Write the encoder and the weight; the generator is saved with the model."""
        self.encoder.save(folder)
        persistence.save_json(folder / "rerank.json", {"weight": self.weight})

    @classmethod
    def load(cls, folder: Path, generator: HybridGenerator, dictionary: Dictionary, options: RerankOptions) -> Reranker:
        """Read what `save` wrote.

        Raises:
            LinkerError: a file is missing, or was changed so that they no longer belong together.
        """
        weight = persistence.load_json(folder / "rerank.json")["weight"]
        if not (isinstance(weight, float) and np.isfinite(weight)):
            raise LinkerError(f"{folder / 'rerank.json'}: weight is {weight!r}; expected: a number; train again")
        return cls(generator, CrossEncoder.load(folder), dictionary, options, weight)


def _about(dictionary: Dictionary, parents: int, concept: int) -> str:
    """The preferred names of a concept and of some direct parents."""
    above = [up for up in dictionary.hierarchy.parents([concept])[0].tolist() if up not in dictionary.hierarchy.top][:parents]
    return " | ".join(filter(None, (dictionary.preferred_name(concept), " , ".join(map(dictionary.preferred_name, above)))))


def _losing(concepts: Integers, lost: Mapping[int, float]) -> NDArray[np.float32]:
    """What concepts lose; those that were not read lose as much as the worst that was."""
    most = max(lost.values(), default=0.0)
    return np.array([lost.get(concept, most) for concept in concepts.tolist()], np.float32)


def _reordered(ranked: Ranked, losing: NDArray[np.float32], k: int) -> Ranked:
    scores = ranked.scores - losing
    order = np.argsort(-scores, kind="stable")[:k]
    sparse, dense = (None if part is None else part[order] for part in (ranked.sparse, ranked.dense))
    return Ranked(ranked.concepts[order], ranked.entries[order], scores[order], sparse, dense)


@dataclass(frozen=True, slots=True)
class _Lists:
    """What is trained on: for each query its candidates (n of them), their relevance, and the contexts of its mentions."""

    queries: list[Query]
    found: list[_Found]
    relevance: NDArray[np.int8]  # (queries, candidates), 0 where there is none
    mask: NDArray[np.bool_]  # (queries, candidates)
    contexts: list[Sequence[str]]


def fit(
    generator: HybridGenerator, material: Material, dictionary: Dictionary, contexts: Contexts | None, how: Run
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
    reranker = Reranker(generator, encoder, dictionary, options, options.weight / scale_of(generator.encoder, training))
    lists = _lists(generator, material, contexts, training.height, options)
    logger.info("second stage: %d of %d queries have candidates to be put in order", len(lists.queries), len(contexts))
    encoder.precision = settle(encoder.device, training.precision)
    plan = Plan(options.epochs, -(-len(lists.queries) // options.batch_size), warmup=options.warmup, clip=1.0, seed=training.seed)
    head = [*encoder.head.parameters()]
    groups = [
        {"params": [*encoder.model.parameters()], "lr": options.learning_rate, "weight_decay": training.weight_decay},
        {"params": head, "lr": options.head_learning_rate, "weight_decay": training.weight_decay},
    ]
    accelerator = Accelerator(cpu=encoder.device.type == "cpu")
    make = partial(_batches, reranker, lists, training.seed, training.relevance_temperature, accelerator)

    def probe(epoch: int) -> Mapping[str, float]:
        """Refuse weights that the last step of an epoch broke, before they are kept."""
        if not np.isfinite(encoder.encode([""])).all():
            raise LinkerError("the second stage gives scores that are not finite; training stopped; try a lower rerank.learning_rate")
        return {}

    history: list[Record] = []
    phase = f"{how.phase}-rerank"
    seen = json.dumps([[query.text, *sorted(query.right), *around] for query, around in contexts.items()])
    made_of = {"first_stage": checksum(start), "contexts": hashlib.sha256(seen.encode()).hexdigest()}
    how.on_part(Part(phase, epochs=plan.epochs))
    for event in run(encoder, groups, make, plan, accelerator, after_epoch=probe, checkpoints=_checkpoints(how, phase, made_of)):
        if isinstance(event, Epoch):
            history.append({"phase": phase, **event.record})
        how.on_event(history[-1] if isinstance(event, Epoch) else event)
    encoder.precision = "fp32"
    return reranker, history


def check(encoder: Encoder, options: RerankOptions, contexts: Contexts | None) -> tuple[TransformerEncoder, Contexts]:
    """Give back what a second stage starts from and learns from, as what it must be.

    Raises:
        LinkerError: the encoder is no transformer, or reads fewer tokens than asked for; or there are no mentions of one concept.
    """
    if contexts is None:
        raise LinkerError("a second stage (rerank.epochs) learns from annotated mentions of one concept; give some, or leave it out")
    if not isinstance(encoder, TransformerEncoder):
        raise LinkerError("a second stage (rerank.epochs) starts from a transformer; take --encoder transformer, or leave it out")
    limit = getattr(encoder.model.config, "max_position_embeddings", None) or options.max_length
    if limit < options.max_length:
        raise LinkerError(
            f"the transformer reads at most {limit} tokens; rerank.max_length is {options.max_length}, set it to {limit} or less"
        )
    return encoder, contexts


def _checkpoints(how: Run, phase: str, made_of: Mapping[str, object]) -> Checkpoints | None:
    if how.checkpoints is None:
        return None
    found = Checkpoints(how.checkpoints / phase, {**how.fingerprint, **flat(how, "align", "training", "rerank"), **made_of})
    return replace(found, resume=how.resume and found.exists)


def _lists(generator: HybridGenerator, material: Material, contexts: Contexts, height: int, options: RerankOptions) -> _Lists:
    """The candidates of each query among the names without the mentions; lists are left out that have no synonym, or nothing to learn.

    Raises:
        LinkerError: none is left.
    """
    table, dictionary = material.table, material.dictionary
    first = HybridGenerator(material.sparse, generator.encoder, generator.vectors[: len(table)], generator.sparse_weight)
    queries = list(contexts)
    above = hypernyms_of(queries, table, dictionary, height)
    kept: list[tuple[Query, _Found, list[int]]] = []
    for query, up, ranked in zip(queries, above, first.concepts([query.text for query in queries], options.candidates), strict=True):
        grades = [relevance([dictionary.ids[concept]], query.right, up.ids) for concept in ranked.concepts.tolist()]
        is_same = ranked.sparse is not None and ranked.sparse[:1].max(initial=0) > _SAME and grades[0] == SYNONYM
        if SYNONYM in grades and not is_same:
            kept.append((query, list(zip(ranked.concepts.tolist(), ranked.entries.tolist(), strict=True)), grades))
    if not kept:
        raise LinkerError("the second stage has nothing to learn from: no mention has a right candidate that is not its own name")
    lengths = np.array([len(grades) for _, _, grades in kept])
    mask = np.arange(lengths.max()) < lengths[:, None]
    relevances = np.zeros(mask.shape, np.int8)
    relevances[mask] = np.concatenate([grades for _, _, grades in kept])
    return _Lists([q for q, _, _ in kept], [found for _, found, _ in kept], relevances, mask, [contexts[q] for q, _, _ in kept])


def _batches(reranker: Reranker, lists: _Lists, seed: int, temperature: float, accelerator: Accelerator, epoch: int) -> list[Batch]:
    """The lists in random order, each with the context of one of its mentions."""
    random = np.random.default_rng((seed, epoch, _CONTEXTS))
    order, drawn = random.permutation(len(lists.queries)), random.random(len(lists.queries))
    size, share = reranker.options.batch_size, slice(accelerator.process_index, None, accelerator.num_processes)
    batches = []
    for i in range(0, len(order), size):
        rows = order[i : i + size][share]
        texts = []
        for row in rows:
            context = lists.contexts[row][int(drawn[row] * len(lists.contexts[row]))]
            texts += [reranker.read(lists.queries[row].text, context, *one) for one in lists.found[row]]
        batches.append(Batch(texts, partial(_loss, lists.relevance[rows], lists.mask[rows], temperature)))
    return batches


def _loss(relevances: NDArray[np.int8], mask: NDArray[np.bool_], temperature: float, vectors: Tensor) -> Loss:
    grades, there = torch.from_numpy(relevances).to(vectors.device), torch.from_numpy(mask).to(vectors.device)
    scores = spread(vectors, there)[0].squeeze(-1)
    value = losses.listwise(scores, grades, there, temperature).mean()
    best = scores.detach().masked_fill(~there, -torch.inf).argmax(-1, keepdim=True)
    right = float((grades.gather(-1, best) == SYNONYM).float().mean())
    return Loss(value, float(len(mask)), {"right_first": (right, float(len(mask)))})
