"""Mentions of any format: recognises it from the content and reads it."""

from __future__ import annotations

import contextlib
import os
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from linker.arguments import TEXT, Kind, public
from linker.errors import (
    InputError,
    LinkerError,
    OnError,
    RecordError,
    ignore,
    of_file,
    stop,
)
from linker.ids import Identify
from linker.io import files, tsv
from linker.io import rows as tables
from linker.io.biosyn import concept_files
from linker.io.files import OpenFile, Pathlike, Readable, as_utf8, is_folder, read_lines, read_text
from linker.io.formats import FORMATS, MENTIONS
from linker.io.parsing import check_mention, parse_each
from linker.records import Document, Mention, Passage

# of NCBI Disease
_DISEASES = {"disease", "specificdisease", "diseaseclass", "modifier", "compositemention"}


class NoMentions(InputError):
    """A file that can be read holds nothing."""


def detect(path: Readable) -> str:
    """Detect the format of a file (plain or gzip) from its first 64 KiB, or that of a folder.

    What is in no other format is `txt`, and so are standard input ("-") and other pipes, which
    cannot be looked at before they are read.

    Args:
        path: a path, or an open file, which is set back to where it stood. One that can be read
            only once is to be put into an `OpenFile` first, which can then be detected and read.

    Raises:
        LinkerError: the path is not there or cannot be read, or is a folder without `.concept`
            files; the open file can be read only once.
    """
    with files.peeking(path) as file:
        return _detect(file)


def _detect(path: Pathlike) -> str:
    if not isinstance(path, OpenFile) and (str(path) == "-" or Path(path).is_fifo()):
        return "txt"
    if files.is_folder(path):
        concept_files(path)
        return "concept"
    text = files.start_of(path).lstrip("\r\n ")
    signs = ((name, form.sign) for name, form in FORMATS.items() if form.sign)
    return next((name for name, sign in signs if re.match(sign, text)), "txt")


@runtime_checkable
class _Open(Protocol):
    """An open file."""

    def read(self, size: int = -1, /) -> str | bytes: ...


@public(
    "linker.read_mentions",
    path=Kind("a path, or an open file", (str, os.PathLike, _Open)),
    format=TEXT.or_none(),
    type=TEXT.or_none(),
    column=TEXT.or_none(),
)
def read(
    path: Readable,
    format: str | None = None,
    *,
    type: str | None = None,
    on_error: OnError = stop,
    column: str | None = None,
    identify: Identify | None = None,
) -> Iterator[Document | Mention]:
    """Yield the documents or loose mentions of a file, streaming.

    Args:
        path: the path of a file, plain or gzip, or of a folder of `.concept` files, or "-" for
            standard input; or an open file, to which an `OpenFile` can give a name for messages.
        format: one of `linker.io.formats.MENTIONS`; None to recognise it from the content.
        type: keep mentions of this type, in any case, and loose ones without a type; "Disease"
            includes the types of the NCBI Disease corpus.
        on_error: what to do with a bad record.
        column: of a Parquet file, the one that holds the mentions; None: `mention` or `text`.
        identify: of the dictionary that annotated ids are of, `Dictionary.identify`: what it has as
            an id is one, whatever signs it holds; None: no dictionary is known.

    Raises:
        NoMentions: the file holds nothing.
        InputError: it is damaged, or holds nothing of that type.
        LinkerError: there is no such file or format, or a column of another format is named.
    """
    path = files.as_path(path)
    format = format or _detect(path)
    if format not in MENTIONS:
        raise LinkerError(
            f"{format!r} is not a format of mentions; choose one of {', '.join(MENTIONS)}"
        )
    if column and format != "parquet":
        problem = f"is {format}; a column can be named in Parquet files and tables only"
        raise InputError(path, problem)
    named: dict[str, Any] = {"column": column} if column else {}
    if identify and format != "txt":  # which has no ids
        named["identify"] = identify
    reader = pkgutil.resolve_name(FORMATS[format].reader)
    items: Iterator[Document | Mention] = reader(path, on_error=on_error, **named)
    if type is not None:
        items = _of_type(path, items, type)
    item = None
    for item in items:
        yield item
    if item is None:
        remedy = "check that it is the right file, and its format"
        raise NoMentions(path, "holds no mentions or documents", remedy=remedy)


def check_list(path: Pathlike, format: str, lines: Sequence[str] | None = None) -> None:
    """Check that a text is no table, of which a column has to be named; see `tables.table_in`.

    Args:
        path: of the text, whose ending counts.
        format: that was recognised.
        lines: the first ones; None: they are read.

    Raises:
        ColumnNeeded: it is one.
    """
    if format not in ("txt", "tsv"):
        return
    lines = files.head(path, tables.FIRST, on_error=ignore) if lines is None else lines
    with contextlib.suppress(RecordError):
        if format == "tsv" and tsv.is_header("".join(lines[:1])):
            return
    if needed := tables.table_in(path, lines):
        raise needed


def of_type(type: str) -> Callable[[Mention], bool]:
    """Return whether a mention is of a type, in any case.

    "Disease" includes the types of the NCBI Disease corpus.
    """
    wanted = _DISEASES if type.lower() == "disease" else {type.lower()}
    return lambda mention: mention.type.lower() in wanted


def _of_type(
    path: Pathlike, items: Iterable[Document | Mention], type: str
) -> Iterator[Document | Mention]:
    wanted = of_type(type)
    seen: set[str] = set()
    is_empty = True
    for item in items:
        if isinstance(item, Document):
            seen.update(mention.type for mention in item.mentions)
            item = replace(item, mentions=tuple(filter(wanted, item.mentions)))
            is_empty = is_empty and not item.mentions
        elif item.type and not wanted(item):
            seen.add(item.type)
            continue
        else:
            is_empty = False
        yield item
    if seen and is_empty:
        raise no_mentions(path, type, seen)


def no_mentions(path: Pathlike, type: str, seen: Iterable[str]) -> InputError:
    """The error for a file whose mentions have other types, those `seen`."""
    types = ", ".join(sorted(set(seen) - {""})) or "none"
    problem, expected = f"holds no mentions of type {type!r}", f"one of its types: {types}"
    return InputError(path, problem, expected=expected, remedy="choose with --type")


def flatten(items: Iterable[Document | Mention]) -> Iterator[tuple[Mention, Document | None]]:
    """Yield each mention with the document that it is in, None for a loose one."""
    for item in items:
        if isinstance(item, Document):
            yield from ((mention, item) for mention in item.mentions)
        else:
            yield item, None


_ENDINGS = (".txt", ".txt.gz")


def read_texts(
    path: Pathlike, *, on_error: OnError = stop, encoding: str | None = None
) -> Iterator[Document]:
    """Yield each text as one document, whose id is the name of its file without the ending.

    The text is as in the file, with its line ends, but without a byte order mark.

    Args:
        path: a file, plain or gzip; a folder, of whose files those that end in .txt or .txt.gz are
            read in the order of their names; or "-" for standard input, whose document is "stdin".
        on_error: what to do with a text that cannot be read; returns to skip it.
        encoding: of the texts; None: see `linker.io.files.as_utf8`.

    Raises:
        LinkerError: a folder has no such file.
    """
    for file in paths_of(path):
        text = None
        with of_file(on_error):
            text = read_text(as_utf8(file, encoding)[0], keep_ends=True)
        if text is not None:
            name = "stdin" if str(file) == "-" else Path(file).name
            identifier = name.removesuffix(".gz").removesuffix(".txt")
            yield Document(identifier, (Passage(text),))


def paths_of(path: Pathlike) -> Sequence[Pathlike]:
    """The texts of a folder, in the order of their names; of anything else itself.

    Raises:
        LinkerError: a folder has no such file.
    """
    if not is_folder(path):
        return [path]
    paths = sorted(file for file in Path(path).iterdir() if file.name.endswith(_ENDINGS))
    if not paths:
        raise LinkerError(f"{path}: has no texts; expected: files that end in .txt")
    return paths


def read_list(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Mention]:
    """Yield the mention of each line, without gold ids.

    A blank line is an empty mention, so that the output has a row for each line.
    """

    def parse(_: int, line: str) -> Mention:
        return Mention(check_mention(line))

    return parse_each(path, read_lines(path, on_error=on_error), parse, on_error)
