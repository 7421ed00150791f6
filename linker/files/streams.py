"""Open files in place of paths, such as the upload of a service."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import weakref
from typing import IO, Any

from linker.errors import LinkerError

_BLOCK = 1 << 16  # bytes read at a time
_IN_MEMORY = 1 << 24  # bytes of a copy that are kept in memory; a longer one goes to disk
_PLAIN = 1 << 64  # places of a text file below it are bytes; others hold the decoder's state too


class OpenFile(os.PathLike[str]):
    """An open file that readers take wherever they take a path; messages call it by its name.

    Readers begin where the file stands, may read it several times, and leave it open. A file that
    can be read only once (a socket, a pipe) is copied first, to a temporary file where it is long.

    Args:
        file: the open file; of a text file the bytes under it are read, and must be UTF-8.
        name: what messages call it; empty for the file's own name, or "upload" if it has none.

    Raises:
        LinkerError: the file can be read only once, and copying it fails.
    """

    def __init__(self, file: IO[bytes] | IO[str], name: str = "") -> None:
        self._name = name or _name(file)
        self._is_copy = False
        try:
            self._file: Any = _bytes_of(file)
            self._start = self._file.tell()
            self._file.seek(self._start)
        except (AttributeError, OSError):
            self._file, self._start = _copy(file, self._name), 0
            weakref.finalize(self, self._file.close)
            self._is_copy = True

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
        if self._is_copy:
            raise LinkerError(
                f"{self._name}: can be read only once; put it into an OpenFile and read that"
            )
        self._file.seek(self._start)


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


def _bytes_of(file: Any) -> Any:
    """The bytes from where a file stands, which of a text is not where its read-ahead stands.

    Raises:
        OSError: a text does not tell where it stands, as a pipe or within a loop over its lines.
    """
    has_bytes = hasattr(file, "buffer")
    if not has_bytes and not isinstance(file.read(0), str):
        return file
    place = file.tell()
    if has_bytes and place < _PLAIN:
        file.seek(place)
        return file.buffer
    rest = _encoded(file)
    file.seek(place)
    return rest


def _encoded(file: IO[str]) -> io.BytesIO:
    return io.BytesIO(file.read().encode("utf-8", "surrogatepass"))


def _copy(file: Any, name: str) -> IO[bytes]:
    if hasattr(file, "buffer"):
        file = _encoded(file) if file.seekable() else file.buffer
    copy = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with its owner
    try:
        shutil.copyfileobj(file, copy, _BLOCK)
    except OSError as error:
        copy.close()
        raise LinkerError(f"{name}: cannot be read: {error.strerror or error}") from None
    return copy
