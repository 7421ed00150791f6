"""Which encoder finds names that its dictionary lacks, with the ranker that is shipped.

python benchmarks/accuracy/held_out.py            all
python benchmarks/accuracy/held_out.py --table    makes none, puts together what is kept

Writes results/held_out.json; the runs are kept in results/runs/held-out.jsonl.gz. Names are held
out of HPO, DOID and MEDIC. Then there is a dictionary with one name a concept, 1,000 concepts of
MEDIC, whose synonyms are asked; and HPO without its layperson synonyms, which are asked.
"""

from __future__ import annotations

import dataclasses
import gzip
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import hits, results, runs
from benchmarks.lib.data import locate, medic
from benchmarks.lib.linkers import ONTOLOGIES
from linker import Dictionary
from linker.dictionary import NameTable
from linker.dictionary.classes import bags
from linker.evaluation import report
from linker.io import table
from linker.text.normalize import normalize
from linker.training.pipeline import train

TABLE, SEED = "held-out", 1
MOST, SHARE = 2000, 0.2  # names that are held out, at most, of those that can be
DOID, HPO = ONTOLOGIES
CHARACTERS = "characters"
SYSTEMS = {CHARACTERS: "tfidf", "static": "static"}  # name of the system -> encoder


class Task(NamedTuple):
    """A dictionary, and names that it lacks."""

    dictionary: Dictionary
    texts: Sequence[str]  # in normal form, or as they are written
    ids: Sequence[str]  # of the concept of each


def held_out(dictionary: Dictionary) -> Task:
    """Hold a sample of names out of a dictionary, one for each concept.

    Preferred names, those of several concepts, and names of the same words as one of these stay.
    What has the same words as a name that is held out, in any order, goes with it.
    """
    forms = list(map(normalize, dictionary.names))
    names = NameTable.of(forms, dictionary.name_concept, dictionary.entry_rank)
    row_of = {text: row for row, text in enumerate(names.texts)}
    rows, bag = np.array([row_of[form] for form in forms]), bags(list(names.texts))
    stays = np.diff(names.indptr) != 1
    stays[rows[dictionary.preferred]] = True
    spare = np.flatnonzero(~np.isin(bag, bag[stays]))
    spare = np.random.default_rng(SEED).permutation(spare)
    concepts, first = np.unique(names.concepts[names.indptr[spare]], return_index=True)
    out = spare[np.sort(first)[: min(MOST, len(concepts), int(SHARE * len(spare)))]]
    return Task(
        dictionary.without(np.flatnonzero(np.isin(bag[rows], bag[out]))),
        [names.texts[row] for row in out.tolist()],
        [dictionary.ids[row] for row in names.concepts[names.indptr[out]].tolist()],
    )


def of_file(name: str) -> Task:
    """A dictionary without a sample of its names."""
    return held_out(Dictionary.read(locate(name)) if name else medic("2017"))


def some_names(whole: Dictionary, rows: np.ndarray[Any, Any], dictionary: Dictionary) -> Task:
    """Some names of a dictionary, which another one lacks."""
    ids = [whole.ids[row] for row in whole.name_concept[rows].tolist()]
    return Task(dictionary, [whole.names[row] for row in rows.tolist()], ids)


def single_names(concepts: int = 1000) -> Task:
    """Some concepts of MEDIC by their preferred names; their synonyms are asked."""
    whole = medic("2017")
    rows = np.random.default_rng(SEED).permutation(len(whole))[:concepts]
    asked = np.setdiff1d(np.flatnonzero(np.isin(whole.name_concept, rows)), whole.preferred)
    others = np.setdiff1d(np.arange(len(whole.names)), whole.preferred)
    return some_names(whole, asked, only(whole.without(others), rows.tolist()))


def laypersons() -> Task:
    """HPO without the names that laypersons use, which are asked."""
    lay, identifier = set(), ""
    with gzip.open(locate(HPO), "rt", encoding="utf-8") as file:
        for line in file:
            identifier = line[4:].strip() if line.startswith("id: ") else identifier
            if match := re.match(r'synonym: "(.*)" \w+ layperson', line):
                lay.add((identifier, match[1]))
    whole = Dictionary.read(locate(HPO))
    pairs = zip(whole.name_concept.tolist(), whole.names, strict=True)
    is_lay = np.array([(whole.ids[row], text) in lay for row, text in pairs], bool)
    is_lay[whole.preferred] = False
    return some_names(whole, np.flatnonzero(is_lay), whole.without(np.flatnonzero(is_lay)))


def only(dictionary: Dictionary, rows: Sequence[int]) -> Dictionary:
    """Some concepts of a dictionary, without their parents."""
    concepts = (dataclasses.replace(dictionary.concept(row), parents=()) for row in rows)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as file:
        table.write(concepts, file.file)
        file.flush()
        return Dictionary.read(file.name)


TASKS: dict[str, Callable[[], Task]] = {
    "HPO": partial(of_file, HPO),
    "DOID": partial(of_file, DOID),
    "MEDIC 2017": partial(of_file, ""),
    "MEDIC, 1,000 concepts with one name each": single_names,
    "HPO, layperson synonyms": laypersons,
}


def find(name: str, system: str) -> dict[str, Any]:
    """What a system has right of a task, and what its confidences are worth."""
    task = TASKS[name]()
    answers = train(task.dictionary, encoder=SYSTEMS[system]).link(task.texts, k=1, threshold=0)
    right = [
        i in {part.best.concept_id for part in answer.parts if part.best}
        for i, answer in zip(task.ids, answers, strict=True)
    ]
    confidences = np.array([answer.confidence or 0.0 for answer in answers])
    figures = report.calibration(confidences, np.array(right, float))
    surest = report.risk_coverage(confidences, np.array(right, float))["coverage"]["80"]["acc"]
    about = {"ece": figures["ece"], "auroc": figures["auroc"], "surest": surest}
    return {"right": hits.digits(right), "confidence": about}


def row(name: str, kept: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Acc@1 of each system with a run, and its difference to characters, with intervals."""
    base, systems = hits.read(kept[key(name, CHARACTERS)]["right"]), {}
    for system in SYSTEMS:
        if figures := kept.get(key(name, system)):
            right = hits.read(figures["right"])
            systems[system] = {
                "acc1": hits.interval(right),
                "gain": hits.gain(right, base),
                "confidence": figures.get("confidence"),
            }
    return {"task": name, "n": len(base), "systems": systems}


def key(name: str, system: str) -> str:
    """The name of a run."""
    return runs.slug(f"{name} {system}")


if __name__ == "__main__":
    wanted = {key(name, s): partial(find, name, s) for s in SYSTEMS for name in TASKS}
    kept = runs.made(TABLE, wanted, is_table=results.only_table(__doc__))
    rows = [row(name, kept) for name in TASKS]
    results.save("held_out", {"rows": rows}, seed=SEED)
    print(*rows, sep="\n")
