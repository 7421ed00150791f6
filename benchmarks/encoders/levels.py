"""The higher-level DAN on the levels of taxonomies (Fivez et al. 2021b, tables 4, 5 and 7).

python benchmarks/encoders/levels.py            makes what is missing
python benchmarks/encoders/levels.py --table    makes nothing, puts together what is kept

Writes results/levels.json; runs are kept in results/runs/levels.jsonl.gz. Similarity ranking,
hypernym detection and relatedness, on four levels below each of three concepts of MEDIC (2017) and
one of the Disease Ontology; the seed draws the test names, the network and its training. "DAN
concepts" is trained on the same names with their own concepts as classes, to see what comes from
the bottom up. "CCA + DAN" projects the word means first, fitted to those concepts, as `linker
train` does; the paper's does not.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.encoders import tasks
from benchmarks.encoders.tasks import DEPTH, Level
from benchmarks.lib import results, runs
from benchmarks.lib.data import locate, medic
from benchmarks.lib.vectors import YEAR, Encode, minilm, related, spread, spreads, vectors
from linker import Dictionary
from linker.dictionary import classes
from linker.dictionary.classes import Classes
from linker.encoders.dan import DanEncoder
from linker.encoders.trainable import TrainableDan
from linker.linking.options import changed, preset
from linker.text.normalize import normalize
from linker.training import ground
from linker.training.loop import run as run_phase
from linker.training.plan import RunSettings

TABLE, SEEDS = "levels", range(3)
ROOTS = {  # the concepts that the levels are below, and the dictionary of each
    "MESH:D009422": "MEDIC",  # nervous system diseases
    "MESH:D009358": "MEDIC",  # congenital abnormalities
    "MESH:D013568": "MEDIC",  # symptoms
    "DOID:7": "DO",  # diseases of the anatomy
}
KINDS = ("DAN", "CCA + DAN")  # the paper's, and ours
LEVELS = [f"{kind} level {k}" for kind in KINDS for k in range(1, DEPTH + 1)]
ENCODERS = ("word mean", "MiniLM", "DAN concepts", *LEVELS)
PUBLISHED = {  # of the subgraph C1290864 of SNOMED-CT: mAP and MRR on each level
    "word mean": ((0.26, 0.27, 0.25, 0.33), (0.46, 0.44, 0.53, 0.65)),
    "DAN level 1": ((0.57, 0.50, 0.39, 0.43), (0.60, 0.58, 0.59, 0.68)),
    "DAN level 2": ((0.49, 0.58, 0.46, 0.48), (0.52, 0.59, 0.62, 0.70)),
    "DAN level 3": ((0.43, 0.51, 0.56, 0.54), (0.55, 0.57, 0.66, 0.73)),
    "DAN level 4": ((0.38, 0.43, 0.47, 0.60), (0.53, 0.52, 0.63, 0.74)),
}


@cache
def dictionary(name: str) -> Dictionary:
    """The dictionary that a root is of."""
    return medic(YEAR) if name == "MEDIC" else Dictionary.read(locate("ontologies/doid.obo.gz"))


@cache
def split(root: str, seed: int) -> Sequence[Level]:
    """The names of each level."""
    return tasks.levels(dictionary(ROOTS[root]), root, seed)


def concepts_of(root: str, level: Level) -> tuple[Classes, Classes]:
    """The names of a level that stand for one concept, with their concepts as classes.

    Names to validate with whose concepts are not trained on are left out.
    """
    every = classes.of_concepts(dictionary(ROOTS[root]).table(normalize))
    label = dict(zip(every.texts, every.labels.tolist(), strict=True))
    given = (level.train.texts, level.validation.texts)
    parts = [[text for text in dict.fromkeys(part) if text in label] for part in given]
    codes = {code: i for i, code in enumerate(dict.fromkeys(label[text] for text in parts[0]))}
    kept = [[text for text in part if label[text] in codes] for part in parts]
    train, test = (
        Classes(part, np.array([codes[label[text]] for text in part], np.int64)) for part in kept
    )
    return train, test


def trained(root: str, name: str, seed: int) -> tuple[Encode, float]:
    """An encoder, and the CPU seconds that training took."""
    parts, options = split(root, seed), preset("default", "dan-higher")
    if name == "MiniLM":
        return minilm().encode, 0.0
    level = parts[int(name[-1]) - 1] if " level " in name else parts[-1]
    names, validation = level.train, level.validation
    concepts = concepts_of(root, level)
    if name == "DAN concepts":
        names, validation = concepts
    hidden = 0 if name == "word mean" else options.encoder.hidden
    dan = dataclasses.replace(options.encoder, cca=name.startswith("CCA"), hidden=hidden)
    # levels have too few classes to project to
    fitted_to = concepts[0] if dan.cca else names
    encoder = TrainableDan(DanEncoder.fitted(fitted_to, dan, vectors("fastText"), seed))
    start = time.process_time()
    if dan.hidden:
        seeded = changed(options, {"training": {"seed": seed}})
        grounding = ground.Grounding(encoder, names, seeded, encoder.encode, validation)
        run_phase(grounding.phase(encoder), RunSettings(), {})
    return encoder.eval().encode, (time.process_time() - start) * bool(dan.hidden)


def find(root: str, name: str, seed: int) -> dict[str, Any]:
    """Train an encoder on one level and evaluate it on each."""
    parts, options = split(root, seed), preset("default", "dan-higher")
    encode, seconds = trained(root, name, seed)
    figures: dict[str, Any] = {"root": root, "encoder": name, "seed": seed}
    figures |= {"ground": dataclasses.asdict(options.recipe), "cpu_seconds": round(seconds)}
    for score, part in (("map", "train"), ("mrr", "above")):
        ranks = [tasks.retrieved(encode, level.test, getattr(level, part)) for level in parts]
        figures[score] = [tasks.scores(of_level)[score] for of_level in ranks]
    return figures | {"relatedness": related(encode)}


def mean(row_runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The spread of each figure over the seeds."""
    row: dict[str, Any] = {
        part: [spread([run[part][k] for run in row_runs]) for k in range(DEPTH)]
        for part in ("map", "mrr")
    }
    row["relatedness"] = spreads(row_runs, "relatedness")
    seconds = [run["cpu_seconds"] for run in row_runs]
    return row | {"cpu_seconds": seconds}


if __name__ == "__main__":
    every = product(SEEDS, ROOTS, ENCODERS)
    wanted = {runs.slug(f"{r} {e} {seed}"): partial(find, r, e, seed) for seed, r, e in every}
    kept = runs.made(TABLE, wanted, is_table=results.only_table(__doc__))
    rows = []
    for root, encoder in product(ROOTS, ENCODERS):
        of_row = [run for run in kept.values() if (run["root"], run["encoder"]) == (root, encoder)]
        if of_row:
            row = {"root": root, "of": ROOTS[root], "encoder": encoder, "runs": len(of_row)}
            rows.append(row | mean(of_row))
    results.save("levels", {"rows": rows, "published": PUBLISHED})
