"""linker encoders: the plug-ins."""

from __future__ import annotations

import click

from linker.cli import common


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
