"""BERT by OpenVINO on CPUs, in fp32, bf16 or int8; the graph is built from the weights.

No graph is read from a file and no model is converted, so that a model folder holds plain arrays,
and neither torch nor transformers is loaded. The graph has its layers in eight bits where the
ranges of their inputs are given: OpenVINO turns the `FakeQuantize` nodes into integer kernels.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linker.encoders.base import Precision
from linker.encoders.bert import INPUTS, Bert, Floats

# OpenVINO's converters, which it imports though nothing is converted here, tell its makers of their
# use by this package; where it is missing they do not.
_TELEMETRY = "openvino_telemetry"
_modules: dict[str, Any] = sys.modules
_modules.setdefault(_TELEMETRY, None)
import openvino  # noqa: E402
from openvino import opset13 as op  # noqa: E402

if _modules[_TELEMETRY] is None:
    del _modules[_TELEMETRY]  # whoever imports it later has it

Ranges = Mapping[str, Floats]
"""What goes into the linear maps of a layer, "LAYER.INPUT" -> (2, dim), its minima and maxima."""

_BUCKETS = (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_MASKED = -1e9  # added to the scores of tokens that are padding


class OpenVinoBert:
    """A BERT that is compiled for the processor, once for each length that texts are padded to.

    Args:
        bert: the weights.
        precision: in which the layers are computed.
        ranges: of the inputs of linear maps, for int8.
    """

    def __init__(self, bert: Bert, precision: Precision, ranges: Ranges | None = None) -> None:
        self.bert, self.precision = bert, precision
        self.ranges = ranges if precision == "int8" else None
        self._compiled: dict[int, Any] = {}

    def padded(self, length: int) -> int:
        """The length that a text of this length is padded to."""
        return next((bucket for bucket in _BUCKETS if bucket >= length), length)

    def __call__(self, ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> Floats:
        """The vectors of tokens after the last layer, (texts, length, dim).

        Args:
            ids: (texts, length) of the tokens; the length is one that `padded` gives.
            lengths: (texts,) of the texts without padding.
        """
        length = ids.shape[1]
        if length not in self._compiled:
            self._compiled[length] = self._compile(length)
        mask = np.where(np.arange(length) < lengths[:, None], 0, _MASKED).astype(np.float32)
        outputs = self._compiled[length]([self.bert.embedding(ids), mask[:, None, None]])
        return np.asarray(outputs[0], np.float32)

    def _compile(self, length: int) -> Any:
        is_bf16 = self.precision != "fp32" and "BF16" in abilities()
        settings = {
            "INFERENCE_PRECISION_HINT": "bf16" if is_bf16 else "f32",
            "PERFORMANCE_HINT": "LATENCY",
        }
        return openvino.Core().compile_model(self._graph(length), "CPU", settings)

    def _graph(self, length: int) -> openvino.Model:
        tokens = op.parameter([-1, length, self.bert.sizes.dim], np.float32)
        mask = op.parameter([-1, 1, 1, length], np.float32)
        x = self._normalized(tokens, *self.bert.pair("LayerNorm"))
        for layer in range(self.bert.sizes.layers):
            x = self._layer(layer, x, mask, length)
        return openvino.Model([x], [tokens, mask])

    def _layer(self, layer: int, x: Any, mask: Any, length: int) -> Any:
        maps = partial(self._maps, layer)
        query, key, value = (self._split(mapped, length) for mapped in maps("attention", x))
        scale = op.constant(np.float32(1 / math.sqrt(self._width)))
        scores = op.add(op.multiply(op.matmul(query, key, False, True), scale), mask)
        context = op.matmul(op.softmax(scores, -1), value, False, False)
        context = op.transpose(context, op.constant([0, 2, 1, 3]))
        context = op.reshape(context, op.constant([0, length, self.bert.sizes.dim]), True)
        x = op.add(x, maps("context", context)[0])
        x = self._normalized(x, *self.bert.pair("after_attention", layer))
        inner = op.gelu(maps("up", x)[0], "erf")
        x = op.add(x, maps("down", inner)[0])
        return self._normalized(x, *self.bert.pair("after_network", layer))

    @property
    def _width(self) -> int:
        """The components of a head."""
        return self.bert.sizes.dim // self.bert.sizes.heads

    def _split(self, x: Any, length: int) -> Any:
        """The parts of vectors that the heads take: (texts, heads, length, components)."""
        parts = op.constant([0, length, self.bert.sizes.heads, self._width])
        return op.transpose(op.reshape(x, parts, True), op.constant([0, 2, 1, 3]))

    def _normalized(self, x: Any, weights: Floats, bias: Floats) -> Any:
        epsilon = self.bert.sizes.epsilon
        x = op.mvn(x, op.constant([-1]), True, epsilon, "INSIDE_SQRT")
        return op.add(op.multiply(x, op.constant(weights)), op.constant(bias))

    def _maps(self, layer: int, place: str, x: Any) -> list[Any]:
        """The linear maps of one input."""
        kinds, smoothing = INPUTS[place], None
        pairs = [self.bert.pair(kind, layer) for kind in kinds]
        if self.ranges is not None:
            ranges = self.ranges[f"{layer}.{place}"]
            smoothing = smooth(ranges, [weights for weights, _ in pairs])
            x = _quantized_input(op.multiply(x, op.constant(1 / smoothing)), ranges / smoothing)
        mapped = []
        for weights, bias in pairs:
            matrix = op.constant(weights)
            if smoothing is not None:
                matrix = _quantized_weights(weights * smoothing)
            mapped.append(op.add(op.matmul(x, matrix, False, True), op.constant(bias)))
        return mapped


def smooth(ranges: Floats, weights: list[Floats]) -> Floats:
    """By what each component of an input is divided, and its column of the weights multiplied.

    A few components of a BERT are far larger than the others, which eight bits for all would not
    tell apart; what is divided here is spread over input and weights (Xiao et al. 2023, eq. 4).

    Args:
        ranges: (2, dim) minima and maxima of the input.
        weights: (out, dim) of each of the maps of that input.
    """
    of_input = np.abs(ranges).max(axis=0)
    of_weights = np.max([np.abs(matrix).max(axis=0) for matrix in weights], axis=0)
    factors = np.sqrt(np.maximum(of_input, 1e-5) / np.maximum(of_weights, 1e-5))
    return np.asarray(factors, np.float32)


def _quantized_input(x: Any, ranges: Floats) -> Any:
    """Round to 256 steps between the least and the largest value, zero among them."""
    low, high = min(float(ranges.min()), -1e-5), max(float(ranges.max()), 1e-5)
    step = (high - low) / 255
    low = -round(-low / step) * step
    ends = [op.constant(np.float32(end)) for end in (low, low + 255 * step)]
    return op.fake_quantize(x, *ends, *ends, 256)


def _quantized_weights(weights: Floats) -> Any:
    """Round each row to -127, ..., 127 times its scale; the graph holds the whole numbers."""
    largest = np.maximum(np.abs(weights).max(axis=1, keepdims=True), 1e-8)
    scale = (largest / 127).astype(np.float32)
    whole = np.rint(weights / scale).astype(np.int8)
    return op.multiply(op.convert(op.constant(whole), "f32"), op.constant(scale))


def abilities() -> list[str]:
    """What the processor computes natively, such as BF16 and INT8, as OpenVINO says."""
    return list(openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"))
