"""Opening, checking and safely replacing files. Every reader and writer goes through here."""

from __future__ import annotations

import contextlib
import errno
import gzip
import hashlib
import io
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, TextIO, cast

from linker.errors import InputError, LinkerError

LINE_LIMIT = 100_000  # characters; a longer line of names or mentions is a damaged file, not data
_GZIP = b"\x1f\x8b"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BINARY = {b"%PDF": "PDF", b"PK\x03\x04": "zip archive (or a spreadsheet or document made of one)"}
_BOM = b"\xef\xbb\xbf"

Pathlike = str | os.PathLike[str]


def open_binary(path: Pathlike) -> BinaryIO:
    """Open a plain or gzip file (told by content, not by name) for reading bytes; "-" is standard input.

    Raises:
        LinkerError: the file is absent, a folder, or not readable.
    """
    try:
        file = os.fdopen(os.dup(0), "rb") if str(path) == "-" else open(path, "rb")  # noqa: SIM115 - closed by the caller
        is_packed = file.peek(2)[:2] == _GZIP
    except FileNotFoundError:
        raise LinkerError(f"{path}: there is no such file; check the path") from None
    except OSError as error:
        named = "standard input" if str(path) == "-" else path
        raise LinkerError(f"{named}: cannot be read: {error.strerror}") from None
    if is_packed:
        return cast(BinaryIO, io.BufferedReader(_ClosingGzip(file)))
    return file


class _ClosingGzip(gzip.GzipFile):
    """A gzip stream that closes the file under it."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file)
        self._under = file

    def close(self) -> None:
        super().close()
        self._under.close()


def read_lines(path: Pathlike, *, limit: int | None = LINE_LIMIT) -> Iterator[tuple[int, str]]:
    """Yield (1-based number, text without its line end) of a UTF-8 file, plain or gzip, with or without a BOM.

    Args:
        path: the file, or "-" for standard input.
        limit: longest line in characters; None for formats that hold a whole document in a line.

    Raises:
        InputError: the file is binary, UTF-16, not UTF-8, a broken gzip, or has a line beyond the limit.
    """
    with open_binary(path) as file:
        number = 0
        size = -1 if limit is None else 4 * limit + 16  # a character takes at most four bytes
        while True:
            with unpacking(path, number):
                raw = file.readline(size)
            if not raw:
                return
            number += 1
            if len(raw) == size:
                raw = _without_last_character(raw)
            if number == 1:
                raw = _checked_start(path, raw)
            text = _decode(path, number, raw).rstrip("\r\n")
            if limit is not None and len(text) > limit:
                raise InputError(
                    path,
                    f"the line has more than {limit:,} characters",
                    line=number,
                    value=text,
                    expected="one record a line",
                    remedy="check its line ends and quotes",
                )
            yield number, text


def _without_last_character(raw: bytes) -> bytes:
    """Shorten a line that was cut at a number of bytes, which may have halved its last character."""
    length = next((n for n in range(1, 5) if raw[-n] & 0xC0 != 0x80), 0)
    return raw[: len(raw) - length]


@contextlib.contextmanager
def unpacking(path: Pathlike, line: int | None = None) -> Iterator[None]:
    """Turn damaged gzip data, met behind `line`, into a message."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        where = "" if line is None else f" after line {line}"
        raise InputError(path, f"the gzip data is broken{where} ({error})", remedy="fetch the file again") from None


def _checked_start(path: Pathlike, raw: bytes) -> bytes:
    kind = next((name for sign, name in _BINARY.items() if raw.startswith(sign)), None)
    if kind:
        raise InputError(path, f"the file is a {kind}", line=1, expected="text", remedy="export it as text, or take the file out of it")
    if raw.startswith(_UTF16):
        remedy = "convert it: iconv -f UTF-16 -t UTF-8"
        raise InputError(path, "the file is UTF-16", line=1, expected="UTF-8", remedy=remedy)
    return raw.removeprefix(_BOM)


def _decode(path: Pathlike, number: int, raw: bytes) -> str:
    if b"\x00" in raw:
        remedy = "give the text file itself, plain or gzip"
        raise InputError(path, "the file is binary (it holds a NUL byte)", line=number, expected="text", remedy=remedy)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        around = raw[max(0, error.start - 20) : error.end + 20].decode("latin-1")
        raise InputError(
            path,
            f"byte 0x{raw[error.start]:02x} is not UTF-8",
            line=number,
            value=around,
            expected="UTF-8",
            remedy="convert it: iconv -f LATIN1 -t UTF-8",
        ) from None


def read_text(path: Pathlike) -> str:
    """The whole text of a UTF-8 file, checked as in `read_lines`."""
    return "\n".join(text for _, text in read_lines(path, limit=None))


def head(path: Pathlike, lines: int = 200, *, limit: int | None = LINE_LIMIT) -> list[str]:
    """The first lines of a text file, for recognising its format; `limit` as in `read_lines`."""
    return [text for _, (_, text) in zip(range(lines), read_lines(path, limit=limit), strict=False)]


def sha256(path: Pathlike) -> str:
    """Hexadecimal SHA-256 of a file's bytes as stored."""
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def sha256_of_folder(path: Pathlike) -> str:
    """One SHA-256 for the names and checksums of a folder's files."""
    members = sorted(file for file in Path(path).iterdir() if file.is_file())
    return hashlib.sha256("".join(f"{file.name} {sha256(file)}\n" for file in members).encode()).hexdigest()


@contextlib.contextmanager
def utf8_path(folder: Path) -> Iterator[Path]:
    """A path of a folder that libraries can take which know no other names than UTF-8 (safetensors, tokenizers)."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            yield Path(f"/proc/self/fd/{descriptor}")  # where there is no /proc, there are no such names
        finally:
            os.close(descriptor)
    else:
        yield folder


@contextlib.contextmanager
def writing(path: Pathlike) -> Iterator[None]:
    """Turn a failed write under `path` (full disk, no permission) into a message; what stood there is untouched."""
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        reason = error.strerror or str(error)
        space = "free space or " if error.errno in (None, errno.ENOSPC, errno.EFBIG, errno.EDQUOT) else ""  # None: a short write
        raise LinkerError(f"{path}: cannot be written: {reason}; {space}name another output with -o") from error


@contextlib.contextmanager
def write_aside(path: Pathlike) -> Iterator[TextIO]:
    """Write UTF-8 text beside `path` and rename it at the end, so that a killed run leaves the old file; `.gz` compresses."""
    named, path = path, Path(path)
    if path.is_dir():
        raise LinkerError(f"{named}: is a folder; name a file with -o")
    if path.exists() and not path.is_file():  # a device or pipe: /dev/null must not be replaced, and /dev/fd/63 has no other path
        with writing(named), open(path, "w", encoding="utf-8", newline="\n") as text:
            yield text
        return
    path = path.resolve()  # a link stays, and its target is replaced
    with writing(named):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with writing(named), os.fdopen(handle, "wb") as raw:
            packed = cast(IO[bytes], gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else raw)
            with io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text:
                yield text
                text.flush()
                if packed is not raw:
                    packed.close()
                raw.flush()
                os.fsync(raw.fileno())
            os.chmod(name, 0o666 & ~_umask())
            os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


@contextlib.contextmanager
def write_folder(path: Pathlike) -> Iterator[Path]:
    """Fill a temporary folder beside `path`, sync it, and put it in place at the end, instead of one that stands there."""
    named, path = path, Path(path).resolve()  # a link stays, and its target is replaced
    with writing(named):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        with writing(named):
            yield aside
            mask = _umask()
            for file in (*aside.rglob("*"), aside):  # libraries write some with rights of their own
                file.chmod((0o777 if file.is_dir() else 0o666) & ~mask)
                _sync(file)
            _swap(aside, path)
            _sync(path.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _swap(new: Path, path: Path) -> None:
    """Rename `new` to `path`; a folder that stood there is moved out of the way first and removed afterwards."""
    if not path.exists():
        os.replace(new, path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
    try:
        os.replace(path, old / path.name)
        os.replace(new, path)
    finally:  # also where Ctrl-C comes between the two
        if not path.exists() and (old / path.name).exists():
            os.replace(old / path.name, path)
        shutil.rmtree(old, ignore_errors=True)


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
