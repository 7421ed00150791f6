"""Options that say where work is done, and jobs over many files."""

from __future__ import annotations

import dataclasses
import functools
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linker.cli import common
from linker.jobs import machines
from linker.jobs.machines import Machines

if TYPE_CHECKING:
    from linker.jobs.linking import Item, LinkSettings, Written
    from linker.jobs.parts import Summary, Work
    from linker.linking.linker import Linker

_MAGIC = set("*?[")  # of patterns of file names

workers_option = click.option(
    "--workers",
    type=click.IntRange(1, common.MOST),
    metavar="N",
    help="Processes that share the work. [default: 1; with Ray as many as it has cores or GPUs]",
)
_engine = common.choice(
    "--engine",
    *("local", "ray"),
    hidden=True,
    help="What spreads the files of a job: processes here, or Ray.",
)
_address = click.option(
    "--address",
    metavar="HOST:PORT",
    hidden=True,
    help="Of the Ray cluster. [default: one on this machine]",
)
_gpus = click.option(
    "--gpus",
    type=click.FloatRange(0, 64),
    default=0.0,
    metavar="X",
    hidden=True,
    help="GPUs that each worker of Ray is given; 0.5: two share one.",
)
options = common.group("places", Machines, workers_option, _engine, _address, _gpus)
"""Adds options that say where work is done, as `Machines` named `places`."""
column_option = click.option(
    "--column",
    metavar="NAME",
    help="Column of the mentions in Parquet files [default: mention, else text], or in a table "
    "(tsv, csv, xlsx), by name or number, which keeps all its columns.",
)


def loaded(settings: LinkSettings, places: Machines) -> Linker:
    """The linker of this process; where others work, it only checks what they will be given."""
    if settings.device == "cuda" and not places.is_this_process:  # their GPUs may be elsewhere
        settings = dataclasses.replace(settings, device="auto", precision="fp32")
    return settings.load()


def checked(places: Machines) -> Machines:
    """Refuse options of Ray without it, and take at most as many workers as there are cores."""
    if places.engine != "local":
        return places
    if places.address or places.gpus:
        flag = "--address" if places.address else "--gpus"
        raise click.UsageError(f"{flag} is for --engine ray; leave it out, or give that")
    number, most = places.workers or 1, machines.cores()
    if number > most:  # more would only take memory
        are = "s are" if most > 1 else " is"
        common.say(f"--workers {number}: {most} core{are} here, so that {most} will work")
        return dataclasses.replace(places, workers=most)
    return places


def write_linked(
    linker: Linker,
    settings: LinkSettings,
    chunks: Iterable[Sequence[Item]],
    documents: bool,
    paths: tuple[str, str],
    places: Machines,
    watch: Callable[[Iterable[Written]], Iterable[Written]],
) -> None:
    """Link chunks, here or elsewhere, and write them in their order.

    Args:
        linker: that `loaded` gave.
        settings: how mentions are linked and written.
        chunks: of mentions or documents.
        documents: whether the mentions are of documents.
        paths: of the input and of the output.
        places: where work is done.
        watch: passes on what was linked, and says what is to be said of it.
    """
    from linker import outputs
    from linker.decisions.applying import Decided

    if not places.is_this_process:
        Decided.of_file(settings.decisions, linker)  # what is wrong with them is said here
    own = linker if places.is_this_process else None  # other processes load their own
    make = functools.partial(settings.of_chunks, documents, own)
    source, output = paths
    with common.writing(output, [source]) as file, places.run(make, chunks) as results:
        chunks_of_text = ((chunk.header, chunk.text) for chunk in watch(results))
        file.writelines(outputs.joined(settings.form, chunks_of_text))


def is_job(source: str, output: str, input_format: str = "auto") -> bool:
    """Whether an input is a pattern of files, or a folder of files whose output is named.

    A folder of `.concept` files is one corpus.
    """
    path = Path(source)
    if path.is_dir():
        is_corpus = input_format == "concept" or any(path.glob("*.concept"))
        return output != "-" and not is_corpus
    return bool(_MAGIC & set(source)) and not path.exists()


def run_job(source: str, output: str, work: Work, on_error: str, places: Machines) -> None:
    """Run a job over many files, show its progress, and say at the end what was done."""
    from tqdm import tqdm

    from linker.jobs.parts import Job

    if output in ("-", "/dev/stdout"):
        raise click.UsageError("the output is a folder of files; name it with -o")
    logger = logging.getLogger("linker")
    hidden = None if common.has_bars() else True
    with tqdm(unit=" parts", disable=hidden, file=sys.stderr) as bar:

        def report(summary: Summary) -> None:
            for message in summary.told:
                logger.warning("skipped: %s", message)
            bar.total = summary.parts
            bar.set_postfix_str(f"{summary.records:,} records", refresh=False)
            bar.update(summary.present + summary.equal + summary.done - bar.n)

        summary = Job(source, output, work, on_error == "skip").run(places, report)
    common.say("\n".join(_sentences(output, summary)))


def _sentences(output: str, summary: Summary) -> list[str]:
    """What is said at the end of a job."""
    equal = f", {summary.equal:,} equal to another" if summary.equal else ""
    texts = [
        f"{output}: {common.counted(summary.parts, 'part')}, {summary.done:,} done, "
        f"{summary.present:,} skipped because present{equal}; "
        f"{common.counted(summary.records, 'record')} done, "
        f"{common.counted(summary.skipped, 'bad record')} skipped"
    ]
    if summary.appeared:
        texts.append(f"files that appeared meanwhile: {summary.appeared:,}; run again to do them")
    if summary.foreign:
        texts.append(
            f"{output} also has parts of other jobs, which its index does not name: "
            f"{summary.foreign:,}"
        )
    return texts
