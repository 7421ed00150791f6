"""Hostile decisions: files of them, tables and mappings that people changed, answers beside which they stand."""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import json
import random
import re
import shlex
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linker import Dictionary, Linker
from linker.decisions.store import DecisionStore
from linker.types import Decision

from . import seeds
from .commands import Result, check, forked
from .core import Attack, Failed
from .judgements import (
    BY_PEOPLE,
    Said,
    as_now,
    check_claims,
    check_mappings,
    claims,
    expect,
    kept,
    mappings,
    selected,
    skipped,
    spaced,
)
from .mutate import NUMBERS, changed, mutated
from .writers import text as hostile

IDS = ("MESH:D001943", "MESH:D009369", "MESH:D010051", "OMIM:208900")
OLD_IDS = ("MESH:D000001", "D001943", "mesh:D009369", "MESH:D006073")  # that stand for one of these
WRONG_IDS = ("X:1", "MESH:D99", "MESH:D001943,X:1", "208901", "MESH:", "|||")
MENTIONS = (
    *("breast cancer", "ovarian cancer", "Ataxia", "gout", "the thing", "sheep fever", "A-T"),
    *(
        "breast and ovarian cancer",
        "β-thalassaemia",
        "Tumor, malignant",
        'a "hot" tumor',
        "tumor|s",
    ),
)
DECIDED = (
    Decision("breast cancer", "MESH:D001943", reviewer="Ada"),
    Decision("ataxia", "OMIM:208900", reviewer="Bob|by; night"),
    Decision("the thing", "", reviewer="Ada"),
    Decision("breast and ovarian cancer", "MESH:D001943|MESH:D010051", reviewer="Ada"),
    Decision("gout", "MESH:D009369", False, reviewer="Ada"),
    Decision("ovarian cancer", "MESH:D009369", scope="101"),
    Decision("tumor|s", "MESH:D009369", reviewer="Zoë"),
    Decision('a "hot" tumor', "MESH:D009369"),
    Decision("sheep fever", "MESH:D009369", reviewer="Ada"),
    Decision("sheep fever", "OMIM:208900", reviewer="Bob"),
)
DOCUMENT = seeds.PUBTATOR + (
    b"104|t|Ataxia telangiectasia (A-T) and breast cancer.\n104|a|A-T is no gout.\n"
    b"104\t0\t21\tAtaxia telangiectasia\tDisease\t\n104\t23\t26\tA-T\tDisease\t\n"
    b"104\t32\t45\tbreast cancer\tDisease\t\n104\t47\t50\tA-T\tDisease\t\n104\t57\t61\tgout\tDisease\t\n\n"
)
OTHERS = """#curie_map:
#  MESH: http://id.nlm.nih.gov/mesh/
#mapping_set_id: https://example.org/m
subject_id\tsubject_label\tpredicate_modifier\tpredicate_id\tobject_id\tobject_label\tmapping_justification\tauthor_id\treviewer_label\tmapping_date\tconfidence\tcomment
\tbreast cancer\t\tskos:exactMatch\tMESH:D001943\tBreast Neoplasms\tsemapv:ManualMappingCuration\torcid:1\tAda\t2024-01-02\t1\t
\tthe thing\t\tskos:exactMatch\tsssom:NoTermFound\t\tsemapv:ManualMappingCuration\t\tAda|Bob\t2024-01-02\t\tin doubt
\tgout\tNot\tskos:exactMatch\tMESH:D009369\tNeoplasms\tsemapv:MappingReview\t\tAda\t2024\t\tdocument 7
\ttumor\t\tskos:exactMatch\tMESH:D009369\tNeoplasms\tsemapv:LexicalMatching\t\t\t\t0.9\t
ORDO:1\tataxia\t\tskos:exactMatch\tOMIM:208900\t\tsemapv:ManualMappingCuration\t\t\t\t\t
\tbreast or ovarian\t\tskos:relatedMatch\tMESH:D001943\t\tsemapv:ManualMappingCuration\t\tAda\t\t\t
\tbreast or ovarian\t\tskos:relatedMatch\tMESH:D010051\t\tsemapv:ManualMappingCuration\t\tAda\t\t\t
"""
_LATE = (
    *("linker.cli.decide", "linker.cli.decisions", "linker.cli.link", "linker.cli.sheets"),
    *("linker.decisions.exchange", "linker.decisions.applying", "linker.jobs.linking"),
    *("linker.outputs.sssom", "linker.outputs.bioc", "linker.outputs.pubtator", "openpyxl", "tqdm"),
    *("linker.readers.bioc", "linker.readers.pubtator", "linker.jobs.tables", "scipy.sparse"),
)


@dataclass(frozen=True, slots=True)
class Shared:
    """What all cases start from."""

    folder: Path  # with the model, and with the files
    files: dict[str, bytes]  # by names
    dictionary: Dictionary
    decided: tuple[Said, ...]  # that the files of answers hold, at most

    @property
    def model(self) -> list[str]:
        """The option that names the model."""
        return ["--model", str(self.folder / "model")]


@contextlib.contextmanager
def prepared(shared: Path) -> Iterator[Attack]:
    """One kind of file with decisions after the other, through the commands that read or write it."""
    materials = prepare(shared)

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        _WAYS[case % len(_WAYS)](rng, folder, materials)

    yield attack


def prepare(folder: Path) -> Shared:
    """Fill a folder with a model, decisions, and answers to which these were applied."""
    folder.mkdir(parents=True)
    for module in _LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    (folder / "dict.tsv").write_bytes(seeds.TABLE)
    dictionary = Dictionary.read(folder / "dict.tsv")
    Linker.train(dictionary).save(folder / "model")
    store = folder / "store.sqlite"
    with DecisionStore(store) as decisions:
        decisions.add(DECIDED)
    (folder / "document.txt").write_bytes(DOCUMENT)
    rows = [["number", "mention", "concept_id", "note"]]
    rows += [[str(n), mention, f"old {n}", "a, b"] for n, mention in enumerate(MENTIONS)]
    for name, sign in (("answers.csv", ","), ("answers.tsv", "\t")):
        with open(folder / f"given.{name}", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=sign).writerows(rows)
        _made(folder, f"link {folder}/given.{name} --column mention", name)
    (folder / "mentions.txt").write_text("\n".join(MENTIONS) + "\n", encoding="utf-8")
    for form in ("tsv", "jsonl", "sssom"):
        _made(folder, f"link {folder}/mentions.txt -k 2 --format {form}", f"loose.{form}")
    for form in ("tsv", "pubtator", "bioc", "jsonl", "sssom"):
        _made(folder, f"link {folder}/document.txt --format {form}", f"document.{form}")
    for form in ("tsv", "sssom"):
        command = f"decisions export --decisions {store} --format {form} -o {folder}/export.{form}"
        check(forked(command.split()), 0)
    (folder / "others.sssom").write_text(OTHERS, encoding="utf-8")
    names = [path.name for path in sorted(folder.iterdir()) if path.is_file()]
    files = {name: (folder / name).read_bytes() for name in names if "given" not in name}
    return Shared(folder, files, dictionary, tuple(kept(store)))


def _made(folder: Path, command: str, output: str) -> None:
    options = f" --model {folder}/model --decisions {folder}/store.sqlite -o {folder}/{output}"
    check(forked((command + options).split()), 0)


def _ran(arguments: Sequence[object], *codes: int) -> Result:
    """Run a command; a failure tells its arguments."""
    words = list(map(str, arguments))
    try:
        return check(forked(words), *codes)
    except Failed as failure:
        raise Failed(f"{str(failure)[:300]} ({shlex.join(words)[:300]!r})") from None


def _decide(path: Path, shared: Shared, *more: object) -> tuple[Result, Path]:
    """Take the decisions of a file into a new store, which is returned."""
    store = path.with_name("new.sqlite")
    words = ["decide", path, "--decisions", store, "--on-error", "skip", *shared.model, *more]
    return _ran(words), store


def _check_counted(result: Result, rows: int) -> None:
    """Check that each row was taken, was there, or was skipped."""
    taken = sum(
        int(number.replace(",", ""))
        for number in re.findall(
            r"([\d,]+) decisions were (?:taken|added)|, ([\d,]+) were there", result.err
        )
        for number in number
        if number
    )
    left, _ = skipped(result.err)
    if result.code == 0 and taken + left != rows:
        raise Failed(f"rows were lost: {rows} rows, {taken} taken or there, {left} skipped")


def _check_not_stopped(result: Result) -> None:
    if result.code:
        raise Failed(f"a bad row stopped the reading with skip: {result.err[-300:]}")


# ------------------------------------------------------------------------------------------------- tables of decisions

_TAKEN = {"": True, "true": True, "TRUE": True, "yes": True, "1": True, "accepted": True}
_TAKEN |= {"false": False, "No": False, "0": False, "rejected": False}
_NEITHER = ("maybe", "truee", "2", "-1", "wahr", "1.0", "tru e", "false,", "null")


def _table(rng: random.Random, folder: Path, shared: Shared) -> None:
    """A table of decisions with good and bad rows: each good one is kept, each bad one is reported."""
    names = ["mention", rng.choice(("concept_id", "id", "gold"))]
    names += rng.sample(["accepted", "reviewer", "time", "note", "model"], rng.randrange(5))
    names += rng.sample(["scope", "document_id"], rng.choice((0, 0, 1)))
    rng.shuffle(names)
    imported = rng.random() < 0.3
    rows, required, allowed = [], list[Said](), list[Said]()
    for _ in range(rng.randint(1, 8)):
        row, said, is_good = _decision_row(rng, names, checked=not imported)
        rows.append(row)
        allowed += [said] if said else []
        required += [said] if said and is_good else []
    path = folder / rng.choice(("a.tsv", "a.csv", "a.xlsx"))
    _write_table(rng, path, [names, *rows])
    if imported:
        store = folder / "new.sqlite"
        result = _ran(["decisions", "import", path, "--decisions", store, "--on-error", "skip"])
    else:
        result, store = _decide(path, shared)
    _check_not_stopped(result)
    _check_counted(result, sum(any(map(spaced, row)) for row in rows))
    expect(kept(store), required, allowed, shared.dictionary)


def _decision_row(
    rng: random.Random, names: Sequence[str], *, checked: bool
) -> tuple[list[str], Said | None, bool]:
    """A row, what it says, and whether it is to be taken."""
    mention = rng.choice((*MENTIONS, hostile(rng, 5), "", " ", "x" * 999, "x" * 1001))
    concept = rng.choice(
        (*IDS, *OLD_IDS, "-1", "", "none", "MESH:D001943|D010051", "D001943+D010051")
    )
    bad_id = rng.random() < 0.15
    if bad_id:
        concept = rng.choice(WRONG_IDS)
    accepted = rng.choice((*_TAKEN, *_NEITHER)) if "accepted" in names else ""
    mention = spaced(mention)  # blanks inside cells are attacked by `spreadsheets`
    cells = {
        "mention": mention,
        "accepted": accepted,
        "reviewer": rng.choice(("", "Ada", hostile(rng, 3))),
    }
    cells |= {"time": rng.choice(("", "2024-01-02", "soon")), "note": hostile(rng, 3), "model": "m"}
    cells |= dict.fromkeys(("concept_id", "id", "gold"), concept)
    cells |= {name: rng.choice(("", "101")) for name in ("scope", "document_id")}
    said = None
    if accepted in _TAKEN and mention:
        said = Said.of(mention, concept, _TAKEN[accepted])
    single = said is not None and len(said.ids) == 1 and any(said.ids)
    good = said is not None and len(mention) <= 1000 and not (bad_id and checked)
    good = good and concept != "|||"  # says nothing
    good = good and concept != "" and (single or (said is not None and said.accepted))
    return [spaced(cells[name]) for name in names], said, good


def _write_table(rng: random.Random, path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write rows as the suffix of the file says."""
    if path.suffix == ".xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for number, row in enumerate(rows, 1):
            for column, text in enumerate(row, 1):
                if text:
                    cell = book.active.cell(number, column)
                    cell.value, cell.data_type = text, "s"  # also of what begins as a formula
        book.save(path)
        return
    sign = "\t" if path.suffix == ".tsv" else rng.choice(",;")
    how = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    with open(path, "w", encoding=rng.choice(("utf-8", "utf-8-sig")), newline="") as file:
        csv.writer(file, delimiter=sign, quoting=how).writerows(rows)


# -------------------------------------------------------------------------------------- answers that a person reviewed

_BROKEN_JSON = (
    *("[", "{}", "[{}]", "[1]", "[null]", "nul", "[[]]", '[{"mention": "x"}]', "[" * 3000, "1e999"),
    *(
        '"x"',
        "[{'mention': 'x'}]",
        "NaN",
        "[NaN]",
        "9" * 5000,
        "true",
        "0",
        "false",
        '{"a": 1}',
        "[,]",
    ),
)


def _reviewed(rng: random.Random, folder: Path, shared: Shared) -> None:
    """A person changed states, ids and decisions in a table of answers."""
    name, sign = rng.choice((("answers.csv", ","), ("answers.tsv", "\t")))
    rows = list(csv.reader(io.StringIO(shared.files[name].decode(), newline=""), delimiter=sign))
    header, rows = rows[0], rows[1:]
    required, allowed, bad = list[Said](), list[Said](), 0
    for row in rows:
        cells = dict(zip(header, row, strict=True))
        had = cells["decisions"]
        more, said, is_bad = _change(rng, cells) if rng.random() < 0.5 else ({}, None, False)
        cells |= more
        with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
            allowed += list(map(_of_json, json.loads(cells["decisions"] or "[]")))
        allowed += [said] if said else []
        if cells["state"] == "accepted":  # also where the decisions beside it are gone
            allowed.append(Said.of(cells["mention"], cells["linker_concept_id"]))
        if cells["state"] == "no concept":
            allowed.append(Said.of(cells["mention"], ""))
        if said and not is_bad and (said.accepted or not had):
            required.append(said)  # beside decisions, nobody can tell who wrote "rejected"
        bad += is_bad
        row[:] = [cells[one] for one in header]
    _write_table(rng, folder / name, [header, *rows])
    result, store = _decide(folder / name, shared, "--reviewer", "Eve", "--column", "mention")
    _check_not_stopped(result)
    if skipped(result.err)[0] < bad:
        raise Failed(f"a bad row was not reported: {bad} bad, {result.err[-300:]}")
    expect(kept(store), required, allowed, shared.dictionary)


def _of_json(record: Any) -> Said:
    return Said.of(record["mention"], record["concept_id"] or "", record["accepted"] is True)


def _change(rng: random.Random, cells: dict[str, str]) -> tuple[dict[str, str], Said | None, bool]:
    """What a person writes into a row, what it then says, and whether that is wrong."""
    mention, concept = cells["mention"], "linker_concept_id"
    identifier = rng.choice((*IDS, *OLD_IDS))
    how = rng.randrange(9)
    if how == 0:
        state = rng.choice(("accepted", "Accepted", " ACCEPTED "))
        return {"state": state, concept: identifier}, Said.of(mention, identifier), False
    if how == 1:
        return {"state": "no concept"}, Said.of(mention, ""), False
    if how == 2:
        said = Said.of(mention, identifier, False)
        return {"state": "rejected", concept: identifier}, said, False
    if how == 3:
        state = rng.choice(("acepted", "yes", "TRUE", "✓", "rejected?", "none", "0", "accepted,"))
        return {"state": state}, None, True
    if how == 4:
        unknown = rng.choice(WRONG_IDS)
        said = Said.of(mention, unknown)
        return {"state": "accepted", concept: unknown}, said, True
    if how == 5:
        return {"state": "accepted", concept: ""}, None, True
    if how == 6:
        return {"decisions": rng.choice(_BROKEN_JSON)}, None, True
    if how == 7 and cells["decisions"]:
        value = json.dumps(changed(rng, json.loads(cells["decisions"])), ensure_ascii=False)
        return {"decisions": spaced(value.encode("utf-8", "replace").decode())}, None, False
    return {"state": rng.choice(("", "model", "open", "disputed"))}, None, False


# -------------------------------------------------------------------------------------------------------- mappings

_MODIFIERS = ("", "Not", "Not", "not", "NOT", "Not ", "maybe")
_PREDICATES = (
    "skos:exactMatch",
    "skos:relatedMatch",
    "skos:broadMatch",
    "owl:sameAs",
    "",
    "exactMatch",
)
_OBJECTS = (
    *IDS,
    *WRONG_IDS,
    "",
    "sssom:NoTermFound",
    "sssom:notermfound",
    "local:x",
    "-1",
    "MESH:D%30",
    "MESH:D001943|MESH:D010051",
)
_JUSTIFICATIONS = (
    *BY_PEOPLE,
    *BY_PEOPLE,
    "semapv:LexicalMatching",
    "",
    "manual",
    "semapv:manualmappingcuration",
)


def _mapped(rng: random.Random, folder: Path, shared: Shared) -> None:
    """Mappings of ours and others' with other cells: only what is curated is taken, all else is reported."""
    name = rng.choice(("loose.sssom", "document.sssom", "export.sssom", "others.sssom"))
    head, rows = [], list[list[str]]()
    for line in shared.files[name].decode().split("\n")[:-1]:
        if line.startswith("#"):
            head.append(line)
        else:
            rows += csv.reader([line], "excel-tab")
    header, rows = rows[0], rows[1:]
    choices = {"predicate_modifier": _MODIFIERS, "predicate_id": _PREDICATES, "object_id": _OBJECTS}
    choices |= {"mapping_justification": _JUSTIFICATIONS, "subject_id": ("X:1", "")}
    choices |= {
        "subject_label": ("", " ", *MENTIONS),
        "comment": ("document ;", "; document 1, characters 2", "x"),
    }
    there = sorted(set(choices) & set(header))
    for _ in range(rng.randint(1, 6)):
        row = rng.choice(rows)
        column = rng.choice(there)
        if header.index(column) < len(row):
            row[header.index(column)] = rng.choice(choices[column])
        how = rng.random()
        if how < 0.1:
            rows.append(list(row))
        elif how < 0.2:
            rng.shuffle(rows)
        elif how < 0.25:
            del row[rng.randrange(1, len(row)) :]
            row += [""] * (len(header) - len(row)) * rng.randrange(2)
    if rng.random() < 0.1:
        column = rng.choice(header)
        at = header.index(column)
        for row in [header, *rows]:
            del row[at : at + 1]
    text = io.StringIO()
    csv.writer(text, "excel-tab", lineterminator="\n").writerows([header, *rows])
    path = folder / "a.sssom.tsv"
    path.write_text("".join(f"{line}\n" for line in head) + text.getvalue(), encoding="utf-8")
    result, store = _decide(path, shared)
    if result.code == 0:
        _check_mapped(path.read_text(encoding="utf-8"), kept(store), skipped(result.err)[1])


def _check_mapped(text: str, stored: Sequence[Said], reported: set[int]) -> None:
    curated = [
        (number, row)
        for number, row in mappings(text)
        if row.get("mapping_justification") in BY_PEOPLE
    ]
    says = [(n, spaced(row.get("subject_label", "")), row) for n, row in curated]
    for said in stored:
        of_mention = [row for _, label, row in says if label == said.mention]
        plain = [row for row in of_mention if not row.get("predicate_modifier", "")]
        rows = plain if said.accepted else [row for row in of_mention if row not in plain]
        ids = {i for row in rows for i in Said.of("", _object(row)).ids}
        if not set(said.ids) <= ids:
            kind = "an accepted decision" if said.accepted else "a rejection"
            raise Failed(f"{kind} that no mapping says: {said}")
    lines = {label: {n for n, other, _ in says if other == label} for _, label, _ in says}
    for number, label, row in says:
        accepted = not row.get("predicate_modifier", "")
        ids = Said.of("", _object(row)).ids
        is_there = any(
            s.mention == label and s.accepted == accepted and {*ids} <= {*s.ids} for s in stored
        )
        if not is_there and number not in reported and not (lines[label] & reported):
            raise Failed(f"a mapping was neither taken nor reported: line {number}, {row}")


def _object(row: dict[str, str]) -> str:
    return (
        row.get("object_id", "")
        .replace("sssom:NoTermFound", "")
        .removeprefix("local:")
        .replace("%30", "0")
    )


# ------------------------------------------------------------------------------- answers with damaged decisions

_DAMAGE: tuple[Callable[[random.Random, str], str], ...] = (
    lambda rng, text: text[:-1],
    lambda rng, text: text[1:],
    lambda rng, text: text[: rng.randrange(2, len(text))],
    lambda rng, text: text.replace('"accepted": true', f'"accepted": {rng.choice(NUMBERS)}'),
    lambda rng, text: text.replace(
        '"accepted"', rng.choice(('"Accepted"', '"accepted "', "accepted"))
    ),
    lambda rng, text: text.replace('"', rng.choice(("'", "“", '""', ""))),
    lambda rng, text: text.replace(", ", rng.choice((",,", ";", " ")), 1),
    lambda rng, text: text + rng.choice((" ", "]", ",", "x", "[]", " ok")),
    lambda rng, text: text.replace("[{", rng.choice(("{", "[ {", "[[{", "[{}, {"))),
    lambda rng, text: json.dumps(changed(rng, json.loads(text))),
    lambda rng, text: rng.choice(_BROKEN_JSON),
)


def _answers(rng: random.Random, folder: Path, shared: Shared) -> None:
    """Answers of which one has damaged decisions: they are taken as they stand, or reported."""
    name = rng.choice(("document.pubtator", "document.bioc", "document.jsonl", "loose.jsonl"))
    text = shared.files[name].decode()
    found = list(re.finditer(r"\[\{(?:&quot;|\")mention.*?\}\](?=\n|\t|<|\})", text))
    match = rng.choice(found)
    escaped = name.endswith("bioc")
    record = match[0]
    damaged = rng.choice(_DAMAGE)(rng, record).encode("utf-8", "replace").decode()
    if escaped:
        damaged = damaged.replace("&", "&amp;").replace("<", "&lt;")
    is_unlike = name.endswith("pubtator") and not re.match(r"[\[{]|.*mention", damaged)
    if damaged == record or not damaged.strip() or is_unlike:
        return  # a word alone may be the text of a part
    (folder / "a.txt").write_text(
        text[: match.start()] + damaged + text[match.end() :], encoding="utf-8"
    )
    result, store = _decide(folder / "a.txt", shared)
    if result.code:
        return
    stored = kept(store)
    others = [m[0] for m in found if m is not match]
    required = [_of_json(one) for other in others for one in json.loads(other)]
    now, readable = list[Said](), False
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        now = list(map(_of_json, json.loads(damaged)))
        readable = True
    there = {as_now(said, shared.dictionary) for said in stored}
    is_whole = readable and {as_now(said, shared.dictionary) for said in now} <= there
    if not is_whole and not skipped(result.err)[0]:
        raise Failed(f"damaged decisions were neither taken nor reported ({name}): {damaged[:200]}")
    needed = required if not skipped(result.err)[0] else ()
    expect(stored, needed, [*required, *now], shared.dictionary)


# ------------------------------------------------------------------------------------------------- bytes of any file


def _bytes(rng: random.Random, folder: Path, shared: Shared) -> None:
    """Any file with decisions, mutated: what is taken stands in it, mention beside concept."""
    names = [
        n
        for n in shared.files
        if n.partition(".")[0] in ("answers", "loose", "document", "export", "others")
    ]
    name = rng.choice([one for one in names if one != "document.txt"])
    data = mutated(rng, shared.files[name])
    path = folder / "a.txt"
    path.write_bytes(data)
    more = ["--column", "mention"] if name.startswith("answers") and rng.random() < 0.8 else []
    on_error = rng.choice(("skip", "stop"))
    store = folder / "new.sqlite"
    if rng.random() < 0.8:
        words = ["decide", path, "--decisions", store, "--on-error", on_error, *shared.model, *more]
    else:
        words = ["decisions", "import", path, "--decisions", store, "--on-error", on_error]
    result = _ran(words)
    if result.code == 0:
        text = re.sub(
            r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), data.decode("utf-8", "replace")
        )
        lines = [_letters(line) for line in text.splitlines() if line.strip()]
        windows = ["".join(lines[n : n + 4]) for n in range(len(lines))]
        for said in kept(store):
            mention, ids = (
                _letters(said.mention),
                [_letters(i.rpartition(":")[2]) for i in said.ids],
            )
            if said.accepted and not any(
                mention in one and all(i in one for i in ids) for one in windows
            ):
                raise Failed(f"an accepted decision that the file does not say ({name}): {said}")


def _letters(text: str) -> str:
    return "".join(sign for sign in text.lower() if sign.isalnum() and sign.isascii())


# --------------------------------------------------------------------------------------------------------- the store

_HOSTILE_SQL = (
    "CREATE TRIGGER t AFTER INSERT ON decisions BEGIN UPDATE decisions SET concept_id = 'OMIM:208900' WHERE id = new.id; END",
    "CREATE TRIGGER t AFTER INSERT ON decisions BEGIN DELETE FROM decisions WHERE id < new.id; END",
    "CREATE TRIGGER t BEFORE INSERT ON decisions BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER t AFTER INSERT ON withdrawals BEGIN DELETE FROM withdrawals; END",
    "UPDATE decisions SET accepted = {value} WHERE id = {id}",
    "UPDATE decisions SET mention = {value} WHERE id = {id}",
    "UPDATE decisions SET concept_id = {value} WHERE id = {id}",
    "UPDATE decisions SET scope = {value}, reviewer = {value}, time = {value} WHERE id = {id}",
    "UPDATE decisions SET id = {value} WHERE id = {id}",
    "INSERT INTO withdrawals (decision, reviewer, time) VALUES ({value}, 'x', {value})",
    "ALTER TABLE decisions RENAME COLUMN scope TO place",
    "ALTER TABLE decisions ADD COLUMN extra TEXT",
    "ALTER TABLE decisions DROP COLUMN model",
    "ALTER TABLE decisions RENAME TO old; CREATE VIEW decisions AS SELECT id, mention, 'OMIM:208900' AS concept_id, 1 AS accepted, scope, reviewer, time, model, release FROM old",
    "DROP TABLE withdrawals",
    "DROP TABLE decisions",
    "ALTER TABLE withdrawals RENAME TO old; CREATE TABLE withdrawals (id, decision, reviewer, time); INSERT INTO withdrawals VALUES (1, 1, '', NULL), (2, 1, '', 'x')",
    "ALTER TABLE decisions RENAME TO old; CREATE TABLE decisions (id, mention, concept_id, accepted, scope, reviewer, time, model, release); INSERT INTO decisions SELECT * FROM old; UPDATE decisions SET {column} = {value} WHERE id = {id}",
    "ALTER TABLE decisions RENAME TO old; CREATE TABLE decisions (id, mention, concept_id, accepted, scope, reviewer, time, model, release); INSERT INTO decisions SELECT * FROM old; INSERT INTO decisions SELECT * FROM old",
    "PRAGMA user_version = {number}",
    "PRAGMA application_id = {number}",
    "UPDATE sqlite_sequence SET seq = 9223372036854775807",
    "PRAGMA encoding = 'UTF-16'; VACUUM",
    "PRAGMA auto_vacuum = 2; VACUUM",
    "PRAGMA journal_mode = DELETE",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO decisions SELECT i + 100, 'breast cancer', 'X:' || i, 0, '', 'Ada', 't', '', '' FROM n",
)
_VALUES = (
    *(
        "'false'",
        "'true'",
        "2",
        "-1",
        "0.5",
        "x'ff00'",
        "x'00'",
        "''",
        "'1'",
        "9223372036854775807",
    ),
    *(
        "'a' || char(0) || 'b'",
        "CAST(x'c328' AS TEXT)",
        "CAST(x'eda080' AS TEXT)",
        "1e400",
        "0",
        "NULL",
    ),
    *(
        "'[]'",
        "char(10) || 'x'",
        "replace(hex(zeroblob(100000)), '0', 'x')",
        "-9223372036854775808",
    ),
)
_COLUMNS = (
    "mention",
    "concept_id",
    "accepted",
    "scope",
    "reviewer",
    "time",
    "model",
    "release",
    "id",
)


def _store(rng: random.Random, folder: Path, shared: Shared) -> None:
    """A file of decisions with other bytes, types, triggers, views and tables."""
    path = folder / "store.sqlite"
    data = shared.files["store.sqlite"]
    if rng.random() < 0.4:
        path.write_bytes(_damaged(rng, data))
    else:
        path.write_bytes(data)
        _change_tables(rng, path)
    before = _rows(path)
    command = rng.choice(
        (
            "list",
            "list",
            "export",
            "sssom",
            "mentions",
            "check",
            "withdraw",
            "link",
            "link",
            "decide",
            "import",
        )
    )
    options = ["--decisions", path]
    if command in ("decide", "import"):
        _add_to(path, command, shared, before)
    elif command == "withdraw":
        result = _ran(["decisions", "withdraw", *options, "--id", 1])
        gone = selected(path, "SELECT 1 FROM withdrawals WHERE decision = 1")
        if result.code == 0 and not gone:
            raise Failed("a decision is in force that was said to be withdrawn: 1")
    elif command == "link":
        form = rng.choice(("jsonl", "pubtator", "bioc"))
        source = shared.folder / "document.txt"
        result = _ran(["link", source, *shared.model, *options, "--format", form])
        if result.code == 0:
            check_claims(claims(form, result.out.decode()), _good(before), shared.dictionary)
    elif command == "check":
        _ran(["decisions", "check", *options, "--dict", shared.folder / "dict.tsv"])
    elif command == "list":
        is_past = rng.random() < 0.5
        result = _ran(["decisions", "list", *options, *["--history"] * is_past])
        if result.code == 0:
            _check_listed(result.out.decode(), before, is_past)
    else:
        form = command.replace("export", "tsv")
        result = _ran(["decisions", "export", *options, "--format", form])
        if result.code == 0 and form == "tsv":
            _check_listed(result.out.decode(), before, False)
        elif result.code == 0 and form == "sssom":
            check_mappings(result.out.decode(), _good(before), shared.dictionary)


def _damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes of a database that differ: anywhere, in its head, in its schema, or in a page of rows."""
    how = rng.randrange(4)
    if how == 0:
        return mutated(rng, data)
    changed = bytearray(data)
    ranges = ((0, 100), (100, 4096), (4096, len(data)))
    start, end = ranges[how - 1]
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(start, end)
        if changed[at] or rng.random() < 0.2:  # most of a page is empty
            changed[at] = rng.randrange(256)
    return bytes(changed)


def _change_tables(rng: random.Random, path: Path) -> None:
    """Change a database in one or two of the ways in which others would."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for _ in range(rng.choice((1, 1, 2))):
            script = rng.choice(_HOSTILE_SQL).format(
                value=rng.choice(_VALUES),
                id=rng.randint(1, len(DECIDED)),
                column=rng.choice(_COLUMNS),
                number=rng.choice((0, 2, 1, 99, -1, 2**31 - 1)),
            )
            with contextlib.suppress(sqlite3.Error):
                connection.executescript(script)
                connection.commit()


def _rows(path: Path) -> list[tuple[Any, ...]]:
    """The rows of decisions that SQLite reads, whatever their types."""
    return selected(
        path,
        "SELECT id, mention, concept_id, accepted, typeof(mention), typeof(concept_id), typeof(accepted) FROM decisions",
    )


def _good(rows: Iterable[tuple[Any, ...]]) -> list[Said]:
    """What the rows say that are of the right types."""
    return [
        Said.of(mention, concept, bool(accepted))
        for _, mention, concept, accepted, *types in rows
        if types == ["text", "text", "integer"] and accepted in (0, 1)
    ]


def _check_listed(text: str, rows: Sequence[tuple[Any, ...]], is_past: bool) -> None:
    listed = list(csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab"))
    concept = "concept" if is_past else "concept_id"
    said = [Said.of(row["mention"], row[concept], row["accepted"] == "true") for row in listed]
    expect(said, (), _good(rows))
    if is_past and len(listed) != len(rows):
        raise Failed(f"decisions were lost: {len(rows)} in the file, {len(listed)} listed")


def _add_to(path: Path, command: str, shared: Shared, before: Sequence[tuple[Any, ...]]) -> None:
    """Add a decision to a hostile file: it stands there as it was given, and so do those before it."""
    given = path.with_name("given.tsv")
    given.write_text(
        "mention\tconcept_id\treviewer\nnew mention\tMESH:D010051\tEve\n", encoding="utf-8"
    )
    model = shared.model if command == "decide" else []
    words = ["decide"] if command == "decide" else ["decisions", "import"]
    result = _ran([*words, given, "--decisions", path, *model])
    if result.code == 0:
        after = _rows(path)
        if Said.of("new mention", "MESH:D010051") not in _good(after):
            raise Failed(
                f"a decision was lost: it was said to be taken, and is not there, {after[-1:]}"
            )
        if lost := [row for row in before if row not in after]:
            raise Failed(f"decisions were lost: {lost}")


# ---------------------------------------------------------------------------------------- decisions there and back

_REVIEWERS = ("", "Ada", "Bob", "Ada|Bob", "a\\b; c")
_SCOPES = ("", "", "101", "104", "a; document b", "1, characters 2-3")


def _drawn(rng: random.Random, count: int) -> list[Decision]:
    """Decisions that a store takes."""
    found = []
    while len(found) < count:
        mention = rng.choice((*MENTIONS, hostile(rng, 5)))
        accepted = rng.random() < 0.7
        ids = (*IDS, "MESH:D000001") + (
            "",
            "MESH:D001943|MESH:D010051",
            "MESH:D001943|-1",
        ) * accepted
        decision = Decision(
            mention,
            rng.choice(ids),
            accepted,
            rng.choice(_SCOPES),
            rng.choice((*_REVIEWERS, hostile(rng, 3))),
        )
        if "\0" not in mention + decision.reviewer and spaced(mention):
            found.append(replace(decision, time=rng.choice(("", "2024-01-02T03:04:05+00:00"))))
    return found


def _there_and_back(rng: random.Random, folder: Path, shared: Shared) -> None:
    """What is exported from a store is in force in the store that takes it."""
    path, form = folder / "store.sqlite", rng.choice(("tsv", "tsv", "sssom"))
    with DecisionStore(path) as store:
        store.add(_drawn(rng, rng.randint(1, 6)))
        before = store.list()
    result = _ran(["decisions", "export", "--decisions", path, "--format", form], 0)
    output = folder / "export.tsv"
    output.write_bytes(result.out)
    if form == "sssom":
        check_mappings(result.out.decode(), kept(path), shared.dictionary)
    if form == "tsv" and rng.random() < 0.5:
        new = folder / "new.sqlite"
        taken = _ran(["decisions", "import", output, "--decisions", new])
    else:
        taken, new = _decide(output, shared)
    if taken.code:
        raise Failed(f"an export is refused ({form}): {taken.err[-300:]}")
    with DecisionStore(new) as store:
        after = store.list()
    _check_same(form, before, after)


def _check_same(form: str, before: Sequence[Decision], after: Sequence[Decision]) -> None:
    def shown(decision: Decision) -> tuple[object, ...]:
        said = Said.of(decision.mention, decision.concept_id, decision.accepted)
        return said, spaced(decision.scope), spaced(decision.reviewer)

    # cells of tables hold no tabs and line ends, by which two forms may become one
    found, expected = set(map(shown, after)), set(map(shown, before))
    if found != expected:
        raise Failed(
            f"not what was exported ({form}): lost {expected - found}, strange {found - expected}"[
                :600
            ]
        )


def _applied(rng: random.Random, folder: Path, shared: Shared) -> None:
    """What answers claim a person to have said is in the store, and is taken back from each format."""
    path = folder / "store.sqlite"
    with DecisionStore(path) as store:
        added = store.add(_drawn(rng, rng.randint(1, 8)))
        store.withdraw([one.id or 0 for one in added if rng.random() < 0.1])
        standing = [Said.of(d.mention, d.concept_id, d.accepted) for d in store.list()]
    form = rng.choice(("csv", "tsv", "tsv", "jsonl", "pubtator", "bioc", "sssom"))
    source = shared.folder / (
        "document.txt" if form in ("pubtator", "bioc") or rng.random() < 0.5 else "mentions.txt"
    )
    output = folder / f"a.{form}"
    options = ["--format", form]
    if form == "csv":
        source, options = shared.folder / "given.answers.csv", ["--column", "mention"]
    result = _ran(["link", source, *shared.model, "--decisions", path, "-o", output, *options])
    if result.code:
        if "is of another dictionary" not in result.err:
            raise Failed(f"refused: {result.err[-300:]}")
        return
    text = output.read_bytes().decode()
    if form == "sssom":
        check_mappings(text, standing, shared.dictionary)
    else:
        check_claims(claims(form, text), standing, shared.dictionary)
    more = ["--column", "mention"] if form == "csv" else []
    taken, new = _decide(output, shared, *more)
    applied = [] if form == "sssom" else [
        Said.of(one["mention"], one["concept_id"] or "", one["accepted"])
        for claim in claims(form, text)
        for one in claim.decisions
    ]  # fmt: skip
    expect(kept(new), applied, standing, shared.dictionary)
    if taken.code or skipped(taken.err)[0]:
        raise Failed(f"answers of ours are refused ({form}): {taken.err[-300:]}")


_WAYS = (
    *(_store, _table, _store, _reviewed, _mapped, _store, _answers, _bytes, _bytes),
    *(_there_and_back, _applied, _reviewed, _mapped, _there_and_back, _applied),
)
