"""The few-shot encoder: a small network on top of another encoder (Fivez et al. 2021c).

Linking needs no torch, unless the encoder below does; `grounded.py` trains.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic.dataclasses import dataclass

from linker import files, persistence, registry
from linker.dictionary.classes import Floats, of_concepts
from linker.encoders.base import Changes, Encoder, EncoderContext, Preset, SparseEncoder, merged
from linker.encoders.dan import FIVEZ, LARGE_CLASSES, OF_WORDS, DanEncoder, DanOptions, NumpyEncoder
from linker.encoders.words import unit
from linker.errors import LinkerError
from linker.fields import OptionGroup, Units

_BASE = "base"
_OF_WORD_VECTORS = ("cca", "words")
_SHOTS: Changes = {
    "ground": {"shots": 15, "epochs": 200},
    "recipe": {"classes": "parts", "anchors": "between", "patience": 10, "batch_size": 16},
}


@dataclass(frozen=True, slots=True)
class FewShotOptions(OptionGroup):
    """The few-shot encoder: a network that moves the vectors of another encoder."""

    group: ClassVar[str] = "fewshot"

    # cca: mean word vectors, projected; words: as they are; transformer[:PATH_OR_HUB_ID];
    # or the folder of a dense model
    base: str = "cca"
    hidden: Units = 2400  # units of the hidden layer; 9,600 in the paper
    normalize: ClassVar[bool] = True  # unit vectors, so that the dense score is a cosine

    def __post_init__(self) -> None:
        if not self.base:
            raise LinkerError(
                "fewshot.base is empty; expected: cca, words, transformer, or the folder of a model"
            )


class FewShotEncoder(NumpyEncoder):
    """Dense: any encoder's vectors, moved by a network that a few names of each large class train.

    `f(n) = (enc(u_n) + u_n) / 2`, u_n the vector of the encoder below, brought to length 1 (Fivez
    et al. 2021c, eq. 1). That encoder is not trained. Make one with `create` or `load`.

    Args:
        base: the encoder below.
        kind: its name in the registry.
        options: of the network.
    """

    Options = FewShotOptions
    trainer = "linker.encoders.grounded:TrainableFewShot"
    presets: ClassVar[Mapping[str, Preset]] = {
        "fewshot": Preset(
            "Dense: any encoder's vectors, moved by a network that a few names of each large class "
            "train; may stand on another one.",
            merged(
                OF_WORDS,
                LARGE_CLASSES,
                {"recipe": FIVEZ["recipe"]},
                _SHOTS,
                {"ground": {"epochs": 30}, "recipe": {"patience": 5, "batch_size": 64}},
            ),
        ),
        "paper-fewshot": Preset(
            "The few-shot encoder of Fivez et al. 2021c.",
            merged(FIVEZ, _SHOTS, {"encoder": {"base": "words", "hidden": 9600}}),
        ),
    }

    def __init__(self, base: Encoder, kind: str, options: FewShotOptions) -> None:
        self.base, self.kind, self.options, self.weights = base, kind, options, {}

    @classmethod
    def create(cls, context: EncoderContext) -> FewShotEncoder:
        """Make or load the encoder below; the network is to be trained.

        Raises:
            LinkerError: there is no such encoder, or no such model, or its encoder is not dense.
        """
        base, kind, label, provenance = _base(context)
        encoder = cls(base, kind, dataclasses.replace(context.options, base=label))
        encoder.seed, encoder.provenance = context.seed, provenance
        return encoder

    @classmethod
    def needs_words(cls, options: FewShotOptions) -> bool:
        return options.base in _OF_WORD_VECTORS

    @property
    def dim(self) -> int:
        return self.base.dim

    def move(self, device: Literal["cpu", "cuda"]) -> None:
        self.base.move(device)

    def transform(self, names: Sequence[str]) -> Floats:
        start = unit(self.base.encode(names))
        vectors = self.network(start)
        vectors += start
        vectors /= 2
        vectors[~start.any(axis=1)] = 0  # names that the encoder below does not know
        return unit(vectors)

    def _write(self, folder: Path) -> object:
        self.base.save(folder / _BASE)
        return {"base": self.kind, "options": dataclasses.asdict(self.options)}

    @classmethod
    def _read(cls, folder: Path, saved: Any) -> FewShotEncoder:
        base = registry.load(saved["base"]).load(folder / _BASE)
        return cls(base, saved["base"], FewShotOptions(**saved["options"]))


def _base(context: EncoderContext) -> tuple[Encoder, str, str, str]:
    """Make or load the encoder that the options ask for.

    Returns:
        The encoder, its name in the registry, the value of the option `base` that is saved, which
        holds no path of this machine, and a fingerprint of the encoder's weights; this is empty
        for word vectors, which have one already.
    """
    name = context.options.base
    if name in _OF_WORD_VECTORS:
        options = DanOptions(cca=name == "cca", hidden=0)
        means = DanEncoder.fitted(of_concepts(context.table), options, context.words)
        return means, "dan", name, ""
    kind, _, model = name.partition(":")
    if kind == "transformer":
        # importing these takes seconds
        from linker.encoders.trainable import checksum
        from linker.encoders.transformer import TransformerEncoder, TransformerOptions

        encoder = TransformerEncoder.pretrained(TransformerOptions(model=model)).eval()
        label = f"{kind}:{encoder.options.model}".removesuffix(":")
        return encoder, kind, label, checksum(encoder)
    if not Path(name).is_dir():
        raise LinkerError(
            f"fewshot.base is {name!r}; "
            "expected: cca, words, transformer, transformer:ID, or the folder of a model"
        )
    label = Path(name).resolve().name
    return persistence.load(name, "model", partial(_of_model, label))


def _of_model(label: str, folder: Path, config: Mapping[str, Any]) -> tuple[Encoder, str, str, str]:
    """The dense encoder of a model, with what `_base` gives beside it."""
    name = config["encoder"]
    kind = registry.load(name)
    if issubclass(kind, SparseEncoder):
        raise LinkerError(
            f"{folder}: is a model of the encoder {name}, which is sparse; "
            "expected: one of a dense encoder"
        )
    provenance = files.sha256(folder / persistence.MANIFEST)
    return kind.load(folder / "dense"), name, label, provenance
