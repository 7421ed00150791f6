"""Mappings, answers, and any other file with decisions, damaged: what is taken stands in them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from .core import Failed
from .decisions import (
    BROKEN_JSON,
    IDS,
    MENTIONS,
    UNREADABLE,
    WRONG_IDS,
    Shared,
    decide,
    of_json,
    ran,
)
from .judgements import BY_PEOPLE, Said, as_now, expect, kept, mappings, skipped, spaced
from .mutate import NUMBERS, changed, mutated

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


def mapped(rng: random.Random, folder: Path, shared: Shared) -> None:
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
    result, store = decide(path, shared)
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


# ----------------------------------------------------------------------- answers, and any other file

_DAMAGE: tuple[Callable[[random.Random, str], str], ...] = (
    lambda rng, text: text[:-1],
    lambda rng, text: text[1:],
    lambda rng, text: text[: rng.randrange(2, len(text))],
    lambda rng, text: text.replace('"accepted": true', f'"accepted": {rng.choice(NUMBERS)}'),
    lambda rng, text: text.replace('"accepted"', rng.choice(('"Accepted"', '"accepted "'))),
    lambda rng, text: text.replace('"', rng.choice(("'", "“", '""', ""))),
    lambda rng, text: text.replace(", ", rng.choice((",,", ";", " ")), 1),
    lambda rng, text: text + rng.choice((" ", "]", ",", "x", "[]", " ok")),
    lambda rng, text: text.replace("[{", rng.choice(("{", "[ {", "[[{", "[{}, {"))),
    lambda rng, text: json.dumps(changed(rng, json.loads(text))),
    lambda rng, text: rng.choice(BROKEN_JSON),
)


def answers(rng: random.Random, folder: Path, shared: Shared) -> None:
    """Answers of which one has damaged decisions: they are taken as they stand, or reported."""
    name = rng.choice(("document.pubtator", "document.bioc", "document.jsonl", "loose.jsonl"))
    text = shared.files[name].decode()
    found = list(re.finditer(r"\[\{(?:&quot;|\")mention.*?\}\](?=\n|\t|<|\})", text))
    match = rng.choice(found)
    damaged = rng.choice(_DAMAGE)(rng, match[0]).encode("utf-8", "replace").decode()
    if name.endswith("bioc"):
        damaged = damaged.replace("&", "&amp;").replace("<", "&lt;")
    is_unlike = name.endswith("pubtator") and not re.match(r"[\[{]|.*mention", damaged)
    if damaged == match[0] or not damaged.strip() or is_unlike:
        return  # a word alone may be the text of a part
    path = folder / "a.txt"
    path.write_text(text[: match.start()] + damaged + text[match.end() :], encoding="utf-8")
    result, store = decide(path, shared)
    if result.code:
        return
    others = [of_json(one) for m in found if m is not match for one in json.loads(m[0])]
    now: list[Said] | None = None
    with contextlib.suppress(*UNREADABLE):
        now = list(map(of_json, json.loads(damaged)))
    stored, is_reported = kept(store), skipped(result.err)[0] > 0
    there = {as_now(said, shared.dictionary) for said in stored}
    is_whole = now is not None and {as_now(said, shared.dictionary) for said in now} <= there
    if not is_whole and not is_reported:
        raise Failed(f"damaged decisions were neither taken nor reported ({name}): {damaged[:200]}")
    expect(stored, () if is_reported else others, [*others, *(now or ())], shared.dictionary)


def any_bytes(rng: random.Random, folder: Path, shared: Shared) -> None:
    """Any file with decisions, mutated: what is taken stands in it, mention beside concept."""
    kinds = ("answers", "loose", "document", "export", "others")
    names = [name for name in shared.files if name.startswith(kinds) and name != "document.txt"]
    name = rng.choice(names)
    path, store = folder / "a.txt", folder / "new.sqlite"
    path.write_bytes(mutated(rng, shared.files[name]))
    words = ["decisions", "import", path]
    if rng.random() < 0.8:
        is_table = name.startswith("answers") and rng.random() < 0.8
        words = ["decide", path, *shared.model, *["--column", "mention"] * is_table]
    on_error = rng.choice(("skip", "stop"))
    if ran([*words, "--decisions", store, "--on-error", on_error]).code:
        return
    text = path.read_bytes().decode("utf-8", "replace")
    text = re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m[1], 16)), text)
    lines = [_letters(line) for line in text.splitlines() if line.strip()]
    windows = ["".join(lines[n : n + 4]) for n in range(len(lines))]
    for said in kept(store):
        parts = [_letters(said.mention), *(_letters(i.rpartition(":")[2]) for i in said.ids)]
        if said.accepted and not any(all(part in one for part in parts) for one in windows):
            raise Failed(f"an accepted decision that the file does not say ({name}): {said}")


def _letters(text: str) -> str:
    return "".join(sign for sign in text.lower() if sign.isalnum() and sign.isascii())
