"""The options of training, from a preset, a TOML file, flags and --set."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from linker.cli import options as o
from linker.errors import LinkerError

if TYPE_CHECKING:
    from linker.options import LinkerOptions

Setting = tuple[str, str, Any]
"""The typed text, the option that it sets ("group.field"), and the value."""


def _flag(metavar: str, text: str, hidden: bool = True) -> Any:
    """A flag that sets an option of training, which alone knows what values fit."""
    return lambda name: o.option(f"{text} [training.{name}]", metavar, hidden=hidden)(name)


FLAGS: dict[str, Any] = {
    "loss": _flag("listwise|marginal", "Loss of the candidate lists."),
    "hypernym_norm": o.option(
        "Add the norm loss. [training.hypernym_norm]",
        default=None,
        hidden=True,
        flags="--hypernym-norm/--no-hypernym-norm",
    ),
    "top_k": _flag("N", "Names in a training list."),
    "dense_ratio": _flag("X", "Share of them that are dense candidates."),
    "epochs": _flag("N", "Passes over the mentions, at most.", False),
    "batch_size": _flag("N", "Mentions of a training step.", False),
    "learning_rate": _flag("X", "Of the encoder, at its highest.", False),
    "seed": _flag("N", "Same seed, same machine, same model.", False),
    "device": _flag("auto|cpu|cuda", "Where a dense encoder is trained.", False),
    "precision": _flag("auto|fp32|bf16", "What it computes in."),
}
"""Flags that each set one option of training, by whose names their values are given."""


def flagged(values: Mapping[str, Any], model_name: str | None, encoder: str) -> list[Setting]:
    """The flags of a command as settings.

    The norm loss needs vectors that are not normalised, so that its flag sets two options.

    Args:
        values: name of an option of training -> value of its flag; None where it was not given.
        model_name: of --model-name.
        encoder: the encoder that is trained.
    """
    from linker import registry

    settings = [(text, f"training.{name}", values[name]) for name, text in typed(values).items()]
    kind = getattr(registry.load(encoder), "Options", None)
    if values.get("hypernym_norm") and hasattr(kind, "normalize"):
        settings.append(("--hypernym-norm", "encoder.normalize", False))
    if model_name is not None:
        settings.append((f"--model-name {model_name}", "encoder.model", model_name))
    return settings


def typed(values: Mapping[str, Any]) -> dict[str, str]:
    """The flags that were given, as they are typed, by the names of their options."""
    texts = {}
    for name, value in values.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            texts[name] = f"--{flag}" if value else f"--no-{flag}"
        elif value is not None:
            texts[name] = f"--{flag} {value}"
    return texts


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
        values = _toml(config)
        try:
            options = records.changed(options, values, encoder)
        except LinkerError as error:
            raise LinkerError(f"{config}: {error}") from None
    return applied(options, [*flags, *map(setting, changes)], encoder)


def applied(options: LinkerOptions, settings: Sequence[Setting], encoder: str) -> LinkerOptions:
    """Change options by what was typed; of two values of an option the last counts.

    Raises:
        click.UsageError: there is no such option, or a value does not fit; what was typed is named.
    """
    from linker.options import changed

    values: dict[str, dict[str, Any]] = {}
    for _, option, value in settings:
        group, _, field = option.partition(".")
        values.setdefault(group, {})[field] = value
    try:
        return changed(options, values, encoder)
    except LinkerError as error:
        texts = [text for text, _, _ in settings]
        blamed = [text for text, option, _ in settings if option in str(error)]
        raise click.UsageError(f"{' '.join(blamed or texts)}: {error}") from None


def setting(change: str) -> Setting:
    """The setting of one --set option."""
    option, equals, value = change.partition("=")
    group, dot, field = option.partition(".")
    if not (equals and dot):
        raise click.UsageError(
            f"--set {change}: expected GROUP.FIELD=VALUE, e.g. sparse.ngram_max=3"
        )
    return f"--set {change}", f"{group.strip()}.{field.strip()}", value.strip()


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
