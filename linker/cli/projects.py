"""What linker review does with projects: tables, lists and documents under a name."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from linker.cli import common
from linker.desk.decisions.store import DecisionStore, releases
from linker.desk.projects import (
    intake,
    linking,
    sources,
    store,
)
from linker.desk.projects.exporting import Exporter
from linker.desk.projects.intake import Session
from linker.desk.projects.queue import decided_mentions
from linker.desk.projects.sources import Content
from linker.desk.projects.store import Origin
from linker.errors import of_file
from linker.io import files
from linker.io.mentions import paths_of
from linker.io.outputs import row_writer
from linker.jobs.linking import model_hash
from linker.linking.decided import Decided
from linker.linking.decisions import in_force
from linker.linking.linker import Linker

FORMS = ("own", "plain", "tsv", "jsonl", "pubtator", "bioc", "sssom", "decisions", "log")
_LONGEST = 2**40  # bytes of a file


def opened(options: SimpleNamespace, read_only: bool = False) -> DecisionStore:
    """The file of decisions and projects."""
    path = options.decisions or common.decisions_file(options.model)
    return DecisionStore(path, read_only=read_only)


def write_list(options: SimpleNamespace) -> None:
    """Print the projects with how far they are, as a table."""
    with opened(options, read_only=True) as file, common.stdout() as output:
        write_row = row_writer(output)
        write_row(("project", "name", "kind", "mentions", "linked", "decided", "created"))
        places = in_force(file.list())
        with file.reading() as connection:
            for one in store.projects(connection):
                mentions, linked = linking.counted(connection, one)
                decided = decided_mentions(connection, one.id, places)
                numbers = map(str, (mentions, linked, decided))
                write_row((str(one.id), one.name, one.kind, *numbers, one.created))


def take(options: SimpleNamespace) -> None:
    """Take files into a project, and link their mentions."""
    name = options.project.strip()
    with opened(options) as file:
        store.remove_unfinished(file)
        with file.reading() as there:
            known = [source.column for source in store.sources(there, _number(file, name))]
        read = []
        for given in options.files:
            read_as: Any = options.read_as
            if read_as == "auto":
                read_as = "documents" if files.is_folder(given) else None
            for path in paths_of(given):
                about = Path(str(path)).name.removesuffix(".gz"), options.column, options.encoding
                with of_file(options.on_error):
                    with files.open_binary(path) as raw, files.reading(path):
                        content = raw.read()
                    read.append(sources.read(content, *about, _LONGEST, known, read_as=read_as))
        if not read:
            return
        linker = Linker.load(options.model)
        linker.use("fp32", options.device)
        for one in read:
            number = _take(options, file, linker, one, name)
        with common.bar("%", "") as bar:
            bar.total = 100
            for share in linking.link(file, number, linker):
                bar.update(int(100 * share) - bar.n)


def _number(file: DecisionStore, name: str) -> int:
    """The number of the project of a name; 0: there is none."""
    with file.reading() as connection:
        return next((one.id for one in store.projects(connection) if one.name == name), 0)


def _take(
    options: SimpleNamespace, file: DecisionStore, linker: Linker, read: Content, name: str
) -> int:
    """Take a file into a project of a name, which may be there; the number of the project."""
    origin = Origin(model_hash(options.model), releases(linker.dictionary))
    session = Session(linker, origin, options.reviewer)
    said = intake.reviewed_in(read, session)
    if number := _number(file, name):
        stored = intake.add(file, number, read, said, options.reviewer, again=options.again)
    else:
        kind = options.mention_type
        stored = intake.create(file, read, said, session, name, kind, again=options.again)
        what = f" of type {stored.type}" if stored.type else ""
        common.say(f"project {stored.number}: {name}; its mentions{what} are linked")
    if said is None:
        rows = "" if read.kind == "documents" else " rows"
        common.say(f"{read.name}: read as {read.kind}: {read.count:,}{rows}")
    for note in stored.notes:
        common.say(note)
    return stored.number


def export(options: SimpleNamespace, form: Any) -> None:
    """Write a project to a file."""
    with opened(options, read_only=True) as file, file.reading() as connection:
        one = store.named(connection, options.project)
        linker = Linker.load(options.model)
        decided = Decided.checked(file, linker)
        exporter = Exporter(one, connection, file, decided, linker)
        exported = exporter.described(form)
        if (share := linking.share(connection, one)) < 1:
            common.say(f"{share:.0%} of the mentions are linked; the others have no answer yet")
        if options.output in ("-", "/dev/stdout"):
            with files.writing("standard output"):
                exporter.write(exported, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            return
        common.refuse_input(options.output, [str(file.path)])
        with files.write_binary_aside(options.output) as raw:
            exporter.write(exported, raw)
