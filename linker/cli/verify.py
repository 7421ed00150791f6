"""linker verify: every file of a model against its checksum."""

from __future__ import annotations

import click

from linker.cli import common


@click.command()
@common.model_option
@common.logs
def verify(model: str) -> None:
    """Check every file of a model folder against its manifest.

    Loading checks a large file when it first sees it, and again when it has changed; this reads
    all of them.
    """
    from linker import persistence

    files, size = persistence.verify(model, "model")
    with common.stdout() as file:
        file.write(
            f"{model}: {files:,} files, {size:,} bytes, all as {persistence.MANIFEST} says\n"
        )
