"""The options of training, from a preset and what --set and other flags change."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import click

from linker.cli import options as o
from linker.encoders import registry
from linker.errors import LinkerError
from linker.io.files import read_text
from linker.linking import options as records
from linker.linking.options import LinkerOptions, changed

Values = Mapping[str, Mapping[str, Any]]
"""Group -> field -> value."""

PRESET = o.option(
    "default, or paper- and one of: biosyn, bcnh, dan, dan-higher, fewshot, bne, bne-words.",
    "NAME",
    default="default",
)


def changes(text: str) -> Any:
    """The option --set; of which groups, `of_group` says."""
    return o.several(f"{text} Repeatable.", "GROUP.FIELD=VALUE", flags="--set")


CHANGES = changes("One option, e.g. training.epochs=3, or a TOML file of options.")


def read(preset: str, values: Values, encoder: str = "") -> LinkerOptions:
    """Read the options of a training.

    Args:
        preset: where to start; `default` means the defaults of the encoder.
        values: what changes them.
        encoder: its name in the registry; empty where none is trained.

    Raises:
        click.UsageError: there is no such preset or option, or a value does not fit.
        LinkerError: a package is missing.
    """
    if encoder:
        registry.load(encoder)  # so that a missing package is no error of the preset
    try:
        options = records.preset(preset, encoder)
    except LinkerError as error:
        raise click.UsageError(f"--preset {preset}: {error}") from None
    return applied(options, values, encoder)


def applied(options: LinkerOptions, values: Values, encoder: str) -> LinkerOptions:
    """Change options by what was typed; what does not fit is a mistake of the command line."""
    try:
        return changed(options, values, encoder)
    except LinkerError as error:
        raise click.UsageError(f"--set: {error}") from None


def values_of(changes: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The values of --set options; of two values of an option the last counts.

    Raises:
        click.UsageError: one is neither GROUP.FIELD=VALUE nor a file.
        LinkerError: a file cannot be read, or holds no options.
    """
    values: dict[str, dict[str, Any]] = {}
    for change in changes:
        if change.endswith(".toml"):
            for group, fields in _toml(change).items():
                values.setdefault(group, {}).update(fields)
            continue
        option, equals, value = change.partition("=")
        group, dot, field = option.partition(".")
        if not (equals and dot):
            raise click.UsageError(
                f"--set {change}: expected GROUP.FIELD=VALUE, e.g. sparse.ngram_max=3, "
                "or a file FILE.toml"
            )
        values.setdefault(group.strip(), {})[field.strip()] = value.strip()
    return values


def of_group(changes: Iterable[str], group: str) -> Values:
    """The values of --set where only one group of options means something."""
    values = values_of(changes)
    if others := [name for name in values if name != group]:
        raise click.UsageError(f"--set {others[0]}: only options {group}.FIELD can be set here")
    return values


def _toml(path: str) -> dict[str, dict[str, Any]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        values = tomllib.loads(read_text(path))
        if wrong := [name for name, value in values.items() if not isinstance(value, dict)]:
            raise ValueError(f"{wrong[0]} stands in no table")
        return values
    # a recursion error comes of thousands of brackets
    except (ValueError, RecursionError) as error:
        raise LinkerError(
            f"{path}: not TOML: {error}; expected tables such as [sparse] with ngram_max = 3"
        ) from None
