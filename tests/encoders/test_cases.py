"""What holds for every dense encoder, two lines for each."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from linker.encoders import registry
from linker.encoders.base import SparseEncoder

from .cases import EncoderCase, GroundedCase


class TestDan(GroundedCase):
    name, small = "dan", {"hidden": 5}


class TestDanHigher(GroundedCase):
    name, small = "dan-higher", {"hidden": 5}


class TestFewshot(GroundedCase):
    name, small = "fewshot", {"hidden": 5}


class TestBne(GroundedCase):
    name, small = "bne", {"hidden": 4}


class TestBneWords(GroundedCase):
    name, small = "bne-words", {"hidden": 4}


class TestStatic(EncoderCase):
    name = "static"


class TestStaticTuned(EncoderCase):
    name = "static-tuned"


class TestTransformer(EncoderCase):
    name = "transformer"

    @pytest.fixture(autouse=True)
    def _model(self, tiny_bert: Path) -> None:
        self.small = {"model": str(tiny_bert)}  # type: ignore[misc]


def test_every_dense_encoder_has_a_case() -> None:
    """A new row of the registry needs a class here."""
    cases = [value for value in globals().values() if isinstance(value, type)]
    tested = {
        case.name for case in cases if issubclass(case, EncoderCase) and hasattr(case, "name")
    }
    dense = {
        name for name in registry.ENCODERS if not issubclass(registry.load(name), SparseEncoder)
    }
    assert tested == dense
