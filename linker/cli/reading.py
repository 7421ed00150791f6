"""How commands read dictionaries and annotated mentions, and the options that say how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from linker.cli import common
from linker.cli import options as o
from linker.dictionary import Dictionary
from linker.dictionary.lending import Lending
from linker.errors import LinkerError, OnError, stop
from linker.io import dictionaries, formats, mentions, persistence
from linker.records import Document, Mention


def given(options: SimpleNamespace) -> dict[str, Any]:
    """The options of `READING` that were given to a command."""
    return {name: value for name in READING if (value := getattr(options, name, None))}


def read(paths: Sequence[str], options: SimpleNamespace) -> Dictionary:
    """Read files into one dictionary, or load one saved folder of a dictionary or model.

    Args:
        paths: the files, or the folder.
        options: of the command: those of `READING` and on_error, as far as it has them.
    """
    on_error = getattr(options, "on_error", stop)
    dictionary = _read(paths, given(options), on_error)
    lenders = [located(path) for path in getattr(options, "lend", None) or ()]
    return dictionary.lend(*lenders, on_error=on_error) if lenders else dictionary


def read_and_say(paths: Sequence[str], options: SimpleNamespace) -> Dictionary:
    """Like `read`, and say what the dictionary holds and which names are lent to it."""
    dictionary = read(paths, options)
    for source in dictionary.sources:
        release = f", {source.release}" if source.release else ""
        concepts = f"{source.concepts:,} concepts"
        common.say(f"dictionary: {source.file} ({source.format}{release}): {concepts}")
    say_lent(dictionary.lending)
    return dictionary


def _read(paths: Sequence[str], given: dict[str, Any], on_error: OnError) -> Dictionary:
    """The dictionary without lent names."""
    paths = [located(path) for path in paths]
    if len(paths) == 1 and is_saved(paths[0]):
        if given:
            names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
            raise LinkerError(
                f"{paths[0]}: is a saved dictionary; "
                f"{names} can be chosen only where its files are read, leave it out"
            )
        model = (Path(paths[0]) / "dictionary").is_dir()
        kind, part = ("model", "dictionary") if model else ("dictionary", "")
        return persistence.load(paths[0], kind, lambda folder, _: Dictionary.open(folder / part))
    of_files = {name: value for name, value in given.items() if name != "lend"}
    format = of_files.pop("dict_format", None)
    if "hierarchy" in of_files:
        of_files["hierarchy"] = located(of_files["hierarchy"])
    return Dictionary.read(*paths, format=format, on_error=on_error, **of_files)


def say_lent(lending: Lending) -> None:
    """Say how many names each file lends."""
    for report in lending.lenders:
        common.say(f"names lent by {report.source.file}: {report.summary()}")


def located(path: str) -> str:
    """The path of a dictionary that may be given by its name; see `linker get`."""
    return str(dictionaries.located(path, progress=common.has_bars()))


def is_saved(path: str) -> bool:
    """Whether a path is a folder that linker saved."""
    return (Path(path) / persistence.MANIFEST).is_file()


def annotated(
    paths: Iterable[str], options: SimpleNamespace, dictionary: Dictionary
) -> list[Document | Mention]:
    """Read files, each of which must hold annotated mentions.

    Args:
        paths: of the files.
        options: of the command: mention_type and on_error.
        dictionary: which the ids are of.
    """
    kind, on_error = options.mention_type, options.on_error
    items: list[Document | Mention] = []
    for path in paths:
        read = mentions.read(path, type=kind, on_error=on_error, identify=dictionary.identify)
        of_file = list(read)
        if all(mention.gold is None for mention, _ in mentions.flatten(of_file)):
            raise LinkerError(
                f"{path}: holds no annotated mentions; give a file with gold ids, "
                "e.g. a table with the columns mention and id"
            )
        items += of_file
    return items


_DICTS = "Dictionary file or folder, or a name of `linker get`; may be given again."
DICTS = o.several(_DICTS, flags="--dict")
NEEDED_DICTS = o.several(_DICTS, flags="--dict", required=True)
FORMAT = o.option("[default: recognised]", type=click.Choice([*formats.DICTIONARIES]))
LANGUAGES = o.commas("Keep names in these languages, e.g. de,en. [default: en]")
SOURCES = o.commas("UMLS and OMOP only: keep names of these vocabularies, e.g. SNOMEDCT_US,MSH.")
PREFIX = o.option("Tables only: of ids that have none, e.g. SCTID.", "NAME")
UNDER = o.commas("MeSH only: keep what is under these tree numbers or ids. [default: C,F03]")
READING = {
    "dict_format": FORMAT,
    "hierarchy": o.option("Another dictionary file that lends its parents.", "PATH"),
    "types": o.commas("Keep concepts of these semantic types, e.g. T047,T191."),
    "namespaces": o.commas("Keep concepts with these id prefixes, e.g. MESH,OMIM."),
    "languages": LANGUAGES,
    "sources": SOURCES,
    "prefix": PREFIX,
    "under": UNDER,
    "lend": o.several("Another dictionary, or mappings (SSSOM), that lends names; repeatable."),
}
