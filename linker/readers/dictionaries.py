"""The dictionary formats by name: recognise one, read it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from linker.errors import InputError, LinkerError, OnError, stop
from linker.files import Pathlike, Readable, as_path, head, is_folder, peeking
from linker.formats import DICTIONARIES
from linker.readers import sssom
from linker.types import Concept

_LANGUAGES = ("ENG",)


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
    unread: list[InputError] = []  # bad lines, which the reader of the format will meet again
    lines = [] if is_folder(path) else head(path, on_error=unread.append)
    for name in DICTIONARIES:
        if _reader(name).recognises(path, lines):
            return name
    if unread:
        raise unread[0]
    if sssom.recognises(path, lines):
        problem = "holds mappings between vocabularies (SSSOM), not a dictionary"
        raise InputError(path, problem, remedy="give it with --lend")
    if not any(lines) and not is_folder(path):
        problem, remedy = "the file is empty", "check the path"
        raise InputError(path, problem, expected="a dictionary", remedy=remedy)
    raise InputError(
        path,
        "is not a dictionary in a format that linker knows",
        value=next(filter(str.strip, lines), None),
        expected=f"one of {', '.join(DICTIONARIES)}",
        remedy="name its format with --dict-format",
    )


def read(
    path: Readable,
    format: str,
    *,
    on_error: OnError = stop,
    languages: Sequence[str] = _LANGUAGES,
    sources: Sequence[str] = (),
    prefix: str = "",
) -> Iterator[Concept]:
    """Read the concepts of a dictionary.

    Args:
        path: a path, or an open file, to which an `OpenFile` can give a name for messages; one of
            the UMLS is MRCONSO alone, and its concepts have neither parents nor types.
        format: a key of `linker.formats.DICTIONARIES`.
        on_error: what to do with a bad record.
        languages: languages of UMLS names to keep.
        sources: vocabularies of UMLS names to keep; all if empty.
        prefix: of the ids that have none, of tables; empty to leave them without.

    Raises:
        LinkerError: the format is not known, has no languages and sources to filter by, or is none
            of tables and a prefix is given.
        InputError: the file holds no concept, or what `on_error` raises.
    """
    path, reader, options = as_path(path), _reader(format), dict[str, Any]()
    if prefix:
        options = {"prefix": prefix}
        if format != "table":
            raise LinkerError(
                f"{path}: a prefix can be given to the ids of tables only, and this is {format}; "
                "leave it out"
            )
    if tuple(languages) != _LANGUAGES or sources:
        options = {"languages": languages, "sources": sources}
        if format != "rrf":
            raise LinkerError(
                f"{path}: languages and sources can be chosen of UMLS files only, "
                f"and this is {format}; leave them out"
            )
    concepts = reader.read(path, on_error=on_error, **options)
    concept = None
    for concept in concepts:
        yield concept
    if concept is None:
        problem = f"the file holds no concepts in the format {format}"
        raise InputError(path, problem, remedy="check the path and --dict-format")


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
