"""The few-shot encoder on 15 names a class, and stacks of it (Fivez et al. 2021c).

python benchmarks/encoders/few_shot.py            makes what is missing
python benchmarks/encoders/few_shot.py --table    makes nothing, puts together what is kept

Table 3. Writes results/few_shot.json; runs are kept in results/runs/few-shot.jsonl.gz. I: the 21
chapters of ICD-10. S: the 21 largest parts of MEDIC (2017), which stand for those of SNOMED-CT. A
sample draws the names that are trained on and validated with, the network and its training; five
samples, as in the paper.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results, runs
from benchmarks.lib.data import locate, medic
from benchmarks.lib.vectors import YEAR, related, spreads, vectors
from linker.dictionary import classes
from linker.dictionary.classes import Classes
from linker.encoders.dan import DanEncoder, DanOptions, NumpyEncoder
from linker.encoders.fewshot import FewShotEncoder
from linker.encoders.trainable import TrainableFewShot
from linker.linking.options import changed, preset
from linker.text.normalize import normalize
from linker.training import ground
from linker.training.loop import run as run_phase
from linker.training.plan import RunSettings
from linker.training.sampling import shots as sample_shots

TABLE = "few-shot"
SAMPLES, SHOTS = 5, 15  # names a class
INPUTS = ("fastText", "CCA")
ORDERS = ("S > I", "I > S")
PUBLISHED = {  # MayoSRS, UMNSRS relatedness and similarity, of fastText vectors
    ("fastText", "input"): (0.44, 0.47, 0.48),
    ("fastText", "S"): (0.51, 0.46, 0.51),
    ("fastText", "I"): (0.55, 0.52, 0.56),
    ("fastText", "S > I"): (0.55, 0.46, 0.52),
    ("fastText", "I > S"): (0.54, 0.46, 0.51),
}


@cache
def large_classes(which: str) -> Classes:
    """The names of each class; those of several are left out."""
    if which == "S":
        names, parts = medic(YEAR), preset("default", "fewshot").ground.parts
        return classes.of_parts(names.table(normalize), names.hierarchy, parts, ids=names.ids)
    with gzip.open(locate("icd10/icd10_chapters.json.gz"), "rt", encoding="utf-8") as file:
        chapters = json.load(file)
    pairs = dict.fromkeys(
        (normalize(name), label) for label, names in enumerate(chapters.values()) for name in names
    )
    labels = np.array([label for _, label in pairs])
    every = Classes([name for name, _ in pairs], labels, list(chapters))
    return every.relabelled(np.flatnonzero(np.bincount(every.spelling)[every.spelling] == 1))


@cache
def base_encoder(name: str) -> NumpyEncoder:
    """The encoder of an input, on which the few-shot encoder stands."""
    names, options = medic(YEAR).table(normalize), DanOptions(cca=name == "CCA", hidden=0)
    return DanEncoder.fitted(classes.of_concepts(names), options, vectors("fastText"))


def trained(base: NumpyEncoder, which: str, sample: int) -> tuple[NumpyEncoder, dict[str, Any]]:
    """An encoder on another one, and its figures.

    Args:
        base: the other encoder.
        which: the classes, "I" or "S".
        sample: the seed.
    """
    options = preset("default", "fewshot")
    train, validation = sample_shots(large_classes(which), SHOTS, sample)
    start = time.process_time()
    few_shot = FewShotEncoder(base, options.encoder)
    few_shot.seed = sample
    encoder = TrainableFewShot(few_shot)
    seeded = changed(options, {"ground": {"shots": SHOTS}, "training": {"seed": sample}})
    grounding = ground.Grounding(encoder, train, seeded, encoder.encode, validation)
    run_phase(grounding.phase(encoder), RunSettings(), {})
    figures: dict[str, Any] = {"relatedness": related(encoder.eval().encode)}
    figures["cpu_seconds"] = round(time.process_time() - start)
    return encoder.finished(), figures


def stacked(name: str, order: str, sample: int) -> dict[str, Any]:
    """Train on one hierarchy, and then, on top of that, on the other."""
    first, second = order.split(" > ")
    lower, of_lower = trained(base_encoder(name), first, sample)
    _, of_upper = trained(lower, second, sample)
    figures = {"input": name, "order": order, "sample": sample}
    return figures | {"runs": {first: of_lower, order: of_upper}}


def table(every: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each input and what it was trained on: the spread over the samples."""
    rows = []
    for name in dict.fromkeys(run["input"] for run in every):
        before = {"relatedness": related(base_encoder(name).encode), "cpu_seconds": 0}
        samples = {"input": [before]}
        for run in every:
            for on, figures in run["runs"].items() if run["input"] == name else ():
                samples.setdefault(on, []).append(figures)
        for on, figures in samples.items():
            row: dict[str, Any] = {"input": name, "on": on, "samples": len(figures)}
            row["relatedness"] = spreads(figures, "relatedness", 4)
            rows.append(row | {"cpu_seconds": [sample["cpu_seconds"] for sample in figures]})
    return rows


if __name__ == "__main__":
    wanted: dict[str, Any] = {}
    for sample in range(SAMPLES):
        for name in INPUTS:
            for order in ORDERS:
                run = runs.slug(f"{name} {order} {sample}")
                wanted[run] = partial(stacked, name, order, sample)
    kept = runs.made(TABLE, wanted, is_table=results.only_table(__doc__))
    published = [[*key, *values] for key, values in PUBLISHED.items()]
    results.save("few_shot", {"rows": table([*kept.values()]), "published": published})
