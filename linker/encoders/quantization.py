"""What a BERT needs to be computed in eight bits: the ranges of what goes into its linear maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save_file

from linker import persistence
from linker.encoders.bert import Bert, BertSizes, Floats
from linker.errors import LinkerError

INPUTS: Mapping[str, tuple[str, ...]] = {
    "attention": ("query", "key", "value"),
    "context": ("context",),
    "up": ("up",),
    "down": ("down",),
}
"""The linear maps of a layer that have the same input, by what the input is called."""

_RANGES, _MEASURED = "int8.safetensors", "int8.json"


@dataclass(frozen=True, slots=True)
class Quantization:
    """The ranges of the inputs of linear maps, and what int8 was measured to lose by them.

    Attributes:
        ranges: "LAYER.INPUT" -> float32 (2, dim), the minimum and maximum of each component.
        measured: figures on development data.
    """

    ranges: Mapping[str, Floats]
    measured: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, bert: Bert, batches: Iterable[NDArray[np.int64]]) -> Quantization:
        """Measure the ranges.

        Args:
            bert: the encoder, computed in fp32.
            batches: texts as the ids of their tokens, (texts, length).
        """
        ranges: dict[str, Floats] = {}
        of_first = {kinds[0]: name for name, kinds in INPUTS.items()}

        def widen(layer: int, kind: str, x: Floats) -> None:
            if kind in of_first:
                key = f"{layer}.{of_first[kind]}"
                low, high = ranges.get(key, np.zeros((2, x.shape[1]), np.float32))
                ranges[key] = np.stack(
                    [np.minimum(low, x.min(axis=0)), np.maximum(high, x.max(axis=0))]
                )

        bert.on_input = widen
        try:
            for batch in batches:
                bert(batch)
        finally:
            bert.on_input = None
        return cls(ranges)

    def write(self, folder: Path) -> None:
        """Write what `read` needs into the folder of an encoder."""
        save_file(dict(self.ranges), folder / _RANGES)
        persistence.save_json(folder / _MEASURED, self.measured)

    @classmethod
    def read(cls, folder: Path, sizes: BertSizes) -> Quantization | None:
        """Read what `write` wrote; None where nothing was.

        Raises:
            LinkerError: it does not fit the encoder.
        """
        path = folder / _RANGES
        if not path.exists():
            return None
        try:
            ranges = load(path.read_bytes())
        except (SafetensorError, OSError, ValueError) as error:
            raise LinkerError(f"{path}: holds no ranges ({error}); quantize again") from None
        shapes = {
            f"{layer}.{name}": (2, sizes.inner if name == "down" else sizes.dim)
            for layer in range(sizes.layers)
            for name in INPUTS
        }
        fits = ranges.keys() == shapes.keys() and all(
            ranges[key].shape == shape and np.isfinite(ranges[key]).all()
            for key, shape in shapes.items()
        )
        if not fits:
            raise LinkerError(f"{path}: does not fit its encoder; quantize again")
        return cls(ranges, persistence.load_json(folder / _MEASURED))
