"""BERT's forward pass with numpy, so that linking needs neither torch nor transformers.

The weights are memory-mapped, so that processes share them, and of the vectors of tokens only those
that occur are read. Names of one length are encoded together, so that nothing is padded or masked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save_file

from linker import persistence
from linker.errors import LinkerError

Floats = NDArray[np.float32]
Arrays = Mapping[str, NDArray[Any]]

_TYPES = {"F32": np.float32, "F16": np.float16, "I64": np.int64}  # of safetensors, as numpy's
_RANGES, _MEASURED = "int8.safetensors", "int8.json"
_HEADER_LIMIT = 10_000_000  # bytes
_BLOCK = 16_384  # numbers, which stay in the cache while they go through a function
_ERF = [
    np.float32(value)
    for value in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
]
_LINEAR = {  # the linear maps of a layer, as transformers calls them
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "context": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}
_NORMS = {"after_attention": "attention.output.LayerNorm", "after_network": "output.LayerNorm"}
INPUTS: Mapping[str, tuple[str, ...]] = {
    "attention": ("query", "key", "value"),
    "context": ("context",),
    "up": ("up",),
    "down": ("down",),
}
"""The linear maps of a layer that have the same input, by what the input is called."""


@dataclass(frozen=True, slots=True)
class BertSizes:
    """The sizes of a BERT, from its `config.json`."""

    dim: int
    inner: int  # units of the networks between the layers
    layers: int
    heads: int
    tokens: int  # of the vocabulary
    positions: int  # tokens of a text, at most
    epsilon: float  # of the normalisation of layers

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> BertSizes | None:
        """The sizes that a configuration tells; None where it is not of a plain BERT."""
        is_plain = (
            config.get("model_type") == "bert"
            and config.get("hidden_act") == "gelu"
            and config.get("position_embedding_type", "absolute") == "absolute"
            and not config.get("is_decoder")
        )
        if not is_plain:
            return None
        sizes = cls(
            config["hidden_size"],
            config["intermediate_size"],
            config["num_hidden_layers"],
            config["num_attention_heads"],
            config["vocab_size"],
            config["max_position_embeddings"],
            config["layer_norm_eps"],
        )
        return sizes if sizes.dim % sizes.heads == 0 else None

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the weights by the names of transformers, but for token types."""
        dim, inner = self.dim, self.inner
        shapes: dict[str, tuple[int, ...]] = {
            "embeddings.word_embeddings.weight": (self.tokens, dim),
            "embeddings.position_embeddings.weight": (self.positions, dim),
            "embeddings.LayerNorm.weight": (dim,),
            "embeddings.LayerNorm.bias": (dim,),
        }
        for layer in range(self.layers):
            for kind, name in _LINEAR.items():
                out, into = (inner if kind == "up" else dim), (inner if kind == "down" else dim)
                shapes[f"encoder.layer.{layer}.{name}.weight"] = (out, into)
                shapes[f"encoder.layer.{layer}.{name}.bias"] = (out,)
            for name in _NORMS.values():
                for part in ("weight", "bias"):
                    shapes[f"encoder.layer.{layer}.{name}.{part}"] = (dim,)
        return shapes


class Bert:
    """A BERT that gives the vectors of tokens.

    Args:
        sizes: of its weights.
        weights: by the names of transformers; may be memory-mapped.

    Attributes:
        on_input: is called with the layer, the kind and the input of each linear map.
    """

    def __init__(self, sizes: BertSizes, weights: Arrays) -> None:
        self.sizes, self.weights = sizes, weights
        self.on_input: Callable[[int, str, Floats], object] | None = None

    @classmethod
    def open(cls, folder: Path) -> Bert | None:
        """Memory-map what `save_pretrained` wrote; None where it is not a plain BERT in one file.

        Args:
            folder: with `config.json` and `model.safetensors`.
        """
        try:
            sizes = BertSizes.of(json.loads((folder / "config.json").read_text("utf-8")))
            weights = mapped(folder / "model.safetensors")
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return None
        if sizes is None or len(weights.get("embeddings.token_type_embeddings.weight", ())) == 0:
            return None
        fits = all(
            name in weights and weights[name].shape == shape and weights[name].dtype == np.float32
            for name, shape in sizes.shapes().items()
        )
        return cls(sizes, weights) if fits else None

    def pair(self, kind: str, layer: int | None = None) -> tuple[Floats, Floats]:
        """The weights and the bias of a linear map (out, in) or a normalisation (dim,).

        Args:
            kind: of those in a layer; or `LayerNorm`, the one before the first layer.
            layer: which one, from 0.
        """
        name = f"embeddings.{kind}"
        if layer is not None:
            name = f"encoder.layer.{layer}.{(_LINEAR | _NORMS)[kind]}"
        return self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]

    def embedding(self, ids: NDArray[np.int64]) -> Floats:
        """The vectors of tokens before the first layer, before they are normalised.

        Args:
            ids: (texts, length) of the tokens.
        """
        tokens = self.weights["embeddings.word_embeddings.weight"][ids]
        places = self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        types = self.weights["embeddings.token_type_embeddings.weight"][0]
        return np.asarray(tokens + (places + types), np.float32)

    def __call__(self, ids: NDArray[np.int64]) -> Floats:
        """The vectors of tokens after the last layer, (texts, length, dim).

        Args:
            ids: (texts, length) of the tokens, without padding.
        """
        count, length = ids.shape
        embedded = self.embedding(ids).reshape(count * length, -1)
        x = self._normalized(embedded, *self.pair("LayerNorm"))
        for layer in range(self.sizes.layers):
            context = self._attention(layer, x, count)
            x = x + self._map(layer, "context", context)
            x = self._normalized(x, *self.pair("after_attention", layer))
            inner = _gelu(self._map(layer, "up", x))
            x = x + self._map(layer, "down", inner)
            x = self._normalized(x, *self.pair("after_network", layer))
        return np.asarray(x.reshape(count, length, -1), np.float32)

    def _map(self, layer: int, kind: str, x: Floats) -> Floats:
        if self.on_input is not None:
            self.on_input(layer, kind, x)
        weights, bias = self.pair(kind, layer)
        mapped = x @ weights.T
        mapped += bias
        return mapped

    def _attention(self, layer: int, x: Floats, count: int) -> Floats:
        """What each token takes from the others, (texts * length, dim)."""
        heads = self.sizes.heads
        query, key, value = (
            self._map(layer, kind, x).reshape(count, -1, heads, x.shape[1] // heads)
            for kind in ("query", "key", "value")
        )
        scores = query.transpose(0, 2, 1, 3) @ key.transpose(0, 2, 3, 1)
        scores /= math.sqrt(x.shape[1] // heads)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        context = scores @ value.transpose(0, 2, 1, 3)
        return np.asarray(context.transpose(0, 2, 1, 3).reshape(x.shape), np.float32)

    def _normalized(self, x: Floats, weights: Floats, bias: Floats) -> Floats:
        """Each row with mean 0 and variance 1, multiplied by weights, with a bias."""
        centred = x - x.mean(axis=1, keepdims=True)
        variance = (centred * centred).mean(axis=1, keepdims=True)
        centred /= np.sqrt(variance + np.float32(self.sizes.epsilon))
        return np.asarray(centred * weights + bias, np.float32)


def _gelu(x: Floats) -> Floats:
    """x Φ(x), Φ the distribution function of the normal distribution (Hendrycks & Gimpel 2016).

    1 - erf is a polynomial times exp(-z²) (Abramowitz & Stegun 1964, 7.1.26), to 1.5e-7. In blocks
    that stay in the cache this takes a quarter of the time of scipy's erf.
    """
    result = np.empty(x.size, np.float32)
    flat = x.reshape(-1)
    for i in range(0, x.size, _BLOCK):
        block = flat[i : i + _BLOCK]
        size = np.abs(block)
        z = size * np.float32(math.sqrt(0.5))
        t = np.reciprocal(z * np.float32(0.3275911) + np.float32(1))
        tail = t * _ERF[0]
        for coefficient in _ERF[1:]:
            tail += coefficient
            tail *= t
        tail *= np.exp(-z * z)
        tail *= size
        tail *= np.float32(0.5)
        np.subtract(np.maximum(block, 0), tail, out=result[i : i + _BLOCK])
    return result.reshape(x.shape)


def mapped(path: Path) -> dict[str, NDArray[Any]]:
    """Memory-map the arrays of a safetensors file, which the package of that name would copy.

    Raises:
        ValueError: it is no such file.
        LookupError: it holds numbers of another type, or its header lacks something.
    """
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if not 0 < size < _HEADER_LIMIT:
            raise ValueError("its header is too long")
        header = json.loads(file.read(size))
    data = np.memmap(path, np.uint8, "r", 8 + size)
    arrays = {}
    for name, about in header.items():
        if name != "__metadata__":
            start, end = about["data_offsets"]
            values = np.asarray(data[start:end]).view(_TYPES[about["dtype"]])
            arrays[name] = values.reshape(about["shape"])
    return arrays


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
