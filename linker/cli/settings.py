"""The options of training, from a preset, a TOML file, flags and --set."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from linker.errors import LinkerError

if TYPE_CHECKING:
    from linker.options import LinkerOptions

FLAGS = (
    *("loss", "hypernym_norm", "top_k", "dense_ratio", "max_hypernyms", "epochs", "batch_size"),
    *("learning_rate", "seed", "device", "precision"),
)


def flagged(flags: Mapping[str, Any], model_name: str | None) -> tuple[str, ...]:
    """Flags as settings; the norm loss needs vectors that are not normalised, which the flag sees to."""
    given = {f"training.{name}": value for name, value in flags.items() if value is not None}
    if flags["hypernym_norm"]:
        given["transformer.normalize"] = "false"
    if model_name:
        given["transformer.model"] = model_name
    return tuple(f"{name}={value}" for name, value in given.items())


def read(preset: str, config: str | None, flags: tuple[str, ...], settings: tuple[str, ...]) -> LinkerOptions:
    """The preset, changed by the TOML file, changed by flags, changed by --set."""
    from linker import options as records

    with _typed(f"--preset {preset}"):
        options = records.preset(preset)
    if config:
        options = _configured(options, config)
    values: dict[str, dict[str, str]] = {}
    for setting in (*flags, *settings):
        name, equals, value = setting.partition("=")
        group, dot, field = name.partition(".")
        if not (equals and dot):
            raise click.UsageError(f"--set {setting}: expected GROUP.FIELD=VALUE, e.g. sparse.ngram_max=3")
        values.setdefault(group.strip(), {})[field.strip()] = value.strip()
    with _typed(" ".join(f"--set {setting}" for setting in settings) or "the options"):
        return records.changed(options, values)


@contextlib.contextmanager
def _typed(option: str) -> Iterator[None]:
    """Blame the command line."""
    try:
        yield
    except LinkerError as error:
        raise click.UsageError(f"{option}: {error}") from None


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
    except tomllib.TOMLDecodeError as error:
        raise LinkerError(f"{path}: not TOML: {error}; expected tables such as [sparse] with ngram_max = 3") from None
