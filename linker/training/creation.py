"""Making the encoder of a plan, and the whole generator where the encoder needs no training."""

from __future__ import annotations

from dataclasses import dataclass

from linker.candidates.base import Generator
from linker.encoders.base import Encoder, EncoderContext, is_unit
from linker.encoders.words import WordVectors
from linker.training.data import TrainingData
from linker.training.plan import TrainingPlan
from linker.training.settings import Record, RunSettings, flat


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training gives."""

    generator: Generator  # of all names, training mentions among them
    history: list[Record]  # one record for each epoch of each phase
    encoder: Encoder  # of names; its options name a pretrained model by its name, not its path


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


def without_training(plan: TrainingPlan, data: TrainingData, settings: RunSettings) -> Trained:
    """Create an encoder that has no weights to train, and index all names with it."""
    encoder, _ = create_encoder(plan, data, settings)
    options = plan.options.training
    weight = options.sparse_weight / options.scale(is_unit(encoder))
    return Trained(data.generator(encoder, weight, options), [], encoder)
