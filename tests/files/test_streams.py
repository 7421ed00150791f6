"""Open files in place of paths."""

from __future__ import annotations

import gzip
import io
import tempfile
from pathlib import Path
from typing import IO, Any

import pytest

from linker import files
from linker.errors import InputError, LinkerError
from linker.files import OpenFile

TEXT = "gout\nHodgkin’s disease\n"
LINES = [(1, "gout"), (2, "Hodgkin’s disease")]


class Once(io.RawIOBase):
    """A stream that can be read only once, a few bytes at a time."""

    def __init__(self, content: bytes) -> None:
        self._rest = content

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(7, len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def streams(folder: Path) -> dict[str, IO[Any]]:
    path = folder / "given.txt"
    path.write_bytes(TEXT.encode())
    spooled = tempfile.SpooledTemporaryFile(4, "w+b")  # noqa: SIM115 - closed by the test
    spooled.write(TEXT.encode())
    spooled.seek(0)
    return {
        "bytes": io.BytesIO(TEXT.encode()),
        "gzip": io.BytesIO(gzip.compress(TEXT.encode())),
        "text": io.StringIO(TEXT),
        "file": path.open("rb"),
        "unbuffered": path.open("rb", buffering=0),
        "text file": path.open(encoding="utf-8"),
        "spooled": spooled,
        "once": Once(TEXT.encode()),  # type: ignore[dict-item]
    }


@pytest.mark.parametrize(
    "kind", ["bytes", "gzip", "text", "file", "unbuffered", "text file", "spooled", "once"]
)
def test_every_kind_of_open_file_is_read_twice_and_by_turns(tmp_path: Path, kind: str) -> None:
    given = streams(tmp_path)
    with given[kind] as stream:
        path = OpenFile(stream)
        assert list(files.read_lines(path)) == LINES
        first, second = files.read_lines(path), files.read_lines(path)
        assert [next(first), next(second), next(first), next(second)] == [
            line for line in LINES for _ in range(2)
        ]
        assert not stream.closed
    for stream in given.values():
        stream.close()


def test_a_stream_is_read_from_where_it_stands_and_peeking_sets_it_back() -> None:
    stream = io.BytesIO(b"skipped\ngout\n")
    stream.readline()
    with files.peeking(stream) as path:
        assert files.head(path) == ["gout"]
    assert stream.read() == b"gout\n"
    text = io.StringIO("gout\n")
    with files.peeking(text) as path:
        assert files.head(path) == ["gout"]
    assert text.read() == "gout\n"


@pytest.mark.parametrize("newline", [None, ""])
def test_a_text_file_is_read_from_the_line_where_it_stands(
    tmp_path: Path, newline: str | None
) -> None:
    path = tmp_path / "long.txt"
    names = [f"disease ü {number}" for number in range(9999)]  # more than a text reads ahead
    path.write_bytes("\r\n".join(names).encode())
    expected = [(number, name) for number, name in enumerate(names[2:], 1)]
    with path.open(encoding="utf-8", newline=newline) as stream:
        stream.readline()
        stream.readline()
        with files.peeking(stream) as peeked:
            assert files.head(peeked, 20) == names[2:22]
        assert list(files.read_lines(OpenFile(stream))) == expected
    with path.open(encoding="utf-8", newline=newline) as stream:
        next(stream)  # hides where the file stands
        next(stream)
        assert list(files.read_lines(OpenFile(stream))) == expected
    with path.open(encoding="utf-8", newline=newline) as stream:
        next(stream)
        with pytest.raises(LinkerError, match="can be read only once"), files.peeking(stream):
            pass


def test_a_text_file_whose_decoder_has_a_state_is_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "seven.txt"
    path.write_bytes("gout\nü€ß\nHodgkin’s disease\n".encode("utf-7"))
    with path.open(encoding="utf-7") as stream:
        while stream.read(1) != "€":  # stands inside of an encoded run
            pass
        with files.peeking(stream) as peeked:
            assert files.head(peeked) == ["ß", "Hodgkin’s disease"]
        assert list(files.read_lines(OpenFile(stream))) == [(1, "ß"), (2, "Hodgkin’s disease")]


def test_peeking_into_what_can_be_read_once_wants_an_open_file() -> None:
    message = r"^upload: can be read only once; put it into an OpenFile"
    once: Any = Once(b"gout\n")
    with pytest.raises(LinkerError, match=message), files.peeking(once) as path:
        assert files.head(path) == ["gout"]
    once = Once(b"gout\n")
    kept = OpenFile(once)
    with files.peeking(kept) as path:
        assert files.head(path) == ["gout"]
    assert files.read_text(kept) == "gout"


def test_names_for_messages(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.touch()
    with path.open("rb") as named, open(named.fileno(), "rb", closefd=False) as numbered:
        assert str(OpenFile(named)) == str(path)
        assert str(OpenFile(numbered)) == "upload"
    standard = io.BytesIO()
    standard.name = "<stdin>"  # type: ignore[attr-defined]
    assert str(OpenFile(standard)) == "standard input"
    with pytest.raises(InputError, match=r"^order 7, line 1: byte 0xff is not UTF-8"):
        list(files.read_lines(OpenFile(io.BytesIO(b"\xff\n"), "order 7")))


def test_an_open_file_is_no_folder_whatever_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("upload").mkdir()
    assert files.is_folder("upload")
    assert not files.is_folder(OpenFile(io.BytesIO()))
    assert not files.is_folder("-")


def test_a_stream_that_fails_while_it_is_copied_is_named() -> None:
    class Broken(Once):
        def readinto(self, buffer: Any) -> int:
            if len(buffer):
                raise OSError(5, "Input/output error")
            return 0

    with pytest.raises(LinkerError, match=r"^order 7: cannot be read: Input/output error$"):
        OpenFile(Broken(b""), "order 7")  # type: ignore[arg-type]
