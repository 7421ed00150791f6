"""Recognisers of other packages as finders of mentions."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.errors import LinkerError
from linker.linking.documents import recognizer, windows
from linker.linking.requests import FoundSpan


@pytest.mark.parametrize("spec", ["", "spacy", "spacy:", "flair:x", ":x", "SPACY:x"])
def test_no_such_recogniser(spec: str) -> None:
    with pytest.raises(LinkerError, match="spacy:MODEL or gliner:MODEL"):
        recognizer(spec)


@pytest.mark.parametrize("kind", ["spacy", "gliner"])
def test_not_installed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(
        LinkerError, match=rf"needs {kind}, which is not installed: pip install .*{kind}"
    ):
        recognizer(f"{kind}:model")


def test_spacy(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns(
        [{"label": "DISEASE", "pattern": "gout"}, {"label": "DRUG", "pattern": "aspirin"}]
    )
    pipeline.to_disk(tmp_path / "model")
    text = "é aspirin for gout"
    disease, drug = FoundSpan(14, 18, type="DISEASE"), FoundSpan(2, 9, type="DRUG")
    assert list(recognizer(f"spacy:{tmp_path / 'model'}")(text)) == [drug, disease]
    assert list(recognizer(f"spacy:{tmp_path / 'model'}", ["DISEASE"])(text)) == [disease]
    with pytest.raises(LinkerError, match="cannot load the model"):
        recognizer(f"spacy:{tmp_path / 'none'}")


def test_gliner_by_its_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, list[str]]] = []

    class GLiNER:
        @classmethod
        def from_pretrained(cls, model: str) -> GLiNER:
            if model != "known":
                raise OSError("no such model")
            return cls()

        def predict_entities(self, text: str, labels: list[str]) -> list[dict[str, Any]]:
            asked.append((text, labels))
            at = text.find("gout")
            entity = {"start": at, "end": at + 4, "text": "gout", "label": labels[0], "score": 0.75}
            return [entity] if at >= 0 else []

    stub: Any = ModuleType("gliner")
    stub.GLiNER = GLiNER
    monkeypatch.setitem(sys.modules, "gliner", stub)
    text = "x" * 600 + ". " + "y" * 600 + " gout."
    assert list(recognizer("gliner:known")(text)) == [FoundSpan(1203, 1207, 0.75, "Disease")]
    assert [(len(part), labels) for part, labels in asked] == [
        (602, ["Disease"]),
        (606, ["Disease"]),
    ]
    assert text[1203:1207] == "gout"
    assert next(iter(recognizer("gliner:known", ["Pain"])("gout"))).type == "Pain"
    with pytest.raises(LinkerError, match="no such model"):
        recognizer("gliner:other")


@given(st.text(st.sampled_from("ab. \n!"), max_size=40), st.integers(1, 12))
def test_windows_are_the_text(text: str, size: int) -> None:
    stretches = list(windows(text, size))
    assert "".join(text[start:end] for start, end in stretches) == text
    assert all(0 < end - start <= size for start, end in stretches)
