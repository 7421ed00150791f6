"""Encodings of texts: which one a file is in, and its text as UTF-8.

A file that is not UTF-8 is never read by a bare guess. The encodings that spreadsheets write are
tried, and one is taken where its letters fit the words of a language, and no other one that fits
gives another text. (Detectors that count letters, such as charset-normalizer, confuse windows-1252
with windows-1250 or mac-roman in every second table with so few words as tables of names have.)
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import logging
import re
import tempfile
import unicodedata
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from linker.errors import EncodingNeeded, shown
from linker.files import OpenFile, Pathlike, open_binary, reading

logger = logging.getLogger(__name__)

UTF8 = "utf-8"
_BLOCK = 1 << 20  # bytes read at a time
_IN_MEMORY = 1 << 24  # bytes of a text that are kept in memory; a longer one goes to disk
_OF_NAMES = ("idna", "punycode")  # codecs for host names, not for texts
_MOST_WORDS = 2_000  # with other letters than those of ASCII; they are enough to choose
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# it begins where no word goes on, so that a long word is looked at once
_IN_WORD = rb"[0-9A-Za-z\x80-\xff'-]"
_WORD = re.compile(rb"(?<!%b)%b*[\x80-\xff]%b*" % (_IN_WORD, _IN_WORD, _IN_WORD))
_SIGNS = frozenset("\xa0«»“”„‚‘’–—…•°±µ²³½¼¾×÷·€£§©®™ª") | frozenset("º¿¡")
# between letters there stands no sign, and behind a small letter no capital
_ODD = re.compile(r"(?<=[^\W\d_])(?:[^\w\s'’·–-]|[²³½¼¾ªº])(?=[^\W\d_])")
_NAMES = frozenset("éèöüä")  # of Ménière, Sjögren and others, in all languages
_NAMED = re.compile(r"\\N\{([A-Z][A-Z0-9 -]*)\}")  # see `files.text_form`
_MANY = 5  # letters, among which one of the most common ones of the language is
# of each language the common letters, and the others
_WESTERN = (
    ("äöüß", "é"),
    ("é", "àâæçèêëîïôœùûüÿ"),
    ("áéíóñ", "úü"),
    ("ãçáé", "àâêíóôõú"),
    ("àèéòù", "ìíîó"),
    ("äöüßé", "àâæçèêëîïôœùûÿ"),  # German and French in one table, as in Switzerland
    ("åäöæø", "éèü"),
)
_CENTRAL = (
    ("łąęóż", "ćńśź"),
    ("íá", "čďéěňóřšťúůýžľĺŕôä"),
    ("áé", "íóöőúüű"),
    ("čšž", "ćđ"),
    ("ăâîşţ", "șț"),
)
_USUAL = "windows-1252"  # of spreadsheets, which is taken where there are but a few letters, too
_LANGUAGES = {_USUAL: _WESTERN, "windows-1250": _CENTRAL, "mac-roman": _WESTERN, "cp850": _WESTERN}
"""The encodings that are tried, by which spreadsheets and editors write text without being told."""


def as_utf8(path: Pathlike, encoding: str | None = None) -> tuple[Pathlike, str]:
    """A text file as UTF-8, and the name of the encoding that it is in.

    Args:
        path: the file, plain or gzip, or "-" for standard input; where no encoding is named, pipes
            are taken for UTF-8.
        encoding: its encoding; None to recognise it, which a warning says if it is not UTF-8.

    Returns:
        The path itself where the file is UTF-8, or no text; else a copy of the text.

    Raises:
        EncodingNeeded: no encoding has this name, the text is not in it, or could be in several.
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
    """The encoding of a text file; UTF-8 also for what is no text, and for damaged UTF-8.

    Raises:
        EncodingNeeded: it is not UTF-8, and could be in several, or in none that is tried.
    """
    if not (isinstance(path, OpenFile) or Path(path).is_file()):
        return UTF8  # a pipe, which can be read only once, or what the reader will complain of
    with open_binary(path) as file, reading(path):
        start = file.peek(2)  # type: ignore[attr-defined]
        if start[:2] in _UTF16:
            return _UTF16[start[:2]]
        if start.lstrip()[:1] == b"<":  # XML, which names its encoding
            return UTF8
        try:
            for _ in codecs.iterdecode(_blocks(file), UTF8):
                pass
            return UTF8
        except UnicodeDecodeError:
            pass
    words: dict[bytes, int] = {}
    for word, line in itertools.islice(_words(path), _MOST_WORDS):
        words.setdefault(word, line)
    if any(b"\0" in word or _reads(word, UTF8) is not None for word in words):
        return UTF8
    readings = {name: texts for name in _LANGUAGES if (texts := _plausible(words, name))}
    name = next(iter(readings), "")
    is_sure = name == _USUAL or len(_letters(" ".join(readings.get(name, [])))) >= _MANY
    if not is_sure or any(texts != readings[name] for texts in readings.values()):
        raise _unknown(path, words, readings)
    return name


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


def _words(path: Pathlike) -> Iterator[tuple[bytes, int]]:
    """The words of a file with bytes beyond ASCII, each with its line; a NUL byte counts as one."""
    with open_binary(path) as file, reading(path):
        for number in itertools.count(1):
            if not (line := file.readline(_BLOCK)):
                return
            if b"\0" in line:
                yield b"\0", number
            yield from ((word, number) for word in _WORD.findall(line))


def _reads(word: bytes, encoding: str) -> str | None:
    """A word in an encoding; None where it is not in it."""
    try:
        return word.decode(encoding)
    except UnicodeDecodeError:
        return None


def _plausible(words: dict[bytes, int], encoding: str) -> list[str]:
    """The words in an encoding; none where they are in no language that is written in it."""
    texts = [text for word in words if (text := _reads(word, encoding)) is not None]
    whole = " ".join(texts)
    letters = _letters(whole)
    if (
        len(texts) < len(words)
        or _ODD.search(whole)
        or any(map(_has_capitals_inside, texts))
        or 2 * len(letters) > sum(sign.isalpha() for sign in whole)
    ):
        return []
    for common, others in _LANGUAGES[encoding]:
        is_common = len(letters) < _MANY or not {*common}.isdisjoint(letters)
        if is_common and {*letters} <= {*common, *others, *_NAMES}:
            return texts
    return []


def _letters(text: str) -> str:
    """The letters of a text beyond ASCII, and signs that stand in no text."""
    return "".join(s for s in text.lower() if not s.isascii() and s not in _SIGNS)


def _has_capitals_inside(word: str) -> bool:
    """Whether a capital beyond ASCII stands behind a small letter."""
    pairs = itertools.pairwise(word)
    return any(a.islower() and b.isupper() and not b.isascii() for a, b in pairs)


def _unknown(
    path: Pathlike, words: dict[bytes, int], readings: dict[str, list[str]]
) -> EncodingNeeded:
    """The error for a text whose encoding is not clear: it shows what it would be in each."""
    remedy = "save it as UTF-8 (Excel: as CSV UTF-8), or name its encoding with --encoding"
    if not readings:
        word, line = next(iter(words.items()))
        names = ", ".join(_LANGUAGES)
        problem = f"the text is not UTF-8, and its words fit no language as {names}"
        return EncodingNeeded(path, problem, line=line, value=word.decode("latin-1"), remedy=remedy)
    rows = list(zip(words.values(), *readings.values(), strict=True))
    line, *texts = next((row for row in rows if len(set(row[1:])) > 1), rows[0])
    ways = ", ".join(f"{text!r} in {name}" for name, text in zip(readings, texts, strict=True))
    return EncodingNeeded(
        path, f"the text is not UTF-8, and reads {ways}", line=line, remedy=remedy
    )


def _known(path: Pathlike, encoding: str) -> str:
    """The encoding that a user means.

    Raises:
        EncodingNeeded: there is none of this name.
    """
    try:
        "".encode(encoding)
        name = codecs.lookup(encoding).name
        if name in _OF_NAMES:
            raise LookupError
    except (LookupError, ValueError):
        remedy = f"name one such as {', '.join(_LANGUAGES)} or utf-16 with --encoding"
        raise EncodingNeeded(path, f"{encoding!r} is no encoding", remedy=remedy) from None
    if name in (UTF8, "utf-8-sig"):
        return UTF8
    if name == "utf-16":
        with open_binary(path) as file:
            start = file.peek(2)  # type: ignore[attr-defined]
        return _UTF16.get(start[:2], "utf-16-le")
    return encoding


def _copy(path: Pathlike, encoding: str) -> OpenFile:
    """A copy of a text in UTF-8, with the byte order mark if there is one.

    Raises:
        EncodingNeeded: it is not in the encoding.
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
            raise EncodingNeeded(path, problem, line=line, remedy=remedy) from None
        copy.seek(0)
        opened = OpenFile(copy, str(path))
        weakref.finalize(opened, stack.pop_all().close)
    return opened


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    return iter(partial(file.read, _BLOCK), b"")
