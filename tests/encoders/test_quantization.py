"""The ranges that encoding in eight bits needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("safetensors")
from safetensors.numpy import load_file, save_file

from linker.encoders.bert import Bert, BertSizes, Quantization
from linker.errors import LinkerError

SIZES = BertSizes(dim=4, inner=6, layers=2, heads=2, tokens=9, positions=5, epsilon=1e-12)


@pytest.fixture
def bert() -> Bert:
    random = np.random.default_rng(0)
    shapes = SIZES.shapes() | {"embeddings.token_type_embeddings.weight": (2, 4)}
    weights = {name: random.normal(size=shape) for name, shape in shapes.items()}
    return Bert(SIZES, {name: values.astype(np.float32) for name, values in weights.items()})


def test_the_ranges_are_of_all_texts(bert: Bert) -> None:
    texts = [np.array([[1, 2, 3], [4, 5, 6]]), np.array([[7, 8]])]
    seen: dict[str, list[np.ndarray]] = {}
    bert.on_input = lambda layer, kind, x: seen.setdefault(f"{layer}.{kind}", []).append(x.copy())
    for ids in texts:
        bert(ids)
    ranges = Quantization.of(bert, texts).ranges
    assert bert.on_input is None
    places = ("attention", "context", "up", "down")
    assert set(ranges) == {f"{layer}.{place}" for layer in range(2) for place in places}
    for key, values in ranges.items():
        rows = np.concatenate(seen[key.replace("attention", "value")])
        np.testing.assert_array_equal(values[0], np.minimum(0, rows.min(axis=0)))
        np.testing.assert_array_equal(values[1], np.maximum(0, rows.max(axis=0)))


def test_what_is_written_is_read(bert: Bert, tmp_path: Path) -> None:
    assert Quantization.read(tmp_path, SIZES) is None
    ranges = Quantization.of(bert, [np.array([[1, 2, 3]])]).ranges
    Quantization(ranges, {"n": 7}).write(tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".safetensors", ".json"}
    read = Quantization.read(tmp_path, SIZES)
    assert read is not None
    assert read.measured == {"n": 7}
    assert read.ranges.keys() == ranges.keys()
    for key, values in ranges.items():
        np.testing.assert_array_equal(read.ranges[key], values)


@pytest.mark.parametrize("change", ["bytes", "nan", "missing", "shape"])
def test_ranges_that_were_changed(bert: Bert, tmp_path: Path, change: str) -> None:
    Quantization.of(bert, [np.array([[1, 2, 3]])]).write(tmp_path)
    path = tmp_path / "int8.safetensors"
    ranges = load_file(path)
    if change == "nan":
        ranges["0.up"] = ranges["0.up"] * np.float32("nan")
    elif change == "missing":
        del ranges["1.down"]
    else:
        ranges["0.up"] = np.zeros((2, 3), np.float32)
    if change == "bytes":
        path.write_bytes(b"no")
    else:
        save_file(ranges, path)
    with pytest.raises(LinkerError, match="quantize again"):
        Quantization.read(tmp_path, SIZES)
