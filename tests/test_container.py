"""Containerfile: what gets into the image, and how linker is started in it."""

from __future__ import annotations

import re
from pathlib import Path

import click

from linker.cli import cli

ROOT = Path(__file__).resolve().parent.parent
STEPS = (ROOT / "Containerfile").read_text("utf-8")


def test_nothing_is_copied_but_what_a_wheel_is_made_of() -> None:
    first, *rules = (ROOT / ".dockerignore").read_text("utf-8").splitlines()[1:]
    assert first == "*"
    allowed = {rule[1:] for rule in rules if rule.startswith("!")}
    assert allowed == {
        *("linker", "constraints.txt"),
        *("LICENSE", "pyproject.toml", "README.md", "setup.cfg"),
    }


def test_the_variables_of_the_image_are_options_of_serve() -> None:
    serve = cli.get_command(click.Context(cli), "serve")
    assert serve
    known = {f"LINKER_SERVE_{option.name}".upper() for option in serve.params}
    named = set(re.findall(r"LINKER_SERVE_\w+", STEPS))
    assert named
    assert named <= known
