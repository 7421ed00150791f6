"""Options that several commands share."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from linker.errors import LinkerError, OnError, Skip, shown, stop

if TYPE_CHECKING:
    from linker.dictionary import Dictionary

_Command = TypeVar("_Command", bound=Callable[..., Any])

DEFAULT_MODEL = "linker-model"
# as in linker.readers, which --help need not import
DICTIONARY_FORMATS = ("medic", "obo", "rrf", "biosyn", "table")
MOST = 1_000_000  # the largest number that an option takes for candidates or mentions
MENTION_FORMATS = ("txt", "tsv", "jsonl", "pubtator", "bioc", "concept")


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


def model_option(command: _Command) -> _Command:
    """Add --model."""
    text = f"Model folder. [default: $LINKER_MODEL, else ./{DEFAULT_MODEL}]"
    return click.option(
        "--model",
        default=lambda: os.environ.get("LINKER_MODEL") or DEFAULT_MODEL,
        metavar="DIR",
        help=text,
    )(command)


def on_error_option(command: _Command) -> _Command:
    """Add --on-error."""
    choice = click.Choice(["stop", "skip"])
    text = "What to do with a bad record: stop there, or skip, report and count it."
    return click.option("--on-error", type=choice, default="stop", show_default=True, help=text)(
        command
    )


def handler(on_error: str) -> OnError:
    """Return what readers call for a bad record."""
    return Skip() if on_error == "skip" else stop


def say_skipped(on_error: OnError) -> None:
    """Report how many records were skipped."""
    if isinstance(on_error, Skip) and on_error.count:
        say(f"{on_error.count:,} bad record{'s were' if on_error.count > 1 else ' was'} skipped")


def listed(_: click.Context, __: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Read a comma-separated option."""
    return tuple(item.strip() for item in (value or "").split(",") if item.strip())


_UMLS = {
    "--sources": "UMLS only: keep names of these vocabularies, e.g. SNOMEDCT_US,MSH.",
    "--languages": "UMLS only: keep names in these languages. [default: ENG]",
}
_FILTERS = {
    "--namespaces": "Keep concepts with these id prefixes, e.g. MESH,OMIM.",
    "--types": "Keep concepts of these semantic types, e.g. T047,T191.",
}


def _lists(command: _Command, options: dict[str, str]) -> _Command:
    """Add options that take lists with commas."""
    for flag, text in options.items():
        command = click.option(flag, callback=listed, metavar="A,B", help=text)(command)
    return command


def namespaces_option(command: _Command) -> _Command:
    """Add --namespaces, which restricts what a model answers with."""
    return _lists(
        command, {"--namespaces": "Answer with concepts of these id prefixes only, e.g. MESH,OMIM."}
    )


def umls_options(command: _Command) -> _Command:
    """Add --languages and --sources."""
    return _lists(command, _UMLS)


def dictionary_options(command: _Command) -> _Command:
    """Add the options that say how dictionary files are read."""
    command = _lists(umls_options(command), _FILTERS)
    command = click.option(
        "--hierarchy", metavar="PATH", help="Another dictionary file that lends its parents."
    )(command)
    return dict_format_option(command)


def dict_format_option(command: _Command) -> _Command:
    """Add --dict-format."""
    text = "Format of the dictionary. [default: recognised from the content]"
    return click.option("--dict-format", type=click.Choice(DICTIONARY_FORMATS), help=text)(command)


def mentions_format_option(command: _Command) -> _Command:
    """Add --mentions-format."""
    text = "Format of the mentions. [default: recognised from the content]"
    return click.option("--mentions-format", type=click.Choice(MENTION_FORMATS), help=text)(command)


def is_saved(path: str) -> bool:
    """Whether a path is a folder that linker saved."""
    from linker import persistence

    return (Path(path) / persistence.MANIFEST).is_file()


def read_dictionary(paths: tuple[str, ...], on_error: OnError, **options: Any) -> Dictionary:
    """Read dictionary files, or load one saved folder of a dictionary or model.

    Args:
        paths: the files, or the folder.
        on_error: what to do with a bad record.
        options: the values of `dictionary_options`.
    """
    from linker import persistence
    from linker.dictionary import Dictionary

    if len(paths) == 1 and is_saved(paths[0]):
        if any(options.values()):
            names = ", ".join(
                f"--{name.replace('_', '-')}" for name, value in options.items() if value
            )
            raise LinkerError(
                f"{paths[0]}: is a saved dictionary; "
                f"{names} can be chosen only where its files are read, leave it out"
            )
        model = (Path(paths[0]) / "dictionary").is_dir()
        kind, part = ("model", "dictionary") if model else ("dictionary", "")
        return persistence.load(paths[0], kind, lambda folder, _: Dictionary.open(folder / part))
    options["languages"] = options.get("languages") or ("ENG",)
    return Dictionary.read(
        *paths, format=options.pop("dict_format", None), on_error=on_error, **options
    )


@contextlib.contextmanager
def stdout() -> Iterator[TextIO]:
    """Standard output; a failed write becomes a message."""
    from linker import files

    with files.writing("standard output"):
        yield sys.stdout
        sys.stdout.flush()


def writing(output: str, inputs: Iterable[str]) -> contextlib.AbstractContextManager[TextIO]:
    """Open the file to write to.

    Args:
        output: its path; "-" and /dev/stdout are standard output, which is never replaced by
            another file.
        inputs: paths that the command reads.

    Raises:
        LinkerError: it is one of the inputs.
    """
    from linker import files

    for path in inputs:
        with contextlib.suppress(OSError):
            if Path(output).is_file() and Path(output).samefile(path):
                raise LinkerError(
                    f"{output}: is read and would be replaced; name another output with -o"
                )
    return stdout() if output in ("-", "/dev/stdout") else files.write_aside(output)
