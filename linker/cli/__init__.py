"""The command line: parse, call one public function, print.

Each command is in a module of its own, which is imported with all that it needs when it is called,
so that --help is quick.
"""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import traceback
from typing import Any, NoReturn

import click

from linker.cli import messages, streams
from linker.errors import LinkerError, shorten
from linker.version import VERSION

_ENVIRONMENT = {
    # oneDNN, which torch computes with on a CPU, keeps a compiled kernel for each size of a batch,
    # 1,024 of them if not told otherwise; batches of names have so many sizes that this takes 1 GB.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64",
    # Threads that wait for one another sleep. By default they spin: beside other work the one that
    # is waited for then loses its core to those that wait (docs/scale.md). OpenMP,
    # which torch computes with, reads the first, numpy's OpenBLAS the second (2^4 ticks).
    "OMP_WAIT_POLICY": "PASSIVE",
    "OPENBLAS_THREAD_TIMEOUT": "4",
}
"""Settings of libraries that read them from the environment at their first use."""


_COMMANDS = {  # each is a function of this name, in the module of this name or of `_ELSEWHERE`
    "get": "List or fetch dictionaries that have a name.",
    "train": "Train a model on dictionaries and annotated mentions.",
    "link": "Link mentions in lists, tables, documents and many files.",
    "annotate": "Find the mentions in documents, and link them.",
    "explain": "Say why a mention is linked as it is.",
    "evaluate": "Measure a model, or predictions, on annotated mentions.",
    "review": "Take, list and export what people decided.",
    "serve": "Answer over HTTP, with a page to link and decide on.",
    "mcp": "Offer tools to an assistant.",
    "index": "Take a new release of the dictionary into a model.",
    "model": "Look into a model, and check its files.",
    "dictionary": "Look into dictionaries, convert and compare them.",
    "words": "Train word vectors, or convert those of others.",
}
_ELSEWHERE = {"mcp": "serve"}


class _Commands(click.Group):
    """Imports only the command that is called, and with it all that it needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"linker.cli.{_ELSEWHERE.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*_COMMANDS.items()])


@click.group(
    cls=_Commands,
    commands=dict.fromkeys(_COMMANDS),  # by which click tells a name that is typed wrongly
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(VERSION, prog_name="linker")
def cli() -> None:
    """Map names of diseases and other concepts, as people write them, to the identifiers of a
    dictionary.

    \b
    linker train --dict medic                    makes ./linker-model
    linker link mentions.txt                     prints the concepts of each mention
    linker annotate article.txt                  finds the mentions in a text, too
    """


def main() -> NoReturn:
    """Run the command line.

    The exit codes are 0 done, 1 failed, 2 wrong command line, 130 interrupted.
    """
    # as an exception, so that half-written files are removed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    streams.prepare()
    handler = Handler()
    handler.setFormatter(messages.TextFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    sys.exit(run())


def run() -> int:
    """Run the command line of `sys.argv` and return its exit code.

    A failure becomes one sentence on stderr, or one object of JSON.
    """
    if messages.asks_for_json(sys.argv[1:]):
        messages.write_json()
    try:
        result: Any = cli.main(prog_name="linker", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except (click.exceptions.Abort, KeyboardInterrupt):
        messages.fail("interrupted")
        return 130
    except click.ClickException as error:
        if messages.is_json():
            messages.fail(error.format_message())
        else:
            error.show()
        return error.exit_code
    except Exception as error:
        is_debugged = "--debug" in sys.argv
        if is_debugged and not messages.is_json():
            traceback.print_exc()
        messages.fail(_sentence(error), error, traceback=is_debugged)
        return 1


class Handler(logging.StreamHandler):  # type: ignore[type-arg]  # Python 3.10 takes none
    """Writes a record of the log above the bar, where there is one."""

    def emit(self, record: logging.LogRecord) -> None:
        from tqdm import tqdm  # which takes its time, and is seldom needed

        with tqdm.external_write_mode(file=self.stream):
            super().emit(record)


def _sentence(error: Exception) -> str:
    """Say what an error means to users, and what to do."""
    if isinstance(error, LinkerError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'input or output'}: {error.strerror or error}"
    if isinstance(error, MemoryError):
        return "out of memory; link fewer names, or take a machine with more"
    return (
        f"a bug in linker: {type(error).__name__}: {shorten(str(error), 500)}; "
        "run again with --debug and report what it prints"
    )
