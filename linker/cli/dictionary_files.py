"""The options that name dictionary files, and say how they are read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from linker.cli import common
from linker.cli.groups import group
from linker.errors import OnError

if TYPE_CHECKING:
    from linker.dictionary import Dictionary


@dataclass(frozen=True)
class DictionaryFiles:
    """Dictionary files, and how they are read."""

    dicts: tuple[str, ...]
    dict_format: str | None
    hierarchy: str | None
    namespaces: tuple[str, ...]
    types: tuple[str, ...]
    languages: tuple[str, ...]
    sources: tuple[str, ...]

    def read(self, on_error: OnError) -> Dictionary:
        """Read the files into one dictionary; one saved folder is loaded."""
        options = dataclasses.asdict(self)
        return common.read_dictionary(options.pop("dicts"), on_error, **options)


dictionary_files = group(
    "files",
    DictionaryFiles,
    click.option(
        "--dict",
        "dicts",
        multiple=True,
        required=True,
        metavar="PATH",
        help="Dictionary file or UMLS folder; may be given again.",
    ),
    common.dictionary_options,
)
