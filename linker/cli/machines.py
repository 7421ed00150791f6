"""Linking and jobs, in this process or elsewhere."""

from __future__ import annotations

import dataclasses
import functools
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

from tqdm import tqdm

from linker.cli import common
from linker.errors import InputError, OnError, Skip, UsageError
from linker.io import outputs
from linker.io.outputs import Outcome
from linker.jobs.linking import Item, LinkSettings, has_documents
from linker.jobs.machines import Machines, cores
from linker.jobs.parts import Job, Summary, Work
from linker.linking.decided import Decided
from linker.linking.linker import Linker

_MAGIC = set("*?[")  # of patterns of file names


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
) -> Counter[Outcome]:
    """Link chunks, here or elsewhere, and write them in their order.

    Args:
        linker: that `loaded` gave.
        settings: how mentions are linked and written.
        chunks: of mentions or documents.
        paths: of the input and of the output.
        places: where work is done.

    Returns:
        How many mentions have each outcome.

    Raises:
        InputError: no mention is of the type that is wanted.
    """
    source, output = paths
    outcomes = Counter[outputs.Outcome]()
    has_own = places.is_this_process  # other processes load their own linker
    documents = has_documents(settings.input_format)
    make = functools.partial(settings.of_chunks, documents, linker if has_own else None)

    def written() -> Iterator[tuple[str, str]]:
        for chunk in results:
            yield chunk.header, chunk.text
            bar.update(chunk.items if settings.finding else chunk.mentions)
            outcomes.update(chunk.outcomes)
        if settings.mention_type and not settings.finding and not outcomes:
            problem = f"holds no mentions of type {settings.mention_type!r}"
            raise InputError(source, problem, remedy="choose another --type")

    unit = "documents" if settings.finding else "mentions"
    with (
        common.writing(output, [source]) as file,
        places.run(make, chunks) as results,
        common.bar(unit, output) as bar,
    ):
        file.writelines(outputs.joined(settings.form, written()))
    return outcomes


def is_job(source: str, input_format: str = "auto") -> bool:
    """Whether an input is a pattern or a folder of files, each of which is done by itself.

    A folder of `.concept` files is one corpus.
    """
    path = Path(source)
    if path.is_dir():
        return input_format != "concept" and not any(path.glob("*.concept"))
    return bool(_MAGIC & set(source)) and not path.exists()


def run_job(source: str, output: str, work: Work, on_error: OnError, places: Machines) -> None:
    """Run a job over many files, show its progress, and say at the end what was done."""
    if output in ("-", "/dev/stdout"):
        raise UsageError(
            f"{source}: each file that is read becomes one in a folder; name the folder with -o"
        )
    logger = logging.getLogger("linker")
    hidden = None if common.has_bars() else True
    with tqdm(unit=" parts", disable=hidden, file=sys.stderr) as bar:

        def report(summary: Summary) -> None:
            for message in summary.reports:
                logger.warning("skipped: %s", message)
            bar.total = summary.parts
            bar.update(summary.present + summary.done - bar.n)

        summary = Job(source, output, work, isinstance(on_error, Skip)).run(places, report)
    equal = summary.parts - summary.present - summary.done
    common.say(
        f"{output}: {common.counted(summary.parts, 'part')}, {summary.done:,} done, "
        f"{summary.present:,} skipped because present"
        + (f", {equal:,} equal to another" if equal else "")
        + f"; {common.counted(summary.records, 'record')} done, "
        f"{common.counted(summary.skipped, 'bad record')} skipped"
    )
