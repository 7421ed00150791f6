"""linker train: a model folder out of dictionaries and annotated mentions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from linker.cli import common
from linker.cli import options as o
from linker.cli.progress import Progress
from linker.encoders.words import WordVectors
from linker.errors import UsageError
from linker.evaluation import protocols, report
from linker.integrations import DEFAULT_MODEL
from linker.io import persistence
from linker.linking.linker import Linker
from linker.records import Activity, Document, Mention
from linker.text.spelling import read as read_spelling
from linker.training import pipeline, plan
from linker.training.plan import (
    RunSettings,
    TrainingPlan,
    check_folder,
    remove_checkpoints,
)


@o.command(
    dicts=o.NEEDED_DICTS,
    **o.READING,
    mentions=o.several("Annotated mentions: they become names, and train a dense encoder."),
    mention_type=o.ANNOTATED_TYPE,
    dev=o.option("Annotated mentions to report accuracy on, and choose the best epoch by.", "PATH"),
    refit=o.flag("After the report, train again on the mentions of --mentions and --dev."),
    encoder=o.option(
        "One of `linker model encoders`, or two: static,transformer. [default: static]", "NAME"
    ),
    model_name=o.option("Transformer to start from; implies --encoder transformer.", "NAME"),
    words=o.option("Word vectors, for dan and its kind. [default: trained on the names]", "PATH"),
    preset=o.PRESET,
    changes=o.CHANGES,
    device=o.option("Where a dense encoder is trained.", "auto|cpu|cuda"),
    resume=o.flag("Go on with an interrupted training of the same --output."),
    spelling=o.option("A list of wrong||right words, applied to names and mentions.", "PATH"),
    on_error=o.ON_ERROR,
    output=o.folder("Model folder to write.", default=DEFAULT_MODEL),
)
def train(options: SimpleNamespace) -> None:
    """Train a model and write its folder.

    Without --mentions the names of the dictionary are all there is to learn from. A dense encoder
    writes checkpoints beside the model folder while it is trained, to go on from with --resume.
    """
    output, dev = options.output, options.dev
    persistence.check_replaceable(output)  # this and what follows: before the work, not after it
    plan = _plan(options)
    checkpoints = Path(f"{Path(output).absolute()}.training")
    if plan.is_trained:
        check_folder(checkpoints, options.resume)
    dictionary = o.read_and_say(options.dicts, options)
    common.say(f"encoder: {plan.encoder}" + (plan.device and f", trained on {plan.device}"))
    examples = o.annotated(options.mentions, options, dictionary)
    held_out = o.annotated([dev] if dev else [], options, dictionary)
    if options.words:
        plan = dataclasses.replace(plan, words=WordVectors.read(options.words))
    reporter = TrainingReporter()
    run = RunSettings(
        checkpoints,
        options.resume,
        on_event=reporter,
        on_activity=reporter.on_activity,
        on_trained=partial(_report, dev=held_out, reporter=reporter),
        say=reporter.say,
    )
    try:
        linker = pipeline.run(plan, dictionary, examples, held_out, run)
        reporter.on_activity(Activity("writing the model", None))
        linker.save(output)
    except (KeyboardInterrupt, SystemExit):  # of SIGTERM
        reporter.close()
        if checkpoints.is_dir():
            common.say(f"{checkpoints} holds the training so far; go on with --resume")
        raise
    finally:
        reporter.close()
    if plan.is_trained:
        remove_checkpoints(checkpoints)
    common.say_model(linker, output)


def _plan(options: SimpleNamespace) -> TrainingPlan:
    """What the options ask for, as far as it fits together."""
    if options.refit and not (options.dev and options.mentions):
        raise UsageError("--refit trains again on the mentions of --mentions and --dev; give both")
    changes = [*options.changes]
    if options.device:
        changes.append(f"training.device={options.device}")
    encoder = options.encoder
    if options.model_name is not None:
        encoder = encoder or "transformer"
        group = "transformer" if "," in encoder else "encoder"
        changes.append(f"{group}.model={options.model_name}")
    path = options.spelling
    made = plan.make(
        encoder,
        preset_name=options.preset,
        options=partial(o.training_options, options.preset, o.values_of(changes)),
        changes=[change for change in changes if not change.endswith(".toml")],
        has_words=options.words is not None,
        corrections=read_spelling(path, options.on_error) if path else {},
    )
    if options.resume and not made.is_trained:
        raise UsageError(f"--resume: the encoder {made.encoder} has no checkpoints; leave it out")
    return dataclasses.replace(made, refit=options.refit)


def _report(linker: Linker, dev: list[Document | Mention], reporter: TrainingReporter) -> None:
    """Say the accuracy on development mentions, where there are any."""
    if dev:
        reporter.on_activity(Activity("measuring on the development mentions", None))
        outcomes = list(protocols.strict(linker, dev, 20))
        kept = f", with the weights of epoch {linker.best_epoch}" if linker.best_epoch else ""
        table = report.table(report.summary(outcomes, (1, 5, 10, 20), linker))
        reporter.say(f"development mentions, protocol strict{kept}:\n{table}")


class TrainingReporter:
    """Reports each epoch once, sentences, and how far long work is."""

    def __init__(self) -> None:
        self._progress = Progress()
        self._epochs: set[tuple[str, int]] = set()  # those that were reported

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Report the record of an epoch; those of an alignment come again with the refit."""
        epoch = record["phase"], record["epoch"]
        if epoch not in self._epochs:
            self._epochs.add(epoch)
            numbers = [f"{n.replace('_', ' ')} {v:.4f}" for n, v in [*record.items()][2:]]
            self.say(f"{epoch[0]}, epoch {epoch[1]}: {', '.join(numbers)}")

    def say(self, sentence: str) -> None:
        """Report a sentence, in the place of the bar."""
        self._progress.close()
        common.say(sentence)

    def on_activity(self, activity: Activity) -> None:
        """Report how far an activity is."""
        self._progress.show(activity)

    def close(self) -> None:
        """Remove the bar."""
        self._progress.close()
