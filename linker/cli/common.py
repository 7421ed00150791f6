"""What commands say, the outputs that they write, and where their work is done."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import click
from tqdm import tqdm

from linker.cli import messages
from linker.errors import InputError, LinkerError, OnError, Skip, UsageError
from linker.integrations import HUB, fetched
from linker.io import files, outputs
from linker.io.files import MENTION_LIMIT
from linker.io.rows import Added, Table, free_names
from linker.jobs.linking import Item, LinkSettings, has_documents
from linker.jobs.machines import Machines, cores
from linker.jobs.parts import Job, Summary, Work
from linker.linking.decided import Decided
from linker.linking.folder import described_index
from linker.linking.linker import Linker
from linker.linking.tally import Tally

_NAMED = 20  # files that a message names


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
    """Tell whether progress bars are shown: on a terminal, unless -q or JSON was asked for."""
    return sys.stderr.isatty() and not is_quiet() and not messages.is_json()


def say(message: str) -> None:
    """Write a message to stderr, unless -q was given."""
    if not is_quiet():
        messages.say(message)


def counted(count: int, what: str) -> str:
    """A number with a noun, which is given in the singular."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def were(count: int, what: str) -> str:
    """A number with a noun and a verb in the past: "1 decision was", "2 decisions were"."""
    return f"{counted(count, what)} {'was' if count == 1 else 'were'}"


def say_tally(what: str, tally: Tally, linker: Linker, coverage: float | None) -> None:
    """Report what became of mentions, and how many are right; see `Tally.lines`."""
    for line in tally.lines(what, linker.calibration, coverage):
        say(line)


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
    """Report how many records were skipped.

    Raises:
        LinkerError: whole files were passed over.
    """
    if isinstance(on_error, Skip):
        if on_error.count:
            say(f"{were(on_error.count, 'bad record')} skipped")
        check_files(on_error.files)


def check_files(paths: Sequence[str]) -> None:
    """End a command that did all but some files as one that failed.

    Args:
        paths: of the files that were passed over.

    Raises:
        LinkerError: there are some.
    """
    if paths:
        listed = ", ".join(paths[:_NAMED]) + (", …" if len(paths) > _NAMED else "")
        what = "it" if len(paths) == 1 else "them"
        raise LinkerError(
            f"{were(len(paths), 'file')} passed over: {listed}; mend {what}, and run again"
        )


def bar(unit: str, output: str) -> Any:
    """A bar of tqdm that counts on a terminal, where the output itself is not shown there.

    Args:
        unit: what is counted.
        output: the path that is written to.
    """
    is_hidden = not has_bars() or (output == "-" and sys.stdout.isatty())
    return tqdm(unit=f" {unit}", disable=is_hidden, file=sys.stderr)


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


# ------------------------------------------------------------------------- where work is done


def chosen(options: SimpleNamespace) -> Machines:
    """Where a command's options have the work done: on as many cores as there are, at most."""
    if getattr(options, "engine", "local") == "ray":
        return Machines(options.workers, "ray", float(options.device == "cuda"))
    return Machines(options.workers and min(options.workers, cores()))  # more would take memory


def loaded(settings: LinkSettings, places: Machines) -> Linker:
    """The linker of this process; where others work, it only checks what they will be given."""
    if places.is_this_process:
        return settings.load()
    if settings.device == "cuda":  # their GPUs may be elsewhere
        settings = dataclasses.replace(settings, device="auto")
    linker = settings.load()
    Decided.of_file(settings.decisions, linker)  # what is wrong with them is said here
    return linker


def write_linked(
    linker: Linker,
    settings: LinkSettings,
    chunks: Iterable[Sequence[Item]],
    paths: tuple[str, str],
    places: Machines,
    done: Callable[[int], None],
) -> Tally:
    """Link chunks, here or elsewhere, and write them in their order.

    Args:
        linker: that `loaded` gave.
        settings: how mentions are linked and written.
        chunks: of mentions or documents.
        paths: of the input and of the output.
        places: where work is done.
        done: is told of each chunk how many mentions it has, or documents where these are found.

    Returns:
        What became of the mentions.

    Raises:
        InputError: no mention is of the type that is wanted.
    """
    source, output = paths
    tally = Tally()
    has_own = places.is_this_process  # other processes load their own linker
    documents = has_documents(settings.input_format)
    make = functools.partial(settings.of_chunks, documents, linker if has_own else None)

    def written() -> Iterator[tuple[str, str]]:
        for chunk in results:
            yield chunk.header, chunk.text
            done(chunk.items if settings.finding else chunk.mentions)
            tally.add(chunk.tally)
        if settings.mention_type and not settings.finding and not tally.outcomes:
            problem = f"holds no mentions of type {settings.mention_type!r}"
            raise InputError(source, problem, remedy="choose another --type")

    with writing(output, [source]) as file, places.run(make, chunks) as results:
        file.writelines(outputs.joined(settings.form, written()))
    return tally


def is_job(source: str, input_format: str = "auto") -> bool:
    """Whether an input is a pattern or a folder of files, each of which is done by itself.

    A folder of `.concept` files is one corpus.
    """
    path = Path(source)
    if path.is_dir():
        return input_format != "concept" and not any(path.glob("*.concept"))
    return bool(set("*?[") & set(source)) and not path.exists()


def run_job(source: str, output: str, work: Work, on_error: OnError, places: Machines) -> None:
    """Run a job over many files, show its progress, and say at the end what was done."""
    if output in ("-", "/dev/stdout"):
        raise UsageError(
            f"{source}: each file that is read becomes one in a folder; name the folder with -o"
        )
    logger = logging.getLogger("linker")
    with bar("parts", output) as progress:

        def report(summary: Summary) -> None:
            for error in summary.reports:
                what = "passed over" if error.is_of_file else "skipped"
                logger.warning("%s: %s", what, error)
            progress.total = summary.parts
            settled = summary.present + summary.done + len(summary.bad_files)
            progress.update(settled - progress.n)

        summary = Job(source, output, work, isinstance(on_error, Skip)).run(places, report)
    passed_over = len(summary.bad_files)
    equal = summary.parts - summary.present - summary.done - passed_over
    say(
        f"{output}: {counted(summary.parts, 'part')}, {summary.done:,} done, "
        f"{summary.present:,} skipped because present"
        + (f", {equal:,} equal to another" if equal else "")
        + (f", {passed_over:,} passed over" if passed_over else "")
        + f"; {counted(summary.records, 'record')} done, "
        f"{counted(summary.skipped, 'bad record')} skipped"
    )
    check_files([error.path for error in summary.bad_files])
