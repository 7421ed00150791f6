"""What the tests of several readers need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from linker.errors import InputError, Skip

Read = Callable[..., Iterable[Any]]


def refused(read: Read, path: Path, message: str, *, named: Path | None = None) -> list[Any]:
    """Check what is said of the one bad record of a file, and return what is read without it.

    Args:
        read: reads the file, and takes `on_error`.
        path: the file.
        message: how the message goes on behind the path.
        named: the path that the message names, if it is another one.
    """
    with pytest.raises(InputError) as caught:
        list(read(path))
    assert f"{named or path}{message}" in str(caught.value)
    assert "; " in str(caught.value)  # what was expected, or what to do
    skip = Skip()
    records = list(read(path, on_error=skip))
    assert skip.count == 1
    return records
