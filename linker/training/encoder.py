"""The training of an encoder with weights, phase after phase. What it is trained on:

- the names of the dictionary, normalised, with their concepts and its hierarchy;
- training mentions with gold ids: those of one concept are queries, and names of their concept in
  the model, though not in the candidate lists that they train on;
- development mentions, which are never trained on: with `validate` they choose the best epoch.

Up to three phases train one encoder of names, each from the weights that the one before kept:

1. align, transformers: synonyms of the dictionary are pulled together, the other names of a batch
   pushed away (self-alignment by InfoNCE, after SapBERT);
2. ground, encoders made of words: names of a concept, or of a larger class, are pulled together and
   anchored to vectors that are not trained (Fivez et al. 2021a-c: DAN, CCA and prototypes; BNE);
3. rank, all: each query has a list of candidate names, half of them the best by characters
   (TF-IDF), half the best by the encoder, made anew every epoch; names of the gold concept are to
   rank before names of its hypernyms, these before others, by z = dense + λ · sparse, where the
   weight λ of the sparse score is trained too (BioSyn, BCNH). Without mentions, names of the
   dictionary are queries.

At the end all names are encoded, and indexed beside their sparse vectors. Options of 0 epochs leave
a phase out; the files in `phases/` say what else does.
"""

from __future__ import annotations

from accelerate import Accelerator

from linker.encoders.trainable import TrainableEncoder
from linker.training.checkpoints import Checkpoints
from linker.training.creation import Trained, create_encoder
from linker.training.data import TrainingData
from linker.training.loop import Epoch, Phase, run
from linker.training.model import ModelInTraining, Validate, clear_checkpoints, place
from linker.training.phases import align, ground, rank
from linker.training.plan import TrainingPlan
from linker.training.settings import Record, RunSettings
from linker.types import Activity


def train(
    plan: TrainingPlan,
    data: TrainingData,
    settings: RunSettings,
    validate: Validate | None = None,
) -> Trained:
    """Train the encoder of a plan, and index all names with it.

    Args:
        plan: which encoder, and the options.
        data: the dictionary and the training mentions.
        settings: where checkpoints are written, and callbacks for progress.
        validate: measures the model after each epoch of phase 3.
    """
    data.check()  # this and the next lines refuse what would only fail after hours
    created, provenance = create_encoder(plan, data, settings)
    encoder = created.trainable()
    assert isinstance(encoder, TrainableEncoder)  # noqa: S101 - what `is_trained` says
    options = rank.checked_options(plan, encoder, data)

    accelerator, options = place(encoder, options)  # on its device
    if not settings.resume and accelerator.is_main_process:
        clear_checkpoints(settings)
    # of each batch this process takes every n-th query, where there are n processes
    share = slice(accelerator.process_index, None, accelerator.num_processes)
    model = ModelInTraining(encoder, data, options, settings, provenance, validate, share)
    history: list[Record] = []
    for prepare in (align.prepare, ground.prepare, rank.prepare):
        phase = prepare(model)
        if phase is not None:
            history += _run(phase, accelerator, settings)
            model.is_pretrained = True
    finished = encoder.finished()
    return Trained(model.generator_of_all_names(finished), history, finished)


def _run(phase: Phase, accelerator: Accelerator, settings: RunSettings) -> list[Record]:
    """Run the epochs of a phase, tell of each step and epoch, and return the epochs' records."""
    checkpoints = None
    if folder := settings.folder(phase.name):
        checkpoints = Checkpoints(folder, phase.fingerprint, settings.resume)
    history: list[Record] = []
    settings.on_activity(Activity(phase.name.value, epochs=phase.plan.epochs))
    for event in run(phase, accelerator, checkpoints):
        if isinstance(event, Epoch):
            history.append({"phase": phase.name.value, **event.record})
            settings.on_event(history[-1])
        else:
            settings.on_event(event)
    return history
