"""The options of a linker, as one record that is saved with the model, and the presets."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from linker import persistence, registry
from linker.candidates.index import IndexOptions
from linker.encoders.base import Changes, SparseEncoder, merged
from linker.encoders.tfidf import TfidfOptions
from linker.encoders.word_training import WordsOptions, WordsRecipe
from linker.errors import LinkerError, shorten
from linker.fields import (
    BatchSize,
    Count,
    Epochs,
    LearningRate,
    OptionGroup,
    Seed,
    ZeroToOne,
    replaced,
)
from linker.text.mentions import TextOptions, TextRecipe
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


@dataclass(frozen=True, slots=True)
class AlignRecipe(AlignOptions):
    """The options with the constants that presets alone choose."""

    batch_size: int = 128  # pairs; the other pairs of a batch are the negatives
    learning_rate: float = 2e-5  # at its highest
    temperature: float = 0.05  # of InfoNCE: cosines are divided by it
    hard_negatives: bool = True  # pairs with similar vectors share a batch


@dataclass(frozen=True, slots=True)
class GroundOptions(OptionGroup):
    """Grounding of a name encoder: names of a class are moved towards each other."""

    group: ClassVar[str] = "ground"

    # dan-higher: classes are concepts so many steps below the root, by the longest way; names below
    # are trained on
    level: Annotated[int, Field(ge=1, le=100)] = 4
    # fewshot: classes are the largest children of the root, at most so many
    parts: Annotated[int, Field(ge=2, le=1_000_000_000)] = 21
    # id of the concept that levels and parts are below; empty: the root of the hierarchy
    root: str = ""
    # names of each class that are trained on, and as many others to validate on; 0: all
    shots: Count = 0
    epochs: Epochs = 6  # passes over the names, at most; 0 leaves the phase out


@dataclass(frozen=True, slots=True)
class GroundRecipe(GroundOptions):
    """How names of a class are moved.

    Other losses anchor each name to the vectors that it started from. The losses are those of the
    DAN (Fivez et al. 2021a, eq. 3-5), the higher-level DAN (2021b, eq. 2-6), the few-shot encoder
    (2021c, eq. 2-4) and BNE (Phan et al. 2019, eq. 3-6). f is the encoder, u_n the pretrained
    vector of a name, u_c the mean of those of its class.
    """

    # what a class is: a concept, or what `level` and `parts` say
    classes: Literal["concepts", "level", "parts"] = "concepts"
    # L_syn: InfoNCE in a batch, Fivez's triplets, or BNE's pairs
    loss: Literal["contrast", "triplet", "logistic"] = "contrast"
    # contrast and logistic: dot products (contrast: cosines) are divided by it; 1 in BNE
    temperature: float = 0.05
    # epochs without a better one before it stops; 1 in 2021a, 10 in 2021b and c; 0 never stops
    patience: int = 2
    # what chooses the best epoch: mAP of held-out names, or the loss on them
    monitor: Literal["map", "loss"] = "map"
    # names to validate on, of as many classes where there are, that are not trained on; fewer of
    # few names; 0: none
    held_out: int = 1000
    # of each name in an epoch, or pairs; 0: one for each other name of its class, as in 2021a
    triplets: int = 2
    negatives: int = 200  # nearest names of other classes, among which one is sampled
    # names, sampled anew each epoch, that negatives come from, the nearest in proportion; 0: all,
    # as in the papers
    pool: int = 10_000
    prototype_names: int = 4  # of a class in a step, at most; 0: no limit, as in the paper
    # of L_proto, the mean f of a class's names to CCA(u_c); 1 in 2021a, whose L_syn is smaller
    prototype_weight: float = 5.0
    context_weight: float = 0.0  # of L_cont or L_ctx, f(n) to u_n; 1 in 2021b and BNE
    concept_weight: float = 0.0  # of L_def, f(n) to u_c; 1 in BNE
    # of L_ground, f(n) to half way between u_c and u_n, of length 1; 1 in 2021b and c
    between_weight: float = 0.0
    batch_size: int = 256  # triplets or pairs; 64 in 2021a, 2021b and BNE, 16 in 2021c
    learning_rate: float = 3e-3  # 1e-3 in the papers
    clip: float = 0.0  # largest norm of the gradient; 0: no clipping; 5 in BNE
    # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant,
    # as in the papers
    warmup: float = 0.05

    def __post_init__(self) -> None:
        if self.classes != "concepts" and not (self.triplets or self.shots):
            raise LinkerError(
                "ground.shots is 0, all pairs of large classes, which are too many; "
                "expected: 1 or more"
            )


@dataclass(frozen=True, slots=True)
class TrainingOptions(OptionGroup):
    """The list-wise phase, and how any training runs. Names in brackets: BCNH (Yan et al. 2021)."""

    group: ClassVar[str] = "training"

    # listwise: BCNH eq. 5; marginal: BioSyn's marginal likelihood
    loss: Literal["listwise", "marginal"] = "listwise"
    hypernym_norm: bool = False  # add the norm loss (BCNH eq. 7); wants vectors of any length
    top_k: Annotated[int, Field(ge=2, le=1000)] = 20  # candidates in a list (k1), names
    dense_ratio: ZeroToOne = 0.5  # of the list, which the dense ranking fills after the sparse one
    epochs: Epochs = 3  # the most
    batch_size: BatchSize = 16  # mentions
    learning_rate: LearningRate = 2e-5  # of the encoder, at its highest
    # without mentions: names that are queries against their synonyms in an epoch;
    # 0: no list-wise phase then
    dictionary_queries: Count = 2000
    seed: Seed = 0  # of all that is random; same seed, same machine, same model
    device: Literal["auto", "cpu", "cuda"] = "auto"  # auto: a GPU where there is one
    # auto: bf16 autocast where the processor computes it natively
    precision: Literal["auto", "fp32", "bf16"] = "auto"


@dataclass(frozen=True, slots=True)
class TrainingRecipe(TrainingOptions):
    """How the list-wise phase trains."""

    norm_weight: float = 1.0  # weight of the norm loss beside the mean list loss
    # the dense score is the dot product times this, 1 in the papers; 0: 20 for unit vectors, else 1
    score_scale: float = 0.0
    relevance_temperature: float = 0.3  # the target is softmax(relevance / this); 1 in BCNH
    # hypernym names that are sampled for the norm loss of a mention (k2)
    max_hypernyms: int = 10
    # steps up the hierarchy within which a concept counts as hypernym; 1: direct parents
    height: int = 1
    # lists without any relevant candidate stay in the loss, as in the published code
    keep_unjudged: bool = False
    keep_best: bool = True  # the epoch with the best development Acc@1; the papers keep the last
    # with keep_best: epochs without a better development Acc@1 before training stops; 0 never stops
    patience: int = 2
    # adam: weight decay is part of the gradient, as in the papers
    optimizer: Literal["adamw", "adam"] = "adamw"
    weight_decay: float = 0.01  # of the encoder
    sparse_weight: float = 0.0  # where λ, the weight of the sparse score, starts
    sparse_learning_rate: float = 0.01  # of λ, without decay
    # of log(1 + annotations of a concept), added to the score of its names when linking;
    # 0 in the papers
    frequency_weight: float = 0.1
    # share of the steps with a rising learning rate; it falls linearly afterwards; 0: constant
    warmup: float = 0.1
    clip: float = 1.0  # largest norm of the gradient; 0: no clipping

    def scale(self, is_unit: bool) -> float:
        """The factor of dense scores in training, which all scores are divided by when linking.

        Args:
            is_unit: whether the vectors have length 1.
        """
        return self.score_scale or (20.0 if is_unit else 1.0)


@dataclasses.dataclass(frozen=True, slots=True)
class LinkerOptions:
    """All choices of a linker; `--set group.field=value` and TOML files use these names.

    Of a recipe they reach the options that it stands on, not its constants.
    """

    normalize: NormalizeOptions = field(default_factory=NormalizeOptions)
    text: TextRecipe = field(default_factory=TextRecipe)
    sparse: TfidfOptions = field(default_factory=TfidfOptions)
    encoder: Any = (
        None  # of the dense encoder, an instance of its `Options`; None where it has none
    )
    words: WordsRecipe = field(default_factory=WordsRecipe)
    align: AlignRecipe = field(default_factory=AlignRecipe)
    ground: GroundRecipe = field(default_factory=GroundRecipe)
    training: TrainingRecipe = field(default_factory=TrainingRecipe)
    index: IndexOptions = field(default_factory=IndexOptions)


_GROUPS = tuple(LinkerOptions.__dataclass_fields__)
OPEN: Mapping[str, Any] = {
    "text": TextOptions,
    "words": WordsOptions,
    "align": AlignOptions,
    "ground": GroundOptions,
    "training": TrainingOptions,
}
"""What `--set` reaches of the groups that are recipes."""

_BIOSYN: Changes = {
    "normalize": dataclasses.asdict(NORMALIZE["biosyn"]),
    "text": {"permuted": False, "training_composites": "join"},
    "sparse": {"analyzer": "char", "ngram_min": 1, "ngram_max": 2, "sublinear": False},
    "transformer": {"pooling": "cls", "normalize": False},
    "align": {"epochs": 0},
    "training": {
        "loss": "marginal",
        "score_scale": 1,
        "relevance_temperature": 1,
        "epochs": 10,
        "patience": 0,
        "batch_size": 16,
        "optimizer": "adam",
        "learning_rate": 1e-5,
        "weight_decay": 0.01,
        "warmup": 0,
        "clip": 0,
        "precision": "fp32",
        "frequency_weight": 0,
        "keep_best": False,
    },
}
_BCNH: Changes = {
    "training": {"loss": "listwise", "hypernym_norm": True, "batch_size": 10, "keep_unjudged": True}
}

PRESETS: Mapping[str, Changes] = {
    "default": {},
    "paper-biosyn": _BIOSYN,
    "paper-bcnh": merged(_BIOSYN, _BCNH),
}
"""The presets that any encoder may have, as what they change; encoders bring further ones."""


def presets() -> dict[str, str]:
    """All presets, and the encoder that each is meant for; empty for `default`."""
    table = registry.encoders()
    owners = {
        name: next((group for group in changes if group in table), "")
        for name, changes in PRESETS.items()
    }
    for encoder in table:
        with contextlib.suppress(LinkerError):  # what it needs is not installed
            for name in getattr(registry.load(encoder), "presets", {}):
                if name.startswith("paper-"):
                    paper = name.removeprefix("paper-")
                    owners.setdefault(name, paper if paper in table else encoder)
    return owners


def preset_encoder(name: str) -> str:
    """The encoder that a preset is meant for; empty for `default`.

    Raises:
        LinkerError: there is no such preset.
    """
    encoder = name.removeprefix("paper-")
    if encoder != name and registry.place(encoder):  # the other classes need no look
        return encoder
    if name == "default":
        return ""
    known = presets()
    if name not in known:
        raise LinkerError(f"there is no preset {name!r}; choose one of: {', '.join(known)}")
    return known[name]


def preset(name: str, encoder: str = "") -> LinkerOptions:
    """The options of a preset for an encoder.

    Args:
        name: of the preset; `default` means the defaults of the encoder.
        encoder: its name in the registry; empty: the one that the preset is meant for.

    Raises:
        LinkerError: there is no such preset, it is for another encoder, or the encoder cannot be
            loaded.
    """
    if not encoder and name in PRESETS:
        encoder = preset_encoder(name)
        encoder = encoder if _options_class(encoder) else "tfidf"
    owner = "" if name in PRESETS else preset_encoder(name)
    if encoder and owner and registry.options_group(encoder) != registry.options_group(owner):
        raise LinkerError(f"the preset {name} is for the encoder {owner}, not {encoder}")
    encoder = encoder or owner
    kind = registry.load(encoder)
    named = getattr(kind, "presets", {}).get(encoder if name == "default" else name)
    changes = named.changes if named else PRESETS.get(name, {})
    return changed(for_encoder(LinkerOptions(), kind), changes, encoder, constants=True)


def for_encoder(options: LinkerOptions, kind: Any) -> LinkerOptions:
    """The options with those of an encoder of this class: its defaults where there are none.

    Raises:
        LinkerError: there are those of another class.
    """
    wanted = getattr(kind, "Options", None)
    if wanted is None:
        return dataclasses.replace(options, encoder=None)
    if options.encoder is None:
        return dataclasses.replace(options, encoder=wanted())
    if not isinstance(options.encoder, wanted):
        raise LinkerError(
            f"the options of the encoder are {type(options.encoder).__name__}, "
            f"and {kind.__name__} has {wanted.__name__}; start from its preset"
        )
    return options


def changed(
    options: LinkerOptions,
    values: Mapping[str, Mapping[str, Any]],
    encoder: str = "",
    *,
    constants: bool = False,
) -> LinkerOptions:
    """Replace single options.

    Args:
        options: the options to start from.
        values: group -> field -> value; a text is read as the type of the field ("true", "3").
            A group that is called as an encoder, or `encoder`, is that of the encoder's options;
            those of other encoders are passed over.
        encoder: the encoder that the options are for; empty: the one whose options are there, or
            else the first one that a group is called as.
        constants: whether those of a recipe may be named too, as in presets and saved models.

    Raises:
        LinkerError: there is no such group or field, or the value does not fit; the message lists
            what there is.
    """
    for group, fields in values.items():
        is_shared = group in _GROUPS and group != "encoder"
        if not isinstance(fields, Mapping) or not (
            is_shared or group == "encoder" or registry.place(group)
        ):
            raise LinkerError(
                f"there is no option group {shorten(str(group))!r}; "
                f"choose one of: {', '.join(_GROUPS)}, or the name of an encoder"
            )
        record = getattr(options, group) if is_shared else _encoder_options(group, options, encoder)
        if record is not None:
            place = group if is_shared else "encoder"
            kind = type(record) if constants else OPEN.get(place, type(record))
            options = dataclasses.replace(options, **{place: replaced(record, group, fields, kind)})
    return options


def _encoder_options(group: str, options: LinkerOptions, encoder: str) -> Any:
    """The options of the encoder that a group changes; None where it is of another encoder."""
    if group != "encoder":
        if encoder:
            if registry.options_group(group) != registry.options_group(encoder):
                return None
        elif options.encoder is not None and type(options.encoder) is not _options_class(group):
            return None
    if options.encoder is not None:
        return options.encoder
    name = encoder or group
    if name == "encoder":
        raise LinkerError(
            "the options encoder are of no encoder yet; call the group as the encoder, such as dan"
        )
    record = for_encoder(options, registry.load(name)).encoder
    if record is None:
        raise LinkerError(f"the encoder {name} has no options of its own")
    return record


def _options_class(encoder: str) -> Any:
    """The class of an encoder's options; None where there is none, or what it needs is missing."""
    with contextlib.suppress(LinkerError):
        return getattr(registry.load(encoder), "Options", None)
    return None


def as_saved(options: LinkerOptions, encoder: str) -> dict[str, Any]:
    """The options as a model keeps them, which `restored` reads: those of its encoder by its name.

    Args:
        options: of the model.
        encoder: of the model.
    """
    groups = dataclasses.asdict(options)
    own = groups.pop("encoder")
    return groups if own is None else groups | {registry.options_group(encoder): own}


def restored(values: Mapping[str, Any], encoder: str) -> LinkerOptions:
    """The options of a saved model.

    Args:
        values: group -> field -> value, as `as_saved` gave them.
        encoder: of the model.

    Raises:
        LinkerError: they are those of another release.
    """
    options = for_encoder(LinkerOptions(), registry.load(encoder))
    try:
        return changed(options, values, encoder, constants=True)
    except LinkerError as error:
        reason = str(error).partition(";")[0]
        raise LinkerError(
            f"is a model of another release ({reason}); {persistence.TRAIN_AGAIN}"
        ) from error


def reads(group: str, encoder: str, options: LinkerOptions) -> bool:
    """Tell whether anything reads a group of options where this encoder is trained."""
    kind = registry.load(encoder)
    is_dense = not issubclass(kind, SparseEncoder)
    if group == "align":
        return bool(getattr(kind, "has_weights", False))
    if group == "training":
        return is_dense
    if group == "ground":
        return bool(getattr(kind, "is_grounded", False))
    if group == "words":
        return bool(is_dense and kind.needs_words(options.encoder))
    if group == "encoder" or registry.place(group):
        is_own = group == "encoder" or (
            registry.options_group(group) == registry.options_group(encoder)
        )
        return is_own and options.encoder is not None
    return True
