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
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, and nothing of killed runs is removed
    fcntl = None  # type: ignore[assignment]

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of Linux


@contextlib.contextmanager
def aside(path: Path, *, folder: bool) -> Iterator[Path]:
    """Yield an empty file or folder beside `path`, which takes its place at the end.

    It is removed after an exception, and `path` is what it was.

    Args:
        path: what is to be replaced.
        folder: whether to make a folder.

    Raises:
        OSError: nothing can be made there, or `path` cannot be replaced.
    """
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

    Where the system cannot do so in one step, `second` has another name between two of three.

    Raises:
        OSError: one is not there, or may not be renamed.
    """
    if _exchange(first, second):
        return
    old = second.with_name(f".{second.name}.{secrets.token_hex(4)}.old")
    with locking(second, wait=True):
        os.replace(second, old)
        try:
            os.replace(first, second)
        finally:  # also where Ctrl-C comes between the two
            os.replace(old, first if second.exists() else second)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; False where the system or the file system cannot."""
    rename = sys.platform == "linux" and getattr(ctypes.CDLL(None), "renameat2", None)
    if not rename:
        return False
    names = (_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second))
    return bool(rename(*names, _RENAME_EXCHANGE) == 0)


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

    Args:
        path: the file or folder.
        wait: whether to wait until another process unlocks it.

    Yields:
        Whether it is locked: not where another process has locked it, where the system has no
        locks, or where there is no such file.
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
        with contextlib.suppress(OSError):
            path.unlink()
