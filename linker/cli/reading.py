"""How commands read dictionaries and annotated mentions, and the options that say how."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from linker.cli import common
from linker.errors import LinkerError, OnError, UsageError

if TYPE_CHECKING:
    from linker.dictionary import Dictionary
    from linker.dictionary.lending import Lending
    from linker.types import Document, Mention

_Command = TypeVar("_Command", bound=Callable[..., Any])

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
    prefix: str = ""
    lend: tuple[str, ...] = ()
    lend_kinds: tuple[str, ...] = ()

    def read(self, paths: Sequence[str], on_error: OnError) -> Dictionary:
        """Read files into one dictionary, or load one saved folder of a dictionary or model.

        Args:
            paths: the files, or the folder.
            on_error: what to do with a bad record.
        """
        return self.read_and_lend(paths, on_error)[0]

    def read_and_lend(self, paths: Sequence[str], on_error: OnError) -> tuple[Dictionary, Lending]:
        """Like `read`, with the account of the names that --lend lends."""
        if self.lend_kinds and not self.lend:
            raise click.UsageError("--lend-kinds chooses among the names of --lend; give that, too")
        return lend_names(self._read(paths, on_error), self.lend, self.lend_kinds, on_error)

    def read_and_say(self, paths: Sequence[str], on_error: OnError) -> Dictionary:
        """Like `read`, and say what the dictionary holds and which names are lent to it."""
        dictionary, lending = self.read_and_lend(paths, on_error)
        for source in dictionary.sources:
            release = f", {source.release}" if source.release else ""
            concepts = f"{source.concepts:,} concepts"
            common.say(f"dictionary: {source.file} ({source.format}{release}): {concepts}")
        for cycle in dictionary.hierarchy.cycles():
            ids = ", ".join(dictionary.ids[row] for row in cycle[:5])
            common.say(
                f"the hierarchy has a cycle of {len(cycle)} concepts ({ids}); "
                "each is the others' ancestor"
            )
        for report in lending.lenders:
            common.say(f"names lent by {report.source.file}: {report.summary()}")
        return dictionary

    def _read(self, paths: Sequence[str], on_error: OnError) -> Dictionary:
        """The dictionary without lent names."""
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
        del options["lend"], options["lend_kinds"]
        options["format"] = options.pop("dict_format")
        options["languages"] = self.languages or ("ENG",)
        return Dictionary.read(*paths, on_error=on_error, **options)


def lend_names(
    dictionary: Dictionary, paths: Sequence[str], kinds: Sequence[str], on_error: OnError
) -> tuple[Dictionary, Lending]:
    """Lend names of files to a dictionary; nothing changes where there are none.

    Args:
        dictionary: it borrows.
        paths: of the files.
        kinds: of the names that are lent; the default ones where empty.
        on_error: what to do with a bad record.
    """
    from linker.dictionary import lending

    try:
        chosen = lending.chosen_kinds(kinds)
    except UsageError as error:
        raise click.UsageError(str(error)) from None
    if not paths:
        return dictionary, lending.Lending()
    lenders = [lending.read(path, on_error=on_error) for path in paths]
    account = lending.consider(dictionary.columns, dictionary.sources, lenders, chosen)
    return dictionary.with_lent_names(account), account


def is_saved(path: str) -> bool:
    """Whether a path is a folder that linker saved."""
    from linker import persistence

    return (Path(path) / persistence.MANIFEST).is_file()


def read_annotated(
    path: str,
    form: str | None,
    mention_type: str | None,
    on_error: OnError,
    dictionary: Dictionary,
) -> list[Document | Mention]:
    """Read a file, which must hold annotated mentions.

    Args:
        path: of the file.
        form: its format; None: it is recognised.
        mention_type: keep mentions of this type; None: all.
        on_error: what to do with a bad record.
        dictionary: which the ids are of.
    """
    from linker.readers import mentions as readers

    items = list(
        readers.read(path, form, type=mention_type, on_error=on_error, identify=dictionary.identify)
    )
    if all(mention.gold is None for mention, _ in readers.flatten(items)):
        raise LinkerError(
            f"{path}: holds no annotated mentions; "
            "give a file with gold ids, e.g. mention<TAB>id lines"
        )
    return items


dict_format_option = click.option(
    "--dict-format",
    type=click.Choice(DICTIONARY_FORMATS),
    help="Format of the dictionary. [default: recognised from the content]",
)
languages_option = common.list_option(
    "--languages", "UMLS only: keep names in these languages. [default: ENG]", hidden=True
)
sources_option = common.list_option(
    "--sources",
    "UMLS only: keep names of these vocabularies, e.g. SNOMEDCT_US,MSH.",
    hidden=True,
)
prefix_option = click.option(
    "--prefix",
    default="",
    metavar="NAME",
    hidden=True,
    help="Tables only: of ids that have none, e.g. SCTID.",
)
lend_kinds_option = common.list_option(
    "--lend-kinds",
    "Lend names of these kinds, e.g. exact,narrow. [default: preferred,exact]",
    hidden=True,
)
reading_options = common.group(
    "reading",
    Reading,
    dict_format_option,
    click.option(
        "--hierarchy", metavar="PATH", help="Another dictionary file that lends its parents."
    ),
    common.list_option(
        "--types",
        "Keep concepts of these semantic types of the dictionary, e.g. T047,T191.",
    ),
    common.list_option("--namespaces", "Keep concepts with these id prefixes, e.g. MESH,OMIM."),
    languages_option,
    sources_option,
    prefix_option,
    click.option(
        "--lend",
        multiple=True,
        metavar="PATH",
        help="Another dictionary that lends names, or mappings (SSSOM); may be given again.",
    ),
    lend_kinds_option,
)


def dicts_option(*, required: bool = False) -> Callable[[_Command], _Command]:
    """Add --dict, the files of a dictionary, as `dicts`."""
    return click.option(
        *("--dict", "dicts"),
        multiple=True,
        required=required,
        metavar="PATH",
        help="Dictionary file or UMLS folder; may be given again.",
    )
