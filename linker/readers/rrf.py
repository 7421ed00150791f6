"""The UMLS Metathesaurus in Rich Release Format.

MRCONSO has the names, MRREL the parents, MRSTY the semantic types.
"""

from __future__ import annotations

import logging
import re
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from linker.errors import InputError, LinkerError, OnError, RecordError, ignore, stop
from linker.files import Pathlike, is_folder, read_lines
from linker.readers.languages import Languages
from linker.readers.records import beside, check_concept, find, parse_each
from linker.types import Concept, Name, NameKind

logger = logging.getLogger(__name__)

OPTIONS = ("languages", "sources")

Pairs = NDArray[np.int64]
"""A CUI's number in the upper 32 bits, that of its parent or semantic type in the lower ones."""

_WIDTHS = {"MRCONSO": 18, "MRREL": 16, "MRSTY": 6}
_CUI, _LAT, _TS, _STT, _ISPREF, _SAB, _TTY, _STR, _SUPPRESS = 0, 1, 2, 4, 6, 11, 12, 14, 16
# term types: abbreviation, acronym, acronym made by the UMLS
_ABBREVIATIONS = frozenset({"AB", "ACR", "MTH_ACR"})
_DROPPED = frozenset("OEY")  # obsolete; suppressed by an editor; suppressed by the kind of name
_LOWER = (1 << 32) - 1
_CUIS = "C and seven digits"

_Parsed = TypeVar("_Parsed")


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether `path` is a folder with MRCONSO.RRF, or the first line is one of MRCONSO."""
    if is_folder(path):
        return find(path, "MRCONSO.RRF") is not None
    cells = head[0].split("|") if head else []
    return len(cells) == _WIDTHS["MRCONSO"] + 1 and _is_cui(cells[_CUI])


def read(
    path: Pathlike,
    *,
    on_error: OnError = stop,
    languages: Languages | None = None,
    sources: Collection[str] = (),
) -> Iterator[Concept]:
    """Read the concepts of the UMLS, in the order of MRCONSO, which is that of their CUIs.

    MRCONSO is read twice, line by line: once for the CUIs that the filters leave, once for their
    names; parents and types are held as arrays of integers. Suppressed names and relationships are
    left out. The parents of a concept are CUI2 of the MRREL rows that have it as CUI1 and REL =
    PAR: REL is what the second concept is to the first (UMLS Reference Manual, NBK9685, section
    3.3.9). Parents that the filters leave out are dropped, and counted in the log.

    Args:
        path: a folder with MRCONSO.RRF, MRREL.RRF and MRSTY.RRF, plain or .gz; or the MRCONSO file,
            with the others beside it.
        on_error: what to do with a bad line of any of the three files.
        languages: of the names to keep; None: English.
        sources: values of SAB to keep, for names and parents; empty for all.

    Raises:
        InputError: MRCONSO is not sorted by CUI, or what `on_error` raises.
    """
    names, languages = _names_file(path), languages or Languages()
    kept = _kept_cuis(names, on_error, languages, sources)
    parents = _by_concept(_parents(names, on_error, kept, sources), kept)
    types = _by_concept(_types(names, on_error, kept), kept)
    rows = _atoms(names, ignore, languages, sources)  # the first reading has reported bad lines
    for cui, atoms in groupby(rows, key=lambda cells: cells[_CUI]):
        identifier = f"UMLS:{cui}"
        yield languages.concept(
            identifier,
            (_name(identifier, atom) for atom in atoms),
            parents=tuple(f"UMLS:C{number:07d}" for number in next(parents)),
            types=tuple(f"T{number:03d}" for number in next(types)),
        )


def _by_concept(pairs: Pairs, kept: NDArray[np.int64]) -> Iterator[list[int]]:
    """The numbers of the parents or types of each kept CUI."""
    starts, ends = np.searchsorted(pairs, kept << 32), np.searchsorted(pairs, (kept + 1) << 32)
    for start, end in zip(starts, ends, strict=True):
        yield (pairs[start:end] & _LOWER).tolist()


def _names_file(path: Pathlike) -> Pathlike:
    if not is_folder(path):
        return path
    if file := find(path, "MRCONSO.RRF"):
        return file
    raise LinkerError(
        f"{path}: the folder has no MRCONSO.RRF; name the folder META of a UMLS release"
    )


def _is_cui(text: str) -> bool:
    return len(text) == 8 and text[0] == "C" and text[1:].isdecimal()


def _rows(
    path: Pathlike,
    kind: str,
    parse: Callable[[int, list[str]], _Parsed | None],
    on_error: OnError,
    having: str = "",
) -> Iterator[_Parsed]:
    """Check the width of every line, and parse the number and cells of those that hold a text.

    Args:
        path: the file.
        kind: which of the three it is.
        parse: gives what is yielded; None to pass a line over.
        on_error: what to do with a bad line.
        having: the text.
    """
    width = _WIDTHS[kind]

    def of_line(number: int, line: str) -> _Parsed | None:
        if (count := line.count("|")) != width:  # a bar stands behind every cell
            expected = f"{width} as in {kind}.RRF, a bar behind each"
            raise RecordError(f"{count} columns", line, expected=expected)
        if having not in line:
            return None
        cells = line.split("|")
        if not _is_cui(cells[_CUI]):
            problem = "the concept id is not a CUI" if cells[_CUI] else "the concept id is empty"
            raise RecordError(problem, cells[_CUI], expected=_CUIS)
        return parse(number, cells)

    return parse_each(path, read_lines(path, on_error=on_error), of_line, on_error)


def _atoms(
    path: Pathlike, on_error: OnError, languages: Languages, sources: Collection[str]
) -> Iterator[list[str]]:
    """The rows of MRCONSO that the filters leave."""
    last = ""

    def atom(number: int, cells: list[str]) -> list[str] | None:
        nonlocal last
        if cells[_CUI] < last:
            name = Path(path).name
            raise InputError(
                path,
                "the CUIs are not in order",
                line=number,
                value=cells[_CUI],
                expected=f"{last} or a later one",
                remedy=f"sort it: LC_ALL=C sort -o {name} {name}",
            )
        last = cells[_CUI]
        if (
            cells[_SUPPRESS] in _DROPPED
            or languages.place(cells[_LAT]) is None
            or (sources and cells[_SAB] not in sources)
        ):
            return None
        cells[_STR] = cells[_STR].strip()
        check_concept(cells[_CUI], (cells[_STR],))
        return cells

    return _rows(path, "MRCONSO", atom, on_error)


def _kept_cuis(
    path: Pathlike, on_error: OnError, languages: Languages, sources: Collection[str]
) -> NDArray[np.int64]:
    """The numbers of the CUIs that keep a name, rising."""
    rows = _atoms(path, on_error, languages, sources)
    return np.array(
        array("q", (int(cui[1:]) for cui, _ in groupby(cells[_CUI] for cells in rows))),
        dtype=np.int64,
    )


def _parents(
    names: Pathlike, on_error: OnError, kept: NDArray[np.int64], sources: Collection[str]
) -> Pairs:
    def parent(_: int, cells: list[str]) -> int | None:
        if cells[3] != "PAR" or cells[14] in _DROPPED or (sources and cells[10] not in sources):
            return None
        if not _is_cui(cells[4]):
            raise RecordError("CUI2 is not a CUI", cells[4], expected=_CUIS)
        return None if cells[0] == cells[4] else int(cells[0][1:]) << 32 | int(cells[4][1:])

    path = beside(names, "MRREL.RRF", "parents")
    edges = _of_kept(_rows(path, "MRREL", parent, on_error, "|PAR|") if path else (), kept)
    inside = np.isin(edges & _LOWER, kept)
    if dropped := len(edges) - int(inside.sum()):
        logger.info(
            "%d parents of the UMLS are outside the chosen languages and sources, and are left out",
            dropped,
        )
    return edges[inside]


def _types(names: Pathlike, on_error: OnError, kept: NDArray[np.int64]) -> Pairs:
    def semantic_type(_: int, cells: list[str]) -> int:
        if not re.fullmatch("T[0-9]{3}", cells[1]):
            problem, expected = "the semantic type is not a TUI", "T and three digits"
            raise RecordError(problem, cells[1], expected=expected)
        return int(cells[0][1:]) << 32 | int(cells[1][1:])

    path = beside(names, "MRSTY.RRF", "semantic types")
    return _of_kept(_rows(path, "MRSTY", semantic_type, on_error) if path else (), kept)


def _of_kept(pairs: Iterable[int], kept: NDArray[np.int64]) -> Pairs:
    """The distinct pairs of the kept CUIs, sorted."""
    rows = np.unique(np.array(array("q", pairs), dtype=np.int64))
    return rows[np.isin(rows >> 32, kept)]


def _name(identifier: str, atom: list[str]) -> Name:
    is_preferred = (atom[_TS], atom[_STT], atom[_ISPREF]) == ("P", "PF", "Y")
    kind: NameKind = "abbreviation" if atom[_TTY] in _ABBREVIATIONS else "exact"
    return Name(
        atom[_STR], identifier, "preferred" if is_preferred else kind, atom[_LAT], atom[_SAB]
    )
