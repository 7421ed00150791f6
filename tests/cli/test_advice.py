"""What messages advise can be typed: each option that they name is one."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import linker
from linker.cli import cli
from linker.encoders import registry
from linker.errors import LinkerError
from linker.linking.options import LinkerOptions

OF_OTHERS = {"--head", "--local-dir"}  # ray start --head, hf download --local-dir
FILES = {"json", "jsonl", "npy"}  # "index.json" is a file
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
OPTION = re.compile(r"(?<![\w./])([a-z]+)\.([a-z_]+)\b")


def flags(command: click.Command) -> Iterator[str]:
    """The options of a command and of those below it."""
    for parameter in command.params:
        yield from parameter.opts
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from flags(below)


def groups() -> dict[str, set[str]]:
    """The options of --set: the fields of each group."""
    options = LinkerOptions()
    fields = {
        name: {field.name for field in dataclasses.fields(getattr(options, name))}
        for name in ("normalize", "text", "sparse", "words", "align", "ground", "training", "index")
    }
    for encoder in registry.ENCODERS:
        try:
            own = getattr(registry.load(encoder), "Options", None)
        except LinkerError:  # what it needs is not installed
            continue
        if own:
            group = registry.options_group(encoder)
            fields[group] = {field.name for field in dataclasses.fields(own)}
    return fields


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module with their lines, without those that stand alone: docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    alone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
            yield node.lineno, node.value


def test_options_in_messages_exist() -> None:
    pytest.importorskip("torch")
    known, fields = {*flags(cli), "--help", "--version"}, groups()
    unknown = []
    for path in sorted(Path(linker.__file__).parent.rglob("*.py")):
        for line, text in texts(path):
            named = set(FLAG.findall(text)) - known - OF_OTHERS
            named |= {
                f"{group}.{field}"
                for group, field in OPTION.findall(text)
                if group in fields and field not in fields[group] and field not in FILES
            }
            unknown += [f"{path.name}:{line}: {name}" for name in sorted(named)]
    assert unknown == []
