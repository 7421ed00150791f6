"""Fetching files of the web into a cache, each with a record beside it by which it is verified.

One process at a time fetches into a folder. Here are also the errors of the Hugging Face hub, which
has a cache of its own, in one sentence each.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO

from linker.errors import LinkerError, shorten
from linker.io import files, replacing

logger = logging.getLogger(__name__)

_BLOCK = 1 << 16  # bytes written at a time
_WAIT = 30  # seconds for the next bytes of a server


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


def cache() -> Path:
    """The folder of the cache: $LINKER_CACHE, else that of this system."""
    import pooch

    return Path(os.environ.get("LINKER_CACHE") or pooch.os_cache("linker"))


def record(path: Path) -> Fetched | None:
    """The record of a file in the cache; None where the file or its record is not there."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        if path.is_file():
            return Fetched(**json.loads(_note(path).read_bytes()))
    return None


def _note(path: Path) -> Path:
    """Where the record of a file stands."""
    return path.with_name(f"{path.name}.json")


def is_intact(path: Path, fetched: Fetched) -> bool:
    """Whether a file is still what was fetched."""
    return files.sha256(path) == fetched.sha256


def fetch(
    address: str,
    path: Path,
    release: Callable[[files.Pathlike], str],
    *,
    packed: bool,
    remedy: str,
    title: str,
    progress: bool = False,
) -> tuple[Fetched | None, Fetched]:
    """Fetch a file, unless the server says that the one in the cache is still the same.

    Args:
        address: where it is.
        path: where it goes; a folder of its own.
        release: tells the release that the file states; raises LinkerError for a wrong file.
        packed: whether it is the file of this name in a zip archive.
        remedy: what to do where it cannot be fetched.
        title: what is said of it, with its size, before it comes.
        progress: whether to show a bar.

    Returns:
        The records of the file that was there, if it was intact, and of the one that is there now.

    Raises:
        LinkerError: the file cannot be fetched or written, or is not what it should be.
    """
    import requests
    from urllib3.exceptions import HTTPError

    with files.writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing.locking(path.parent, wait=True):
            before = record(path)
            if before and (before.address != address or not is_intact(path, before)):
                before = None
            headers = {"Accept-Encoding": "identity"}
            if before:
                states = {"If-None-Match": before.etag, "If-Modified-Since": before.last_modified}
                headers |= {name: state for name, state in states.items() if state}
            try:
                with requests.get(address, headers=headers, stream=True, timeout=_WAIT) as answer:
                    if before and answer.status_code == 304:
                        return before, before
                    length = _length(answer)
                    size = f"{length:,} bytes" if length else "size not stated"
                    logger.warning("%s; fetching it (%s) from %s", title, size, address)
                    with files.write_binary_aside(path) as file:
                        stated = _take(answer, file, path.name if packed else "", release, progress)
                        _note(path).unlink(missing_ok=True)  # without it, it is fetched again
            except (requests.RequestException, HTTPError) as error:
                why = f"the connection fails ({type(error).__name__})"
                raise LinkerError(f"{address}: {why}; {remedy}") from None
            except LinkerError as error:
                raise LinkerError(f"{address}: {error}; {remedy}") from None
            day = datetime.now(timezone.utc).isoformat(timespec="seconds")
            of_server = (answer.headers.get(key, "") for key in ("ETag", "Last-Modified"))
            now = Fetched(address, files.sha256(path), path.stat().st_size, day, stated, *of_server)
            with files.write_aside(_note(path)) as note:
                json.dump(asdict(now), note, indent=1)
            return before, now


def _length(answer: Any) -> int | None:
    """The bytes that a server sends; None where it says in the last chunk that it is the last.

    Raises:
        LinkerError: it sends something else than a file.
    """
    length = answer.headers.get("Content-Length", "")
    if answer.status_code != 200:
        raise LinkerError(f"the server answers {answer.status_code} {answer.reason}")
    if "html" in answer.headers.get("Content-Type", ""):
        raise LinkerError("a page comes in its place, as where a CAPTCHA or a log-in is wanted")
    if not (length.isdecimal() or answer.raw.chunked):
        raise LinkerError("the server does not say how long the file is")
    return int(length) if length.isdecimal() else None


def _take(
    answer: Any,
    file: BinaryIO,
    member: str,
    release: Callable[[files.Pathlike], str],
    progress: bool,
) -> str:
    """Write what a server sends, or the member of this name in it, and return its release."""
    import requests
    from tqdm import tqdm

    size = _length(answer)
    with tempfile.TemporaryFile() as archive:
        taken: Any = archive if member else file
        with tqdm(total=size, unit="B", unit_scale=True, disable=not progress) as bar:
            # as it was sent, also where that is packed
            for block in answer.raw.stream(_BLOCK, decode_content=False):
                bar.update(taken.write(block))
        if size is not None and taken.tell() != size:
            raise requests.ConnectionError
        if member:
            _unpack(archive, member, file)
    file.flush()
    try:
        return release(Path(file.name))
    except LinkerError as error:
        raise LinkerError(f"the file that comes is another one: {error}") from None


def _unpack(archive: Any, name: str, file: BinaryIO) -> None:
    """Write the file of this name, in whatever folder of a zip archive it is."""
    try:
        with zipfile.ZipFile(archive) as packed:
            member = next(m for m in packed.namelist() if m.rpartition("/")[2] == name)
            with packed.open(member) as source:
                shutil.copyfileobj(source, file)
    except Exception as error:  # zipfile and zlib raise many kinds
        problem = f"it is no zip archive that holds {name} ({error})"
        raise LinkerError(f"the file that comes is another one: {problem}") from None


@contextlib.contextmanager
def asking_hub(name: str, start: str, instead: str) -> Iterator[None]:
    """Turn what goes wrong while files of the hub are fetched into a `LinkerError`.

    Args:
        name: the id of the repository.
        start: of the message.
        instead: what to do with a folder DIR that was fetched elsewhere.
    """
    try:
        with quiet_hub():
            yield
    except LinkerError:
        raise
    except Exception as error:  # the hub and its client raise many kinds
        raise LinkerError(
            f"{start} the Hugging Face hub does not give it ({reason(error)}); is it spelt right, "
            "as NAME or OWNER/NAME, and is there a network? For a private one, run hf auth login; "
            f"elsewhere, run hf download {name} --local-dir DIR, and {instead}"
        ) from error


@contextlib.contextmanager
def quiet_hub() -> Iterator[None]:
    """Keep progress bars and reports of the hub off the terminal; errors are still raised."""
    from huggingface_hub import utils

    hub: Any = utils  # not annotated for type checkers
    level, had_bars = hub.logging.get_verbosity(), not hub.are_progress_bars_disabled()
    hub.logging.set_verbosity(logging.ERROR)
    hub.disable_progress_bars()
    try:
        yield
    finally:
        hub.logging.set_verbosity(level)
        if had_bars:
            hub.enable_progress_bars()


def reason(error: BaseException) -> str:
    """The first line of what the first cause of an error says."""
    while error.__cause__ is not None:
        error = error.__cause__
    return shorten(next(iter(str(error).strip().splitlines()), type(error).__name__), 200)
