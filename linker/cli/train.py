"""linker train: a model folder out of dictionaries and annotated mentions."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linker.cli import common, progress
from linker.cli.reading import Reading, reading_options
from linker.cli.training_options import (
    Annotations,
    EncoderChoice,
    OptionFlags,
    annotation_options,
    encoder_options,
    training_options,
)
from linker.errors import LinkerError, OnError, UsageError
from linker.version import install_hint

if TYPE_CHECKING:
    from linker.dictionary import Dictionary
    from linker.linking.linker import Linker
    from linker.training.plan import TrainingPlan
    from linker.training.settings import RunSettings
    from linker.types import Document, Mention


@click.command()
@click.option(
    "--dict",
    "dicts",
    multiple=True,
    required=True,
    metavar="PATH",
    help="Dictionary file or UMLS folder; may be given again.",
)
@reading_options
@annotation_options
@encoder_options
@training_options
@click.option(
    "--resume", is_flag=True, help="Go on with an interrupted training of the same --output."
)
@click.option(
    "--spelling",
    metavar="PATH",
    help="A list of wrong||right words, applied to names and mentions.",
)
@common.on_error_option
@click.option(
    "-o",
    "--output",
    default=common.DEFAULT_MODEL,
    show_default=True,
    metavar="DIR",
    help="Model folder to write.",
)
@common.logs
def train(
    dicts: tuple[str, ...],
    reading: Reading,
    annotations: Annotations,
    encoder: EncoderChoice,
    options: OptionFlags,
    resume: bool,
    spelling: str | None,
    on_error: str,
    output: str,
) -> None:
    """Train a model and write its folder.

    Without --mentions the names of the dictionary are all there is to learn from. A dense encoder
    writes checkpoints beside the model folder while it is trained, to go on from with --resume;
    several GPUs: accelerate launch -m linker.cli train ...
    """
    from linker import persistence
    from linker.training import pipeline
    from linker.training.settings import remove_folder

    if not (is_main := os.environ.get("RANK", "0") == "0"):  # of several processes one speaks
        common.silence_process()
    persistence.check_replaceable(output)  # this and what follows: before the work, not after it
    handle = common.handler(on_error)
    corrections = _corrections(spelling, handle)
    plan = _plan(annotations, encoder, options, resume, corrections)
    checkpoints = Path(f"{Path(output).absolute()}.training")
    if plan.is_trained:
        _check_trained(checkpoints, resume)
    dictionary = reading.read_and_say(dicts, handle)
    _say_encoder(plan)
    mentions, dev = (
        read(handle, dictionary) for read in (annotations.training, annotations.development)
    )
    plan = _with_words(plan, encoder, dictionary, checkpoints, handle)
    with progress.shown(checkpoints) as shown:
        settings = _settings(checkpoints, resume, annotations.dev, dev, shown)
        linker = pipeline.train(plan, dictionary, mentions, dev, settings)
        if not is_main:
            return
        linker.save(output)
    if plan.is_trained:
        remove_folder(checkpoints)
    common.say_skipped(handle)
    common.say_model(linker, output)


def _corrections(path: str | None, on_error: OnError) -> dict[str, str]:
    from linker.text.spelling import read

    return read(path, on_error) if path else {}


def _plan(
    annotations: Annotations,
    encoder: EncoderChoice,
    options: OptionFlags,
    resume: bool,
    corrections: dict[str, str],
) -> TrainingPlan:
    """What the options ask for, as far as it fits together."""
    from linker.training import plan

    request = plan.TrainingRequest(
        encoder=encoder.encoder,
        model_name=encoder.model_name,
        preset=options.preset,
        options=partial(options.read, model_name=encoder.model_name),
        flags=options.given,
        changes=options.changes,
        has_mentions=bool(annotations.mentions),
        has_dev=annotations.dev is not None,
        refit=annotations.refit,
        resume=resume,
        has_words=encoder.words is not None,
        has_texts=bool(encoder.texts),
        extend=not annotations.no_extend,
        corrections=corrections,
    )
    try:
        return plan.make(request)
    except UsageError as error:
        raise click.UsageError(str(error)) from None


def _with_words(
    plan: TrainingPlan,
    encoder: EncoderChoice,
    dictionary: Dictionary,
    checkpoints: Path,
    on_error: OnError,
) -> TrainingPlan:
    """The plan with the word vectors of --words or --text, where one of them is given."""
    from linker.cli.words import for_training

    if not (encoder.words or encoder.texts):
        return plan
    words = for_training(encoder, dictionary, plan.options.words, checkpoints, on_error)
    return dataclasses.replace(plan, words=words)


def _settings(
    checkpoints: Path,
    resume: bool,
    dev_path: str | None,
    dev: list[Document | Mention],
    shown: progress.Progress,
) -> RunSettings:
    """Where checkpoints are, and how the training speaks to the user."""
    from linker import files
    from linker.training.settings import RunSettings

    return RunSettings(
        checkpoints,
        resume,
        development=files.fingerprint(dev_path) if dev_path else "",
        on_event=shown,
        on_activity=shown.on_activity,
        on_trained=partial(_report, dev=dev),
        say=common.say,
        progress=common.has_bars(),
    )


def _check_trained(checkpoints: Path, resume: bool) -> None:
    """Refuse a training whose plot could not be drawn, or whose checkpoints have no place."""
    from linker.training.settings import check_folder

    if importlib.util.find_spec("matplotlib") is None:
        hint = install_hint("dense")
        raise LinkerError(f"training needs matplotlib, which is not installed: {hint}")
    if message := check_folder(checkpoints, resume):
        common.say(message)


def _say_encoder(plan: TrainingPlan) -> None:
    """Say which encoder is trained, why, and where."""
    if plan.device or plan.reason:
        reason = f" ({plan.reason})" if plan.reason else ""
        device = f", trained on {plan.device}" if plan.device else ""
        common.say(f"encoder: {plan.encoder}{reason}{device}")


def _report(linker: Linker, dev: list[Document | Mention]) -> None:
    """Print the accuracy on development mentions, where there are any."""
    from linker.evaluation import protocols, report

    if dev:
        outcomes = list(protocols.strict(linker, dev, 20))
        kept = f", with the weights of epoch {linker.best_epoch}" if linker.best_epoch else ""
        table = report.table(report.summary(outcomes, (1, 5, 10, 20), linker))
        common.say(f"development mentions, protocol strict{kept}:\n{table}")
