"""pyarrow, which reads and writes Parquet; only then is it needed."""

from __future__ import annotations

from typing import Any

from linker.errors import LinkerError
from linker.files import Pathlike
from linker.version import install_hint


def libraries(path: Pathlike) -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet.

    Args:
        path: what needs them, for the message.

    Raises:
        LinkerError: they are not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        hint = install_hint("ray")
        raise LinkerError(
            f"{path}: Parquet needs pyarrow, which is not installed: {hint}"
        ) from None
    return pyarrow, pyarrow.parquet
