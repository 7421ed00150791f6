"""The options of the list-wise ranker and of the second stage; importing them needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from linker.ranges import (
    BatchSize,
    Count,
    Decay,
    Epochs,
    LearningRate,
    Range,
    Seed,
    Share,
    Temperature,
    Weight,
    check,
)


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The list-wise phase, and how any training runs. Names in brackets are those of BCNH (Yan et al. 2021)."""

    loss: Literal["listwise", "marginal"] = (
        "listwise"  # BCNH eq. 5, or BioSyn's marginal likelihood
    )
    hypernym_norm: bool = (
        False  # add the norm loss (BCNH eq. 7); embeddings should not be normalised then
    )
    norm_weight: Weight = 1.0  # weight of the norm loss beside the mean list loss
    score_scale: Weight = 0.0  # the dense score is the dot product times this, 1 in the papers; 0: 20 for unit vectors, else 1
    relevance_temperature: Temperature = 0.3  # the target is softmax(relevance / this); 1 in BCNH
    top_k: Annotated[int, Range(2, 1000)] = 20  # candidates in a list (k1), names
    dense_ratio: Share = 0.5  # share of the list that the dense ranking fills, after the sparse one
    max_hypernyms: Annotated[int, Range(1, 1000)] = (
        10  # hypernym names drawn for the norm loss of a mention (k2)
    )
    height: Annotated[int, Range(1, 100)] = (
        1  # how many steps up a concept still counts as hypernym; 1: direct parents
    )
    keep_unjudged: bool = False  # whether lists without any relevant candidate stay in the loss, as in the published code
    epochs: Epochs = 3  # the most
    keep_best: bool = (
        True  # keep the epoch with the best development Acc@1; the papers keep the last
    )
    patience: Count = 2  # with keep_best: epochs without a better development Acc@1 before training stops; 0 never stops
    batch_size: BatchSize = 16  # mentions
    optimizer: Literal["adamw", "adam"] = (
        "adamw"  # adam: weight decay is part of the gradient, as in the papers
    )
    learning_rate: LearningRate = 2e-5
    weight_decay: Decay = 0.01
    sparse_weight: Annotated[float, Range(-1_000_000, 1_000_000)] = (
        0.0  # where λ, the weight of the sparse score, starts
    )
    sparse_learning_rate: Annotated[float, Range(0, 100)] = 0.01  # of λ, without decay
    frequency_weight: Weight = 0.1  # of log(1 + annotations of a concept), added to the score of its names when linking; 0 in the papers
    warmup: Share = 0.1  # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant
    clip: Weight = 1.0  # largest norm of the gradient; 0: no clipping
    dictionary_queries: Count = 2000  # without mentions: names that are queries against their synonyms in an epoch; 0: no such phase then
    seed: Seed = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"  # auto: a GPU where there is one
    precision: Literal["auto", "fp32", "bf16"] = (
        "auto"  # auto: bf16 autocast where the processor computes it natively
    )

    def __post_init__(self) -> None:
        check("training", self)

    def scale(self, is_unit: bool) -> float:
        """What dense scores are multiplied by in training, and scores divided by when linking.

        Args:
            is_unit: whether the vectors have length 1.
        """
        return self.score_scale or (20.0 if is_unit else 1.0)


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """The second stage: a cross-encoder reads a mention, the words around it and a candidate together, and reorders the candidates."""

    epochs: Epochs = 0  # passes over the annotated mentions; 0 leaves the stage out
    candidates: Annotated[int, Range(2, 1000)] = 10  # concepts of a mention that are read
    words: Annotated[int, Range(0, 1000)] = (
        8  # of the text that are read on either side of a mention
    )
    parents: Annotated[int, Range(0, 1000)] = (
        3  # direct parents of a candidate that are read, the root left out
    )
    weight: Weight = (
        0.1  # of its score beside the first stage's, in the units of training (see `score_scale`)
    )
    max_length: Annotated[int, Range(16, 8192)] = 96  # tokens of all that is read together
    batch_size: BatchSize = 8  # mentions
    learning_rate: LearningRate = 3e-5  # of the transformer, which starts from the first stage's
    head_learning_rate: LearningRate = 1e-3  # of the layer that turns its vector into a score
    warmup: Share = (
        0.1  # share of the steps with a rising learning rate; it falls linearly afterwards
    )

    def __post_init__(self) -> None:
        check("rerank", self)
