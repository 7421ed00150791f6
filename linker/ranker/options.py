"""The options of the list-wise ranker; importing them needs no torch."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from linker.fields import (
    BatchSize,
    Count,
    Decay,
    Epochs,
    LearningRate,
    OptionGroup,
    Seed,
    Share,
    Temperature,
    Weight,
)


@dataclass(frozen=True, slots=True)
class TrainingOptions(OptionGroup):
    """The list-wise phase, and how any training runs. Names in brackets: BCNH (Yan et al. 2021)."""

    group: ClassVar[str] = "training"

    # listwise: BCNH eq. 5; marginal: BioSyn's marginal likelihood
    loss: Literal["listwise", "marginal"] = "listwise"
    hypernym_norm: bool = False  # add the norm loss (BCNH eq. 7); wants vectors of any length
    norm_weight: Weight = 1.0  # weight of the norm loss beside the mean list loss
    # the dense score is the dot product times this, 1 in the papers; 0: 20 for unit vectors, else 1
    score_scale: Weight = 0.0
    relevance_temperature: Temperature = 0.3  # the target is softmax(relevance / this); 1 in BCNH
    top_k: Annotated[int, Field(ge=2, le=1000)] = 20  # candidates in a list (k1), names
    dense_ratio: Share = 0.5  # share of the list that the dense ranking fills, after the sparse one
    # hypernym names that are sampled for the norm loss of a mention (k2)
    max_hypernyms: Annotated[int, Field(ge=1, le=1000)] = 10
    # steps up the hierarchy within which a concept counts as hypernym; 1: direct parents
    height: Annotated[int, Field(ge=1, le=100)] = 1
    # lists without any relevant candidate stay in the loss, as in the published code
    keep_unjudged: bool = False
    epochs: Epochs = 3  # the most
    keep_best: bool = True  # the epoch with the best development Acc@1; the papers keep the last
    # with keep_best: epochs without a better development Acc@1 before training stops; 0 never stops
    patience: Count = 2
    batch_size: BatchSize = 16  # mentions
    # adam: weight decay is part of the gradient, as in the papers
    optimizer: Literal["adamw", "adam"] = "adamw"
    learning_rate: LearningRate = 2e-5  # of the encoder, at its highest
    weight_decay: Decay = 0.01  # of the encoder
    # where λ, the weight of the sparse score, starts
    sparse_weight: Annotated[float, Field(ge=-1_000_000, le=1_000_000)] = 0.0
    sparse_learning_rate: Annotated[float, Field(ge=0, le=100)] = 0.01  # of λ, without decay
    # of log(1 + annotations of a concept), added to the score of its names when linking;
    # 0 in the papers
    frequency_weight: Weight = 0.1
    # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant
    warmup: Share = 0.1
    clip: Weight = 1.0  # largest norm of the gradient; 0: no clipping
    # without mentions: names that are queries against their synonyms in an epoch;
    # 0: no list-wise phase then
    dictionary_queries: Count = 2000
    seed: Seed = 0  # of all that is random; same seed, same machine, same model
    device: Literal["auto", "cpu", "cuda"] = "auto"  # auto: a GPU where there is one
    # auto: bf16 autocast where the processor computes it natively
    precision: Literal["auto", "fp32", "bf16"] = "auto"

    def scale(self, is_unit: bool) -> float:
        """The factor of dense scores in training, which all scores are divided by when linking.

        Args:
            is_unit: whether the vectors have length 1.
        """
        return self.score_scale or (20.0 if is_unit else 1.0)
