"""Tables of users, mutated: every value of theirs stays, and each answer stands in the row of its mention."""

from __future__ import annotations

import contextlib
import csv
import io
import random
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .commands import Result, forked
from .core import Attack, Failed
from .decisions import IDS, OLD_IDS, prepare
from .inputs import mutated
from .judgements import kept
from .writers import text as hostile

MENTIONS = (
    "breast cancer", "ovarian cancer", "ataxia", "gout", "tumor", "louis-bar syndrome",
    "the thing", "breast and ovarian cancer", "mammary tumor", "A-T", "Neoplasms", "xyzzy",
)  # fmt: skip
_COLUMNS = {  # of ids and of mentions
    "link": ("old", "mention"), "check": ("id", "label"), "decide": ("concept_id", "mention"),
}  # fmt: skip
_ADDED = {"link": 7, "check": 5}  # columns
_CELL = r'(?:"(?:[^"]|"")*"|[^{sign}"\r\n]*)'
Rows = Sequence[Sequence[str]]


Answers = Mapping[tuple[str, ...], str]  # of the first added column, by command, id, mention


def prepared(shared: Path) -> Iterator[Attack]:
    """Texts and workbooks in turn, as they are or mutated, through link --column, check and decide."""
    prepare(shared)
    answers = _answers(shared)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        command, is_text = rng.choice(("link", "link", "check", "decide")), case % 2 == 0
        path, output = folder / ("a.txt" if is_text else "a.xlsx"), folder / "out"
        if not is_text and command != "decide":
            output = folder / "out.xlsx"
        given = (_text if is_text else _workbook)(rng, command, path)
        result = _ran(command, path, shared, output)
        if result.code:
            if not is_text and given.is_whole:
                raise Failed(f"a workbook is refused: {result.err[-300:]}")
        elif command == "decide":
            _check_decided(output, given.rows)
        elif is_text:
            _check_text(command, path, output, answers)
        else:
            _check_sheet(command, path, output, answers, is_whole=given.is_whole)

    yield attack


def _answers(shared: Path) -> dict[tuple[str, ...], str]:
    """The answer to each mention, and the verdict on each id with a mention."""
    answers: dict[tuple[str, ...], str] = {}
    pairs = [(one, mention) for one in (*IDS, *OLD_IDS, "", "X:1") for mention in MENTIONS]
    for command in ("link", "check"):
        path, output = shared / f"{command}.tsv", shared / f"{command}.out"
        lines = ["\t".join(row) + "\n" for row in (_COLUMNS[command], *pairs)]
        path.write_text("".join(lines), encoding="utf-8")
        _ran(command, path, shared, output, 0)
        for line in output.read_text(encoding="utf-8").split("\n")[1:-1]:
            identifier, mention, answer, *_ = line.split("\t")
            answers[command, identifier, mention] = answer
    return answers


def _ran(command: str, path: Path, shared: Path, output: Path, *codes: int) -> Result:
    options = {
        "link": ["-o", output, "--column", "mention"],
        "check": ["-o", output],
        "decide": ["--decisions", output, "--column", "mention"],
    }
    named = {"check": ("review", "check"), "decide": ("review", "import")}
    words = [
        *named.get(command, [command]),
        path,
        "--model",
        shared / "model",
        "--on-error",
        "skip",
    ]
    return forked([*words, *options[command]], *codes)


def _rows(rng: random.Random, command: str) -> list[list[str]]:
    """A header and rows: a number, an id, a mention, and what a user may have beside them."""
    header, more = ["number", *_COLUMNS[command], "note"], ["date", "concept_id_2", "name"]
    header += rng.sample([*more, "verdict", "state of it", ""], rng.randrange(3))
    if command != "decide" and rng.random() < 0.2:
        header += rng.sample(["name", "confidence", "rejected", "concept_id", "linker_name"], 2)
    header = list(dict.fromkeys(header))
    if rng.random() < 0.03:
        header += [f"column {n}" for n in range(rng.choice((300, 3_000, 16_370, 20_000)))]
    rows = [header]
    for number in range(rng.choice((1, 3, 10, 10, 40))):
        mention = rng.choice((*MENTIONS, "", hostile(rng, 4)))
        identifier = rng.choice((*IDS, *OLD_IDS, "", "X:1"))
        rest = [_cell(rng) for _ in header[3:13]]
        rows.append([str(number), identifier, mention, *rest][: rng.choice((99, 99, 99, 3))])
    return rows


def _cell(rng: random.Random) -> str:
    if rng.random() < 0.02:
        return rng.choice(("x", "é", '"', " ", "\n")) * rng.choice((32_767, 32_768, 200_000))
    plain = ("", "", "a", "a, b", "12", "1;2", "=1+1", "2024-01-02", "007", "'", '"')
    return rng.choice((*plain, hostile(rng, 5)))


# -------------------------------------------------------------------------------------------------------------- texts


class _Given(NamedTuple):
    rows: Rows | None  # ids and mentions beside each other, if that is known
    is_whole: bool = False  # a workbook that is not mutated


def _text(rng: random.Random, command: str, path: Path) -> _Given:
    """Write a csv or tsv, in some way of quoting; every second one is mutated."""
    sign = rng.choice(",;\t")
    rows = _rows(rng, command)
    text = io.StringIO()
    end = rng.choice(("\n", "\n", "\r\n"))
    how = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
    csv.writer(text, delimiter=sign, lineterminator=end, quoting=how).writerows(rows)
    data = text.getvalue().encode("utf-8-sig" if rng.random() < 0.1 else "utf-8")
    pairs: Rows | None = [row[1:3] for row in rows[1:]]
    if rng.random() < 0.6:
        data = mutated(rng, data)
        pairs = _rows_of(data, sign)
    elif rng.random() < 0.2:
        data = data.rstrip(b"\r\n")
    path.write_bytes(data)
    return _Given(pairs)


def _check_text(command: str, path: Path, output: Path, answers: Answers) -> None:
    """Check that each line is as it was, with answers behind it."""
    encoding = _encoding(path.read_bytes())
    before, after = (one.read_bytes().decode(encoding) for one in (path, output))
    # between cells: behind the last of the columns that linker added
    found = re.findall(r"[,;\t](?=(?:linker_)?(?:state|confidence)(?:_\d+)?(?:[\r\n]|\Z))", after)
    sign = found[0] if found else ","
    _check_kept(before, after, sign)
    _check_answers(command, after, sign, answers)


def _encoding(data: bytes) -> str:
    """An encoding in which a text can be compared, whichever it is in."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    with contextlib.suppress(UnicodeDecodeError):
        data.decode("utf-8")
        return "utf-8-sig"
    return "latin-1"


def _check_kept(before: str, after: str, sign: str) -> None:
    """Check that each line stands as it was, but for cells at the ends of rows."""
    added = re.compile(rf"(?:{sign}{_CELL.format(sign=sign)})*")
    at = 0
    for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+\Z", before), 1):
        body = line.rstrip("\r\n")
        if not after.startswith(body, at):
            what = f"line {number}, {body[:100]!r}, {after[at : at + 100]!r}"
            raise Failed(f"a cell of the user was changed: {what}")
        at += len(body)
        match = added.match(after, at)
        at = match.end() if match else at
        end = line[len(body) :]
        if not after.startswith(end, at):
            what = f"behind line {number}, {after[at : at + 100]!r}"
            raise Failed(f"a line was lost or moved: {what}")
        at += len(end)
    if after[at:]:
        raise Failed(f"a line came from nowhere: {after[at:][:200]!r}")


def _check_answers(command: str, text: str, sign: str, answers: Answers) -> None:
    """Check the answers of rows of one line, in which nothing is quoted."""
    lines = re.split(r"\r\n|\n", text)
    headers = ([cell.strip('"') for cell in line.split(sign)] for line in lines)
    header = next((cells for cells in headers if {*_COLUMNS[command]} <= {*cells}), [])
    for line in lines if header else ():
        cells = line.split(sign)
        if '"' not in line and len(cells) == len(header) and cells != header:
            _check_row(command, header, cells, answers, none_allowed=False)


def _check_row(
    command: str, header: list[str], cells: list[str], answers: Answers, *, none_allowed: bool
) -> None:
    """Check that a row has the answer to its mention."""
    first = cells[len(header) - _ADDED[command]]
    key = (command, *(cells[header.index(name)].strip() for name in _COLUMNS[command]))
    if key[1:] == ("", "") and first and not none_allowed:
        raise Failed(f"an answer stands in a row without a mention: {cells!s:.300}")
    if first != answers.get(key, first):
        what = f"{cells!s:.300}, expected {answers[key]}"
        raise Failed(f"an id stands in another row than its mention: {what}")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.rpartition("MESH:")[2].lower()))


def _check_decided(store: Path, rows: Rows | None) -> None:
    """Check that each decision is on an id that stands beside its mention; None: in no known row."""
    pairs = [{*map(_letters, row)} for row in rows or ()]
    for said in kept(store):
        ids = {_letters(identifier).lstrip("mesh") for identifier in said.ids if identifier}
        of_it = [
            {one.lstrip("mesh") for one in row} for row in pairs if _letters(said.mention) in row
        ]
        if rows is not None and not ids <= {one for row in of_it for one in row}:
            raise Failed(f"a decision joins a mention and an id of different rows: {said}")


def _rows_of(data: bytes, sign: str) -> Rows | None:
    """The lines of a mutated text; None where these are not its rows."""
    text = data.decode("utf-8", "replace")
    lines = [line.split(sign) for line in text.split("\n")]
    is_quoted = '"' in text or "\r" in text.replace("\r\n", "")
    return None if is_quoted or max(map(len, lines)) > 100 else lines


# ---------------------------------------------------------------------------------------------------------- workbooks

_EDITS = {  # of the XML of a sheet: what is looked for, and what stands there instead
    rb'<row r="(\d+)"': (
        rb"<row", rb'<row r="3"', rb'<row r="0\1"', rb'<row r="9\1"', rb'<row r=" \1 "',
        rb'<row r="1048576"', rb'<row R="\1"',
    ),
    rb'<c r="([A-Z]+)(\d+)"': (
        rb"<c", rb'<c r="\1"', rb'<c r="C\2"', rb'<c r="XFD\2"', rb'<c r="$\1$\2"',
        rb'<c r="\g<1>1"', rb'<c r="\g<1>9\2"',
    ),
    rb't="inlineStr"': (rb't="str"',),
    rb't="n"': (rb't="e"', rb't="b"', rb't="d"', rb's="99999"'),
    rb't="s"': (rb't="n"',),
    rb"<v>(\d+)</v>": (
        rb"<v>999999</v>", rb"<v>-1</v>", rb"<v/>", rb"<v>\1</v><v>0</v>", rb"<f>A1</f><v>\1</v>",
        rb"<v><![CDATA[\1]]></v>",
    ),
    rb"</row>": (
        rb"</row><!-- <row r='2'> -->", rb"</row><row/>", rb"<!-- </row> --></row>",
        rb"</row></sheetData><sheetData>",
    ),
    rb"<sheetData>": (
        rb"<sheetData><row r='1'><c r='A1'/></row>", rb"<sheetData xml:space='preserve'>\n",
    ),
    rb"<worksheet": (rb"<!DOCTYPE x><worksheet", rb"<worksheet xmlns:a='urn:a' a:b='c'"),
    rb"<(/?)(row|c|v|sheetData|is|t)\b": (rb"<\1x:\2",),
    rb'ref="A1[^"]*"': (rb'ref="A1"', rb'ref="A1:XFD1048576"'),
    rb"(?s)(<row.*?</row>)(<row.*?</row>)": (rb"\2\1",),
    rb"(?s)(<row.*?</row>)": (rb"\1\1",),
    rb"(?s)(<c .*?</c>)": (rb"\1\1",),
    rb"\A": (b"\xef\xbb\xbf", rb"<?xml version='1.0' encoding='ISO-8859-1'?>"),
}  # fmt: skip
_EVERY_EDIT = [(pattern, new) for pattern, others in _EDITS.items() for new in others]


def _workbook(rng: random.Random, command: str, path: Path) -> _Given:
    """Write a workbook with what workbooks have; three of four are mutated in their XML or as archives."""
    rows = [[_storable(cell) for cell in row[:40]] for row in _rows(rng, command)]
    _build(rng, path, rows)
    how = rng.random()
    if how < 0.65:
        _change_entries(rng, path)
    elif how < 0.75:
        path.write_bytes(mutated(rng, path.read_bytes()))
    is_whole = how >= 0.75
    return _Given([row[1:3] for row in rows[1:]] if is_whole else None, is_whole)


def _storable(text: str) -> str:
    """A text as openpyxl takes it."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "", text)[:32_767]


def _build(rng: random.Random, path: Path, rows: Rows) -> None:
    import openpyxl
    from openpyxl.comments import Comment
    from openpyxl.styles import Font

    book = openpyxl.Workbook()
    sheet = book.active
    if rng.random() < 0.3:
        sheet.append(["notes", "none of them"])
        sheet.append(["breast cancer"])
        sheet = book.create_sheet(rng.choice(("Data", "a'b", "<&>", "Ärzte", " x ")))
    for number, row in enumerate(rows, 1):
        for column, text in enumerate(row, 1):
            cell = sheet.cell(number, column)
            if number > 1 and column == 1:
                cell.value = int(text)
            elif number > 1 and column > 3 and rng.random() < 0.2:
                cell.value = rng.choice((1.5, True, 3, f"=A{number}+1", None, 12345678901))
            elif text:
                cell.value, cell.data_type = text, "s"
            if rng.random() < 0.1:
                cell.font = Font(size=rng.randint(5, 400))
    if len(rows) > 3 and rng.random() < 0.2:
        sheet.merge_cells(rng.choice(("D2:D3", "A2:B3", "B2:C3", "C2:C4", "D2:H3", "D1:E1")))
    if rng.random() < 0.1:
        sheet["D2"].comment = Comment("why", "Ada")
    if rng.random() < 0.1:
        sheet.row_dimensions[2].hidden, sheet.sheet_state = True, "visible"
    if rng.random() < 0.2:
        book.create_sheet("More").append(list(rows[0]))
    book.save(path)


def _change_entries(rng: random.Random, path: Path) -> None:
    """Write an archive anew with entries that are changed, doubled or lost."""
    with zipfile.ZipFile(path) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    for _ in range(rng.choice((1, 1, 2, 3))):
        sheets = [n for n, (name, _) in enumerate(entries) if "/sheet" in name]
        at = rng.choice(sheets or [0]) if rng.random() < 0.7 else rng.randrange(len(entries))
        name, data = entries[at]
        how = rng.random()
        if at in sheets and how < 0.6:
            pattern, new = rng.choice(_EVERY_EDIT)
            found = list(re.finditer(pattern, data))
            if found:
                one = rng.choice(found)
                data = data[: one.start()] + one.expand(new) + data[one.end() :]
                if rng.random() < 0.2:
                    data = re.sub(pattern, new, data)
        elif how < 0.7:
            data = re.sub(rb'<sheet ([^>]*)name="[^"]*"', rb'<sheet \1name="Same"', data)
        elif how < 0.75:
            entries.append((name, data))
        else:
            data = mutated(rng, data)
        entries[at] = name, data
    how_packed = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(path, "w", how_packed) as archive:
        for name, data in entries:
            with contextlib.suppress(UserWarning):
                archive.writestr(zipfile.ZipInfo(name), data)


def _check_sheet(
    command: str, before: Path, after: Path, answers: Answers, *, is_whole: bool
) -> None:
    """Check that openpyxl finds each value of the user, and each answer in the row of its mention."""
    import openpyxl

    (sheet,) = openpyxl.load_workbook(after).worksheets
    values = list(sheet.iter_rows(values_only=True))
    if is_whole:
        of_user = openpyxl.load_workbook(before, data_only=True)[sheet.title]
        for old, new in zip(of_user.iter_rows(values_only=True), values, strict=True):
            if old != new[: len(old)] and any(value is not None for value in old):
                raise Failed(f"a cell of the user was changed: {old!s:.200}, {new!s:.200}")
    added = "concept_id" if command == "link" else "verdict"
    rows = [["" if cell is None else str(cell) for cell in row] for row in values]
    header = rows[0] if rows else []
    first = len(header) - _ADDED[command]
    is_there = {*_COLUMNS[command]} <= {*header} and first >= 3
    if is_there and header[first].endswith((added, f"{added}_2")):
        for row in rows[1:]:
            _check_row(command, header, row, answers, none_allowed=True)
    elif is_whole:
        raise Failed("no answer was written into the workbook: ")
