"""What happens to the data of a training, from beginning to end. Read this first.

The data are a dictionary and annotated mentions (`data.py`). The phases, each left out where its
options or the data say so, train one encoder of names, and λ beside it:

1. align: synonyms of the dictionary come together (self-alignment, SapBERT);
2. ground: names of a class come together, anchored to their pretrained vectors and to the class's
   prototype (Fivez et al. 2021a-c, BNE);
3. rank: for each mention a list of candidate names, half of them the best by characters and half
   the best by the encoder; synonyms are to rank before hypernyms, hypernyms before others, by
   z = dense + λ · sparse (BioSyn, BCNH);
4. rerank: a cross-encoder learns to reorder the best concepts of each mention.

At the end all names, the mentions too, are indexed with the encoder.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from accelerate import Accelerator

from linker.candidates.base import Ranker
from linker.encoders.base import Encoder
from linker.encoders.trainable import TrainableEncoder
from linker.training import start
from linker.training.checkpoints import Checkpoints
from linker.training.data import TrainingData
from linker.training.loop import Epoch, run
from linker.training.model import ModelInTraining, Validate
from linker.training.phases import align, ground, rank, rerank
from linker.training.phases.base import Phase
from linker.training.plan import TrainingPlan
from linker.training.settings import Record, RunSettings
from linker.types import Activity


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training gives."""

    ranker: Ranker  # of all names, with a second stage where the options want one
    history: list[Record]  # one record for each epoch
    encoder: Encoder  # of the names; its options name a pretrained model, not its place


def train(
    plan: TrainingPlan,
    data: TrainingData,
    settings: RunSettings,
    validate: Validate | None = None,
) -> Trained:
    """Train the encoder of a plan, and index the names with it.

    Args:
        plan: the encoder and the options.
        data: what is trained on.
        settings: where checkpoints are, and who is told.
        validate: measures each epoch of the list-wise phase on development data.
    """
    data.check()
    encoder, provenance = start.create_encoder(plan, data, settings)
    options = rank.usable(plan, encoder, data)
    if options.rerank.epochs:
        rerank.check(encoder, options.rerank, data)
    if not isinstance(encoder, TrainableEncoder):
        return Trained(start.untrained(encoder, data, options.training), [], encoder)

    accelerator, options = start.place(encoder, options)
    if not settings.resume and accelerator.is_main_process:
        start.clear(settings)  # a later --resume must not find those of an earlier training
    share = slice(accelerator.process_index, None, accelerator.num_processes)
    model = ModelInTraining(encoder, data, options, settings, provenance, validate, share)
    history: list[Record] = []
    for prepare in (align.prepare, ground.prepare, rank.prepare, rerank.prepare):
        phase = prepare(model)
        if phase is not None:
            history += _run(phase, accelerator, settings)
            model.has_history = True
    return Trained(model.ranker_of_all_names(), history, encoder)


def _run(phase: Phase, accelerator: Accelerator, settings: RunSettings) -> list[Record]:
    """Run a phase, tell each step and epoch, and give back the record of each epoch."""
    checkpoints = None
    if folder := settings.folder(phase.name):
        checkpoints = Checkpoints(folder, phase.fingerprint)
        resume = settings.resume and checkpoints.exists
        checkpoints = dataclasses.replace(checkpoints, resume=resume)
    history: list[Record] = []
    settings.on_activity(Activity(phase.name.value, epochs=phase.plan.epochs))
    for event in run(phase, accelerator, checkpoints):
        if isinstance(event, Epoch):
            history.append({"phase": phase.name.value, **event.record})
        settings.on_event(history[-1] if isinstance(event, Epoch) else event)
    return history
