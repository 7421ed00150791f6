"""What commands say and log as JSON lines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def records(text: str) -> list[dict[str, Any]]:
    """The objects on the lines of standard error, each of which must be one."""
    lines = [json.loads(line) for line in text.splitlines()]
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    return lines


def test_a_job_over_bad_files_and_records(process: Run, trained: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    damaged, latin = folder / "a.txt.gz", folder / "b.txt"
    damaged.write_bytes(gzip.compress(b"gout\n" * 1000)[:-20])
    latin.write_bytes(b"gout\ncaf\xe9\n")
    options = ("--model", trained, "-o", tmp_path / "out", "--on-error", "skip", "--workers", "2")
    result = process("link", folder, *options, "--log-format", "json")
    said = [(line["level"], line.get("file"), line.get("line")) for line in records(result.err)]
    assert result.code == 1
    assert said == [
        ("warning", str(damaged), None),
        ("warning", str(latin), 2),
        ("info", None, None),
        ("error", None, None),
    ]
    quiet = process("link", folder, *options, "--log-format", "json", "-q")
    assert [line["level"] for line in records(quiet.err)] == ["error"]


@pytest.mark.parametrize(
    ("arguments", "code", "place"),
    [
        (["link", "b.txt", "--log-format", "json"], 1, ("b.txt", 1)),
        (["link", "b.txt", "--log-format=json", "-v"], 1, ("b.txt", 1)),
        (["link", "--nonsense", "--log-format", "json"], 2, (None, None)),
        (["lnk", "--log-format", "json"], 2, (None, None)),
        (["model", "info", "--model", "none", "--log-format", "json"], 1, (None, None)),
    ],
)
def test_an_error_that_ends_a_command(
    process: Run, trained: Path, tmp_path: Path, arguments: list[str], code: int, place: Any
) -> None:
    (tmp_path / "b.txt").write_bytes(b"caf\xe9\n")
    if "b.txt" in arguments:
        arguments = [*arguments, "--model", str(trained)]
    result = process(*arguments, cwd=tmp_path)
    last = records(result.err)[-1]
    assert (result.code, last["level"]) == (code, "error")
    assert (last.get("file"), last.get("line")) == place
    assert not result.out
