"""Open files in place of paths, such as the upload of a service."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import weakref
from typing import IO, Any

from linker.errors import LinkerError

_BLOCK = 1 << 16  # bytes read at a time
_IN_MEMORY = 1 << 24  # bytes of a copy that are kept in memory; a longer one goes to disk


class OpenFile(os.PathLike[str]):
    """An open file that readers take wherever they take a path; messages call it by its name.

    Readers begin where the file stands, may read it several times, and leave it open. A text file,
    and a file that can be read only once (a socket, a pipe), is copied first, to a temporary file
    where it is long.

    Args:
        file: the open file.
        name: what messages call it; empty for the file's own name, or "upload" if it has none.

    Raises:
        LinkerError: the file can be read only once, and copying it fails.
    """

    def __init__(self, file: IO[bytes] | IO[str], name: str = "") -> None:
        self._name = name or _name(file)
        self._given: Any = file
        self._place: int | None = None
        # not of a pipe, nor of a text file within a loop over its lines
        with contextlib.suppress(AttributeError, OSError):
            place = self._given.tell()
            self._given.seek(place)
            self._place = place
        if self._place is not None and isinstance(self._given.read(0), bytes):
            self._file: Any = file
            self._start = self._place
        else:
            self._file, self._start = _copy(file, self._name), 0
            weakref.finalize(self, self._file.close)

    def __fspath__(self) -> str:
        return self._name

    __str__ = __fspath__

    def open(self) -> io.BufferedReader:
        """Open the bytes anew, from where the file stood at first."""
        return io.BufferedReader(_View(self._file, self._start, self), _BLOCK)

    def rewind(self) -> None:
        """Set the file that was given back to where it stood.

        Raises:
            LinkerError: it can be read only once.
        """
        if self._place is None:
            raise LinkerError(
                f"{self._name}: can be read only once; put it into an OpenFile and read that"
            )
        self._given.seek(self._place)


class _View(io.RawIOBase):
    """The bytes of a file from a place on; several views of one file may be read by turns."""

    def __init__(self, file: IO[bytes], place: int, owner: OpenFile) -> None:
        self._file, self._start, self._place = file, place, place
        self._owner = owner  # which would close its copy if nobody held it

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        starts = {os.SEEK_SET: self._start, os.SEEK_CUR: self._place}
        start = starts[whence] if whence in starts else self._file.seek(0, os.SEEK_END)
        self._place = start + offset
        return self._place - self._start

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._place)
        block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        self._place += len(block)
        return len(block)


def _name(file: IO[Any]) -> str:
    name = getattr(file, "name", None)  # a number for a file that was opened by its descriptor
    if name == "<stdin>":
        return "standard input"
    return name if isinstance(name, str) and name else "upload"


def _copy(file: Any, name: str) -> IO[bytes]:
    """What is left of a file, a text in UTF-8."""
    copy = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with its owner
    try:
        while block := file.read(_BLOCK):
            copy.write(block.encode("utf-8", "surrogatepass") if isinstance(block, str) else block)
    except OSError as error:
        copy.close()
        raise LinkerError(f"{name}: cannot be read: {error.strerror or error}") from None
    return copy
