"""linker encode: names in, their dense vectors out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import click

from linker import formats
from linker.cli import common, machines
from linker.cli import options as o


@o.command(
    names=o.argument("NAMES"),
    model=o.MODEL,
    output=o.option(
        "A file that ends in .npy; of several files of names a folder.",
        "PATH",
        required=True,
        flags="-o --output",
    ),
    input_format=o.choice(("auto", *formats.MENTIONS)),
    column=o.COLUMN,
    precision=o.PRECISION,
    on_error=o.ON_ERROR,
    **o.MACHINES,
)
def encode(options: SimpleNamespace) -> None:
    """Write the dense vectors of NAMES, one name a line or any format of mentions ("-": standard
    input): a row for each name, float32.

    NAMES may be a folder or a pattern such as "names/*.txt": each file becomes a matrix (.npy) in
    the folder that -o names, where those that are there already are not made again.
    """
    from linker.jobs.encoding import encode_files

    names, output, places = options.names, options.output, machines.chosen(options)
    if places.engine == "ray" or machines.is_job(names, options.input_format):
        work = encode_files(options.model, options.input_format, options.column, options.precision)
        machines.run_job(names, output, work, options.on_error, places)
    elif (places.workers or 1) > 1:
        raise click.UsageError("--workers is for several files of names; split this one")
    else:
        _encode_file(options)


def _encode_file(options: SimpleNamespace) -> None:
    """Encode one file, or standard input."""
    from linker import files
    from linker.jobs import encoding
    from linker.linking.linker import Linker
    from linker.readers import mentions

    names, output, kind = options.names, options.output, options.input_format
    if Path(output).suffix != ".npy":
        raise click.UsageError(f"{output}: name a file that ends in .npy with -o")
    common.refuse_input(output, [names])
    linker = Linker.load(options.model)
    encoding.generator(linker, options.model).encoder.use(options.precision)
    items = mentions.read(
        names,
        None if kind == "auto" else kind,
        on_error=options.on_error,
        column=options.column,
    )
    with files.write_binary_aside(output) as file:
        encoding.write(linker, items, file)
