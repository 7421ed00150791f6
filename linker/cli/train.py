"""linker train: a model folder out of dictionaries and annotated mentions. linker encoders: what
it can train."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from linker.cli import common, progress, reading, settings
from linker.cli import options as o
from linker.errors import LinkerError
from linker.integrations import DEFAULT_MODEL

if TYPE_CHECKING:
    from linker.linking.linker import Linker
    from linker.training.plan import TrainingPlan
    from linker.types import Document, Mention


@o.command(
    dicts=reading.NEEDED_DICTS,
    **reading.READING,
    mentions=o.several("Annotated mentions: they become names, and train a dense encoder."),
    mentions_format=o.MENTIONS_FORMAT,
    mention_type=o.ANNOTATED_TYPE,
    dev=o.option(
        "Annotated mentions to report accuracy on (protocol strict), "
        "and to choose the best epoch by.",
        "PATH",
    ),
    refit=o.flag("After the report, train again on the mentions of --mentions and --dev."),
    no_extend=o.flag("Do not add the mentions to the dictionary's names.", hidden=True),
    encoder=o.option("One of `linker encoders`. [default: static]", "NAME"),
    model_name=o.option(
        "The transformer to start from; implies --encoder transformer.",
        "PATH_OR_HUB_ID",
    ),
    words=o.option(
        "Word vectors, for encoders that are made of words. [default: trained on the names]",
        "DIR_OR_FILE",
    ),
    texts=o.several(
        "Text to train word vectors on beside the names; may be given again.", flags="--text"
    ),
    preset=o.option(
        "default, or paper- and one of: biosyn, bcnh, dan, dan-higher, fewshot, bne, bne-words.",
        "NAME",
        default="default",
        show_default=True,
    ),
    **settings.FLAGS,
    config=o.option("Options as tables of a TOML file.", "FILE.toml"),
    changes=o.several(
        "One option, e.g. sparse.ngram_max=3.", metavar="GROUP.FIELD=VALUE", flags="--set"
    ),
    resume=o.flag("Go on with an interrupted training of the same --output."),
    spelling=o.option(
        "A list of wrong||right words, applied to names and mentions.", "PATH", hidden=True
    ),
    on_error=o.ON_ERROR,
    output=o.option(
        "Model folder to write.",
        "DIR",
        default=DEFAULT_MODEL,
        show_default=True,
        flags="-o --output",
    ),
)
def train(options: SimpleNamespace) -> None:
    """Train a model and write its folder.

    Without --mentions the names of the dictionary are all there is to learn from. A dense encoder
    writes checkpoints beside the model folder while it is trained, to go on from with --resume;
    several GPUs: accelerate launch -m linker.cli train ...
    """
    from linker import files, persistence
    from linker.cli.words import for_training
    from linker.training import pipeline
    from linker.training.data import check_known
    from linker.training.plan import RunSettings, remove_folder

    if not (is_main := os.environ.get("RANK", "0") == "0"):  # of several processes one speaks
        common.silence()
    output, dev = options.output, options.dev
    persistence.check_replaceable(output)  # this and what follows: before the work, not after it
    plan = _plan(options)
    checkpoints = Path(f"{Path(output).absolute()}.training")
    if plan.is_trained:
        _check_trained(checkpoints, options.resume)
    dictionary = reading.read_and_say(options.dicts, options)
    if plan.device or plan.reason:
        reason = f" ({plan.reason})" if plan.reason else ""
        device = f", trained on {plan.device}" if plan.device else ""
        common.say(f"encoder: {plan.encoder}{reason}{device}")
    examples = reading.annotated(options.mentions, options, dictionary)
    held_out = reading.annotated([dev] if dev else [], options, dictionary)
    check_known(dictionary, held_out, dev or "")
    plan = for_training(plan, options, dictionary, checkpoints)
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
    from linker.text.spelling import read as read_spelling
    from linker.training import plan

    given = {name: getattr(options, name) for name in settings.FLAGS}

    def read(encoder: str) -> Any:
        flags = settings.flagged(given, options.model_name, encoder)
        return settings.read(options.preset, options.config, flags, options.changes, encoder)

    path = options.spelling
    return plan.make(
        options.encoder,
        model_name=options.model_name,
        preset_name=options.preset,
        options=read,
        flags=list(settings.typed(given).values()),
        has_mentions=bool(options.mentions),
        has_dev=options.dev is not None,
        has_words=options.words is not None,
        has_texts=bool(options.texts),
        refit=options.refit,
        resume=options.resume,
        changes=options.changes,
        extend=not options.no_extend,
        corrections=read_spelling(path, options.on_error) if path else {},
    )


def _check_trained(checkpoints: Path, resume: bool) -> None:
    """Refuse a training whose plot could not be drawn, or whose checkpoints have no place."""
    from linker.training.plan import check_folder

    if message := check_folder(checkpoints, resume):
        common.say(message)


def _report(linker: Linker, dev: list[Document | Mention]) -> None:
    """Print the accuracy on development mentions, where there are any."""
    from linker.evaluation import protocols, report

    if dev:
        outcomes = list(protocols.strict(linker, dev, 20))
        kept = f", with the weights of epoch {linker.best_epoch}" if linker.best_epoch else ""
        table = report.table(report.summary(outcomes, (1, 5, 10, 20), linker))
        common.say(f"development mentions, protocol strict{kept}:\n{table}")


@o.command()
def encoders(_: SimpleNamespace) -> None:
    """List the encoders, with one line each."""
    from linker import registry

    with common.stdout() as file:
        for name in sorted(registry.encoders()):
            try:
                line = registry.describe(name)
            except LinkerError as error:
                if name not in registry.ENCODERS:
                    common.say(str(error))
                    continue
                line = f"({error})"
            file.write(f"{name:14}{line}\n")
