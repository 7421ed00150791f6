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

from linker import formats
from linker.cli import common
from linker.errors import Skip, UsageError, stop
from linker.integrations import DEFAULT_MODEL, default_model

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Record = TypeVar("_Record", bound="DataclassInstance")

MOST = 1_000_000  # the largest number that an option takes for candidates or mentions
PROBABILITY = click.FloatRange(0, 1)


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
        **attributes,
    )


def flag(text: str, **attributes: Any) -> Any:
    """An option without a value."""
    return option(text, is_flag=True, **attributes)


def choice(words: tuple[str, ...], text: str = "", **attributes: Any) -> Any:
    """An option that takes one of some words, of which the first is the default."""
    kind = click.Choice(words)
    return option(text, type=kind, default=words[0], show_default=True, **attributes)


def number(default: int, text: str, **attributes: Any) -> Any:
    """An option that takes a number of things, at least one."""
    kind = click.IntRange(1, MOST)
    return option(text, "N", type=kind, default=default, show_default=True, **attributes)


def several(text: str, metavar: str = "PATH", **attributes: Any) -> Any:
    """An option that may be given again."""
    return option(text, metavar, multiple=True, **attributes)


def listed(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Read a comma-separated option."""
    return tuple(item.strip() for item in (value or "").split(",") if item.strip())


def commas(text: str, **attributes: Any) -> Any:
    """An option that takes a list with commas."""
    return option(text, "A,B", **{"callback": listed, **attributes})


def _restricting(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Read a comma-separated option that restricts; one that names nothing is a mistake."""
    texts = listed(context, parameter, value)
    if value is not None and not texts:
        raise click.BadParameter("names nothing; give one or more with commas between them")
    return texts


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


def _show_all(context: click.Context, _: click.Parameter, value: bool) -> None:
    """Print the help of a command with the options that --help leaves out."""
    if value:
        options = [p for p in context.command.params if isinstance(p, click.Option) and p.hidden]
        for option in options:
            option.hidden = False
        click.echo(context.get_help())
        for option in options:
            option.hidden = True
        context.exit()


_FLAG: dict[str, Any] = {"is_flag": True, "expose_value": False}
_OF_ALL = [  # options that every command has
    click.Option(["-v", "--verbose"], callback=_verbose, help="Say what is being done.", **_FLAG),
    click.Option(["-q", "--quiet"], callback=_quiet, help="Say nothing but errors.", **_FLAG),
    click.Option(["--debug"], hidden=True, help="Show the traceback of a failure.", **_FLAG),
    click.Option(
        ["--help-all"],
        callback=_show_all,
        is_eager=True,
        help="Show all options, also those that few need.",
        **_FLAG,
    ),
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
)
OUTPUT = option(
    "Where to write; .gz compresses. [default: standard output]",
    "PATH",
    default="-",
    flags="-o --output",
)
ANSWERS = "Concepts to return for each part of a mention."
DEVICE = choice(
    ("auto", "cpu", "cuda"),
    "cpu or cuda, for searching and, with torch, for encoding. auto: the CPU, "
    "but a transformer encodes on a GPU if there is one.",
)
PRECISION = choice(
    ("fp32", "bf16", "auto"),
    "Of encoding, where torch encodes; auto: bf16 where the processor computes it natively.",
    hidden=True,
)
ON_ERROR = choice(
    ("stop", "skip"),
    "What to do with a bad record: stop there, or skip, report and count it.",
    callback=lambda _, __, value: Skip() if value == "skip" else stop,
)
"""Read as what readers call for a bad record; `command` says how many were skipped."""
ENCODING = option(
    "Of a text. [default: UTF-8, UTF-16 by its byte order mark, else windows-1252]", "NAME"
)
WITHIN = {  # of a `Selection`
    "under": commas(
        "Answer with these concepts, given by id, and those below them only.", callback=_restricting
    ),
    "not_under": commas(
        "Answer with no concept that is one of these or below them.",
        callback=_restricting,
        hidden=True,
    ),
    "types": commas(
        "Answer with concepts of these semantic types of the dictionary only, e.g. T047,T191.",
        callback=_restricting,
    ),
    "namespaces": commas(
        "Answer with concepts of these id prefixes only, e.g. MESH,OMIM.", callback=_restricting
    ),
}
ALSO = commas(
    "Also give the ids of other vocabularies, by their prefixes, e.g. MONDO,OMIM.",
    callback=_restricting,
)
MENTIONS_FORMAT = option(
    "Format of the mentions. [default: recognised from the content]",
    type=click.Choice(formats.MENTIONS),
)
EVALUATED_TYPE = option("Evaluate mentions of this type only, e.g. Disease.", "T", flags="--type")
ANNOTATED_TYPE = option(
    "Keep mentions that are annotated with this type, e.g. Disease.", "T", flags="--type"
)
DECISIONS = option("Decisions that win over the model; see linker decide.", "FILE")
COLUMN = option(
    "Column of the mentions in Parquet files [default: mention, else text], or in a table "
    "(tsv, csv, xlsx), by name or number, which keeps all its columns.",
    "NAME",
)
WORKERS = option(
    "Processes that share the work. [default: 1; with Ray as many as it has cores or GPUs]",
    "N",
    type=click.IntRange(1, MOST),
)
MACHINES = {  # of `Machines`
    "workers": WORKERS,
    "engine": choice(
        ("local", "ray"), "What spreads the files of a job: processes here, or Ray.", hidden=True
    ),
    "address": option(
        "Of the Ray cluster. [default: one on this machine]", "HOST:PORT", hidden=True
    ),
    "gpus": option(
        "GPUs that each worker of Ray is given; 0.5: two share one.",
        "X",
        type=click.FloatRange(0, 64),
        default=0.0,
        hidden=True,
    ),
}
