"""BERT by OpenVINO, and the precisions of an encoder that links."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("openvino")
if "OPENVINO_TESTS" not in os.environ:
    pytest.skip("runs in a process of its own, see test_openvino.py", allow_module_level=True)

from linker.encoders import transformer
from linker.encoders.bert import Quantization
from linker.encoders.bert_openvino import smooth
from linker.encoders.dan import DanEncoder, DanOptions
from linker.encoders.transformer import TransformerEncoder, TransformerOptions
from linker.encoders.words import WordVectors
from linker.errors import LinkerError

NAMES = ["", "fever", "breast cancer", "a " * 300, "[PAD] cancer", "type 1 disease", "xyz"]


@pytest.fixture
def encoder(tiny_bert: Path, tmp_path: Path) -> TransformerEncoder:
    TransformerEncoder.pretrained(TransformerOptions(model=str(tiny_bert))).save(tmp_path / "m")
    loaded = TransformerEncoder.load(tmp_path / "m")
    assert isinstance(loaded, TransformerEncoder)
    return loaded


def quantized(encoder: TransformerEncoder) -> TransformerEncoder:
    batches = [np.array([ids]) for ids in encoder.tokenize(NAMES)]
    encoder.quantization = Quantization.of(encoder.bert, batches)
    return encoder


def test_in_fp32_the_graph_makes_the_vectors_of_numpy(encoder: TransformerEncoder) -> None:
    exact = encoder.encode(NAMES)
    encoder._engine = transformer.openvino_module().OpenVinoBert(encoder.bert, "fp32")
    np.testing.assert_allclose(encoder.encode(NAMES), exact, atol=1e-5)
    alone = np.concatenate([encoder.encode([name]) for name in NAMES])
    np.testing.assert_allclose(alone, exact, atol=1e-4)  # whatever stands beside a name


# sums of two products overflow 16 bits in processors that cannot add four of them in 32
INT8 = 0.1 if transformer.processor_flags() & {"avx512_vnni", "avx_vnni", "amx_int8"} else 0.2


@pytest.mark.parametrize(("precision", "largest"), [("bf16", 0.05), ("int8", INT8)])
def test_lower_precisions_near(encoder: TransformerEncoder, precision: Any, largest: float) -> None:
    exact = encoder.encode(NAMES)
    assert quantized(encoder).use(precision) == precision
    rounded = encoder.encode(NAMES)
    assert np.abs(rounded - exact).max() < largest
    if precision == "int8":  # bf16 is fp32 where the processor does not compute it
        assert np.abs(rounded - exact).max() > 1e-5
    assert encoder.use("fp32") == "fp32"
    np.testing.assert_array_equal(encoder.encode(NAMES), exact)


def test_a_copy_encodes_in_the_same_precision(encoder: TransformerEncoder) -> None:
    quantized(encoder).use("int8")
    other = pickle.loads(pickle.dumps(encoder))
    assert other.precision == "int8"
    np.testing.assert_allclose(other.encode(NAMES), encoder.encode(NAMES), atol=1e-6)


@pytest.mark.parametrize(
    ("flags", "has_int8", "expected"),
    [
        ({"avx512_vnni", "avx512_bf16"}, True, "int8"),
        ({"avx512_vnni", "avx512_bf16"}, False, "bf16"),
        ({"amx_bf16"}, True, "bf16"),
        ({"avx2"}, True, "fp32"),
        (set(), False, "fp32"),
    ],
)
def test_auto_takes_what_the_processor_has(
    encoder: TransformerEncoder,
    monkeypatch: pytest.MonkeyPatch,
    flags: set[str],
    has_int8: bool,
    expected: str,
) -> None:
    monkeypatch.setattr(transformer, "processor_flags", lambda: flags)
    if has_int8:
        quantized(encoder)
    assert encoder.use("auto") == expected


def test_int8_of_a_model_that_was_not_quantized(encoder: TransformerEncoder) -> None:
    with pytest.raises(LinkerError, match="this model was not prepared for it"):
        encoder.use("int8")
    assert encoder.precision == "fp32"


def test_without_openvino(encoder: TransformerEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    monkeypatch.delitem(sys.modules, "linker.encoders.bert_openvino")
    monkeypatch.delattr("linker.encoders.bert_openvino", raising=False)
    with pytest.raises(LinkerError, match=r"needs openvino, which is not installed: pip .*fast"):
        encoder.use("bf16")
    assert encoder.precision == "fp32"
    encoder.encode(["fever"])


def test_nothing_is_told_to_anyone(encoder: TransformerEncoder, tmp_path: Path) -> None:
    """Neither is a connection attempted, nor the package loaded that would, nor torch."""
    quantized(encoder).save(tmp_path / "q")
    code = f"""
import pathlib, socket, sys
def refuse(*_):
    raise AssertionError("a connection was attempted")
socket.socket.connect = socket.getaddrinfo = refuse
from linker.encoders.transformer import TransformerEncoder
encoder = TransformerEncoder.load(pathlib.Path({str(tmp_path / "q")!r}))
for precision in ("bf16", "int8"):
    encoder.use(precision)
    encoder.encode(["fever"])
print(*sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "openvino" in loaded
    assert loaded.isdisjoint({"openvino_telemetry", "nncf", "torch", "transformers"})


def test_smoothing_spreads_large_components_over_input_and_weights() -> None:
    ranges = np.array([[-1, -100, 0], [1, 64, 0]], np.float32)
    weights = [np.array([[4, 1, 1]], np.float32), np.array([[-1, 0.25, 0]], np.float32)]
    factors = smooth(ranges, weights)
    np.testing.assert_allclose(factors[:2], [0.5, 10])
    assert factors[2] > 0  # of a component that is always 0


def test_encoders_of_other_precisions(tiny_bert: Path) -> None:
    trained = TransformerEncoder.pretrained(TransformerOptions(model=str(tiny_bert)))
    assert trained.use("bf16") == trained.precision == "bf16"
    with pytest.raises(LinkerError, match="encodes in fp32 or bf16, and not in int8"):
        trained.use("int8")
    words = DanEncoder(WordVectors(["fever"], np.ones((1, 2), np.float32)), DanOptions(hidden=0))
    assert words.use("auto") == "fp32"
    with pytest.raises(LinkerError, match="DanEncoder encodes in fp32, and not in bf16"):
        words.use("bf16")
