"""The UMLS Metathesaurus in Rich Release Format.

MRCONSO has the names, MRREL the parents, MRSTY the semantic types.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain, groupby

from linker.errors import InputError, OnError, RecordError, ignore, stop
from linker.io.files import Pathlike, is_folder
from linker.io.languages import Languages, Statement
from linker.io.parsing import check_concept
from linker.io.tabs import Grouped, Row, find, first_table, read_beside, read_table
from linker.records import Concept

OPTIONS = ("languages", "sources")

_TITLES = {  # of the columns, which the files do not name; a bar stands behind each
    "MRCONSO.RRF": "CUI|LAT|TS|LUI|STT|SUI|ISPREF|AUI|SAUI|SCUI|SDUI|SAB|TTY|CODE|STR|SRL|SUPPRESS"
    "|CVF|",
    "MRREL.RRF": "CUI1|AUI1|STYPE1|REL|CUI2|AUI2|STYPE2|RELA|RUI|SRUI|SAB|SL|RG|DIR|SUPPRESS|CVF|",
    "MRSTY.RRF": "CUI|TUI|STN|STY|ATUI|CVF|",
}
_NAMES, _RELATIONS, _TYPES = _TITLES
_ATOM = ("CUI", "LAT", "TS", "STT", "ISPREF", "SAB", "TTY", "STR", "SUPPRESS")
# term types: abbreviation, acronym, acronym made by the UMLS
_ABBREVIATIONS = frozenset({"AB", "ACR", "MTH_ACR"})
_DROPPED = frozenset("OEY")  # obsolete; suppressed by an editor; suppressed by the kind of name
_MOST = 10_000_000  # numbers of CUIs


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether `path` is a folder with MRCONSO.RRF, or the first line is one of MRCONSO."""
    if is_folder(path):
        return find(path, _NAMES) is not None
    cells = head[0].split("|") if head else []
    return len(cells) == _TITLES[_NAMES].count("|") + 1 and _is_cui(cells[0])


def read(
    path: Pathlike,
    *,
    on_error: OnError = stop,
    languages: Languages | None = None,
    sources: Collection[str] = (),
) -> Iterator[Concept]:
    """Read the concepts of the UMLS, in the order of MRCONSO, which is that of their CUIs.

    MRCONSO is read twice, line by line: once for the CUIs that the filters leave, once for their
    names; parents and types are held packed. Suppressed names and relationships are left out. The
    parents of a concept are CUI2 of the MRREL rows that have it as CUI1 and REL = PAR: REL is what
    the second concept is to the first (UMLS Reference Manual, NBK9685, section 3.3.9). Parents that
    the filters leave out are dropped.

    Args:
        path: a folder with MRCONSO.RRF, MRREL.RRF and MRSTY.RRF, plain or .gz; or the MRCONSO file,
            with the others beside it.
        on_error: what to do with a bad line of any of the three files.
        languages: of the names to keep; None: English.
        sources: values of SAB to keep, for names and parents; empty for all.

    Raises:
        InputError: MRCONSO is not sorted by CUI, or what `on_error` raises.
    """
    names = first_table(path, _NAMES)
    chosen = languages or Languages()
    kept = bytearray(_MOST)  # whether each CUI keeps a name
    for cui, _ in _atoms(names, on_error, chosen, sources):
        kept[int(cui[1:])] = True
    known = Grouped(chain(_parents(names, on_error, kept, sources), _types(names, on_error, kept)))
    atoms = _atoms(names, ignore, chosen, sources)  # the first reading has reported bad lines
    for cui, of_concept in groupby(atoms, key=lambda atom: atom[0]):
        related = sorted(known[int(cui[1:])])
        yield chosen.concept(f"UMLS:{cui}", [*(name for _, name in of_concept), *related])


def _is_cui(text: str) -> bool:
    return len(text) == 8 and text[0] == "C" and text[1:].isdecimal()


def _number(cui: str) -> int:
    if not _is_cui(cui):
        raise RecordError("the concept id is not a CUI", cui, expected="C and seven digits")
    return int(cui[1:])


def _atoms(
    path: Pathlike, on_error: OnError, languages: Languages, sources: Collection[str]
) -> Iterator[tuple[str, Statement]]:
    """Yield the names that the filters leave, with their CUIs."""
    last = ""

    def atom(number: int, cui: str, language: str, *cells: str) -> tuple[str, Statement] | None:
        nonlocal last
        *preferred, source, kind, text, suppressed = cells
        _number(cui)
        if cui < last:
            problem, name = "the CUIs are not in order", str(path).removesuffix(".gz")
            remedy = f"sort it: LC_ALL=C sort -o {name} {name}"
            raise InputError(path, problem, line=number, value=cui, remedy=remedy)
        last = cui
        is_wanted = not sources or source in sources
        if suppressed in _DROPPED or languages.place(language) is None or not is_wanted:
            return None
        text = text.strip()
        check_concept(cui, (text,))
        field = "abbreviation" if kind in _ABBREVIATIONS else "exact"
        is_preferred = preferred == ["P", "PF", "Y"]
        return cui, Statement("preferred" if is_preferred else field, text, language, source)

    return read_table(path, _ATOM, atom, on_error, _TITLES[_NAMES])


def _parents(
    names: Pathlike, on_error: OnError, kept: bytearray, sources: Collection[str]
) -> Iterator[Row]:
    def parent(
        _: int, first: str, name: str, second: str, source: str, suppressed: str
    ) -> Row | None:
        child = _number(first)
        if name != "PAR" or suppressed in _DROPPED or (sources and source not in sources):
            return None
        is_kept = kept[_number(second)] and first != second and kept[child]
        return (child, Statement("parents", f"UMLS:{second}")) if is_kept else None

    columns = ("CUI1", "REL", "CUI2", "SAB", "SUPPRESS")
    titles = _TITLES[_RELATIONS]
    return read_beside(names, _RELATIONS, "parents", columns, parent, on_error, titles)


def _types(names: Pathlike, on_error: OnError, kept: bytearray) -> Iterator[Row]:
    def semantic_type(_: int, cui: str, tui: str) -> Row | None:
        number = _number(cui)
        if not re.fullmatch("T[0-9]{3}", tui):
            problem, expected = "the semantic type is not a TUI", "T and three digits"
            raise RecordError(problem, tui, expected=expected)
        return (number, Statement("types", tui)) if kept[number] else None

    columns, titles = ("CUI", "TUI"), _TITLES[_TYPES]
    return read_beside(names, _TYPES, "semantic types", columns, semantic_type, on_error, titles)
