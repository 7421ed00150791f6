"""Commands whose standard streams are closed, or whose readers leave, as processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import rows

FAILED, UNREAD = 1, 141  # exit codes; the latter is that of a tool which the pipe's signal ends
Linker = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def linker(trained: Path, sample: Path, tmp_path: Path) -> Linker:
    """Run a command in a folder with a model, a dictionary and mentions; some descriptors closed."""
    (tmp_path / "linker-model").symlink_to(trained)
    (tmp_path / "medic.tsv").symlink_to(sample)
    (tmp_path / "mentions.txt").write_text("gout\nbreast cancer\n")
    (tmp_path / "gold.tsv").write_text("gout\tMESH:D006073\n")

    def run(line: str, *closed: int, **streams: Any) -> subprocess.CompletedProcess[bytes]:
        def close() -> None:
            for descriptor in closed:
                os.close(descriptor)

        return subprocess.run(
            [sys.executable, "-m", "linker", *line.split()],
            cwd=tmp_path,
            check=False,
            timeout=60,
            preexec_fn=close,
            **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams),
        )

    return run


@pytest.mark.parametrize(
    ("line", "closed"),
    [
        ("link mentions.txt -o written", (0, 1, 2)),
        ("train --dict medic.tsv --encoder tfidf -o written", (0, 1, 2)),
        ("evaluate gold.tsv -o written", (0, 2)),  # which prints a table
    ],
)
def test_closed_streams_that_are_not_used_are_no_failure(
    linker: Linker, tmp_path: Path, line: str, closed: tuple[int, ...]
) -> None:
    assert linker(line, *closed).returncode == 0
    assert (tmp_path / "written").exists()


def test_answers_are_printed_where_standard_error_is_closed(linker: Linker) -> None:
    done = linker("link mentions.txt -k 1", 2)
    assert done.returncode == 0
    answers = [row["concept_id"] for row in rows(done.stdout.decode())]
    assert answers == ["MESH:D006073", "MESH:D001943"]


def test_messages_that_nobody_reads_are_no_failure(linker: Linker) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = linker("train --dict medic.tsv --encoder tfidf -o written", stderr=writer)
    os.close(writer)
    assert done.returncode == 0


def test_a_failure_stays_one_where_standard_error_is_closed(linker: Linker) -> None:
    assert linker("link nowhere.txt -o written", 2).returncode == FAILED


def test_what_cannot_be_read_or_written_is_said(linker: Linker) -> None:
    output = linker("link mentions.txt", 1)
    assert output.returncode == FAILED
    assert output.stderr.startswith(b"linker: standard output: cannot be written: ")
    given = linker("link -", 0)
    assert (given.returncode, given.stdout) == (FAILED, b"")
    assert given.stderr.startswith(b"linker: standard input: cannot be read: ")


@pytest.mark.parametrize("line", ["--help", "link many.txt"])
def test_a_reader_that_leaves_ends_a_command_silently(
    linker: Linker, tmp_path: Path, line: str
) -> None:
    (tmp_path / "many.txt").write_text("".join(f"cancer of {i}\n" for i in range(3000)))
    reader, writer = os.pipe()
    os.close(reader)
    done = linker(line, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (UNREAD, b"")
