"""linker train: a model folder out of dictionaries and annotated mentions."""

from __future__ import annotations

import dataclasses
import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from linker import files, persistence
from linker.cli import common, progress, reading, settings
from linker.cli import options as o
from linker.encoders.words import WordVectors
from linker.evaluation import protocols, report
from linker.integrations import DEFAULT_MODEL
from linker.linking.linker import Linker
from linker.text.spelling import read as read_spelling
from linker.training import pipeline, plan
from linker.training.data import check_known
from linker.training.plan import RunSettings, TrainingPlan, check_folder, remove_folder
from linker.types import Document, Mention


@o.command(
    dicts=reading.NEEDED_DICTS,
    **reading.READING,
    mentions=o.several("Annotated mentions: they become names, and train a dense encoder."),
    mention_type=o.ANNOTATED_TYPE,
    dev=o.option("Annotated mentions to report accuracy on, and choose the best epoch by.", "PATH"),
    refit=o.flag("After the report, train again on the mentions of --mentions and --dev."),
    encoder=o.option("One of `linker model encoders`. [default: static]", "NAME"),
    model_name=o.option("Transformer to start from; implies --encoder transformer.", "NAME"),
    words=o.option("Word vectors, for dan and its kind. [default: trained on the names]", "PATH"),
    preset=settings.PRESET,
    changes=settings.CHANGES,
    device=o.option("Where a dense encoder is trained.", "auto|cpu|cuda"),
    resume=o.flag("Go on with an interrupted training of the same --output."),
    spelling=o.option("A list of wrong||right words, applied to names and mentions.", "PATH"),
    on_error=o.ON_ERROR,
    output=o.folder("Model folder to write.", default=DEFAULT_MODEL),
)
def train(options: SimpleNamespace) -> None:
    """Train a model and write its folder.

    Without --mentions the names of the dictionary are all there is to learn from. A dense encoder
    writes checkpoints beside the model folder while it is trained, to go on from with --resume;
    several GPUs: accelerate launch -m linker.cli train ...
    """
    if not (is_main := os.environ.get("RANK", "0") == "0"):  # of several processes one speaks
        common.silence()
    output, dev = options.output, options.dev
    persistence.check_replaceable(output)  # this and what follows: before the work, not after it
    plan = _plan(options)
    checkpoints = Path(f"{Path(output).absolute()}.training")
    if plan.is_trained and (message := check_folder(checkpoints, options.resume)):
        common.say(message)
    dictionary = reading.read_and_say(options.dicts, options)
    if plan.device or plan.reason:
        reason = f" ({plan.reason})" if plan.reason else ""
        device = f", trained on {plan.device}" if plan.device else ""
        common.say(f"encoder: {plan.encoder}{reason}{device}")
    examples = reading.annotated(options.mentions, options, dictionary)
    held_out = reading.annotated([dev] if dev else [], options, dictionary)
    check_known(dictionary, held_out, dev or "")
    if options.words:
        plan = dataclasses.replace(plan, words=WordVectors.read(options.words))
    with progress.reported(checkpoints) as reporter:
        run = RunSettings(
            checkpoints,
            options.resume,
            development=files.fingerprint(dev) if dev else "",
            on_event=reporter,
            on_activity=reporter.on_activity,
            on_trained=partial(_report, dev=held_out),
            say=common.say,
        )
        linker = pipeline.run(plan, dictionary, examples, held_out, run)
        if not is_main:
            return
        linker.save(output)
    if plan.is_trained:
        remove_folder(checkpoints)
    common.say_model(linker, output)


def _plan(options: SimpleNamespace) -> TrainingPlan:
    """What the options ask for, as far as it fits together."""
    typed = [*options.changes, *([f"training.device={d}"] if (d := options.device) else ())]
    changes = [setting for change in typed for setting in settings.settings_of(change)]
    if (name := options.model_name) is not None:
        changes.append((f"--model-name {name}", "encoder.model", name))
    path = options.spelling
    return plan.make(
        options.encoder,
        model_name=options.model_name,
        preset_name=options.preset,
        options=partial(settings.read, options.preset, changes),
        changes=[change for change in typed if not change.endswith(".toml")],
        has_mentions=bool(options.mentions),
        has_dev=options.dev is not None,
        has_words=options.words is not None,
        refit=options.refit,
        resume=options.resume,
        corrections=read_spelling(path, options.on_error) if path else {},
    )


def _report(linker: Linker, dev: list[Document | Mention]) -> None:
    """Print the accuracy on development mentions, where there are any."""
    if dev:
        outcomes = list(protocols.strict(linker, dev, 20))
        kept = f", with the weights of epoch {linker.best_epoch}" if linker.best_epoch else ""
        table = report.table(report.summary(outcomes, (1, 5, 10, 20), linker))
        common.say(f"development mentions, protocol strict{kept}:\n{table}")
