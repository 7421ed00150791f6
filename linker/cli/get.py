"""linker get: lists dictionaries that have a name, and fetches them."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

from tabulate import tabulate

from linker.cli import common
from linker.cli import options as o
from linker.errors import LinkerError
from linker.io import dictionaries as known
from linker.io import files
from linker.io.fetching import Fetched


@o.command(
    name=o.argument("[NAME[@RELEASE]]", required=False),
    output=o.option("Copy the file to here, too.", "PATH", flags="-o --output"),
)
def get(options: SimpleNamespace) -> None:
    """List or fetch dictionaries that have a name.

    Of the one that is fetched, in its current release or in RELEASE, the path is printed. --dict,
    --lend and --hierarchy take such a name in place of a path. What was fetched is kept in
    $LINKER_CACHE, else in the cache folder of this system.
    """
    if not options.name:
        _list()
        return
    name, _, release = options.name.partition("@")
    path, changes = known.get(name, release, progress=common.has_bars())
    for before, now in changes:
        _say(name, before, now)
    if options.output:
        if Path(path).is_dir():
            raise LinkerError(f"{path}: is a folder of several files; copy it, or leave out -o")
        with open(path, "rb") as source, files.write_binary_aside(options.output) as file:
            shutil.copyfileobj(source, file)
    common.show(options.output or path)


def _say(name: str, before: Fetched | None, now: Fetched) -> None:
    """Say what became of a file."""
    release = f"release {now.release or 'not stated'}, {now.size:,} bytes, SHA-256 {now.sha256}"
    if before and before.sha256 == now.sha256:
        release = f"has not changed since {before.date}; {release}"
    elif before:
        was = f"release {before.release or 'not stated'}, of {before.date}"
        release = f"has changed; it was {was}; it is {release}"
    common.say(f"{name}: {release}")


def _list() -> None:
    """Print a line for each dictionary."""
    rows = []
    for name, entry in known.KNOWN.items():
        paths = sorted(known.folder(name).glob(f"*/{entry.file}"))
        cached = ", ".join(path.parent.name for path in paths)
        what = f"{entry.title}\n{entry.terms}\n{entry.address}"
        rows.append((name, f"{entry.size / 1e6:.0f} MB", cached or "-", what))
    header = ("name", "size", "cached", "what, terms, address")
    common.show(tabulate(rows, header, tablefmt="plain", disable_numparse=True))
