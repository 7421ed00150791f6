"""Word vectors trained by gensim on texts, or read from files of word2vec and fastText."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import mmap
import re
import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from linker import files
from linker.dictionary import Dictionary
from linker.encoders.words import CONCEPT, NAME, Subwords, WordVectors, tokens
from linker.errors import InputError, LinkerError, OnError, needing, shorten, stop
from linker.fields import OptionGroup
from linker.text.find import Gazetteer
from linker.text.normalize import normalize
from linker.types import Activity

_WINDOW = 6  # words on either side of a word that it is to foretell, at most
_NEGATIVE = 5  # wrong words that are sampled for each right one
_MIN_N = 3  # characters of the shortest n-gram
_FASTTEXT = (793712314).to_bytes(4, "little")  # what a fastText .bin begins with
# version; dim and other options; sizes: all entries, words, labels, tokens, pruned n-grams
_FASTTEXT_HEAD = struct.Struct("<4xi12id3i2q")
_FASTTEXT_COUNT = 9  # bytes behind a word: how often it occurs, and its kind
_FASTTEXT_MATRIX = struct.Struct("<?2q")  # whether it is quantised, rows, columns
_GZIP_RATIO = 1032  # the most that gzip compresses by


@dataclass(frozen=True, slots=True)
class WordsOptions(OptionGroup):
    """How word vectors are trained: skip-gram with negative sampling (Mikolov et al. 2013).

    With character n-grams it is fastText (Bojanowski et al. 2017).
    """

    group: ClassVar[str] = "words"

    # what has vectors: words, names too, names and concepts too (BNE)
    tokens: Literal["words", "names", "concepts"] = "words"
    # character n-grams have vectors too, so that unknown words have one; only where all tokens
    # are words
    subwords: bool = True
    dim: Annotated[int, Field(ge=1, le=3000)] = 200  # components of a word's or n-gram's vector
    # rarer words get no vector
    min_count: Annotated[int, Field(ge=1, le=1_000_000_000)] = 3
    epochs: Annotated[int, Field(ge=1, le=1_000_000)] = 5  # passes over the text


@dataclass(frozen=True, slots=True)
class WordsRecipe(WordsOptions):
    """The options with the constants that presets alone choose."""

    max_n: int = 5  # characters of the longest n-gram
    buckets: int = 50_000  # number of hashes of n-grams; with fewer, more n-grams share a vector


def train(
    sentences: Iterable[Sequence[str]],
    options: WordsRecipe,
    on_activity: Callable[[Activity], None] = lambda part: None,
) -> WordVectors:
    """Train vectors on tokenised sentences; the same for the same seed.

    Args:
        sentences: their words.
        options: the settings of the training.
        on_activity: is called every second with the progress.

    Raises:
        LinkerError: gensim is not installed, or no word is frequent enough.
    """
    sentences = list(sentences)
    counts = Counter(itertools.chain.from_iterable(sentences))
    if not any(count >= options.min_count for count in counts.values()):
        raise LinkerError(
            f"no word of the text occurs {options.min_count} times (words.min_count): it holds "
            f"{len(counts):,} distinct words; give more text, or a smaller words.min_count"
        )
    settings: dict[str, Any] = {
        "vector_size": options.dim,
        "window": _WINDOW,
        "negative": _NEGATIVE,
        "min_count": options.min_count,
        "sg": 1,
        "epochs": options.epochs,
        "seed": 0,
        "workers": 1,  # the same result every time
    }
    gensim = _gensim_models()
    if not options.subwords or options.tokens != "words":
        with _listening(options.epochs, on_activity):
            vectors = gensim.Word2Vec(sentences, **settings).wv
        rows = np.ascontiguousarray(vectors.vectors, np.float32)
        return WordVectors(list(vectors.index_to_key), rows)
    cut = Subwords(_MIN_N, options.max_n, options.buckets)
    settings |= {"min_n": cut.min_n, "max_n": cut.max_n, "bucket": cut.buckets}
    with _listening(options.epochs, on_activity):
        return _of_fasttext(gensim.FastText(sentences, **settings).wv)


def _gensim_models() -> Any:
    """The models of gensim, whose import takes seconds."""
    with needing("training or converting word vectors", "dense"):
        import gensim.models
    return gensim.models


def _of_fasttext(vectors: Any) -> WordVectors:
    """Take the vectors of gensim's `FastTextKeyedVectors`.

    Only the n-grams of the vocabulary are taken: the others were never trained.
    """
    if not (vectors.bucket and vectors.max_n):
        return WordVectors(
            [word.lower() for word in vectors.index_to_key],
            np.ascontiguousarray(vectors.vectors, np.float32),
        )
    cut = Subwords(vectors.min_n, vectors.max_n, vectors.bucket)
    used = np.unique(
        np.concatenate([np.asarray(hashes, np.int64) for hashes in vectors.buckets_word])
    )
    stacked = np.concatenate([vectors.vectors, vectors.vectors_ngrams[used]]).astype(np.float32)
    return WordVectors([word.lower() for word in vectors.index_to_key], stacked, cut, used)


def dictionary_names(dictionary: Dictionary) -> dict[str, list[str]]:
    """The names of a dictionary, normalised, and the ids of the concepts of each."""
    table = dictionary.table(normalize)
    spans = itertools.pairwise(table.indptr.tolist())
    return {
        text: [dictionary.ids[c] for c in table.concepts[a:b]]
        for text, (a, b) in zip(table.texts, spans, strict=True)
        if text
    }


def read_texts(paths: Iterable[files.Pathlike], on_error: OnError = stop) -> Iterator[list[str]]:
    """The tokens of each line of some text files, plain or .gz; empty lines are left out.

    Args:
        paths: the files.
        on_error: what to do with a line that is not text; returns to skip it.

    Raises:
        LinkerError: a file cannot be read, holds no word, or what `on_error` raises.
    """
    for path in paths:
        is_empty = True
        for _, line in files.read_lines(path, limit=None, on_error=on_error):
            if words := tokens(line):
                is_empty = False
                yield words
        if is_empty:
            raise LinkerError(f"{path}: holds no words; give a text file, one document a line")


def marked(
    sentences: Iterable[Sequence[str]], names: Mapping[str, Sequence[str]], kind: str
) -> Iterator[list[str]]:
    """Put the names that stand in sentences, and their concepts, among the words.

    As BNE does (Phan et al. 2019, section 3.1).

    Args:
        sentences: their words.
        names: normalised name -> ids of its concepts; a name of several adds none of them.
        kind: `names` puts a name in the place of its words (SG_S); `concepts` gives two sentences,
            with name and concept to the left of the words, and to the right (SG_S.C).
    """
    gazetteer = Gazetteer(names)
    for words in sentences:
        matches = gazetteer.find(words)
        if kind == "names":
            yield _with(words, matches, lambda name, _: [NAME + name])
            continue
        token = {
            name: [NAME + name, *(CONCEPT + i for i in names[name] if len(names[name]) == 1)]
            for _, _, name in matches
        }
        yield _with(words, matches, lambda name, inner: [*token[name], *inner])  # noqa: B023
        if matches:
            yield _with(words, matches, lambda name, inner: [*inner, *token[name]])  # noqa: B023


def _with(
    words: Sequence[str],
    matches: Sequence[tuple[int, int, str]],
    put: Callable[[str, Sequence[str]], list[str]],
) -> list[str]:
    """Replace the names in a sentence.

    Args:
        words: of the sentence.
        matches: where each name starts and ends, and the name.
        put: makes tokens of a name and its words, to stand in their place.
    """
    replaced, at = [], 0
    for start, end, name in matches:
        replaced += [*words[at:start], *put(name, words[start:end])]
        at = end
    return [*replaced, *words[at:]]


@contextlib.contextmanager
def _listening(epochs: int, on_activity: Callable[[Activity], None]) -> Iterator[None]:
    """Report the progress of gensim, which it only writes to its log.

    The rest of its log is not changed.
    """
    log = logging.getLogger("gensim.models.word2vec")
    level, threshold = log.level, log.getEffectiveLevel()

    def heard(record: logging.LogRecord) -> bool:
        if str(record.msg).startswith("EPOCH %i - PROGRESS: at %.2f%%") and isinstance(
            record.args, tuple
        ):
            epoch, percent = cast(tuple[int, float], record.args[:2])  # from 0, and of this epoch
            on_activity(
                Activity(
                    "training word vectors",
                    (epoch + percent / 100) / epochs,
                    f"epoch {epoch + 1} of {epochs}",
                )
            )
        return record.levelno >= threshold

    on_activity(Activity("training word vectors", at=f"epoch 1 of {epochs}"))
    log.addFilter(heard)
    log.setLevel(min(logging.INFO, threshold))
    try:
        yield
    finally:
        log.removeFilter(heard)
        log.setLevel(level)


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
    return _of_fasttext(_gensim_models().fasttext.load_facebook_vectors(str(path)))


def _read_binary(path: files.Pathlike, header: bytes) -> WordVectors:
    count, dim = map(int, header.split())
    largest = Path(path).stat().st_size * (_GZIP_RATIO if files.is_packed(path) else 1)
    if not 0 <= 4 * count * dim <= largest:
        raise ValueError(f"it does not hold {count:,} vectors of {dim:,} components")
    vectors = _gensim_models().KeyedVectors.load_word2vec_format(
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
