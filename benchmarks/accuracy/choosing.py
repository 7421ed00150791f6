"""What names that are held out of a dictionary tell about the encoder and λ, beside mentions.

python benchmarks/accuracy/choosing.py                all
python benchmarks/accuracy/choosing.py --only NAME    runs one, and keeps the others

Writes results/choosing.json. Dictionaries without annotated mentions: the MEDIC of 2017, evaluated
on development mentions (NCBI Disease, BC5CDR; strict), and the Human Phenotype Ontology without its
layperson synonyms, which are the mentions: whole, and as two small dictionaries of 1,000 concepts
with half and with a tenth of their other synonyms.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import logging
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, locate, medic
from linker import Dictionary, Linker
from linker.evaluation import protocols
from linker.metrics import paired_difference
from linker.options import preset
from linker.readers import table
from linker.training import trial
from linker.training.plan import TrainingPlan

Hits = NDArray[np.bool_]
Tests = Mapping[str, Callable[[Linker], Hits]]
"""Corpora, and what tells which of their mentions a linker has right."""
SEED = 0


def strict(items: Sequence[Any], linker: Linker) -> Hits:
    """Which mentions are right under the protocol strict."""
    return np.array([outcome.rank == 1 for outcome in protocols.strict(linker, items, 1)], bool)


def nearest(texts: Sequence[str], ids: Sequence[str], linker: Linker) -> Hits:
    """Whether one of the best concepts for each text is its own."""
    answers = zip(ids, linker.link(texts, k=1), strict=True)
    return np.array([i in {p.best.concept_id for p in a.parts if p.best} for i, a in answers], bool)


def diseases() -> tuple[Dictionary, Tests]:
    """MEDIC, with two corpora."""
    return medic("2017"), {
        title: partial(strict, documents(corpus, "devel")) for corpus, title in TITLES.items()
    }


def layperson_names(path: Path) -> set[tuple[str, str]]:
    """The synonyms of HPO that laypersons use, each with its concept."""
    names, identifier = set(), ""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            identifier = line[4:].strip() if line.startswith("id: ") else identifier
            if match := re.match(r'synonym: "(.*)" \w+ layperson', line):
                names.add((identifier, match[1]))
    return names


def phenotypes(concepts: int = 0, share: float = 1.0) -> tuple[Dictionary, Tests]:
    """HPO without the names that laypersons use, which are the mentions.

    Args:
        concepts: how many of its concepts there are; 0: all.
        share: the share of their other synonyms that is kept.
    """
    path = locate("ontologies/hp.obo.gz")
    lay, whole = layperson_names(path), Dictionary.read(path)
    owners = whole.name_concept
    pairs = zip(owners.tolist(), whole.names, strict=True)
    is_lay = np.array([(whole.ids[row], text) in lay for row, text in pairs], bool)
    is_lay[whole.preferred] = False
    random, asked = np.random.default_rng(SEED), np.flatnonzero(is_lay)
    sample = np.unique(owners[asked])
    if concepts:
        sample = random.permutation(sample)[:concepts]
        asked = asked[np.isin(owners[asked], sample)]
    out = is_lay | (random.random(len(is_lay)) >= share)
    out[whole.preferred] = False
    dictionary = whole.without(np.flatnonzero(out))
    if concepts:
        dictionary = only(dictionary, sample.tolist())
    texts = [whole.names[row] for row in asked.tolist()]
    ids = [whole.ids[row] for row in owners[asked].tolist()]
    return dictionary, {"layperson synonyms": partial(nearest, texts, ids)}


def only(dictionary: Dictionary, rows: Sequence[int]) -> Dictionary:
    """Some concepts of a dictionary, without their parents."""
    concepts = (dataclasses.replace(dictionary.concept(row), parents=()) for row in rows)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as file:
        table.write(concepts, file.file)
        file.flush()
        return Dictionary.read(file.name)


TASKS: dict[str, Callable[[], tuple[Dictionary, Tests]]] = {
    "HPO, 1,000 concepts, a tenth of their synonyms": partial(phenotypes, 1000, 0.1),
    "HPO, 1,000 concepts, half of their synonyms": partial(phenotypes, 1000, 0.5),
    "HPO": phenotypes,
    "MEDIC 2017": diseases,
}


def run(name: str) -> dict[str, Any]:
    """What the held-out names say, and what the mentions say."""
    dictionary, tests = TASKS[name]()
    held = trial.hold_out(dictionary, TrainingPlan("dan", preset("default", "dan")).normalize, SEED)
    learnt, start = held.dictionary if held else dictionary, time.perf_counter()
    tfidf, between = Linker.train(dictionary), time.perf_counter()
    dan = Linker.train(learnt, encoder="dan").over(dictionary)
    seconds = {"tfidf": between - start, "dan": time.perf_counter() - between}
    row: dict[str, Any] = {"concepts": len(dictionary), "names": len(dictionary.names)}
    row["seconds"] = {encoder: round(value, 1) for encoder, value in seconds.items()}
    factor, row["taken"] = 1.0, "tfidf"
    if held:
        choice = trial.compare(dan.over(learnt), held.right)
        factor, row["taken"] = choice.factor, choice.linker.encoder
        counts = {"names": choice.asked, "tfidf": choice.sparse, "dan": choice.dense}
        row["held_out"] = counts | {"factor": factor}
    row["mentions"] = {
        corpus: compared(right, tfidf, dan, factor) for corpus, right in tests.items()
    }
    print(name, json.dumps(row, indent=1, ensure_ascii=False), flush=True)
    return row


def compared(
    right: Callable[[Linker], Hits], tfidf: Linker, dan: Linker, factor: float
) -> dict[str, Any]:
    """Acc@1 by characters and by the DAN, as trained and with the λ that was chosen."""
    factors = sorted({factor, *trial.FACTORS})
    by_factor = {value: right(dan.weighted(value)) for value in factors}
    systems = {"tfidf": right(tfidf)}
    systems |= {"dan as trained": by_factor[1.0], "dan with λ chosen": by_factor[factor]}
    shares = {str(value): round(float(hits.mean()), 4) for value, hits in by_factor.items()}
    row: dict[str, Any] = {"n": len(systems["tfidf"]), "by factor": shares}
    base = systems["tfidf"][None].astype(float)
    for system, hits in systems.items():
        gain, *interval = paired_difference(hits[None].astype(float), base)
        row[system] = {"acc1": round(float(hits.mean()), 4), "gain": gain, "interval": interval}
    return row


if __name__ == "__main__":
    parser = results.parser(__doc__)
    again = "run this one; may be given again"
    parser.add_argument("--only", choices=TASKS, action="append", help=again)
    given = parser.parse_args()
    logging.getLogger("linker").setLevel(logging.ERROR)
    old = results.figures("choosing") if given.only and results.exists("choosing") else {}
    rows = {n: run(n) if not given.only or n in given.only else old.get(n) for n in TASKS}
    results.save("choosing", rows, seed=SEED)
