"""linker train: a model folder out of dictionaries and annotated mentions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from linker.cli import common
from linker.errors import LinkerError

if TYPE_CHECKING:
    from linker.dictionary import Dictionary
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
@click.option("--preset", default="default", show_default=True, metavar="NAME", help="default or paper-biosyn.")
@click.option("--config", metavar="FILE.toml", help="Options as tables of a TOML file.")
@click.option("--set", "settings", multiple=True, metavar="GROUP.FIELD=VALUE", help="One option, e.g. sparse.ngram_max=3.")
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
    preset: str,
    config: str | None,
    settings: tuple[str, ...],
    spelling: str | None,
    on_error: str,
    output: str,
    **dictionary_options: Any,
) -> None:
    """Train a model and write its folder.

    Without --mentions the names of the dictionary are all there is to learn from.
    """
    from linker import persistence, registry
    from linker.linker import Linker
    from linker.readers import mentions as readers
    from linker.text.spelling import read

    if refit and not dev:
        raise click.UsageError("--refit adds the mentions of --dev to the training; name them with --dev")
    if encoder and encoder not in registry.encoders():
        raise click.UsageError(f"--encoder {encoder}: there is no such encoder; choose one of: {', '.join(sorted(registry.encoders()))}")
    handle = common.handler(on_error)
    persistence.check_replaceable(output)  # before the work, not after it
    options = _options(preset, config, settings)
    dictionary = common.read_dictionary(dicts, handle, **dictionary_options)
    _describe(dictionary)
    if encoder is None:
        encoder = "tfidf"
        common.say("encoder: tfidf (sparse; the only one of this release, it needs no download)")

    def annotated(path: str) -> list[Document | Mention]:
        items = list(readers.read(path, mentions_format, type=mention_type, on_error=handle))
        if all(mention.gold is None for mention, _ in readers.flatten(items)):
            raise LinkerError(f"{path}: holds no annotated mentions; give a file with gold ids, e.g. mention<TAB>id lines")
        return items

    training = [item for path in mentions for item in annotated(path)]
    choices: dict[str, Any] = {"encoder": encoder, "options": options, "extend": not no_extend}
    choices["corrections"] = read(spelling, handle) if spelling else {}
    development = annotated(dev) if dev else []
    model = Linker.train(dictionary, mentions=training, **choices)
    if dev:
        _report(model, development)
    if refit:
        model = Linker.train(dictionary, mentions=training + development, **choices)
    model.save(output)
    common.say_skipped(handle)
    common.say(f"model: {output} ({len(model.dictionary):,} concepts, {len(model.generator.table):,} distinct names)")


def _options(preset: str, config: str | None, settings: tuple[str, ...]) -> LinkerOptions:
    """The preset, changed by the TOML file, changed by --set."""
    from linker import options as records

    with _typed(f"--preset {preset}"):
        options = records.preset(preset)
    if config:
        options = _configured(options, config)
    values: dict[str, dict[str, str]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        group, dot, field = name.partition(".")
        if not (equals and dot):
            raise click.UsageError(f"--set {setting}: expected GROUP.FIELD=VALUE, e.g. sparse.ngram_max=3")
        values.setdefault(group.strip(), {})[field.strip()] = value.strip()
    with _typed(" ".join(f"--set {setting}" for setting in settings)):
        return records.changed(options, values)


@contextlib.contextmanager
def _typed(option: str) -> Iterator[None]:
    """Blame the command line."""
    try:
        yield
    except LinkerError as error:
        raise click.UsageError(f"{option}: {error}") from None


def _configured(options: LinkerOptions, path: str) -> LinkerOptions:
    from linker.options import changed

    values = _toml(path)
    try:
        return changed(options, values)
    except LinkerError as error:
        raise LinkerError(f"{path}: {error}") from None


def _toml(path: str) -> dict[str, Any]:
    from linker.files import read_text

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise LinkerError(f"{path}: not TOML: {error}; expected tables such as [sparse] with ngram_max = 3") from None


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
