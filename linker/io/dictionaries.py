"""Dictionaries: recognising a format and reading it, and those that have a name.

`known.json` lists the names: where a dictionary is, under which terms, and how it is fetched. A
name stands for a path wherever a dictionary is read, unless there is a file of that name. A
dictionary of several files is the folder that holds them.
"""

from __future__ import annotations

import json
import os
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from linker.errors import InputError, LinkerError, OnError, stop
from linker.ids import of_prefix
from linker.io import fetching, sssom
from linker.io.files import (
    Pathlike,
    Readable,
    as_path,
    head,
    is_folder,
    peeking,
    start_of,
)
from linker.io.formats import DICTIONARIES, FORMATS
from linker.io.mesh import Part
from linker.io.parsing import ENGLISH, Languages
from linker.records import Concept

_WAIT = 10  # seconds for the answer whether there is a file

Change = tuple[fetching.Fetched | None, fetching.Fetched]
"""The records of a file that was in the cache, and of the one that is."""


def detect(path: Readable) -> str:
    """Recognise the format of a dictionary by its content.

    Args:
        path: a path, or an open file, as in `linker.io.mentions.detect`.

    Raises:
        InputError: the file is empty, not text, or in none of `formats.DICTIONARIES`.
    """
    with peeking(path) as file:
        return _detect(file)


def _detect(path: Pathlike) -> str:
    if str(path) == "-":
        raise LinkerError("a dictionary cannot be read from standard input; name a file")
    lines = [] if is_folder(path) else re.split("\r?\n", start_of(path))
    for name in DICTIONARIES:
        if _reader(name).recognises(path, lines):
            return name
    lines = [] if is_folder(path) else head(path)  # which says what cannot be read
    if sssom.recognises(path, lines):
        problem = "holds mappings between vocabularies (SSSOM), not a dictionary"
        raise InputError(path, problem, remedy="give it with --lend")
    raise InputError(
        path,
        "is not a dictionary in a format that linker knows",
        value=next(filter(str.strip, lines), "nothing"),
        expected=f"a table with the columns id and name, or one of {', '.join(DICTIONARIES)}",
        remedy="rename the columns of a table, or name its format with --dict-format",
    )


def read(
    path: Readable,
    format: str,
    *,
    on_error: OnError = stop,
    languages: Languages | Sequence[str] = ENGLISH,
    sources: Sequence[str] = (),
    prefix: str = "",
    under: Part | Sequence[str] = (),
) -> Iterator[Concept]:
    """Read the concepts of a dictionary; those without a name in the languages have no names.

    Args:
        path: a path, or an open file, to which an `OpenFile` can give a name for messages; one of
            the UMLS is MRCONSO alone, and its concepts have neither parents nor types.
        format: one of `linker.io.formats.DICTIONARIES`.
        on_error: what to do with a bad record.
        languages: of the names to keep, all where empty; `Languages` remembers those of several
            files.
        sources: vocabularies of the names to keep; all if empty.
        prefix: of the ids that have none; empty to leave them without.
        under: the part of MeSH to keep; a `Part` remembers the descriptors of several files.

    Raises:
        LinkerError: the format is not known, a choice is given that it does not have (see
            `takes`), or there are no names in one of the languages.
        InputError: the file holds no concept, or what `on_error` raises.
    """
    path, reader = as_path(path), _reader(format)
    chosen = languages if isinstance(languages, Languages) else Languages(languages)
    given = {
        "languages": chosen if chosen.wanted != ENGLISH else None,
        "sources": sources,
        "prefix": prefix,
        "under": under,
    }
    for option in [option for option, value in given.items() if value]:
        if not takes(format, option):
            others = ", ".join(name for name in DICTIONARIES if takes(name, option))
            raise LinkerError(
                f"{path}: is {format}, and {option} can be chosen of {others} only; leave it out"
            )
    given["languages"] = chosen
    options = {option: value for option, value in given.items() if takes(format, option)}
    concept = None
    for concept in reader.read(path, on_error=on_error, **options):
        yield concept
    if chosen is not languages and "languages" in options:
        chosen.check(path)
    if concept is None and not options.get("under"):  # a file may have nothing of a part
        problem = f"the file holds no concepts in the format {format}"
        raise InputError(path, problem, remedy="check the path and --dict-format")


def takes(format: str, option: str) -> bool:
    """Whether an option of `read` is for files of a format, as its module says."""
    return option in getattr(_reader(format), "OPTIONS", ())


def options_of(format: str, formats: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `read` for a file that is read beside files of other formats.

    Those that are for other formats alone are left out; one that is for none stays, to be refused.
    """
    return {
        option: value
        for option, value in given.items()
        if takes(format, option) or not any(takes(other, option) for other in formats)
    }


def release(path: Readable, format: str) -> str:
    """The release that the file states; empty where it states none."""
    stated = getattr(_reader(format), "release", None)  # formats without a place for it have none
    with peeking(path) as file:
        return str(stated(file)) if stated else ""


def _reader(format: str) -> Any:
    """The module of a format: it recognises and reads its files, and may know their release."""
    if format not in DICTIONARIES:
        raise LinkerError(
            f"there is no dictionary format {format!r}; choose one of {', '.join(DICTIONARIES)}"
        )
    return pkgutil.resolve_name(FORMATS[format].dictionary)


@dataclass(frozen=True, slots=True)
class Known:
    """A dictionary that has a name."""

    title: str
    file: str  # its name in the cache
    address: str  # of the current release; {year} stands for the latest year that there is
    size: int  # bytes to fetch, about
    vocabulary: str  # of which it has the terms
    format: str  # of `linker.io.formats.DICTIONARIES`, or sssom
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
            raise LinkerError(
                f"{file}: is no longer what was fetched at {record.date}; fetch it again with: "
                f"linker get {path}; or delete {file.name}.json, if you put the file there"
            )
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
        near = ", ".join(get_close_matches(name, KNOWN) or KNOWN)
        raise LinkerError(f"there is no dictionary with the name {name!r}; expected one of {near}")
    addresses = {known.file: known.address, **known.beside}
    release = release.removeprefix("v")
    if release:
        if not known.releases or not re.fullmatch(r"\d{4}-\d\d-\d\d", release):
            where = f"as {known.history} lists them" if known.releases else "which has the current"
            raise LinkerError(
                f"{name}: a release is named by its date, such as 2024-01-31, {where}; "
                f"{release!r} is not to be fetched by name"
            )
        addresses = {known.file: known.releases.format(release)}
    place = folder(name) / (release or "current")
    changes: list[Change] = []
    for file, address in _of_latest_year(addresses).items():
        path = place / file
        if release and (record := fetching.record(path)) and fetching.is_intact(path, record):
            changes.append((record, record))  # a release never changes
            continue
        what = f"{path.name} out of the archive" if known.packed else address.rpartition("/")[2]
        source = known.history if release else known.page or "that address"
        remedy = f"open {source} in a browser, and save {what} as {path}"
        instead = f"; or take --dict {known.instead}" if known.instead else ""
        changes.append(
            fetching.fetch(
                address,
                path,
                partial(_release, format=known.format),
                packed=known.packed,
                remedy=f"{remedy}, or give its path in place of {name}{instead}",
                title=f"{name}: {known.title}; terms: {known.terms}",
                progress=progress,
            )
        )
    return str(place if known.beside else place / known.file), changes


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


def _release(path: Pathlike, format: str) -> str:
    """The release that a file states, which must be in a format: it may be a page of a server."""
    try:
        if sssom.recognises(path, head(path)):
            detected, release_of = "sssom", sssom.release
        else:
            detected = detect(path)
            release_of = partial(release, format=detected)
    except InputError as error:
        raise LinkerError(error.problem) from None
    if detected != format:
        raise LinkerError(f"its format is {detected}, not {format}")
    return release_of(path)
