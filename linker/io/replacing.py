"""The one way to put a file or a folder in place: complete, or after a failure what was before.

The new one is written beside its target, as `.NAME.XXXXXXXX.tmp`, and is locked until its process
ends. Without a lock it was left by a killed run, and the next run that writes to the same target
removes it. An old folder is `.NAME.XXXXXXXX.old` between two renames, and whoever finds the target
missing puts it back.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from linker.errors import LinkerError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing of killed runs is removed
    fcntl = None  # type: ignore[assignment]

_OS_ERROR = re.compile(r"\(os error (\d+)\)")  # of safetensors and tokenizers, which are in Rust
_CUT_SHORT = re.compile(r"\d+ requested and \d+ written")  # of numpy, where a disk is full


@contextlib.contextmanager
def writing(path: object) -> Iterator[None]:
    """Turn a failed write to `path` (full disk, no permission) into a message."""
    try:
        yield
    except (BrokenPipeError, LinkerError):
        raise
    except Exception as error:
        text = str(error)
        of_rust = _OS_ERROR.search(text)
        if not of_rust and not isinstance(error, OSError):
            raise
        number = int(of_rust[1]) if of_rust else getattr(error, "errno", None)
        number = errno.ENOSPC if _CUT_SHORT.match(text) else number
        reason = os.strerror(number) if number else text
        space = "free space or " if number in (errno.ENOSPC, errno.EDQUOT) else ""
        raise LinkerError(
            f"{path}: cannot be written: {reason}; {space}name another output with -o"
        ) from error


@contextlib.contextmanager
def write_aside(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Write a text file in UTF-8; a name that ends in `.gz` compresses."""
    with write_binary_aside(path) as raw:
        is_packed = Path(path).suffix == ".gz"
        under: Any = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if is_packed else raw
        text = io.TextIOWrapper(under, encoding="utf-8", newline="\n")
        try:
            yield text
        finally:
            text.detach()  # which writes what is left
        if is_packed:
            under.close()


@contextlib.contextmanager
def write_binary_aside(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file of bytes; it may be read and written again."""
    named, path = path, Path(path)
    if path.is_dir():
        raise LinkerError(f"{named}: is a folder; name a file with -o")
    # /dev/null must not be replaced, /dev/fd/63 cannot be
    if path.exists() and not path.is_file():
        with writing(named), open(path, "wb") as device:
            yield device
        return
    with writing(named), aside(path, folder=False) as new:
        with open(new, "w+b") as raw:
            yield raw
            if not raw.closed:
                raw.flush()
                os.fsync(raw.fileno())
        new.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())


@contextlib.contextmanager
def write_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary folder to fill, which takes the place of `path` at the end."""
    with writing(path):
        with aside(Path(path), folder=True) as new:
            yield new
            mask = _umask()
            for file in (*new.rglob("*"), new):  # which libraries may have made private
                file.chmod((0o777 if file.is_dir() else 0o666) & ~mask)
                _sync(file)
        _sync(Path(path).resolve().parent)


@contextlib.contextmanager
def aside(path: Path, *, folder: bool) -> Iterator[Path]:
    """Yield an empty file or folder beside `path`, which takes its place at the end.

    It is removed after an exception, and `path` is what it was. A link stays, and what it points to
    is replaced.

    Raises:
        OSError: nothing can be made there, or `path` cannot be replaced.
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    clean(path.parent, re.escape(path.name))
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    if folder:
        new.mkdir(mode=0o700)
    else:
        new.touch(mode=0o600, exist_ok=False)
    try:
        with locking(new, wait=True):
            yield new
            if path.is_dir():
                exchange(new, path)
            else:
                os.replace(new, path)
    finally:
        _remove(new)  # after an exchange of names, the old one


def exchange(first: Path, second: Path) -> None:
    """Exchange the names of two folders that stand beside each other.

    Raises:
        OSError: one is not there, or may not be renamed.
    """
    old = second.with_name(f".{second.name}.{secrets.token_hex(4)}.old")
    with locking(second, wait=True):
        os.replace(second, old)
        try:
            os.replace(first, second)
        finally:  # also where Ctrl-C comes between the two
            os.replace(old, first if second.exists() else second)


def clean(folder: Path, targets: str) -> None:
    """Remove what killed runs left, or put it back where it is an old folder without a new one.

    What a running process writes is not touched.

    Args:
        folder: where they wrote.
        targets: a regular expression of the names of what they wrote.
    """
    for left, path in _leftovers(folder, targets):
        restore(path)
        with locking(left, wait=False) as is_locked:
            if is_locked:
                _remove(left)


def restore(path: Path) -> None:
    """Put a folder back that a killed run moved away and did not replace."""
    if path.exists():
        return
    for left, _ in _leftovers(path.parent, re.escape(path.name)):
        if left.suffix == ".old":
            with contextlib.suppress(OSError), locking(left, wait=True):
                if not path.exists():
                    os.replace(left, path)


def _leftovers(folder: Path, targets: str) -> list[tuple[Path, Path]]:
    """What is named as temporary files and folders are, and what each was to become or had been."""
    try:
        names = os.listdir(folder)
    except OSError:  # the folder is not there, or cannot be listed
        return []
    matches = (re.fullmatch(rf"\.({targets})\.[a-z0-9_]{{8}}\.(tmp|old)", name) for name in names)
    return [(folder / match[0], folder / match[1]) for match in matches if match]


@contextlib.contextmanager
def locking(path: Path, *, wait: bool) -> Iterator[bool]:
    """Lock a file or folder for the time of a `with`.

    Yields:
        Whether it is locked: not where another process has locked it and `wait` is false, where the
        system has no locks, or where there is no such file.
    """
    is_locked = False
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(OSError):
                # a pipe of that name must not be waited for
                descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                is_locked = True
        yield is_locked


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


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
