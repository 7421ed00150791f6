"""Encodings of texts: which one a file is in, and its text as UTF-8.

What is not UTF-8, and has no byte order mark of UTF-16, is taken for windows-1252, which
spreadsheets write in Europe, unless its encoding is named.
"""

from __future__ import annotations

import codecs
import contextlib
import logging
import re
import tempfile
import unicodedata
import weakref
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from linker.errors import InputError, shown
from linker.files import OpenFile, Pathlike, open_binary, reading

logger = logging.getLogger(__name__)

UTF8 = "utf-8"
USUAL = "windows-1252"
"""What a text is in that is not in UTF-8, nor UTF-16 by its mark."""
_BLOCK = 1 << 20  # bytes read at a time
_IN_MEMORY = 1 << 24  # bytes of a text that are kept in memory; a longer one goes to disk
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_NAMED = re.compile(r"\\N\{([A-Z][A-Z0-9 -]*)\}")  # see `files.text_form`


def as_utf8(path: Pathlike, encoding: str | None = None) -> tuple[Pathlike, str]:
    """A text file as UTF-8, and the name of the encoding that it is in.

    Args:
        path: the file, plain or gzip, or "-" for standard input; where no encoding is named, pipes
            are taken for UTF-8.
        encoding: its encoding; None: see `detect`; a warning says if it is not UTF-8.

    Returns:
        The path itself where the file is UTF-8, or no text; else a copy of the text.

    Raises:
        InputError: no encoding has this name, or the text is not in it.
    """
    if encoding is None:
        encoding = detect(path)
        if encoding != UTF8:
            text = "%s: is not UTF-8, and was read as %s; %s"
            remedy = "if it is in another, name that with --encoding"
            logger.warning(text, shown(path), encoding, remedy)
    else:
        encoding = _known(path, encoding)
    return (path if encoding == UTF8 else _copy(path, encoding)), encoding


def detect(path: Pathlike) -> str:
    """The encoding of a text file; UTF-8 also for what is no text, and for damaged UTF-8."""
    if not (isinstance(path, OpenFile) or Path(path).is_file()):
        return UTF8  # a pipe, which can be read only once, or what the reader will complain of
    with open_binary(path) as file, reading(path):
        start = file.peek(2)
        if start[:2] in _UTF16:
            return _UTF16[start[:2]]
        if start.lstrip()[:1] == b"<" or _is_utf8(_blocks(file)):  # XML names its encoding
            return UTF8
    with open_binary(path) as file, reading(path):
        for line in iter(partial(file.readline, _BLOCK), b""):
            if b"\0" in line or (not line.isascii() and _is_utf8([line])):
                return UTF8
    return USUAL


def _is_utf8(pieces: Iterable[bytes]) -> bool:
    try:
        return all(True for _ in codecs.iterdecode(pieces, UTF8))
    except UnicodeDecodeError:
        return False


def unnamed(text: str) -> str:
    r"""A text with the letters that an encoding does not have, and that were written by name.

    >>> unnamed(r"\N{GREEK SMALL LETTER BETA}-thalassaemia")
    'β-thalassaemia'
    """

    def letter(found: re.Match[str]) -> str:
        with contextlib.suppress(KeyError):
            return unicodedata.lookup(found[1])
        return found[0]

    return _NAMED.sub(letter, text)


def _known(path: Pathlike, encoding: str) -> str:
    """The encoding that a user means.

    Raises:
        InputError: there is none of this name.
    """
    try:
        "".encode(encoding)
        name = codecs.lookup(encoding).name
        if name in ("idna", "punycode"):  # of host names, not of texts
            raise LookupError
    except (LookupError, ValueError):
        remedy = f"name one such as {USUAL} or utf-16 with --encoding"
        raise InputError(path, f"{encoding!r} is no encoding", remedy=remedy) from None
    if name in (UTF8, "utf-8-sig"):
        return UTF8
    if name == "utf-16":
        with open_binary(path) as file:
            start = file.peek(2)
        return _UTF16.get(start[:2], "utf-16-le")
    return encoding


def _copy(path: Pathlike, encoding: str) -> OpenFile:
    """A copy of a text in UTF-8, with the byte order mark if there is one.

    Raises:
        InputError: it is not in the encoding.
    """
    line = 1
    with contextlib.ExitStack() as stack, open_binary(path) as file, reading(path):
        copy = stack.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))
        try:
            for text in codecs.iterdecode(_blocks(file), encoding):
                copy.write(text.encode(UTF8, "surrogatepass"))
                line += text.count("\n")
        except UnicodeDecodeError as error:
            line += error.object[: error.start].decode(encoding, "replace").count("\n")
            problem = f"byte 0x{error.object[error.start]:02x} is not {encoding}"
            remedy = "name another encoding with --encoding"
            raise InputError(path, problem, line=line, remedy=remedy) from None
        copy.seek(0)
        opened = OpenFile(copy, str(path))
        weakref.finalize(opened, stack.pop_all().close)
    return opened


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    return iter(partial(file.read, _BLOCK), b"")
