"""Word vectors in files of word2vec and fastText."""

from __future__ import annotations

import math
import mmap
import re
import struct
from array import array
from pathlib import Path

import numpy as np

from linker import files
from linker.encoders.words import WordVectors, gensim_models, of_fasttext
from linker.errors import InputError, LinkerError, shorten

_FASTTEXT = (793712314).to_bytes(4, "little")  # what a fastText .bin begins with
# version; dim and other options; sizes: all entries, words, labels, tokens, pruned n-grams
_FASTTEXT_HEAD = struct.Struct("<4xi12id3i2q")
_FASTTEXT_COUNT = 9  # bytes behind a word: how often it occurs, and its kind
_FASTTEXT_MATRIX = struct.Struct("<?2q")  # whether it is quantised, rows, columns
_GZIP_RATIO = 1032  # the most that gzip compresses by


def read(path: files.Pathlike) -> WordVectors:
    """Read a word2vec file (text or binary, plain or .gz), or a fastText `.bin`.

    Raises:
        LinkerError: it is none of these, or a line of it is broken.
    """
    with files.open_binary(path) as file, files.reading(path):
        start = file.read(1000)
    if start[:1] == b"\x80" or start[:2] == b"PK":
        raise LinkerError(
            f"{path}: is a pickle or an archive, which may run code when it is read; "
            "save it in the word2vec format"
        )
    if start[:4] != _FASTTEXT and not _is_binary(start):
        return _read_text(path)
    try:
        return (
            _read_fasttext(path)
            if start[:4] == _FASTTEXT
            else _read_binary(path, start.partition(b"\n")[0])
        )
    except LinkerError:
        raise
    except Exception as error:  # gensim raises many kinds for damaged files
        reason = shorten(str(error) or type(error).__name__, 200)
        raise LinkerError(
            f"{path}: cannot be read as word vectors ({reason}); "
            "expected: a word2vec file, or a fastText .bin"
        ) from None


def _check_fasttext(path: files.Pathlike) -> None:
    """Check that a fastText .bin holds as many numbers as it says.

    Otherwise gensim would allocate memory for all of them, or read for ever.

    Raises:
        ValueError: it holds fewer.
    """
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            numbers = _FASTTEXT_HEAD.unpack_from(data)
            (dim, *_), (words, _, _, _, pruned), at = numbers[1:], numbers[-5:], _FASTTEXT_HEAD.size
            for _ in range(words):
                at = (end := data.find(b"\0", at)) + 1 + _FASTTEXT_COUNT
                if end < 0:
                    raise ValueError
            _, rows, columns = _FASTTEXT_MATRIX.unpack_from(data, at + 8 * max(0, pruned))
        except (struct.error, ValueError):
            raise ValueError("its vocabulary is broken off") from None
        if columns != dim or not 0 <= 4 * rows * columns <= len(data) - at:
            raise ValueError(f"it does not hold {rows:,} vectors of {columns:,} components")


def _read_fasttext(path: files.Pathlike) -> WordVectors:
    if files.is_packed(path):
        raise LinkerError(f"{path}: is a fastText .bin packed by gzip; unpack it first: gunzip")
    _check_fasttext(path)
    return of_fasttext(gensim_models().fasttext.load_facebook_vectors(str(path)))


def _read_binary(path: files.Pathlike, header: bytes) -> WordVectors:
    count, dim = map(int, header.split())
    largest = Path(path).stat().st_size * (_GZIP_RATIO if files.is_packed(path) else 1)
    if not 0 <= 4 * count * dim <= largest:
        raise ValueError(f"it does not hold {count:,} vectors of {dim:,} components")
    vectors = gensim_models().KeyedVectors.load_word2vec_format(
        str(path), binary=True, unicode_errors="replace"
    )
    return WordVectors(
        [word.lower() for word in vectors.index_to_key],
        np.ascontiguousarray(vectors.vectors, np.float32),
    )


def _read_text(path: files.Pathlike) -> WordVectors:
    """Read the text format of word2vec.

    gensim is not used: it takes a line with one number for a vector of equal numbers.
    """
    lines = files.read_lines(path, limit=None)
    _, header = next(lines, (1, ""))
    if not re.fullmatch(r"\s*[0-9]{1,12} 0*[1-9][0-9]{0,5}\s*", header):
        expected = "the number of words and the number of components, as in word2vec files"
        raise InputError(
            path, "the first line is no header", line=1, value=header, expected=expected
        )
    count, dim = map(int, header.split())
    words: list[str] = []
    vectors = array("f")
    for number, line in lines:
        word, *numbers = line.rstrip().rsplit(" ", dim)
        expected = f"a word and {dim} numbers, on {count} lines"
        problem = InputError(
            path, "the line is no word vector", line=number, value=line[:80], expected=expected
        )
        if len(numbers) != dim or len(words) == count:
            raise problem
        try:
            vectors.extend([float(text) for text in numbers])
        except (ValueError, OverflowError):
            raise problem from None
        if not math.isfinite(sum(vectors[-dim:])):
            raise problem
        words.append(word.lower())
    if len(words) != count:
        raise LinkerError(
            f"{path}: ends after {len(words)} of {count} words; it is incomplete, fetch it again"
        )
    return WordVectors(words, np.frombuffer(vectors, np.float32).reshape(-1, dim))


def _is_binary(start: bytes) -> bool:
    """Whether a word2vec file holds its numbers as bytes: in text all is printable."""
    return any(byte < 32 and byte not in b"\t\r\n" for byte in start.partition(b"\n")[2])
