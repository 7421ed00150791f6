"""Running text as documents."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from linker.errors import InputError, Skip
from linker.io import mentions as text


@pytest.mark.parametrize("content", ["", "a\r\nb\n\n c\t", "\n", " \u2028é\U0001f600\x07"])
def test_the_text_is_as_given(tmp_path: Path, content: str) -> None:
    path = tmp_path / "one.txt"
    path.write_bytes(content.encode())
    (document,) = text.read_texts(path)
    assert (document.id, document.text, document.mentions) == ("one", content, ())


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("second", encoding="utf-8")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"first"))
    (tmp_path / "notes.md").write_text("no text of ours", encoding="utf-8")
    assert [(d.id, d.text) for d in text.read_texts(tmp_path)] == [("a", "first"), ("b", "second")]


def test_bad_texts_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"gout \xff")
    (tmp_path / "b.txt").write_bytes(b"gout \x00")
    (tmp_path / "c.txt").write_bytes(b"gout")
    with pytest.raises(InputError):
        list(text.read_texts(tmp_path))
    skip = Skip()
    assert [document.id for document in text.read_texts(tmp_path, on_error=skip)] == ["c"]
    assert skip.count == 2
