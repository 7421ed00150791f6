"""Opening and checking files. Every reader goes through here; `replacing` puts files in place."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import io
import itertools
import json
import os
import tempfile
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

from linker.errors import InputError, LinkerError, OnError, RecordError, needing, stop
from linker.io.replacing import write_aside as write_aside
from linker.io.replacing import write_binary_aside as write_binary_aside
from linker.io.replacing import write_folder as write_folder
from linker.io.replacing import writing as writing

# the limits of all that is read from outside, by which damaged and hostile files are known
LONG_LINE = 64_000_000  # bytes of a line, which may hold a whole document or object
WHOLE = 512_000_000  # bytes of a file that is read whole
MENTION_LIMIT = 1_000  # characters; a longer "name" is a paragraph or a damaged line
NAME_LIMIT = 5_000  # characters; the longest name of the UMLS has about 3,000
MOST_CELLS = 10_000_000  # rows by columns of a sheet
UTF8 = "utf-8"
_BLOCK = 1 << 16  # bytes read at a time where nothing is kept, or by which a format is known
IN_MEMORY = 1 << 20  # bytes of a temporary file that stays in memory
_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SAVE = (
    "save it as UTF-8 (Excel: as CSV UTF-8; an editor: Save as), or name its encoding, "
    "such as windows-1252, where the command has --encoding"
)

Pathlike = str | os.PathLike[str]
Readable = Pathlike | IO[bytes] | IO[str]
Line = tuple[int, str]
"""The number of a line, from 1, and its text."""


class OpenFile(os.PathLike[str]):
    """An open file that readers take wherever they take a path; messages call it by its name.

    What is left of it is held in memory, so that readers may read it several times.

    Args:
        file: the open file.
        name: what messages call it; empty for the file's own name, or "upload" if it has none.

    Raises:
        LinkerError: it cannot be read.
    """

    def __init__(self, file: IO[bytes] | IO[str], name: str = "") -> None:
        known = getattr(file, "name", None)  # a number for a file that was opened by its descriptor
        self._name = name or (known if isinstance(known, str) and known else "upload")
        try:
            content = file.read()
        except OSError as error:
            raise LinkerError(f"{self}: cannot be read: {error.strerror or error}") from None
        if isinstance(content, str):
            content = content.encode(UTF8, "surrogatepass")
        self._content = content

    def __fspath__(self) -> str:
        return "standard input" if self._name == "<stdin>" else self._name

    __str__ = __fspath__

    def open(self) -> io.BufferedReader:
        """Open the bytes anew."""
        return io.BufferedReader(io.BytesIO(self._content), _BLOCK)


class SpooledFile(OpenFile):
    """A temporary file that readers take as an `OpenFile`; a large one is on the disk.

    Several readers, of several threads, may read it at once.

    Args:
        file: it, complete; it is closed with this object.
        name: what messages call it.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._name = name
        self.spool = file
        self.lock = threading.Lock()
        weakref.finalize(self, file.close)

    def open(self) -> io.BufferedReader:
        return io.BufferedReader(_SpoolReader(self), _BLOCK)


class _SpoolReader(io.RawIOBase):
    """A reader of a spooled file, with a place of its own in it."""

    def __init__(self, file: SpooledFile) -> None:
        self._file = file
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._file.lock:
            self._file.spool.seek(self._place)
            block = self._file.spool.read(len(buffer))
        buffer[: len(block)] = block
        self._place += len(block)
        return len(block)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._place
        with self._file.lock:
            start = io.SEEK_END if whence == io.SEEK_END else io.SEEK_SET
            self._file.spool.seek(offset, start)
            self._place = self._file.spool.tell()
        return self._place

    def tell(self) -> int:
        return self._place


class WatchedFile(os.PathLike[str]):
    """The path of a plain file, for readers, that tells how much of it was read.

    Args:
        path: the file.
        report: is called with the share that was taken, from 0 to 1, before each block is read.
    """

    def __init__(
        self, path: Pathlike, report: Callable[[float], None] = lambda share: None
    ) -> None:
        self._path = os.fspath(path)
        self.report = report
        self._size = max(1, os.path.getsize(self._path))
        self._file: io.BufferedReader | None = None  # of the last reader

    def __fspath__(self) -> str:
        return self._path

    __str__ = __fspath__

    def open(self) -> io.BufferedReader:
        """Open the file, and watch who reads it, unless somebody who is watched still does."""
        file: io.BufferedReader = io.BufferedReader(_WatchedReader(self), _BLOCK)
        if self._file is None or self._file.closed:
            self._file = file
        return file

    @property
    def share(self) -> float:
        """The share of the bytes that were taken, from 0 to 1."""
        if self._file is None:
            return 0.0
        return 1.0 if self._file.closed else self.share_at(self._file.tell())

    def share_at(self, place: int) -> float:
        """The share of the bytes before a place in the file."""
        return min(1.0, place / self._size)


class _WatchedReader(io.FileIO):
    """Reads a watched file."""

    def __init__(self, file: WatchedFile) -> None:
        super().__init__(os.fspath(file))
        self._file = file

    def readinto(self, buffer: Any) -> int | None:
        self._file.report(self._file.share_at(self.tell()))
        return super().readinto(buffer)


def watched(path: Pathlike, report: Callable[[float], None] = lambda share: None) -> Pathlike:
    """The path as a `WatchedFile`, where it is that of a plain file; else as it is."""
    is_given = isinstance(path, OpenFile) or str(path) == "-"
    is_plain = not is_given and Path(path).is_file()
    return WatchedFile(path, report) if is_plain else path


def temporary() -> IO[bytes]:
    """A temporary file of no name, in memory as long as it is small."""
    return tempfile.SpooledTemporaryFile(IN_MEMORY)


def as_path(file: Readable) -> Pathlike:
    """Return what stands for a file wherever a path is taken: its path, or an `OpenFile`."""
    return file if isinstance(file, str | os.PathLike) else OpenFile(file)


@contextlib.contextmanager
def peeking(file: Readable) -> Iterator[Pathlike]:
    """Look into a file before it is read: an open one is set back to where it stood.

    Raises:
        LinkerError: the open file can be read only once.
    """
    if isinstance(file, str | os.PathLike):
        yield file
        return
    try:
        place = file.tell()
        file.seek(place)
    except (AttributeError, OSError):
        problem = "can be read only once; put it into an OpenFile and read that"
        raise LinkerError(f"{getattr(file, 'name', 'upload')}: {problem}") from None
    yield OpenFile(file)
    file.seek(place)


def is_folder(path: Pathlike) -> bool:
    """Whether a path is a folder, which standard input ("-") and open files never are."""
    return not isinstance(path, OpenFile) and str(path) != "-" and Path(path).is_dir()


def can_reopen(path: Pathlike) -> bool:
    """Whether a file can be looked at and read again, as a pipe cannot."""
    return isinstance(path, OpenFile) or Path(path).is_file()


def open_stored(path: Pathlike) -> io.BufferedReader:
    """Open the bytes of a file as stored; see `open_binary`, which unpacks them."""
    if isinstance(path, OpenFile | WatchedFile):
        return path.open()
    return os.fdopen(os.dup(0), "rb") if str(path) == "-" else open(path, "rb")


def open_binary(path: Pathlike) -> io.BufferedReader:
    """Open a file for reading bytes, plain or gzip, which is recognised by the content.

    Args:
        path: the file, or "-" for standard input.

    Raises:
        LinkerError: the file is absent, a folder, or not readable.
    """
    try:
        file = open_stored(path)
    except OSError as error:
        named = "standard input" if str(path) == "-" else path
        is_absent = isinstance(error, FileNotFoundError)
        why = "there is no such file" if is_absent else f"cannot be read: {error.strerror}"
        raise LinkerError(f"{named}: {why}; check the path") from None
    try:
        with reading(path):
            has_sign = file.peek(2)[:2] == _GZIP
    except InputError:
        file.close()
        raise
    return io.BufferedReader(_ClosingGzip(file)) if has_sign else file


def is_packed(path: Pathlike) -> bool:
    """Whether a file is packed by gzip."""
    with open(path, "rb") as file:
        return file.read(2) == _GZIP


class _ClosingGzip(gzip.GzipFile):
    """A gzip stream that closes the file under it."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file)
        self._under = file

    def close(self) -> None:
        super().close()
        self._under.close()


@contextlib.contextmanager
def reading(path: Pathlike, line: int | None = None) -> Iterator[None]:
    """Turn a failed read into a message: broken gzip data, or what the system says.

    Args:
        path: the file.
        line: the last line that was read, where lines are read.
    """
    where = "" if line is None else f" after line {line}"
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            path, f"the gzip data is broken{where} ({error})", remedy="fetch the file again"
        ) from None
    except OSError as error:
        raise InputError(path, f"cannot be read{where}: {error.strerror or error}") from None


def check_size(path: Pathlike, size: int, limit: int = 0, what: str = "the file") -> None:
    """Check the size in bytes of a file that is read whole, or of a part of one.

    Raises:
        InputError: it is longer than `limit`, or `WHOLE`.
    """
    limit = limit or WHOLE
    if size > limit:
        problem = f"{what}, which must be read whole, has more than {limit // 1_000_000:,} MB"
        raise InputError(path, problem, remedy="check that the file is what it should be")


def read_lines(
    path: Pathlike, *, on_error: OnError = stop, keep_ends: bool = False
) -> Iterator[Line]:
    """Yield the lines of a UTF-8 file, plain or gzip, with or without a BOM.

    Args:
        path: the file, or "-" for standard input.
        on_error: what to do with a line that has a NUL byte, is not UTF-8, or has more than
            `LONG_LINE` bytes; returns to skip it.
        keep_ends: whether the texts keep their line ends.

    Raises:
        InputError: it is a broken gzip or cannot be read, or a line is bad and `on_error` raises.
    """
    with open_binary(path) as file:
        for number in itertools.count(1):
            with reading(path, number - 1):
                raw = file.readline(LONG_LINE + 1)
            if not raw:
                return
            try:
                text = _text(raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw)
            except RecordError as bad:
                on_error(bad.at(path, number))
                with reading(path, number):
                    while raw and not raw.endswith(b"\n"):
                        raw = file.readline(_BLOCK)
            else:
                yield number, text if keep_ends else text.rstrip("\r\n")


def _text(raw: bytes) -> str:
    """The text of a line with its end."""
    if len(raw) > LONG_LINE:
        raise RecordError(f"the line has more than {LONG_LINE:,} bytes", remedy="check its ends")
    if b"\x00" in raw:
        raise RecordError("a NUL byte is no text", expected="a text in UTF-8", remedy=_SAVE)
    try:
        return raw.decode(UTF8)
    except UnicodeDecodeError as error:
        around = raw[max(0, error.start - 20) : error.end + 20].decode("latin-1")
        problem = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise RecordError(problem, around, expected="a text in UTF-8", remedy=_SAVE) from None


def read_text(path: Pathlike, *, keep_ends: bool = False) -> str:
    """The whole text of a UTF-8 file, checked as in `read_lines` and `check_size`."""
    text = io.StringIO()
    for _, line in read_lines(path, keep_ends=keep_ends):
        text.write(line if keep_ends else line + "\n")
        check_size(path, text.tell())
    return text.getvalue() if keep_ends else text.getvalue().removesuffix("\n")


def as_utf8(path: Pathlike, encoding: str | None = None) -> tuple[Pathlike, str]:
    """A text file as UTF-8, and the name of the encoding that it is in.

    Args:
        path: the file, plain or gzip, or "-" for standard input.
        encoding: its encoding; None: UTF-8, or UTF-16 by its mark, which pipes cannot show.

    Returns:
        The path itself where the file is UTF-8; else its text with a byte order mark, by which a
        table that is written of it keeps its letters in spreadsheets.

    Raises:
        InputError: no encoding has this name, or the text is not in it.
    """
    encoding, start = encoding or UTF8, b""
    if can_reopen(path):
        with open_binary(path) as file, reading(path):
            start = file.peek(3)[:3]
    if start == codecs.BOM_UTF8:  # whatever is named: tables are written back so
        encoding = UTF8
    elif encoding == UTF8 and start[:2] in _UTF16:
        encoding = "utf-16"
    try:
        if codecs.lookup(encoding).name in (UTF8, "utf-8-sig"):
            return path, UTF8
        return _recoded(path, encoding), encoding
    except (LookupError, ValueError) as error:
        problem = f"cannot be read as {encoding} ({error})"
        remedy = "name its encoding, such as windows-1252 or utf-16, with --encoding"
        raise InputError(path, problem, remedy=remedy) from None


def _recoded(path: Pathlike, encoding: str) -> SpooledFile:
    """A text file as UTF-8 with a byte order mark; a block of it is in memory at a time.

    Raises:
        LookupError, ValueError: no encoding of texts has this name, or the text is not in it.
    """
    recoded = SpooledFile(temporary(), str(path))
    recoded.spool.write(codecs.BOM_UTF8)
    with open_binary(path) as file, reading(path):
        text = io.TextIOWrapper(file, encoding, newline="")
        block = text.read(_BLOCK).removeprefix("\ufeff")
        while block:
            recoded.spool.write(block.encode(UTF8, "surrogatepass"))
            block = text.read(_BLOCK)
    return recoded


def parse_json(text: str | bytes) -> Any:
    """Parse JSON from outside.

    Raises:
        ValueError: it is not JSON, is nested too deeply, or holds half a surrogate pair.
    """
    try:
        value = json.loads(text)
        if (b"\\u" if isinstance(text, bytes) else "\\u") in text:  # type: ignore[operator]
            check_unicode(value)  # of escapes; in the text itself UTF-8 rules surrogates out
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def check_unicode(value: Any) -> None:
    """Check an object of JSON.

    Raises:
        ValueError: a text in it holds half a surrogate pair, which no UTF-8 file can take.
    """
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a surrogate pair, which is no Unicode text") from None


def head(path: Pathlike, lines: int = 200, *, on_error: OnError = stop) -> list[str]:
    """The first lines of a text file; see `read_lines`."""
    numbered = read_lines(path, on_error=on_error)
    return [text for _, text in itertools.islice(numbered, lines)]


def start_of(path: Pathlike) -> str:
    """What a file begins with, as far as it is text: by this formats are recognised."""
    with open_binary(path) as file, reading(path):
        return file.read(_BLOCK).decode("utf-8-sig", "replace")


def sha256(path: Pathlike) -> str:
    """Hexadecimal SHA-256 of a file's bytes as stored."""
    with open_stored(path) as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fingerprint(path: Pathlike) -> str:
    """The SHA-256 of a file, or one for the names and checksums of the files below a folder."""
    if not Path(path).is_dir():
        return sha256(path)
    members = sorted(file for file in Path(path).rglob("*") if file.is_file())
    names = (file.relative_to(path).as_posix() for file in members)
    listed = "".join(f"{name} {sha256(file)}\n" for name, file in zip(names, members, strict=True))
    return hashlib.sha256(listed.encode()).hexdigest()


def pyarrow_for(path: object) -> tuple[Any, Any]:
    """The modules pyarrow and pyarrow.parquet, which read and write Parquet.

    Args:
        path: what needs them, for the message.

    Raises:
        LinkerError: they are not installed.
    """
    with needing(f"{path}: Parquet", "ray"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet
