"""The dense vectors of names, as a model makes them, in files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import BinaryIO

from numpy.lib import format as npy

from linker.errors import LinkerError
from linker.io import mentions as readers
from linker.linking.linker import Linker
from linker.records import Document, Mention
from linker.search.hybrid import HybridGenerator, encode_names

_NAMES = 10_000  # that are encoded together


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
