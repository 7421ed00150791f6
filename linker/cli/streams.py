"""The standard streams of a command, where one is closed or its reader leaves.

A descriptor that is closed would be that of the next file to be opened, into which messages would
be written. So it is opened first, as the GNU tools do: standard input and output in a way that
using them fails, standard error so that messages go nowhere.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

_UNREAD = 141  # what shells say of a program that wrote to a pipe which nobody reads


def prepare() -> None:
    """Replace the standard streams; called before anything is opened or written."""
    _open_if_closed(0, os.O_WRONLY)
    _open_if_closed(1, os.O_RDONLY)
    _open_if_closed(2, os.O_WRONLY)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process
    output = _Output(1)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(output),
        encoding="utf-8",  # whatever the locale
        newline="\n",
        line_buffering=output.isatty(),
    )
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_Messages(2)),
        encoding="utf-8",
        errors="backslashreplace",
        newline="\n",
        line_buffering=True,
    )


def _open_if_closed(descriptor: int, flags: int) -> None:
    """Open a descriptor for nothing, unless it is open; those below it are."""
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, flags)  # gives the lowest one that is free
        os.set_inheritable(descriptor, True)


class _Standard(io.RawIOBase):
    """The bytes of a standard stream, as Python opens them for this system."""

    def __init__(self, descriptor: int) -> None:
        self._raw = open(descriptor, "wb", buffering=0, closefd=False)  # noqa: SIM115

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()

    def write(self, content: Any, /) -> int | None:
        return self._raw.write(content)


class _Output(_Standard):
    """Standard output; the command ends when nobody reads it."""

    def write(self, content: Any, /) -> int | None:
        """Write bytes.

        Raises:
            SystemExit: the reader has left.
            OSError: they cannot be written; what is left in buffers goes nowhere.
        """
        try:
            return super().write(content)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if isinstance(error, BrokenPipeError):
                raise SystemExit(_UNREAD) from None
            raise


class _Messages(_Standard):
    """Standard error; a message that nobody can read is no failure of the work."""

    def write(self, content: Any, /) -> int | None:
        try:
            return super().write(content)
        except OSError:
            return len(content)
