"""The dense vectors of names, as a model makes them, in files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import BinaryIO

from numpy.lib import format as npy

from linker import files
from linker.candidates.hybrid import HybridGenerator, encode_names
from linker.encoders.base import Precision
from linker.errors import LinkerError, OnError
from linker.jobs.linking import check_model, model_hash
from linker.jobs.parts import JobFile, Work
from linker.linking.linker import Linker
from linker.readers import mentions as readers
from linker.types import Document, Mention

_NAMES = 10_000  # that are encoded together


def encode_files(
    model: str, input_format: str, column: str | None, precision: Precision = "fp32"
) -> Work:
    """What encodes the names in the files of a job, each into a matrix of its own (.npy).

    Args:
        model: its folder; it is used as it is now.
        input_format: of the files.
        column: of the names in Parquet files.
        precision: in which names are encoded.
    """
    model, expected = str(Path(model).absolute()), model_hash(model)
    given = {"input_format": input_format, "column": column, "precision": precision}
    # a part's name depends on these: a job of an older release is not begun anew
    options = {"model": "", "model_hash": expected, "encode": True, **given}
    return Work(partial(_load, model, expected, input_format, column, precision), ".npy", options)


def _load(
    model: str, expected: str, input_format: str, column: str | None, precision: Precision
) -> Callable[[JobFile, OnError], int]:
    """Load the model, which must have this checksum."""
    linker = Linker.load(model)
    check_model(model, expected)
    generator(linker, model).encoder.use(precision)

    def encode(file: JobFile, on_error: OnError) -> int:
        kind = readers.detect(file.path) if input_format == "auto" else input_format
        with files.write_binary_aside(file.output) as raw:
            count = write(linker, file.read(kind, column, on_error), raw)
            file.check()
        return count

    return encode


def generator(linker: Linker, model: str) -> HybridGenerator:
    """The generator of a linker that has a dense encoder.

    Args:
        linker: the linker.
        model: its folder, for the message.

    Raises:
        LinkerError: it links by characters alone.
    """
    if not isinstance(linker.generator, HybridGenerator):
        raise LinkerError(
            f"{model}: links by characters alone ({linker.encoder}) and has no dense vectors; "
            "train a model with another --encoder, such as static"
        )
    return linker.generator


def write(linker: Linker, items: Iterable[Document | Mention], file: BinaryIO) -> int:
    """Write the vectors of names as a matrix in numpy's format, float32 (names, dim).

    Args:
        linker: brings each name into its normal form, and encodes it.
        items: the names, as mentions.
        file: where to write, from its beginning.

    Returns:
        The number of names.
    """
    encoder, count = generator(linker, "the model").encoder, 0
    _write_header(file, count, encoder.dim)
    names = (linker.normalize(mention.text) for mention, _ in readers.flatten(items))
    while batch := list(itertools.islice(names, _NAMES)):
        file.write(encode_names(encoder, batch).astype("<f4", copy=False).tobytes())
        count += len(batch)
    file.seek(0)
    _write_header(file, count, encoder.dim)  # as long as the first one, with room for any number
    file.seek(0, 2)
    return count


def _write_header(file: BinaryIO, names: int, dim: int) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (names, dim)}
    npy.write_array_header_1_0(file, header)
