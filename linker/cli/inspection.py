"""linker verify: every file of a model against its checksum. linker encoders: the plug-ins."""

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


@click.command()
@common.logs
def encoders() -> None:
    """List the encoders, with one line each."""
    from linker import registry
    from linker.errors import LinkerError

    with common.stdout() as file:
        for name in sorted(registry.encoders()):
            try:
                line = registry.describe(name)
            except LinkerError as error:
                if name not in registry.ENCODERS:
                    common.say(str(error))
                    continue
                line = f"({error})"
            file.write(f"{name:14}{line}\n")
