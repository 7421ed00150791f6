"""Concepts that are missing from the dictionary, and a learning curve; on development mentions.

python benchmarks/accuracy/ranker.py            makes what is missing
python benchmarks/accuracy/ranker.py --table    runs nothing, puts together what is kept

Writes results/ranker.json; the runs are kept in results/runs/ranker-*.jsonl.gz. The MEDIC of 2017
with the names of DOID and HPO, static vectors, and a ranker that starts from weights which were
fitted without the corpus. Where concepts are missing, a tenth of them is left out of the
dictionary, and the mentions of these have no concept.
"""

from __future__ import annotations

import dataclasses
import gzip
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import ranker_weights
from benchmarks.lib import results, runs
from benchmarks.lib.data import MEDIC, TITLES, locate
from benchmarks.lib.dense import Task
from benchmarks.lib.linkers import lending, with_lent
from linker import Dictionary
from linker.evaluation import run
from linker.records import Document

MISSING = 0.1  # share of the concepts that are left out
IDS, PARENTS = 1, 4  # columns of MEDIC
ALL = -1


class System(NamedTuple):
    """A row: what is learnt, and whether concepts are missing."""

    learnt: int = ALL  # training documents
    missing: int = -1  # seed of the concepts that are left out; -1: none is

    @property
    def key(self) -> str:
        """The name of its run."""
        missing = f"missing {self.missing}" if self.missing >= 0 else ""
        return runs.slug(f"{'all' if self.learnt == ALL else self.learnt} {missing}")


TABLES = {
    "missing": [System(learnt, seed) for seed in range(3) for learnt in (0, ALL)],
    "curve": [System(learnt) for learnt in (0, 10, 30, 100, 300, ALL)],
}


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
        return lending(Dictionary.read(path))


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


def find(system: System, task: Task) -> dict[str, Any]:
    """Train a system, and evaluate it with an answer to everything, and as it is by default."""
    names = with_lent() if system.missing < 0 else reduced(system.missing)
    known, asked = task.known, task.test
    if system.learnt != ALL:
        order = np.random.default_rng(0).permutation(len(known))
        known = [known[place] for place in order[: system.learnt].tolist()]
    if system.missing >= 0:
        known, asked = without(known, names), without(asked, names)
    linker = ranker_weights.trained(task.corpus, names, "static", known)
    answered = run.evaluate(asked, linker, "strict", (1,), threshold=0.0).record
    default = run.evaluate(asked, linker, "strict", (1,)).record
    figures = system._asdict() | {"n": answered["n"], "acc": answered["acc"]}
    return figures | {"default": {name: default[name] for name in ("acc", "no_answer")}}


def rows(systems: Sequence[System], is_table: bool) -> list[dict[str, Any]]:
    """The figures of the runs on both corpora."""
    lines = []
    for task in (Task(corpus, "devel") for corpus in TITLES):
        wanted = {system.key: partial(find, system, task) for system in systems}
        kept = runs.made(f"ranker-{task.table}", wanted, is_table=is_table)
        lines += [{"corpus": task.corpus} | figures for figures in kept.values()]
    return lines


if __name__ == "__main__":
    is_table = results.only_table(__doc__)
    figures = {name: rows(systems, is_table) for name, systems in TABLES.items()}
    results.save("ranker", figures, seed=0)
    print(*(row for part in figures.values() for row in part), sep="\n")
