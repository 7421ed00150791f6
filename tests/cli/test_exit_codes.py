"""Exit codes 0, 1, 2 and 130; models that cannot be used; full disks, signals, silence and tracebacks."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linker import cli

from .conftest import contents, typed

Run = Callable[..., Any]


@pytest.fixture
def mentions(tmp_path: Path) -> Path:
    path = tmp_path / "m.txt"
    path.write_text("breast cancer\n")
    return path


# ------------------------------------------------------------------------------------------------------- command lines


COMMANDS = [
    *("get", "train", "link", "annotate", "explain", "evaluate", "review", "serve", "mcp"),
    *("index", "model", "dictionary", "words"),
]


def test_help_shows_the_commands(run: Run) -> None:
    result = run("--help")
    assert (result.code, result.err) == (0, "")
    listed = result.out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == COMMANDS
    for command in (*COMMANDS, "dictionary stats", "review check"):
        result = run(*command.split(), "--help")
        assert (result.code, result.err) == (0, "")
        assert result.out.startswith(f"Usage: linker {command} ")


def test_quiet_is_silent(run: Run, sample: Path, mentions: Path, tmp_path: Path) -> None:
    assert run("train", "--dict", sample, "-o", tmp_path / "new", "-q") == (0, "", "")
    result = run("link", tmp_path / "nowhere", "--model", tmp_path / "new", "-q")
    message = f"linker: {tmp_path / 'nowhere'}: there is no such file; check the path\n"
    assert result == (1, "", message)
    assert "training mentions" in run("train", "--dict", sample, "-o", tmp_path / "new", "-v").err


@pytest.mark.parametrize(
    "error", [MemoryError(), OSError(5, "Input/output error", "file"), ZeroDivisionError("x")]
)
def test_failures_of_other_kinds_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli.cli, "main", fail)
    for options, lines in (([], 1), (["--debug"], 2)):
        monkeypatch.setattr(sys, "argv", ["linker", *options])
        assert cli.run() == 1
        written = capsys.readouterr().err.splitlines()
        assert (len(written) >= lines, written[-1].startswith("linker: ")) == (True, True)
        assert ("Traceback (most recent call last):" in written) == bool(options)


# -------------------------------------------------------------------------------------------------------------- models


def test_a_model_with_one_byte_changed(run: Run, mentions: Path, model: Path) -> None:
    paths = sorted(path for path in model.rglob("*") if path.is_file() and path.stat().st_size)
    for path in (path for path in paths if path.name != "README.md"):  # which people edit
        content = path.read_bytes()
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        result = run("link", mentions, "--model", model)
        assert (result.code, result.out) == (1, ""), path
        assert str(model) in result.err
        path.write_bytes(content)
    assert run("link", mentions, "--model", model).code == 0


# ------------------------------------------------------------------------------------------------- full disks, signals


def _small_files() -> None:
    """As on a full disk: a write that would make a file larger than 20 kB fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


_FULL_DISK = {  # a compiled module would be cut off, too, and stay so
    "preexec_fn": _small_files,
    "env": os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
}


def test_a_full_disk_leaves_the_old_file(process: Run, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_text("".join(f"cancer {number}\n" for number in range(2000)))
    (tmp_path / "out.tsv").write_text("old\n")
    before = contents(tmp_path)
    link = ("link", "m.txt", "--model", trained, "-o", "out.tsv")
    result = process(*link, cwd=tmp_path, **_FULL_DISK)
    remedy = "File too large; name another output with -o"
    assert result == (1, "", f"linker: out.tsv: cannot be written: {remedy}\n")
    assert contents(tmp_path) == before


def test_a_full_disk_leaves_the_old_model(
    process: Run, sample: Path, model: Path, tmp_path: Path
) -> None:
    before = contents(tmp_path)
    train = ("train", "--dict", sample, *typed("--encoder tfidf -o model"))
    result = process(*train, cwd=tmp_path, **_FULL_DISK)
    assert (result.code, "cannot be written: " in result.err) == (1, True)
    assert contents(tmp_path) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="this system has no /dev/full")
def test_standard_output_on_a_full_disk(process: Run, sample: Path) -> None:
    with open("/dev/full", "w") as full:
        result = process("dictionary", "search", sample, "asthma", stdout=full)
    assert result.code == 1
    assert result.err.startswith("linker: standard output: cannot be written: No space left")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_leave_nothing_behind(
    trained: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    (tmp_path / "out.tsv").write_text("old\n")
    command = [sys.executable, *typed("-m linker.cli link - -o out.tsv --model"), str(trained)]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stderr is not None
        child.stdin.write(b"gout\n" * 2000)
        child.stdin.flush()
        deadline = time.monotonic() + 30
        # until it has begun to write aside
        while len(os.listdir(tmp_path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.1)
        child.send_signal(number)
        message = child.stderr.read().decode()
    assert child.returncode == code
    assert message.strip() == ("linker: interrupted" if number == signal.SIGINT else "")
    assert [path.name for path in tmp_path.iterdir()] == ["out.tsv"]
    assert (tmp_path / "out.tsv").read_text() == "old\n"
