"""How commands declare their options, and the options that several commands share.

`command` makes a command of click out of a function, which is given the values of its options as
the attributes of a namespace. Each option is declared by `argument`, `option`, or what is made of
these; a declaration is a function that makes the option of click once the name is known.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from linker.cli import common
from linker.errors import Skip, UsageError, stop
from linker.integrations import DEFAULT_MODEL, default_model
from linker.io import formats

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Record = TypeVar("_Record", bound="DataclassInstance")

MOST = 1_000_000  # the largest number that an option takes for candidates or mentions


# ----------------------------------------------------------------------------------- declarations


def argument(metavar: str, **attributes: Any) -> Any:
    """An argument of the command line; the attributes are click's."""
    return lambda name: click.Argument([name], metavar=metavar, **attributes)


def option(text: str, metavar: str | None = None, *, flags: str = "", **attributes: Any) -> Any:
    """An option of the command line.

    Args:
        text: for --help.
        metavar: what --help calls the value.
        flags: as they are typed, with a blank between them; empty: "--" and the name.
        attributes: of click's options.
    """
    return lambda name: click.Option(
        [*(flags.split() or ["--" + name.replace("_", "-")]), name],
        help=text,
        metavar=metavar,
        **{"show_default": bool(attributes.get("default")), **attributes},
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


_FLAG: dict[str, Any] = {"is_flag": True, "expose_value": False}
_OF_ALL = [  # options that every command has
    click.Option(["-v", "--verbose"], callback=_verbose, help="Say what is being done.", **_FLAG),
    click.Option(["-q", "--quiet"], callback=_quiet, help="Say nothing but errors.", **_FLAG),
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
INPUT_FORMAT = choice(("auto", *formats.MENTIONS), "Format of the mentions.")
ANNOTATED_TYPE = kind("Keep mentions that are annotated with this type, e.g. Disease.")
DECISIONS = option("Decisions that win over the model; see linker review.", "FILE")
WORKERS = number(None, "Processes that share the work. [default: 1; with Ray all that it has]")
