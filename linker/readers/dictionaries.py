"""The dictionary formats by name: recognise one, read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from linker.errors import InputError, LinkerError, OnError, stop
from linker.files import Pathlike, Readable, as_path, head, is_folder, peeking
from linker.readers import biosyn, medic, obo, rrf, sssom, table
from linker.types import Concept


class Format(Protocol):
    """The attributes and functions of a module of a dictionary format."""

    def recognises(self, path: Pathlike, head: list[str]) -> bool: ...

    def release(self, path: Pathlike) -> str: ...

    def read(self, path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]: ...


FORMATS: dict[str, Format] = {
    "medic": medic,
    "obo": obo,
    "rrf": rrf,
    "biosyn": biosyn,
    "table": table,
}  # in order of recognition

_LANGUAGES = ("ENG",)


def detect(path: Readable) -> str:
    """Recognise the format of a dictionary by its content.

    Args:
        path: a path, or an open file, as in `linker.readers.mentions.detect`.

    Raises:
        InputError: the file is empty, not text, or in no format of `FORMATS`.
    """
    with peeking(path) as file:
        return _detect(file)


def _detect(path: Pathlike) -> str:
    if str(path) == "-":
        raise LinkerError("a dictionary cannot be read from standard input; name a file")
    unread: list[InputError] = []  # bad lines, which the reader of the format will meet again
    lines = [] if is_folder(path) else head(path, on_error=unread.append)
    for name, form in FORMATS.items():
        if form.recognises(path, lines):
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
        expected=f"one of {', '.join(FORMATS)}",
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
        format: a key of `FORMATS`.
        on_error: what to do with a bad record.
        languages: languages of UMLS names to keep.
        sources: vocabularies of UMLS names to keep; all if empty.
        prefix: of the ids that have none, of tables; empty to leave them without.

    Raises:
        LinkerError: the format is not known, has no languages and sources to filter by, or is none
            of tables and a prefix is given.
        InputError: the file holds no concept, or what `on_error` raises.
    """
    path, form = as_path(path), _form(format)
    if prefix and form is not table:
        raise LinkerError(
            f"{path}: a prefix can be given to the ids of tables only, and this is {format}; "
            "leave it out"
        )
    if form is rrf:
        concepts = rrf.read(path, on_error=on_error, languages=languages, sources=sources)
    elif tuple(languages) != _LANGUAGES or sources:
        raise LinkerError(
            f"{path}: languages and sources can be chosen of UMLS files only, "
            f"and this is {format}; leave them out"
        )
    elif form is table:
        concepts = table.read(path, on_error=on_error, prefix=prefix)
    else:
        concepts = form.read(path, on_error=on_error)
    concept = None
    for concept in concepts:
        yield concept
    if concept is None:
        problem = f"the file holds no concepts in the format {format}"
        raise InputError(path, problem, remedy="check the path and --dict-format")


def release(path: Readable, format: str) -> str:
    """The release that the file states; empty where it states none."""
    with peeking(path) as file:
        return _form(format).release(file)


def _form(format: str) -> Format:
    if format not in FORMATS:
        raise LinkerError(
            f"there is no dictionary format {format!r}; choose one of {', '.join(FORMATS)}"
        )
    return FORMATS[format]
