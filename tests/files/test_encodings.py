"""Encodings of texts: what is recognised, what is asked for, what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from linker import files
from linker.errors import InputError, LinkerError
from linker.files import OpenFile, encodings


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"gout", "utf-8"),
        ("Röteln".encode(), "utf-8"),
        (("ä" * 1_500_000).encode(), "utf-8"),  # the block ends within a letter
        ("\ufeffRöteln".encode("utf-16-le"), "utf-16-le"),
        ("\ufeffRöteln".encode("utf-16-be"), "utf-16-be"),
        ("Röteln".encode("utf-16-le"), "utf-8"),  # of which a reader says that it is no text
        ("nr;diagnosis\r\n1;Röteln\r\n".encode("windows-1252"), "windows-1252"),
        ("świnka".encode("windows-1250"), "windows-1252"),
        ("Röteln\nSjögren\n".encode("cp850"), "windows-1252"),
        ("<a>fièvre</a>".encode("windows-1252"), "utf-8"),  # XML names its encoding
    ],
)
def test_which_encoding_a_text_is_in(content: bytes, encoding: str) -> None:
    assert encodings.detect(OpenFile(io.BytesIO(content), "t")) == encoding


def test_what_windows_1252_does_not_have_is_refused() -> None:
    with pytest.raises(InputError, match="line 2: byte 0x8d is not windows-1252; name another"):
        encodings.as_utf8(OpenFile(io.BytesIO(b"gout\n\x8d\n"), "t"))


def test_damaged_utf8_is_no_other_encoding() -> None:
    content = "Röteln\nHüfte\n".encode() + "Störung\n".encode("windows-1252")
    path, encoding = encodings.as_utf8(OpenFile(io.BytesIO(content), "t"))
    assert encoding == "utf-8"
    with pytest.raises(InputError, match="line 3: byte 0xf6 is not UTF-8"):
        list(files.read_lines(path))


def test_a_copy_in_utf8(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes("Röteln\r\nGicht".encode("windows-1252"))
    copy, encoding = encodings.as_utf8(path)
    assert [line for _, line in files.read_lines(copy, keep_ends=True)] == ["Röteln\r\n", "Gicht"]
    assert (str(copy), encoding) == (str(path), "windows-1252")
    said = (
        f"{path}: is not UTF-8, and was read as windows-1252; if it is in another, name that with"
    )
    assert caplog.messages == [f"{said} --encoding"]


def test_an_encoding_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes("ятаган\nчума".encode("windows-1251"))
    copy, _ = encodings.as_utf8(path, "cp1251")
    assert [line for _, line in files.read_lines(copy)] == ["ятаган", "чума"]
    path.write_bytes("\ufeffRöteln".encode("utf-16-be"))
    copy, encoding = encodings.as_utf8(path, "UTF-16")
    assert ([line for _, line in files.read_lines(copy)], encoding) == (["Röteln"], "utf-16-be")
    path.write_bytes(b"a\nb\n\x81\n")
    with pytest.raises(InputError, match="line 3: byte 0x81 is not cp1252"):
        encodings.as_utf8(path, "cp1252")
    for name in ("latin-99", "rot13", "base64", "idna", "punycode"):
        with pytest.raises(LinkerError, match=f"'{name}' is no encoding; name one such as"):
            encodings.as_utf8(path, name)
