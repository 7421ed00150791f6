"""The options of a linker, as one record that is saved with the model, and the presets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_type_hints

from linker.encoders.options import BneOptions, DanOptions, FewShotOptions, TransformerOptions, WordsOptions
from linker.encoders.tfidf import TfidfOptions
from linker.errors import LinkerError, shorten
from linker.ranges import Weight, check, choices
from linker.text.normalize import PRESETS as NORMALIZE
from linker.text.normalize import NormalizeOptions
from linker.training.options import AlignOptions, GroundOptions, RerankOptions, TrainingOptions


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What is done to a mention before its candidates are looked up, and what its document says of them."""

    abbreviations: bool = True  # expand short forms that the document defines
    permuted: bool = True  # also short forms whose letters stand in another order: "myotonic dystrophy (DM)"
    compounds: bool = True  # also the parts of compound ones: "HPT-JT" defines HPT and JT
    composites: bool = True  # split "breast and ovarian cancer" in two; never looks at the gold
    training_composites: Literal["skip", "join"] = "skip"  # annotated composites as names: left out, or joined as BioSyn does
    document_weight: Weight = 0.0  # of the score with which a concept stands first for another mention of the document, added to its own

    def __post_init__(self) -> None:
        check("text", self)


@dataclass(frozen=True, slots=True)
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


_KINDS = {int: "a whole number", float: "a number", str: "text"}

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
_BCNH = dataclasses.replace(_BIOSYN.training, loss="listwise", hypernym_norm=True, batch_size=10, keep_unjudged=True)

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
    _FIVEZ.ground, classes="level", epochs=200, patience=10, triplets=1, prototype_weight=0, context_weight=1, between_weight=1
)
_SHOTS = dataclasses.replace(
    _FIVEZ.ground,
    classes="parts",
    shots=15,
    epochs=200,
    patience=10,
    stop_by="loss",
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
    "paper-dan-higher": dataclasses.replace(_FIVEZ, dan=DanOptions(cca=False, hidden=76_800), ground=_HIGHER),
    "paper-fewshot": dataclasses.replace(_FIVEZ, fewshot=FewShotOptions(base="words", hidden=9600), ground=_SHOTS),
    "paper-bne": dataclasses.replace(
        _FIVEZ, words=WordsOptions(subwords=False), bne=BneOptions(hidden=200, dropout=0.5, normalize=False), ground=_BNE
    ),
    "paper-bne-words": dataclasses.replace(
        _FIVEZ,
        bne=BneOptions(characters=False, hidden=4800, dropout=0.5),
        ground=dataclasses.replace(_FIVEZ.ground, prototype_weight=0, context_weight=1, concept_weight=1),
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
_LARGE = dataclasses.replace(_DAN, training=dataclasses.replace(_DAN.training, dictionary_queries=0))
_OF_ENCODERS: Mapping[str, LinkerOptions] = {
    "dan": _DAN,
    "dan-higher": dataclasses.replace(
        _LARGE,
        ground=dataclasses.replace(_HELD, classes="level", triplets=1, epochs=30, patience=10, concept_weight=0, between_weight=1),
    ),
    "fewshot": dataclasses.replace(_LARGE, ground=dataclasses.replace(_SHOTS, epochs=30, patience=5, batch_size=64)),
    "bne": dataclasses.replace(_DAN, ground=dataclasses.replace(_HELD, epochs=8, clip=5)),
    "bne-words": dataclasses.replace(_DAN, bne=BneOptions(characters=False), ground=dataclasses.replace(_HELD, epochs=8, clip=5)),
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
        record = getattr(options, group, None) if group in LinkerOptions.__dataclass_fields__ else None
        if record is None or not isinstance(fields, Mapping):
            raise LinkerError(
                f"there is no option group {shorten(str(group))!r}; choose one of: {', '.join(LinkerOptions.__dataclass_fields__)}"
            )
        hints = get_type_hints(type(record))
        if unknown := [name for name in fields if name not in hints]:
            raise LinkerError(f"there is no option {group}.{shorten(unknown[0])}; {group} has: {', '.join(hints)}")
        read = {name: _read(f"{group}.{name}", value, hints[name]) for name, value in fields.items()}
        options = dataclasses.replace(options, **{group: dataclasses.replace(record, **read)})
    return options


def _read(option: str, value: Any, kind: Any) -> Any:
    """A value as the type of its field. Whether it is one that the field may have, its record checks."""
    try:
        text = str(value)
    except ValueError:  # a hexadecimal number of more digits than Python writes in decimal
        raise LinkerError(f"{option} is a number of thousands of digits, which no option may be") from None
    some = choices(kind)
    for choice in some:
        if value == choice or text.lower() == str(choice).lower():
            return choice
    if some:
        return value
    try:
        return kind(text)  # so that 2.5 is no whole number
    except ValueError:
        raise LinkerError(f"{option} is {shorten(repr(value))}; expected: {_KINDS[kind]}") from None
