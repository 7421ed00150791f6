"""The few-shot encoder: a small network on top of mean word vectors (Fivez et al. 2021c).

Linking needs no torch; `trainable.py` trains.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic.dataclasses import dataclass

from linker.dictionary.classes import Floats, of_concepts
from linker.encoders.base import Changes, EncoderContext, Preset, merged
from linker.encoders.dan import (
    FIVEZ,
    LARGE_CLASSES,
    OF_WORDS,
    DanEncoder,
    DanOptions,
    NumpyEncoder,
    read_options,
    write_weights,
)
from linker.encoders.words import unit
from linker.errors import LinkerError
from linker.io import files, persistence
from linker.io.fields import OptionGroup, Units

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

    # cca: mean word vectors, projected; words: as they are;
    # or the folder of a model of the encoder dan or fewshot
    base: str = "cca"
    hidden: Units = 2400  # units of the hidden layer; 9,600 in the paper
    normalize: ClassVar[bool] = True  # unit vectors, so that the dense score is a cosine


class FewShotEncoder(NumpyEncoder):
    """Dense: mean word vectors, moved by a network that a few names of each large class train.

    `f(n) = (enc(u_n) + u_n) / 2`, u_n the vector of the encoder below, brought to length 1 (Fivez
    et al. 2021c, eq. 1). That encoder is not trained. Make one with `create` or `load`.

    Args:
        base: the encoder below: a DAN, of which mean word vectors are one, or a few-shot encoder.
        options: of the network.
    """

    Options = FewShotOptions
    presets: ClassVar[Mapping[str, Preset]] = {
        "fewshot": Preset(
            "Dense: mean word vectors, moved by a network that a few names of each large class "
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

    def __init__(self, base: NumpyEncoder, options: FewShotOptions) -> None:
        self.base, self.options, self.weights = base, options, {}

    @classmethod
    def create(cls, context: EncoderContext) -> FewShotEncoder:
        """Make or load the encoder below; the network is to be trained.

        Raises:
            LinkerError: there is no such model, or its encoder is another one.
        """
        options, name = context.options, context.options.base
        if name in _OF_WORD_VECTORS:
            means = DanOptions(cca=name == "cca", hidden=0)
            base: NumpyEncoder
            base = DanEncoder.fitted(of_concepts(context.table), means, context.words)
            provenance = ""  # word vectors have a fingerprint already
        elif Path(name).is_dir():
            base, provenance = persistence.load(name, "model", _of_model)
            # the saved options hold no path of this machine
            options = dataclasses.replace(options, base=Path(name).resolve().name)
        else:
            raise LinkerError(
                f"fewshot.base is {name!r}; expected: cca, words, or the folder of a model"
            )
        encoder = cls(base, options)
        encoder.seed, encoder.provenance = context.seed, provenance
        return encoder

    @classmethod
    def needs_words(cls, options: FewShotOptions) -> bool:
        return options.base in _OF_WORD_VECTORS

    @property
    def dim(self) -> int:
        return self.base.dim

    def transform(self, names: Sequence[str]) -> Floats:
        start = unit(self.base.encode(names))
        vectors = self.network(start)
        vectors += start
        vectors /= 2
        vectors[~start.any(axis=1)] = 0  # names that the encoder below does not know
        return unit(vectors)

    def save(self, folder: Path) -> None:
        self.base.save(folder / _BASE)
        kind = "dan" if isinstance(self.base, DanEncoder) else "fewshot"
        saved = {"base": kind, "options": dataclasses.asdict(self.options)}
        write_weights(folder, saved, self.weights)

    @classmethod
    def load(cls, folder: Path) -> FewShotEncoder:
        saved = read_options(folder)
        base = _below(saved["base"], folder / _BASE)
        return cls(base, FewShotOptions(**saved["options"])).with_weights(folder)


def _below(name: object, folder: Path) -> NumpyEncoder:
    """Load an encoder that may stand below, given its name in the registry."""
    if name in ("dan", "dan-higher"):
        return DanEncoder.load(folder)
    if name == "fewshot":
        return FewShotEncoder.load(folder)
    raise LinkerError(
        f"{folder}: is of the encoder {name}, and fewshot stands on dan or fewshot; "
        "train a model of one of these"
    )


def _of_model(folder: Path, config: Mapping[str, Any]) -> tuple[NumpyEncoder, str]:
    """The encoder of a model, and a fingerprint of its weights."""
    return _below(config["encoder"], folder / "dense"), files.sha256(folder / persistence.MANIFEST)
