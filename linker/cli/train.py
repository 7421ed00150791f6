"""linker train: a model folder out of dictionaries and annotated mentions."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common, progress, settings
from linker.errors import LinkerError, OnError
from linker.version import install_hint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from linker.dictionary import Dictionary
    from linker.encoders.words import WordVectors
    from linker.linker import Linker
    from linker.options import LinkerOptions
    from linker.training.settings import RunSettings
    from linker.types import Document, Mention

_WORDS = "words"  # folder of the word vectors that were trained for it
_PHASES = {
    "align",
    "ground",
    "rank",
    "rank-rerank",
    "refit",
    "refit-rerank",
    _WORDS,
}  # folders of checkpoints, one for each phase


@click.command()
@click.option(
    "--dict",
    "dicts",
    multiple=True,
    required=True,
    metavar="PATH",
    help="Dictionary file or UMLS folder; may be given again.",
)
@common.dictionary_options
@click.option(
    "--mentions",
    multiple=True,
    metavar="PATH",
    help="Annotated mentions: they become names, and train a dense encoder.",
)
@common.mentions_format_option
@click.option(
    "--type", "mention_type", metavar="T", help="Keep mentions of this type, e.g. Disease."
)
@click.option(
    "--dev",
    metavar="PATH",
    help="Annotated mentions to report accuracy on (protocol strict), and to choose the best epoch by.",
)
@click.option(
    "--refit",
    is_flag=True,
    help="After the report, train again on the mentions of --mentions and --dev.",
)
@click.option(
    "--no-extend", is_flag=True, help="Do not add the mentions to the dictionary's names."
)
@click.option(
    "--encoder",
    metavar="NAME",
    help="One of `linker encoders`. [default: dan where its packages are installed, else tfidf]",
)
@click.option(
    "--model-name",
    metavar="PATH_OR_HUB_ID",
    help="The transformer to start from; implies --encoder transformer.",
)
@click.option(
    "--words",
    metavar="DIR_OR_FILE",
    help="Word vectors, for encoders that are made of words. [default: trained on the names]",
)
@click.option(
    "--text",
    "texts",
    multiple=True,
    metavar="PATH",
    help="Text to train word vectors on beside the names; may be given again.",
)
@click.option(
    "--preset",
    default="default",
    show_default=True,
    metavar="NAME",
    help="default, or paper- and one of: biosyn, bcnh, dan, dan-higher, fewshot, bne, bne-words.",
)
@click.option(
    "--loss",
    type=click.Choice(["listwise", "marginal"]),
    help="Loss of the candidate lists. [training.loss]",
)
@click.option(
    "--hypernym-norm/--no-hypernym-norm",
    default=None,
    help="Add the norm loss. [training.hypernym_norm]",
)
@click.option("--top-k", type=int, metavar="N", help="Names in a training list. [training.top_k]")
@click.option(
    "--dense-ratio",
    type=float,
    metavar="X",
    help="Share of them that are dense candidates. [training.dense_ratio]",
)
@click.option(
    "--max-hypernyms",
    type=int,
    metavar="N",
    help="Hypernym names for the norm loss of a mention. [training.max_hypernyms]",
)
@click.option(
    "--epochs", type=int, metavar="N", help="Passes over the mentions, at most. [training.epochs]"
)
@click.option(
    "--batch-size", type=int, metavar="N", help="Mentions of a training step. [training.batch_size]"
)
@click.option(
    "--learning-rate",
    type=float,
    metavar="X",
    help="Of the encoder, at its highest. [training.learning_rate]",
)
@click.option(
    "--seed", type=int, metavar="N", help="Same seed, same machine, same model. [training.seed]"
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    help="Where a dense encoder is trained. [training.device]",
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "fp32", "bf16"]),
    help="What it computes in. [training.precision]",
)
@click.option(
    "--resume", is_flag=True, help="Go on with an interrupted training of the same --output."
)
@click.option("--config", metavar="FILE.toml", help="Options as tables of a TOML file.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="GROUP.FIELD=VALUE",
    help="One option, e.g. sparse.ngram_max=3.",
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
    mentions: tuple[str, ...],
    mentions_format: str | None,
    mention_type: str | None,
    dev: str | None,
    refit: bool,
    no_extend: bool,
    encoder: str | None,
    model_name: str | None,
    words: str | None,
    texts: tuple[str, ...],
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
    from linker.options import reads
    from linker.readers import mentions as readers
    from linker.text.spelling import read
    from linker.training.settings import RunSettings

    if refit and not (dev and mentions):
        missing = "--mentions" if dev else "--dev"
        raise click.UsageError(
            f"--refit trains again on the mentions of --mentions and --dev; name some with {missing}"
        )
    if encoder and encoder not in registry.encoders():
        raise click.UsageError(
            f"--encoder {encoder}: there is no such encoder; choose one of: {', '.join(sorted(registry.encoders()))}"
        )
    if model_name is not None and encoder not in (None, "transformer"):
        raise click.UsageError(
            f"--model-name is for --encoder transformer, not {encoder}; leave one of them out"
        )
    flags = {name: others.pop(name) for name in settings.FLAGS}
    chosen, why = _chosen(encoder, model_name, preset)
    given = settings.flagged(flags, model_name, chosen)
    options = settings.read(preset, config, given, changes, chosen)
    group = registry.options_group(chosen)
    _check_words(chosen, reads("words", chosen, options), words, texts, changes)
    _check_changes(chosen, options, changes)
    if options.training.hypernym_norm and getattr(options.encoder, "normalize", False):
        raise click.UsageError(
            f"the norm loss (training.hypernym_norm) needs vectors of any length; add --set {group}.normalize=false"
        )
    is_main = (
        os.environ.get("RANK", "0") == "0"
    )  # of several processes, the one that speaks and writes
    if not is_main:
        click.get_current_context().meta["linker.quiet"] = True
        common.silence()
    persistence.check_replaceable(output)  # this and what follows: before the work, not after it
    checkpoints = Path(f"{Path(output).absolute()}.training")
    device = ""
    if _is_dense(chosen, resume, flags):
        _check_checkpoints(checkpoints, resume)
        device = _check_dense(chosen, options)
    handle = common.handler(on_error)
    dictionary = common.read_dictionary(dicts, handle, **others)
    _describe(dictionary)
    is_asked = bool(
        words
        or texts
        or any(value is not None for value in flags.values())
        or _names_training(changes)
    )
    is_open = bool(why) and preset == "default" and chosen == "dan" and not is_asked
    if device or why:
        compared = "; compared with characters at the end" if is_open else ""
        common.say(
            f"encoder: {chosen}{why and f' ({why}{compared})'}{device and f', trained on {device}'}"
        )

    def annotated(path: str) -> list[Document | Mention]:
        items = list(readers.read(path, mentions_format, type=mention_type, on_error=handle))
        if all(mention.gold is None for mention, _ in readers.flatten(items)):
            raise LinkerError(
                f"{path}: holds no annotated mentions; give a file with gold ids, e.g. mention<TAB>id lines"
            )
        return items

    training = [item for path in mentions for item in annotated(path)]
    choices: dict[str, Any] = {"encoder": chosen, "options": options, "extend": not no_extend}
    choices["corrections"] = read(spelling, handle) if spelling else {}
    choices["words"] = (
        _words(words, texts, dictionary, options, checkpoints / _WORDS, is_main, handle)
        if words or texts
        else None
    )
    development = annotated(dev) if dev else []
    ids = {
        i
        for mention, _ in readers.flatten(development)
        for group in mention.gold or ()
        for i in group.ids
    }
    if ids and not any(map(dictionary.rows, ids)):
        raise LinkerError(
            f"{dev}: the dictionary has none of its {len(ids):,} annotated ids ({min(ids)}; its own: {dictionary.ids[0]})"
        )
    with progress.shown(checkpoints) as shown:
        judged_by = _checksum(dev) if dev else ""
        work = RunSettings(
            checkpoints,
            resume,
            judged_by=judged_by,
            on_event=shown,
            on_activity=shown.on_activity,
            progress=common.has_bars(),
        )
        if is_open:
            model = _chosen_by_trial(dictionary, training, development, work, choices, refit)
        else:
            model = _trained(dictionary, training, development, work, choices, refit)
        if not is_main:
            return
        model.save(output)
    _remove(checkpoints)
    common.say_skipped(handle)
    common.say(
        f"model: {output} ({len(model.dictionary):,} concepts, {len(model.generator.table):,} distinct names)"
    )


def _chosen(encoder: str | None, model_name: str | None, preset: str) -> tuple[str, str]:
    """The encoder to train, and why where it was not asked for."""
    from linker import registry

    paper = preset.removeprefix("paper-")
    if encoder or model_name is not None:
        chosen = encoder or "transformer"
        if paper in registry.ENCODERS and chosen != paper:
            raise click.UsageError(
                f"--preset {preset} is for --encoder {paper}, not {chosen}; leave one of them out"
            )
        return chosen, ""
    if preset == "default":
        return registry.best()
    return paper if paper in registry.ENCODERS else "transformer", f"of the preset {preset}"


def _names_training(changes: tuple[str, ...]) -> bool:
    """Whether --set gives an option of the training of a dense encoder."""
    return any(
        change.partition(".")[0].strip() not in ("normalize", "text", "sparse")
        for change in changes
    )


def _is_dense(encoder: str, resume: bool, flags: Mapping[str, Any]) -> bool:
    """Whether an encoder is dense. One that is not takes none of the flags of training.

    Raises:
        LinkerError: what the encoder needs is not installed.
    """
    from linker import registry
    from linker.encoders.base import SparseEncoder

    if not issubclass(registry.load(encoder), SparseEncoder):
        return True
    given = [settings.typed(name, value) for name, value in flags.items() if value is not None] + [
        "--resume"
    ] * resume
    if given:
        raise click.UsageError(
            f"{', '.join(given)}: only a dense encoder is trained, not {encoder}; choose --encoder transformer, or do without"
        )
    return False


def _check_words(
    encoder: str,
    has_words: bool,
    words: str | None,
    texts: tuple[str, ...],
    changes: tuple[str, ...],
) -> None:
    """Refuse word vectors where nothing is made of them, and options of their training where they are trained already."""
    if words and texts:
        raise click.UsageError(
            "--text trains word vectors, and --words names trained ones; leave one of them out"
        )
    if words and (given := [change for change in changes if change.strip().startswith("words.")]):
        raise click.UsageError(
            f"--set {given[0]} is for the training of word vectors, and --words names trained ones; leave one of them out"
        )
    if (words or texts) and not has_words:
        flag = "--words" if words else "--text"
        what = (
            "fewshot on another encoder, which brings its own" if encoder == "fewshot" else encoder
        )
        raise click.UsageError(
            f"{flag} is for encoders that are made of words (dan and its kind), not {what}; leave it out"
        )


def _check_changes(encoder: str, options: LinkerOptions, changes: tuple[str, ...]) -> None:
    """Refuse options of --set that nothing would read; a file of --config may serve several encoders."""
    from linker.options import reads

    for change in changes:
        name = change.partition(".")[0].strip()
        if not reads(name, encoder, options):
            raise click.UsageError(
                f"--set {change}: the encoder {encoder} makes nothing of the options {name}; leave it out"
            )


def _words(
    words: str | None,
    texts: tuple[str, ...],
    dictionary: Dictionary,
    options: LinkerOptions,
    kept: Path,
    is_main: bool,
    on_error: OnError,
) -> WordVectors:
    """The word vectors of --words, or those that are trained on --text; kept among the checkpoints, so that --resume finds them."""
    from linker.cli.words import trained
    from linker.encoders.words import WordVectors

    if words:
        return WordVectors.read(words)
    provenance = json.dumps(
        [
            dataclasses.asdict(options.words),
            [*map(_checksum, texts)],
            [source.sha256 for source in dictionary.sources],
        ]
    )
    if kept.exists() and WordVectors.provenance_of(kept) == provenance:
        return WordVectors.read(kept)
    made = trained(texts, dictionary, options.words, on_error)
    if is_main:
        made.save(kept, provenance)
    return made


def _check_dense(encoder: str, options: LinkerOptions) -> str:
    """Find out what would only fail after hours; return the kind of device that training will use.

    Raises:
        LinkerError: a package is missing, there is no such device, or the pretrained encoder cannot be loaded.
    """
    from linker import registry

    if missing := [
        name for name in ("accelerate", "matplotlib") if importlib.util.find_spec(name) is None
    ]:
        raise LinkerError(
            f"training needs {missing[0]}, which is not installed: {install_hint('dense')}"
        )
    device = importlib.import_module("linker.encoders.trainable").pick_device(
        options.training.device
    )  # so as not to know torch here
    if encoder == "transformer":
        registry.load(encoder).pretrained(options.encoder)
    return str(device.type)


def _checksum(path: str) -> str:
    from linker import files

    return files.sha256_of_folder(path) if Path(path).is_dir() else files.sha256(path)


def _check_checkpoints(folder: Path, resume: bool) -> None:
    """Refuse to train over checkpoints of an interrupted training, and over a folder of others.

    Raises:
        LinkerError: there are some, and --resume is not given; or the folder holds something else.
    """
    from linker.files import replacing

    if folder.exists() and not folder.is_dir():
        raise LinkerError(
            f"{folder}: is a file, and checkpoints are written there; move it, or name another folder with -o"
        )
    replacing.clean(folder / _WORDS)  # what a killed run left
    found = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    if foreign := [name for name in found if name not in _PHASES]:
        raise LinkerError(
            f"{folder}: holds {foreign[0]}, which linker did not write there; move it, or name another folder with -o"
        )
    if found and found != [_WORDS] and not resume:
        raise LinkerError(
            f"{folder}: holds an interrupted training; go on with --resume, or remove the folder to train from the start"
        )
    if resume:
        common.say(
            f"resume: from the checkpoints in {folder}"
            if found
            else f"resume: no checkpoints in {folder}, training from the start"
        )


def _remove(checkpoints: Path) -> None:
    """Remove the checkpoints of a finished training; `_check_checkpoints` saw that nothing else is there."""
    for phase in _PHASES:
        shutil.rmtree(checkpoints / phase, ignore_errors=True)
    with contextlib.suppress(OSError):
        checkpoints.rmdir()


def _trained(
    dictionary: Dictionary,
    training: list[Document | Mention],
    development: list[Document | Mention],
    work: RunSettings,
    choices: Any,
    refit: bool,
) -> Linker:
    """Train, report on the development mentions where there are any, and train again on all for --refit."""
    from linker.linker import Linker

    judge = (lambda model: _judged(model, development)) if development else None
    model = Linker.train(dictionary, mentions=training, validate=judge, work=work, **choices)
    if development:
        _report(model, development)
    if not refit:
        return model
    history, epochs = model.history, model.best_epoch
    del model  # its vectors, while the next ones are made
    return _refitted(history, epochs, dictionary, training + development, work, choices)


def _refitted(
    history: list[Any],
    epochs: int,
    dictionary: Dictionary,
    mentions: list[Document | Mention],
    work: RunSettings,
    choices: Any,
) -> Linker:
    """Train again on all mentions, for as many epochs as were best."""
    from linker.linker import Linker

    options: LinkerOptions = choices["options"]
    if epochs:
        common.say(
            f"refit: {epochs} epoch{'s' if epochs > 1 else ''} on the training and the development mentions"
        )
        options = dataclasses.replace(
            options, training=dataclasses.replace(options.training, epochs=epochs)
        )
    again = dataclasses.replace(
        work, phase="refit", resume=True
    )  # its alignment is that of the first training
    refitted = Linker.train(
        dictionary, mentions=mentions, work=again, **{**choices, "options": options}
    )
    refitted.history = [
        *history,
        *(record for record in refitted.history if record["phase"].startswith("refit")),
    ]
    return refitted


def _chosen_by_trial(
    dictionary: Dictionary,
    training: list[Document | Mention],
    development: list[Document | Mention],
    work: RunSettings,
    choices: Any,
    refit: bool,
) -> Linker:
    """Train the encoder, compare it with characters, and take what is right more often, with the best λ.

    Development mentions decide, or else names that are held out of the dictionary: they are not trained on, but linked to in the end.
    """
    from linker import choosing
    from linker.linker import Linker, normal_form

    options = choices["options"]
    form = normal_form(options, choices["corrections"])
    held = None if development else choosing.hold_out(dictionary, form, options.training.seed)
    if not (held or development):
        few = f"fewer than {choosing.LEAST} names can be held out to compare it with dan; --encoder dan trains dan anyway"
        common.say(f"encoder: tfidf ({few})")
        return Linker.train(dictionary, mentions=training, **{**choices, "encoder": "tfidf"})
    learnt = held.dictionary if held else dictionary
    validate = (lambda model: _judged(model, development)) if development else None
    dense = Linker.train(learnt, mentions=training, validate=validate, work=work, **choices)
    comparison = choosing.compare(
        dense, held.right if held else lambda model: _right(model, development)
    )
    what = "names held out of the dictionary" if held else "development mentions"
    by_dense = f"{dense.encoder} {comparison.dense:,} (with λ multiplied by {comparison.factor:g})"
    common.say(
        f"{what}: {comparison.asked:,}; characters get {comparison.sparse:,} right, {by_dense}"
    )
    common.say(f"encoder: {comparison.linker.encoder}")
    model = comparison.linker
    if development:
        _report(model, development)
    mentions = training + development if refit else training
    if refit and model.encoder == dense.encoder:
        model = _refitted(
            dense.history, dense.best_epoch, learnt, mentions, work, choices
        ).weighted(comparison.factor)
    return model.over(dictionary, mentions, extend=choices["extend"]) if held or refit else model


def _right(model: Linker, items: list[Document | Mention]) -> NDArray[np.bool_]:
    """Which development mentions have the right concept first."""
    import numpy as np

    from linker.evaluation import protocols

    return np.array([outcome.rank == 1 for outcome in protocols.strict(model, items, 1)], bool)


def _judged(model: Linker, items: list[Document | Mention]) -> dict[str, float]:
    """What is logged of an epoch; Acc@1 decides which one is kept."""
    from linker.evaluation import protocols, report

    acc = report.figures(list(protocols.strict(model, items, 20)), (1, 5, 20), intervals=False)[
        "acc"
    ]
    return {"dev_acc1": acc["1"], "dev_acc5": acc["5"], "candidate_recall": acc["20"]}


def _describe(dictionary: Dictionary) -> None:
    for source in dictionary.sources:
        release = f", {source.release}" if source.release else ""
        common.say(
            f"dictionary: {source.file} ({source.format}{release}): {source.concepts:,} concepts"
        )
    for cycle in dictionary.hierarchy.cycles():
        ids = ", ".join(dictionary.ids[row] for row in cycle[:5])
        common.say(
            f"the hierarchy has a cycle of {len(cycle)} concepts ({ids}); each is the others' ancestor"
        )


def _report(model: Linker, items: list[Document | Mention]) -> None:
    from linker.evaluation import protocols, report

    outcomes = list(protocols.strict(model, items, 20))
    kept = f", with the weights of epoch {model.best_epoch}" if model.best_epoch else ""
    common.say(
        f"development mentions, protocol strict{kept}:\n"
        + report.table(report.summary(outcomes, (1, 5, 10, 20), model))
    )
