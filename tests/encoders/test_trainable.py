"""What dense encoders share, on an encoder that is small enough to follow by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from linker.errors import LinkerError

torch = pytest.importorskip("torch")
from torch import Tensor, nn  # noqa: E402

from linker.encoders.trainable import (  # noqa: E402
    Batch,
    Tokens,
    TrainableEncoder,
    pick_device,
)

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


class Sums(TrainableEncoder):
    """A name is the sum of its letters, a = [1, 0] and b = [0, 10], times `factor`; it writes down what is asked of it."""

    def __init__(self, room: int = 10**6) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(1.0))
        self.dropout, self.frozen = nn.Dropout(0.5), nn.Identity().eval()
        self.room = room  # names that fit into memory
        self.tokenized: list[str] = []
        self.shapes: list[tuple[int, int]] = []
        self.contexts: list[tuple[bool, bool, bool]] = []

    @property
    def dim(self) -> int:
        return 2

    def tokenize(self, names: Sequence[str]) -> list[Tokens]:
        self.tokenized += names
        return [[" ab".index(c) for c in name] for name in names]

    def collate(self, tokens: Sequence[Tokens]) -> Batch:
        width = max(map(len, tokens))
        return {
            "letters": torch.tensor(
                [[*ids, *[0] * (width - len(ids))] for ids in tokens], dtype=torch.int64
            )
        }

    def forward(self, batch: Batch) -> Tensor:
        self.shapes.append(tuple(batch["letters"].shape))
        self.contexts.append(
            (torch.is_autocast_enabled("cpu"), torch.is_inference_mode_enabled(), self.training)
        )
        if len(batch["letters"]) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")
        rows = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 10.0]])[batch["letters"]].sum(1)
        return self.dropout(rows) * self.factor

    def save(self, folder: object) -> None: ...

    @classmethod
    def load(cls, folder: object) -> Sums:
        return cls()


NAMES = ["ab", "", "b", "abba", "ab", "b"]
VECTORS = [[1, 10], [0, 0], [0, 10], [2, 20], [1, 10], [0, 10]]


def test_vectors_come_in_the_order_asked() -> None:
    encoder = Sums().eval()
    for step in (1, 2, 3, 256):
        encoder.step = step
        vectors = encoder.encode(NAMES)
        assert vectors.dtype == np.float32
        assert vectors.tolist() == VECTORS
    assert encoder.embed(NAMES).tolist() == VECTORS
    assert encoder.encode([]).shape == encoder.embed([]).shape == (0, 2)
    assert encoder.encode(["b", "ab"]).tolist() == [[0, 10], [1, 10]]


def test_encoding_has_no_dropout_and_leaves_the_mode_as_it_was() -> None:
    encoder = Sums().train()
    assert encoder.encode(NAMES).tolist() == VECTORS
    assert encoder.contexts == [(False, True, False)]
    assert encoder.training
    assert encoder.dropout.training
    assert not torch.is_inference_mode_enabled()
    encoder.embed(NAMES)
    assert encoder.contexts[1:] == [(False, False, True)]


def test_out_of_memory() -> None:
    encoder = Sums(room=0).train()
    with pytest.raises(LinkerError):
        encoder.encode(["a", "b"])
    assert encoder.training  # as before


@pytest.mark.parametrize(
    ("choice", "there", "expected"),
    [("auto", True, CUDA), ("auto", False, CPU), ("cpu", True, CPU), ("cuda", False, None)],
)
def test_the_device(
    monkeypatch: pytest.MonkeyPatch, choice: Any, there: bool, expected: object
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    if expected:
        assert pick_device(choice) == expected
    else:
        with pytest.raises(LinkerError):
            pick_device(choice)
