"""The options of training, from a preset and what --set and other flags change."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from linker import options as records
from linker import registry
from linker.cli import options as o
from linker.errors import LinkerError
from linker.files import read_text
from linker.options import LinkerOptions, changed

Setting = tuple[str, str, Any]
"""The typed text, the option that it sets ("group.field"), and the value."""

PRESET = o.option(
    "default, or paper- and one of: biosyn, bcnh, dan, dan-higher, fewshot, bne, bne-words.",
    "NAME",
    default="default",
)


def changes(text: str) -> Any:
    """The option --set; of which groups, `of_group` says."""
    return o.several(f"{text} Repeatable.", "GROUP.FIELD=VALUE", flags="--set")


CHANGES = changes("One option, e.g. training.epochs=3, or a TOML file of options.")


def read(preset: str, changes: Iterable[Setting], encoder: str = "") -> LinkerOptions:
    """Read the options of a training.

    Args:
        preset: where to start; `default` means the defaults of the encoder.
        changes: what changes them; of two values of an option the last counts.
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
    return applied(options, list(changes), encoder)


def applied(options: LinkerOptions, settings: Sequence[Setting], encoder: str) -> LinkerOptions:
    """Change options by what was typed; of two values of an option the last counts.

    Raises:
        click.UsageError: there is no such option, or a value does not fit; what was typed is named.
    """
    values: dict[str, dict[str, Any]] = {}
    for _, option, value in settings:
        group, _, field = option.partition(".")
        values.setdefault(group, {})[field] = value
    try:
        return changed(options, values, encoder)
    except LinkerError as error:
        texts = dict.fromkeys(text for text, _, _ in settings)
        blamed = dict.fromkeys(text for text, option, _ in settings if option in str(error))
        raise click.UsageError(f"{' '.join(blamed or texts)}: {error}") from None


def settings_of(change: str) -> Iterator[Setting]:
    """The settings of one --set option.

    Raises:
        click.UsageError: it is neither GROUP.FIELD=VALUE nor a file.
        LinkerError: the file cannot be read, or holds no options.
    """
    text = f"--set {change}"
    if change.endswith(".toml"):
        for group, fields in _toml(change).items():
            for field, value in fields.items():
                yield text, f"{group}.{field}", value
        return
    option, equals, value = change.partition("=")
    group, dot, field = option.partition(".")
    if not (equals and dot):
        raise click.UsageError(
            f"{text}: expected GROUP.FIELD=VALUE, e.g. sparse.ngram_max=3, or a file FILE.toml"
        )
    yield text, f"{group.strip()}.{field.strip()}", value.strip()


def of_group(changes: Iterable[str], group: str) -> list[Setting]:
    """The settings of --set where only one group of options means something.

    Raises:
        click.UsageError: one is of another group.
    """
    settings = [setting for change in changes for setting in settings_of(change)]
    for text, option, _ in settings:
        if not option.startswith(f"{group}."):
            raise click.UsageError(f"{text}: only the options {group}.FIELD can be set here")
    return settings


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
