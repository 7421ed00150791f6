"""What linker review does with projects: tables, lists and documents under a name."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from linker import files
from linker.cli import common
from linker.decisions.store import DecisionStore, releases
from linker.jobs.linking import model_hash
from linker.linking.decided import Decided
from linker.linking.decisions import in_force
from linker.linking.linker import Linker
from linker.outputs import row_writer
from linker.projects import linking, reviewed, sources, store
from linker.projects.exporting import Exporter
from linker.projects.queue import decided_mentions
from linker.projects.sources import Content
from linker.projects.store import Origin
from linker.readers import text

FORMS = ("own", "tsv", "jsonl", "pubtator", "bioc", "sssom", "decisions", "log")
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
        with file.reading() as there:
            numbers = [one.id for one in store.projects(there) if one.name == name]
            known = [table for of in numbers for table in store.tables(there, of)]
        read = []
        for path in (each for given in options.files for each in text.paths_of(given)):
            with files.open_binary(path) as raw, files.reading(path):
                content = raw.read()
            about = Path(str(path)).name.removesuffix(".gz"), options.column, options.encoding
            read.append(sources.read(content, *about, _LONGEST, known))
        linker = Linker.load(options.model)
        linker.use("fp32", options.device)
        for one in read:
            number = _take(options, file, linker, one, name)
        with common.bar("%", "") as bar:
            bar.total = 100
            for share in linking.link(file, number, linker):
                bar.update(int(100 * share) - bar.n)


def _take(
    options: SimpleNamespace, file: DecisionStore, linker: Linker, read: Content, name: str
) -> int:
    """Take a file into a project of a name, which may be there; the number of the project."""
    origin = Origin(model_hash(options.model), releases(linker.dictionary))
    said = None
    if reviewed.is_reviewed(read):
        said = reviewed.read(read, linker, options.reviewer, origin)
    else:
        reviewed.check_new(read)
    notes = read.notes
    new: Content | None = read
    with file.reading() as connection:
        there = {one.name: one for one in store.projects(connection)}.get(name)
        if there is None:
            read, told = store.beside(connection, read)
        else:
            new, told = store.to_add(connection, there, read, said is not None)
    notes += told
    if there is None:
        kind = options.mention_type
        kind = linking.type_for(read, linker) if kind is None else kind.strip()
        notes += linking.told_of_type(read, kind)
        number = store.created(file, name, read, kind, options.reviewer, origin)
        what = f" of type {kind}" if kind else ""
        common.say(f"project {number}: {name}; its mentions{what} are linked")
    else:
        number = there.id
        if new:
            store.added(file, number, new)
    if said is not None:
        if not new:
            with file.reading() as connection:
                said = said.on(connection, number)
        counts = reviewed.keep(file, number, said, read.name, options.reviewer)
        notes += reviewed.told(said, *counts)
    for note in notes:
        common.say(note)
    return number


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
