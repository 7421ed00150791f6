"""What the tests of several formats need."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from linker.errors import InputError, Skip
from linker.io.outputs import Layout, write
from linker.records import Document, Prediction

Read = Callable[..., Iterable[Any]]


def refused(read: Read, path: Path, line: int | None, *, named: Path | None = None) -> list[Any]:
    """Check the place of the one bad record of a file, and return what is read without it.

    Args:
        read: reads the file, and takes `on_error`.
        path: the file.
        line: of the record.
        named: the path that the message names, if it is another one.
    """
    with pytest.raises(InputError) as caught:
        list(read(path))
    assert (caught.value.path, caught.value.line) == (str(named or path), line)
    assert "; " in str(caught.value)  # what was expected, or what to do
    skip = Skip()
    records = list(read(path, on_error=skip))
    assert skip.count == 1
    return records


def written(form: str, *items: tuple[Document | None, Sequence[Prediction]], **layout: Any) -> str:
    """The text of a file of a format."""
    file = io.StringIO()
    write(form, items, file, Layout(**layout))
    return file.getvalue()
