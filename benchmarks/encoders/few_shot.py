"""The few-shot encoder: how relatedness gains from 5 to 25 names a class, and from stacks (Fivez et al. 2021c, figure 1, tables 3 and 4).

python benchmarks/encoders/few_shot.py            makes what is missing -> results/runs/few-shot/, results/few_shot.json, results/plots/few-shot.png
python benchmarks/encoders/few_shot.py --table    makes nothing, puts together what is kept

I: the 21 chapters of ICD-10. S: the 21 largest parts of MEDIC (2017), which stand for those of SNOMED-CT. A sample draws the names that
are trained on and judged by, the network and its training; five samples, as in the paper.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.encoders.name_encoders import WORK, YEAR, kept, related, vectors
from benchmarks.lib.common import DATA, RESULTS, medic, save
from linker.candidates.dense import top_k
from linker.dictionary import classes
from linker.dictionary.classes import Classes
from linker.encoders.base import Encoder
from linker.encoders.bne import BneEncoder
from linker.encoders.dan import DanEncoder
from linker.encoders.fewshot import FewShotEncoder
from linker.encoders.options import DanOptions, TransformerOptions
from linker.encoders.words import unit
from linker.options import preset
from linker.text.normalize import normalize
from linker.training import ground
from linker.training.loop import Epoch

SAMPLES, SHOTS, CURVE = 5, 15, (5, 10, 15, 20, 25)
INPUTS = {"fastText": "dan", "CCA": "dan", "MiniLM": "transformer", "BNE": "bne"}
ORDERS = ("S > I", "I > S")
PLOT = RESULTS / "plots" / "few-shot.png"
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
        names = medic(YEAR)
        return classes.of_parts(
            names.table(normalize),
            names.hierarchy,
            preset("default", "fewshot").ground.parts,
            ids=names.ids,
        )
    with gzip.open(DATA / "icd10" / "icd10_chapters.json.gz", "rt", encoding="utf-8") as file:
        chapters = json.load(file)
    pairs = dict.fromkeys(
        (normalize(name), label) for label, names in enumerate(chapters.values()) for name in names
    )
    every = Classes(
        [name for name, _ in pairs], np.array([label for _, label in pairs]), list(chapters)
    )
    return every.relabelled(np.flatnonzero(np.bincount(every.spelling)[every.spelling] == 1))


@cache
def below(name: str) -> Encoder:
    """What is started from."""
    if name == "MiniLM":
        from linker.encoders.transformer import TransformerEncoder

        return TransformerEncoder.create(TransformerOptions()).eval()
    if name == "BNE":
        return BneEncoder.load(WORK / "encoders" / "fine-bne-0")
    names = classes.of_concepts(medic(YEAR).table(normalize))
    return DanEncoder.of(
        names, DanOptions(cca=name == "CCA", hidden=0), vectors("fastText"), 0
    ).eval()


def trained(
    base: Encoder, kind: str, which: str, shots: int, sample: int
) -> tuple[FewShotEncoder, dict[str, Any]]:
    """An encoder on another one, and its figures."""
    options, history = preset("default", "fewshot"), list[Mapping[str, float]]()
    train, judged = classes.shots(large_classes(which), shots, sample)
    start = time.process_time()
    import torch

    torch.manual_seed(sample)
    encoder = FewShotEncoder(base, kind, options.fewshot)
    keep = lambda event: history.append(dict(event.record)) if isinstance(event, Epoch) else None  # noqa: E731
    grounding = dataclasses.replace(options.ground, shots=shots)
    ground.train(encoder, train, grounding, sample, judged, keep)
    figures = {
        "relatedness": related(encoder.eval().encode),
        "names": len(train),
        "epochs": len(history),
    }
    return encoder, figures | {
        "cpu_seconds": round(time.process_time() - start),
        "nearest": nearest([base, encoder], train, judged),
    }


def nearest(encoders: Sequence[Encoder], train: Classes, judged: Classes) -> dict[str, Any]:
    """The ten nearest training names of the first name that is judged by, before and after (table 4)."""
    place = int(np.argsort(judged.texts)[0])
    found = []
    for encoder in encoders:
        (rows,), _ = top_k(
            unit(encoder.encode([judged.texts[place]])), unit(encoder.encode(train.texts)), 10
        )
        found.append(
            [[train.texts[row], bool(train.labels[row] == judged.labels[place])] for row in rows]
        )
    return {
        "mention": judged.texts[place],
        "class": judged.ids[judged.labels[place]],
        "before": found[0],
        "after": found[1],
    }


def stacked(name: str, order: str, sample: int) -> dict[str, Any]:
    """Train on one hierarchy, and then, on top of that, on the other."""
    first, second = order.split(" > ")
    lower, own = trained(below(name), INPUTS[name], first, SHOTS, sample)
    _, upper = trained(lower, "fewshot", second, SHOTS, sample)
    return {
        "input": name,
        "order": order,
        "sample": sample,
        "runs": {first: own, order: upper},
    } | asked()


def curve(shots: int, sample: int) -> dict[str, Any]:
    """Train on so many names of each chapter of ICD-10."""
    _, figures = trained(below("fastText"), INPUTS["fastText"], "I", shots, sample)
    return {"shots": shots, "sample": sample, **figures} | asked()


def asked() -> dict[str, Any]:
    """The options of all runs."""
    options = preset("default", "fewshot")
    return {
        "fewshot": dataclasses.asdict(options.fewshot),
        "ground": dataclasses.asdict(options.ground),
    }


def main() -> None:
    """Make the runs that are missing, the table and the plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", action="append", choices=list(INPUTS), help="may be given again")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    jobs: dict[str, Callable[[], dict[str, Any]]] = {}
    for sample in range(SAMPLES):
        for name in given.input or INPUTS:
            jobs |= {
                f"{name}-{order}-{sample}": partial(stacked, name, order, sample)
                for order in ORDERS
            }
            if name == "fastText":
                jobs |= {
                    f"curve-{shots}-{sample}": partial(curve, shots, sample)
                    for shots in CURVE
                    if shots != SHOTS
                }
    found = []
    for job, make in jobs.items():
        path = f"runs/few-shot/{job}".lower().replace(" > ", "-")
        if not given.table:
            kept(path, make)
        if (RESULTS / f"{path}.json").exists():
            found.append(kept(path, dict))
    wanted = json.loads(json.dumps(asked()))
    if stale := [run for run in found if {name: run[name] for name in wanted} != wanted]:
        raise SystemExit(
            f"{len(stale)} runs of results/runs/few-shot are of other options than those of today; move them away"
        )
    rows = table([run for run in found if "input" in run])
    points = [
        {"shots": run["shots"], "relatedness": run["relatedness"]}
        for run in found
        if "shots" in run
    ]
    fast = [
        run["runs"]["I"]["relatedness"]
        for run in found
        if run.get("input") == "fastText" and "I" in run["runs"]
    ]
    points += [{"shots": SHOTS, "relatedness": own} for own in fast]
    figure(points, related(below("fastText").encode)["mayosrs"])
    save(
        "few_shot",
        {
            "rows": rows,
            "curve": points,
            "published": [[*key, *values] for key, values in PUBLISHED.items()],
        },
    )
    for row in rows:
        print(row["input"], row["on"], row["samples"], row["relatedness"])


def table(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row for each input and what it was trained on: the mean over the samples, the least and the largest."""
    rows = []
    for name in dict.fromkeys(run["input"] for run in runs):
        own = {
            "input": [
                {"relatedness": related(below(name).encode), "cpu_seconds": 0, "nearest": None}
            ]
        }
        for run in runs:
            for on, figures in run["runs"].items() if run["input"] == name else ():
                own.setdefault(on, []).append(figures)
        for on, some in own.items():
            values = {
                task: [figures["relatedness"][task] for figures in some]
                for task in some[0]["relatedness"]
            }
            spread = {
                task: [round(float(f(of)), 4) for f in (np.mean, np.min, np.max)]
                for task, of in values.items()
            }
            row: dict[str, Any] = {
                "input": name,
                "on": on,
                "samples": len(some),
                "relatedness": spread,
                "nearest": some[0]["nearest"],
            }
            rows.append(row | {"cpu_seconds": [figures["cpu_seconds"] for figures in some]})
    return rows


def figure(points: Sequence[Mapping[str, Any]], start: float) -> None:
    """Figure 1: MayoSRS by the number of names a class, the mean of the samples and their range."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    by = {
        shots: [p["relatedness"]["mayosrs"] for p in points if p["shots"] == shots]
        for shots in sorted({p["shots"] for p in points})
    }
    if not by:
        return
    canvas, axes = pyplot.subplots(figsize=(6, 4))
    axes.plot(
        [*by],
        [np.mean(own) for own in by.values()],
        marker="o",
        label="few-shot encoder on fastText, mean of the samples",
    )
    axes.fill_between(
        [*by],
        [min(own) for own in by.values()],
        [max(own) for own in by.values()],
        alpha=0.2,
        label="their range",
    )
    axes.axhline(start, linestyle="--", color="grey", label="fastText")
    axes.set(
        xlabel="names of each of 21 chapters of ICD-10",
        ylabel="Spearman's correlation on MayoSRS",
        xticks=[*by],
    )
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16))
    PLOT.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(PLOT, dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    main()
