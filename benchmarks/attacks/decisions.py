"""Hostile decisions: files of them, tables and mappings that people changed, and answers."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from linker import Dictionary, Linker
from linker.decisions.store import DecisionStore
from linker.types import Decision

from . import seeds
from .commands import Result, check, forked, preload
from .core import Attack, Failed
from .judgements import (
    Said,
    check_claims,
    check_mappings,
    claims,
    expect,
    kept,
    skipped,
    spaced,
)
from .mutate import changed
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
DOCUMENT = seeds.PUBTATOR + (
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


@contextlib.contextmanager
def prepared(shared: Path) -> Iterator[Attack]:
    """One kind of file with decisions after the other, by the commands that read or write it."""
    from .decision_stores import attack as store  # which need this module
    from .decision_texts import answers, any_bytes, mapped

    materials = prepare(shared)
    ways = (
        *(store, _table, store, _reviewed, mapped, store, answers, any_bytes, any_bytes),
        *(_there_and_back, _applied, _reviewed, mapped, _there_and_back, _applied),
    )

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        ways[case % len(ways)](rng, folder, materials)

    yield attack


def prepare(folder: Path) -> Shared:
    """Fill a folder with a model, decisions, and answers to which these were applied."""
    folder.mkdir(parents=True)
    preload()
    (folder / "dict.tsv").write_bytes(seeds.TABLE)
    dictionary = Dictionary.read(folder / "dict.tsv")
    Linker.train(dictionary, encoder="tfidf").save(folder / "model")
    with DecisionStore(folder / "store.sqlite") as decisions:
        decisions.add(DECIDED)
    (folder / "document.txt").write_bytes(DOCUMENT)
    (folder / "mentions.txt").write_text("\n".join(MENTIONS) + "\n", encoding="utf-8")
    rows = [["number", "mention", "concept_id", "note"]]
    rows += [[str(n), mention, f"old {n}", "a, b"] for n, mention in enumerate(MENTIONS)]
    for name, sign in (("answers.csv", ","), ("answers.tsv", "\t")):
        with open(folder / f"given.{name}", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=sign).writerows(rows)
        _made(folder, f"link {folder}/given.{name} --column mention", name)
    for form in ("tsv", "jsonl", "sssom"):
        _made(folder, f"link {folder}/mentions.txt -k 2 --format {form}", f"loose.{form}")
    for form in ("tsv", "pubtator", "bioc", "jsonl", "sssom"):
        _made(folder, f"link {folder}/document.txt --format {form}", f"document.{form}")
    for form in ("tsv", "sssom"):
        command = f"decisions export --decisions {folder}/store.sqlite --format {form}"
        check(forked(f"{command} -o {folder}/export.{form}".split()), 0)
    (folder / "others.sssom").write_text(OTHERS, encoding="utf-8")
    names = [path.name for path in sorted(folder.iterdir()) if path.is_file()]
    files = {name: (folder / name).read_bytes() for name in names if "given" not in name}
    return Shared(folder, files, dictionary)


def _made(folder: Path, command: str, output: str) -> None:
    options = f" --model {folder}/model --decisions {folder}/store.sqlite -o {folder}/{output}"
    check(forked((command + options).split()), 0)


def ran(arguments: Sequence[object], *codes: int) -> Result:
    """Run a command; a failure tells its arguments."""
    words = list(map(str, arguments))
    try:
        return check(forked(words), *codes)
    except Failed as failure:
        raise Failed(f"{str(failure)[:300]} ({shlex.join(words)[:300]!r})") from None


def decide(path: Path, shared: Shared, *more: object) -> tuple[Result, Path]:
    """Take the decisions of a file into a new store, which is returned."""
    store = path.with_name("new.sqlite")
    words = ["decide", path, "--decisions", store, "--on-error", "skip", *shared.model, *more]
    return ran(words), store


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
    imported = rng.random() < 0.3
    rows = [_decision_row(rng, names, checked=not imported) for _ in range(rng.randint(1, 8))]
    path = folder / rng.choice(("a.tsv", "a.csv", "a.xlsx"))
    _write_table(rng, path, [names, *(row for row, _, _ in rows)])
    if imported:
        store = folder / "new.sqlite"
        result = ran(["decisions", "import", path, "--decisions", store, "--on-error", "skip"])
    else:
        result, store = decide(path, shared)
    _check_not_stopped(result)
    numbers = [number for found in _COUNTS.findall(result.err) for number in found if number]
    taken, left = sum(int(number.replace(",", "")) for number in numbers), skipped(result.err)[0]
    given = sum(any(map(spaced, row)) for row, _, _ in rows)
    if taken + left != given:
        raise Failed(f"rows were lost: {given} rows, {taken} taken or there, {left} skipped")
    required = [said for _, said, is_good in rows if said and is_good]
    expect(kept(store), required, [said for _, said, _ in rows if said], shared.dictionary)


def _decision_row(
    rng: random.Random, names: Sequence[str], *, checked: bool
) -> tuple[list[str], Said | None, bool]:
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
    is_good = len(mention) <= 1000 and not (bad_id and checked)
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
            allowed += list(map(of_json, json.loads(cells["decisions"] or "[]")))
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
    result, store = decide(folder / name, shared, "--reviewer", "Eve", "--column", "mention")
    _check_not_stopped(result)
    if skipped(result.err)[0] < bad:
        raise Failed(f"a bad row was not reported: {bad} bad, {result.err[-300:]}")
    expect(kept(store), required, allowed, shared.dictionary)


def of_json(record: Any) -> Said:
    return Said.of(record["mention"], record["concept_id"] or "", record["accepted"] is True)


def _change(rng: random.Random, cells: dict[str, str]) -> tuple[dict[str, str], Said | None, bool]:
    """What a person writes into a row, what it then says, and whether that is wrong."""
    mention, concept = cells["mention"], "linker_concept_id"
    right, wrong = rng.choice((*IDS, *OLD_IDS)), rng.choice(WRONG_IDS)
    how = rng.randrange(9)
    if how == 0:
        state = rng.choice(("accepted", "Accepted", " ACCEPTED "))
        return {"state": state, concept: right}, Said.of(mention, right), False
    if how == 1:
        return {"state": "no concept"}, Said.of(mention, ""), False
    if how == 2:
        return {"state": "rejected", concept: right}, Said.of(mention, right, False), False
    if how == 3:
        state = rng.choice(("acepted", "yes", "TRUE", "✓", "rejected?", "none", "0", "accepted,"))
        return {"state": state}, None, True
    if how == 4:
        return {"state": "accepted", concept: wrong}, Said.of(mention, wrong), True
    if how == 5:
        return {"state": "accepted", concept: ""}, None, True
    if how == 6:
        return {"decisions": rng.choice(BROKEN_JSON)}, None, True
    if how == 7 and cells["decisions"]:
        value = json.dumps(changed(rng, json.loads(cells["decisions"])), ensure_ascii=False)
        return {"decisions": spaced(value.encode("utf-8", "replace").decode())}, None, False
    return {"state": rng.choice(("", "model", "open", "disputed"))}, None, False


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
    result = ran(["decisions", "export", "--decisions", path, "--format", form], 0)
    output, new = folder / "export.tsv", folder / "new.sqlite"
    output.write_bytes(result.out)
    if form == "sssom":
        check_mappings(result.out.decode(), kept(path), shared.dictionary)
    if form == "tsv" and rng.random() < 0.5:
        taken = ran(["decisions", "import", output, "--decisions", new])
    else:
        taken, new = decide(output, shared)
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
    """What answers claim a person to have said is in the store, and comes back of each format."""
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
    result = ran(["link", source, *shared.model, "--decisions", path, "-o", output, *options])
    if result.code:
        if "is of another dictionary" not in result.err:
            raise Failed(f"refused: {result.err[-300:]}")
        return
    text, applied = output.read_bytes().decode(), list[Said]()
    if form == "sssom":
        check_mappings(text, standing, shared.dictionary)
    else:
        check_claims(claims(form, text), standing, shared.dictionary)
        applied = [of_json(one) for claim in claims(form, text) for one in claim.decisions]
    taken, new = decide(output, shared, *column)
    expect(kept(new), applied, standing, shared.dictionary)
    if taken.code or skipped(taken.err)[0]:
        raise Failed(f"answers of ours are refused ({form}): {taken.err[-300:]}")
