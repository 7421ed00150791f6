"""Options that several commands share."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from linker.cli.groups import group
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


def logs(command: _Command) -> _Command:
    """Add -v, -q and --debug."""
    command = click.option(
        "--debug", is_flag=True, expose_value=False, help="Show the traceback of a failure."
    )(command)
    command = click.option(
        "-q",
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=_quiet,
        help="Say nothing but errors.",
    )(command)
    return click.option(
        "-v",
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=_verbose,
        help="Say what is being done.",
    )(command)


def _verbose(_: click.Context, __: click.Parameter, value: bool) -> None:
    if value:
        logging.getLogger("linker").setLevel(logging.INFO)  # not the libraries


def _quiet(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta["linker.quiet"] = value
    if value:
        silence()


def silence_process() -> None:
    """Let this process say nothing but errors, as with -q; of several, one speaks."""
    _quiet(click.get_current_context(), click.Option(["--quiet"]), True)


def silence() -> None:
    """Log nothing but errors."""
    for name in ("", "linker"):
        logging.getLogger(name).setLevel(logging.ERROR)


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


def model_option(command: _Command) -> _Command:
    """Add --model."""
    text = f"Model folder. [default: $LINKER_MODEL, else ./{DEFAULT_MODEL}]"
    return click.option(
        "--model",
        default=lambda: os.environ.get("LINKER_MODEL") or DEFAULT_MODEL,
        metavar="DIR",
        help=text,
    )(command)


def precision_option(command: _Command) -> _Command:
    """Add --precision."""
    text = (
        "Of encoding; on a CPU bf16 and int8 need the extra fast, int8 a model prepared for it, "
        "too."
    )
    choice = click.Choice(["fp32", "bf16", "int8", "auto"])
    return click.option("--precision", type=choice, default="fp32", show_default=True, help=text)(
        command
    )


def device_options(command: _Command) -> _Command:
    """Add --device and --precision, in which a command links."""
    text = (
        "Where names are searched, and mentions encoded if torch does that; auto: on the CPU, but "
        "a transformer encodes on a GPU if there is one."
    )
    choice = click.Choice(["auto", "cpu", "cuda"])
    return click.option("--device", type=choice, default="auto", show_default=True, help=text)(
        precision_option(command)
    )


def decisions_option(text: str, *, required: bool = False) -> Callable[[_Command], _Command]:
    """Add --decisions, the SQLite file of decisions; `text` is its help."""
    return click.option("--decisions", metavar="FILE", required=required, help=text)


def on_error_option(command: _Command) -> _Command:
    """Add --on-error."""
    choice = click.Choice(["stop", "skip"])
    text = "What to do with a bad record: stop there, or skip, report and count it."
    return click.option("--on-error", type=choice, default="stop", show_default=True, help=text)(
        command
    )


def encoding_option(command: _Command) -> _Command:
    """Add --encoding."""
    text = "Of a text, e.g. windows-1252. [default: UTF-8, else recognised where only one fits]"
    return click.option("--encoding", metavar="NAME", help=text)(command)


def handler(on_error: str) -> OnError:
    """Return what readers call for a bad record."""
    return Skip() if on_error == "skip" else stop


def say_skipped(on_error: OnError) -> None:
    """Report how many records were skipped."""
    if isinstance(on_error, Skip) and on_error.count:
        say(f"{on_error.count:,} bad record{'s were' if on_error.count > 1 else ' was'} skipped")


def say_outcomes(what: str, outcomes: Counter[str]) -> None:
    """Report how many were linked; see `linker.outputs.outcome`.

    Args:
        what: that is counted, in the singular.
        outcomes: how many have each outcome.
    """
    counts = ", ".join(f"{outcomes[name]:,} {name}" for name in ("linked", "unsure", "empty"))
    total = sum(outcomes.values())
    say(f"{total:,} {what}{'s' * (total != 1)}: {counts}")


def progress(unit: str, output: str) -> Any:
    """A bar of tqdm that counts on a terminal, where the output itself is not shown there.

    Args:
        unit: what is counted.
        output: the path that is written to.
    """
    from tqdm import tqdm

    is_hidden = is_quiet() or (output == "-" and sys.stdout.isatty())
    return tqdm(unit=f" {unit}", disable=True if is_hidden else None, file=sys.stderr)


def listed(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Read a comma-separated option."""
    return tuple(item.strip() for item in (value or "").split(",") if item.strip())


def list_option(flag: str, text: str) -> Callable[[_Command], _Command]:
    """An option that takes a list with commas."""
    return click.option(flag, callback=listed, metavar="A,B", help=text)


def _named(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """Read a comma-separated option that restricts; one that names nothing is a mistake."""
    texts = listed(context, parameter, value)
    if value is not None and not texts:
        raise click.BadParameter("names nothing; give one or more with commas between them")
    return texts


def _selection_option(flag: str, text: str) -> Callable[[_Command], _Command]:
    return click.option(flag, callback=_named, metavar="A,B", help=f"Answer with {text}.")


selection_options = group(
    "within",
    Selection,
    _selection_option("--under", "these concepts, given by id, and those below them only"),
    _selection_option("--not-under", "no concept that is one of these or below them"),
    _selection_option("--types", "concepts of these semantic types only, e.g. T047,T191"),
    _selection_option("--namespaces", "concepts of these id prefixes only, e.g. MESH,OMIM"),
)
"""Adds options that restrict the answers; they are handed over as a `Selection` named `within`."""


def output_option(command: _Command) -> _Command:
    """Add --output."""
    text = "Where to write; .gz compresses. [default: standard output]"
    return click.option("-o", "--output", metavar="PATH", default="-", help=text)(command)


def answer_options(k: int, *forms: str) -> Callable[[_Command], _Command]:
    """Add -k, with its default, --output and --format, which also takes `forms`."""
    number = click.option(
        "-k",
        default=k,
        show_default=True,
        type=click.IntRange(1, MOST),
        help="Concepts to return for each part of a mention.",
    )
    form = click.option(
        "--format",
        "form",
        type=click.Choice(["tsv", "jsonl", "pubtator", "bioc", "sssom", *forms]),
        default="tsv",
        show_default=True,
    )
    return lambda command: number(output_option(form(command)))


def threshold_options(command: _Command) -> _Command:
    """Add --threshold and --min-score."""
    command = click.option(
        "--min-score", type=float, metavar="X", help="Leave out candidates with a lower score."
    )(command)
    text = (
        "Return no concept where the confidence is lower; 0: return one always. "
        "[default: none where that is the most probable]"
    )
    return click.option("--threshold", type=click.FloatRange(0, 1), metavar="P", help=text)(command)


def mentions_format_option(command: _Command) -> _Command:
    """Add --mentions-format."""
    text = "Format of the mentions. [default: recognised from the content]"
    return click.option("--mentions-format", type=click.Choice(MENTION_FORMATS), help=text)(command)


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
