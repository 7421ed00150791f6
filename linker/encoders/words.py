"""Word vectors; a name is the mean of those of its words (Fivez et al. 2021a, eq. 1).

gensim trains them, and reads files of word2vec and fastText; linking needs neither.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import struct
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass as options_dataclass

from linker.dictionary import Dictionary
from linker.errors import LinkerError, OnError, needing, shorten, stop
from linker.io import files, persistence
from linker.io.option_group import Count, OptionGroup
from linker.io.persistence import Strings
from linker.records import Activity
from linker.text.find import Gazetteer
from linker.text.normalize import normalize

Floats = NDArray[np.float32]
Pieces = tuple[Any, Any]
"""The vector of a name as a sum: rows of `WordVectors.vectors`, and the weight of each.

They are an array "i" and an array "f".
"""

# words that a model keeps besides those of its names, since mentions have them too
FREQUENT = 20_000
# prefixes of tokens that are no words; words are lower case, without spaces
NAME, CONCEPT = "NAME ", "CONCEPT "

_KIND = "words"  # of the folder
_WINDOW = 6  # words on either side of a word that it is to foretell, at most
_NEGATIVE = 5  # wrong words that are sampled for each right one
_MIN_N = 3  # characters of the shortest n-gram
_FASTTEXT = (793712314).to_bytes(4, "little")  # what a fastText .bin begins with
# its version; 12 options, the first of which is dim, the ninth the number of buckets; words
_FASTTEXT_HEAD = struct.Struct("<4xi12id4xi")
_GZIP_RATIO = 1032  # the most that gzip compresses by


@options_dataclass(frozen=True, slots=True)
class WordsOptions(OptionGroup):
    """How word vectors are trained: skip-gram with negative sampling (Mikolov et al. 2013).

    With character n-grams it is fastText (Bojanowski et al. 2017).
    """

    group: ClassVar[str] = "words"

    # what has vectors: words; or names and concepts of the dictionary, too (BNE)
    tokens: Literal["words", "concepts"] = "words"
    dim: Annotated[int, Field(ge=1, le=3000)] = 200  # components of a word's or n-gram's vector
    # rarer words get no vector
    min_count: Annotated[int, Field(ge=1, le=1_000_000_000)] = 3
    epochs: Annotated[int, Field(ge=1, le=1_000_000)] = 5  # passes over the text
    # number of hashes of character n-grams, which have vectors too, so that unknown words have one;
    # 0: only words have; as where names and concepts do
    buckets: Count = 50_000
    max_n: Annotated[int, Field(ge=_MIN_N, le=30)] = 5  # characters of the longest n-gram


@dataclass(frozen=True, slots=True)
class Subwords:
    """Character n-grams as fastText cuts and hashes them (Bojanowski et al. 2017, section 3.2)."""

    min_n: int
    max_n: int
    buckets: int

    def __post_init__(self) -> None:
        numbers = self.min_n, self.max_n, self.buckets
        if any(type(number) is not int for number in numbers) or self.buckets < 1:
            raise ValueError(f"n-grams of {numbers}; expected: lengths and buckets, whole numbers")

    def hashes(self, word: str) -> list[int]:
        """The bucket of each n-gram of `<word>`; n-grams are counted in characters.

        A boundary alone is no n-gram.
        """
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
    """The hash of fastText, FNV-1a over signed bytes; the import of gensim's takes seconds."""
    value = 2166136261
    for byte in text.encode("utf-8", "replace"):
        value = ((value ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619) & 0xFFFFFFFF
    return value


class WordVectors:
    """Vectors of words, and of character n-grams for unknown ones.

    Args:
        words: the vocabulary; tokens that are names or concepts begin with `NAME` and `CONCEPT`.
        vectors: float32 or float16 (len(words) + len(buckets), dim), the n-grams behind the words;
            may be memory-mapped.
        subwords: the settings of the n-grams; None: there are none.
        buckets: sorted hashes of the n-grams that have a vector.

    Raises:
        ValueError: the arrays do not fit each other.
        LinkerError: there is no word, or a number is not finite.
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: NDArray[Any],
        subwords: Subwords | None = None,
        buckets: NDArray[np.int64] | None = None,
    ) -> None:
        self.buckets = np.empty(0, np.int64) if buckets is None else buckets
        self.words, self.subwords = words, subwords
        self.stored = np.asarray(vectors)  # plain, since slices of a memmap are slow
        self.row: dict[str, int] = {}
        for row, word in enumerate(words):
            # of words that differ in case only the first, as the more frequent
            self.row.setdefault(word, row)
        if (
            vectors.ndim != 2
            or len(vectors) != len(words) + len(self.buckets)
            or vectors.dtype not in (np.float32, np.float16)
        ):
            shape = f"({len(words)} words + {len(self.buckets)} n-grams, dim)"
            raise ValueError(
                f"the word vectors are {vectors.dtype} {vectors.shape}, expected: float32 {shape}"
            )
        if not len(words):
            raise LinkerError(
                "there is no word with a vector; give more text, or a smaller words.min_count"
            )
        if not isinstance(vectors, np.memmap):  # of which parts are checked when they are read
            _checked(self.stored)

    @property
    def dim(self) -> int:
        """The number of components of a vector."""
        return int(self.stored.shape[1])

    @cached_property
    def vectors(self) -> Floats:
        """All vectors as float32; linking asks for those of some rows, by `floats`."""
        return _checked(persistence.from_storage(self.stored))

    def floats(self, rows: NDArray[Any]) -> Floats:
        """The vectors of some rows as float32 (len(rows), dim)."""
        return _checked(persistence.from_storage(self.stored[rows]))

    @property
    def checksum(self) -> str:
        """A fingerprint of the vectors."""
        digest = hashlib.sha256("\n".join(self.words).encode("utf-8", "replace"))
        for values in (self.buckets, self.vectors):
            digest.update(np.ascontiguousarray(values).data)
        return digest.hexdigest()

    def pieces(self, name: str) -> Pieces:
        """The vectors that a name is the weighted sum of.

        Each of its words has the same weight; an unknown word is the mean of its n-grams. Words
        without any vector are left out; a name of nothing else has no pieces, and the zero vector.
        """
        rows_of_words = [rows for word in tokens(name) if len(rows := self._rows(word))]
        rows, weights = array("i", itertools.chain.from_iterable(rows_of_words)), array("f")
        for word_rows in rows_of_words:
            weights.extend([1 / (len(rows_of_words) * len(word_rows))] * len(word_rows))
        return rows, weights

    def _rows(self, word: str) -> Sequence[int]:
        row = self.row.get(word)
        if row is not None:
            return (row,)
        if self.subwords is None:
            return ()
        first, buckets, hashes = len(self.words), self.buckets, self.subwords.hashes(word)
        places = np.searchsorted(buckets, np.array(hashes, np.int64)).tolist()
        return [
            first + place
            for place, wanted in zip(places, hashes, strict=True)
            if place < len(buckets) and buckets[place] == wanted
        ]

    def means(self, names: Sequence[str]) -> Floats:
        """The mean word vector u_n of each name (Fivez et al. 2021a, eq. 1).

        Returns:
            float32 (len(names), dim).
        """
        means = np.zeros((len(names), self.dim), np.float32)
        for i, name in enumerate(names):
            rows, weights = self.pieces(name)
            if rows:
                means[i] = np.asarray(weights, np.float32) @ self.floats(np.asarray(rows))
        return means

    def of(self, token: str) -> Floats | None:
        """The vector of a token: a word, or `NAME` or `CONCEPT` and a name or an id; or None."""
        row = self.row.get(token)
        return None if row is None else self.floats(np.array([row]))[0]

    def named(self, names: Sequence[str]) -> Floats:
        """The vector of each name as a token (`NAME`), or the mean of its words where it has none.

        Returns:
            float32 (len(names), dim).
        """
        vectors = self.means(names)
        for row, name in enumerate(names):
            vector = self.of(NAME + " ".join(tokens(name)))
            if vector is not None:
                vectors[row] = vector
        return vectors

    def pruned(self, names: Iterable[str], frequent: int = FREQUENT) -> WordVectors:
        """Keep only the words of some names, the frequent words, and the n-grams of all these.

        Of the tokens that are no words, those of the names and of all concepts stay.

        Args:
            names: whose words are kept.
            frequent: how many of the first words of the vocabulary are kept.
        """
        cut = [tokens(name) for name in names]
        kept_words = {word for name in cut for word in name} | set(self.words[:frequent])
        named = {NAME + " ".join(name) for name in cut} | {
            word for word in self.words if word.startswith(CONCEPT)
        }
        words = [word for word in self.row if word in kept_words or word in named]
        if self.subwords is None:
            return WordVectors(words, self.vectors[[self.row[word] for word in words]])
        used = {h for word in kept_words for h in self.subwords.hashes(word)}
        ngrams = np.array(
            [place for place, h in enumerate(self.buckets.tolist()) if h in used], np.int64
        )
        rows = np.concatenate(
            [np.array([self.row[word] for word in words], np.int64), len(self.words) + ngrams]
        )
        return WordVectors(words, self.vectors[rows], self.subwords, self.buckets[ngrams])

    def to_fp16(self) -> WordVectors:
        """The same vectors, rounded to half precision, as a model stores them."""
        return WordVectors(
            self.words, persistence.to_fp16(self.vectors), self.subwords, self.buckets
        )

    def write(self, folder: Path) -> None:
        """Write what `open` needs into a folder that is being saved."""
        columns = Strings.of(self.words).arrays("word")
        persistence.save_arrays(
            folder,
            {**columns, "vectors": persistence.to_storage(self.stored), "buckets": self.buckets},
        )
        persistence.save_json(
            folder / "subwords.json", self.subwords and dataclasses.asdict(self.subwords)
        )

    @classmethod
    def open(cls, folder: Path) -> WordVectors:
        """Read what `write` wrote; the vectors stay memory-mapped."""
        arrays = persistence.load_arrays(folder)
        saved = persistence.load_json(folder / "subwords.json")
        subwords = None if saved is None else Subwords(**saved)
        words = list(Strings.from_arrays(arrays, "word"))
        return cls(words, arrays["vectors"], subwords, arrays["buckets"])

    def save(self, folder: files.Pathlike) -> None:
        """Write the vectors to a folder of their own; an existing one is replaced at the end."""
        config = {"words": len(self.words), "dim": self.dim}
        with persistence.saving(folder, _KIND, config, lambda aside, _: self.open(aside)) as aside:
            self.write(aside)

    @classmethod
    def read(cls, path: files.Pathlike) -> WordVectors:
        """Read a folder that `save` wrote, a word2vec file (plain or .gz), or a fastText `.bin`.

        Raises:
            LinkerError: it is none of these, or it is damaged.
        """
        if Path(path).is_dir():
            return persistence.load(path, _KIND, lambda folder, _: cls.open(folder))
        with files.open_binary(path) as file, files.reading(path):
            start = file.read(1000)
        if start[:1] == b"\x80" or start[:2] == b"PK":
            raise LinkerError(
                f"{path}: is a pickle or an archive, which may run code when it is read; "
                "save it in the word2vec format"
            )
        try:
            read = _of_fasttext_file if start[:4] == _FASTTEXT else _of_word2vec
            return read(path, start)
        except LinkerError:
            raise
        except Exception as error:  # gensim raises many kinds for damaged files
            reason = shorten(str(error) or type(error).__name__, 200)
            raise LinkerError(
                f"{path}: cannot be read as word vectors ({reason}); "
                "expected: a word2vec file, or a fastText .bin"
            ) from None


def joined(
    names: Iterable[Sequence[Any]],
) -> tuple[NDArray[np.int64], Floats, NDArray[np.int64]]:
    """The `Pieces` of n names one after another.

    Returns:
        The rows of all pieces and their weights, (pieces,) each, and where each name begins and the
        last one ends, (n + 1,).
    """
    rows, weights, ends = array("i"), array("f"), array("q", [0])
    for name_rows, name_weights in names:
        rows.extend(name_rows)
        weights.extend(name_weights)
        ends.append(len(rows))
    return np.asarray(rows, np.int64), np.asarray(weights, np.float32), np.asarray(ends)


def _checked(vectors: NDArray[Any]) -> NDArray[Any]:
    """The vectors, all of which are finite."""
    if vectors.size and not np.isfinite([vectors.min(), vectors.max()]).all():
        raise LinkerError("the word vectors are not finite; their file is damaged")
    return vectors


def unit(vectors: Floats) -> Floats:
    """Vectors (n, dim) brought to length 1; zero vectors stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths, lengths, 1), np.float32)


def tokens(text: str) -> list[str]:
    """The words of a text or a name: lower case, without punctuation."""
    return normalize(text).split()


def train(
    sentences: Iterable[Sequence[str]],
    options: WordsOptions,
    on_activity: Callable[[Activity], None] = lambda part: None,
) -> WordVectors:
    """Train vectors on tokenised sentences; the same for the same seed.

    Args:
        sentences: their words.
        options: the settings of the training.
        on_activity: is called with each epoch.

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
    models, epochs = _gensim(), itertools.count()

    def report(_: object) -> None:
        at = next(epochs)
        share, text = at / options.epochs, f"epoch {at + 1} of {options.epochs}"
        on_activity(Activity("training word vectors", share, text))

    callback = models.callbacks.CallbackAny2Vec()
    callback.on_epoch_begin = report
    settings["callbacks"] = [callback]
    if not options.buckets or options.tokens != "words":
        return _of_gensim(models.Word2Vec(sentences, **settings).wv)
    settings |= {"min_n": _MIN_N, "max_n": options.max_n, "bucket": options.buckets}
    return _of_fasttext(models.FastText(sentences, **settings).wv)


def _gensim() -> Any:
    """The models of gensim, whose import takes seconds."""
    with needing("training or converting word vectors", "dense"):
        import gensim.models
    return gensim.models


def _of_gensim(vectors: Any) -> WordVectors:
    """Take the vectors of gensim's `KeyedVectors`; `NAME` and `CONCEPT` stay as they are."""
    words = [w if w.startswith((NAME, CONCEPT)) else w.lower() for w in vectors.index_to_key]
    return WordVectors(words, np.ascontiguousarray(vectors.vectors, np.float32))


def _of_fasttext(vectors: Any) -> WordVectors:
    """Take the vectors of gensim's `FastTextKeyedVectors`.

    Only the n-grams of the vocabulary are taken: the others were never trained.
    """
    if not (vectors.bucket and vectors.max_n):
        return _of_gensim(vectors)
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
        for _, line in files.read_lines(path, on_error=on_error):
            if words := tokens(line):
                is_empty = False
                yield words
        if is_empty:
            raise LinkerError(f"{path}: holds no words; give a text file, one document a line")


def marked(
    sentences: Iterable[Sequence[str]], names: Mapping[str, Sequence[str]]
) -> Iterator[list[str]]:
    """Put the names that stand in sentences, and their concepts, among the words.

    Of each sentence with a name there are two: with name and concept to the left of its words, and
    to the right, as in BNE (SG_S.C, Phan et al. 2019, section 3.1).

    Args:
        sentences: their words.
        names: normalised name -> ids of its concepts; a name of several adds none of them.
    """
    gazetteer = Gazetteer(names)
    for words in sentences:
        left: list[str] = []
        right: list[str] = []
        at = 0
        for start, end, name in gazetteer.find(words):
            concepts = names[name] if len(names[name]) == 1 else ()
            token = [NAME + name, *(CONCEPT + identifier for identifier in concepts)]
            left += [*words[at:start], *token, *words[start:end]]
            right += [*words[at:end], *token]
            at = end
        yield [*left, *words[at:]]
        if at:
            yield [*right, *words[at:]]


def _of_fasttext_file(path: files.Pathlike, start: bytes) -> WordVectors:
    """Read a fastText .bin, given its first bytes; gensim would read a broken one for ever."""
    if files.is_packed(path):
        raise LinkerError(f"{path}: is a fastText .bin packed by gzip; unpack it first: gunzip")
    _, dim, *numbers, words = _FASTTEXT_HEAD.unpack_from(start)
    _check_size(path, words + numbers[7], dim, 4)
    return _of_fasttext(_gensim().fasttext.load_facebook_vectors(str(path)))


def _of_word2vec(path: files.Pathlike, start: bytes) -> WordVectors:
    """Read a file of word2vec, given its first bytes: in the text format all is printable."""
    header, _, rest = start.partition(b"\n")
    count, dim = map(int, header.split())
    is_binary = any(byte < 32 and byte not in b"\t\r\n" for byte in rest)
    _check_size(path, count, dim, 4 if is_binary else 2)
    vectors = _gensim().KeyedVectors.load_word2vec_format(
        str(path), binary=is_binary, unicode_errors="replace"
    )
    return _of_gensim(vectors)


def _check_size(path: files.Pathlike, count: int, dim: int, size: int) -> None:
    """Raise ValueError where a file cannot hold as many numbers of so many bytes as it says."""
    largest = Path(path).stat().st_size * (_GZIP_RATIO if files.is_packed(path) else 1)
    if count < 1 or dim < 1 or size * count * dim > largest:
        raise ValueError(f"it does not hold {count:,} vectors of {dim:,} components")
