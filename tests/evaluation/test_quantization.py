"""What a model loses when mentions are encoded in eight bits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("openvino")
if "OPENVINO_TESTS" not in os.environ:
    pytest.skip("runs in a process of its own, see test_openvino.py", allow_module_level=True)

from linker import Dictionary, Linker, Mention
from linker.encoders.bert import Quantization
from linker.encoders.transformer import TransformerEncoder
from linker.errors import LinkerError
from linker.evaluation import quantization
from linker.evaluation.quantization import encoder_of, quantize
from linker.ids import parse_gold
from linker.options import changed, preset

MENTIONS = [
    Mention("cancer of the breast", gold=parse_gold("D1")),
    Mention("fever", gold=parse_gold("D2")),
]


@pytest.fixture
def model(tiny_bert: Path, tmp_path: Path) -> Linker:
    (tmp_path / "d.txt").write_text("D1||breast cancer|cancer of breast\nD2||fever|hot fever\n")
    dictionary = Dictionary.read(tmp_path / "d.txt", format="biosyn")
    small: dict[str, Any] = {"align": {"epochs": 0}, "training": {"epochs": 0}}
    small["transformer"] = {"model": str(tiny_bert)}
    options = changed(preset("default", "transformer"), small)
    Linker.train(dictionary, encoder="transformer", options=options).save(tmp_path / "m")
    return Linker.load(tmp_path / "m")


def test_a_model_that_loses_little_is_saved_with_its_ranges(model: Linker, tmp_path: Path) -> None:
    measured = quantize(model, MENTIONS, largest_loss=1)
    assert measured["n"] == 2
    assert 0 <= measured["int8"] <= 1
    encoder = encoder_of(model)
    assert encoder.precision == "fp32"
    assert encoder.use("int8") == "int8"
    expected = encoder.encode(["fever"])
    model.save(tmp_path / "again")
    loaded = encoder_of(Linker.load(tmp_path / "again"))
    assert loaded.precision == "fp32"
    assert loaded.quantization is not None
    assert loaded.quantization.measured == measured
    loaded.use("int8")
    assert loaded.encode(["fever"]) == pytest.approx(expected, abs=1e-6)


def test_a_model_that_loses_more_is_refused(model: Linker, monkeypatch: pytest.MonkeyPatch) -> None:
    accuracy = {"fp32": {"n": 1000, "acc1": 0.9}, "int8": {"n": 1000, "acc1": 0.8969}}
    monkeypatch.setattr(quantization, "strict_accuracy", lambda *about: accuracy[about[-1]])
    with pytest.raises(LinkerError, match=r"int8 loses 0.31 points .* 1,000 mentions; allowed are"):
        quantize(model, MENTIONS)
    assert encoder_of(model).quantization is None
    accuracy["int8"]["acc1"] = 0.8971
    quantize(model, MENTIONS)
    assert isinstance(encoder_of(model).quantization, Quantization)


def test_encoders_of_one_precision(tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("D1||breast cancer\n")
    sparse = Linker.train(Dictionary.read(tmp_path / "d.txt", format="biosyn"), encoder="tfidf")
    with pytest.raises(LinkerError, match="the encoder tfidf of this model encodes in one precisi"):
        quantize(sparse, MENTIONS)
    assert TransformerEncoder.has_weights
