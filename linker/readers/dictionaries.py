"""The dictionary formats by name: recognise one, read it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linker.errors import InputError, LinkerError, OnError, stop
from linker.files import Pathlike, Readable, as_path, head, is_folder, peeking, start_of
from linker.files.rows import titles_of
from linker.formats import DICTIONARIES
from linker.readers import sssom
from linker.readers.languages import ENGLISH, Languages
from linker.readers.mesh import Part
from linker.types import Concept


def detect(path: Readable) -> str:
    """Recognise the format of a dictionary by its content.

    Args:
        path: a path, or an open file, as in `linker.readers.mentions.detect`.

    Raises:
        InputError: the file is empty, not text, or in no format of `linker.formats.DICTIONARIES`.
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
    if not any(lines) and not is_folder(path):
        problem, remedy = "the file is empty", "check the path"
        raise InputError(path, problem, expected="a dictionary", remedy=remedy)
    first = next(filter(str.strip, lines), "")
    problem, value = "is not a dictionary in a format that linker knows", first or None
    expected, remedy = f"one of {', '.join(DICTIONARIES)}", "name its format with --dict-format"
    if len(titles := titles_of(first)) > 1 and all(titles) and not first.startswith("#"):
        problem, value = f"has the columns {', '.join(map(repr, titles))}", None
        expected = f"a table with the columns id and name, or {expected}"
        remedy = f"rename the columns, or {remedy}"
    raise InputError(path, problem, value=value, expected=expected, remedy=remedy)


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
        format: a key of `linker.formats.DICTIONARIES`.
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
    return importlib.import_module(DICTIONARIES[format])
