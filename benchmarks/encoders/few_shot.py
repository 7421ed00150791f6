"""The few-shot encoder on 5 to 25 names a class, and stacks of it (Fivez et al. 2021c).

python benchmarks/encoders/few_shot.py            makes what is missing
python benchmarks/encoders/few_shot.py --table    makes nothing, puts together what is kept

Figure 1, tables 3 and 4. Writes results/few_shot.json and results/plots/few-shot.png; runs are kept
in results/runs/few-shot.jsonl.gz. I: the 21 chapters of ICD-10. S: the 21 largest parts of MEDIC
(2017), which stand for those of SNOMED-CT. A sample draws the names that are trained on and
validated with, the network and its training; five samples, as in the paper.
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

from benchmarks.encoders.name_encoders import Run
from benchmarks.lib import results, runs
from benchmarks.lib.data import locate, medic
from benchmarks.lib.vectors import YEAR, minilm, nearest_of_class, related, spreads, vectors
from linker.dictionary import classes
from linker.dictionary.classes import Classes
from linker.encoders.base import Encoder
from linker.encoders.bne import BneEncoder
from linker.encoders.dan import DanEncoder, DanOptions
from linker.encoders.fewshot import FewShotEncoder
from linker.encoders.trainable import TrainableFewShot
from linker.options import changed, preset
from linker.text.normalize import normalize
from linker.training import ground
from linker.training.loop import run as run_phase
from linker.training.plan import RunSettings
from linker.training.sampling import shots as sample_shots

TABLE = "few-shot"
SAMPLES, SHOTS, CURVE = 5, 15, (5, 10, 20, 25)  # names a class, of stacks and of figure 1
INPUTS = {"fastText": "dan", "CCA": "dan", "MiniLM": "transformer", "BNE": "bne"}
ORDERS = ("S > I", "I > S")
PUBLISHED = {  # MayoSRS, UMNSRS relatedness and similarity, of fastText and BNE vectors
    ("fastText", "input"): (0.44, 0.47, 0.48),
    ("BNE", "input"): (0.63, 0.54, 0.58),
    ("fastText", "S"): (0.51, 0.46, 0.51),
    ("BNE", "S"): (0.63, 0.55, 0.60),
    ("fastText", "I"): (0.55, 0.52, 0.56),
    ("BNE", "I"): (0.65, 0.56, 0.60),
    ("fastText", "S > I"): (0.55, 0.46, 0.52),
    ("BNE", "S > I"): (0.67, 0.52, 0.58),
    ("fastText", "I > S"): (0.54, 0.46, 0.51),
    ("BNE", "I > S"): (0.67, 0.53, 0.58),
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
def base_encoder(name: str) -> Encoder:
    """The encoder of an input, on which the few-shot encoder stands."""
    if name == "MiniLM":
        return minilm()
    if name == "BNE":
        return BneEncoder.load(Run("fine", "BNE", 0).folder)
    names, options = medic(YEAR).table(normalize), DanOptions(cca=name == "CCA", hidden=0)
    return DanEncoder.fitted(classes.of_concepts(names), options, vectors("fastText"))


def trained(
    base: Encoder, kind: str, which: str, shots: int, sample: int
) -> tuple[TrainableFewShot, dict[str, Any]]:
    """An encoder on another one, and its figures.

    Args:
        base: the other encoder.
        kind: its name in the registry.
        which: the classes, "I" or "S".
        shots: how many names of each class are trained on.
        sample: the seed.
    """
    options = preset("default", "fewshot")
    train, validation = sample_shots(large_classes(which), shots, sample)
    start = time.process_time()
    few_shot = FewShotEncoder(base, kind, options.encoder)
    few_shot.seed = sample
    encoder = TrainableFewShot(few_shot)
    seeded = changed(options, {"ground": {"shots": shots}, "training": {"seed": sample}})
    grounding = ground.Grounding(encoder, train, seeded, encoder.encode, validation)
    run_phase(grounding.phase(encoder), RunSettings(), {})
    figures: dict[str, Any] = {"relatedness": related(encoder.eval().encode)}
    figures["cpu_seconds"] = round(time.process_time() - start)
    place = int(np.argsort(validation.texts)[0])  # the first validation name (table 4)
    mention, label = validation.texts[place], validation.labels[place]
    figures["nearest"] = {"mention": mention, "class": validation.ids[label]} | {
        when: nearest_of_class(one.encode, mention, train, label)
        for when, one in (("before", base), ("after", encoder))
    }
    return encoder, figures


def stacked(name: str, order: str, sample: int) -> dict[str, Any]:
    """Train on one hierarchy, and then, on top of that, on the other."""
    first, second = order.split(" > ")
    lower, of_lower = trained(base_encoder(name), INPUTS[name], first, SHOTS, sample)
    _, of_upper = trained(lower, "fewshot", second, SHOTS, sample)
    figures = {"input": name, "order": order, "sample": sample}
    return figures | {"runs": {first: of_lower, order: of_upper}}


def curve(shots: int, sample: int) -> dict[str, Any]:
    """Train on so many names of each chapter of ICD-10."""
    _, figures = trained(base_encoder("fastText"), INPUTS["fastText"], "I", shots, sample)
    return {"shots": shots, "sample": sample, **figures}


def table(every: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each input and what it was trained on: the spread over the samples."""
    rows = []
    for name in dict.fromkeys(run["input"] for run in every):
        before = {"relatedness": related(base_encoder(name).encode), "cpu_seconds": 0}
        samples = {"input": [before | {"nearest": None}]}
        for run in every:
            for on, figures in run["runs"].items() if run["input"] == name else ():
                samples.setdefault(on, []).append(figures)
        for on, figures in samples.items():
            row: dict[str, Any] = {"input": name, "on": on, "samples": len(figures)}
            row["relatedness"] = spreads(figures, "relatedness", 4)
            row["nearest"] = figures[0]["nearest"]
            rows.append(row | {"cpu_seconds": [sample["cpu_seconds"] for sample in figures]})
    return rows


def figure(points: Mapping[int, Sequence[float]], start: float) -> None:
    """Figure 1: MayoSRS by the number of names a class, the mean of the samples and their range."""
    shots = sorted(points)
    values = [points[count] for count in shots]
    with results.plotted("few-shot", figsize=(6, 4)) as axes:
        title = "few-shot encoder on fastText, mean of the samples"
        axes.plot(shots, [np.mean(scores) for scores in values], marker="o", label=title)
        low, high = [*map(min, values)], [*map(max, values)]
        axes.fill_between(shots, low, high, alpha=0.2, label="their range")
        axes.axhline(start, linestyle="--", color="grey", label="fastText")
        x, y = "names of each of 21 chapters of ICD-10", "Spearman's correlation on MayoSRS"
        axes.set(xlabel=x, ylabel=y, xticks=shots)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))


if __name__ == "__main__":
    wanted: dict[str, Any] = {}
    for sample in range(SAMPLES):
        for name in INPUTS:
            for order in ORDERS:
                run = runs.slug(f"{name} {order} {sample}")
                wanted[run] = partial(stacked, name, order, sample)
        for shots in CURVE:
            wanted[f"curve-{shots}-{sample}"] = partial(curve, shots, sample)
    kept = runs.made(TABLE, wanted, is_table=results.only_table(__doc__))
    stacks = [run for run in kept.values() if "input" in run]
    points: dict[int, list[float]] = {}
    for run in kept.values():
        if "shots" in run:
            points.setdefault(run["shots"], []).append(run["relatedness"]["mayosrs"])
        elif run["input"] == "fastText" and "I" in run["runs"]:
            points.setdefault(SHOTS, []).append(run["runs"]["I"]["relatedness"]["mayosrs"])
    figure(points, related(base_encoder("fastText").encode)["mayosrs"])
    published = [[*key, *values] for key, values in PUBLISHED.items()]
    results.save("few_shot", {"rows": table(stacks), "published": published})
