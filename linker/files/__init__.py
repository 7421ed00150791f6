"""Opening, checking and safely replacing files. Every reader and writer goes through here."""

from __future__ import annotations

import codecs
import contextlib
import errno
import gzip
import hashlib
import io
import itertools
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO

from linker.errors import InputError, LinkerError, OnError, RecordError, needing, stop
from linker.files import replacing
from linker.files.streams import OpenFile as OpenFile

LINE_LIMIT = 100_000  # characters; a longer line of names or mentions is a damaged file, not data
LONG_LINE = 64_000_000  # bytes of a line that holds a whole document or object
WHOLE = 512_000_000  # bytes of a file that is read whole
_BLOCK = 1 << 16  # bytes read at a time where nothing is kept, or by which a format is known
_GZIP = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BINARY = {
    b"%PDF": "PDF",
    b"PK\x03\x04": "zip archive (or a spreadsheet or document made of one)",
    b"\xd0\xcf\x11\xe0": "workbook or document of the old Office (xls, doc)",
}
_OS_ERROR = re.compile(r"\(os error (\d+)\)")  # of safetensors and tokenizers, which are in Rust
_CUT_SHORT = re.compile(r"\d+ requested and \d+ written")  # of numpy, where a disk is full
_SAVE = (
    "save it as UTF-8 (Excel: as CSV UTF-8; an editor: Save as), "
    "or name its encoding, where the command has --encoding"
)

Pathlike = str | os.PathLike[str]
Readable = Pathlike | IO[bytes] | IO[str]


def as_path(file: Readable) -> Pathlike:
    """Return what stands for a file wherever a path is taken: its path, or an `OpenFile`."""
    return file if isinstance(file, str | os.PathLike) else OpenFile(file)


@contextlib.contextmanager
def peeking(file: Readable) -> Iterator[Pathlike]:
    """Look into a file before it is read: an open one is set back to where it stood.

    Raises:
        LinkerError: the open file can be read only once.
    """
    path = as_path(file)
    yield path
    if isinstance(path, OpenFile) and path is not file:
        path.rewind()


def is_folder(path: Pathlike) -> bool:
    """Whether a path is a folder, which standard input ("-") and open files never are."""
    return not isinstance(path, OpenFile) and str(path) != "-" and Path(path).is_dir()


def open_stored(path: Pathlike) -> io.BufferedReader:
    """Open the bytes of a file as stored; see `open_binary`, which unpacks them."""
    if isinstance(path, OpenFile):
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
    except FileNotFoundError:
        raise LinkerError(f"{path}: there is no such file; check the path") from None
    except OSError as error:
        named = "standard input" if str(path) == "-" else path
        raise LinkerError(f"{named}: cannot be read: {error.strerror}") from None
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


def too_large(what: str, limit: int) -> RecordError:
    """The error for a part of a file, named with its article, that has more bytes than `limit`."""
    problem = f"{what} has more than {limit // 1_000_000:,} MB"
    return RecordError(problem, remedy="check that the file is what it should be")


def check_whole(path: Pathlike, size: int) -> None:
    """Check the size of a file that is read whole, in bytes.

    Raises:
        InputError: it is longer than `WHOLE`.
    """
    if size > WHOLE:
        raise too_large("the file, which must be read whole,", WHOLE).at(path, None)


def read_lines(
    path: Pathlike,
    *,
    limit: int | None = LINE_LIMIT,
    on_error: OnError = stop,
    keep_ends: bool = False,
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file, plain or gzip, with or without a BOM.

    Args:
        path: the file, or "-" for standard input.
        limit: the most characters of a line; None for formats that hold a whole document in a line,
            which has at most `LONG_LINE` bytes.
        on_error: what to do with a line that has a NUL byte, is not UTF-8, or is too long; returns
            to skip it.
        keep_ends: whether the texts keep their line ends.

    Yields:
        The number of each line, from 1, and its text.

    Raises:
        InputError: the file is a PDF, an archive, UTF-16 or a broken gzip, it cannot be read, or
            a line is bad and `on_error` raises.
    """
    # a character takes at most four bytes
    size = LONG_LINE + 1 if limit is None else 4 * limit + 16
    with open_binary(path) as file:
        number = 0
        while True:
            with reading(path, number):
                raw = file.readline(size)
            if not raw:
                return
            number += 1
            is_cut = len(raw) == size
            if number == 1:
                raw = _checked_start(path, raw)
            try:
                text = _text(raw, limit, is_cut)
            except RecordError as bad:
                on_error(bad.at(path, number))
                with reading(path, number):
                    while raw and not raw.endswith(b"\n"):
                        raw = file.readline(_BLOCK)
            else:
                yield number, text if keep_ends else text.rstrip("\r\n")


def _text(raw: bytes, limit: int | None, is_cut: bool) -> str:
    """The text of a line with its end; `is_cut` where the line has more bytes than were read."""
    if is_cut and limit is None:
        raise too_large("the line", LONG_LINE)
    if b"\x00" in raw:
        problem = "the file is binary (it holds a NUL byte)"
        remedy = "give the text file itself, plain or gzip"
        raise RecordError(problem, expected="text", remedy=remedy)
    try:
        text, _ = codecs.utf_8_decode(raw, "strict", not is_cut)
    except UnicodeDecodeError as error:
        around = raw[max(0, error.start - 20) : error.end + 20].decode("latin-1")
        problem = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise RecordError(problem, around, expected="UTF-8", remedy=_SAVE) from None
    if limit is not None and len(text.rstrip("\r\n")) > limit:
        problem = f"the line has more than {limit:,} characters"
        remedy = "check its line ends and quotes"
        raise RecordError(problem, text, expected="one record a line", remedy=remedy)
    return text


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


def _checked_start(path: Pathlike, raw: bytes) -> bytes:
    """The first line without a byte order mark."""
    for sign, kind in _BINARY.items():
        if raw.startswith(sign):
            problem, remedy = (
                f"the file is a {kind}",
                "export it as text, or take the file out of it",
            )
            raise InputError(path, problem, line=1, expected="text", remedy=remedy)
    if raw.startswith(_UTF16):
        raise InputError(path, "the file is UTF-16", line=1, expected="UTF-8", remedy=_SAVE)
    return raw.removeprefix(codecs.BOM_UTF8)


def read_text(path: Pathlike) -> str:
    """The whole text of a UTF-8 file, checked as in `read_lines` and `check_whole`."""
    text = io.StringIO()
    for _, line in read_lines(path, limit=None):
        text.write(line + "\n")
        check_whole(path, text.tell())
    return text.getvalue().removesuffix("\n")


def parse_json(text: str) -> Any:
    """Parse JSON from outside.

    Raises:
        ValueError: it is not JSON, is nested too deeply, or holds half a surrogate pair.
    """
    try:
        value = json.loads(text)
        if "\\u" in text:  # an escape; in the text itself UTF-8 rules surrogates out
            check_unicode(value)
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


def head(
    path: Pathlike, lines: int = 200, *, limit: int | None = LINE_LIMIT, on_error: OnError = stop
) -> list[str]:
    """The first lines of a text file; see `read_lines`."""
    numbered = read_lines(path, limit=limit, on_error=on_error)
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


@contextlib.contextmanager
def writing(path: Pathlike) -> Iterator[None]:
    """Turn a failed write to `path` (full disk, no permission) into a message."""
    try:
        yield
    except (BrokenPipeError, LinkerError):
        raise
    except Exception as error:
        text = str(error)
        number: int | None
        if told := _OS_ERROR.search(text):
            number = int(told[1])
        elif isinstance(error, OSError):
            number = errno.ENOSPC if _CUT_SHORT.match(text) else error.errno
        else:
            raise
        reason = os.strerror(number) if number else text
        is_full = number in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        space = "free space or " if is_full else ""
        raise LinkerError(
            f"{path}: cannot be written: {reason}; {space}name another output with -o"
        ) from error


def text_form(encoding: str) -> dict[str, Any]:
    """The arguments of `open` for writing a text; see `write_aside`."""
    errors = "strict" if encoding == "utf-8" else "namereplace"
    return {"encoding": encoding, "errors": errors, "newline": "\n"}


@contextlib.contextmanager
def write_aside(path: Pathlike, encoding: str = "utf-8") -> Iterator[TextIO]:
    """Write a text file so that it is complete or, after a failure, what it was before.

    The text is written to a file beside `path`, which is renamed at the end. A name that ends in
    `.gz` compresses.

    Args:
        path: the file.
        encoding: of the text; what it cannot write it writes by name, such as
            `\\N{GREEK SMALL LETTER ALPHA}`.
    """
    with write_binary_aside(path) as raw:
        is_packed = Path(path).suffix == ".gz"
        under: Any = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if is_packed else raw
        text = io.TextIOWrapper(under, **text_form(encoding))
        try:
            yield text
        finally:
            text.detach()  # which writes what is left
        if is_packed:
            under.close()


@contextlib.contextmanager
def write_binary_aside(path: Pathlike) -> Iterator[BinaryIO]:
    """Write a file of bytes as `write_aside` writes texts; it may be read and written again."""
    named, path = path, Path(path)
    if path.is_dir():
        raise LinkerError(f"{named}: is a folder; name a file with -o")
    # /dev/null must not be replaced, /dev/fd/63 cannot be
    if path.exists() and not path.is_file():
        with writing(named), open(path, "wb") as device:
            yield device
        return
    path = path.resolve()  # a link stays, and its target is replaced
    with writing(named):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing.aside(path, folder=False) as new:
            with open(new, "w+b") as raw:
                yield raw
                if not raw.closed:
                    raw.flush()
                    os.fsync(raw.fileno())
            new.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())


@contextlib.contextmanager
def write_folder(path: Pathlike) -> Iterator[Path]:
    """Write a folder so that it is complete or, after a failure, what it was before.

    Yields:
        A temporary folder beside `path` to fill, which takes the place of `path` at the end.
    """
    named, path = path, Path(path).resolve()  # a link stays, and its target is replaced
    with writing(named):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing.aside(path, folder=True) as new:
            yield new
            mask = _umask()
            for file in (*new.rglob("*"), new):  # which libraries may have made private
                file.chmod((0o777 if file.is_dir() else 0o666) & ~mask)
                _sync(file)
        _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
