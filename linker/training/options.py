"""The options of training a dense encoder; importing them needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from linker.errors import LinkerError


@dataclass(frozen=True, slots=True)
class AlignOptions:
    """Self-alignment: synonyms of the dictionary are drawn together before the list-wise phase (after SapBERT, Liu et al. 2021)."""

    epochs: int = 1  # passes over the synonyms, of which each is paired once; 0 leaves the phase out
    batch_size: int = 128  # pairs; the other pairs of a batch are the negatives
    learning_rate: float = 2e-5
    temperature: float = 0.05  # of InfoNCE: cosines are divided by it
    hard_negatives: bool = True  # pairs with similar vectors share a batch
    warmup: float = 0.05  # share of the steps with a rising learning rate; it falls linearly afterwards

    def __post_init__(self) -> None:
        _at_least("align", self, epochs=0, batch_size=2)
        _above_zero("align", self, "learning_rate", "temperature")


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """The second stage: a cross-encoder reads a mention, the words around it and a candidate together, and reorders the candidates."""

    epochs: int = 0  # passes over the annotated mentions; 0 leaves the stage out
    candidates: int = 10  # concepts of a mention that are read
    words: int = 8  # of the text that are read on either side of a mention
    parents: int = 3  # direct parents of a candidate that are read, the root left out
    weight: float = 0.1  # of its score beside the first stage's, in the units of training (see `score_scale`)
    max_length: int = 96  # tokens of all that is read together
    batch_size: int = 8  # mentions
    learning_rate: float = 3e-5  # of the transformer, which starts from the first stage's
    head_learning_rate: float = 1e-3  # of the layer that turns its vector into a score
    warmup: float = 0.1  # share of the steps with a rising learning rate; it falls linearly afterwards

    def __post_init__(self) -> None:
        _at_least("rerank", self, epochs=0, candidates=2, words=0, parents=0, weight=0, max_length=16, batch_size=1, warmup=0)
        _above_zero("rerank", self, "learning_rate", "head_learning_rate")
        if self.weight == float("inf"):
            raise LinkerError("rerank.weight is inf; expected: a finite number")


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The list-wise phase, and how any training runs. Names in brackets are those of BCNH (Yan et al. 2021)."""

    loss: Literal["listwise", "marginal"] = "listwise"  # BCNH eq. 5, or BioSyn's marginal likelihood
    hypernym_norm: bool = False  # add the norm loss (BCNH eq. 7); embeddings should not be normalised then
    norm_weight: float = 1.0  # weight of the norm loss beside the mean list loss
    score_scale: float = 0.0  # the dense score is the dot product times this, 1 in the papers; 0: 20 for unit vectors, else 1
    relevance_temperature: float = 0.3  # the target is softmax(relevance / this); 1 in BCNH
    top_k: int = 20  # candidates in a list (k1), names
    dense_ratio: float = 0.5  # share of the list that the dense ranking fills, after the sparse one
    max_hypernyms: int = 10  # hypernym names drawn for the norm loss of a mention (k2)
    height: int = 1  # how many steps up a concept still counts as hypernym; 1: direct parents
    keep_unjudged: bool = False  # whether lists without any relevant candidate stay in the loss, as in the published code
    epochs: int = 3  # the most
    keep_best: bool = True  # keep the epoch with the best development Acc@1; the papers keep the last
    patience: int = 2  # with keep_best: epochs without a better development Acc@1 before training stops; 0 never stops
    batch_size: int = 16  # mentions
    optimizer: Literal["adamw", "adam"] = "adamw"  # adam: weight decay is part of the gradient, as in the papers
    learning_rate: float = 2e-5
    weight_decay: float = 0.01
    sparse_weight: float = 0.0  # where λ, the weight of the sparse score, starts
    sparse_learning_rate: float = 0.01  # of λ, without decay
    frequency_weight: float = 0.1  # of log(1 + annotations of a concept), added to the score of its names when linking; 0 in the papers
    warmup: float = 0.1  # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant
    clip: float = 1.0  # largest norm of the gradient; 0: no clipping
    dictionary_queries: int = 2000  # without mentions: names drawn each epoch as queries against their synonyms
    seed: int = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"  # auto: a GPU where there is one
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # auto: bf16 autocast where the processor computes it natively

    def __post_init__(self) -> None:
        _at_least("training", self, top_k=2, max_hypernyms=1, height=1, batch_size=1, dictionary_queries=1, epochs=0, patience=0, seed=0)
        _at_least("training", self, score_scale=0, norm_weight=0, weight_decay=0, sparse_learning_rate=0, warmup=0, clip=0)
        _at_least("training", self, frequency_weight=0)
        _above_zero("training", self, "learning_rate", "relevance_temperature")
        if not 0 <= self.dense_ratio <= 1:
            raise LinkerError(f"training.dense_ratio is {self.dense_ratio}; expected: 0 to 1")


def _at_least(group: str, options: object, **least: float) -> None:
    for name, low in least.items():
        if not getattr(options, name) >= low:
            raise LinkerError(f"{group}.{name} is {getattr(options, name)}; expected: {low} or more")


def _above_zero(group: str, options: object, *names: str) -> None:
    for name in names:
        if not 0 < getattr(options, name) < float("inf"):
            raise LinkerError(f"{group}.{name} is {getattr(options, name)}; expected: a number above 0")
