"""What names that are held out of a dictionary tell about the encoder and λ, and whether mentions say the same.

python benchmarks/accuracy/choosing.py                 -> results/choosing.json; --only NAME runs one, and keeps the others

Dictionaries without annotated mentions: the MEDIC of 2017, judged on development mentions (NCBI Disease, BC5CDR; strict), and the Human
Phenotype Ontology without its layperson synonyms, which are the mentions: whole, and as two small dictionaries of 1,000 concepts with half
and with a tenth of their other synonyms.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import logging
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.common import DATA, RESULTS, medic, save
from linker import Dictionary, Linker, choosing
from linker.evaluation import protocols
from linker.linker import normal_form
from linker.metrics import paired_difference
from linker.options import preset
from linker.readers import mentions, table

Judged = Mapping[str, Callable[[Linker], NDArray[np.bool_]]]
SEED = 0


def strict(path: Path) -> Callable[[Linker], NDArray[np.bool_]]:
    """Which development mentions of diseases are right under the protocol strict."""
    items = list(mentions.read(path, type="Disease"))
    return lambda linker: np.array(
        [outcome.rank == 1 for outcome in protocols.strict(linker, items, 1)], bool
    )


def diseases() -> tuple[Dictionary, Judged]:
    """MEDIC, with two corpora."""
    paths = {
        "NCBI Disease": "ncbi-disease/NCBI_devel.pubtator.txt.gz",
        "BC5CDR": "bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz",
    }
    return medic("2017"), {name: strict(DATA / path) for name, path in paths.items()}


def phenotypes(concepts: int = 0, share: float = 1.0) -> tuple[Dictionary, Judged]:
    """HPO without the names that laypersons use; of so many concepts only where they are given, with a share of their synonyms."""
    path = DATA / "ontologies" / "hp.obo.gz"
    lay: set[tuple[str, str]] = set()
    identifier = ""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            identifier = line[4:].strip() if line.startswith("id: ") else identifier
            if found := re.match(r'synonym: "(.*)" \w+ layperson', line):
                lay.add((identifier, found[1]))
    whole = Dictionary.read(path)
    names = [
        (whole.ids[row], text)
        for row, text in zip(whole.name_concept.tolist(), whole.names, strict=True)
    ]
    is_lay = np.array([name in lay for name in names], bool)
    is_lay[whole.preferred] = False
    random = np.random.default_rng(SEED)
    asked = np.flatnonzero(is_lay)
    if concepts:
        some = random.permutation(np.unique(whole.name_concept[asked]))[:concepts]
        asked = asked[np.isin(whole.name_concept[asked], some)]
    out = is_lay | (random.random(len(is_lay)) >= share)
    out[whole.preferred] = False
    dictionary = whole.without(np.flatnonzero(out))
    if concepts:
        with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as small:
            table.write(
                (dataclasses.replace(dictionary.concept(row), parents=()) for row in some.tolist()),
                small.file,
            )
            small.flush()
            dictionary = Dictionary.read(small.name)
    wanted = [whole.ids[row] for row in whole.name_concept[asked].tolist()]
    texts = [whole.names[row] for row in asked.tolist()]

    def right(linker: Linker) -> NDArray[np.bool_]:
        found = linker.link(texts, k=1)
        return np.array(
            [
                w in {p.best.concept_id for p in f.parts if p.best}
                for w, f in zip(wanted, found, strict=True)
            ],
            bool,
        )

    return dictionary, {"layperson synonyms": right}


TASKS: dict[str, Callable[[], tuple[Dictionary, Judged]]] = {
    "HPO, 1,000 concepts, a tenth of their synonyms": lambda: phenotypes(1000, 0.1),
    "HPO, 1,000 concepts, half of their synonyms": lambda: phenotypes(1000, 0.5),
    "HPO": phenotypes,
    "MEDIC 2017": diseases,
}


def run(name: str) -> dict[str, Any]:
    """What the held-out names say, and what the mentions say."""
    dictionary, judged = TASKS[name]()
    held = choosing.hold_out(dictionary, normal_form(preset("default", "dan"), {}), SEED)
    learnt = held.dictionary if held else dictionary
    linkers, seconds = {}, {}
    for encoder in ("tfidf", "dan"):
        start = time.perf_counter()
        linkers[encoder] = (
            Linker.train(learnt, encoder=encoder).over(dictionary)
            if encoder == "dan"
            else Linker.train(dictionary)
        )
        seconds[encoder] = round(time.perf_counter() - start, 1)
    row: dict[str, Any] = {
        "concepts": len(dictionary),
        "names": len(dictionary.names),
        "seconds": seconds,
    }
    factor = 1.0
    if held:
        found = choosing.compare(linkers["dan"].over(learnt), held.right)
        factor = found.factor
        row |= {
            "held_out": {
                "names": found.asked,
                "tfidf": found.sparse,
                "dan": found.dense,
                "factor": factor,
            }
        }
    row["taken"] = "dan" if held and found.linker.encoder == "dan" else "tfidf"
    row["mentions"] = {}
    for corpus, right in judged.items():
        each = {
            factor: right(linkers["dan"].weighted(factor))
            for factor in sorted({factor, *choosing.FACTORS})
        }
        characters = right(linkers["tfidf"])
        values = {
            "tfidf": characters,
            "dan as trained": each[1.0],
            "dan with λ chosen": each[factor],
        }
        shown: dict[str, Any] = {
            "n": len(characters),
            "by factor": {str(f): round(float(v.mean()), 4) for f, v in each.items()},
        }
        for system, some in values.items():
            difference = paired_difference(some[None].astype(float), characters[None].astype(float))
            shown[system] = {
                "acc1": round(float(some.mean()), 4),
                "gain": difference[0],
                "interval": difference[1:],
            }
        row["mentions"][corpus] = shown
    print(name, json.dumps(row, indent=1, ensure_ascii=False), flush=True)
    return row


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", choices=TASKS, action="append", help="run this one; may be given again"
    )
    given = parser.parse_args()
    logging.getLogger("linker").setLevel(logging.ERROR)
    kept = (
        json.loads((RESULTS / "choosing.json").read_text("utf-8"))["figures"]
        if given.only and (RESULTS / "choosing.json").exists()
        else {}
    )
    save(
        "choosing",
        {
            name: run(name) if not given.only or name in given.only else kept.get(name)
            for name in TASKS
        },
        seed=SEED,
    )
