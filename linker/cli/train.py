"""linker train: a model folder out of dictionaries and annotated mentions."""

from __future__ import annotations

import dataclasses
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common, settings
from linker.errors import LinkerError

if TYPE_CHECKING:
    from linker.dictionary import Dictionary
    from linker.linker import Linker
    from linker.options import LinkerOptions
    from linker.types import Document, Mention


@click.command()
@click.option("--dict", "dicts", multiple=True, required=True, metavar="PATH", help="Dictionary file or UMLS folder; may be given again.")
@common.dictionary_options
@click.option("--mentions", multiple=True, metavar="PATH", help="Annotated mentions, which become names; may be given again.")
@common.mentions_format_option
@click.option("--type", "mention_type", metavar="T", help="Keep mentions of this type, e.g. Disease.")
@click.option("--dev", metavar="PATH", help="Annotated mentions to report accuracy on (protocol strict).")
@click.option("--refit", is_flag=True, help="After the report, train again on the training and development mentions.")
@click.option("--no-extend", is_flag=True, help="Do not add the mentions to the dictionary's names.")
@click.option("--encoder", metavar="NAME", help="One of `linker encoders`.")
@click.option("--model-name", metavar="PATH_OR_HUB_ID", help="The transformer to start from; implies --encoder transformer.")
@click.option("--preset", default="default", show_default=True, metavar="NAME", help="default, paper-biosyn or paper-bcnh.")
@click.option("--loss", type=click.Choice(["listwise", "marginal"]), help="Loss of the candidate lists. [training.loss]")
@click.option("--hypernym-norm/--no-hypernym-norm", default=None, help="Add the norm loss. [training.hypernym_norm]")
@click.option("--top-k", metavar="N", help="Names in a training list. [training.top_k]")
@click.option("--dense-ratio", metavar="X", help="Share of them that are dense candidates. [training.dense_ratio]")
@click.option("--max-hypernyms", metavar="N", help="Hypernym names for the norm loss of a mention. [training.max_hypernyms]")
@click.option("--epochs", metavar="N", help="Passes over the mentions, at most. [training.epochs]")
@click.option("--batch-size", metavar="N", help="Mentions of a training step. [training.batch_size]")
@click.option("--learning-rate", metavar="X", help="[training.learning_rate]")
@click.option("--seed", metavar="N", help="Same seed, same machine, same model. [training.seed]")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), help="Where a dense encoder is trained. [training.device]")
@click.option("--precision", type=click.Choice(["auto", "fp32", "bf16"]), help="What it computes in. [training.precision]")
@click.option("--resume", is_flag=True, help="Go on with the training of this model folder that was interrupted.")
@click.option("--config", metavar="FILE.toml", help="Options as tables of a TOML file.")
@click.option("--set", "changes", multiple=True, metavar="GROUP.FIELD=VALUE", help="One option, e.g. sparse.ngram_max=3.")
@click.option("--spelling", metavar="PATH", help="A list of wrong||right words, applied to names and mentions.")
@common.on_error_option
@click.option("-o", "--output", default=common.DEFAULT_MODEL, show_default=True, metavar="DIR", help="Model folder to write.")
@common.logs
def train(
    dicts: tuple[str, ...],
    mentions: tuple[str, ...],
    mentions_format: str | None,
    mention_type: str | None,
    dev: str | None,
    refit: bool,
    no_extend: bool,
    encoder: str | None,
    model_name: str | None,
    preset: str,
    config: str | None,
    changes: tuple[str, ...],
    spelling: str | None,
    resume: bool,
    on_error: str,
    output: str,
    **others: Any,
) -> None:
    """Train a model and write its folder.

    Without --mentions the names of the dictionary are all there is to learn from. A dense encoder writes checkpoints beside the model
    folder while it is trained, to go on from with --resume; several GPUs: accelerate launch -m linker.cli train ...
    """
    from linker import persistence, registry
    from linker.linker import Linker, Work
    from linker.readers import mentions as readers
    from linker.text.spelling import read

    if refit and not dev:
        raise click.UsageError("--refit adds the mentions of --dev to the training; name them with --dev")
    if encoder and encoder not in registry.encoders():
        raise click.UsageError(f"--encoder {encoder}: there is no such encoder; choose one of: {', '.join(sorted(registry.encoders()))}")
    if model_name and encoder not in (None, "transformer"):
        raise click.UsageError(f"--model-name is for --encoder transformer, not {encoder}; leave one of them out")
    is_main = os.environ.get("RANK", "0") == "0"  # of several processes, the one that speaks and writes
    if not is_main:
        click.get_current_context().meta["linker.quiet"] = True
        logging.getLogger().setLevel(logging.ERROR)
    handle = common.handler(on_error)
    persistence.check_replaceable(output)  # before the work, not after it
    flags = {name: others.pop(name) for name in settings.FLAGS}
    options = settings.read(preset, config, settings.flagged(flags, model_name), changes)
    dictionary = common.read_dictionary(dicts, handle, **others)
    _describe(dictionary)
    if encoder is None:
        encoder = "transformer" if model_name else "tfidf"
        common.say(f"encoder: {encoder} " + ("(--model-name)" if model_name else "(sparse; it needs no download)"))
    checkpoints = Path(f"{Path(output).absolute()}.training")
    if encoder != "tfidf":
        _check_checkpoints(checkpoints, resume)

    def annotated(path: str) -> list[Document | Mention]:
        items = list(readers.read(path, mentions_format, type=mention_type, on_error=handle))
        if all(mention.gold is None for mention, _ in readers.flatten(items)):
            raise LinkerError(f"{path}: holds no annotated mentions; give a file with gold ids, e.g. mention<TAB>id lines")
        return items

    training = [item for path in mentions for item in annotated(path)]
    choices: dict[str, Any] = {"encoder": encoder, "options": options, "extend": not no_extend}
    choices["corrections"] = read(spelling, handle) if spelling else {}
    development = annotated(dev) if dev else []
    work = Work(checkpoints, resume, on_event=_Progress())
    judge = (lambda model: _judged(model, development)) if dev else None
    model = Linker.train(dictionary, mentions=training, validate=judge, work=work, **choices)
    if dev:
        _report(model, development)
    if refit:
        choices["options"] = _refitted(options, model)
        again = dataclasses.replace(work, phase="refit", resume=True)  # its alignment is that of the first training
        refitted = Linker.train(dictionary, mentions=training + development, work=again, **choices)
        refitted.history = [*model.history, *(record for record in refitted.history if record["phase"] == "refit")]
        model = refitted
    if not is_main:
        return
    model.save(output)
    shutil.rmtree(checkpoints, ignore_errors=True)
    common.say_skipped(handle)
    common.say(f"model: {output} ({len(model.dictionary):,} concepts, {len(model.generator.table):,} distinct names)")


def _check_checkpoints(folder: Path, resume: bool) -> None:
    """Refuse to train over checkpoints of an interrupted training.

    Raises:
        LinkerError: there are some, and --resume is not given.
    """
    if folder.exists() and not resume:
        raise LinkerError(f"{folder}: holds an interrupted training; go on with --resume, or remove the folder")
    if resume and not folder.exists():
        common.say(f"{folder}: there is nothing to resume; training from the start")


class _Progress:
    """Says how each epoch came out; on a terminal also how far it is."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, event: Any) -> None:
        if not isinstance(event, Mapping):
            self._step(event)
            return
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        numbers = (f"{name} {value:.4g}" for name, value in event.items() if name not in ("phase", "epoch"))
        common.say(f"{event['phase']}, epoch {event['epoch']}: {', '.join(numbers)}")

    def _step(self, step: Any) -> None:
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                total=step.steps, initial=step.step - 1, unit=" steps", leave=False, disable=None if not common.is_quiet() else True
            )
        self._bar.set_description(f"epoch {step.epoch}", refresh=False)
        self._bar.update()


def _judged(model: Linker, items: list[Document | Mention]) -> dict[str, float]:
    """What is logged of an epoch; Acc@1 decides which one is kept."""
    from linker.evaluation import protocols, report

    acc = report.figures(list(protocols.strict(model, items, 20)), (1, 5, 20), intervals=False)["acc"]
    return {"dev_acc1": acc["1"], "dev_acc5": acc["5"], "dev_recall20": acc["20"]}


def _refitted(options: LinkerOptions, model: Linker) -> LinkerOptions:
    """The options for training on all mentions: as many epochs as were best."""
    if not model.best_epoch:
        return options
    return dataclasses.replace(options, training=dataclasses.replace(options.training, epochs=model.best_epoch))


def _describe(dictionary: Dictionary) -> None:
    for source in dictionary.sources:
        release = f", {source.release}" if source.release else ""
        common.say(f"dictionary: {source.file} ({source.format}{release}): {source.concepts:,} concepts")
    for cycle in dictionary.hierarchy.cycles():
        ids = ", ".join(dictionary.ids[row] for row in cycle[:5])
        common.say(f"the hierarchy has a cycle of {len(cycle)} concepts ({ids}); each is the others' ancestor")


def _report(model: Any, items: list[Document | Mention]) -> None:
    from linker.evaluation import protocols, report

    outcomes = list(protocols.strict(model, items, 20))
    common.say("development mentions, protocol strict:\n" + report.table(report.summary(outcomes, (1, 5, 10, 20), model)))
