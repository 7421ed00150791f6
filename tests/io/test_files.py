"""Opening, checking and replacing files."""

from __future__ import annotations

import gzip
import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linker.errors import InputError, LinkerError, Skip
from linker.io import files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def lines(path: Path, content: bytes) -> list[tuple[int, str]]:
    path.write_bytes(content)
    return list(files.read_lines(path))


def problem(path: Path, content: bytes) -> InputError:
    with pytest.raises(InputError) as caught:
        lines(path, content)
    return caught.value


def test_windows_line_ends_a_bom_and_gzip_change_nothing(path: Path) -> None:
    plain = "α\nb\n"
    for text in (plain, "\ufeff" + plain, plain.replace("\n", "\r\n"), plain[:-1]):
        for content in (text.encode(), gzip.compress(text.encode())):
            assert lines(path, content) == [(1, "α"), (2, "b")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\n\ufeff")),
    st.booleans(),
)
def test_any_text_is_read_back(path: Path, text: str, packed: bool) -> None:
    content = f"first\n{text}\n".encode()
    assert lines(path, gzip.compress(content) if packed else content)[1] == (2, text.rstrip("\r"))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a\nb\xe8c\n", 2),
        ("a\n".encode("utf-16"), 1),
        (b"a\n\x00\n", 2),
        (b"%PDF-1.7\n%\xe2\xe3\n", 2),
        (b"PK\x03\x04\x14\x00", 1),
    ],
)
def test_what_is_no_text(path: Path, content: bytes, line: int) -> None:
    assert problem(path, content).line == line


def test_files_that_cannot_be_opened_or_unpacked(path: Path, tmp_path: Path) -> None:
    with pytest.raises(LinkerError):
        list(files.read_lines(path))
    with pytest.raises(LinkerError):
        list(files.read_lines(tmp_path))
    packed = gzip.compress(os.urandom(1000).hex().encode())
    for content in (
        packed[: len(packed) // 2],
        packed[:20] + b"\xff\xff\xff\xff" + packed[24:],
        packed[:-8] + b"\0" * 8,
    ):
        assert "gzip" in problem(path, content).problem


@pytest.fixture
def one_megabyte(monkeypatch: pytest.MonkeyPatch) -> int:
    """A line limit of 1 MB, in bytes."""
    monkeypatch.setattr(files, "LONG_LINE", 1_000_000)
    monkeypatch.setattr(files, "WHOLE", 8_000_000)
    return 1_000_000


def test_long_lines_have_a_limit(path: Path, one_megabyte: int) -> None:
    line = b"a" * (one_megabyte - 1) + b"\n"
    assert [len(text) for _, text in lines(path, line * 2)] == [one_megabyte - 1] * 2
    assert problem(path, line + b"a" + line + b"b\n").line == 2
    assert [n for n, _ in files.read_lines(path, on_error=Skip())] == [1, 3]


@pytest.mark.parametrize(
    "text",
    ['{"a": ', "[" * 100000, '["\\ud800"]', '{"\\udfff": 1}', '["\\udc00\\ud800"]', "9" * 5000],
)
def test_json_and_what_is_none(text: str) -> None:
    with pytest.raises(ValueError):
        files.parse_json(text)
    assert files.parse_json('{"a": ["\\ud835\\udcb3", "\\\\ud800"]}') == {"a": ["𝒳", "\\ud800"]}


def test_standard_input() -> None:
    code = "from linker.io import files\nfor _ in '12': print(list(files.read_lines('-')))"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, input=b"a\nb\n", capture_output=True, check=True)
    assert run.stdout == b"[(1, 'a'), (2, 'b')]\n[]\n"


def test_write_aside(path: Path, tmp_path: Path) -> None:
    with files.write_aside(path) as file:
        file.write("new: é\n")
        assert not path.exists()
    assert path.read_bytes() == "new: é\n".encode()
    assert list(tmp_path.iterdir()) == [path]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_gzip_output_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with files.write_aside(tmp_path / name) as file:
            file.write("text\n" * 100)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"text\n" * 100


def test_outputs_that_cannot_be_written(path: Path, tmp_path: Path) -> None:
    path.write_text("mine")
    (tmp_path / "folder").mkdir()
    for bad in (path / "below", tmp_path / "folder"):
        with pytest.raises(LinkerError), files.write_aside(bad):
            pass
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
    assert path.read_text() == "mine"


def test_a_device_or_pipe_is_written_and_not_replaced(path: Path) -> None:
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with files.write_aside(path) as file:
        file.write("text")
    assert os.read(reader, 100) == b"text"
    with files.write_binary_aside(path) as raw:
        raw.write(b"bytes")
    assert os.read(reader, 100) == b"bytes"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def fill(folder: Path, text: str) -> None:
    with files.write_folder(folder) as aside:
        (aside / "marker.json").write_text(text)
        (aside / "sub").mkdir()
        (aside / "sub" / text).write_text(text)


def write_half(path: Path, error: type[BaseException]) -> None:
    if path.name == "model":
        with files.write_folder(path) as aside:
            (aside / "marker.json").write_text("half")
            raise error
    with files.write_aside(path) as file:
        file.write("half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("name", ["model", "file"])
def test_a_failure_leaves_what_was_there(
    tmp_path: Path, name: str, error: type[BaseException]
) -> None:
    fill(tmp_path / "model", "one")
    (tmp_path / "file").write_text("one")
    with pytest.raises(error):
        write_half(tmp_path / name, error)
    assert (tmp_path / "model" / "marker.json").read_text() == "one"
    assert (tmp_path / "file").read_text() == "one"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "target").write_text("old")
    fill(tmp_path / "disk" / "model", "one")
    for name in ("target", "model"):
        (tmp_path / name).symlink_to(tmp_path / "disk" / name)
    with files.write_aside(tmp_path / "target") as file:
        file.write("new")
    fill(tmp_path / "model", "two")
    assert all((tmp_path / name).is_symlink() for name in ("target", "model"))
    assert (tmp_path / "disk" / "target").read_text() == "new"
    assert (tmp_path / "disk" / "model" / "marker.json").read_text() == "two"
    assert sorted(p.name for p in (tmp_path / "disk").iterdir()) == ["model", "target"]


def test_the_rights_of_a_file_that_is_replaced_stay(path: Path) -> None:
    path.write_text("old")
    path.chmod(0o600)
    with files.write_aside(path) as file:
        file.write("new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)


def test_an_open_file_is_read_from_where_it_stands_and_again(tmp_path: Path) -> None:
    stream = io.BytesIO(b"first\ngout\n")
    stream.readline()
    with files.peeking(stream) as opened:
        assert [files.read_text(opened) for _ in range(2)] == ["gout\n".strip()] * 2
    assert stream.tell() == 6
    assert str(files.OpenFile(io.StringIO("gout"), "a.txt")) == "a.txt"
    assert files.read_text(files.OpenFile(io.StringIO("Göut"))) == "Göut"
    with (tmp_path / "x").open("w+b") as file:
        assert str(files.OpenFile(file)) == str(tmp_path / "x")
    read, write = os.pipe()
    os.close(write)
    with os.fdopen(read, "rb") as pipe, pytest.raises(LinkerError), files.peeking(pipe):
        pass


@pytest.mark.parametrize("encoding", ["utf-16", "windows-1252", "utf-8"])
def test_a_text_in_another_encoding(path: Path, encoding: str) -> None:
    path.write_bytes("Röteln\n".encode(encoding))
    named = None if encoding == "utf-16" else encoding  # which its mark says
    text, known = files.as_utf8(path, named)
    assert (files.read_text(text), known) == ("Röteln\n".strip(), encoding)
    assert str(text) == str(path)
