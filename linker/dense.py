"""The dense half of a linker's training: what it is trained on, what tells that from other data, and its stages."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linker import persistence
from linker.candidates.hybrid import HybridGenerator
from linker.encoders.base import EncoderContext
from linker.encoders.words import WordVectors
from linker.options import LinkerOptions
from linker.ranker.model import scale_of
from linker.training import supervision
from linker.training.settings import RunSettings
from linker.training.supervision import Data
from linker.training.train import Material, Run, fit, flat

if TYPE_CHECKING:
    from linker.ranker.rerank import Reranker


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training gives."""

    generator: HybridGenerator
    history: list[Mapping[str, Any]]
    reranker: Reranker | None
    options: LinkerOptions  # with the encoder's as it was made: they name a pretrained model, not where it was found on this machine


def train(
    kind: Any,
    name: str,
    data: Data,
    options: LinkerOptions,
    judge: Callable[[HybridGenerator], Mapping[str, float]] | None,
    work: RunSettings,
    words: WordVectors | None,
) -> Trained:
    """Train an encoder, λ and, where the options want one, a second stage.

    Args:
        kind: class of the encoder, of this name in the registry.
        judge: development data's word on each epoch.
        words: word vectors, for encoders that are made of them; None: they are trained on the names of the dictionary.
    """
    queries = supervision.queries(data.known, data.dictionary, data.normalize)
    frequency = supervision.frequency(data.known, data.dictionary, data.indexed.table)
    material = Material(
        None if queries is None else list(queries),
        data.dictionary,
        data.base(),
        data.indexed,
        frequency,
    )
    texts = list(material.table.texts)
    fingerprint = _fingerprint(material) | {"encoder": name, "development": work.judged_by}
    if kind.needs_words(options.encoder):
        words = words or WordVectors.of_names(texts, options.words, work.on_activity)
        fingerprint["words"] = words.pruned(
            texts
        ).checksum  # without the mentions, which a refit has more of
        words = words.pruned(material.indexed.table.texts).halved()
    context = EncoderContext(options.encoder, material.table, words, options.training.seed)
    encoder = kind.create(context)
    if encoder.provenance:
        fingerprint["made of"] = encoder.provenance
    how = Run(
        options.training,
        options.align,
        checkpoints=work.checkpoints,
        resume=work.resume,
        phase=work.phase,
        fingerprint=fingerprint | flat(options, "encoder", "sparse", "text"),
        on_event=work.on_event,
        on_activity=work.on_activity,
        progress=work.progress,
        rerank=options.rerank,
        ground=options.ground,
    )
    if options.rerank.epochs:
        from linker.training import rerank

        rerank.check(encoder, options.rerank, queries)  # before the first stage, not after it
    generator, history = fit(encoder, material, how, judge)
    reranker = None
    if options.rerank.epochs:
        reranker, more = rerank.fit(generator, material, data.extended, queries, how)
        history = [*history, *more]
    if options.encoder is not None:
        options = dataclasses.replace(options, encoder=encoder.options)
    return Trained(generator, history, reranker, options)


def index(trained: HybridGenerator, data: Data, options: LinkerOptions) -> HybridGenerator:
    """Index the names of a dictionary with an encoder and a λ that were trained on another one."""
    scale = scale_of(trained.encoder, options.training)
    frequency = supervision.frequency(data.known, data.dictionary, data.indexed.table)
    vectors = persistence.halved(trained.encoder.encode(list(data.indexed.table.texts)))
    bias = np.float32(options.training.frequency_weight / scale) * frequency
    return HybridGenerator(data.indexed, trained.encoder, vectors, trained.sparse_weight, bias)


def _fingerprint(material: Material) -> dict[str, object]:
    """What tells what is trained on from others: a checkpoint is of one."""
    table, indexed = material.table, material.indexed.table
    return {
        "names": _checksum(
            list(table.texts),
            table.concepts.tolist(),
            *material.dictionary.hierarchy.arrays().values(),
        ),
        "mentions": _checksum(
            [(query.text, sorted(query.right)) for query in material.queries or ()]
        ),
        "indexed": _checksum(list(indexed.texts), indexed.concepts.tolist(), material.frequency),
    }


def _checksum(*values: Any) -> str:
    """What tells data from other data."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(value.tobytes() if hasattr(value, "tobytes") else json.dumps(value).encode())
    return digest.hexdigest()
