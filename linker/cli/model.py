"""linker model: what a model is, whether its files are whole, and the vectors that it makes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import click

from linker.cli import common
from linker.cli import options as o
from linker.encoders import registry
from linker.errors import LinkerError
from linker.io import files, mentions, persistence
from linker.jobs import encoding
from linker.linking.folder import described_index
from linker.linking.linker import Linker
from linker.linking.options import as_saved


@click.group()
def model() -> None:
    """Look into a model, and check its files."""


@o.command(model, model=o.MODEL)
def info(options: SimpleNamespace) -> None:
    """Print what a model is: its dictionary, encoder, training, options, format and size."""
    folder = Path(options.model)
    linker = Linker.load(folder)
    config = persistence.load_json(folder / persistence.CONFIG)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    seen, ranker = linker.seen, linker.ranker
    facts = [
        ("folder", options.model),
        ("size", f"{size / 1e6:,.1f} MB"),
        ("format", f"{config['format_version']}, written by linker {config['code_version']}"),
        *(
            ("dictionary", f"{s.file} {s.release or '(release not stated)'}: {s.concepts:,}")
            for s in linker.dictionary.sources
        ),
        ("concepts", f"{len(linker.dictionary):,}"),
        ("names", f"{len(linker.generator.table):,}"),
        ("everyday", f"{len(linker.everyday):,} names that people use"),
        ("encoder", linker.encoder),
        ("annotated", f"{len(seen.mentions):,} mentions of {len(seen.concepts):,} concepts"),
        ("ranker", ranker.described if ranker else "none"),
        ("index", described_index(folder) or "none"),
    ]
    for group, values in as_saved(linker.options, linker.encoder).items():
        facts.append((group, ", ".join(f"{name}={value}" for name, value in values.items())))
    common.show("\n".join(f"{name:12}{fact}" for name, fact in facts))


@o.command(model, model=o.MODEL)
def verify(options: SimpleNamespace) -> None:
    """Check every file of a model folder against its manifest.

    Loading a model does the same; this does nothing else.
    """
    files, size = persistence.verify(options.model, "model")
    what = f"{files:,} files, {size:,} bytes, all as {persistence.MANIFEST} says"
    common.show(f"{options.model}: {what}")


@o.command(
    model,
    names=o.argument("NAMES"),
    model=o.MODEL,
    output=o.option("A file that ends in .npy.", "PATH", required=True, flags="-o --output"),
    input_format=o.INPUT_FORMAT,
    column=o.option("Column of the names in a Parquet file. [default: mention, else text]", "NAME"),
    on_error=o.ON_ERROR,
)
def encode(options: SimpleNamespace) -> None:
    """Write the dense vectors of NAMES, one name a line or any format of mentions ("-": standard
    input): a row for each name, float32.
    """
    names, output, kind = options.names, options.output, options.input_format
    if Path(output).suffix != ".npy":
        raise click.UsageError(f"{output}: name a file that ends in .npy with -o")
    common.refuse_input(output, [names])
    linker = Linker.load(options.model)
    encoding.generator(linker, options.model)  # refused before anything is written
    items = mentions.read(
        names,
        None if kind == "auto" else kind,
        on_error=options.on_error,
        column=options.column,
    )
    with files.write_binary_aside(output) as file:
        encoding.write(linker, items, file)


@o.command(model)
def encoders(_: SimpleNamespace) -> None:
    """List the encoders that linker train knows, with one line each."""
    with common.stdout() as file:
        for name in sorted(registry.encoders()):
            try:
                line = registry.describe(name)
            except LinkerError as error:  # of a package that is broken or missing
                line = f"({error})"
            file.write(f"{name:14}{line}\n")
