"""SNOMED CT as its members hand it out (RF2): the snapshot of a release.

https://confluence.ihtsdotools.org/display/DOCRELFMT describes the files.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from linker.errors import LinkerError, OnError, stop
from linker.io.files import Pathlike, is_folder
from linker.io.languages import Languages, Statement
from linker.io.parsing import check_concept
from linker.io.tabs import Grouped, Row, number_of, read_table
from linker.records import Concept

logger = logging.getLogger(__name__)

OPTIONS = ("languages",)
_KINDS = {  # of files, with what concepts lack without them
    "sct2_Concept_": "",
    "sct2_Description_": "names",
    "sct2_TextDefinition_": "definitions",
    "sct2_Relationship_": "parents",
    "der2_cRefset_Language": "preferred names, but those that are fully specified",
    "der2_cRefset_Association": "replacements of inactive concepts",
}
_CONCEPT, _DESCRIPTION, _DEFINITION, _RELATIONSHIP, _LANGUAGE, _ASSOCIATION = _KINDS
_FILE = re.compile(rf"x?({'|'.join(_KINDS)}).*Snapshot.*_(\d{{8}})\w*\.txt(?:\.gz)?")
# concepts that the files are written with
_IS_A, _FULLY_SPECIFIED, _PREFERRED = "116680003", "900000000000003001", "900000000000548007"
_BRITISH = "900000000000508004"  # the reference set of British English
_REPLACES = frozenset(("900000000000527005", "900000000000526001"))  # same as, replaced by
_TAGGED = re.compile(r"(.*\S)\s+\(([^()]+)\)")


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether `path` is a folder with a table of concepts of a snapshot, at any depth."""
    return is_folder(path) and bool(_files(path)[_CONCEPT])


def release(path: Pathlike) -> str:
    """The date in the names of the files, as YYYYMMDD."""
    return _date(_files(path)[_CONCEPT][0])


def read(
    path: Pathlike, *, on_error: OnError = stop, languages: Languages | None = None
) -> Iterator[Concept]:
    """Read the concepts in the order of their file, inactive ones as obsolete.

    A concept is called by its preferred term, in American English where there is a choice. Its
    fully specified name is a name without its semantic tag, which is the type. Concepts that an
    edition only describes, such as those of the international edition in a translation, follow at
    the end. All rows are held packed.

    Args:
        path: the folder of a release, or the folder Snapshot in it.
        on_error: what to do with a bad row.
        languages: of the names to keep; None: English. "en-GB" prefers British terms.

    Raises:
        LinkerError: the folder holds the files of several releases.
        InputError: what `on_error` raises.
    """
    files, chosen = _files(path), languages or Languages()
    _check(path, files)
    of_parent = ("sourceId", "destinationId", "typeId")
    of_member = ("referencedComponentId", "targetComponentId", "refsetId")
    known = Grouped(
        chain(
            _descriptions(files, on_error, chosen),
            _edges(files[_RELATIONSHIP], of_parent, on_error),
            _edges(files[_ASSOCIATION], of_member, on_error),
        )
    )
    seen: list[int] = []

    def concept(line: int, number: str, active: str) -> Concept:
        seen.append(number_of(number))
        return _concept(seen[-1], known, chosen, active == "1", line)

    for file in files[_CONCEPT]:
        yield from read_table(file, ("id", "active"), concept, on_error)
    for number in np.setdiff1d(known.owners, np.array(seen, np.int64)).tolist():
        yield _concept(number, known, chosen, True, None)


def _files(folder: Pathlike) -> dict[str, list[Path]]:
    """The files of a folder by their kind."""
    files: dict[str, list[Path]] = {kind: [] for kind in _KINDS}
    for file in sorted(Path(folder).rglob("*Snapshot*_*.txt*")):
        if match := _FILE.fullmatch(file.name):
            files[match[1]].append(file)
    return files


def _date(file: Path) -> str:
    return _FILE.sub(r"\2", file.name)


def _check(folder: Pathlike, files: dict[str, list[Path]]) -> None:
    """Check that the files are of one release, and say which kinds are missing."""
    dates = sorted({_date(file) for file in chain.from_iterable(files.values())})
    if len(dates) > 1:
        raise LinkerError(
            f"{folder}: holds files of the releases {' and '.join(dates)}; "
            "keep one release in a folder, and give an extension as another --dict"
        )
    for kind, content in _KINDS.items():
        if not files[kind]:
            text = "%s: there is no file %s…Snapshot…, so the concepts have no %s"
            logger.warning(text, folder, kind, content)


def _descriptions(
    files: dict[str, list[Path]], on_error: OnError, languages: Languages
) -> Iterator[Row]:
    """The names and definitions in the languages, and the names with their tags in all."""
    preferred = _preferred(files[_LANGUAGE], on_error)

    def description(
        _: int, identifier: str, active: str, number: str, language: str, kind: str, term: str
    ) -> Row | None:
        is_full = kind == _FULLY_SPECIFIED
        if active != "1" or (languages.place(language) is None and not is_full):
            return None
        check_concept(number, (term.strip(),))
        tag = preferred.get(number_of(identifier))
        field = "types" if is_full else "exact" if tag is None else "preferred"
        return number_of(number), Statement(field, term, tag or language)

    def definition(_: int, active: str, number: str, language: str, term: str) -> Row | None:
        stated = Statement("definition", term, language)
        return (number_of(number), stated) if active == "1" else None

    columns = ("active", "conceptId", "languageCode", "term")
    for file in files[_DESCRIPTION]:
        of_name = ("id", *columns[:3], "typeId", "term")
        yield from read_table(file, of_name, description, on_error)
    for file in files[_DEFINITION]:
        yield from read_table(file, columns, definition, on_error)


def _preferred(files: list[Path], on_error: OnError) -> dict[int, str]:
    """The descriptions that a language reference set prefers; "en-GB" for British ones alone."""
    tags: dict[int, str] = {}

    def member(_: int, active: str, refset: str, description: str, acceptability: str) -> None:
        if active == "1" and acceptability == _PREFERRED:
            if refset == _BRITISH:
                tags.setdefault(number_of(description), "en-GB")
            else:
                tags[number_of(description)] = ""

    columns = ("active", "refsetId", "referencedComponentId", "acceptabilityId")
    for file in files:
        for _ in read_table(file, columns, member, on_error):
            pass
    return tags


def _edges(files: list[Path], columns: tuple[str, str, str], on_error: OnError) -> Iterator[Row]:
    """The parents and replacements in the columns of two concepts and what joins them."""

    def edge(_: int, active: str, first: str, second: str, kind: str) -> Row | None:
        field = "parents" if kind == _IS_A else "replaced_by" if kind in _REPLACES else ""
        if active != "1" or not field:
            return None
        return number_of(first), Statement(field, f"SNOMEDCT:{number_of(second)}")

    for file in files:
        yield from read_table(file, ("active", *columns), edge, on_error)


def _concept(
    number: int, known: Grouped, languages: Languages, active: bool, line: int | None
) -> Concept:
    """A concept, of whose names with their tags a name and the type are made."""
    rows, types = known[number], dict[str, str]()
    has_best = any(row.field == "preferred" for row in rows)
    statements: list[Statement] = []
    for field, text, language, _ in rows:
        if field == "types":
            field = "exact" if has_best else "preferred"
            if tagged := _TAGGED.fullmatch(text):
                text, types[language] = tagged.groups()
        statements.append(Statement(field, text, language))
    return languages.concept(
        f"SNOMEDCT:{number}",
        statements,
        types=tuple([types["en"]] if "en" in types else types.values()),
        status="current" if active else "obsolete",
        line=line,
    )
