"""Checksums of large files, remembered so that a file that stays the same is read only once.

What is remembered is that a file of this path, size, inode and times had this checksum. It stands
in the user's cache folder; where that cannot be read or written, all files are checked every time.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from linker import files
from linker.errors import LinkerError

LARGE = 16 << 20  # bytes; smaller files are checked every time
_SETTLED = 2_000_000_000  # ns; of a file that was changed just now a later change may not be seen
_MOST = 1000  # files that are remembered
_FIELDS = ("st_size", "st_ino", "st_mtime_ns", "st_ctime_ns")  # change with a file's content


def has_checksum(path: Path, expected: str, *, trust: bool) -> bool:
    """Whether a file has this SHA-256.

    Args:
        path: the file.
        expected: its SHA-256, in hexadecimal digits.
        trust: whether the checksum of a large file may be remembered instead of computed.
    """
    before = state(path)
    if before is None or before["st_size"] < LARGE:
        return files.sha256(path) == expected
    place = os.path.realpath(path)
    entry = {**before, "sha256": expected}
    if trust and _remembered().get(place) == entry:
        return True
    is_right = files.sha256(path) == expected
    age = time.time_ns() - max(before["st_mtime_ns"], before["st_ctime_ns"])
    is_kept = is_right and state(path) == before and age > _SETTLED
    entries = _remembered()
    was_known = entries.pop(place, None) is not None
    if is_kept:
        entries[place] = entry
    if is_kept or was_known:
        with contextlib.suppress(LinkerError, OSError), files.write_aside(_cache()) as file:
            json.dump({"files": dict(list(entries.items())[-_MOST:])}, file, indent=1)
    return is_right


def state(path: Path) -> dict[str, int] | None:
    """Numbers that change when a file or folder is changed or replaced; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return {field: getattr(status, field) for field in _FIELDS}


def _cache() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(folder):  # as the XDG specification has it
        folder = os.path.expanduser("~/.cache")
    return Path(folder) / "linker" / "verified.json"


def _remembered() -> dict[str, object]:
    """The entry of each file in the cache, by its path; none if the cache is damaged."""
    try:
        entries = json.loads(_cache().read_bytes())["files"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}
