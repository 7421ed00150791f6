"""Hostile decisions: stores, files of decisions, tables and mappings that people changed, answers."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linker import Dictionary
from linker.decisions.store import DecisionStore
from linker.training.pipeline import train
from linker.types import Decision

from . import inputs
from .commands import Result, forked, preload
from .core import Attack, Failed
from .inputs import changed, mutated
from .judgements import (
    BY_PEOPLE,
    Said,
    check_claims,
    check_mappings,
    claims,
    expect,
    kept,
    letters,
    mappings,
    selected,
    skipped,
    spaced,
)  # fmt: skip
from .writers import text as hostile

IDS = ("MESH:D001943", "MESH:D009369", "MESH:D010051", "OMIM:208900")
OLD_IDS = ("MESH:D000001", "D001943", "mesh:D009369", "MESH:D006073")  # stand for one of these
WRONG_IDS = ("X:1", "MESH:D99", "MESH:D001943,X:1", "208901", "MESH:", "|||")
MENTIONS = (
    *("breast cancer", "ovarian cancer", "Ataxia", "gout", "the thing", "sheep fever", "A-T"),
    *("breast and ovarian cancer", "β-thalassaemia", "Tumor, malignant"),
    *('a "hot" tumor', "tumor|s"),
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
DOCUMENT = inputs.PUBTATOR + (
    b"104|t|Ataxia telangiectasia (A-T) and breast cancer.\n104|a|A-T is no gout.\n"
    b"104\t0\t21\tAtaxia telangiectasia\tDisease\t\n104\t23\t26\tA-T\tDisease\t\n"
    b"104\t32\t45\tbreast cancer\tDisease\t\n104\t47\t50\tA-T\tDisease\t\n"
    b"104\t57\t61\tgout\tDisease\t\n\n"
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
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Shared:
    """What all cases start from."""

    folder: Path  # with the model, and with the files
    files: dict[str, bytes]  # by names
    dictionary: Dictionary

    @property
    def model(self) -> list[str]:
        """The option that names the model."""
        return ["--model", str(self.folder / "model")]


def prepared(shared: Path) -> Iterator[Attack]:
    """One kind of file with decisions after the other, by the commands that read or write it."""
    materials = prepare(shared)
    ways = (
        *(_store, _table, _store, _reviewed, _mapped, _store, _any_bytes, _any_bytes),
        *(_there_and_back, _applied, _reviewed, _mapped, _there_and_back, _applied),
    )

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        ways[case % len(ways)](rng, folder, materials)

    yield attack


def prepare(folder: Path) -> Shared:
    """Fill a folder with a model, decisions, and answers to which these were applied."""
    preload()
    dictionary = inputs.dictionary(folder)
    train(dictionary, encoder="tfidf").save(folder / "model")
    with DecisionStore(folder / "store.sqlite") as decisions:
        decisions.add(DECIDED)
    (folder / "document.txt").write_bytes(DOCUMENT)
    (folder / "mentions.txt").write_text("\n".join(MENTIONS) + "\n", encoding="utf-8")
    rows = [["number", "mention", "concept_id", "note"]]
    rows += [[str(n), mention, f"old {n}", "a, b"] for n, mention in enumerate(MENTIONS)]
    made = {}  # by names: by which command
    for name, sign in (("answers.csv", ","), ("answers.tsv", "\t")):
        with open(folder / f"given.{name}", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=sign).writerows(rows)
        made[name] = f"given.{name} --column mention"
    for form in ("tsv", "jsonl", "sssom"):
        made[f"loose.{form}"] = f"mentions.txt -k 2 --format {form}"
    for form in ("tsv", "pubtator", "bioc", "jsonl", "sssom"):
        made[f"document.{form}"] = f"document.txt --format {form}"
    store = f"--decisions {folder}/store.sqlite"
    for name, words in made.items():
        command = f"link {folder}/{words} --model {folder}/model {store} -o {folder}/{name}"
        forked(command.split(), 0)
    for form in ("tsv", "sssom"):
        forked(
            f"review export {store} --model {folder}/model --format {form} -o {folder}/export.{form}".split(),
            0,
        )
    (folder / "others.sssom").write_text(OTHERS, encoding="utf-8")
    names = [path.name for path in sorted(folder.iterdir()) if path.is_file()]
    files = {name: (folder / name).read_bytes() for name in names if "given" not in name}
    return Shared(folder, files, dictionary)


def _decide(path: Path, shared: Shared, *more: object) -> tuple[Result, Path]:
    """Take the decisions of a file into a new store, which is returned."""
    store = path.with_name("new.sqlite")
    words = ["review", "import", path, "--decisions", store, "--on-error", "skip"]
    words += [*shared.model, *more]
    return forked(words), store


def _check_not_stopped(result: Result) -> None:
    if result.code:
        raise Failed(f"a bad row stopped the reading with skip: {result.err[-300:]}")


# ------------------------------------------------------------------------------ tables of decisions

_TAKEN = {"": True, "true": True, "TRUE": True, "yes": True, "1": True, "accepted": True}
_TAKEN |= {"false": False, "No": False, "0": False, "rejected": False}
_NEITHER = ("maybe", "truee", "2", "-1", "wahr", "1.0", "tru e", "false,", "null")
_COUNTS = re.compile(
    r"([\d,]+) decisions? (?:was|were) (?:taken|added)|, ([\d,]+) (?:was|were) there"
)


def _table(rng: random.Random, folder: Path, shared: Shared) -> None:
    """A table of decisions with good and bad rows: each good one is kept, each bad one reported."""
    names = ["mention", rng.choice(("concept_id", "id", "gold"))]
    names += rng.sample(["accepted", "reviewer", "time", "note", "model"], rng.randrange(5))
    names += rng.sample(["scope", "document_id"], rng.choice((0, 0, 1)))
    rng.shuffle(names)
    rows = [_decision_row(rng, names) for _ in range(rng.randint(1, 8))]
    path = folder / rng.choice(("a.tsv", "a.csv", "a.xlsx"))
    _write_table(rng, path, [names, *(row for row, _, _ in rows)])
    result, store = _decide(path, shared)
    _check_not_stopped(result)
    numbers = [number for found in _COUNTS.findall(result.err) for number in found if number]
    taken, left = sum(int(number.replace(",", "")) for number in numbers), skipped(result.err)[0]
    given = sum(any(map(spaced, row)) for row, _, _ in rows)
    if taken + left != given:
        raise Failed(f"rows were lost: {given} rows, {taken} taken or there, {left} skipped")
    required = [said for _, said, is_good in rows if said and is_good]
    expect(kept(store), required, [said for _, said, _ in rows if said], shared.dictionary)


def _decision_row(rng: random.Random, names: Sequence[str]) -> tuple[list[str], Said | None, bool]:
    """A row, what it says, and whether it is to be taken."""
    mention = rng.choice((*MENTIONS, hostile(rng, 5), "", " ", "x" * 999, "x" * 1001))
    mention = spaced(mention)  # blanks inside cells are attacked by `spreadsheets`
    several = ("-1", "", "none", "MESH:D001943|MESH:D010051", "D001943+D010051")
    bad_id = rng.random() < 0.15
    concept = rng.choice(WRONG_IDS if bad_id else (*IDS, *OLD_IDS, *several))
    accepted = rng.choice((*_TAKEN, *_NEITHER)) if "accepted" in names else ""
    cells = {"mention": mention, "accepted": accepted, "note": hostile(rng, 3), "model": "m"}
    cells |= {"reviewer": rng.choice(("", "Ada", hostile(rng, 3)))}
    cells |= {"time": rng.choice(("", "2024-01-02", "soon"))}
    cells |= dict.fromkeys(("concept_id", "id", "gold"), concept)
    cells |= {name: rng.choice(("", "101")) for name in ("scope", "document_id")}
    row = [spaced(cells[name]) for name in names]
    if accepted not in _TAKEN or not mention:
        return row, None, False
    said = Said.of(mention, concept, _TAKEN[accepted])
    is_single = len(said.ids) == 1 and any(said.ids)
    is_good = len(mention) <= 1000 and not bad_id
    is_good = is_good and concept not in ("", "|||") and (is_single or said.accepted)
    return row, said, is_good


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


# -------------------------------------------------------------------- answers that a person reviewed

BROKEN_JSON = (
    *("[", "{}", "[{}]", "[1]", "[null]", "nul", "[[]]", '[{"mention": "x"}]', "[" * 3000, "1e999"),
    *('"x"', "[{'mention': 'x'}]", "NaN", "[NaN]", "9" * 5000, "true", "0", "false", '{"a": 1}'),
    "[,]",
)


def _reviewed(rng: random.Random, folder: Path, shared: Shared) -> None:
    """A person changed states, ids and decisions in a table of answers."""
    name, sign = rng.choice((("answers.csv", ","), ("answers.tsv", "\t")))
    rows = list(csv.reader(io.StringIO(shared.files[name].decode(), newline=""), delimiter=sign))
    header, required, allowed, bad = rows[0], list[Said](), list[Said](), 0
    for row in rows[1:]:
        cells = dict(zip(header, row, strict=True))
        had = cells["decisions"]
        more, said, is_bad = _change(rng, cells) if rng.random() < 0.5 else ({}, None, False)
        cells |= more
        with contextlib.suppress(*UNREADABLE):
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
    _write_table(rng, folder / name, rows)
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
    right, wrong = rng.choice((*IDS, *OLD_IDS)), rng.choice(WRONG_IDS)
    how = rng.randrange(9)
    if how == 0:
        state = rng.choice(("accepted", "Accepted", " ACCEPTED "))
        return {"state": state, concept: right}, Said.of(mention, right), False
    if how == 3:
        state = rng.choice(("acepted", "yes", "TRUE", "✓", "rejected?", "none", "0", "accepted,"))
        return {"state": state}, None, True
    if how == 6:
        return {"decisions": rng.choice(BROKEN_JSON)}, None, True
    if how == 7 and cells["decisions"]:
        value = json.dumps(changed(rng, json.loads(cells["decisions"])), ensure_ascii=False)
        return {"decisions": spaced(value.encode("utf-8", "replace").decode())}, None, False
    if how in (7, 8):
        return {"state": rng.choice(("", "model", "open", "disputed"))}, None, False
    return {
        1: ({"state": "no concept"}, Said.of(mention, ""), False),
        2: ({"state": "rejected", concept: right}, Said.of(mention, right, False), False),
        4: ({"state": "accepted", concept: wrong}, Said.of(mention, wrong), True),
        5: ({"state": "accepted", concept: ""}, None, True),
    }[how]


# ------------------------------------------------------------------------- decisions there and back

_REVIEWERS = ("", "Ada", "Bob", "Ada|Bob", "a\\b; c")
_SCOPES = ("", "", "101", "104", "a; document b", "1, characters 2-3")


def _drawn(rng: random.Random, count: int) -> list[Decision]:
    """Decisions that a store takes."""
    found: list[Decision] = []
    while len(found) < count:
        mention, reviewer = hostile(rng, 5), hostile(rng, 3)
        mention, reviewer = rng.choice((*MENTIONS, mention)), rng.choice((*_REVIEWERS, reviewer))
        accepted, ids = rng.random() < 0.7, (*IDS, "MESH:D000001")
        ids += ("", "MESH:D001943|MESH:D010051", "MESH:D001943|-1") * accepted
        decision = Decision(mention, rng.choice(ids), accepted, rng.choice(_SCOPES), reviewer)
        if "\0" not in mention + reviewer and spaced(mention):
            found.append(replace(decision, time=rng.choice(("", "2024-01-02T03:04:05+00:00"))))
    return found


def _there_and_back(rng: random.Random, folder: Path, shared: Shared) -> None:
    """What is exported from a store is in force in the store that takes it."""
    path, form = folder / "store.sqlite", rng.choice(("tsv", "tsv", "sssom"))
    with DecisionStore(path) as store:
        store.add(_drawn(rng, rng.randint(1, 6)))
        before = store.list()
    result = forked(["review", "export", "--decisions", path, *shared.model, "--format", form], 0)
    output, new = folder / "export.tsv", folder / "new.sqlite"
    output.write_bytes(result.out)
    if form == "sssom":
        check_mappings(result.out.decode(), kept(path), shared.dictionary)
    taken, new = _decide(output, shared)
    if taken.code:
        raise Failed(f"an export is refused ({form}): {taken.err[-300:]}")
    with DecisionStore(new) as store:
        after = store.list()

    def shown(decision: Decision) -> tuple[object, ...]:
        said = Said.of(decision.mention, decision.concept_id, decision.accepted)
        return said, spaced(decision.scope), spaced(decision.reviewer)

    # cells of tables hold no tabs and line ends, by which two forms may become one
    found, expected = set(map(shown, after)), set(map(shown, before))
    if found != expected:
        what = f"lost {expected - found}, strange {found - expected}"
        raise Failed(f"not what was exported ({form}): {what}"[:600])


def _applied(rng: random.Random, folder: Path, shared: Shared) -> None:
    """What answers claim a person to have said is in the store, and comes back of tables and SSSOM."""
    path = folder / "store.sqlite"
    with DecisionStore(path) as store:
        added = store.add(_drawn(rng, rng.randint(1, 8)))
        store.withdraw([one.id or 0 for one in added if rng.random() < 0.1])
        standing = [Said.of(d.mention, d.concept_id, d.accepted) for d in store.list()]
    form = rng.choice(("csv", "tsv", "tsv", "jsonl", "pubtator", "bioc", "sssom"))
    is_document = form in ("pubtator", "bioc") or rng.random() < 0.5
    source = shared.folder / ("document.txt" if is_document else "mentions.txt")
    output, options, column = folder / f"a.{form}", ["--format", form], list[str]()
    if form == "csv":
        column = options = ["--column", "mention"]
        source = shared.folder / "given.answers.csv"
    result = forked(["link", source, *shared.model, "--decisions", path, "-o", output, *options])
    if result.code:
        if "is of another dictionary" not in result.err:
            raise Failed(f"refused: {result.err[-300:]}")
        return
    text, applied = output.read_bytes().decode(), list[Said]()
    if form == "sssom":
        check_mappings(text, standing, shared.dictionary)
    else:
        check_claims(claims(form, text), standing, shared.dictionary)
        applied = [_of_json(one) for claim in claims(form, text) for one in claim.decisions]
    if form not in ("csv", "sssom"):
        return
    taken, new = _decide(output, shared, *column)
    expect(kept(new), applied, standing, shared.dictionary)
    if taken.code or skipped(taken.err)[0]:
        raise Failed(f"answers of ours are refused ({form}): {taken.err[-300:]}")


# -------------------------------------------------------------------------------- files of decisions

_AGAIN = (
    "ALTER TABLE decisions RENAME TO old; CREATE TABLE decisions (id, mention, concept_id, "
    "accepted, scope, reviewer, time, model, release); INSERT INTO decisions SELECT * FROM old; "
)
_SCRIPTS = (
    "CREATE TRIGGER t AFTER INSERT ON decisions BEGIN UPDATE decisions SET concept_id = "
    "'OMIM:208900' WHERE id = new.id; END",
    "CREATE TRIGGER t AFTER INSERT ON decisions BEGIN DELETE FROM decisions WHERE id < new.id; END",
    "CREATE TRIGGER t BEFORE INSERT ON decisions BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER t AFTER INSERT ON withdrawals BEGIN DELETE FROM withdrawals; END",
    "UPDATE decisions SET {column} = {value} WHERE id = {id}",
    "UPDATE decisions SET accepted = {value} WHERE id = {id}",
    "UPDATE decisions SET mention = {value} WHERE id = {id}",
    "UPDATE decisions SET concept_id = {value} WHERE id = {id}",
    "INSERT INTO withdrawals (decision, reviewer, time) VALUES ({value}, 'x', {value})",
    "ALTER TABLE decisions RENAME COLUMN scope TO place",
    "ALTER TABLE decisions ADD COLUMN extra TEXT",
    "ALTER TABLE decisions DROP COLUMN model",
    "ALTER TABLE decisions RENAME TO old; CREATE VIEW decisions AS SELECT id, mention, "
    "'OMIM:208900' AS concept_id, 1 AS accepted, scope, reviewer, time, model, release FROM old",
    "DROP TABLE withdrawals",
    "DROP TABLE decisions",
    "ALTER TABLE withdrawals RENAME TO old; CREATE TABLE withdrawals (id, decision, reviewer, "
    "time); INSERT INTO withdrawals VALUES (1, 1, '', NULL), (2, 1, '', 'x')",
    _AGAIN + "UPDATE decisions SET {column} = {value} WHERE id = {id}",
    _AGAIN + "INSERT INTO decisions SELECT * FROM old",
    "PRAGMA user_version = {number}",
    "PRAGMA application_id = {number}",
    "UPDATE sqlite_sequence SET seq = 9223372036854775807",
    "PRAGMA encoding = 'UTF-16'; VACUUM",
    "PRAGMA auto_vacuum = 2; VACUUM",
    "PRAGMA journal_mode = DELETE",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO "
    "decisions SELECT i + 100, 'breast cancer', 'X:' || i, 0, '', 'Ada', 't', '', '' FROM n",
)
_SQL_VALUES = (
    "'false'", "'true'", "2", "-1", "0.5", "x'ff00'", "x'00'", "''", "'1'", "9223372036854775807",
    "'a' || char(0) || 'b'", "CAST(x'c328' AS TEXT)", "CAST(x'eda080' AS TEXT)", "1e400", "0",
    "NULL", "'[]'", "char(10) || 'x'", "replace(hex(zeroblob(100000)), '0', 'x')",
    "-9223372036854775808",
)  # fmt: skip
_COLUMNS = (
    "mention", "concept_id", "accepted", "scope", "reviewer", "time", "model", "release", "id",
)  # fmt: skip
_STORE_COMMANDS = (
    "list", "list", "export", "sssom", "mentions", "log", "check", "withdraw", "link", "link",
    "import",
)  # fmt: skip
_READ = (
    "SELECT id, mention, concept_id, accepted, typeof(mention), typeof(concept_id), "
    "typeof(accepted) FROM decisions"
)
_Rows = Sequence[tuple[Any, ...]]


def _store(rng: random.Random, folder: Path, shared: Shared) -> None:
    """A hostile file of decisions, through a command that reads or changes it."""
    path, data = folder / "store.sqlite", shared.files["store.sqlite"]
    is_damaged = rng.random() < 0.4
    path.write_bytes(_damaged(rng, data) if is_damaged else data)
    if not is_damaged:
        _change_tables(rng, path)
    before, command = selected(path, _READ), rng.choice(_STORE_COMMANDS)
    form = command.replace("export", "tsv")
    words: list[object] = ["review", command]
    if command == "import":
        _add_to(path, shared, before)
        return
    if command == "link":
        form = rng.choice(("jsonl", "pubtator", "bioc"))
        words = ["link", shared.folder / "document.txt", *shared.model, "--format", form]
    elif command == "check":
        words = ["review", "list", "--dict", shared.folder / "dict.tsv"]
    elif command == "withdraw":
        words += [1]
    elif command != "list":
        words = ["review", "export", *shared.model, "--format", form]
    result = forked([*words, "--decisions", path])
    if result.code:
        return
    out = result.out.decode()
    if command == "link":
        check_claims(claims(form, out), _good(before), shared.dictionary)
    elif form == "sssom":
        check_mappings(out, _good(before), shared.dictionary)
    elif form in ("tsv", "list", "log"):
        _check_listed(out, before, form == "log")
    elif form == "withdraw" and not selected(path, "SELECT 1 FROM withdrawals WHERE decision = 1"):
        raise Failed("a decision is in force that was said to be withdrawn: 1")


def _damaged(rng: random.Random, data: bytes) -> bytes:
    """Bytes of a database that differ: anywhere, in its head, its schema, or a page of rows."""
    start, end = rng.choice(((0, 0), (0, 100), (100, 4096), (4096, len(data))))
    if not end:
        return mutated(rng, data)
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(start, end)
        if changed[at] or rng.random() < 0.2:  # most of a page is empty
            changed[at] = rng.randrange(256)
    return bytes(changed)


def _change_tables(rng: random.Random, path: Path) -> None:
    """Change a database in one or two of the ways in which others would."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for _ in range(rng.choice((1, 1, 2))):
            script, value = rng.choice(_SCRIPTS), rng.choice(_SQL_VALUES)
            about = {"value": value, "id": rng.randint(1, len(DECIDED))}
            about |= {"column": rng.choice(_COLUMNS)}
            about |= {"number": rng.choice((0, 2, 1, 99, -1, 2**31 - 1))}
            with contextlib.suppress(sqlite3.Error):
                connection.executescript(script.format(**about))
                connection.commit()


def _good(rows: Iterable[tuple[Any, ...]]) -> list[Said]:
    """What the rows say that are of the right types."""
    return [
        Said.of(mention, concept, bool(accepted))
        for _, mention, concept, accepted, *types in rows
        if types == ["text", "text", "integer"] and accepted in (0, 1)
    ]


def _check_listed(text: str, rows: _Rows, is_past: bool) -> None:
    listed = list(csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab"))
    concept = "concept" if is_past else "concept_id"
    said = [Said.of(row["mention"], row[concept], row["accepted"] == "true") for row in listed]
    expect(said, (), _good(rows))
    if is_past and len(listed) != len(rows):
        raise Failed(f"decisions were lost: {len(rows)} in the file, {len(listed)} listed")


def _add_to(path: Path, shared: Shared, before: _Rows) -> None:
    """Add a decision to a hostile file: it stands there as given, and so do those before it."""
    given = path.with_name("given.tsv")
    row = "mention\tconcept_id\treviewer\nnew mention\tMESH:D010051\tEve\n"
    given.write_text(row, encoding="utf-8")
    if forked(["review", "import", *shared.model, given, "--decisions", path]).code:
        return
    after = selected(path, _READ)
    if Said.of("new mention", "MESH:D010051") not in _good(after):
        what = f"it was said to be taken, and is not there, {after[-1:]}"
        raise Failed(f"a decision was lost: {what}")
    if lost := [row for row in before if row not in after]:
        raise Failed(f"decisions were lost: {lost}")


# ----------------------------------------------------------------------------------------- mappings

_CELLS = {  # what is written into a column of mappings
    "predicate_modifier": ("", "Not", "Not", "not", "NOT", "Not ", "maybe"),
    "predicate_id": (
        *("skos:exactMatch", "skos:relatedMatch", "skos:broadMatch", "owl:sameAs", ""),
        "exactMatch",
    ),
    "object_id": (
        *(*IDS, *WRONG_IDS, "", "sssom:NoTermFound", "sssom:notermfound", "local:x", "-1"),
        *("MESH:D%30", "MESH:D001943|MESH:D010051"),
    ),
    "mapping_justification": (
        *(*BY_PEOPLE, *BY_PEOPLE, "semapv:LexicalMatching", "", "manual"),
        "semapv:manualmappingcuration",
    ),
    "subject_id": ("X:1", ""),
    "subject_label": ("", " ", *MENTIONS),
    "comment": ("document ;", "; document 1, characters 2", "x"),
}


def _mapped(rng: random.Random, folder: Path, shared: Shared) -> None:
    """Mappings with other cells: only what is curated is taken, all else is reported."""
    name = rng.choice(("loose.sssom", "document.sssom", "export.sssom", "others.sssom"))
    lines = shared.files[name].decode().split("\n")[:-1]
    head = [f"{line}\n" for line in lines if line.startswith("#")]
    header, *rows = csv.reader(lines[len(head) :], "excel-tab")
    there = sorted(set(_CELLS) & set(header))
    for _ in range(rng.randint(1, 6)):
        row, column = rng.choice(rows), rng.choice(there)
        if header.index(column) < len(row):
            row[header.index(column)] = rng.choice(_CELLS[column])
        how = rng.random()
        if how < 0.1:
            rows.append(list(row))
        elif how < 0.2:
            rng.shuffle(rows)
        elif how < 0.25:
            del row[rng.randrange(1, len(row)) :]
            row += [""] * (len(header) - len(row)) * rng.randrange(2)
    if rng.random() < 0.1:
        at = rng.randrange(len(header))
        for row in [header, *rows]:
            del row[at : at + 1]
    text = io.StringIO()
    csv.writer(text, "excel-tab", lineterminator="\n").writerows([header, *rows])
    path = folder / "a.sssom.tsv"
    path.write_text("".join(head) + text.getvalue(), encoding="utf-8")
    result, store = _decide(path, shared)
    if result.code == 0:
        _check_mapped(path.read_text(encoding="utf-8"), kept(store), skipped(result.err)[1])


def _check_mapped(text: str, stored: Sequence[Said], reported: set[int]) -> None:
    curated = [
        (line, spaced(row.get("subject_label", "")), not row.get("predicate_modifier", ""), row)
        for line, row in mappings(text)
        if row.get("mapping_justification") in BY_PEOPLE
    ]
    for said in stored:
        rows = [r for _, m, a, r in curated if (m, a) == (said.mention, said.accepted)]
        if not set(said.ids) <= {identifier for row in rows for identifier in _objects(row)}:
            raise Failed(f"a decision that no mapping says: {said}")
    for line, mention, accepted, row in curated:
        of_mention = [said for said in stored if said.mention == mention]
        is_there = any(s.accepted == accepted and _objects(row) <= {*s.ids} for s in of_mention)
        lines = {other for other, label, _, _ in curated if label == mention}
        if not is_there and not lines & reported:
            raise Failed(f"a mapping was neither taken nor reported: line {line}, {row}")


def _objects(row: dict[str, str]) -> set[str]:
    written = row.get("object_id", "").replace("sssom:NoTermFound", "")
    return {*Said.of("", written.removeprefix("local:").replace("%30", "0")).ids}


# ----------------------------------------------------------------------------------- any other file


def _any_bytes(rng: random.Random, folder: Path, shared: Shared) -> None:
    """Any file with decisions, mutated: what is taken stands in it, mention beside concept."""
    kinds = ("answers", "loose", "document", "export", "others")
    names = [name for name in shared.files if name.startswith(kinds) and name != "document.txt"]
    name = rng.choice(names)
    path, store = folder / "a.txt", folder / "new.sqlite"
    path.write_bytes(mutated(rng, shared.files[name]))
    is_table = name.startswith("answers") and rng.random() < 0.8
    words = ["review", "import", path, *shared.model, *["--column", "mention"] * is_table]
    on_error = rng.choice(("skip", "stop"))
    if forked([*words, "--decisions", store, "--on-error", on_error]).code:
        return
    text = path.read_bytes().decode("utf-8", "replace")
    text = re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), text)
    lines = [letters(line) for line in text.splitlines() if line.strip()]
    windows = ["".join(lines[n : n + 4]) for n in range(len(lines))]
    for said in kept(store):
        parts = [letters(said.mention), *(letters(i.rpartition(":")[2]) for i in said.ids)]
        if said.accepted and not any(all(part in one for part in parts) for one in windows):
            raise Failed(f"an accepted decision that the file does not say ({name}): {said}")
