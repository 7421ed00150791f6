"""The options of training, from a preset, a TOML file, flags and --set."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from linker.errors import LinkerError

if TYPE_CHECKING:
    from linker.options import LinkerOptions

FLAGS = (
    *("loss", "hypernym_norm", "top_k", "dense_ratio", "max_hypernyms", "epochs", "batch_size"),
    *("learning_rate", "seed", "device", "precision"),
)

Setting = tuple[str, str, Any]
"""What was typed, the option that it sets ("group.field"), and the value."""


def flagged(flags: Mapping[str, Any], model_name: str | None) -> list[Setting]:
    """Flags as settings; the norm loss needs vectors that are not normalised, which its flag sees to."""
    given = [
        (typed(name, value), f"training.{name}", value)
        for name, value in flags.items()
        if value is not None
    ]
    if flags["hypernym_norm"]:
        given += [
            (typed("hypernym_norm", True), f"{encoder}.normalize", False)
            for encoder in ("transformer", "dan", "fewshot", "bne")
        ]
    if model_name is not None:
        given.append((f"--model-name {model_name}", "transformer.model", model_name))
    return given


def typed(name: str, value: Any) -> str:
    """A flag as it is typed."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    return f"--{flag} {value}"


def read(
    preset: str,
    config: str | None,
    flags: Sequence[Setting],
    changes: Iterable[str],
    encoder: str = "",
) -> LinkerOptions:
    """The preset, or the defaults of the encoder, changed by the TOML file, changed by flags, changed by --set."""
    from linker import options as records

    try:
        options = records.preset(preset, encoder)
    except LinkerError as error:
        raise click.UsageError(f"--preset {preset}: {error}") from None
    if config:
        options = _configured(options, config)
    given = [*flags, *map(_setting, changes)]
    values: dict[str, dict[str, Any]] = {}
    for _, option, value in given:
        group, _, field = option.partition(".")
        values.setdefault(group, {})[field] = value
    try:
        return records.changed(options, values)
    except LinkerError as error:
        blamed = [text for text, option, _ in given if option in str(error)] or [
            text for text, _, _ in given
        ]
        raise click.UsageError(f"{' '.join(blamed)}: {error}") from None


def _setting(change: str) -> Setting:
    """What --set says."""
    option, equals, value = change.partition("=")
    group, dot, field = option.partition(".")
    if not (equals and dot):
        raise click.UsageError(
            f"--set {change}: expected GROUP.FIELD=VALUE, e.g. sparse.ngram_max=3"
        )
    return f"--set {change}", f"{group.strip()}.{field.strip()}", value.strip()


def _configured(options: LinkerOptions, path: str) -> LinkerOptions:
    from linker.options import changed

    values = _toml(path)
    try:
        return changed(options, values)
    except LinkerError as error:
        raise LinkerError(f"{path}: {error}") from None


def _toml(path: str) -> dict[str, Any]:
    from linker.files import read_text

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(read_text(path))
    except (
        ValueError,
        RecursionError,
    ) as error:  # also a number of thousands of digits, and thousands of brackets
        raise LinkerError(
            f"{path}: not TOML: {error}; expected tables such as [sparse] with ngram_max = 3"
        ) from None
