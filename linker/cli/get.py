"""linker get: lists dictionaries that have a name, and fetches them."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from linker.cli import common
from linker.cli import options as o
from linker.errors import LinkerError

if TYPE_CHECKING:
    from linker.files.fetching import Fetched


@o.command(
    name=o.argument("[NAME]", required=False),
    release=o.option("Not the current release, but this one, e.g. 2024-01-31.", "DATE"),
    output=o.option("Copy the file to here, too.", "PATH", flags="-o --output"),
)
def get(options: SimpleNamespace) -> None:
    """List dictionaries that have a name, or fetch one and print its path.

    --dict, --lend and --hierarchy take such a name in place of a path. What was fetched is kept in
    $LINKER_CACHE, else in the cache folder of this system.
    """
    from linker import files
    from linker.readers import known

    if not options.name:
        _list()
        return
    path, changes = known.get(options.name, options.release or "", progress=common.has_bars())
    for before, now in changes:
        _say(options.name, before, now)
    if options.output:
        if Path(path).is_dir():
            raise LinkerError(f"{path}: is a folder of several files; copy it, or leave out -o")
        with open(path, "rb") as source, files.write_binary_aside(options.output) as file:
            shutil.copyfileobj(source, file)
    common.show(options.output or path)


def _say(name: str, before: Fetched | None, now: Fetched) -> None:
    """Say what became of a file."""
    release = f"release {now.release or 'not stated'}, {now.size:,} bytes, SHA-256 {now.sha256}"
    if before is None:
        common.say(f"{name}: {release}")
    elif before.sha256 == now.sha256:
        common.say(f"{name}: has not changed since {before.date}; {release}")
    else:
        was = f"release {before.release or 'not stated'}, {before.size:,} bytes, of {before.date}"
        common.say(f"{name}: has changed; it was {was}; it is {release}")


def _list() -> None:
    """Print a line for each dictionary."""
    from tabulate import tabulate

    from linker.readers import known

    rows = []
    for name, entry in known.KNOWN.items():
        paths = sorted(known.folder(name).glob(f"*/{entry.file}"))
        cached = ", ".join(path.parent.name for path in paths)
        what = f"{entry.title}\n{entry.terms}\n{entry.address}"
        rows.append((name, f"{entry.size / 1e6:.0f} MB", cached or "-", what))
    header = ("name", "size", "cached", "what, terms, address")
    common.show(tabulate(rows, header, tablefmt="plain", disable_numparse=True))
