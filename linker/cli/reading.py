"""How the commands read dictionaries: files, with the options that say how, or a saved folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linker.cli import common
from linker.cli.groups import group
from linker.errors import LinkerError, OnError

if TYPE_CHECKING:
    from linker.dictionary import Dictionary

# as in linker.readers, which --help need not import
DICTIONARY_FORMATS = ("medic", "obo", "rrf", "biosyn", "table")


@dataclass(frozen=True)
class Reading:
    """What of dictionary files is read, and how."""

    dict_format: str | None = None
    hierarchy: str | None = None
    types: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def read(self, paths: Sequence[str], on_error: OnError) -> Dictionary:
        """Read files into one dictionary, or load one saved folder of a dictionary or model.

        Args:
            paths: the files, or the folder.
            on_error: what to do with a bad record.
        """
        from linker import persistence
        from linker.dictionary import Dictionary

        options = dataclasses.asdict(self)
        if len(paths) == 1 and is_saved(paths[0]):
            if given := [name for name, value in options.items() if value]:
                names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
                raise LinkerError(
                    f"{paths[0]}: is a saved dictionary; "
                    f"{names} can be chosen only where its files are read, leave it out"
                )
            model = (Path(paths[0]) / "dictionary").is_dir()
            kind, part = ("model", "dictionary") if model else ("dictionary", "")
            return persistence.load(
                paths[0], kind, lambda folder, _: Dictionary.open(folder / part)
            )
        options["format"] = options.pop("dict_format")
        options["languages"] = self.languages or ("ENG",)
        return Dictionary.read(*paths, on_error=on_error, **options)


def is_saved(path: str) -> bool:
    """Whether a path is a folder that linker saved."""
    from linker import persistence

    return (Path(path) / persistence.MANIFEST).is_file()


dict_format_option = click.option(
    "--dict-format",
    type=click.Choice(DICTIONARY_FORMATS),
    help="Format of the dictionary. [default: recognised from the content]",
)
languages_option = common.list_option(
    "--languages", "UMLS only: keep names in these languages. [default: ENG]"
)
sources_option = common.list_option(
    "--sources", "UMLS only: keep names of these vocabularies, e.g. SNOMEDCT_US,MSH."
)
reading_options = group(
    "reading",
    Reading,
    dict_format_option,
    click.option(
        "--hierarchy", metavar="PATH", help="Another dictionary file that lends its parents."
    ),
    common.list_option("--types", "Keep concepts of these semantic types, e.g. T047,T191."),
    common.list_option("--namespaces", "Keep concepts with these id prefixes, e.g. MESH,OMIM."),
    languages_option,
    sources_option,
)
