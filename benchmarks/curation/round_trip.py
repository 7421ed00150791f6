"""Whether what people decided survives every format: out by `linker link`, back by `linker decide`.

python benchmarks/curation/round_trip.py

Writes results/round_trip.json. The mentions are those of 500 lines of NCBI's development documents,
and the same as a list. Decisions of two reviewers make them accepted, rejected, open, without a
concept, disputed, or decided in one document only; a share stays undecided. The answers are written
in each format, read into an empty file of decisions, and linked again with it: each mention must
have the same state and the same answer. The exit code is 1 where one has not.
"""

from __future__ import annotations

import csv
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
from benchmarks.lib.data import documents, medic
from linker import Linker, outputs
from linker.decisions.applying import Decided
from linker.decisions.store import DecisionStore
from linker.ids import format_gold
from linker.types import Decision, Document, Mention

SEED, MENTIONS = 1, 500
OF_DOCUMENTS = ("tsv", "jsonl", "sssom", "pubtator", "bioc")
OF_TABLES = ("csv", "tsv", "xlsx")
State = tuple[str, list[str]]
"""The state of a mention, and the concept of each part."""


def run(linker: Linker, folder: Path) -> dict[str, Any]:
    """The states of the mentions before, and how many are the same after each format."""
    texts, store = corpus(), folder / "decisions.sqlite"
    with DecisionStore(store) as decided:
        decided.add(decisions(linker, texts))
    with (folder / "documents.txt").open("w", encoding="utf-8") as file:
        outputs.write("pubtator", [(document, []) for document in texts], file)
    loose = [mention.text for document in texts for mention in document.mentions]
    model = ("--model", folder / "model")

    def same(name: str, source: Path, items: Any, *options: str) -> int:
        """How many mentions have the state and the answer that they had, after a format."""
        out, back = folder / name, folder / f"{name}.sqlite"
        given = () if options else ("--format", out.suffix[1:])
        command("link", source, *model, "--decisions", store, *given, *options, "-o", out)
        command("decide", out, *model, "--decisions", back, *options)
        pairs = zip(states(linker, store, items), states(linker, back, items), strict=True)
        return sum(one == other for one, other in pairs)

    figures: dict[str, Any] = {"mentions": len(loose)}
    figures["states"] = dict(Counter(state for state, _ in states(linker, store, texts)))
    for form in OF_DOCUMENTS:
        figures[form] = same(f"out.{form}", folder / "documents.txt", texts)
    rows = [Mention(text) for text in loose]
    figures["states_of_a_list"] = dict(Counter(state for state, _ in states(linker, store, rows)))
    for form in OF_TABLES:
        write_table(folder / f"table.{form}", loose)
        options = (f"linked.{form}", folder / f"table.{form}", rows, "--column", "disease")
        figures[f"{form} with --column"] = same(*options)
    return figures


def corpus() -> list[Document]:
    """Development documents with `MENTIONS` mentions in all."""
    texts, left = list[Document](), MENTIONS
    for document in documents("ncbi", "devel"):
        if left:
            texts.append(replace(document, mentions=document.mentions[:left]))
            left -= len(texts[-1].mentions)
    return texts


def decisions(linker: Linker, texts: list[Document]) -> list[Decision]:
    """Decisions on seven of eight mentions, each of another kind."""
    choose = random.Random(SEED)
    made: dict[str, list[Decision]] = {}
    for prediction in linker.link(texts, k=3, threshold=0):
        mention, form = prediction.mention, prediction.parts[0].expanded or prediction.mention.text
        if form.lower() in made or not mention.gold:
            continue
        candidates = [c.concept_id for part in prediction.parts for c in part.candidates]
        known = all(linker.dictionary.rows(i) for group in mention.gold for i in group.ids)
        concept = format_gold(mention.gold) if known else candidates[0]
        accepted, none = Decision(form, concept, reviewer="ann"), Decision(form, "", reviewer="ann")
        made[form.lower()] = choose.choice(
            (
                [accepted],
                [replace(accepted, scope=mention.document_id or "")],
                [Decision(form, candidates[0], reviewer="ann", others=7)],  # in bulk
                [none],
                [Decision(form, candidates[0], False, reviewer="ann")],
                [Decision(form, i, False, reviewer="bob") for i in candidates],
                [accepted, replace(none, reviewer="bob")],  # disputed
                [],
            )
        )
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


def command(*arguments: object) -> None:
    """Run a command of linker."""
    subprocess.run([sys.executable, "-m", "linker.cli", *map(str, arguments)], check=True)


def states(linker: Linker, file: Path, items: Any) -> list[State]:
    """The states and answers with a file of decisions."""
    with DecisionStore(file, read_only=True) as store:
        found = linker.link(items, k=3, decisions=Decided(store.list(), linker))
        return [
            (p.state, [part.best.concept_id if part.best else "-1" for part in p.parts])
            for p in found
        ]


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        linker = Linker.train(medic("2017"))
        linker.save(Path(name) / "model")
        figures = run(linker, Path(name))
    results.save("round_trip", figures, seed=SEED)
    names = {*OF_DOCUMENTS, *(f"{form} with --column" for form in OF_TABLES)}
    sys.exit(any(figures[name] < figures["mentions"] for name in names))
