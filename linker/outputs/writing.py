"""Writing predictions in any format, as they come."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TextIO, cast

from linker.errors import LinkerError
from linker.formats import FORMATS, PREDICTIONS
from linker.outputs import Layout, Predicted, Writer
from linker.types import Prediction

_PLAIN = Layout()  # a list of mentions, without decisions


def writer_of(name: str) -> Writer:
    """The module that writes a format.

    Raises:
        LinkerError: there is no such format.
    """
    if name not in PREDICTIONS:
        raise LinkerError(
            f"{name!r} is not a format of predictions; choose one of {', '.join(PREDICTIONS)}"
        )
    return cast(Writer, importlib.import_module(FORMATS[name].writer))


def write(name: str, items: Iterable[Predicted], file: TextIO, layout: Layout = _PLAIN) -> int:
    """Write a file of predictions, and return how many these are.

    Args:
        name: of the format.
        items: what to write, in this order.
        file: where to write.
        layout: what it has beside the concepts.

    Raises:
        LinkerError: there is no such format, or it cannot hold an item.
    """
    writer, items = writer_of(name), iter(items)
    first, count = next(items, None), 0

    def counted(predictions: Iterable[Prediction]) -> Iterator[Prediction]:
        nonlocal count
        for prediction in predictions:
            count += 1
            yield prediction

    def chunks() -> Iterator[tuple[str, str]]:
        yield writer.header(first and first[0], layout), ""
        for document, predictions in chain([first] if first else [], items):
            yield "", writer.item(document, counted(predictions), layout)

    file.writelines(joined(name, chunks()))
    return count


def joined(name: str, chunks: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The text of one file, of whose chunks each has a header and its items; there is one."""
    writer, chunks = writer_of(name), iter(chunks)
    header, first = next(chunks)
    yield header
    yield from getattr(writer, "gather", iter)(chain([first], (items for _, items in chunks)))
    yield writer.FOOTER
