"""The few-shot encoder: a small network on top of another encoder (Fivez et al. 2021c).

Linking needs no torch, unless the encoder below does; `fewshot_training.py` trains.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from linker import registry
from linker.dictionary.classes import Floats
from linker.encoders.base import Changes, Encoder, EncoderContext, Preset, merged
from linker.encoders.layers import NumpyEncoder, network_shapes
from linker.encoders.presets import FIVEZ, LARGE_CLASSES, OF_WORDS
from linker.encoders.words import unit
from linker.errors import LinkerError
from linker.fields import OptionGroup, Units

BASE = "base"
OF_WORD_VECTORS = ("cca", "words")

_SHOTS: Changes = {
    "ground": {
        "classes": "parts",
        "shots": 15,
        "epochs": 200,
        "patience": 10,
        "monitor": "loss",
        "negatives": 1000,
        "prototype_weight": 0,
        "between_weight": 1,
        "batch_size": 16,
    }
}


@dataclass(frozen=True, slots=True)
class FewShotOptions(OptionGroup):
    """The few-shot encoder: a network that moves the vectors of another encoder."""

    group: ClassVar[str] = "fewshot"

    # cca: mean word vectors, projected; words: as they are; transformer[:PATH_OR_HUB_ID];
    # or the folder of a dense model
    base: str = "cca"
    hidden: Units = 2400  # units of the hidden layer; 9,600 in the paper
    # share of the hidden units in training, counted in 256ths
    dropout: Annotated[float, Field(ge=0, le=0.998)] = 0.5
    normalize: bool = True  # unit vectors, so that the dense score is a cosine

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
        weights: of the network.
    """

    Options = FewShotOptions
    presets: ClassVar[Mapping[str, Preset]] = {
        "fewshot": Preset(
            "Dense: any encoder's vectors, moved by a network that a few names of each large class "
            "train; may stand on another one.",
            merged(
                OF_WORDS,
                LARGE_CLASSES,
                {"ground": FIVEZ["ground"]},
                _SHOTS,
                {"ground": {"epochs": 30, "patience": 5, "batch_size": 64}},
            ),
        ),
        "paper-fewshot": Preset(
            "The few-shot encoder of Fivez et al. 2021c.",
            merged(FIVEZ, _SHOTS, {"encoder": {"base": "words", "hidden": 9600}}),
        ),
    }

    def __init__(
        self,
        base: Encoder,
        kind: str,
        options: FewShotOptions,
        weights: Mapping[str, Floats] | None = None,
    ) -> None:
        self.base, self.kind, self.options, self.weights = base, kind, options, weights or {}

    @classmethod
    def create(cls, context: EncoderContext) -> Encoder:
        """Put a network of random weights on an encoder; torch trains what is returned.

        Raises:
            LinkerError: there are no word vectors, no such encoder, or no such model, or its
                encoder is not dense.
        """
        from linker.encoders.fewshot_training import TrainableFewShot

        return TrainableFewShot.create(context)

    @classmethod
    def needs_words(cls, options: FewShotOptions) -> bool:
        return options.base in OF_WORD_VECTORS

    def trainable(self) -> Encoder:
        from linker.encoders.fewshot_training import TrainableFewShot

        return TrainableFewShot(self)

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
        return unit(vectors) if self.options.normalize else vectors

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return network_shapes(self.dim, self.options.hidden)

    def _write(self, folder: Path) -> object:
        self.base.save(folder / BASE)
        return {"base": self.kind, "options": dataclasses.asdict(self.options)}

    @classmethod
    def _read(cls, folder: Path, saved: Any) -> FewShotEncoder:
        base = registry.load(saved["base"]).load(folder / BASE)
        return cls(base, saved["base"], FewShotOptions(**saved["options"]))
