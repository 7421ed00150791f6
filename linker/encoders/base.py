"""The base classes of encoders, which every encoder of names implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass as options_dataclass
from scipy.sparse import csr_matrix

from linker.errors import LinkerError
from linker.io.option_group import OptionGroup

if TYPE_CHECKING:
    from linker.dictionary import NameTable

Changes = Mapping[str, Mapping[str, Any]]
"""Options that differ from the defaults: group -> field -> value."""

Precision = Literal["auto", "fp32", "bf16"]
"""In which names are encoded; auto is the fastest that the processor computes natively."""

Device = Literal["auto", "cpu", "cuda"]
"""Where linking computes; auto: a transformer encodes on a GPU if there is one, else the CPU."""


@dataclass(frozen=True, slots=True)
class Preset:
    """Settings of an encoder under a name."""

    description: str  # one line, for `linker model encoders`
    # options; the group `encoder` holds those of the encoder itself, `recipe` fields of `Recipe`
    changes: Changes


@options_dataclass(frozen=True, slots=True)
class Recipe(OptionGroup):
    """How a training runs beside its options: what presets alone choose.

    Grounding is that of the DAN (Fivez et al. 2021a, eq. 3-5), the higher-level DAN (2021b, eq.
    2-6), the few-shot encoder (2021c, eq. 2-4) and BNE (Phan et al. 2019, eq. 3-6). f is the
    encoder, u_n the pretrained vector of a name, u_c the mean of those of its class.
    """

    group: ClassVar[str] = "recipe"

    # grounding: what a class is: a concept, or what `ground.level` and `ground.parts` say
    classes: Literal["concepts", "level", "parts"] = "concepts"
    # L_syn: InfoNCE in a batch, Fivez's triplets, or BNE's pairs
    loss: Literal["contrast", "triplet", "logistic"] = "contrast"
    # further losses: `prototype` (L_proto, the mean f of a class's names to CCA(u_c)); of each name
    # `context` (L_cont or L_ctx, f(n) to u_n), `concept` (L_def, to u_c), and `between` (L_ground,
    # to half way between u_c and u_n, of length 1)
    anchors: str = "prototype"
    # of each name in an epoch, or pairs; 0: one for each other name of its class
    triplets: int = 2
    patience: int = 2  # epochs without a better one before it stops
    batch_size: int = 256  # triplets or pairs
    clip: float = 0.0  # largest norm of the gradient; 0: no clipping
    # lists: by the rules of BioSyn and BCNH, see `training/listwise.py`
    published: bool = False
    sparse_weight: float = 0.0  # where λ, the weight of the sparse score, starts

    def scale(self, is_unit: bool) -> float:
        """The factor of dense scores in training, which all scores are divided by when linking.

        Args:
            is_unit: whether the vectors have length 1.
        """
        return 20.0 if is_unit and not self.published else 1.0

    @property
    def frequency_weight(self) -> float:
        """Of log(1 + annotations of a concept), added to the score of its names when linking."""
        return 0.0 if self.published else 0.1


def merged(*changes: Changes) -> Changes:
    """Merge changes into one; of two values of a field the last counts."""
    groups: dict[str, dict[str, Any]] = {}
    for mapping in changes:
        for group, fields in mapping.items():
            groups.setdefault(group, {}).update(fields)
    return groups


@dataclass(frozen=True, slots=True)
class EncoderContext:
    """What a new encoder is made from: its options, the names of the dictionary, a seed."""

    options: Any  # the encoder's: an instance of its `Options`, or None where it has none
    table: NameTable  # the distinct names of the dictionary, without the annotated mentions
    words: Any  # `WordVectors`, for encoders that need them; else None
    seed: int  # of the weights


class SparseEncoder(ABC):
    """Maps normalised names to sparse vectors whose dot product is the sparse score."""

    @abstractmethod
    def fit(self, names: Sequence[str]) -> None:
        """Learn the terms and their weights from the names of the dictionary."""

    @abstractmethod
    def encode(self, names: Sequence[str]) -> csr_matrix:
        """Encode names to float32 (len(names), terms)."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what `load` needs into a folder that is being saved."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> SparseEncoder:
        """Read a saved encoder."""


class Encoder(ABC):
    """Maps normalised names to dense vectors whose dot product is the dense score.

    Attributes:
        Options: the frozen dataclass of its options; None where it has none.
        has_weights: whether gradients train it, by torch; others are used as `create` makes them.
        is_grounded: whether the grounding phase trains it, since it starts from vectors of names.
        trained_as: the name in the registry under which gradients train an encoder that is
            otherwise used as `create` makes it; empty: there is none.
        covers_characters: whether names that are alike by characters are alike by its vectors, so
            that characters need not be searched, too, where vectors find something near.
        presets: settings by name. The one that is called as the encoder is in the registry holds
            its defaults; `paper-NAME` holds those of a paper.
        options: the options that it was made with.
        provenance: a fingerprint of what else it was made from, such as a pretrained model; names
            and word vectors have fingerprints already. A training resumes only from checkpoints
            with the same fingerprint.
    """

    Options: ClassVar[Any] = None
    has_weights: ClassVar[bool] = False
    is_grounded: ClassVar[bool] = False
    trained_as: ClassVar[str] = ""
    covers_characters: ClassVar[bool] = False
    presets: ClassVar[Mapping[str, Preset]] = {}
    options: Any = None
    provenance: str = ""

    @classmethod
    def create(cls, context: EncoderContext) -> Encoder:
        """Make a new encoder, which training may change."""
        raise NotImplementedError(f"{cls.__name__} has no `create`, which training calls")

    @classmethod  # noqa: B027 - most encoders have nothing to check
    def check(cls, options: Any) -> None:
        """Check, before any data is read, that `create` can work with these options.

        Raises:
            LinkerError: it cannot.
        """

    @classmethod
    def needs_words(cls, options: Any) -> bool:
        """Whether an encoder with these options is made from word vectors."""
        return False

    @property
    @abstractmethod
    def dim(self) -> int:
        """The number of components of a vector."""

    @abstractmethod
    def encode(self, names: Sequence[str]) -> NDArray[np.float32]:
        """Encode names to float32 (len(names), dim)."""

    def use(self, precision: Precision) -> Precision:
        """Encode names in this precision from now on; vectors are float32 in any case.

        Args:
            precision: fp32 is the default and the reference, and all that many encoders know.

        Returns:
            The precision, never auto.

        Raises:
            LinkerError: this encoder, or this machine, does not compute in it.
        """
        if precision in ("auto", "fp32"):
            return "fp32"
        raise LinkerError(f"{type(self).__name__} encodes in fp32, and not in {precision}")

    def move(self, device: Literal["cpu", "cuda"]) -> None:  # noqa: B027 - many stay on the CPU
        """Encode on this device from now on, where torch encodes; the others stay on the CPU.

        Raises:
            LinkerError: the device is cuda, and there is no GPU that torch can use.
        """

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write what `load` needs into a folder that is being saved."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Encoder:
        """Read a saved encoder."""


PROBE = ("a", "name")  # names that an encoder is tried on


def is_unit(encoder: Encoder) -> bool:
    """Whether the vectors of an encoder have length 1, by its options or else by trial."""
    normalizes = getattr(getattr(encoder, "options", None), "normalize", None)
    if isinstance(normalizes, bool):  # a name without known words has length 0
        return normalizes
    return np.allclose(np.linalg.norm(encoder.encode(PROBE), axis=1), 1, atol=1e-2)
