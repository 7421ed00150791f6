"""What `linker link` prints on a terminal, which is a pty here, and beside a table of users."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from linker.cli import cli

from .conftest import rows, typed

Run = Callable[..., Any]


class Terminal:
    """A command whose standard output is a terminal of some columns."""

    def __init__(self, columns: int, folder: Path, line: str) -> None:
        self._screen, output = pty.openpty()
        fcntl.ioctl(output, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "linker", *typed(line)],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.DEVNULL,
        )
        os.close(output)
        self.text = ""

    def type(self, text: str) -> None:
        """Write to standard input."""
        assert self.process.stdin
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def read(self, until: str = "") -> None:
        """Read until a text stands there, or to the end."""
        while not until or until not in self.text:
            try:
                content = os.read(self._screen, 65_536)
            except OSError:  # Linux has it where a BSD has an empty text
                content = b""
            if not content:
                return
            self.text += content.decode().replace("\r\n", "\n")

    def close(self) -> None:
        """End the input, and read to the end of the output."""
        assert self.process.stdin
        self.process.stdin.close()
        self.read()
        self.process.wait(60)
        os.close(self._screen)


@contextmanager
def terminal(columns: int, folder: Path, line: str) -> Iterator[Terminal]:
    opened = Terminal(columns, folder, line)
    try:
        yield opened
    finally:
        opened.process.kill()
        opened.process.wait()


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    """A folder with a model, and with mentions."""
    (tmp_path / "linker-model").symlink_to(trained)
    (tmp_path / "mentions.txt").write_text("hepatitis B/C\nno gout\n", "utf-8")
    return tmp_path


def test_a_terminal_gets_a_table_within_its_width_as_answers_come(folder: Path) -> None:
    with terminal(70, folder, "link - -k 1 --batch-size 1") as screen:
        screen.type("a very long name of breast cancer in a sentence that does not end\n")
        screen.read(until="MESH:D001943")  # while more may come
        screen.type("no gout\n")
        screen.close()
    assert screen.process.returncode == 0
    titles, long, denied = screen.text.splitlines()
    assert titles.split() == ["mention", "concept", "name", "confidence"]
    assert max(map(len, (titles, long, denied))) <= 70
    assert "…" in long
    assert denied.split()[2:4] == ["MESH:D006073", "Gout"]
    assert denied.endswith(" absent")
    assert {line.index("MESH:") for line in (long, denied)} == {titles.index("concept")}


def test_a_format_that_is_named_is_written_on_a_terminal_too(folder: Path) -> None:
    with terminal(70, folder, "link mentions.txt -k 1 --format tsv") as screen:
        screen.close()
    ids = [row["concept_id"] for row in rows(screen.text)]
    assert ids == ["MESH:D006509", "MESH:D006526", "MESH:D006073"]


def test_shells_complete_commands_options_and_paths() -> None:
    def completed(words: str, begun: str) -> list[CompletionItem]:
        shell = ShellComplete(cli, {}, "linker", "_LINKER_COMPLETE")
        return shell.get_completions(typed(words), begun)

    assert [item.value for item in completed("", "li")] == ["link"]
    assert [item.value for item in completed("link", "--form")] == ["--format"]
    assert [item.value for item in completed("link --format", "js")] == ["jsonl"]
    for words in ("link", "train --dict", "evaluate x --model", "review import", "dictionary diff"):
        assert [item.type for item in completed(words, "x")] == ["file"], words


def test_a_table_of_users_takes_a_k_of_one(link: Run, tmp_path: Path) -> None:
    path = tmp_path / "clinic.csv"
    path.write_text("id,diagnosis\n1,gout\n2,hepatitis B/C\n", "utf-8")
    usual = link(path, *typed("--column diagnosis"))
    assert usual.code == 0
    one = link(path, *typed("--column diagnosis -k 1"))
    assert (one.code, one.out) == (0, usual.out)
    assert link(path, *typed("--column diagnosis -k 2")).code == 2
