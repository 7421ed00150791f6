"""Options that several commands share, and what commands say and write."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from linker.errors import LinkerError, OnError, Skip, shown, stop
from linker.types import Selection

if TYPE_CHECKING:
    from collections import Counter

    from linker.linking.linker import Linker

_Command = TypeVar("_Command", bound=Callable[..., Any])

DEFAULT_MODEL = "linker-model"
# as in linker.readers, which --help need not import
MOST = 1_000_000  # the largest number that an option takes for candidates or mentions
MENTION_FORMATS = ("txt", "tsv", "jsonl", "pubtator", "bioc", "concept", "parquet")


# ------------------------------------------------------------------------------ groups of options


def chained(*options: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """One decorator out of several, which --help shows in this order."""
    return lambda command: functools.reduce(lambda inner, add: add(inner), options[::-1], command)


def group(
    name: str, record: type[Any], *options: Callable[[Any], Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options to a command that gets their values as one record.

    Args:
        name: of the command's parameter for the record.
        record: a dataclass whose fields are called as the options' parameters are.
        options: decorators of click, in the order of --help.
    """
    fields = [field.name for field in dataclasses.fields(record)]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_record(**values: Any) -> Any:
            values[name] = record(**{field: values.pop(field) for field in fields})
            return command(**values)

        return chained(*options)(with_record)

    return decorate


# ----------------------------------------------------------------------------- how much is said


def _verbose(_: click.Context, __: click.Parameter, value: bool) -> None:
    if value:
        logging.getLogger("linker").setLevel(logging.INFO)  # not the libraries


def _quiet(_: click.Context, __: click.Parameter, value: bool) -> None:
    if value:
        silence()


def silence() -> None:
    """Say and log nothing but errors from here on, as with -q."""
    click.get_current_context().meta["linker.quiet"] = True
    for name in ("", "linker"):
        logging.getLogger(name).setLevel(logging.ERROR)


_FLAG: dict[str, Any] = {"is_flag": True, "expose_value": False}
logs = chained(
    click.option("-v", "--verbose", **_FLAG, callback=_verbose, help="Say what is being done."),
    click.option("-q", "--quiet", **_FLAG, callback=_quiet, help="Say nothing but errors."),
    click.option("--debug", **_FLAG, hidden=True, help="Show the traceback of a failure."),
)
"""Adds -v, -q and --debug."""


def is_quiet() -> bool:
    """Tell whether -q was given."""
    return bool(click.get_current_context().meta.get("linker.quiet"))


def has_bars() -> bool:
    """Tell whether progress bars are shown: on a terminal, unless -q was given."""
    return sys.stderr.isatty() and not is_quiet()


def say(message: str) -> None:
    """Write a message to stderr, unless -q was given."""
    if not is_quiet():
        click.echo("\n".join(map(shown, message.split("\n"))), err=True)


def say_model(linker: Linker, folder: str) -> None:
    """Say what the model holds that was written, and how well its index finds names."""
    from linker.linking import folder as model_folder

    concepts, names = len(linker.dictionary), len(linker.generator.table)
    say(f"model: {folder} ({concepts:,} concepts, {names:,} distinct names)")
    if index := model_folder.described_index(Path(folder)):
        say(index)


def counted(count: int, what: str) -> str:
    """A number with a noun, which is given in the singular."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def say_outcomes(what: str, outcomes: Counter[str]) -> None:
    """Report how many were linked; see `linker.outputs.outcome`.

    Args:
        what: that is counted, in the singular.
        outcomes: how many have each outcome.
    """
    counts = ", ".join(f"{outcomes[name]:,} {name}" for name in ("linked", "unsure", "empty"))
    say(f"{counted(sum(outcomes.values()), what)}: {counts}")


def progress(unit: str, output: str) -> Any:
    """A bar of tqdm that counts on a terminal, where the output itself is not shown there.

    Args:
        unit: what is counted.
        output: the path that is written to.
    """
    from tqdm import tqdm

    is_hidden = is_quiet() or (output == "-" and sys.stdout.isatty())
    return tqdm(unit=f" {unit}", disable=True if is_hidden else None, file=sys.stderr)


def handler(on_error: str) -> OnError:
    """Return what readers call for a bad record."""
    return Skip() if on_error == "skip" else stop


def say_skipped(on_error: OnError) -> None:
    """Report how many records were skipped."""
    if isinstance(on_error, Skip) and on_error.count:
        say(f"{on_error.count:,} bad record{'s were' if on_error.count > 1 else ' was'} skipped")


# ------------------------------------------------------------------------------------- options


def choice(names: str, *words: str, **rest: Any) -> Callable[[_Command], _Command]:
    """An option that takes one of some words, of which the first is the default."""
    kind = click.Choice(words)
    return click.option(*names.split(), type=kind, default=words[0], show_default=True, **rest)


def listed(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Read a comma-separated option."""
    return tuple(item.strip() for item in (value or "").split(",") if item.strip())


def list_option(flag: str, text: str, **rest: Any) -> Callable[[_Command], _Command]:
    """An option that takes a list with commas."""
    return click.option(flag, metavar="A,B", help=text, **{"callback": listed, **rest})


def _named(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Read a comma-separated option that restricts; one that names nothing is a mistake."""
    texts = listed(context, parameter, value)
    if value is not None and not texts:
        raise click.BadParameter("names nothing; give one or more with commas between them")
    return texts


model_option = click.option(
    "--model",
    default=lambda: os.environ.get("LINKER_MODEL") or DEFAULT_MODEL,
    metavar="DIR",
    help=f"Model folder. [default: $LINKER_MODEL, else ./{DEFAULT_MODEL}]",
)
precision_option = choice(
    "--precision",
    *("fp32", "bf16", "int8", "auto"),
    help="Of encoding; on a CPU bf16 and int8 need the extra fast, int8 a model prepared for it, "
    "too.",
    hidden=True,
)
device_options = chained(
    choice(
        "--device",
        *("auto", "cpu", "cuda"),
        help="Where names are searched, and mentions encoded if torch does that; auto: on the CPU, "
        "but a transformer encodes on a GPU if there is one.",
    ),
    precision_option,
)
"""Adds --device and --precision, in which a command links."""
on_error_option = choice(
    "--on-error",
    *("stop", "skip"),
    help="What to do with a bad record: stop there, or skip, report and count it.",
)
encoding_option = click.option(
    "--encoding",
    metavar="NAME",
    help="Of a text, e.g. windows-1252. [default: UTF-8, else recognised where only one fits]",
)
selection_options = group(
    "within",
    Selection,
    list_option(
        "--under",
        "Answer with these concepts, given by id, and those below them only.",
        callback=_named,
    ),
    list_option(
        "--not-under",
        "Answer with no concept that is one of these or below them.",
        callback=_named,
        hidden=True,
    ),
    list_option(
        "--types",
        "Answer with concepts of these semantic types of the dictionary only, e.g. T047,T191.",
        callback=_named,
    ),
    list_option(
        "--namespaces",
        "Answer with concepts of these id prefixes only, e.g. MESH,OMIM.",
        callback=_named,
    ),
)
"""Adds options that restrict the answers; they are handed over as a `Selection` named `within`."""
output_option = click.option(
    *("-o", "--output"),
    metavar="PATH",
    default="-",
    help="Where to write; .gz compresses. [default: standard output]",
)
mentions_format_option = click.option(
    "--mentions-format",
    type=click.Choice(MENTION_FORMATS),
    help="Format of the mentions. [default: recognised from the content]",
)


def decisions_option(text: str, *, required: bool = False) -> Callable[[_Command], _Command]:
    """Add --decisions, the SQLite file of decisions; `text` is its help."""
    return click.option("--decisions", metavar="FILE", required=required, help=text)


def type_option(text: str) -> Callable[[_Command], _Command]:
    """Add --type, a type of mentions, as opposed to --types of concepts; `text` is its help."""
    return click.option("--type", "mention_type", metavar="T", help=text)


def answer_options(k: int, *forms: str) -> Callable[[_Command], _Command]:
    """Add -k, with its default, --output and --format, which also takes `forms`."""
    text = "Concepts to return for each part of a mention."
    number = click.IntRange(1, MOST)
    return chained(
        click.option("-k", default=k, show_default=True, type=number, metavar="N", help=text),
        output_option,
        choice("--format form", "tsv", "jsonl", "pubtator", "bioc", "sssom", *forms),
    )


# ------------------------------------------------------------------------------------- outputs


@contextlib.contextmanager
def stdout(encoding: str = "utf-8") -> Iterator[TextIO]:
    """Standard output; a failed write becomes a message."""
    from linker import files

    with files.writing("standard output"):
        if encoding == "utf-8":
            yield sys.stdout
            sys.stdout.flush()
            return
        text = io.TextIOWrapper(sys.stdout.buffer, **files.text_form(encoding))
        try:
            yield text
        finally:
            text.detach()


def writing(
    output: str, inputs: Iterable[str], encoding: str = "utf-8"
) -> contextlib.AbstractContextManager[TextIO]:
    """Open the file to write to.

    Args:
        output: its path; "-" and /dev/stdout are standard output, which is never replaced by
            another file.
        inputs: paths that the command reads.
        encoding: of the text.

    Raises:
        LinkerError: it is one of the inputs.
    """
    from linker import files

    refuse_input(output, inputs)
    if output in ("-", "/dev/stdout"):
        return stdout(encoding)
    return files.write_aside(output, encoding)


def refuse_input(output: str, inputs: Iterable[str]) -> None:
    """Check that an output is none of the files that the command reads.

    Raises:
        LinkerError: it is one.
    """
    for path in inputs:
        with contextlib.suppress(OSError):
            if Path(output).is_file() and Path(output).samefile(path):
                raise LinkerError(
                    f"{output}: is read and would be replaced; name another output with -o"
                )
