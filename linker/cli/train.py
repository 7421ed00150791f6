"""linker train: a model folder out of dictionaries and annotated mentions."""

from __future__ import annotations

import importlib.util
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common, progress, settings
from linker.cli.reading import Reading, dicts_option, read_annotated, reading_options
from linker.errors import LinkerError, UsageError
from linker.version import install_hint

if TYPE_CHECKING:
    from collections.abc import Callable

    from linker.linking.linker import Linker
    from linker.training.plan import TrainingPlan, TrainingRequest
    from linker.types import Document, Mention

_annotation_options = common.chained(
    click.option(
        "--mentions",
        multiple=True,
        metavar="PATH",
        help="Annotated mentions: they become names, and train a dense encoder.",
    ),
    common.mentions_format_option,
    common.type_option("Keep mentions that are annotated with this type, e.g. Disease."),
    click.option(
        "--dev",
        metavar="PATH",
        help="Annotated mentions to report accuracy on (protocol strict), "
        "and to choose the best epoch by.",
    ),
    click.option(
        "--refit",
        is_flag=True,
        help="After the report, train again on the mentions of --mentions and --dev.",
    ),
    click.option(
        "--no-extend",
        is_flag=True,
        hidden=True,
        help="Do not add the mentions to the dictionary's names.",
    ),
)
_encoder_options = common.chained(
    click.option(
        "--encoder",
        metavar="NAME",
        help="One of `linker encoders`. [default: static]",
    ),
    click.option(
        "--model-name",
        metavar="PATH_OR_HUB_ID",
        help="The transformer to start from; implies --encoder transformer unless static is named.",
    ),
    click.option(
        "--words",
        metavar="DIR_OR_FILE",
        help="Word vectors, for encoders that are made of words. [default: trained on the names]",
    ),
    click.option(
        *("--text", "texts"),
        multiple=True,
        metavar="PATH",
        help="Text to train word vectors on beside the names; may be given again.",
    ),
)
_settings_options = common.chained(
    click.option(
        "--preset",
        default="default",
        show_default=True,
        metavar="NAME",
        help="default, or paper- and one of: biosyn, bcnh, dan, dan-higher, fewshot, bne, "
        "bne-words.",
    ),
    settings.flags,
    click.option("--config", metavar="FILE.toml", help="Options as tables of a TOML file."),
    click.option(
        *("--set", "changes"),
        multiple=True,
        metavar="GROUP.FIELD=VALUE",
        help="One option, e.g. sparse.ngram_max=3.",
    ),
)


@click.command()
@dicts_option(required=True)
@reading_options
@_annotation_options
@_encoder_options
@_settings_options
@click.option(
    "--resume", is_flag=True, help="Go on with an interrupted training of the same --output."
)
@click.option(
    "--spelling",
    metavar="PATH",
    hidden=True,
    help="A list of wrong||right words, applied to names and mentions.",
)
@common.on_error_option
@click.option(
    *("-o", "--output"),
    default=common.DEFAULT_MODEL,
    show_default=True,
    metavar="DIR",
    help="Model folder to write.",
)
@common.logs
def train(
    dicts: tuple[str, ...],
    reading: Reading,
    mentions: tuple[str, ...],
    mentions_format: str | None,
    mention_type: str | None,
    dev: str | None,
    words: str | None,
    texts: tuple[str, ...],
    resume: bool,
    spelling: str | None,
    on_error: str,
    output: str,
    **choices: Any,
) -> None:
    """Train a model and write its folder.

    Without --mentions the names of the dictionary are all there is to learn from. A dense encoder
    writes checkpoints beside the model folder while it is trained, to go on from with --resume;
    several GPUs: accelerate launch -m linker.cli train ...
    """
    from linker import files, persistence
    from linker.cli.words import for_training
    from linker.text.spelling import read as read_spelling
    from linker.training import pipeline
    from linker.training.data import check_known
    from linker.training.plan import TrainingRequest
    from linker.training.settings import RunSettings, remove_folder

    if not (is_main := os.environ.get("RANK", "0") == "0"):  # of several processes one speaks
        common.silence()
    persistence.check_replaceable(output)  # this and what follows: before the work, not after it
    handle = common.handler(on_error)
    asked = partial(
        TrainingRequest,
        has_mentions=bool(mentions),
        has_dev=dev is not None,
        resume=resume,
        has_words=words is not None,
        has_texts=bool(texts),
        corrections=read_spelling(spelling, handle) if spelling else {},
    )
    plan = _plan(asked, **choices)
    checkpoints = Path(f"{Path(output).absolute()}.training")
    if plan.is_trained:
        _check_trained(checkpoints, resume)
    dictionary = reading.read_and_say(dicts, handle)
    _say_encoder(plan)

    def annotated(path: str) -> list[Document | Mention]:
        return read_annotated(path, mentions_format, mention_type, handle, dictionary)

    examples = [item for path in mentions for item in annotated(path)]
    held_out = annotated(dev) if dev else []
    check_known(dictionary, held_out, dev or "")
    plan = for_training(plan, words, texts, dictionary, checkpoints, handle)
    with progress.shown(checkpoints) as shown:
        run = RunSettings(
            checkpoints,
            resume,
            development=files.fingerprint(dev) if dev else "",
            on_event=shown,
            on_activity=shown.on_activity,
            on_trained=partial(_report, dev=held_out),
            say=common.say,
            progress=common.has_bars(),
        )
        linker = pipeline.train(plan, dictionary, examples, held_out, run)
        if not is_main:
            return
        linker.save(output)
    if plan.is_trained:
        remove_folder(checkpoints)
    common.say_skipped(handle)
    common.say_model(linker, output)


def _plan(
    asked: Callable[..., TrainingRequest],
    *,
    encoder: str | None,
    model_name: str | None,
    preset: str,
    config: str | None,
    changes: tuple[str, ...],
    refit: bool,
    no_extend: bool,
    **flags: Any,
) -> TrainingPlan:
    """What the options ask for, as far as it fits together; `flags` each set one of training."""
    from linker.training import plan

    def read(encoder: str) -> Any:
        flagged = settings.flagged(flags, model_name, encoder)
        return settings.read(preset, config, flagged, changes, encoder)

    request = asked(
        encoder=encoder,
        model_name=model_name,
        preset=preset,
        options=read,
        flags=list(settings.typed(flags).values()),
        changes=changes,
        refit=refit,
        extend=not no_extend,
    )
    try:
        return plan.make(request)
    except UsageError as error:
        raise click.UsageError(str(error)) from None


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
