"""Replacing a file or folder by a finished new one, and removing what killed runs left.

The new one is written beside its target, as `.NAME.XXXXXXXX.tmp`, and is locked until its process
ends. Without a lock it was left by a killed run, and the next run that writes to the same target
removes it. Where the system can exchange two names, the target is replaced in one step. Elsewhere
the old folder is `.NAME.XXXXXXXX.old` between two renames, and whoever finds the target missing
puts it back.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing of killed runs is removed
    fcntl = None  # type: ignore[assignment]

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux
_DESCRIPTORS = Path("/proc/self/fd")  # Linux names what a process has open there
# a pipe of that name must not be waited for
_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextlib.contextmanager
def aside(path: Path, *, folder: bool) -> Iterator[Path]:
    """Make an empty file or folder beside `path`, locked, to be filled and given to `put`.

    What has its name at the end is removed: it, where `put` was not reached, else the old `path`.

    Args:
        path: what is to be replaced.
        folder: whether to make a folder.

    Raises:
        OSError: nothing can be made there.
    """
    clean(path)
    while True:
        new = _make(path, folder)
        with _locking(new, wait=True):
            if not new.exists():  # another run's `clean` came before the lock
                continue
            try:
                yield new
            finally:
                _remove(new)
            return


def _make(path: Path, folder: bool) -> Path:
    if folder:
        return Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(descriptor)
    return Path(name)


def put(new: Path, path: Path) -> None:
    """Give the file or folder `new` the name `path`.

    What had this name before has the name `new` afterwards, or is removed.

    Raises:
        OSError: it cannot be done; `path` is what it was.
    """
    if not path.is_dir():
        os.replace(new, path)
    elif not _exchange(new, path):
        while not _renamed(new, path):
            pass


def _renamed(new: Path, path: Path) -> bool:
    """Replace a folder by two renames.

    Returns:
        False where a reader put the old folder back between them, as happens without locks.
    """
    old = new.with_suffix(".old")
    with _locking(path, wait=True):
        os.replace(path, old)
        try:
            os.replace(new, path)
        except OSError:
            if old.exists():
                raise
            return False
        finally:  # also where Ctrl-C comes between the two
            if old.exists():
                os.replace(old, path if new.exists() else new)
    return True


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; False where the system or the file system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return False
    names = (_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second))
    return bool(rename(*names, _RENAME_EXCHANGE) == 0)


def clean(path: Path) -> None:
    """Remove what killed runs left beside `path`, or put it back where `path` is missing.

    What a running process writes is not touched.
    """
    for left in _leftovers(path, "tmp|old"):
        _clear(left, path)


def restore(path: Path) -> None:
    """Put a folder back that a killed run moved away and did not replace."""
    if not path.exists():
        for left in _leftovers(path, "old"):
            _clear(left, path)


def leftover_pattern(target: str, suffixes: str = "tmp|old") -> re.Pattern[str]:
    """Make the pattern of the names that a killed run can leave beside a target.

    Args:
        target: a regular expression of the target's name.
        suffixes: `tmp` for new files and folders, `old` for replaced ones, or both with a `|`.
    """
    return re.compile(rf"\.{target}\.[a-z0-9_]{{8}}\.({suffixes})")


def _leftovers(path: Path, suffixes: str) -> list[Path]:
    pattern = leftover_pattern(re.escape(path.name), suffixes)
    try:
        return [path.with_name(name) for name in os.listdir(path.parent) if pattern.fullmatch(name)]
    except OSError:  # the folder is not there, or cannot be listed
        return []


def _clear(left: Path, path: Path) -> None:
    """Remove a leftover, unless a process has locked it.

    An old folder gets its name back where `path` is missing.
    """
    with contextlib.suppress(OSError), _locking(left, wait=left.suffix == ".old") as is_locked:
        if left.suffix == ".old" and not path.exists():
            os.replace(left, path)
        elif is_locked:
            _remove(left)


@contextlib.contextmanager
def _locking(path: Path, *, wait: bool) -> Iterator[bool]:
    """Lock a file or folder for the time of a `with`.

    Args:
        path: the file or folder.
        wait: whether to wait until another process unlocks it.

    Yields:
        Whether it is locked: not where another process has locked it, where the system has no
        locks, or where there is no such file.
    """
    if fcntl is None:
        yield False
        return
    with contextlib.ExitStack() as stack:
        try:
            descriptor = os.open(path, _OPEN)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            is_locked = False
        else:
            is_locked = True
        yield is_locked


@contextlib.contextmanager
def pinned(folder: Path) -> Iterator[Path]:
    """Open a folder, so that it can be read to the end though another one takes its place.

    Yields:
        A name that stays that of the opened folder; on other systems than Linux, `folder`.

    Raises:
        OSError: it is not there, is no folder, or cannot be read.
    """
    if not _DESCRIPTORS.is_dir():
        yield folder
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield _DESCRIPTORS / str(descriptor)
    finally:
        os.close(descriptor)


def state(folder: Path) -> tuple[int, ...] | None:
    """Numbers that differ when another folder takes the place of this one; None without one."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
