"""Functions of all dictionary readers: they check records and make names."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping

from linker.errors import InputError
from linker.files import Pathlike
from linker.ids import NO_CONCEPT
from linker.types import Name, NameKind

NAME_LIMIT = 5_000  # characters; the longest name of the UMLS has about 3,000


def split_list(cell: str) -> list[str]:
    """Split a cell at its bars; white space around the parts and blank parts are dropped."""
    return [text for part in cell.split("|") if (text := part.strip())]


def split_csv(path: Pathlike, number: int, line: str, delimiter: str) -> list[str]:
    """Split one line of a delimited file with double quotes.

    Raises:
        InputError: a quote is not closed on its line, or stands in the wrong place.
    """
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error as error:
        expected = 'one record a line, and inside quotes every quote doubled ("")'
        raise InputError(
            path, f"the quotes are broken ({error})", line=number, value=line, expected=expected
        ) from None


def make_names(
    identifier: str, name: str, synonyms: Mapping[str, NameKind], language: str = ""
) -> tuple[Name, ...]:
    """Make the names of a concept, without repeats, of its preferred name and its synonyms."""
    kinds: dict[str, NameKind] = {name: "preferred", **synonyms}
    kinds[name] = "preferred"
    return tuple([Name(text, identifier, kind, language) for text, kind in kinds.items()])


def fault(path: Pathlike, line: int, identifier: str, names: Iterable[str]) -> InputError | None:
    """Return what is wrong with a concept's id or names; None if nothing is.

    Args:
        path: the file, for the message.
        line: the line of the record, for the message.
        identifier: the id.
        names: the names, the preferred one first.
    """
    problem = "" if identifier and not identifier.endswith(":") else "is empty"
    if identifier.lower() in NO_CONCEPT - {""}:
        problem = f"{identifier!r} says that there is no concept"
    if problem:
        expected = "an identifier such as MESH:D001260"
        return InputError(
            path,
            f"the concept id {problem}",
            line=line,
            expected=expected,
            remedy="give one or remove the line",
        )
    for position, name in enumerate(names):
        if not name:
            problem = "the concept name is empty" if position == 0 else "a name is empty"
            return InputError(
                path,
                problem,
                line=line,
                value=identifier,
                expected="a name",
                remedy="give one or remove the line",
            )
        if len(name) > NAME_LIMIT:
            expected = f"at most {NAME_LIMIT:,} characters"
            return InputError(
                path,
                "the name is too long",
                line=line,
                value=name,
                expected=expected,
                remedy="check quotes and line ends",
            )
    return None
