"""What the ranker is worth: accuracy, confidences, no answers, and a learning curve.

python benchmarks/accuracy/ranker.py              on development mentions
python benchmarks/accuracy/ranker.py --on test    on the test mentions of NCBI Disease
python benchmarks/accuracy/ranker.py --table      runs nothing, puts together what is kept

Writes results/ranker.json; the runs are kept in results/runs/ranker-*.jsonl.gz. The MEDIC of 2017
with the names of DOID and HPO. Candidates stand in the order of their scores ("by score"), or in
that of a ranker which was fitted to the other corpus, and then to the training mentions in folds
("fitted"). Where concepts are missing, a tenth of them is left out of the dictionary, and the
mentions of these have no concept.
"""

from __future__ import annotations

import dataclasses
import gzip
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import ranker_weights
from benchmarks.lib import hits, results, runs
from benchmarks.lib.data import MEDIC, TITLES, locate
from benchmarks.lib.dense import Task
from benchmarks.lib.linkers import LENDERS, LENT, by_score, lending, with_lent
from benchmarks.lib.results import WORK
from linker import Dictionary, Linker
from linker.evaluation import metrics, report, run
from linker.linking.ranker import Ranker
from linker.records import Document

KS = (1, 5, 20)
MISSING = 0.1  # share of the concepts that are left out
IDS, PARENTS = 1, 4  # columns of MEDIC
SCORE, OTHER, FITTED = "by score", "other corpus", "fitted"
ALL = -1
SLOW = ("transformer", "dan")  # encoders that train for minutes; asked with all mentions learnt


class System(NamedTuple):
    """A row: what is learnt, and by what candidates are ordered."""

    ranker: str  # SCORE, OTHER or FITTED
    encoder: str = "static"
    learnt: int = ALL  # training documents
    missing: int = -1  # seed of the concepts that are left out; -1: none is

    @property
    def key(self) -> str:
        """The name of its run."""
        missing = f"missing {self.missing}" if self.missing >= 0 else ""
        learnt = "all" if self.learnt == ALL else self.learnt
        return runs.slug(f"{self.encoder} {learnt} {self.ranker} {missing}")


WORTH = [
    System(ranker, encoder, learnt)
    for encoder in ("static", "tfidf")
    for learnt, ways in ((0, (SCORE, OTHER)), (ALL, (SCORE, OTHER, FITTED)))
    for ranker in ways
] + [System(ranker, encoder) for encoder in SLOW for ranker in (SCORE, OTHER, FITTED)]
TABLES = {
    "rows": WORTH,
    "missing": [
        System(ranker, learnt=learnt, missing=seed)
        for seed in range(3)
        for learnt, ranker in ((0, OTHER), (ALL, FITTED))
    ],
    "curve": [
        System(ranker, learnt=learnt)
        for learnt in (10, 30, 100, 300)
        for ranker in (SCORE, OTHER, FITTED)
    ],
}
DEVEL, TEST = [Task(corpus, "devel") for corpus in TITLES], [Task("ncbi", "test")]


def reduced(seed: int) -> Dictionary:
    """The MEDIC of 2017 without a tenth of its concepts, and the names that it is lent."""
    lines = gzip.decompress(locate(MEDIC["2017"]).read_bytes()).decode().splitlines()
    table = [line.split("\t") for line in lines if not line.startswith("#")]
    is_out = np.random.default_rng(seed).random(len(table)) < MISSING
    out = {row[IDS] for row, left_out in zip(table, is_out, strict=True) if left_out}
    for row in table:
        row[PARENTS] = "|".join(i for i in row[PARENTS].split("|") if i not in out)
    kept = [line for line in lines if line.startswith("#")]
    kept += ["\t".join(row) for row in table if row[IDS] not in out]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "medic.tsv"
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
        return lending(Dictionary.read(path), LENDERS[LENT])[0]


def without(documents: Iterable[Document], dictionary: Dictionary) -> list[Document]:
    """Documents whose mentions have no concept where the dictionary knows none of their ids."""
    result = []
    for document in documents:
        ids = [[i for group in m.gold or () for i in group.ids] for m in document.mentions]
        mentions = tuple(
            mention if any(map(dictionary.rows, own)) or not own
            else dataclasses.replace(mention, gold=())
            for mention, own in zip(document.mentions, ids, strict=True)
        )  # fmt: skip
        result.append(dataclasses.replace(document, mentions=mentions))
    return result


class Trained(NamedTuple):
    """A linker that has no ranker yet."""

    linker: Linker
    dictionary: Dictionary  # its names, without mentions
    known: Sequence[Document]  # what it learnt
    asked: Sequence[Document]


@lru_cache(maxsize=1)
def trained(task: Task, encoder: str, learnt: int, missing: int) -> Trained:
    """Train the linker of a system; one that takes long is kept in the working folder."""
    names = with_lent() if missing < 0 else reduced(missing)
    known, asked = task.known, task.test
    if learnt != ALL:
        order = np.random.default_rng(0).permutation(len(known))
        known = [known[place] for place in order[:learnt].tolist()]
    if missing >= 0:
        known, asked = without(known, names), without(asked, names)
    folder = WORK / f"ranker-{encoder}-{task.table}"  # remove it where data or options change
    if encoder not in SLOW:
        return Trained(by_score(names, encoder, known), names, known, asked)
    if not folder.exists():
        by_score(names, encoder, known).save(folder)
    return Trained(Linker.load(folder).with_ranker(None), names, known, asked)


def ranked(system: System, task: Task) -> tuple[Linker, Sequence[Document]]:
    """A linker with its ranker, and what is asked."""
    made = trained(task, system.encoder, system.learnt, system.missing)
    linker = made.linker
    if system.ranker == SCORE:
        return linker, made.asked
    linker = linker.with_ranker(ranker_weights.without(task.corpus))
    if system.ranker == FITTED:
        linker = ranker_weights.fitted(linker, made.dictionary, made.known)
    return linker, made.asked


def find(system: System, task: Task) -> dict[str, Any]:
    """Train a system, and evaluate it; a row of a curve says less."""
    linker, asked = ranked(system, task)
    answered = run.evaluate(asked, linker, "strict", KS, threshold=0.0)
    record, figures = answered.record, system._asdict()
    figures |= {name: record[name] for name in ("n", "acc", "acc_interval", "errors", "composites")}
    figures["right"] = hits.digits(outcome.rank == 1 for outcome in answered.outcomes)
    if linker.ranker:
        figures["calibration"] = {n: record["calibration"][n] for n in ("ece", "brier", "auroc")}
        coverage = record["risk_coverage"]["coverage"]
        figures["coverage"] = {share: of_share["acc"] for share, of_share in coverage.items()}
    if system.learnt > 0:
        return figures
    unseen = record["groups"]["unseen_mention"]
    figures["unseen"] = {"n": unseen["n"], "acc": unseen["acc"]}
    figures["biosyn"] = run.evaluate(asked, linker, "biosyn", KS).record["acc"]
    if linker.ranker:
        default = run.evaluate(asked, linker, "strict", KS).record
        figures["default"] = {"acc": default["acc"], "no_answer": default["no_answer"]}
        figures["none_auroc"] = none_auroc(linker, linker.ranker, asked)
    return figures


def none_auroc(linker: Linker, ranker: Ranker, asked: Sequence[Document]) -> float | None:
    """How well the probability of "none" tells mentions without a concept from others."""
    pairs: list[tuple[float, bool]] = []
    for mentions, batch in linker.lists(asked):
        none = ranker.probabilities(batch.lists).none.tolist()
        pairs += [
            (p, not m.gold) for m, p in zip(mentions, none, strict=True) if m.gold is not None
        ]
    return report.rounded(metrics.auroc(*map(list, zip(*pairs, strict=True))))


def rows(tasks: Sequence[Task], systems: Sequence[System], is_table: bool) -> list[dict[str, Any]]:
    """The figures of the runs, and the gain over the order by score of the same linker."""
    lines = []
    for task in tasks:
        table = f"ranker-{task.table}"
        runs.made(table, {s.key: partial(find, s, task) for s in systems}, is_table=is_table)
        kept = runs.figures(table)
        for system in (system for system in systems if system.key in kept):
            figures = dict(kept[system.key])
            right, base = figures.pop("right"), system._replace(ranker=SCORE)
            if system != base and base.key in kept:
                others = kept[base.key]["right"]
                figures["gain"] = hits.gain(hits.read(right), hits.read(others))
            lines.append({"corpus": task.corpus, "on": task.on} | figures)
    return lines


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--on", choices=("devel", "test"), default="devel")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    kept = {on: given.table or given.on != on for on in ("devel", "test")}
    figures = {name: rows(DEVEL, systems, kept["devel"]) for name, systems in TABLES.items()}
    figures["test"] = rows(TEST, WORTH, kept["test"])
    results.save("ranker", figures, seed=0)
    print(*(row for part in figures.values() for row in part), sep="\n")
