"""The options of a linker, as one record that is saved with the model, and the presets."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from linker.encoders import registry
from linker.encoders.base import Changes, Recipe, SparseEncoder, merged
from linker.encoders.tfidf import TfidfOptions
from linker.encoders.words import WordsOptions
from linker.errors import LinkerError, shorten
from linker.io import persistence
from linker.io.option_group import (
    BatchSize,
    Count,
    Epochs,
    LearningRate,
    OptionGroup,
    Seed,
    ZeroToOne,
    replaced,
)
from linker.search.index import IndexOptions
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


@dataclasses.dataclass(frozen=True, slots=True)
class LinkerOptions:
    """All choices of a linker; `--set group.field=value` and TOML files use these names.

    The recipe is a preset's alone.
    """

    normalize: NormalizeOptions = field(default_factory=NormalizeOptions)
    text: TextOptions = field(default_factory=TextOptions)
    sparse: TfidfOptions = field(default_factory=TfidfOptions)
    encoder: Any = (
        None  # of the dense encoder, an instance of its `Options`; None where it has none
    )
    second: Any = None  # of the second encoder; None where there is none
    words: WordsOptions = field(default_factory=WordsOptions)
    align: AlignOptions = field(default_factory=AlignOptions)
    ground: GroundOptions = field(default_factory=GroundOptions)
    training: TrainingOptions = field(default_factory=TrainingOptions)
    index: IndexOptions = field(default_factory=IndexOptions)
    recipe: Recipe = field(default_factory=Recipe)


_GROUPS = tuple(n for n in LinkerOptions.__dataclass_fields__ if n not in ("recipe", "second"))

_BIOSYN: Changes = {
    "normalize": dataclasses.asdict(NORMALIZE["biosyn"]),
    "text": {"biosyn": True, "everyday": False},
    "sparse": {"analyzer": "char", "ngram_min": 1, "ngram_max": 2, "sublinear": False},
    "transformer": {"pooling": "cls", "normalize": False},
    "align": {"epochs": 0},
    "training": {
        "loss": "marginal",
        "epochs": 10,
        "batch_size": 16,
        "learning_rate": 1e-5,
        "precision": "fp32",
    },
    "recipe": {"published": True},
}
_BCNH: Changes = {"training": {"loss": "listwise", "hypernym_norm": True, "batch_size": 10}}

PRESETS: Mapping[str, Changes] = {
    "default": {},
    "paper-biosyn": _BIOSYN,
    "paper-bcnh": merged(_BIOSYN, _BCNH),
}
"""The presets that any encoder may have, as what they change; encoders bring further ones."""


def presets() -> dict[str, str]:
    """All presets, and the encoder that each is meant for; empty for `default`."""
    owners = {"default": "", "paper-biosyn": "transformer", "paper-bcnh": "transformer"}
    table = registry.encoders()
    for encoder in table:
        for name in getattr(_class(encoder), "presets", {}):
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
    known = {"default": ""} if name == "default" else presets()
    if name not in known:
        raise LinkerError(f"there is no preset {name!r}; choose one of: {', '.join(known)}")
    return known[name]


def preset(name: str, encoder: str = "") -> LinkerOptions:
    """The options of a preset for an encoder.

    Args:
        name: of the preset; `default` means the defaults of the encoder.
        encoder: its name in the registry, or "FIRST,SECOND"; empty: the one that the preset is
            meant for.

    Raises:
        LinkerError: there is no such preset, it is for another encoder, or the encoder cannot be
            loaded.
    """
    owner, (encoder, second) = preset_encoder(name), registry.both(encoder)
    if name in PRESETS:  # for any encoder
        if not encoder:
            encoder = owner if owner and _class(owner) else "tfidf"
    elif encoder and registry.options_group(encoder) != registry.options_group(owner):
        raise LinkerError(f"the preset {name} is for the encoder {owner}, not {encoder}")
    encoder = encoder or owner
    kind = registry.load(encoder)
    named = getattr(kind, "presets", {}).get(encoder if name == "default" else name)
    changes = named.changes if named else PRESETS.get(name, {})
    options = _with_recipe(for_encoder(LinkerOptions(), kind), changes, encoder)
    return with_second(options, second)


def with_second(options: LinkerOptions, encoder: str) -> LinkerOptions:
    """The options with the defaults of a second encoder; as they are where it is empty."""
    kind = getattr(registry.load(encoder), "Options", None) if encoder else None
    return dataclasses.replace(options, second=kind and kind())


def _class(encoder: str) -> Any:
    """The class of an encoder; None where what it needs is not installed."""
    with contextlib.suppress(LinkerError):
        return registry.load(encoder)
    return None


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
) -> LinkerOptions:
    """Replace single options.

    Args:
        options: the options to start from.
        values: group -> field -> value; a text is read as the type of the field ("true", "3").
            A group that is called as an encoder, or `encoder`, is that of the encoder's options;
            those of other encoders are passed over.
        encoder: the encoder that the options are for; empty: the one whose options are there, or
            else the first one that a group is called as.

    Raises:
        LinkerError: there is no such group or field, or the value does not fit; the message lists
            what there is.
    """
    encoder, _ = registry.both(encoder)
    for group, fields in values.items():
        is_of_encoder = _is_of_encoder(group)
        if not isinstance(fields, Mapping) or not (group in _GROUPS or is_of_encoder):
            raise LinkerError(
                f"there is no option group {shorten(str(group))!r}; "
                f"choose one of: {', '.join(_GROUPS)}, or the name of an encoder"
            )
        is_second = options.second is not None and is_of_encoder and group != "encoder"
        if is_second and type(options.second) is getattr(_class(group), "Options", None):
            second = replaced(options.second, group, fields)
            options = dataclasses.replace(options, second=second)
            continue
        record = _encoder_options(group, options, encoder) if is_of_encoder else None
        if not is_of_encoder:
            options = dataclasses.replace(
                options, **{group: replaced(getattr(options, group), group, fields)}
            )
        elif record is not None:
            options = dataclasses.replace(options, encoder=replaced(record, group, fields))
    return options


def _is_of_encoder(group: str) -> bool:
    """Whether a group has the options of an encoder; our own names need no look at packages."""
    return group == "encoder" or (group not in _GROUPS and bool(registry.place(group)))


def _with_recipe(
    options: LinkerOptions, values: Mapping[str, Mapping[str, Any]], encoder: str
) -> LinkerOptions:
    """As `changed`, with a group `recipe` beside the options."""
    others = {group: fields for group, fields in values.items() if group != "recipe"}
    recipe = replaced(options.recipe, "recipe", values.get("recipe", {}))
    return dataclasses.replace(changed(options, others, encoder), recipe=recipe)


def _encoder_options(group: str, options: LinkerOptions, encoder: str) -> Any:
    """The options of the encoder that a group changes; None where it is of another encoder."""
    record, name = options.encoder, encoder or group
    if group != "encoder" and encoder:
        if registry.options_group(group) != registry.options_group(encoder):
            return None
    elif group != "encoder" and record is not None:
        return record if type(record) is getattr(_class(group), "Options", None) else None
    if record is None and name != "encoder":
        record = for_encoder(options, registry.load(name)).encoder
    if record is None:
        raise LinkerError(f"{name} has no options; call the group as an encoder that has, as dan")
    return record


def as_saved(options: LinkerOptions, encoder: str) -> dict[str, Any]:
    """The options as a model keeps them, which `restored` reads: those of its encoder by its name.

    Args:
        options: of the model.
        encoder: of the model.
    """
    groups = dataclasses.asdict(options)
    own = groups.pop("encoder"), groups.pop("second")
    names = map(registry.options_group, registry.both(encoder))
    return groups | {n: of_one for n, of_one in zip(names, own, strict=True) if of_one is not None}


def restored(values: Mapping[str, Any], encoder: str) -> LinkerOptions:
    """The options of a saved model.

    Args:
        values: group -> field -> value, as `as_saved` gave them.
        encoder: of the model.

    Raises:
        LinkerError: they are those of another release.
    """
    first, second = registry.both(encoder)
    options = with_second(for_encoder(LinkerOptions(), registry.load(first)), second)
    try:
        return _with_recipe(options, values, first)
    except LinkerError as error:
        reason = str(error).partition(";")[0]
        raise LinkerError(
            f"is a model of another release ({reason}); {persistence.TRAIN_AGAIN}"
        ) from error


def reads(group: str, encoder: str, options: LinkerOptions) -> bool:
    """Tell whether anything reads a group of options where this encoder is trained."""
    kind = registry.load(encoder)
    is_dense = not issubclass(kind, SparseEncoder)
    if _is_of_encoder(group):
        groups = {"encoder", registry.options_group(encoder)}
        is_own = group == "encoder" or registry.options_group(group) in groups
        return is_own and options.encoder is not None
    return {
        "align": bool(getattr(kind, "has_weights", False)),
        "training": is_dense,
        "ground": bool(getattr(kind, "is_grounded", False)),
        "words": is_dense and bool(kind.needs_words(options.encoder)),
    }.get(group, True)
