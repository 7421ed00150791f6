"""Whether what people decided survives every format: out by `linker link`, back by `linker decide`.

python benchmarks/curation/round_trip.py [--model DIR]

Writes results/round_trip.json. The mentions are those of 500 lines of NCBI's development documents,
and the same as a list. Decisions of two reviewers make them accepted, rejected, open, without a
concept, disputed, or decided in one document only; a share stays undecided. The answers are written
in each format, read into an empty file of decisions, and linked again with it: each mention must
have the same state and the same answer. The exit code is 1 where one has not.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import MEDIC, documents, locate
from linker import Linker, outputs
from linker.decisions.applying import Decided
from linker.decisions.store import DecisionStore
from linker.ids import format_gold
from linker.types import Decision, Document, Mention, Prediction

SEED, MENTIONS = 1, 500
OF_DOCUMENTS = ("tsv", "jsonl", "sssom", "pubtator", "bioc")
OF_TABLES = ("csv", "tsv", "xlsx")
KINDS = ("accepted", "accepted here", "no concept", "first rejected", "all rejected", "disputed")


def run(model: Path, folder: Path) -> dict[str, Any]:
    """The states of the mentions before, and how many are the same after each format."""
    linker = Linker.load(model)
    texts = corpus()
    database = folder / "decisions.sqlite"
    with DecisionStore(database) as store:
        store.add(decisions(linker, texts))
    source = folder / "documents.txt"
    with source.open("w", encoding="utf-8") as file:
        outputs.write("pubtator", [(document, []) for document in texts], file)
    loose = [mention.text for document in texts for mention in document.mentions]
    figures: dict[str, Any] = {"mentions": len(loose)}
    before = states(linker, database, texts)
    figures["states"] = dict(Counter(state for state, *_ in before))
    for form in OF_DOCUMENTS:
        out = folder / f"out.{form}"
        link("link", source, "--model", model, "--decisions", database, "--format", form, "-o", out)
        figures[form] = same(linker, before, decided(model, out), texts)
    rows = [Mention(text) for text in loose]
    before = states(linker, database, rows)
    figures["states_of_a_list"] = dict(Counter(state for state, *_ in before))
    for form in OF_TABLES:
        table, out = folder / f"table.{form}", folder / f"linked.{form}"
        write_table(table, loose)
        column = ("--column", "disease")
        link("link", table, "--model", model, "--decisions", database, *column, "-o", out)
        figures[f"{form} with --column"] = same(linker, before, decided(model, out, *column), rows)
    return figures


def corpus() -> list[Document]:
    """Development documents with `MENTIONS` mentions in all."""
    texts: list[Document] = []
    left = MENTIONS
    for document in documents("ncbi", "devel"):
        if left:
            texts.append(replace(document, mentions=document.mentions[:left]))
            left -= len(texts[-1].mentions)
    return texts


def decisions(linker: Linker, texts: list[Document]) -> list[Decision]:
    """Decisions on five of six mentions, each of another kind."""
    choose = random.Random(SEED)
    made: dict[str, list[Decision]] = {}
    for prediction in linker.link(texts, k=3, threshold=0):
        mention = prediction.mention
        expanded = prediction.parts[0].expanded
        form = expanded or mention.text
        if form.lower() in made or not mention.gold:
            continue
        made[form.lower()] = []
        kind = choose.choice((*KINDS, ""))
        candidates = [c.concept_id for part in prediction.parts for c in part.candidates]
        gold = format_gold(mention.gold)
        known = all(linker.dictionary.rows(i) for group in mention.gold for i in group.ids)
        accepted = Decision(form, gold if known else candidates[0], reviewer="ann")
        made[form.lower()] = {
            "accepted": [accepted],
            "accepted here": [replace(accepted, scope=mention.document_id or "")],
            "no concept": [Decision(form, "", reviewer="ann")],
            "first rejected": [Decision(form, candidates[0], False, reviewer="ann")],
            "all rejected": [Decision(form, i, False, reviewer="bob") for i in candidates],
            "disputed": [accepted, Decision(form, "", reviewer="bob")],
            "": [],
        }[kind]
    return [decision for of_form in made.values() for decision in of_form]


def write_table(path: Path, mentions: list[str]) -> None:
    """A table of patients with a disease each, in a column between others."""
    rows = [("patient", "disease", "state"), *((n, m, "Ohio") for n, m in enumerate(mentions))]
    if path.suffix == ".xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="," if path.suffix == ".csv" else "\t").writerows(rows)


def link(*arguments: object) -> None:
    """Run a command of linker."""
    subprocess.run([sys.executable, "-m", "linker.cli", *map(str, arguments)], check=True)


def decided(model: Path, answers: Path, *options: str) -> Path:
    """A new file of the decisions in a file of answers."""
    file = answers.with_name(f"{answers.name}.sqlite")
    link("decide", answers, "--model", model, "--decisions", file, *options)
    return file


State = tuple[str, list[str]]
"""The state of a mention, and the concept of each part."""


def states(linker: Linker, file: Path, items: Any) -> list[State]:
    """The states and answers with a file of decisions."""
    with DecisionStore(file, read_only=True) as store:
        found = linker.link(items, k=3, decisions=Decided(store.list(), linker))
        return [(p.state, answer(p)) for p in found]


def answer(prediction: Prediction) -> list[str]:
    return [part.best.concept_id if part.best else "-1" for part in prediction.parts]


def same(linker: Linker, before: list[State], file: Path, items: Any) -> int:
    """How many mentions have the state and the answer that they had; the others are shown."""
    after = states(linker, file, items)
    for one, other in zip(before, after, strict=True):
        if one != other:
            print(f"before {json.dumps(one)}, after {json.dumps(other)}", file=sys.stderr)
    return sum(one == other for one, other in zip(before, after, strict=True))


if __name__ == "__main__":
    arguments = results.parser(__doc__)
    arguments.add_argument("--model", type=Path, help="of MEDIC; trained where none is named")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = arguments.parse_args().model or folder / "model"
        if not model.exists():
            link("train", "--dict", locate(MEDIC["2017"]), "-o", model)
        figures = run(model, folder)
    print(json.dumps(figures, indent=1))
    results.save("round_trip", figures, seed=SEED)
    names = {*OF_DOCUMENTS, *(f"{form} with --column" for form in OF_TABLES)}
    sys.exit(any(figures[name] < figures["mentions"] for name in names))
