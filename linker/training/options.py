"""The options of training a dense encoder; importing them needs no torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from linker.errors import LinkerError
from linker.ranges import BatchSize, Count, Decay, Epochs, LearningRate, Range, Seed, Share, Temperature, Weight, check


@dataclass(frozen=True, slots=True)
class AlignOptions:
    """Self-alignment: synonyms of the dictionary are drawn together before the list-wise phase (after SapBERT, Liu et al. 2021)."""

    epochs: Epochs = 1  # passes over the synonyms, of which each is paired once; 0 leaves the phase out
    batch_size: Annotated[int, Range(2, 65_536)] = 128  # pairs; the other pairs of a batch are the negatives
    learning_rate: LearningRate = 2e-5
    temperature: Temperature = 0.05  # of InfoNCE: cosines are divided by it
    hard_negatives: bool = True  # pairs with similar vectors share a batch
    warmup: Share = 0.05  # share of the steps with a rising learning rate; it falls linearly afterwards

    def __post_init__(self) -> None:
        check("align", self)


@dataclass(frozen=True, slots=True)
class GroundOptions:
    """Grounding of a name encoder: names of a class drawn together, and held to the vectors they started from.

    The losses of the DAN (Fivez et al. 2021a, eq. 3-5), the higher-level DAN (2021b, eq. 2-6), the few-shot encoder (2021c, eq. 2-4) and
    BNE (Phan et al. 2019, eq. 3-6). f is the encoder, u_n the pretrained vector of a name, u_c the mean of those of its class.
    """

    classes: Literal["concepts", "level", "parts"] = "concepts"  # what names are drawn together by: see `level` and `parts`
    level: Annotated[int, Range(1, 100)] = 4  # level: concepts so many steps below the root, by the longest way; names below are trained on
    parts: Annotated[int, Range(2, 1_000_000_000)] = 21  # parts: the largest children of the root, at most so many
    root: str = ""  # id of the concept that levels and parts are below; empty: the root of the hierarchy
    shots: Count = 0  # names of each class that are trained on, and as many others that are judged by; 0: all
    loss: Literal["contrast", "triplet", "logistic"] = "contrast"  # L_syn: InfoNCE in a batch, Fivez's triplets, or BNE's pairs
    temperature: Temperature = 0.05  # contrast and logistic: dot products (contrast: cosines) are divided by it; 1 in BNE
    epochs: Epochs = 6  # passes over the names, at most; 0 leaves the phase out
    patience: Count = 2  # epochs without a better one before it stops; 1 in 2021a, 10 in 2021b and c; 0 never stops
    stop_by: Literal["map", "loss"] = "map"  # what the best epoch is told by: mAP of held-out names, or the loss on them
    held_out: Count = 1000  # names, of as many classes where there are, that are not trained on but judged by; fewer of few names; 0: none
    triplets: Annotated[int, Range(0, 1000)] = 2  # of each name in an epoch, or pairs; 0: one for each other name of its class, as in 2021a
    negatives: Annotated[int, Range(1, 1_000_000_000)] = 200  # nearest names, those of other classes among which one is drawn from
    pool: Count = 10_000  # names, drawn anew each epoch, that negatives come from, the nearest in proportion; 0: all, as in the papers
    weighting: Literal["inverse", "wu"] = "inverse"  # how likely: 1 / (1 - cosine) (published code), or 1 / density (Wu et al. 2017)
    margin: Annotated[float, Range(0, 2)] = 0.1  # by which the cosine distance of a negative must exceed that of a positive
    synonym_dropout: Annotated[float, Range(0, 0.999)] = 0.5  # share of a class's names that its prototype leaves out in a step
    prototype_names: Count = 4  # of a class in a step, at most; 0: no limit, as in the paper
    target: Literal["projected", "plain"] = "projected"  # what a prototype is drawn to: CCA(u_c) (paper), or u_c (published code)
    triplet_weight: Weight = 1.0  # of L_syn
    prototype_weight: Weight = 5.0  # of L_proto, the mean f of a class's names to its target; 1 in 2021a, whose L_syn is smaller
    context_weight: Weight = 0.0  # of L_cont or L_ctx, f(n) to u_n; 1 in 2021b and BNE
    concept_weight: Weight = 0.0  # of L_def, f(n) to u_c; 1 in BNE
    between_weight: Weight = 0.0  # of L_ground, f(n) to half way between u_c and u_n, of length 1; 1 in 2021b and c
    weight_decay: Decay = 0.0  # as L2 in the gradient; 0 in the papers
    batch_size: BatchSize = 256  # triplets or pairs; 64 in 2021a, 2021b and BNE, 16 in 2021c
    learning_rate: LearningRate = 3e-3  # 1e-3 in the papers
    clip: Weight = 0.0  # largest norm of the gradient; 0: no clipping; 5 in BNE
    warmup: Share = 0.05  # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant, as in the papers

    def __post_init__(self) -> None:
        check("ground", self)
        if self.batch_size < 2 and self.loss != "triplet":
            raise LinkerError(f"ground.batch_size is {self.batch_size}; expected: 2 or more")
        if self.classes != "concepts" and not (self.triplets or self.shots):
            raise LinkerError("ground.triplets is 0, all pairs, which are too many of large classes; expected: 1 or more, or ground.shots")


@dataclass(frozen=True, slots=True)
class RerankOptions:
    """The second stage: a cross-encoder reads a mention, the words around it and a candidate together, and reorders the candidates."""

    epochs: Epochs = 0  # passes over the annotated mentions; 0 leaves the stage out
    candidates: Annotated[int, Range(2, 1000)] = 10  # concepts of a mention that are read
    words: Annotated[int, Range(0, 1000)] = 8  # of the text that are read on either side of a mention
    parents: Annotated[int, Range(0, 1000)] = 3  # direct parents of a candidate that are read, the root left out
    weight: Weight = 0.1  # of its score beside the first stage's, in the units of training (see `score_scale`)
    max_length: Annotated[int, Range(16, 8192)] = 96  # tokens of all that is read together
    batch_size: BatchSize = 8  # mentions
    learning_rate: LearningRate = 3e-5  # of the transformer, which starts from the first stage's
    head_learning_rate: LearningRate = 1e-3  # of the layer that turns its vector into a score
    warmup: Share = 0.1  # share of the steps with a rising learning rate; it falls linearly afterwards

    def __post_init__(self) -> None:
        check("rerank", self)


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The list-wise phase, and how any training runs. Names in brackets are those of BCNH (Yan et al. 2021)."""

    loss: Literal["listwise", "marginal"] = "listwise"  # BCNH eq. 5, or BioSyn's marginal likelihood
    hypernym_norm: bool = False  # add the norm loss (BCNH eq. 7); embeddings should not be normalised then
    norm_weight: Weight = 1.0  # weight of the norm loss beside the mean list loss
    score_scale: Weight = 0.0  # the dense score is the dot product times this, 1 in the papers; 0: 20 for unit vectors, else 1
    relevance_temperature: Temperature = 0.3  # the target is softmax(relevance / this); 1 in BCNH
    top_k: Annotated[int, Range(2, 1000)] = 20  # candidates in a list (k1), names
    dense_ratio: Share = 0.5  # share of the list that the dense ranking fills, after the sparse one
    max_hypernyms: Annotated[int, Range(1, 1000)] = 10  # hypernym names drawn for the norm loss of a mention (k2)
    height: Annotated[int, Range(1, 100)] = 1  # how many steps up a concept still counts as hypernym; 1: direct parents
    keep_unjudged: bool = False  # whether lists without any relevant candidate stay in the loss, as in the published code
    epochs: Epochs = 3  # the most
    keep_best: bool = True  # keep the epoch with the best development Acc@1; the papers keep the last
    patience: Count = 2  # with keep_best: epochs without a better development Acc@1 before training stops; 0 never stops
    batch_size: BatchSize = 16  # mentions
    optimizer: Literal["adamw", "adam"] = "adamw"  # adam: weight decay is part of the gradient, as in the papers
    learning_rate: LearningRate = 2e-5
    weight_decay: Decay = 0.01
    sparse_weight: Annotated[float, Range(-1_000_000, 1_000_000)] = 0.0  # where λ, the weight of the sparse score, starts
    sparse_learning_rate: Annotated[float, Range(0, 100)] = 0.01  # of λ, without decay
    frequency_weight: Weight = 0.1  # of log(1 + annotations of a concept), added to the score of its names when linking; 0 in the papers
    warmup: Share = 0.1  # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant
    clip: Weight = 1.0  # largest norm of the gradient; 0: no clipping
    dictionary_queries: Count = 2000  # without mentions: names that are queries against their synonyms in an epoch; 0: no such phase then
    seed: Seed = 0
    device: Literal["auto", "cpu", "cuda"] = "auto"  # auto: a GPU where there is one
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # auto: bf16 autocast where the processor computes it natively

    def __post_init__(self) -> None:
        check("training", self)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the work, as it begins and from time to time while it goes on."""

    what: str  # a phase, or what is being done
    share: float | None = 0.0  # of it that is done; 0: it begins; None: nobody knows
    at: str = ""  # where it is
    epochs: int = 0  # of a phase, at most: its steps tell where it is


@dataclass(frozen=True, slots=True)
class Work:
    """How the training of a dense encoder goes on and what it tells."""

    checkpoints: Path | None = None  # folder for checkpoints
    resume: bool = False  # go on from them, where there are any
    phase: str = "rank"  # name of the list-wise phase: another one trains anew, from the same alignment
    judged_by: str = ""  # what tells the development mentions of `validate` from others, for `resume`
    on_event: Callable[[Any], None] = lambda event: None  # is told each step (`training.loop.Step`) and the record of each epoch
    on_part: Callable[[Part], None] = lambda part: None  # is told what begins, and how far what has no steps is
    progress: bool = False  # show a bar while the names of the dictionary are encoded
