"""The command line: parse, call one public function, print. Heavy imports stay inside the commands, so that --help is quick."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import sys
import traceback
from typing import Any, NoReturn

import click

from linker.cli.dictionary import dictionary
from linker.cli.encoders import encoders
from linker.cli.evaluate import evaluate
from linker.cli.link import link
from linker.cli.train import train
from linker.cli.words import words
from linker.errors import LinkerError
from linker.version import VERSION


class _Commands(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has seen enough, which click would make exit code 1
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 0


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, prog_name="linker")
def cli() -> None:
    """Map names of diseases and other concepts, as people write them, to the identifiers of a dictionary.

    \b
    linker train --dict CTD_diseases.tsv.gz      makes ./linker-model
    linker link mentions.txt                     prints the concepts of each mention
    """


for _command in (train, link, evaluate, dictionary, encoders, words):
    cli.add_command(_command)


def main() -> NoReturn:
    """Run the command line; the exit codes are those of FACES: 0 done, 1 failed, 2 wrong command line, 130 interrupted."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as an exception, so that half-written files are removed
    debug = "--debug" in sys.argv
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # data, whatever the locale
    logging.basicConfig(level=logging.WARNING, format="linker: %(message)s")
    sys.exit(_run(debug))


def _run(debug: bool) -> int:
    try:
        result: Any = cli.main(prog_name="linker", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Abort:
        return _say("interrupted", 130)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, LinkerError):
            return _say(str(error), 1)
        if isinstance(error, OSError):
            return _say(f"{error.filename or 'input or output'}: {error.strerror or error}", 1)
        if isinstance(error, MemoryError):
            return _say("out of memory; link fewer names, or take a machine with more", 1)
        return _say(f"a bug in linker: {type(error).__name__}: {error}; run again with --debug and report what it prints", 1)


def _say(message: str, code: int) -> int:
    with contextlib.suppress(OSError):
        click.echo(f"linker: {message}", err=True)
    return code
