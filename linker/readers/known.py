"""Dictionaries that have a name: where they are, under which terms, and how they are fetched.

`known.json` lists them. A name stands for a path wherever a dictionary is read, unless there is a
file of that name. A dictionary of several files is the folder that holds them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from linker.errors import InputError, LinkerError
from linker.files import Pathlike, fetching, head
from linker.readers import dictionaries, sssom
from linker.vocabularies import of_prefix

_WAIT = 10  # seconds for the answer whether there is a file

Change = tuple[fetching.Fetched | None, fetching.Fetched]
"""The records of a file that was in the cache, and of the one that is."""


@dataclass(frozen=True, slots=True)
class Known:
    """A dictionary that has a name."""

    title: str
    file: str  # its name in the cache
    address: str  # of the current release; {year} stands for the latest year that there is
    size: int  # bytes to fetch, about
    vocabulary: str  # of which it has the terms
    format: str  # of `linker.formats.DICTIONARIES`, or sssom
    beside: Mapping[str, str] = field(default_factory=dict)  # other files of it: names, addresses
    page: str = ""  # where people find the file; empty: at its address
    instead: str = ""  # the name of another dictionary that may take its place
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
    known, place = KNOWN[path], folder(path) / "current"
    files = [place / name for name in (known.file, *known.beside)]
    records = [fetching.record(file) for file in files]  # none: a file was put there by hand
    is_mixed = len({record.release for record in records if record}) > 1
    if is_mixed or not all(file.is_file() for file in files):
        return get(path, progress=progress)[0]
    for file, record in zip(files, records, strict=True):
        if record and not fetching.is_intact(file, record):
            text = f"is no longer what was fetched at {record.date} (another SHA-256)"
            remedy = f"or delete {file.name}.json beside it, if you put the file there"
            raise LinkerError(f"{file}: {text}; fetch it again with: linker get {path}; {remedy}")
    return str(place if known.beside else files[0])


def get(name: str, release: str = "", *, progress: bool = False) -> tuple[str, list[Change]]:
    """Fetch a dictionary into the cache, where its address has another one than the cache.

    Args:
        name: of `KNOWN`.
        release: its name, such as 2024-01-31; empty for the current one.
        progress: whether to show a bar.

    Returns:
        Its path, and what became of each of its files.

    Raises:
        LinkerError: there is no such dictionary or release, or it cannot be fetched.
    """
    if not (known := KNOWN.get(name)):
        near = " or ".join(get_close_matches(name, KNOWN))
        hint = f"did you mean {near}?" if near else f"expected one of {', '.join(KNOWN)}"
        raise LinkerError(f"there is no dictionary with the name {name!r}; {hint}")
    addresses = {known.file: known.address, **known.beside}
    if release:
        addresses = {known.file: _released(name, known, release := release.removeprefix("v"))}
    place = folder(name) / (release or "current")
    remedy = f"check the name of the release at {known.history}, or fetch it there by hand"
    changes: list[Change] = []
    for file, address in _of_latest_year(addresses).items():
        path = place / file
        if release and (record := fetching.record(path)) and fetching.is_intact(path, record):
            changes.append((record, record))  # a release never changes
            continue
        changes.append(
            fetching.fetch(
                address,
                path,
                partial(_release, format=known.format),
                packed=known.packed,
                remedy=remedy if release else _remedy(name, known, address, path),
                title=f"{name}: {known.title}; terms: {known.terms}",
                progress=progress,
            )
        )
    return str(place if known.beside else place / known.file), changes


def _remedy(name: str, known: Known, address: str, path: Path) -> str:
    """What to do where the current release cannot be fetched."""
    source = known.page or "that address"
    what = f"{path.name} out of the archive" if known.packed else address.rpartition("/")[2]
    other = "the path of a folder with all its files" if known.beside else "its path"
    remedy = f"open {source} in a browser, and save {what} as {path}, or give {other}"
    instead = f"; or take --dict {known.instead}" if known.instead else ""
    return f"{remedy} in place of {name}{instead}"


def _of_latest_year(addresses: Mapping[str, str]) -> dict[str, str]:
    """The addresses of the latest year of which all files are there, as a next one may be early.

    Where none is, they are those of this year: fetching them will say what fails.
    """

    def is_there(address: str) -> bool:
        import requests

        try:
            return requests.head(address, timeout=_WAIT, allow_redirects=True).ok
        except requests.RequestException:
            return False

    this = date.today().year
    yearly = [address for address in addresses.values() if "{year}" in address]
    years = (this + 1, this, this - 1) if yearly else ()
    latest = (y for y in years if all(is_there(address.format(year=y)) for address in yearly))
    year = next(latest, this)
    return {file: address.format(year=year) for file, address in addresses.items()}


def _released(name: str, known: Known, release: str) -> str:
    """The address of a release."""
    if not known.releases:
        others = f"others are at {known.history}" if known.history else "keep the file that you use"
        raise LinkerError(f"{name}: only the current release can be fetched by name; {others}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", release):
        example = f"a date such as 2024-01-31, of those at {known.history}"
        raise LinkerError(f"{name}: {release!r} is no name of a release; expected {example}")
    return known.releases.format(release)


def _release(path: Pathlike, format: str) -> str:
    """The release that a file states, which must be in a format: it may be a page of a server."""
    try:
        if sssom.recognises(path, head(path)):
            found, release = "sssom", sssom.release(path)
        else:
            found = dictionaries.detect(path)
            release = dictionaries.release(path, found)
    except InputError as error:
        raise LinkerError(error.problem) from None
    if found != format:
        raise LinkerError(f"its format is {found}, not {format}")
    return release
