"""Large tables in which a quote is a character, and what several of them say of a concept.

So are the files of OMOP's Athena, of SNOMED CT (RF2), and of the UMLS (RRF).
"""

from __future__ import annotations

import logging
import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, TypeVar

import numpy as np

from linker.errors import InputError, LinkerError, OnError, RecordError, ignore, stop
from linker.ids import counted
from linker.io.files import OpenFile, Pathlike, is_folder, read_lines
from linker.io.parsing import Languages, Statement, check_concept, parse_each
from linker.records import Concept

logger = logging.getLogger(__name__)

_Parsed = TypeVar("_Parsed")


def read_table(
    path: Pathlike,
    columns: Sequence[str],
    parse: Callable[..., _Parsed | None],
    on_error: OnError,
    titles: str = "",
) -> Iterator[_Parsed]:
    """Parse the rows of a table, and yield what is not None.

    Args:
        path: the file, with the names of its columns in the first line, and tabs between them.
        columns: those that are wanted.
        parse: is given the number of the line, and the cells of these columns one by one.
        on_error: what to do with a bad row.
        titles: the names of the columns with bars between them, of a file with bars and no names.

    Raises:
        InputError: a column is not there, or what `on_error` raises.
    """
    lines, sign = read_lines(path, on_error=on_error), "|" if titles else "\t"
    named = titles.split(sign) if titles else next(lines, (1, ""))[1].split(sign)
    if missing := [column for column in columns if column not in named]:
        raise InputError(
            path,
            f"there is no column {missing[0]!r}",
            line=1,
            value=sign.join(named),
            expected=f"with tabs between them {', '.join(columns)}",
            remedy="take the file as it was published",
        )
    places, width = [named.index(column) for column in columns], len(named)

    def of_line(number: int, line: str) -> _Parsed | None:
        cells = line.split(sign)
        if len(cells) != width:
            expected = f"{width}, as in {titles or 'the header'}"
            raise RecordError(f"{len(cells)} columns", line, expected=expected)
        return parse(number, *[cells[place] for place in places])

    yield from parse_each(path, lines, of_line, on_error)


class Sheet(NamedTuple):
    """A table that stands beside another one."""

    name: str  # of the file
    columns: tuple[str, ...]  # those that are read
    lacking: str  # what concepts lack without it
    titles: str = ""  # see `read_table`


def read_beside(
    first: Pathlike, sheet: Sheet, parse: Callable[..., _Parsed | None], on_error: OnError
) -> Iterator[_Parsed]:
    """Parse the rows of a table in the folder of the first; an open file stands in no folder."""
    place = first if isinstance(first, OpenFile) else Path(first).parent
    if path := find(place, sheet.name):
        yield from read_table(path, sheet.columns, parse, on_error, sheet.titles)
    else:
        text = "%s: there is no %s, so the concepts have no %s"
        logger.warning(text, place, sheet.name, sheet.lacking)


def first_table(path: Pathlike, name: str) -> Pathlike:
    """The file of this name in a folder; any other path is that of the file.

    Raises:
        LinkerError: the folder has none.
    """
    if not is_folder(path):
        return path
    if file := find(path, name):
        return file
    raise LinkerError(f"{path}: the folder has no {name}; name one with all files of a release")


def find(folder: Pathlike, name: str) -> Path | None:
    """The file of a folder with this name, plain or .gz; an open file stands for no folder."""
    if isinstance(folder, OpenFile):
        return None
    ways = (Path(folder) / f"{name}{end}" for end in ("", ".gz"))
    return next((file for file in ways if file.is_file()), None)


def number_of(text: str) -> int:
    """The number that an id is.

    Raises:
        RecordError: it is none, or has more than 18 digits.
    """
    if not text.isdecimal() or len(text) > 18:
        raise RecordError("the id is no number", text, expected="1 to 18 digits")
    return int(text)


_SIGNS = {  # of the fields of statements, in packed rows
    **{"P": "preferred", "E": "exact", "D": "definition", "^": "parents"},
    **{"=": "alt_ids", ">": "replaced_by", "T": "types"},
}
_SIGN_OF = {field: sign for sign, field in _SIGNS.items()}
Row = tuple[int, Statement]
"""The number of a concept, and what a row says of it."""


class Grouped:
    """What the rows of several tables say of concepts, in any order, packed and sorted by concept.

    Args:
        rows: the statements.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        owners, ends, data = array("q"), array("q", [0]), bytearray()
        for owner, (field, text, language, _) in rows:
            data += f"{_SIGN_OF[field]}{language}\t{text}".encode()
            owners.append(owner)
            ends.append(len(data))
        places = np.frombuffer(ends, np.int64)
        order = np.argsort(np.frombuffer(owners, np.int64), kind="stable")
        self.owners = np.frombuffer(owners, np.int64)[order]
        self._starts, self._stops, self._data = places[order], places[1:][order], data

    def __getitem__(self, owner: int) -> list[Statement]:
        """The distinct statements on a concept."""
        start, stop = np.searchsorted(self.owners, (owner, owner + 1)).tolist()
        starts, stops = self._starts[start:stop].tolist(), self._stops[start:stop].tolist()
        texts = dict.fromkeys(self._data[a:b].decode() for a, b in zip(starts, stops, strict=True))
        cut = ((text[0], *text[1:].partition("\t")) for text in texts)
        return [Statement(_SIGNS[sign], text, language) for sign, language, _, text in cut]


_OMOP_OPTIONS = ("languages", "sources")
_OMOP_CONCEPT, _OMOP_VOCABULARY = "CONCEPT.csv", "VOCABULARY.csv"
_OMOP_SYNONYM = Sheet(
    "CONCEPT_SYNONYM.csv",
    ("concept_id", "concept_synonym_name", "language_concept_id"),
    "synonyms",
)
_OMOP_RELATIONSHIP = Sheet(
    "CONCEPT_RELATIONSHIP.csv",
    ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason"),
    "parents, alternative ids and replacements",
)
_OMOP_COLUMNS = (
    *("concept_id", "concept_name", "domain_id", "vocabulary_id"),
    *("standard_concept", "concept_code", "invalid_reason"),
)
_OMOP_LANGUAGES = {  # the concepts of languages; others are called by their id
    **dict.fromkeys(("4180186", "4093769"), "en"),
    **{"4182511": "es", "4180190": "fr", "4182504": "de", "4182507": "it", "4182503": "nl"},
    **{"4181536": "pt", "4180183": "da", "4175777": "sv", "4182948": "zh", "4181524": "ja"},
    **{"4175771": "ko", "4181374": "ar", "4180047": "he"},
}
_OMOP_RELATIONS = {"Is a": "parents", "Concept replaced by": "replaced_by"}
_OMOP_REVERSED = {"Subsumes": "parents", "Maps to": "alt_ids"}  # of the second concept


def _is_athena(path: Pathlike, head: list[str]) -> bool:
    """Tell whether `path` is a folder with a table of concepts, or the first line is its header."""
    if is_folder(path):
        names = (_OMOP_CONCEPT, _OMOP_SYNONYM.name, _OMOP_RELATIONSHIP.name)
        return any(find(path, name) for name in names)
    return set(_OMOP_COLUMNS) <= set("".join(head[:1]).split("\t"))


def _athena_release(path: Pathlike) -> str:
    """The version of the vocabularies in VOCABULARY.csv; empty where it is not there."""
    table = find(path if is_folder(path) else Path(path).parent, _OMOP_VOCABULARY)
    columns = ("vocabulary_id", "vocabulary_version")

    def version(_: int, vocabulary: str, version: str) -> str | None:
        return version if vocabulary == "None" else None

    return next(read_table(table, columns, version, ignore), "") if table else ""


def read_athena(
    path: Pathlike,
    *,
    on_error: OnError = stop,
    languages: Languages | None = None,
    sources: Collection[str] = (),
) -> Iterator[Concept]:
    """Read the concepts under their OMOP ids, those that are not valid as obsolete ones.

    CONCEPT.csv is read twice, line by line; the rows of the other tables are held packed. The
    domain is the type, the vocabulary with its code a cross-reference. Parents that are no such
    concepts are left out.

    Args:
        path: a folder with CONCEPT.csv, CONCEPT_SYNONYM.csv and CONCEPT_RELATIONSHIP.csv, plain or
            .gz; or the first of these, with the others beside it.
        on_error: what to do with a bad row of any of the three.
        languages: of the names to keep; None: English, in which concepts are called.
        sources: vocabularies of the concepts to keep; all where empty.

    Raises:
        LinkerError: CONCEPT.csv is not there, or no concept is a standard concept of the sources.
        InputError: what `on_error` raises.
    """
    table, chosen = first_table(path, _OMOP_CONCEPT), languages or Languages()
    of_vocabulary: Counter[str] = Counter()

    def standard(_: int, identifier: str, *cells: str) -> int | None:
        vocabulary, is_standard, invalid = cells[2], cells[3], cells[5]
        if is_standard not in ("S", "C") or invalid:
            return None
        of_vocabulary[vocabulary] += 1
        return number_of(identifier) if not sources or vocabulary in sources else None

    kept = set(read_table(table, _OMOP_COLUMNS, standard, on_error))
    if sources and not kept:
        there = counted(of_vocabulary)
        named = ", ".join(sources)
        raise LinkerError(f"{table}: holds no standard concept of {named}; there are {there}")
    rows = chain(
        _omop_synonyms(table, on_error, kept, chosen), _omop_relations(table, on_error, kept)
    )
    known = Grouped(rows)

    def concept(line: int, number: str, name: str, domain: str, *cells: str) -> Concept | None:
        vocabulary, _, code, invalid = cells
        is_foreign = sources and vocabulary not in sources
        if number_of(number) not in kept and (not invalid or is_foreign):
            return None
        return chosen.concept(
            f"OMOP:{number}",
            [Statement("preferred", name, "en"), *known[int(number)]],
            source=vocabulary,
            types=(domain,),
            status="obsolete" if invalid else "current",
            xrefs=(f"{vocabulary.replace(' ', '_')}:{code}",),
            line=line,
        )

    yield from read_table(table, _OMOP_COLUMNS, concept, ignore)  # bad rows were reported above


def _omop_synonyms(
    table: Pathlike, on_error: OnError, kept: Collection[int], languages: Languages
) -> Iterator[Row]:
    def synonym(_: int, identifier: str, name: str, spoken: str) -> Row | None:
        number, language = number_of(identifier), _OMOP_LANGUAGES.get(spoken, spoken)
        if number not in kept or languages.place(language) is None:
            return None
        check_concept(identifier, (name.strip(),))
        return number, Statement("exact", name, language)

    return read_beside(table, _OMOP_SYNONYM, synonym, on_error)


def _omop_relations(table: Pathlike, on_error: OnError, kept: Collection[int]) -> Iterator[Row]:
    def relation(_: int, first: str, second: str, name: str, invalid: str) -> Row | None:
        if invalid or first == second:
            return None
        field = _OMOP_RELATIONS.get(name, "")
        if not field:
            field, first, second = _OMOP_REVERSED.get(name, ""), second, first
        if not field:
            return None
        owner, other = number_of(first), number_of(second)
        is_kept = field == "replaced_by" or owner in kept
        is_kept = is_kept and (field != "parents" or other in kept)
        return (owner, Statement(field, f"OMOP:{other}")) if is_kept else None

    return read_beside(table, _OMOP_RELATIONSHIP, relation, on_error)


athena = SimpleNamespace(
    recognises=_is_athena, read=read_athena, release=_athena_release, OPTIONS=_OMOP_OPTIONS
)


logger = logging.getLogger(__name__)

_RF2_OPTIONS = ("languages",)
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


def _is_rf2(path: Pathlike, head: list[str]) -> bool:
    """Tell whether `path` is a folder with a table of concepts of a snapshot, at any depth."""
    return is_folder(path) and bool(_rf2_files(path)[_CONCEPT])


def _rf2_release(path: Pathlike) -> str:
    """The date in the names of the files, as YYYYMMDD."""
    return _date_of(_rf2_files(path)[_CONCEPT][0])


def read_rf2(
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
    files, chosen = _rf2_files(path), languages or Languages()
    _check_release(path, files)
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
        return _rf2_concept(seen[-1], known, chosen, active == "1", line)

    for file in files[_CONCEPT]:
        yield from read_table(file, ("id", "active"), concept, on_error)
    for number in np.setdiff1d(known.owners, np.array(seen, np.int64)).tolist():
        yield _rf2_concept(number, known, chosen, True, None)


def _rf2_files(folder: Pathlike) -> dict[str, list[Path]]:
    """The files of a folder by their kind."""
    files: dict[str, list[Path]] = {kind: [] for kind in _KINDS}
    for file in sorted(Path(folder).rglob("*Snapshot*_*.txt*")):
        if match := _FILE.fullmatch(file.name):
            files[match[1]].append(file)
    return files


def _date_of(file: Path) -> str:
    return _FILE.sub(r"\2", file.name)


def _check_release(folder: Pathlike, files: dict[str, list[Path]]) -> None:
    """Check that the files are of one release, and say which kinds are missing."""
    dates = sorted({_date_of(file) for file in chain.from_iterable(files.values())})
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

    def description(_: int, identifier: str, *cells: str) -> Row | None:
        active, number, language, kind, term = cells
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


def _rf2_concept(
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


rf2 = SimpleNamespace(recognises=_is_rf2, read=read_rf2, release=_rf2_release, OPTIONS=_RF2_OPTIONS)


_RRF_OPTIONS = ("languages", "sources")

# the columns, which the files do not name; a bar stands behind each
_NAMES_FILE, _NAMES_TITLES = (
    "MRCONSO.RRF",
    "CUI|LAT|TS|LUI|STT|SUI|ISPREF|AUI|SAUI|SCUI|SDUI|SAB|TTY|CODE|STR|SRL|SUPPRESS|CVF|",
)
_RELATIONS = Sheet(
    "MRREL.RRF",
    ("CUI1", "REL", "CUI2", "SAB", "SUPPRESS"),
    "parents",
    "CUI1|AUI1|STYPE1|REL|CUI2|AUI2|STYPE2|RELA|RUI|SRUI|SAB|SL|RG|DIR|SUPPRESS|CVF|",
)
_TYPES = Sheet("MRSTY.RRF", ("CUI", "TUI"), "semantic types", "CUI|TUI|STN|STY|ATUI|CVF|")
_ATOM = ("CUI", "LAT", "TS", "STT", "ISPREF", "SAB", "TTY", "STR", "SUPPRESS")
# term types: abbreviation, acronym, acronym made by the UMLS
_ABBREVIATIONS = frozenset({"AB", "ACR", "MTH_ACR"})
_DROPPED = frozenset("OEY")  # obsolete; suppressed by an editor; suppressed by the kind of name
_MOST = 10_000_000  # numbers of CUIs


def _is_rrf(path: Pathlike, head: list[str]) -> bool:
    """Tell whether `path` is a folder with MRCONSO.RRF, or the first line is one of MRCONSO."""
    if is_folder(path):
        return find(path, _NAMES_FILE) is not None
    cells = head[0].split("|") if head else []
    return len(cells) == _NAMES_TITLES.count("|") + 1 and _is_cui(cells[0])


def read_rrf(
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
    names = first_table(path, _NAMES_FILE)
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


def _cui_number(cui: str) -> int:
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
        _cui_number(cui)
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

    return read_table(path, _ATOM, atom, on_error, _NAMES_TITLES)


def _parents(
    names: Pathlike, on_error: OnError, kept: bytearray, sources: Collection[str]
) -> Iterator[Row]:
    def parent(
        _: int, first: str, name: str, second: str, source: str, suppressed: str
    ) -> Row | None:
        child = _cui_number(first)
        if name != "PAR" or suppressed in _DROPPED or (sources and source not in sources):
            return None
        is_kept = kept[_cui_number(second)] and first != second and kept[child]
        return (child, Statement("parents", f"UMLS:{second}")) if is_kept else None

    return read_beside(names, _RELATIONS, parent, on_error)


def _types(names: Pathlike, on_error: OnError, kept: bytearray) -> Iterator[Row]:
    def semantic_type(_: int, cui: str, tui: str) -> Row | None:
        number = _cui_number(cui)
        if not re.fullmatch("T[0-9]{3}", tui):
            problem, expected = "the semantic type is not a TUI", "T and three digits"
            raise RecordError(problem, tui, expected=expected)
        return (number, Statement("types", tui)) if kept[number] else None

    return read_beside(names, _TYPES, semantic_type, on_error)


rrf = SimpleNamespace(recognises=_is_rrf, read=read_rrf, OPTIONS=_RRF_OPTIONS)
