"""The options of a linker, as one record that is saved with the model, and the presets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from linker.encoders.options import (
    BneOptions,
    DanOptions,
    FewShotOptions,
    TransformerOptions,
    WordsOptions,
)
from linker.encoders.tfidf import TfidfOptions
from linker.errors import LinkerError, shorten
from linker.fields import (
    BatchSize,
    Count,
    Decay,
    Epochs,
    LearningRate,
    OptionGroup,
    Share,
    Temperature,
    Weight,
    replaced,
)
from linker.ranker.options import RerankOptions, TrainingOptions
from linker.text.mentions import TextOptions
from linker.text.normalize import PRESETS as NORMALIZE
from linker.text.normalize import NormalizeOptions


@dataclass(frozen=True, slots=True)
class AlignOptions(OptionGroup):
    """Self-alignment before the list-wise phase (after SapBERT, Liu et al. 2021).

    It moves the vectors of a concept's synonyms towards each other.
    """

    group: ClassVar[str] = "align"

    # passes over the synonyms, of which each is paired once; 0 leaves the phase out
    epochs: Epochs = 1
    # pairs; the other pairs of a batch are the negatives
    batch_size: Annotated[int, Field(ge=2, le=65_536)] = 128
    learning_rate: LearningRate = 2e-5  # at its highest
    temperature: Temperature = 0.05  # of InfoNCE: cosines are divided by it
    hard_negatives: bool = True  # pairs with similar vectors share a batch
    # share of the steps with a rising learning rate; it falls linearly afterwards
    warmup: Share = 0.05


@dataclass(frozen=True, slots=True)
class GroundOptions(OptionGroup):
    """Grounding of a name encoder: names of a class are moved towards each other.

    Other losses anchor each name to the vectors that it started from. The losses are those of the
    DAN (Fivez et al. 2021a, eq. 3-5), the higher-level DAN (2021b, eq. 2-6), the few-shot encoder
    (2021c, eq. 2-4) and BNE (Phan et al. 2019, eq. 3-6). f is the encoder, u_n the pretrained
    vector of a name, u_c the mean of those of its class.
    """

    group: ClassVar[str] = "ground"
    renamed: ClassVar[Mapping[str, str]] = {"stop_by": "monitor"}

    # what a class is: a concept, or what `level` and `parts` say
    classes: Literal["concepts", "level", "parts"] = "concepts"
    # level: concepts so many steps below the root, by the longest way; names below are trained on
    level: Annotated[int, Field(ge=1, le=100)] = 4
    # parts: the largest children of the root, at most so many
    parts: Annotated[int, Field(ge=2, le=1_000_000_000)] = 21
    # id of the concept that levels and parts are below; empty: the root of the hierarchy
    root: str = ""
    # names of each class that are trained on, and as many others to validate on; 0: all
    shots: Count = 0
    # L_syn: InfoNCE in a batch, Fivez's triplets, or BNE's pairs
    loss: Literal["contrast", "triplet", "logistic"] = "contrast"
    # contrast and logistic: dot products (contrast: cosines) are divided by it; 1 in BNE
    temperature: Temperature = 0.05
    epochs: Epochs = 6  # passes over the names, at most; 0 leaves the phase out
    # epochs without a better one before it stops; 1 in 2021a, 10 in 2021b and c; 0 never stops
    patience: Count = 2
    # what chooses the best epoch: mAP of held-out names, or the loss on them
    monitor: Literal["map", "loss"] = "map"
    # names to validate on, of as many classes where there are, that are not trained on; fewer of
    # few names; 0: none
    held_out: Count = 1000
    # of each name in an epoch, or pairs; 0: one for each other name of its class, as in 2021a
    triplets: Annotated[int, Field(ge=0, le=1000)] = 2
    # nearest names of other classes, among which one is sampled
    negatives: Annotated[int, Field(ge=1, le=1_000_000_000)] = 200
    # names, sampled anew each epoch, that negatives come from, the nearest in proportion; 0: all,
    # as in the papers
    pool: Count = 10_000
    # how likely a negative is: 1 / (1 - cosine) (published code), or 1 / density (Wu et al. 2017)
    weighting: Literal["inverse", "wu"] = "inverse"
    # by which the cosine distance of a negative must exceed that of a positive
    margin: Annotated[float, Field(ge=0, le=2)] = 0.1
    # share of a class's names that its prototype leaves out in a step
    synonym_dropout: Annotated[float, Field(ge=0, le=0.999)] = 0.5
    prototype_names: Count = 4  # of a class in a step, at most; 0: no limit, as in the paper
    # what a prototype is moved to: CCA(u_c) (paper), or u_c (published code)
    target: Literal["projected", "plain"] = "projected"
    triplet_weight: Weight = 1.0  # of L_syn
    # of L_proto, the mean f of a class's names to its target; 1 in 2021a, whose L_syn is smaller
    prototype_weight: Weight = 5.0
    context_weight: Weight = 0.0  # of L_cont or L_ctx, f(n) to u_n; 1 in 2021b and BNE
    concept_weight: Weight = 0.0  # of L_def, f(n) to u_c; 1 in BNE
    # of L_ground, f(n) to half way between u_c and u_n, of length 1; 1 in 2021b and c
    between_weight: Weight = 0.0
    weight_decay: Decay = 0.0  # as L2 in the gradient; 0 in the papers
    batch_size: BatchSize = 256  # triplets or pairs; 64 in 2021a, 2021b and BNE, 16 in 2021c
    learning_rate: LearningRate = 3e-3  # 1e-3 in the papers
    clip: Weight = 0.0  # largest norm of the gradient; 0: no clipping; 5 in BNE
    # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant,
    # as in the papers
    warmup: Share = 0.05

    def __post_init__(self) -> None:
        if self.batch_size < 2 and self.loss != "triplet":
            raise LinkerError(f"ground.batch_size is {self.batch_size}; expected: 2 or more")
        if self.classes != "concepts" and not (self.triplets or self.shots):
            raise LinkerError(
                "ground.triplets is 0, all pairs, which are too many of large classes; "
                "expected: 1 or more, or ground.shots"
            )


@dataclasses.dataclass(frozen=True, slots=True)
class LinkerOptions:
    """All choices of a linker; `--set group.field=value` and `--config` address them by these names."""

    normalize: NormalizeOptions = field(default_factory=NormalizeOptions)
    text: TextOptions = field(default_factory=TextOptions)
    sparse: TfidfOptions = field(default_factory=TfidfOptions)
    transformer: TransformerOptions = field(default_factory=TransformerOptions)
    words: WordsOptions = field(default_factory=WordsOptions)
    dan: DanOptions = field(default_factory=DanOptions)
    fewshot: FewShotOptions = field(default_factory=FewShotOptions)
    bne: BneOptions = field(default_factory=BneOptions)
    align: AlignOptions = field(default_factory=AlignOptions)
    ground: GroundOptions = field(default_factory=GroundOptions)
    training: TrainingOptions = field(default_factory=TrainingOptions)
    rerank: RerankOptions = field(default_factory=RerankOptions)


_BIOSYN = LinkerOptions(
    NORMALIZE["biosyn"],
    TextOptions(permuted=False, compounds=False, training_composites="join"),
    TfidfOptions("char", 1, 2, sublinear=False),
    TransformerOptions(pooling="cls", normalize=False),
    align=AlignOptions(epochs=0),
    training=TrainingOptions(
        loss="marginal",
        score_scale=1,
        relevance_temperature=1,
        epochs=10,
        patience=0,
        batch_size=16,
        optimizer="adam",
        learning_rate=1e-5,
        weight_decay=0.01,
        warmup=0,
        clip=0,
        precision="fp32",
        frequency_weight=0,
        keep_best=False,
    ),
)
_BCNH = dataclasses.replace(
    _BIOSYN.training, loss="listwise", hypernym_norm=True, batch_size=10, keep_unjudged=True
)

# What the papers on encoders made of words share: triplets of all names, Adam at a constant rate, no annotated mentions.
_FIVEZ = dataclasses.replace(
    LinkerOptions(),
    words=WordsOptions(dim=300, max_n=6, buckets=200_000),
    align=AlignOptions(epochs=0),
    ground=GroundOptions(
        loss="triplet",
        epochs=100,
        patience=1,
        triplets=0,
        pool=0,
        prototype_names=0,
        prototype_weight=1,
        batch_size=64,
        learning_rate=1e-3,
        warmup=0,
    ),
    training=TrainingOptions(epochs=0),
)
_HIGHER = dataclasses.replace(
    _FIVEZ.ground,
    classes="level",
    epochs=200,
    patience=10,
    triplets=1,
    prototype_weight=0,
    context_weight=1,
    between_weight=1,
)
_SHOTS = dataclasses.replace(
    _FIVEZ.ground,
    classes="parts",
    shots=15,
    epochs=200,
    patience=10,
    monitor="loss",
    negatives=1000,
    prototype_weight=0,
    between_weight=1,
    batch_size=16,
)
_BNE = GroundOptions(
    loss="logistic",
    temperature=1,
    epochs=100,
    triplets=1,
    prototype_weight=0,
    context_weight=1,
    concept_weight=1,
    batch_size=64,
    learning_rate=1e-3,
    clip=5,
    warmup=0,
)

PRESETS: Mapping[str, LinkerOptions] = {
    "default": LinkerOptions(),
    "paper-biosyn": _BIOSYN,
    "paper-bcnh": dataclasses.replace(_BIOSYN, training=_BCNH),
    "paper-dan": dataclasses.replace(_FIVEZ, dan=DanOptions(hidden=38_400)),
    "paper-dan-higher": dataclasses.replace(
        _FIVEZ, dan=DanOptions(cca=False, hidden=76_800), ground=_HIGHER
    ),
    "paper-fewshot": dataclasses.replace(
        _FIVEZ, fewshot=FewShotOptions(base="words", hidden=9600), ground=_SHOTS
    ),
    "paper-bne": dataclasses.replace(
        _FIVEZ,
        words=WordsOptions(subwords=False),
        bne=BneOptions(hidden=200, dropout=0.5, normalize=False),
        ground=_BNE,
    ),
    "paper-bne-words": dataclasses.replace(
        _FIVEZ,
        bne=BneOptions(characters=False, hidden=4800, dropout=0.5),
        ground=dataclasses.replace(
            _FIVEZ.ground, prototype_weight=0, context_weight=1, concept_weight=1
        ),
    ),
}

# The defaults of encoders made of words. λ is large here, and would take long to grow; a word that one name has tells its concept from
# all others, so that no word is too rare.
_DAN = dataclasses.replace(
    LinkerOptions(),
    words=WordsOptions(min_count=1),
    align=AlignOptions(epochs=0),
    training=TrainingOptions(epochs=10, batch_size=64, learning_rate=1e-3, sparse_weight=8),
)
_HELD = dataclasses.replace(_DAN.ground, prototype_weight=0, context_weight=1, concept_weight=1)
# A list tells the synonyms of a concept from all others, those of its own large class too.
_LARGE = dataclasses.replace(
    _DAN, training=dataclasses.replace(_DAN.training, dictionary_queries=0)
)
_OF_ENCODERS: Mapping[str, LinkerOptions] = {
    "dan": _DAN,
    "dan-higher": dataclasses.replace(
        _LARGE,
        ground=dataclasses.replace(
            _HELD,
            classes="level",
            triplets=1,
            epochs=30,
            patience=10,
            concept_weight=0,
            between_weight=1,
        ),
    ),
    "fewshot": dataclasses.replace(
        _LARGE, ground=dataclasses.replace(_SHOTS, epochs=30, patience=5, batch_size=64)
    ),
    "bne": dataclasses.replace(_DAN, ground=dataclasses.replace(_HELD, epochs=8, clip=5)),
    "bne-words": dataclasses.replace(
        _DAN, bne=BneOptions(characters=False), ground=dataclasses.replace(_HELD, epochs=8, clip=5)
    ),
}


def preset(name: str, encoder: str = "") -> LinkerOptions:
    """The options of a preset; `default` means the defaults of the encoder.

    Raises:
        LinkerError: there is no such preset.
    """
    if name not in PRESETS:
        raise LinkerError(f"there is no preset {name!r}; choose one of: {', '.join(PRESETS)}")
    return _OF_ENCODERS.get(encoder, PRESETS[name]) if name == "default" else PRESETS[name]


def changed(options: LinkerOptions, values: Mapping[str, Mapping[str, Any]]) -> LinkerOptions:
    """Replace single options.

    Args:
        options: the options to start from.
        values: group -> field -> value; a text is read as the field's type ("true", "3", "char_wb").

    Raises:
        LinkerError: there is no such group or field, or the value does not fit; the message lists what there is.
    """
    for group, fields in values.items():
        record = (
            getattr(options, group, None) if group in LinkerOptions.__dataclass_fields__ else None
        )
        if record is None or not isinstance(fields, Mapping):
            raise LinkerError(
                f"there is no option group {shorten(str(group))!r}; choose one of: {', '.join(LinkerOptions.__dataclass_fields__)}"
            )
        options = dataclasses.replace(options, **{group: replaced(record, group, fields)})
    return options
