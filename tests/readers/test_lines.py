"""Text with one mention a line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linker.errors import InputError, Skip
from linker.readers import lines
from linker.types import Mention


def read(folder: Path, content: bytes, **options: Skip) -> list[Mention]:
    path = folder / "x.txt"
    path.write_bytes(content)
    return list(lines.read(path, **options))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_bom_crlf_and_blanks(tmp_path: Path, pack: type[bytes]) -> None:
    content = "\ufeffgout\r\n  Sjögren’s syndrome \r\nscurvy".encode()
    assert read(tmp_path, pack(content)) == [
        Mention("gout"),
        Mention("Sjögren’s syndrome"),
        Mention("scurvy"),
    ]
    assert read(tmp_path, content)[0].gold is None


def test_a_blank_line_is_an_empty_mention_so_that_output_keeps_step_with_input(
    tmp_path: Path,
) -> None:
    assert read(tmp_path, b"gout\n\n \t \nscurvy\n") == [
        Mention("gout"),
        Mention(""),
        Mention(""),
        Mention("scurvy"),
    ]


BAD = {
    "not UTF-8": (
        b"na\xefve\n",
        "line 2: byte 0xef is not UTF-8: 'naïve\\n'; expected UTF-8; save it as UTF-8",
    ),
    "NUL": (b"\x00\n", "line 2: the file is binary (it holds a NUL byte)"),
    "far too long": (
        b"a" * 900_000 + b"\n",
        f"line 2: the line has more than 100,000 characters: '{'a' * 80}…'; expected one record a line",
    ),
    "long": (
        b"ab" * 501 + b"\n",
        f"line 2: the mention has 1,002 characters: '{'ab' * 40}…'; expected a name of at most 1,000; give one",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_records(tmp_path: Path, case: str) -> None:
    line, message = BAD[case]
    with pytest.raises(InputError) as caught:
        read(tmp_path, b"gout\n" + line + b"scurvy\n")
    assert f"{tmp_path / 'x.txt'}, {message}" in str(caught.value)
    skip = Skip()
    assert read(tmp_path, b"gout\n" + line + b"scurvy\n", on_error=skip) == [
        Mention("gout"),
        Mention("scurvy"),
    ]
    assert skip.count == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("gout\n".encode("utf-16"), "line 1: the file is UTF-16; expected UTF-8; save it as UTF-8"),
        (
            gzip.compress(b"gout\n" * 9999, mtime=0)[:-30],
            "x.txt: the gzip data is broken after line .*; fetch the file again",
        ),
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, content, on_error=Skip())


NAME = st.text('ab -+"\\{}βé\u00a0\u0085\u2028\x0b\x1f𝒳', min_size=1, max_size=40).filter(
    str.strip
)  # with the line breaks that are none here


@settings(deadline=None)
@given(st.lists(NAME, max_size=5))
def test_every_name_comes_back(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    content = "".join(f"{name}\n" for name in names).encode()
    assert [m.text for m in read(tmp_path_factory.mktemp("lines"), content)] == [
        name.strip() for name in names
    ]
