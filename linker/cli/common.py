"""What commands say, and the outputs that they write."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import click
from tqdm import tqdm

from linker.desk.service.settings import is_loopback
from linker.errors import LinkerError, Skip, UsageError, shown
from linker.integrations import HUB, fetched
from linker.io import files
from linker.io.files import MENTION_LIMIT
from linker.io.outputs import ASSERTED, OUTCOMES, Outcome
from linker.io.rows import Added, Table, free_names
from linker.linking.folder import described_index
from linker.linking.linker import Linker


def model_folder(model: str) -> str:
    """The folder of a model, which is fetched where it is named as hf:USER/NAME[@REVISION].

    Raises:
        LinkerError: it cannot be fetched, or there is no such folder, but perhaps a model.
    """
    if not model.startswith(HUB):
        if re.fullmatch(r"[\w.-]+/[\w.-]+", model) and not Path(model).exists():
            hint = f"for a model of the Hugging Face hub give {HUB}{model}"
            raise LinkerError(f"{model}: there is no such folder; {hint}")
        return model
    folder, name = fetched(model), model.removeprefix(HUB).partition("@")[0]
    say(f"{name}: commit {folder.name} of the Hugging Face hub, in {folder}")
    return str(folder)


def name_on_hub() -> str:
    """The name of the model that --model fetched from the Hugging Face hub; empty: a folder."""
    typed = str(click.get_current_context().params.get("model"))
    return typed.removeprefix(HUB).partition("@")[0] if typed.startswith(HUB) else ""


def decisions_file(model: str) -> str:
    """The file in which `linker serve` keeps decisions and projects, beside the model.

    A model of the hub is in a cache, which people empty: its file is in this folder.
    """
    beside = name_on_hub().replace("/", "--") or model
    return f"{Path(beside).absolute()}.decisions.sqlite"


def silence() -> None:
    """Say and log nothing but errors from here on, as with -q."""
    click.get_current_context().meta["linker.quiet"] = True
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


def counted(count: int, what: str) -> str:
    """A number with a noun, which is given in the singular."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def were(count: int, what: str) -> str:
    """A number with a noun and a verb in the past: "1 decision was", "2 decisions were"."""
    return f"{counted(count, what)} {'was' if count == 1 else 'were'}"


def say_outcomes(what: str, outcomes: Counter[Outcome]) -> None:
    """Report how many were linked; see `linker.io.outputs.outcome`.

    Args:
        what: that is counted, in the singular.
        outcomes: how many have each outcome.
    """

    def total(name: str) -> int:
        return sum(count for outcome, count in outcomes.items() if name in outcome)

    counts = ", ".join(f"{total(name):,} {name}" for name in OUTCOMES)
    asserted = ", ".join(
        f"{total(name):,} {word}" for name, word in ASSERTED.items() if total(name)
    )
    say(f"{counted(outcomes.total(), what)}: {counts}" + (asserted and f"; of these {asserted}"))


def say_long(rows: Sequence[int]) -> None:
    """Report the rows of a table whose cells are too long for a mention."""
    if rows:
        cells = f"{counted(len(rows), 'cell')} of more than {MENTION_LIMIT:,} characters"
        say(f"{cells} stayed without an answer, the first in row {rows[0]:,}")


def say_model(linker: Linker, folder: str) -> None:
    """Say what the model holds that was written, and how well its index finds names."""
    concepts, names = len(linker.dictionary), len(linker.generator.table)
    say(f"model: {folder} ({concepts:,} concepts, {names:,} distinct names)")
    if index := described_index(Path(folder)):
        say(index)


def say_skipped(on_error: Any) -> None:
    """Report how many records were skipped."""
    if isinstance(on_error, Skip) and on_error.count:
        say(f"{were(on_error.count, 'bad record')} skipped")


def bar(unit: str, output: str) -> Any:
    """A bar of tqdm that counts on a terminal, where the output itself is not shown there.

    Args:
        unit: what is counted.
        output: the path that is written to.
    """
    is_hidden = is_quiet() or (output == "-" and sys.stdout.isatty())
    return tqdm(unit=f" {unit}", disable=True if is_hidden else None, file=sys.stderr)


@contextlib.contextmanager
def stdout() -> Iterator[TextIO]:
    """Standard output; a failed write becomes a message."""
    with files.writing("standard output"):
        yield sys.stdout
        sys.stdout.flush()


def show(text: str) -> None:
    """Write text and the end of its line to standard output."""
    with stdout() as file:
        file.write(text + "\n")


def writing(output: str, inputs: Iterable[str]) -> contextlib.AbstractContextManager[TextIO]:
    """Open the file to write to.

    Args:
        output: its path; "-" and /dev/stdout are standard output, which is never replaced by
            another file.
        inputs: paths that the command reads.

    Raises:
        LinkerError: it is one of the inputs.
    """
    refuse_input(output, inputs)
    if output in ("-", "/dev/stdout"):
        return stdout()
    return files.write_aside(output)


def write_table(table: Table, output: str, names: Sequence[str], added: Added) -> None:
    """Write a table with more columns to a file, or to standard output."""
    names = free_names(table.header, names)
    if not table.is_binary:
        if Path(output).suffix.lower() == ".xlsx":
            raise UsageError(f"{output}: the table is a text; name a csv or tsv with -o")
        with writing(output, [str(table.path)]) as file:
            table.write(file, names, added)
        return
    if Path(output).suffix.lower() != ".xlsx":
        raise UsageError("the table is a workbook; name an xlsx file to write with -o")
    refuse_input(output, [str(table.path)])
    with files.write_binary_aside(output) as raw:
        table.write(raw, names, added)
    say(
        f"{output}: has the values of the sheet {table.sheets[0]!r} alone; other sheets, formulas, "
        f"styles and charts are in {table.path}, which stays as it is"
    )


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


def check_free(host: str, port: int, is_guarded: bool = False) -> None:
    """Check, before the model is loaded, that the port can be listened on; warn of who reaches it.

    Args:
        host: the address.
        port: the port.
        is_guarded: whether those who reach it need a key.

    Raises:
        LinkerError: something else listens, or this user may not.
    """
    if not is_guarded and not is_loopback(host):
        logging.getLogger("linker").warning(
            "--host %s is reached from other computers, whose users may ask and decide without a "
            "key; let a proxy ask for one, or give linker serve --api-key-file",
            host,
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise LinkerError(
            f"port {port} of {host} cannot be listened on: {error.strerror}; "
            "stop what uses it, or choose another --port (0: any that is free)"
        ) from None
