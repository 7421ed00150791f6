"""linker project: what is reviewed by a name is listed, made of files, and written to files."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING

import click

from linker.cli import common
from linker.cli import options as o

if TYPE_CHECKING:
    from linker.decisions.store import DecisionStore
    from linker.linking.linker import Linker
    from linker.projects.sources import Content

_FILE = o.option(
    "SQLite file of projects and decisions. [default: that of linker serve, beside the model]",
    "FILE",
    flags="--projects --decisions",
)
_FORMS = ("own", "tsv", "jsonl", "pubtator", "bioc", "sssom", "decisions", "log")
_LONGEST = 2**40  # bytes of a file


@click.group()
def project() -> None:
    """List, make and export projects: tables, lists and documents that are reviewed by a name.

    They are kept beside the decisions; linker serve shows them at /review.
    """


@o.command(project, "list", model=o.MODEL, projects=_FILE)
def list_(options: SimpleNamespace) -> None:
    """Print the projects with how far they are, as a table."""
    from linker.decisions.records import in_force
    from linker.outputs.tsv import row_writer
    from linker.projects import linking, store
    from linker.projects.queue import decided_mentions

    with _opened(options, read_only=True) as file, common.stdout() as output:
        write_row = row_writer(output)
        write_row(("project", "name", "kind", "mentions", "linked", "decided", "created"))
        places = in_force(file.list())
        with file.reading() as connection:
            for one in store.projects(connection):
                mentions, linked = linking.counted(connection, one)
                decided = decided_mentions(connection, one.id, places)
                numbers = map(str, (mentions, linked, decided))
                write_row((str(one.id), one.name, one.kind, *numbers, one.created))


@o.command(
    project,
    "import",
    names=o.argument("FILE...", nargs=-1, required=True),
    model=o.MODEL,
    projects=_FILE,
    name=o.option("Of the project. [default: that of the first file]", "NAME", default=""),
    column=o.option("Column of the mentions in a table, by name or number.", "NAME"),
    encoding=o.ENCODING,
    mention_type=o.option(
        "Link only mentions of this type; empty: all. [default: Disease, where the dictionary is "
        "one of diseases and the file has such mentions]",
        "T",
        flags="--type",
    ),
    reviewer=o.option("Who makes it, and who decided where the file says no name.", default=""),
    device=o.DEVICE,
    precision=o.PRECISION,
)
def import_(options: SimpleNamespace) -> None:
    """Make a project of FILEs, and link their mentions.

    A FILE is a table (csv, tsv, xlsx), a list of names, a text, documents (PubTator, BioC, JSON
    lines), or a folder of texts. Where there is a project of this name, FILEs are added to it; of a
    table or of mappings (SSSOM) that linker wrote, and a person reviewed, the decisions are taken.
    """
    from linker import files
    from linker.linking.linker import Linker
    from linker.projects import linking, sources, store
    from linker.readers import text

    wanted = options.name.strip() or Path(options.names[0].removesuffix(".gz")).stem
    with _opened(options) as file:
        with file.reading() as there:
            numbers = [one.id for one in store.projects(there) if one.name == wanted]
            known = [table for of in numbers for table in store.tables(there, of)]
        read = []
        for path in (each for name in options.names for each in text.paths_of(name)):
            with files.open_binary(path) as raw, files.reading(path):
                content = raw.read()
            about = Path(str(path)).name.removesuffix(".gz"), options.column, options.encoding
            read.append(sources.read(content, *about, _LONGEST, known))
        linker = Linker.load(options.model)
        linker.use(options.precision, options.device)
        for one in read:
            number = _take(options, file, linker, one, wanted)
        with common.bar("%", "") as bar:
            bar.total = 100
            for share in linking.link(file, number, linker):
                bar.update(int(100 * share) - bar.n)


def _take(
    options: SimpleNamespace, file: DecisionStore, linker: Linker, read: Content, name: str
) -> int:
    """Take a file into a project of a name, which may be there; the number of the project."""
    from linker.decisions.records import releases
    from linker.jobs.linking import model_hash
    from linker.projects import linking, reviewed, store
    from linker.projects.store import Origin

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


@o.command(
    project,
    name=o.argument("NAME"),
    model=o.MODEL,
    projects=_FILE,
    form=o.choice(
        _FORMS,
        "own: as what came in, with state and reviewer; tsv: a row for each mention, to be "
        "reviewed and imported again; log: who did what.",
        flags="--format",
    ),
    output=o.option(
        "Where to write. [default: standard output]", "PATH", default="-", flags="-o --output"
    ),
)
def export(options: SimpleNamespace) -> None:
    """Write the project NAME (or its number) to a file."""
    from linker import files
    from linker.decisions.applying import Decided
    from linker.linking.linker import Linker
    from linker.projects import linking, store
    from linker.projects.exporting import Exporter

    with _opened(options, read_only=True) as file, file.reading() as connection:
        one = store.named(connection, options.name)
        linker = Linker.load(options.model)
        decided = Decided.checked(file, linker)
        exporter = Exporter(one, connection, file, decided, linker)
        exported = exporter.described(options.form)
        if (share := linking.share(connection, one)) < 1:
            common.say(f"{share:.0%} of the mentions are linked; the others have no answer yet")

        def write(raw: IO[bytes]) -> None:
            exporter.write(exported, raw)

        if options.output in ("-", "/dev/stdout"):
            with files.writing("standard output"):
                write(sys.stdout.buffer)
                sys.stdout.buffer.flush()
            return
        common.refuse_input(options.output, [str(file.path)])
        with files.write_binary_aside(options.output) as raw:
            write(raw)


def _opened(options: SimpleNamespace, read_only: bool = False) -> DecisionStore:
    """The file of the projects."""
    from linker.decisions.store import DecisionStore

    path = options.projects or common.decisions_file(options.model)
    return DecisionStore(path, read_only=read_only)
