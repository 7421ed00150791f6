"""The options of training, from a preset, a TOML file, flags and --set."""

from __future__ import annotations

import logging
import sys
import warnings
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

logger = logging.getLogger(__name__)

Setting = tuple[str, str, Any]
"""The typed text, the option that it sets ("group.field"), and the value."""


def flagged(flags: Mapping[str, Any], model_name: str | None, encoder: str) -> list[Setting]:
    """The flags of a command as settings.

    The norm loss needs vectors that are not normalised, so that its flag sets two options.

    Args:
        flags: by the names of `FLAGS`; None where one was not given.
        model_name: of --model-name.
        encoder: the encoder that is trained.
    """
    from linker import registry

    given = [
        (typed(name, value), f"training.{name}", value)
        for name, value in flags.items()
        if value is not None
    ]
    if flags["hypernym_norm"] and hasattr(
        getattr(registry.load(encoder), "Options", None), "normalize"
    ):
        given.append((typed("hypernym_norm", True), "encoder.normalize", False))
    if model_name is not None:
        given.append((f"--model-name {model_name}", "encoder.model", model_name))
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
    """Read the options of a training.

    Args:
        preset: where to start; `default` means the defaults of the encoder.
        config: a TOML file that changes them.
        flags: change them after the file.
        changes: of --set, after the flags.
        encoder: its name in the registry; empty where none is trained.

    Raises:
        click.UsageError: there is no such preset or option, or a value does not fit.
        LinkerError: the file cannot be read or holds a wrong option, or a package is missing.
    """
    from linker import options as records
    from linker import registry

    if encoder:
        registry.load(encoder)  # so that a missing package is no error of the preset
    try:
        options = records.preset(preset, encoder)
    except LinkerError as error:
        raise click.UsageError(f"--preset {preset}: {error}") from None
    if config:
        options = _configured(options, config, encoder)
    given = [*flags, *map(setting, changes)]
    values: dict[str, dict[str, Any]] = {}
    for _, option, value in given:
        group, _, field = option.partition(".")
        values.setdefault(group, {})[field] = value
    try:
        return _changed(options, values, encoder)
    except LinkerError as error:
        blamed = [text for text, option, _ in given if option in str(error)] or [
            text for text, _, _ in given
        ]
        raise click.UsageError(f"{' '.join(blamed)}: {error}") from None


def _changed(
    options: LinkerOptions, values: Mapping[str, Mapping[str, Any]], encoder: str
) -> LinkerOptions:
    """Replace options; a former name of one is logged."""
    from linker.options import changed

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FutureWarning)
        options = changed(options, values, encoder)
    for warning in caught:
        logger.warning("%s", warning.message)
    return options


def setting(change: str) -> Setting:
    """The setting of one --set option."""
    option, equals, value = change.partition("=")
    group, dot, field = option.partition(".")
    if not (equals and dot):
        raise click.UsageError(
            f"--set {change}: expected GROUP.FIELD=VALUE, e.g. sparse.ngram_max=3"
        )
    return f"--set {change}", f"{group.strip()}.{field.strip()}", value.strip()


def _configured(options: LinkerOptions, path: str, encoder: str) -> LinkerOptions:
    """Change options by a TOML file, which may hold tables of other encoders too."""
    from linker.options import check_foreign

    values = _toml(path)
    try:
        options = _changed(options, values, encoder)
        check_foreign(values, encoder)
        return options
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
    # a recursion error comes of thousands of brackets
    except (ValueError, RecursionError) as error:
        raise LinkerError(
            f"{path}: not TOML: {error}; expected tables such as [sparse] with ngram_max = 3"
        ) from None
