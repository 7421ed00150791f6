"""The few-shot encoder: a small network on top of mean word vectors (Fivez et al. 2021c).

Linking needs no torch; `trainable.py` trains.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

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
from linker.io.option_group import OptionGroup, Units

_BASE = "base"
_SHOTS: Changes = {
    "ground": {"shots": 15, "epochs": 200},
    "recipe": {"classes": "parts", "anchors": "between", "patience": 10, "batch_size": 16},
}


@dataclass(frozen=True, slots=True)
class FewShotOptions(OptionGroup):
    """The few-shot encoder: a network that moves the vectors of another encoder."""

    group: ClassVar[str] = "fewshot"

    base: Literal["cca", "words"] = "cca"  # mean word vectors, projected or as they are
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
            "train.",
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
        """Make the encoder below; the network is to be trained."""
        means = DanOptions(cca=context.options.base == "cca", hidden=0)
        base = DanEncoder.fitted(of_concepts(context.table), means, context.words)
        encoder = cls(base, context.options)
        encoder.seed = context.seed
        return encoder

    @classmethod
    def needs_words(cls, options: object) -> bool:
        return True

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
        saved = {"base": "dan", "options": dataclasses.asdict(self.options)}
        write_weights(folder, saved, self.weights)

    @classmethod
    def load(cls, folder: Path) -> FewShotEncoder:
        saved = read_options(folder)
        if saved["base"] != "dan":
            raise LinkerError(
                f"{folder}: stands on another model, which this release does not read; train it "
                "again with fewshot.base=cca or words"
            )
        base = DanEncoder.load(folder / _BASE)
        return cls(base, FewShotOptions(**saved["options"])).with_weights(folder)
