"""linker encode: names in, their dense vectors out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from linker.cli import common, machines

if TYPE_CHECKING:
    from linker.encoders.base import Precision
    from linker.jobs.machines import Machines


@click.command()
@click.argument("names", metavar="NAMES")
@common.model_option
@click.option(
    "-o",
    "--output",
    metavar="PATH",
    required=True,
    help="A file that ends in .npy or .safetensors; of several files of names a folder.",
)
@common.choice("--input-format", "auto", *common.MENTION_FORMATS)
@machines.column_option
@common.precision_option
@common.on_error_option
@machines.options
@common.logs
def encode(
    names: str,
    model: str,
    output: str,
    input_format: str,
    column: str | None,
    precision: Precision,
    on_error: str,
    places: Machines,
) -> None:
    """Write the dense vectors of NAMES, one name a line or any format of mentions ("-": standard
    input): a row for each name, float32.

    NAMES may be a folder or a pattern such as "names/*.txt": each file becomes a matrix (.npy) in
    the folder that -o names, where those that are there already are not made again.
    """
    from linker.jobs.encoding import encode_files

    places = machines.checked(places)
    if places.engine == "ray" or machines.is_job(names, output, input_format):
        work = encode_files(model, input_format, column, precision)
        machines.run_job(names, output, work, on_error, places)
    elif (places.workers or 1) > 1:
        raise click.UsageError("--workers is for several files of names; split this one")
    else:
        _encode_file(names, output, model, input_format, column, precision, on_error)


def _encode_file(
    names: str,
    output: str,
    model: str,
    input_format: str,
    column: str | None,
    precision: Precision,
    on_error: str,
) -> None:
    """Encode one file, or standard input."""
    from linker import files
    from linker.jobs import encoding
    from linker.linking.linker import Linker
    from linker.readers import mentions

    suffix = Path(output).suffix
    if suffix not in encoding.SUFFIXES:
        expected = " or ".join(encoding.SUFFIXES)
        raise click.UsageError(f"{output}: name a file that ends in {expected} with -o")
    common.refuse_input(output, [names])
    handle = common.handler(on_error)
    linker = Linker.load(model)
    encoding.generator(linker, model).encoder.use(precision)
    write = encoding.write if suffix == ".npy" else encoding.write_safetensors
    kind = None if input_format == "auto" else input_format
    items = mentions.read(names, kind, on_error=handle, column=column)
    with files.write_binary_aside(output) as file:
        write(linker, items, file)
    common.say_skipped(handle)
