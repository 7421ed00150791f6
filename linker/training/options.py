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
class GroundOptions:
    """Grounding of a name encoder made of words: synonyms drawn together, and prototypes of concepts (Fivez et al. 2021a, eq. 3-5)."""

    loss: Literal["contrast", "triplet"] = "contrast"  # L_syn: InfoNCE against the other pairs of a batch, or the paper's triplets
    temperature: float = 0.05  # of the contrast: cosines are divided by it
    epochs: int = 6  # passes over the names, at most; 0 leaves the phase out
    patience: int = 2  # epochs without a better mAP of held-out names before it stops; 1 in the paper; 0 never stops
    held_out: int = 1000  # names, of as many concepts, that are not trained on but judged by; fewer where concepts are few; 0: none
    triplets: int = 2  # of each name in an epoch, or pairs; 0: one for each of its synonyms, as in the paper
    negatives: int = 200  # nearest names of other concepts that one is drawn from
    pool: int = 10_000  # names, drawn anew each epoch, that negatives come from, the nearest in proportion; 0: all names, as in the paper
    weighting: Literal["inverse", "wu"] = "inverse"  # how likely: 1 / (1 - cosine) (published code), or 1 / density (Wu et al. 2017)
    margin: float = 0.1  # by which the cosine distance of a negative must exceed that of a positive
    synonym_dropout: float = 0.5  # share of a concept's names that its prototype leaves out in a step
    prototype_names: int = 4  # of a concept in a step, at most; 0: no limit, as in the paper
    target: Literal["projected", "plain"] = "projected"  # what a prototype is drawn to: CCA(u_p) (paper), or u_p (published code)
    triplet_weight: float = 1.0  # of L_syn
    prototype_weight: float = 5.0  # of L_proto; 1 in the paper, whose L_syn is smaller
    batch_size: int = 256  # triplets or pairs; 64 in the paper
    learning_rate: float = 3e-3  # 1e-3 in the paper
    warmup: float = 0.05  # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant, as in the paper

    def __post_init__(self) -> None:
        least = {"epochs": 0, "patience": 0, "held_out": 0, "triplets": 0, "negatives": 1, "pool": 0, "margin": 0, "prototype_names": 0}
        _at_least("ground", self, **least, triplet_weight=0, prototype_weight=0, warmup=0)
        _above_zero("ground", self, "learning_rate", "temperature")
        _at_least("ground", self, batch_size=2 if self.loss == "contrast" else 1)
        if self.loss not in ("contrast", "triplet"):
            raise LinkerError(f"ground.loss is {self.loss!r}; expected: contrast or triplet")
        if not 0 <= self.synonym_dropout < 1:
            raise LinkerError(f"ground.synonym_dropout is {self.synonym_dropout}; expected: 0 or more, and below 1")


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
