"""Dictionaries of 0.1, 1 and 10 million names: training, opening, linking, recall, memory, disk.

Names are recombined (recombined.py); the mentions are the distinct development mentions of both
corpora, and names with a slip. Dictionaries, models and figures are kept in benchmarks/work/scale:
`--only 0.1` measures a size, `--again` anew, `--table` nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.lib import results
from benchmarks.lib.measure import (
    Figures,
    apart,
    earlier,
    linked,
    megabytes,
    memory,
    peak,
    run_command,
    timed,
)
from benchmarks.speed import exact, recombined
from benchmarks.speed.linking import mentions as development

SIZES = (0.1, 1.0, 10.0)  # millions of names
ENCODERS = ("tfidf", "static")
K, SAMPLE = 20, 200  # names of a query, queries whose recall is measured
SLIPS = 1500  # names with a slip among the mentions
WORK = results.WORK / "scale"


def mentions(seed: int = 0) -> list[str]:
    """Distinct mentions, then names with a slip, which are the same for all sizes."""
    names = [name for _, names in recombined.real() for name in names]
    sample = np.random.default_rng(seed).choice(len(names), SLIPS, replace=False)
    slips = recombined.perturbed([names[row] for row in sample.tolist()], seed)
    return list(dict.fromkeys([*development(), *slips]))


def train(size: float, encoder: str, model: str) -> Figures:
    """Run `linker train` in this process."""
    names = WORK / f"names-{size:g}.tsv"
    figures = run_command("train", "--dict", names, "--encoder", encoder, "-o", model)
    return figures | {"model_mb": megabytes(Path(model))}


def first_answer(size: float, encoder: str, model: str) -> Figures:
    """Open a model and link one mention; the time of the open alone, and of both."""
    from linker import Linker

    opening, linker = timed(lambda: Linker.load(model))
    linking, _ = timed(lambda: list(linker.link(["ataxia telangiectasia syndrome"])))
    seconds = {"open_seconds": round(opening, 3), "answer_seconds": round(opening + linking, 3)}
    return seconds | {"names": len(linker.dictionary.names), "peak_mb": round(peak())}


def link(size: float, encoder: str, model: str) -> Figures:
    """Link the distinct mentions, by a new linker each time; memory while that goes on."""
    asked, rates, resident = mentions(), [], 0.0
    for seconds, count in linked(Path(model), asked, 3):
        rates.append(round(count / seconds, 1))
        resident = max(resident, next(memory("self", "VmRSS")))
    figures = {"mentions": len(asked), "mentions_per_second": rates}
    return figures | {"resident_mb": round(resident), "peak_mb": round(peak())}


def recall(size: float, encoder: str, model: str) -> Figures:
    """Of the K names with the best scores, the share that is found, over some queries."""
    from linker import Linker

    linker = Linker.load(model)
    sample = np.random.default_rng(0).permutation(mentions())[:SAMPLE].tolist()
    queries = list(dict.fromkeys(filter(None, map(linker.normalize, sample))))
    shares = exact.found(linker, queries, K)
    return {"queries": len(queries), "recall": round(sum(shares) / len(shares), 4)}


def machine() -> dict[str, float]:
    """The matrix product that exact dense search would be, and the reading of memory."""
    draw = np.random.default_rng(0)
    names, queries = (draw.random((rows, 384), np.float32) for rows in (100_000, 1024))
    seconds = [timed(lambda: names @ queries.T)[0] for _ in range(5)]
    large = np.ones(100_000_000, np.float32)
    reading = [timed(large.sum)[0] for _ in range(5)]
    return {
        "gflops_fp32": round(2 * names.size * len(queries) / min(seconds) / 1e9),
        "read_gb_per_second": round(large.nbytes / min(reading) / 1e9, 1),
    }


PARTS: dict[str, Callable[[float, str, str], Figures]] = {
    "training": train,
    "first_open": first_answer,  # after the training: all files are read to be checked
    "later_open": first_answer,
    "linking": link,
    "recall": recall,
}


def measured(size: float, encoder: str, library: Path | None, again: bool) -> None:
    """Measure one size and encoder; each part is kept as soon as it is known."""
    name = f"{library.name if library else 'now'}-{size:g}-{encoder}"
    kept, model = WORK / f"{name}.json", WORK / f"model-{name}"
    names = WORK / f"names-{size:g}.tsv"
    if not names.exists():
        recombined.write(names, round(size * 1_000_000))
    figures = json.loads(kept.read_text("utf-8")) if kept.exists() and not again else {}
    for part, work in PARTS.items():
        if part not in figures:
            print(f"{name}: {part}", file=sys.stderr)
            figures[part] = apart(work, size, encoder, str(model), library=library)
            kept.write_text(json.dumps(figures), encoding="utf-8")


def scale(given: argparse.Namespace) -> Figures:
    """Measure what is not kept, and put all together, with the plots scale-*.png."""
    WORK.mkdir(parents=True, exist_ok=True)
    chosen = map(float, given.only or ([0.01] if given.quick else SIZES))
    for size in () if given.table else chosen:
        for encoder in ENCODERS:
            measured(size, encoder, earlier(given.before), given.again)
    rows: dict[str, list[Figures]] = {"now": [], "before": []}
    for path in sorted(WORK.glob("*.json")):
        commit, size, encoder = path.stem.split("-")
        figures = json.loads(path.read_text("utf-8"))
        if set(figures) >= set(PARTS):
            row = {"millions": float(size), "encoder": encoder, "commit": commit} | figures
            rows["now" if commit == "now" else "before"].append(row)
    for part in rows.values():
        part.sort(key=lambda row: (ENCODERS.index(row["encoder"]), row["millions"]))
    if not given.quick:
        plot(rows)
    return {"cores": len(os.sched_getaffinity(0)), "k": K, "machine": machine()} | rows


PLOTS: dict[str, tuple[str, Callable[[Figures], float]]] = {
    "training-memory": ("peak memory of training, MB", lambda row: row["training"]["peak_mb"]),
    "resident": ("memory while linking, MB", lambda row: row["linking"]["resident_mb"]),
    "linking": (
        "distinct mentions a second",
        lambda row: float(np.median(row["linking"]["mentions_per_second"])),
    ),
}


def plot(rows: dict[str, list[Figures]]) -> None:
    """A plot for each growth curve that a page shows, of now and of before."""
    for name, (title, value) in PLOTS.items():
        with results.plotted(f"scale-{name}", figsize=(5, 3.5)) as axes:
            for when, style in (("now", "o-"), ("before", "x--")):
                for encoder in ENCODERS:
                    of_one = [row for row in rows[when] if row["encoder"] == encoder]
                    sizes, values = [row["millions"] for row in of_one], map(value, of_one)
                    if sizes:
                        axes.plot(sizes, list(values), style, label=f"{encoder}, {when}")
            axes.set(xlabel="million names", ylabel=title, xscale="log", yscale="log")
            axes.grid(alpha=0.3)
            axes.legend()
