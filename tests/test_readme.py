"""The pages show commands that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from linker.cli.commands import cli

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "dictionaries/README.md")


def commands() -> list[str]:
    """Every line of the pages' code blocks that runs linker, without its comment, pipes and redirections."""
    blocks = "\n".join(
        "\n".join(
            re.findall(r"```\w*\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
        )
        for page in PAGES
    )
    lines = (
        re.sub(r"\s*(>|#|\s\|).*", "", line[line.index("linker ") :])
        for line in blocks.splitlines()
        if re.match(r"(.*\| )?linker [a-z]", line)
    )
    return sorted(set(lines))


@pytest.mark.parametrize("line", commands())
def test_commands_of_the_pages_are_understood(line: str) -> None:
    command: click.Command = cli
    words = shlex.split(line)[1:]
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    command.make_context("linker", words)


def test_there_are_commands_to_check() -> None:
    assert len(commands()) >= 20
