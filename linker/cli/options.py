"""How commands declare options, the options that several share, and what is read by them.

`command` makes a command of click out of a function, which is given the values of its options as
the attributes of a namespace. Each option is declared by `argument`, `option`, or what is made of
these; a declaration is a function that makes the option of click once the name is known.
"""

from __future__ import annotations

import functools
import logging
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from linker.cli import common, messages
from linker.cli.progress import Progress
from linker.dictionary import Dictionary
from linker.dictionary.lending import Lending
from linker.encoders import registry
from linker.errors import LinkerError, OnError, Skip, UsageError, stop
from linker.integrations import DEFAULT_MODEL, default_model
from linker.io import (
    dictionaries,
    formats,
    mentions,
    persistence,
)
from linker.io.files import read_text
from linker.linking.options import LinkerOptions, changed, preset
from linker.records import Document, Mention

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Record = TypeVar("_Record", bound="DataclassInstance")

MOST = 1_000_000  # the largest number that an option takes for candidates or mentions


# ----------------------------------------------------------------------------------- declarations


# metavars of what shells complete as paths
_PATHS = ("PATH", "FILE", "DIR", "INPUT", "MENTIONS", "NAMES", "LENDER", "OLD", "NEW")


def _type_of(metavar: str | None) -> click.Path | None:
    """The type of what stands for a path; whether it can be read, its reader says."""
    return click.Path(readable=False) if (metavar or "").strip("[].") in _PATHS else None


def argument(metavar: str, **attributes: Any) -> Any:
    """An argument of the command line; the attributes are click's."""
    attributes = {"type": _type_of(metavar), **attributes}
    return lambda name: click.Argument([name], metavar=metavar, **attributes)


def option(text: str, metavar: str | None = None, *, flags: str = "", **attributes: Any) -> Any:
    """An option of the command line.

    Args:
        text: for --help.
        metavar: what --help calls the value.
        flags: as they are typed, with a blank between them; empty: "--" and the name.
        attributes: of click's options.
    """
    attributes.setdefault("show_default", bool(attributes.get("default")))
    attributes.setdefault("type", _type_of(metavar))
    return lambda name: click.Option(
        [*(flags.split() or ["--" + name.replace("_", "-")]), name],
        help=text,
        metavar=metavar,
        **attributes,
    )


def flag(text: str, **attributes: Any) -> Any:
    """An option without a value."""
    return option(text, is_flag=True, **attributes)


def choice(words: tuple[str, ...], text: str = "", **attributes: Any) -> Any:
    """An option that takes one of some words, of which the first is the default."""
    return option(text, type=click.Choice(words), default=words[0], **attributes)


def probability(text: str, **attributes: Any) -> Any:
    """An option that takes a number from 0 to 1."""
    return option(text, "P", type=click.FloatRange(0, 1), **attributes)


def number(default: int | None, text: str, **attributes: Any) -> Any:
    """An option that takes a number of things, at least one."""
    return option(text, "N", type=click.IntRange(1, MOST), default=default, **attributes)


def several(text: str, metavar: str = "PATH", **attributes: Any) -> Any:
    """An option that may be given again."""
    return option(text, metavar, multiple=True, **attributes)


def listed(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Read a comma-separated option; one that names nothing is a mistake."""
    texts = tuple(item.strip() for item in (value or "").split(",") if item.strip())
    if value is not None and not texts:
        raise click.BadParameter("names nothing; give one or more with commas between them")
    return texts


def commas(text: str) -> Any:
    """An option that takes a list with commas."""
    return option(text, "A,B", callback=listed)


def kind(text: str, metavar: str = "T") -> Any:
    """The option --type, of mentions."""
    return option(text, metavar, flags="--type")


def folder(text: str, **attributes: Any) -> Any:
    """The option --output of what writes a folder."""
    return option(text, "DIR", flags="-o --output", **attributes)


def changes(text: str) -> Any:
    """The option --set; of which groups, `of_group` says."""
    return several(f"{text} Repeatable.", "GROUP.FIELD=VALUE", flags="--set")


def picked(record: type[_Record], options: SimpleNamespace, /, **others: Any) -> _Record:
    """A record out of the options that are called as its fields, and other values."""
    names = [field.name for field in fields(record)]
    return record(**{n: getattr(options, n) for n in names if hasattr(options, n)} | others)


# --------------------------------------------------------------------------------------- commands


def _verbose(_: click.Context, __: click.Parameter, value: bool) -> None:
    if value:
        logging.getLogger("linker").setLevel(logging.INFO)  # not the libraries


def _quiet(_: click.Context, __: click.Parameter, value: bool) -> None:
    if value:
        common.silence()


def _log_format(_: click.Context, __: click.Parameter, value: str) -> None:
    if value == "json":  # also of the environment, see `linker serve`
        messages.write_json()


_FLAG: dict[str, Any] = {"is_flag": True, "expose_value": False}
_OF_ALL = [  # options that every command has
    click.Option(["-v", "--verbose"], callback=_verbose, help="Say what is being done.", **_FLAG),
    click.Option(["-q", "--quiet"], callback=_quiet, help="Say nothing but errors.", **_FLAG),
    click.Option(
        ["--log-format"],
        type=click.Choice(messages.FORMATS),
        default=messages.FORMATS[0],
        callback=_log_format,
        is_eager=True,
        expose_value=False,
        help="json: what is said and logged as an object of JSON on each line.",
    ),
    click.Option(["--debug"], help="Show the traceback of a failure.", **_FLAG),
]


def command(
    of: click.Group | None = None, name: str | None = None, /, **options: Any
) -> Callable[[Callable[[SimpleNamespace], None]], click.Command]:
    """Make a command of a function.

    Args:
        of: the group that the command belongs to; None: that of `linker`.
        name: of the command; None: that of the function.
        options: their declarations, in the order of --help.
    """
    params: list[click.Parameter] = [declare(name) for name, declare in options.items()]

    def decorate(function: Callable[[SimpleNamespace], None]) -> click.Command:
        @functools.wraps(function)
        def run(**values: Any) -> None:
            try:
                if values.get("model"):
                    values["model"] = common.model_folder(values["model"])
                function(SimpleNamespace(**values))
            except UsageError as error:
                raise click.UsageError(str(error)) from None
            common.say_skipped(values.get("on_error"))

        made = click.command(name, params=[*params, *_OF_ALL])(run)
        if of:
            of.add_command(made)
        return made

    return decorate


def is_given(name: str) -> bool:
    """Whether an option stands on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def print_for_people(options: SimpleNamespace) -> None:
    """Let a command whose output is a terminal print an aligned table, within the width of that.

    Where a format was named, that one stays; and tsv, where it is to have columns that only it has.
    """
    options.width = shutil.get_terminal_size().columns
    is_terminal = options.output == "-" and sys.stdout.isatty()
    is_plain = not (is_given("form") or options.also or options.coverage)
    if is_terminal and is_plain:
        options.form = "text"


# --------------------------------------------------------------------------------- shared options

MODEL = option(
    "Model folder, or hf:USER/NAME[@REVISION] of the Hugging Face hub. "
    f"[default: $LINKER_MODEL, else ./{DEFAULT_MODEL}]",
    "DIR",
    default=default_model,
    show_default=False,
)
OUTPUT = option(
    "Where to write; .gz compresses. [default: standard output]",
    "PATH",
    default="-",
    show_default=False,
    flags="-o --output",
)
ANSWERS = "Concepts to return for each part of a mention."
DEVICE = choice(
    ("auto", "cpu", "cuda"),
    "For searching and encoding. auto: a transformer encodes on a GPU if there is one.",
)
ON_ERROR = choice(
    ("stop", "skip"),
    "At a bad record: stop, or report and count it.",
    callback=lambda _, __, value: Skip() if value == "skip" else stop,
)
"""Read as what readers call for a bad record; `command` says how many were skipped."""
ENCODING = option("Of a text. [default: UTF-8, or UTF-16 by its mark]", "NAME")
WITHIN = {  # of a `Selection`
    "under": commas("Answer with these concepts, given by id, and those below them only."),
    "not_under": commas("Answer with no concept that is one of these or below them."),
    "types": commas("Answer with concepts of these semantic types only, e.g. T047,T191."),
    "namespaces": commas("Answer with concepts of these id prefixes only, e.g. MESH,OMIM."),
}
ALSO = commas("Also give the ids of other vocabularies, by their prefixes, e.g. MONDO,OMIM.")
COVERAGE = option(
    "Also give sets of answers: the smallest that hold the right one with this probability; "
    '"none" is one of the answers.',
    "P",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
)
EXACT_ONLY = flag("Give no broader concepts beside those that are exact.")
INPUT_FORMAT = choice(("auto", *formats.MENTIONS), "Format of the mentions.")
ANNOTATED_TYPE = kind("Keep mentions that are annotated with this type, e.g. Disease.")
DECISIONS = option("Decisions that win over the model; see linker review.", "FILE")
WORKERS = number(None, "Processes that share the work. [default: 1; with Ray all that it has]")
_DICTS = "Dictionary file or folder, or a name of `linker get`; may be given again."
DICTS = several(_DICTS, flags="--dict")
NEEDED_DICTS = several(_DICTS, flags="--dict", required=True)
FORMAT = option("[default: recognised]", type=click.Choice([*formats.DICTIONARIES]))
LANGUAGES = commas("Keep names in these languages, e.g. de,en. [default: en]")
SOURCES = commas("UMLS and OMOP only: keep names of these vocabularies, e.g. SNOMEDCT_US,MSH.")
PREFIX = option("Tables only: of ids that have none, e.g. SCTID.", "NAME")
UNDER = commas("MeSH only: keep what is under these tree numbers or ids. [default: C,F03]")
READING = {
    "dict_format": FORMAT,
    "hierarchy": option("Another dictionary file that lends its parents.", "PATH"),
    "types": commas("Keep concepts of these semantic types, e.g. T047,T191."),
    "namespaces": commas("Keep concepts with these id prefixes, e.g. MESH,OMIM."),
    "languages": LANGUAGES,
    "sources": SOURCES,
    "prefix": PREFIX,
    "under": UNDER,
    "lend": several("Another dictionary, or mappings (SSSOM), that lends names; repeatable."),
}
PRESET = option(
    "default, or paper- and one of: biosyn, bcnh, dan, dan-higher, fewshot, bne, bne-words.",
    "NAME",
    default="default",
)
CHANGES = changes("One option, e.g. training.epochs=3, or a TOML file of options.")


# ------------------------------------------------------------------------ dictionaries and mentions


def reading_options(options: SimpleNamespace) -> dict[str, Any]:
    """The options of `READING` that were given to a command."""
    return {name: value for name in READING if (value := getattr(options, name, None))}


def read_dictionary(paths: Sequence[str], options: SimpleNamespace) -> Dictionary:
    """Read files into one dictionary, or load one saved folder of a dictionary or model.

    Args:
        paths: the files, or the folder.
        options: of the command: those of `READING` and on_error, as far as it has them.
    """
    on_error = getattr(options, "on_error", stop)
    with Progress() as progress:
        dictionary = _read(paths, reading_options(options), on_error, progress)
        lenders = [progress.watched(located(path)) for path in getattr(options, "lend", None) or ()]
        return dictionary.lend(*lenders, on_error=on_error) if lenders else dictionary


def read_and_say(paths: Sequence[str], options: SimpleNamespace) -> Dictionary:
    """Like `read_dictionary`, and say what the dictionary holds and which names are lent to it."""
    dictionary = read_dictionary(paths, options)
    for source in dictionary.sources:
        release = f", {source.release}" if source.release else ""
        concepts = f"{source.concepts:,} concepts"
        common.say(f"dictionary: {source.file} ({source.format}{release}): {concepts}")
    say_lent(dictionary.lending)
    return dictionary


def _read(
    paths: Sequence[str], chosen: dict[str, Any], on_error: OnError, progress: Progress
) -> Dictionary:
    """The dictionary without lent names."""
    paths = [located(path) for path in paths]
    if len(paths) == 1 and is_saved(paths[0]):
        if chosen:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in chosen)
            raise LinkerError(
                f"{paths[0]}: is a saved dictionary; "
                f"{names} can be chosen only where its files are read, leave it out"
            )
        return Dictionary.load(paths[0])
    of_files = {name: value for name, value in chosen.items() if name != "lend"}
    format = of_files.pop("dict_format", None)
    if "hierarchy" in of_files:
        of_files["hierarchy"] = located(of_files["hierarchy"])
    watched = map(progress.watched, paths)
    return Dictionary.read(*watched, format=format, on_error=on_error, **of_files)


def say_lent(lending: Lending) -> None:
    """Say how many names each file lends."""
    for report in lending.lenders:
        common.say(f"names lent by {report.source.file}: {report.summary()}")


def located(path: str) -> str:
    """The path of a dictionary that may be given by its name; see `linker get`."""
    return str(dictionaries.located(path, progress=common.has_bars()))


def is_saved(path: str) -> bool:
    """Whether a path is a folder that linker saved."""
    return (Path(path) / persistence.MANIFEST).is_file()


def annotated(
    paths: Iterable[str], options: SimpleNamespace, dictionary: Dictionary
) -> list[Document | Mention]:
    """Read files, each of which must hold annotated mentions.

    Args:
        paths: of the files.
        options: of the command: mention_type and on_error.
        dictionary: which the ids are of.
    """
    kind, on_error = options.mention_type, options.on_error
    items: list[Document | Mention] = []
    for path in paths:
        read = mentions.read(path, type=kind, on_error=on_error, identify=dictionary.identify)
        of_file = list(read)
        if all(mention.gold is None for mention, _ in mentions.flatten(of_file)):
            raise LinkerError(
                f"{path}: holds no annotated mentions; give a file with gold ids, "
                "e.g. a table with the columns mention and id"
            )
        items += of_file
    return items


# ---------------------------------------------------------------------------- options of a training


Values = Mapping[str, Mapping[str, Any]]
"""Group -> field -> value."""


def training_options(preset_name: str, values: Values, encoder: str = "") -> LinkerOptions:
    """Read the options of a training.

    Args:
        preset_name: where to start; `default` means the defaults of the encoder.
        values: what changes them.
        encoder: its name in the registry; empty where none is trained.

    Raises:
        click.UsageError: there is no such preset or option, or a value does not fit.
        LinkerError: a package is missing.
    """
    for name in filter(None, registry.both(encoder)):
        registry.load(name)  # so that a missing package is no error of the preset
    try:
        options = preset(preset_name, encoder)
    except LinkerError as error:
        raise click.UsageError(f"--preset {preset_name}: {error}") from None
    return applied(options, values, encoder)


def applied(options: LinkerOptions, values: Values, encoder: str) -> LinkerOptions:
    """Change options by what was typed; what does not fit is a mistake of the command line."""
    try:
        return changed(options, values, encoder)
    except LinkerError as error:
        raise click.UsageError(f"--set: {error}") from None


def values_of(changes: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The values of --set options; of two values of an option the last counts.

    Raises:
        click.UsageError: one is neither GROUP.FIELD=VALUE nor a file.
        LinkerError: a file cannot be read, or holds no options.
    """
    values: dict[str, dict[str, Any]] = {}
    for change in changes:
        if change.endswith(".toml"):
            for group, of_file in _toml(change).items():
                values.setdefault(group, {}).update(of_file)
            continue
        name, equals, value = change.partition("=")
        group, dot, field = name.partition(".")
        if not (equals and dot):
            raise click.UsageError(
                f"--set {change}: expected GROUP.FIELD=VALUE, e.g. sparse.ngram_max=3, "
                "or a file FILE.toml"
            )
        values.setdefault(group.strip(), {})[field.strip()] = value.strip()
    return values


def of_group(changes: Iterable[str], group: str) -> Values:
    """The values of --set where only one group of options means something."""
    values = values_of(changes)
    if others := [name for name in values if name != group]:
        raise click.UsageError(f"--set {others[0]}: only options {group}.FIELD can be set here")
    return values


def _toml(path: str) -> dict[str, dict[str, Any]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        values = tomllib.loads(read_text(path))
        if wrong := [name for name, value in values.items() if not isinstance(value, dict)]:
            raise ValueError(f"{wrong[0]} stands in no table")
        return values
    # a recursion error comes of thousands of brackets
    except (ValueError, RecursionError) as error:
        raise LinkerError(
            f"{path}: not TOML: {error}; expected tables such as [sparse] with ngram_max = 3"
        ) from None
