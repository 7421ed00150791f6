"""Making the encoder of a plan, and the whole ranker where the encoder needs no training."""

from __future__ import annotations

from linker.candidates.hybrid import HybridGenerator
from linker.encoders.base import Encoder, EncoderContext, is_unit
from linker.encoders.words import WordVectors
from linker.training.data import TrainingData
from linker.training.phases.base import flat
from linker.training.plan import TrainingPlan
from linker.training.settings import RunSettings


def create_encoder(
    plan: TrainingPlan, data: TrainingData, settings: RunSettings
) -> tuple[Encoder, dict[str, object]]:
    """Create the encoder of a plan, from word vectors where it is made of words.

    Word vectors that are not given are trained on the names of the dictionary.

    Returns:
        The encoder, and fingerprints of what it was created from.
    """
    names, options = list(data.table.texts), plan.options
    provenance = {"encoder": plan.encoder} | flat(options, "encoder")
    words = None
    if plan.needs_words:
        words = plan.words or WordVectors.of_names(names, options.words, settings.on_activity)
        # without the mentions, which a refit has more of
        provenance["words"] = words.pruned(names).checksum
        words = words.pruned(data.indexed.table.texts).to_fp16()
    context = EncoderContext(options.encoder, data.table, words, options.training.seed)
    encoder: Encoder = plan.encoder_class.create(context)
    if encoder.provenance:
        provenance["provenance"] = encoder.provenance
    return encoder, provenance


def index_untrained(
    encoder: Encoder, data: TrainingData, options: TrainingOptions
) -> HybridGenerator:
    """Index the names with an encoder that has no weights to train."""
    logger.warning("the encoder has no weights to train; it is used as it is")
    vectors = encode_names(encoder, list(data.indexed.table.texts))
    weight = options.sparse_weight / options.scale(is_unit(encoder))
    return data.generator(encoder, weight, options, vectors)
