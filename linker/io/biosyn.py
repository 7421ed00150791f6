"""The files of BioSyn (Sung 2020): dictionaries and mentions.

A dictionary has `id||name` lines, as has the MEDIC of 2012. A `.concept` file has one mention a
line, `document||start|end||type||mention||ids`. The processed files hold normalised mentions: a
composite mention that was split has `|` in its text, and `|` or `+` in its ids.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from linker.errors import InputError, OnError, RecordError, of_file, stop
from linker.ids import Identify, curie, namespace, not_known, parse_gold
from linker.io.files import Pathlike, is_folder, read_lines
from linker.io.parsing import check_concept, make_concept, parse_each
from linker.records import Concept, Document, Mention, NameKind

Ids = tuple[str, ...]

_OFFSETS = re.compile(r"(\d{1,9})\|(\d{1,9})")
_LINE = re.compile(r"[^\s|]+(\|[^\s|]+)*\|\|")


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first line that is not blank is `id||name` or `id|id||name|name`."""
    return bool(_LINE.match(next((line for line in head if line.strip()), "")))


@dataclass(slots=True)
class _Entry:
    line: int
    ids: dict[str, None]  # dicts for their order
    names: dict[str, None] = field(default_factory=dict)


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]:
    """Read `ID[|ID…]||name[|name…]` lines; one id is the concept's, the others are alternative ids.

    The ids stand in alphabetical order. The concept's id is the first that is not of OMIM, as in
    the later releases of MEDIC; lines with the same concept's id make one concept.

    BioSyn's processed dictionaries have one name a line, and for an ambiguous name the ids of all
    its concepts in a row. So a list of ids that is the lists of two or more other lines put
    together is no concept: its names are added to each of these concepts.

    The whole file is held in memory.
    """
    lines = _group(path, on_error)
    lengths: dict[str, dict[int, None]] = {}
    for ids in sorted(lines, key=len):
        lengths.setdefault(ids[0], {})[len(ids)] = None
    entries: dict[str, _Entry] = {}
    ambiguous = []
    for ids, line in lines.items():
        if parts := _pieces(ids, lengths, lines):
            ambiguous.append((parts, line.names))
            continue
        entry = entries.setdefault(_primary(ids), line)
        entry.ids.update(line.ids)
        entry.names.update(line.names)
    for parts, names in ambiguous:
        for ids in parts:
            entries[_primary(ids)].names.update(names)
    for identifier, entry in entries.items():
        yield _concept(identifier, entry)


def _group(path: Pathlike, on_error: OnError) -> dict[Ids, _Entry]:
    """Group the lines that have the same list of ids."""
    lines: dict[Ids, _Entry] = {}
    numbered = ((n, line) for n, line in read_lines(path, on_error=on_error) if line.strip())
    for number, ids, names in parse_each(path, numbered, _split, on_error):
        lines.setdefault(ids, _Entry(number, dict.fromkeys(ids))).names.update(dict.fromkeys(names))
    return lines


def _split(number: int, line: str) -> tuple[int, Ids, list[str]]:
    left, bars, right = line.partition("||")
    if not bars:
        raise RecordError("the line has no ||", line, expected="id||name")
    ids = [curie(text) for text in left.split("|")]
    first, *others = (text.strip() for text in right.split("|"))
    names = [first, *filter(None, others)]
    for identifier in ids:
        check_concept(identifier, names)
    return number, tuple(dict.fromkeys(ids)), names


def _pieces(ids: Ids, lengths: Mapping[str, Iterable[int]], known: Collection[Ids]) -> list[Ids]:
    """Cut a list of ids into shorter lists that are known, the shortest possible first.

    Args:
        ids: the list.
        lengths: for each id, the rising lengths of the known lists that begin with it; to look at
            no others saves time.
        known: the lists of all lines.

    Returns:
        The shorter lists; empty if the list cannot be cut.
    """
    ends = {len(ids): 0}  # place -> end of the first piece, if the ids from there on can be cut
    for start in reversed(range(len(ids))):
        for end in (start + length for length in lengths.get(ids[start], ()) if length < len(ids)):
            if end in ends and ids[start:end] in known:
                ends[start] = end
                break
    pieces, start = [], 0
    while start < len(ids) and start in ends:
        pieces.append(ids[start : ends[start]])
        start = ends[start]
    return pieces


def _primary(ids: Ids) -> str:
    return next((i for i in ids if namespace(i) != "OMIM"), ids[0])


def _concept(identifier: str, entry: _Entry) -> Concept:
    name, *others = entry.names
    alt_ids = tuple(i for i in entry.ids if i != identifier)
    synonyms: dict[str, NameKind] = dict.fromkeys(others, "exact")
    return make_concept(identifier, name, synonyms, alt_ids=alt_ids, line=entry.line)


def read_mentions(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Document]:
    """Yield a document, without text, for each run of lines of one document id.

    Args:
        path: a `.concept` file, or a folder with such files, read by name.
        on_error: what to do with a bad line, or a bad file of a folder.
        identify: see `linker.ids.split_ids`.

    Raises:
        InputError: the folder holds no such file.
    """

    if not is_folder(path):
        yield from _documents(path, on_error, identify)
        return
    for file in concept_files(path):
        documents: list[Document] = []
        with of_file(on_error):
            documents = list(_documents(file, on_error, identify))  # all or none
        yield from documents


def _documents(path: Pathlike, on_error: OnError, identify: Identify) -> Iterator[Document]:
    """The documents of one file."""

    def parse(_: int, line: str) -> Mention:
        return _mention(line, identify)

    mentions = parse_each(path, read_lines(path, on_error=on_error), parse, on_error)
    for identifier, of_document in groupby(mentions, key=lambda mention: mention.document_id):
        yield Document(str(identifier), mentions=tuple(of_document))


def concept_files(folder: Pathlike) -> list[Path]:
    """List the `*.concept` files of a folder by name.

    Raises:
        InputError: there is none.
    """
    files = sorted(Path(folder).glob("*.concept"))
    if not files:
        remedy = "name a file to read another format"
        raise InputError(folder, "the folder holds no *.concept file", remedy=remedy)
    return files


def _mention(line: str, identify: Identify) -> Mention:
    columns = line.split("||")
    offsets = _OFFSETS.fullmatch(columns[1]) if len(columns) == 5 else None
    if offsets is None or not columns[3].strip():
        problem = "the mention is empty" if offsets else "the line is not a mention"
        raise RecordError(problem, line, expected="document||start|end||type||mention||ids")
    document, _, kind, text, ids = columns
    return Mention(
        text,
        ((int(offsets[1]), int(offsets[2])),),
        parse_gold(ids, identify, curie),
        kind,
        document,
        metadata={"concept:ids": ids},
    )
