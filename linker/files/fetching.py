"""Fetching files of the web into a cache, each with a record beside it by which it is verified.

A download that breaks off is kept beside its target, and goes on from there where the server says
that the file is still the same. One process at a time fetches into a folder.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from linker import files
from linker.errors import LinkerError
from linker.files import replacing, verified

logger = logging.getLogger(__name__)

_BLOCK = 1 << 16  # bytes written at a time
_WAIT = 30  # seconds for the next bytes of a server
_BEGUN = re.compile("([0-9]+) (.+)")  # beside a part: the bytes of the whole file, and its state


@dataclass(frozen=True, slots=True)
class Fetched:
    """The record of a file that was fetched."""

    address: str
    sha256: str  # of the file as it is kept
    size: int  # bytes
    date: str  # of fetching, ISO 8601, UTC
    release: str  # that the file states
    etag: str  # what the server calls this state of the file
    last_modified: str


@dataclass(frozen=True, slots=True)
class Download:
    """A file to fetch.

    Args:
        address: where it is.
        path: where it goes; a folder of its own.
        packed: whether it is the file of this name in a zip archive.
        remedy: what to do where it cannot be fetched.
        release: tells the release that the file states; raises LinkerError for a wrong file.
        title: what is said of it, with its size, before it comes.
    """

    address: str
    path: Path
    packed: bool
    remedy: str
    release: Callable[[Path], str]
    title: str

    def beside(self, suffix: str) -> Path:
        """A file that is kept beside it."""
        return self.path.with_name(f"{self.path.name}.{suffix}")


def cache() -> Path:
    """The folder of the cache: $LINKER_CACHE, else that of this system."""
    import pooch

    return Path(os.environ.get("LINKER_CACHE") or pooch.os_cache("linker"))


def record(path: Path) -> Fetched | None:
    """The record of a file in the cache; None where the file or its record is not there."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        if path.is_file():
            return Fetched(**json.loads(path.with_name(f"{path.name}.json").read_bytes()))
    return None


def is_intact(path: Path, fetched: Fetched) -> bool:
    """Whether a file is still what was fetched."""
    return verified.has_checksum(path, fetched.sha256, trust=True)


def fetch(wanted: Download, *, progress: bool = False) -> tuple[Fetched | None, Fetched]:
    """Fetch a file, unless the server says that the one in the cache is still the same.

    Args:
        wanted: the file.
        progress: whether to show a bar.

    Returns:
        The records of the file that was there, if it was intact, and of the one that is there now.

    Raises:
        LinkerError: the file cannot be fetched or written, or is not what it should be.
    """
    path = wanted.path
    with files.writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing.locking(path.parent, wait=True):
            before = record(path)
            if before and (before.address != wanted.address or not is_intact(path, before)):
                before = None
            headers = _download(wanted, before, progress)
            return before, before if before and not headers else _keep(wanted, headers)


def _download(wanted: Download, before: Fetched | None, progress: bool) -> Mapping[str, str]:
    """Get a file, or what is missing of it; the headers, or none where it is still as `before`."""
    import requests
    from urllib3.exceptions import HTTPError

    part, state = wanted.beside("part"), wanted.beside("part.state")
    begun = part.is_file() and state.is_file() and _BEGUN.fullmatch(state.read_text("latin-1"))
    wishes, start, rest = {"Accept-Encoding": "identity"}, 0, ""
    if begun:
        start, size = part.stat().st_size, int(begun[1])
        wishes |= {"Range": f"bytes={start}-", "If-Range": begun[2]}
        rest = f"bytes {start}-{size - 1}/{size}"
    elif before:
        states = {"If-None-Match": before.etag, "If-Modified-Since": before.last_modified}
        wishes |= {name: value for name, value in states.items() if value}
    try:
        with requests.get(wanted.address, headers=wishes, stream=True, timeout=_WAIT) as answer:
            headers, goes_on = answer.headers, answer.status_code == 206
            came = headers.get("Content-Range"), _state(headers)
            if begun and (answer.status_code == 416 or (goes_on and came != (rest, begun[2]))):
                state.unlink()  # no rest of this file, or not from this byte on: begin anew
                return _download(wanted, before, progress)
            if before and answer.status_code == 304:
                return {}
            length = headers.get("Content-Length", "")
            if answer.status_code != (206 if begun and goes_on else 200):
                why = f"the server answers {answer.status_code} {answer.reason}"
            elif "html" in headers.get("Content-Type", ""):
                why = "a page of HTML comes in its place, as where a CAPTCHA or a log-in is wanted"
            elif not (goes_on or length.isdecimal() or answer.raw.chunked):
                why = "the server does not say how long the file is"
            else:
                if not goes_on:
                    start, size = 0, int(length) if length.isdecimal() else 0
                _save(answer, wanted, start, size, progress)
                return headers
    except (requests.RequestException, HTTPError) as error:
        why = f"the connection fails ({type(error).__name__})"
        if part.is_file() and (size := part.stat().st_size):
            why += f" after {size:,} bytes, from which the same command can go on"
    raise LinkerError(f"{wanted.address}: {why}; {wanted.remedy}")


def _state(headers: Mapping[str, str]) -> str:
    """What the server calls the state of a file; empty where it does not say."""
    return headers.get("ETag") or headers.get("Last-Modified", "")


def _save(answer: Any, wanted: Download, start: int, size: int, progress: bool) -> None:
    """Write what comes to the part, and beside it how long the file is and its state.

    Args:
        answer: of the server.
        wanted: the file.
        start: the bytes of the part that stay, to which those that come are added.
        size: the bytes of the whole file; 0 where that is not known.
        progress: whether to show a bar.
    """
    import requests
    from tqdm import tqdm

    part, state = wanted.beside("part"), wanted.beside("part.state")
    told = f"{size:,} bytes" if size else "size not stated"
    logger.warning("%s; fetching it (%s) from %s", wanted.title, told, wanted.address)
    if size - start > (free := shutil.disk_usage(part.parent).free):
        want = f"{size - start:,} bytes are to come, and {free:,} are free"
        raise LinkerError(f"{part.parent}: {want}; set LINKER_CACHE to a folder with more")
    bar = tqdm(total=size or None, initial=start, unit="B", unit_scale=True, disable=not progress)
    with open(part, "ab" if start else "wb") as file, bar:
        if not start:  # after the old part is gone
            state.write_text(f"{size} {_state(answer.headers)}" if size else "", "latin-1")
        # as it was sent, also where that is packed: the length and the range are of these bytes
        for block in answer.raw.stream(_BLOCK, decode_content=False):
            file.write(block)
            bar.update(len(block))
    if size and part.stat().st_size != size:
        raise requests.ConnectionError


def _keep(wanted: Download, headers: Mapping[str, str]) -> Fetched:
    """Give a finished download its name, and write its record."""
    part, note = wanted.beside("part"), wanted.beside("json")
    try:
        if wanted.packed:
            _unpack(part, wanted.path.name)
        release = wanted.release(part)
    except LinkerError as error:
        part.unlink()
        why = f"the file that comes is another one: {error}"
        raise LinkerError(f"{wanted.address}: {why}; {wanted.remedy}") from None
    fetched = Fetched(
        wanted.address,
        files.sha256(part),
        part.stat().st_size,
        datetime.now(timezone.utc).isoformat(timespec="seconds"),
        release,
        headers.get("ETag", ""),
        headers.get("Last-Modified", ""),
    )
    note.unlink(missing_ok=True)  # a file without a record is fetched again
    part.replace(wanted.path)
    wanted.beside("part.state").unlink(missing_ok=True)
    with files.write_aside(note) as file:
        json.dump(asdict(fetched), file, indent=1)
    return fetched


def _unpack(archive: Path, name: str) -> None:
    """Put the file of this name, in whatever folder of a zip archive, in the archive's place."""
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(archive) as packed, files.write_binary_aside(archive) as file:
            member = next(m for m in packed.namelist() if m.rpartition("/")[2] == name)
            with packed.open(member) as source:
                shutil.copyfileobj(source, file)
    except (zipfile.BadZipFile, StopIteration):
        raise LinkerError(f"it is no zip archive that holds {name}") from None
    except (zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise LinkerError(f"{name} in it cannot be unpacked ({error})") from None
