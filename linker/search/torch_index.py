"""Exact search by torch, for vectors of names on a GPU."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from linker.encoders import trainable
from linker.search.index import Floats, Hits, VectorIndex

_CELLS = 2**27  # scores on the device at once, 512 MB
_NAMES = 100_000  # vectors that go to the device at once
_VECTORS = "the vectors of the names and a search among them"


class TorchIndex(VectorIndex):
    """Compares each query with every name on a device of torch, as `VectorIndex` does on the CPU.

    The vectors are held there as float32, and so are the products: torch rounds them to TF32 only
    where a program asks it to. Products of pairs are still those of the CPU.

    Args:
        index: of the same vectors, on the CPU.
        device: where to hold them.

    Raises:
        LinkerError: a vector is not finite, or the memory of the GPU does not hold them.
    """

    def __init__(self, index: VectorIndex, device: torch.device) -> None:
        super().__init__(index.vectors)
        self._on_cpu = index
        with trainable.in_memory(_VECTORS):
            self._names = torch.empty(self.vectors.shape, dtype=torch.float32, device=device)
            for start in range(0, len(self), _NAMES):
                some = slice(start, start + _NAMES)
                self._names[some] = torch.tensor(self._floats(some))

    @property
    def on_cpu(self) -> VectorIndex:
        return self._on_cpu

    def _nearest(self, queries: Floats, k: int, among: NDArray[np.int64] | None) -> Hits:
        step = max(1, _CELLS // max(1, len(self)))
        parts = (queries[i : i + step] for i in range(0, len(queries), step))
        device = self._names.device
        with (
            trainable.in_memory(_VECTORS),
            torch.inference_mode(),
            trainable.autocast(device, "fp32"),
        ):
            rows = None if among is None else torch.tensor(among, device=device)
            names = self._names if rows is None else self._names[rows]
            return Hits.joined([self._search_batch(part, k, names, rows) for part in parts])

    def _search_batch(self, queries: Floats, k: int, vectors: Tensor, among: Tensor | None) -> Hits:
        """As `search`, for as many queries as have at most `_CELLS` scores, given the vectors."""
        products = torch.tensor(queries, device=vectors.device) @ vectors.T
        k = min(k, products.shape[1])
        best, names = products.topk(k)
        if among is not None:
            names = among[names]
        rows, scores = (found.cpu().numpy() for found in (names, best))
        order = np.lexsort((rows, -scores), axis=1)
        return Hits.equally_many(
            *(np.take_along_axis(found, order, axis=1) for found in (rows, scores))
        )


def on_gpu(index: VectorIndex) -> TorchIndex:
    """The same vectors on the GPU.

    Raises:
        LinkerError: there is no GPU that torch can use, or as `TorchIndex` says.
    """
    return TorchIndex(index, trainable.pick_device("cuda"))
