"""Word vectors: trained here or read from files of word2vec and fastText; a name is the mean of its words (Fivez et al. 2021a, eq. 1)."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import logging
import math
import mmap
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from linker import files, persistence
from linker.dictionary import Dictionary
from linker.encoders.options import WordsOptions
from linker.errors import InputError, LinkerError, OnError, shorten, stop
from linker.persistence import Strings
from linker.text.gazetteer import Gazetteer
from linker.text.normalize import normalize
from linker.types import Activity
from linker.version import install_hint

Floats = NDArray[np.float32]
Pieces = tuple[
    Any, Any
]  # rows of `WordVectors.vectors` (array "i") and their weights (array "f"), whose weighted sum is the vector of a name

KIND = "words"  # of the folder
FREQUENT = (
    20_000  # words that a model keeps beside those of its names, since mentions hold them too
)
NAME, CONCEPT = (
    "NAME ",
    "CONCEPT ",
)  # what tokens that are no words begin with; words are lower case, without spaces
_FASTTEXT = (793712314).to_bytes(4, "little")
_FASTTEXT_HEAD = struct.Struct(
    "<4xi12id3i2q"
)  # version; dim and other options; words, of them words and labels, tokens, pruned n-grams
_FASTTEXT_COUNT = 9  # bytes behind a word: how often it occurs, and its kind
_GZIP_RATIO = 1032  # by which gzip shortens at most
_FASTTEXT_MATRIX = struct.Struct("<?2q")  # whether it is quantised, rows, columns


@dataclass(frozen=True, slots=True)
class Subwords:
    """Character n-grams as fastText cuts and hashes them (Bojanowski et al. 2017, section 3.2)."""

    min_n: int
    max_n: int
    buckets: int

    def hashes(self, word: str) -> list[int]:
        """The bucket of each n-gram of `<word>`, counted in characters; boundaries alone are none."""
        marked = f"<{word}>"
        ends = range(len(marked) + 1)
        spans = (
            (a, b)
            for a in ends
            for b in range(a + max(1, self.min_n), min(a + self.max_n, len(marked)) + 1)
        )
        return [
            _fnv(marked[a:b]) % self.buckets
            for a, b in spans
            if not (b - a == 1 and (a == 0 or b == len(marked)))
        ]


def _fnv(text: str) -> int:
    """The hash of fastText, FNV-1a over signed bytes. Not taken from gensim, whose import takes seconds."""
    value = 2166136261
    for byte in text.encode("utf-8", "replace"):
        value = ((value ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619) & 0xFFFFFFFF
    return value


class WordVectors:
    """Vectors of words, and of character n-grams for unknown ones.

    Args:
        words: the vocabulary; tokens that are names or concepts begin with `NAME` and `CONCEPT`.
        vectors: float32 (len(words) + len(buckets), dim), the n-grams behind the words.
        subwords: how n-grams are cut; None: there are none.
        buckets: sorted hashes of the n-grams that have a vector.

    Raises:
        LinkerError: the arrays do not fit each other, or a number is not finite.
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: Floats,
        subwords: Subwords | None = None,
        buckets: NDArray[np.int64] | None = None,
    ) -> None:
        self.buckets = np.empty(0, np.int64) if buckets is None else buckets
        self.words, self.vectors, self.subwords = words, vectors, subwords
        self.row: dict[str, int] = {}
        for row, word in enumerate(words):
            self.row.setdefault(
                word, row
            )  # of words that differ in case only the first, as the more frequent
        if (
            vectors.ndim != 2
            or len(vectors) != len(words) + len(self.buckets)
            or vectors.dtype != np.float32
        ):
            shape = f"({len(words)} words + {len(self.buckets)} n-grams, dim)"
            raise LinkerError(
                f"the word vectors are {vectors.dtype} {vectors.shape}, expected: float32 {shape}"
            )
        if not len(words):
            raise LinkerError(
                "there is no word with a vector; give more text, or a smaller words.min_count"
            )
        if not np.isfinite([vectors.min(), vectors.max()]).all():
            raise LinkerError("the word vectors are not finite; their file is damaged")

    @property
    def dim(self) -> int:
        """The number of components of a vector."""
        return int(self.vectors.shape[1])

    @property
    def checksum(self) -> str:
        """What tells these vectors from others."""
        digest = hashlib.sha256("\n".join(self.words).encode("utf-8", "replace"))
        for values in (self.buckets, self.vectors):
            digest.update(np.ascontiguousarray(values).data)
        return digest.hexdigest()

    def pieces(self, name: str) -> Pieces:
        """Which vectors a name is the sum of: its words, each with the same weight, an unknown word as the mean of its n-grams.

        Words without any vector are left out; a name of nothing else has no pieces, and the zero vector.
        """
        found = [rows for word in tokens(name) if len(rows := self._rows(word))]
        rows, weights = array("i", itertools.chain.from_iterable(found)), array("f")
        for some in found:
            weights.extend([1 / (len(found) * len(some))] * len(some))
        return rows, weights

    def _rows(self, word: str) -> Sequence[int]:
        row = self.row.get(word)
        if row is not None:
            return (row,)
        if self.subwords is None:
            return ()
        hashes = np.array(self.subwords.hashes(word), np.int64)
        places = np.searchsorted(self.buckets, hashes)
        kept = [
            p
            for p, h in zip(places.tolist(), hashes.tolist(), strict=True)
            if p < len(self.buckets) and self.buckets[p] == h
        ]
        return [len(self.words) + place for place in kept]

    def means(self, names: Sequence[str]) -> Floats:
        """The mean word vector u_n of each name (Fivez et al. 2021a, eq. 1), float32 (len(names), dim)."""
        made = np.zeros((len(names), self.dim), np.float32)
        for i, name in enumerate(names):
            rows, weights = self.pieces(name)
            if rows:
                made[i] = np.asarray(weights, np.float32) @ self.vectors[np.asarray(rows)]
        return made

    def of(self, token: str) -> Floats | None:
        """The vector of a token: a word, or `NAME` or `CONCEPT` and what it names; None where it has none."""
        row = self.row.get(token)
        return None if row is None else self.vectors[row]

    def named(self, names: Sequence[str]) -> Floats:
        """The vector of each name as a token (`NAME`), or the mean of its words where it has none; float32 (len(names), dim)."""
        made = self.means(names)
        for row, name in enumerate(names):
            own = self.of(NAME + " ".join(tokens(name)))
            if own is not None:
                made[row] = own
        return made

    def pruned(self, names: Iterable[str], frequent: int = FREQUENT) -> WordVectors:
        """Only the words of some names, the first words of the vocabulary (the frequent ones), and the n-grams of all these.

        Of the tokens that are no words, those of the names and of all concepts stay.
        """
        cut = [tokens(name) for name in names]
        wanted = {word for name in cut for word in name} | set(self.words[:frequent])
        named = {NAME + " ".join(name) for name in cut} | {
            word for word in self.words if word.startswith(CONCEPT)
        }
        words = [word for word in self.row if word in wanted or word in named]
        if self.subwords is None:
            return WordVectors(words, self.vectors[[self.row[word] for word in words]])
        used = {h for word in wanted for h in self.subwords.hashes(word)}
        kept = np.array(
            [place for place, h in enumerate(self.buckets.tolist()) if h in used], np.int64
        )
        rows = np.concatenate(
            [np.array([self.row[word] for word in words], np.int64), len(self.words) + kept]
        )
        return WordVectors(words, self.vectors[rows], self.subwords, self.buckets[kept])

    def halved(self) -> WordVectors:
        """The same in half precision, in which a model keeps them."""
        return WordVectors(
            self.words, persistence.to_fp16(self.vectors), self.subwords, self.buckets
        )

    def write(self, folder: Path) -> None:
        """Write what `open` needs into a folder that is being saved."""
        columns = Strings.of(self.words).arrays("word")
        persistence.save_arrays(
            folder,
            {**columns, "vectors": persistence.to_storage(self.vectors), "buckets": self.buckets},
        )
        how = self.subwords
        persistence.save_json(
            folder / "subwords.json",
            how and {"min_n": how.min_n, "max_n": how.max_n, "buckets": how.buckets},
        )

    @classmethod
    def open(cls, folder: Path) -> WordVectors:
        """Read what `write` wrote; the vectors stay memory-mapped where they are float32."""
        arrays, how = (
            persistence.load_arrays(folder),
            persistence.load_json(folder / "subwords.json"),
        )
        try:
            words = list(Strings.from_arrays(arrays, "word"))
            return cls(
                words,
                persistence.from_storage(arrays["vectors"]),
                how and Subwords(**how),
                arrays["buckets"],
            )
        except (KeyError, TypeError, ValueError, LinkerError) as error:
            raise LinkerError(
                f"{folder}: holds no word vectors as linker writes them ({error}); make them again"
            ) from None

    def save(self, folder: files.Pathlike, made_of: str = "") -> None:
        """Write a folder of its own, which is replaced at the end where it was there.

        Args:
            made_of: what tells the text and options that they were trained on from others; see `was_made_of`.
        """
        with persistence.saving(
            folder, KIND, {"words": len(self.words), "dim": self.dim, "made_of": made_of}
        ) as aside:
            self.write(aside)

    @staticmethod
    def was_made_of(folder: files.Pathlike) -> str:
        """What `save` was told of a folder."""
        return persistence.load(folder, KIND, lambda _, config: str(config.get("made_of", "")))

    @classmethod
    def read(cls, path: files.Pathlike) -> WordVectors:
        """Read a folder that `save` wrote, a word2vec file (text or binary, plain or .gz), or a fastText `.bin`.

        Raises:
            LinkerError: it is none of these, or a line of it is broken.
        """
        if Path(path).is_dir():
            return persistence.load(path, KIND, lambda folder, _: cls.open(folder))
        with files.open_binary(path) as file, files.reading(path):
            start = file.read(1000)
        if start[:1] == b"\x80" or start[:2] == b"PK":
            raise LinkerError(
                f"{path}: is a pickle or an archive, which may run code when it is read; save it in the word2vec format"
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
        except Exception as error:  # what a damaged file does to gensim has many names
            reason = shorten(str(error) or type(error).__name__, 200)
            raise LinkerError(
                f"{path}: cannot be read as word vectors ({reason}); expected: a word2vec file, or a fastText .bin"
            ) from None

    @classmethod
    def of_names(
        cls,
        names: Iterable[str],
        options: WordsOptions,
        on_activity: Callable[[Activity], None] = lambda part: None,
    ) -> WordVectors:
        """Train vectors on nothing but names; see `train`.

        Raises:
            LinkerError: the options want what only texts have, or as for `train`.
        """
        if options.tokens != "words":
            raise LinkerError(
                f"words.tokens={options.tokens} finds names in texts, and there are none; give some with --text"
            )
        return cls.train(map(tokens, names), options, on_activity)

    @classmethod
    def train(
        cls,
        sentences: Iterable[Sequence[str]],
        options: WordsOptions,
        on_activity: Callable[[Activity], None] = lambda part: None,
    ) -> WordVectors:
        """Train vectors on tokenised sentences; the same for the same seed.

        Args:
            sentences: their words.
            options: how.
            on_activity: is told every second how far it is.

        Raises:
            LinkerError: gensim is not installed, or no word is frequent enough.
        """
        sentences = list(sentences)
        counted: dict[str, int] = {}
        for token in itertools.chain.from_iterable(sentences):
            counted[token] = counted.get(token, 0) + 1
        if not any(count >= options.min_count for count in counted.values()):
            raise LinkerError(
                f"no word of the text occurs {options.min_count} times (words.min_count): it holds "
                f"{len(counted):,} distinct words; give more text, or a smaller words.min_count"
            )
        common = {
            "vector_size": options.dim,
            "window": options.window,
            "negative": options.negative,
            "min_count": options.min_count,
        }
        how = {
            "sg": 1,
            "epochs": options.epochs,
            "seed": options.seed,
            "workers": 1,
        }  # one worker: the same result every time
        gensim = _gensim()
        if not options.subwords or options.tokens != "words":
            with _listening(options.epochs, on_activity):
                model = gensim.Word2Vec(sentences, **common, **how)
            return cls(
                list(model.wv.index_to_key), np.ascontiguousarray(model.wv.vectors, np.float32)
            )
        cut = Subwords(options.min_n, options.max_n, options.buckets)
        with _listening(options.epochs, on_activity):
            model = gensim.FastText(
                sentences, **common, **how, min_n=cut.min_n, max_n=cut.max_n, bucket=cut.buckets
            )
        return _of_fasttext(model.wv)


def unit(vectors: Floats) -> Floats:
    """Vectors (n, dim) brought to length 1; zero vectors stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths, lengths, 1), np.float32)


def tokens(text: str) -> list[str]:
    """The words of a text or a name: lower case, without punctuation."""
    return normalize(text).split()


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
        on_error: what to do with a line that is not text; returns to skip it.

    Raises:
        LinkerError: a file cannot be read, holds no word, or what `on_error` raises.
    """
    for path in paths:
        found = False
        for _, line in files.read_lines(path, limit=None, on_error=on_error):
            if words := tokens(line):
                found = True
                yield words
        if not found:
            raise LinkerError(f"{path}: holds no words; give a text file, one document a line")


def marked(
    sentences: Iterable[Sequence[str]], names: Mapping[str, Sequence[str]], kind: str
) -> Iterator[list[str]]:
    """Put the names that stand in sentences, and their concepts, among the words (BNE, Phan et al. 2019, section 3.1).

    Args:
        names: normalised name -> ids of its concepts; a name of several adds none of them.
        kind: `names` puts a name in the place of its words (SG_S); `concepts` gives two sentences, with name and concept to the left
            of the words, and to the right (SG_S.C).
    """
    gazetteer = Gazetteer(names)
    for words in sentences:
        found = gazetteer.find(words)
        if kind == "names":
            yield _with(words, found, lambda name, own: [NAME + name])
            continue
        token = {
            name: [NAME + name, *(CONCEPT + i for i in names[name] if len(names[name]) == 1)]
            for _, _, name in found
        }
        yield _with(words, found, lambda name, own: [*token[name], *own])  # noqa: B023 - used at once
        if found:
            yield _with(words, found, lambda name, own: [*own, *token[name]])  # noqa: B023


def _with(
    words: Sequence[str],
    found: Sequence[tuple[int, int, str]],
    put: Callable[[str, Sequence[str]], list[str]],
) -> list[str]:
    """Words with what is put in the place of each name that was found, given the name and its words."""
    made, at = [], 0
    for start, end, name in found:
        made += [*words[at:start], *put(name, words[start:end])]
        at = end
    return [*made, *words[at:]]


def _gensim() -> Any:
    try:
        import gensim.models
    except ModuleNotFoundError:
        raise LinkerError(
            f"word vectors are trained and converted by gensim, which is not installed: {install_hint('dense')}"
        ) from None
    return gensim.models


@contextlib.contextmanager
def _listening(epochs: int, on_activity: Callable[[Activity], None]) -> Iterator[None]:
    """Hand on how far gensim logs that it is, which it tells in no other way; the rest of its log is as it was."""
    log = logging.getLogger("gensim.models.word2vec")
    own, shown = log.level, log.getEffectiveLevel()

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
        return record.levelno >= shown

    on_activity(Activity("training word vectors", at=f"epoch 1 of {epochs}"))
    log.addFilter(heard)
    log.setLevel(min(logging.INFO, shown))
    try:
        yield
    finally:
        log.removeFilter(heard)
        log.setLevel(own)


def _of_fasttext(vectors: Any) -> WordVectors:
    """The vectors of gensim's `FastTextKeyedVectors`, of the n-grams those of the vocabulary: the others were never trained."""
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


def _check_fasttext(path: files.Pathlike) -> None:
    """Raise ValueError where a fastText .bin holds fewer numbers than it says: gensim would make room for all, or read for ever."""
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
    return _of_fasttext(_gensim().fasttext.load_facebook_vectors(str(path)))


def _read_binary(path: files.Pathlike, header: bytes) -> WordVectors:
    count, dim = map(int, header.split())
    most = Path(path).stat().st_size * (_GZIP_RATIO if files.is_packed(path) else 1)
    if not 0 <= 4 * count * dim <= most:
        raise ValueError(f"it does not hold {count:,} vectors of {dim:,} components")
    vectors = _gensim().KeyedVectors.load_word2vec_format(
        str(path), binary=True, unicode_errors="replace"
    )
    return WordVectors(
        [word.lower() for word in vectors.index_to_key],
        np.ascontiguousarray(vectors.vectors, np.float32),
    )


def _read_text(path: files.Pathlike) -> WordVectors:
    """Read the text format of word2vec. Not by gensim, which takes a line with one number for a vector of equal ones."""
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
