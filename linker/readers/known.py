"""Dictionaries that have a name: where they are, under which terms, and how they are fetched.

`known.json` lists them. A name stands for a path wherever a dictionary is read, unless there is a
file of that name.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from linker.errors import InputError, LinkerError
from linker.files import Pathlike, fetching, head
from linker.readers import dictionaries, sssom
from linker.vocabularies import of_prefix


@dataclass(frozen=True, slots=True)
class Known:
    """A dictionary that has a name."""

    title: str
    file: str  # its name in the cache
    address: str  # of the current release
    size: int  # bytes to fetch, about
    vocabulary: str  # of which it has the terms
    packed: bool = False  # whether it is a file in a zip archive
    releases: str = ""  # address of a release, with {} for its name; empty: only the current one
    history: str = ""  # page that lists the releases

    @property
    def terms(self) -> str:
        """Under which terms it is given away."""
        known = of_prefix(self.vocabulary)
        return f"{known.terms} ({known.licence})"


KNOWN = {
    name: Known(**fields)
    for name, fields in json.loads(Path(__file__).with_name("known.json").read_bytes()).items()
}


def folder(name: str) -> Path:
    """Where a dictionary is cached: a folder for each release, and one for the current one."""
    return fetching.cache() / "dictionaries" / name


def located(path: Pathlike, *, progress: bool = False) -> Pathlike:
    """The path of a dictionary, or, where there is no such file, of the one with this name.

    It is fetched where the cache does not hold it.

    Args:
        path: a path, an open file, or a name of `KNOWN`.
        progress: whether to show a bar while it is fetched.

    Raises:
        LinkerError: it cannot be fetched or has changed in the cache; or there is neither such a
            file nor such a name, but one like it.
    """
    if not isinstance(path, str) or os.path.lexists(path):
        return path
    if path not in KNOWN:
        for near in get_close_matches(path, KNOWN, 1):
            text = f"{path}: there is no such file; check the path, or did you mean the dictionary"
            raise LinkerError(f"{text} {near}, which linker fetches?")
        return path
    cached = folder(path) / "current" / KNOWN[path].file
    if not (record := fetching.record(cached)):
        return get(path, progress=progress)[0]
    if not fetching.is_intact(cached, record):
        text = f"is no longer what was fetched at {record.date} (another SHA-256)"
        raise LinkerError(f"{cached}: {text}; fetch it again with: linker get {path}")
    return str(cached)


def get(
    name: str, release: str = "", *, progress: bool = False
) -> tuple[str, fetching.Fetched | None, fetching.Fetched]:
    """Fetch a dictionary into the cache, where its address has another one than the cache.

    Args:
        name: of `KNOWN`.
        release: its name, such as 2024-01-31; empty for the current one.
        progress: whether to show a bar.

    Returns:
        Its path, and the records of the one that was in the cache and of the one that is.

    Raises:
        LinkerError: there is no such dictionary or release, or it cannot be fetched.
    """
    if not (known := KNOWN.get(name)):
        near = " or ".join(get_close_matches(name, KNOWN))
        hint = f"did you mean {near}?" if near else f"expected one of {', '.join(KNOWN)}"
        raise LinkerError(f"there is no dictionary with the name {name!r}; {hint}")
    address = known.address
    remedy = f"fetch that address by hand, and give the path of the file in place of {name}"
    if release:
        address = _released(name, known, release := release.removeprefix("v"))
        remedy = f"check the name of the release at {known.history}, or fetch it there by hand"
    path = folder(name) / (release or "current") / known.file
    if release and (record := fetching.record(path)) and fetching.is_intact(path, record):
        return str(path), record, record  # a release never changes
    title = f"{name}: {known.title}; terms: {known.terms}"
    wanted = fetching.Download(address, path, known.packed, remedy, _release, title)
    return str(path), *fetching.fetch(wanted, progress=progress)


def _released(name: str, known: Known, release: str) -> str:
    """The address of a release."""
    if not known.releases:
        others = f"others are at {known.history}" if known.history else "keep the file that you use"
        raise LinkerError(f"{name}: only the current release can be fetched by name; {others}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", release):
        example = f"a date such as 2024-01-31, of those at {known.history}"
        raise LinkerError(f"{name}: {release!r} is no name of a release; expected {example}")
    return known.releases.format(release)


def _release(path: Path) -> str:
    """The release that a file of a dictionary or of mappings states."""
    try:
        if sssom.recognises(path, head(path)):
            return sssom.release(path)
        return dictionaries.release(path, dictionaries.detect(path))
    except InputError as error:
        raise LinkerError(error.problem) from None
