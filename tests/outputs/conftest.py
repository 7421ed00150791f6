"""What all tests of output formats need."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from linker.outputs import Layout, write
from linker.types import Document, Prediction


def written(form: str, *items: tuple[Document | None, Sequence[Prediction]], **layout: Any) -> str:
    """The text of a file of a format."""
    file = io.StringIO()
    write(form, items, file, Layout(**layout))
    return file.getvalue()
