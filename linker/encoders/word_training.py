"""Training of word vectors, and the texts that they are trained on."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from linker import files
from linker.dictionary import Dictionary
from linker.encoders.words import (
    CONCEPT,
    NAME,
    Subwords,
    WordVectors,
    gensim_models,
    of_fasttext,
    tokens,
)
from linker.errors import LinkerError, OnError, stop
from linker.fields import OptionGroup, Seed
from linker.text.find import Gazetteer
from linker.text.normalize import normalize
from linker.types import Activity

# the most components of all n-gram vectors, 2.4 GB: 2,000,000 of 300, the default of fastText
_COMPONENTS = 600_000_000


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
    window: Annotated[int, Field(ge=1, le=1000)] = 6  # words on either side, at most
    negative: Annotated[int, Field(ge=1, le=1000)] = 5  # wrong words sampled for each right one
    # rarer words get no vector
    min_count: Annotated[int, Field(ge=1, le=1_000_000_000)] = 3
    epochs: Annotated[int, Field(ge=1, le=1_000_000)] = 5  # passes over the text
    min_n: Annotated[int, Field(ge=1, le=50)] = 3  # characters of the shortest n-gram
    max_n: Annotated[int, Field(ge=1, le=50)] = 5  # characters of the longest n-gram
    # number of hashes of n-grams; with fewer, more n-grams share a vector
    buckets: Annotated[int, Field(ge=1, le=3_000_000)] = 50_000
    seed: Seed = 0  # of the vectors

    def __post_init__(self) -> None:
        if self.max_n < self.min_n:
            raise LinkerError(
                f"words.max_n is {self.max_n}; expected: {self.min_n} (words.min_n) or more"
            )
        if self.subwords and self.buckets * self.dim > _COMPONENTS:
            raise LinkerError(
                f"words.buckets is {self.buckets}; expected: {_COMPONENTS // self.dim} or less "
                f"where words.dim is {self.dim}"
            )


def train(
    sentences: Iterable[Sequence[str]],
    options: WordsOptions,
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
        "window": options.window,
        "negative": options.negative,
        "min_count": options.min_count,
        "sg": 1,
        "epochs": options.epochs,
        "seed": options.seed,
        "workers": 1,  # the same result every time
    }
    gensim = gensim_models()
    if not options.subwords or options.tokens != "words":
        with _listening(options.epochs, on_activity):
            vectors = gensim.Word2Vec(sentences, **settings).wv
        rows = np.ascontiguousarray(vectors.vectors, np.float32)
        return WordVectors(list(vectors.index_to_key), rows)
    cut = Subwords(options.min_n, options.max_n, options.buckets)
    settings |= {"min_n": cut.min_n, "max_n": cut.max_n, "bucket": cut.buckets}
    with _listening(options.epochs, on_activity):
        return of_fasttext(gensim.FastText(sentences, **settings).wv)


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
