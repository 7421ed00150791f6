"""Dictionaries of 0.1, 1 and 10 million names: training, opening, linking, recall, memory, disk.

python benchmarks/speed/scale.py                       what is not measured yet
python benchmarks/speed/scale.py --sizes 0.1 1         of these sizes, in millions
python benchmarks/speed/scale.py --again               measures anew
python benchmarks/speed/scale.py --before d941037      measures an earlier commit, as `before`
python benchmarks/speed/scale.py --table               only writes the result and the plots

Writes results/scale.json and the plots scale-*.png. Names are recombined (lib/recombined.py); the
mentions are the distinct development mentions of both corpora, and names with a slip. Each
measurement is a process of its own. Dictionaries, models and figures are kept in
benchmarks/work/scale. Recall is that of the best 20 names against scores with all names
(lib/exact.py).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

import numpy as np

from benchmarks.lib import earlier, exact, recombined, results
from benchmarks.lib.data import TITLES, documents
from benchmarks.lib.measure import (
    Figures,
    apart,
    linked,
    megabytes,
    memory,
    peak,
    run_command,
    timed,
)

SIZES = (0.1, 1.0, 10.0)  # millions of names
ENCODERS = ("tfidf", "static")
K, SAMPLE = 20, 200  # names of a query, queries whose recall is measured
SLIPS = 1500  # names with a slip among the mentions
ROUNDS = 3
TARGETS = {  # at ten million names
    "training_peak_mb": 12_000,
    "open_seconds": 3,
    "resident_mb": 6_000,
    "recall": 0.97,
    "mentions_per_second": {"static": 500, "tfidf": 300},
}
WORK = results.WORK / "scale"


def dictionary(size: float) -> Path:
    """The file of a dictionary of so many million names; written on first use."""
    path = WORK / f"names-{size:g}.tsv"
    if not path.exists():
        recombined.write(path, round(size * 1_000_000))
    return path


def mentions(seed: int = 0) -> list[str]:
    """Distinct mentions, then names with a slip, which are the same for all sizes."""
    items = [document for corpus in TITLES for document in documents(corpus, "devel")]
    texts = dict.fromkeys(mention.text for document in items for mention in document.mentions)
    names = [name for _, names in recombined.real() for name in names]
    sample = np.random.default_rng(seed).choice(len(names), SLIPS, replace=False)
    slips = recombined.perturbed([names[row] for row in sample.tolist()], seed)
    return list(dict.fromkeys([*texts, *slips]))


def train(size: float, encoder: str, model: str) -> Figures:
    """Run `linker train` in this process."""
    names = dictionary(size)
    figures = run_command("train", "--dict", names, "--encoder", encoder, "-o", model)
    sizes = {"model_mb": megabytes(Path(model))}
    return figures | sizes | {"dictionary_mb": round(names.stat().st_size / 1e6, 1)}


def first_answer(size: float, encoder: str, model: str) -> Figures:
    """Open a model and link one mention; the time of the open alone, and of both."""
    from linker import Linker

    opening, linker = timed(lambda: Linker.load(model))
    linking, _ = timed(lambda: list(linker.link(["ataxia telangiectasia syndrome"])))
    return {
        "open_seconds": round(opening, 3),
        "answer_seconds": round(opening + linking, 3),
        "names": len(linker.dictionary.names),
        "distinct_names": len(linker.generator.table),
        "concepts": len(linker.dictionary),
        "peak_mb": round(peak()),
    }


def link(size: float, encoder: str, model: str) -> Figures:
    """Link the distinct mentions, by a new linker each time; memory while that goes on."""
    asked, rates, resident = mentions(), [], 0.0
    for seconds, count in linked(Path(model), asked, ROUNDS):
        rates.append(round(count / seconds, 1))
        resident = max(resident, next(memory("self", "VmRSS")))
    return {
        "mentions": len(asked),
        "mentions_per_second": rates,
        "resident_mb": round(resident),
        "of_it_not_in_files_mb": round(next(memory("self", "RssAnon"))),
        "peak_mb": round(peak()),
    }


def recall(size: float, encoder: str, model: str) -> Figures:
    """Of the K names with the best scores, the share that is found, over some queries."""
    from linker import Linker

    linker = Linker.load(model)
    sample = np.random.default_rng(0).permutation(mentions())[:SAMPLE].tolist()
    queries = list(dict.fromkeys(filter(None, map(linker.normalize, sample))))
    shares = exact.found(linker, queries, K)
    found = round(sum(shares) / len(shares), 4)
    return {"queries": len(queries), "recall": found, "complete": shares.count(1.0)}


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


def measured(size: float, encoder: str, library: Path | None, again: bool) -> Figures:
    """The figures of one size and encoder; each part is kept as soon as it is known."""
    name = f"{library.name if library else 'now'}-{size:g}-{encoder}"
    kept, model = WORK / f"{name}.json", WORK / f"model-{name}"
    dictionary(size)
    figures = json.loads(kept.read_text("utf-8")) if kept.exists() and not again else {}
    for part, work in PARTS.items():
        if part not in figures:
            print(f"{name}: {part}", flush=True)
            figures[part] = apart(work, size, encoder, str(model), library=library)
            kept.write_text(json.dumps(figures), encoding="utf-8")
    return figures


def table() -> None:
    """Write the result of what is kept, and the plots."""
    rows: dict[str, list[Figures]] = {"now": [], "before": []}
    for path in sorted(WORK.glob("*.json")):
        commit, size, encoder = path.stem.split("-")
        figures = json.loads(path.read_text("utf-8"))
        if set(figures) >= set(PARTS):
            row = {"millions": float(size), "encoder": encoder, "commit": commit} | figures
            rows["now" if commit == "now" else "before"].append(row)
    for part in rows.values():
        part.sort(key=lambda row: (ENCODERS.index(row["encoder"]), row["millions"]))
    figures = {"cores": len(os.sched_getaffinity(0)), "k": K, "machine": machine()}
    figures |= {"targets": TARGETS} | rows
    results.save("scale", figures, seed=0)
    plot(rows)


PLOTS: dict[str, tuple[str, Callable[[Figures], float]]] = {
    "training": ("training, seconds", lambda row: row["training"]["seconds"]),
    "training-memory": ("peak memory of training, MB", lambda row: row["training"]["peak_mb"]),
    "disk": ("model, MB", lambda row: row["training"]["model_mb"]),
    "open": ("opening, seconds", lambda row: row["later_open"]["open_seconds"]),
    "resident": ("memory while linking, MB", lambda row: row["linking"]["resident_mb"]),
    "linking": (
        "distinct mentions a second",
        lambda row: float(np.median(row["linking"]["mentions_per_second"])),
    ),
    "recall": ("recall of the best 20 names", lambda row: row["recall"]["recall"]),
}


def plot(rows: dict[str, list[Figures]]) -> None:
    """A plot for each growth curve, of now and of before."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    results.PLOTS.mkdir(parents=True, exist_ok=True)
    for name, (title, value) in PLOTS.items():
        canvas, axes = pyplot.subplots(figsize=(5, 3.5))
        for when, style in (("now", "o-"), ("before", "x--")):
            for encoder in ENCODERS:
                of_encoder = [row for row in rows[when] if row["encoder"] == encoder]
                sizes, values = [row["millions"] for row in of_encoder], map(value, of_encoder)
                if sizes:
                    axes.plot(sizes, list(values), style, label=f"{encoder}, {when}")
        axes.set(xlabel="million names", ylabel=title, xscale="log")
        if name != "recall":
            axes.set_yscale("log")
        axes.grid(alpha=0.3)
        axes.legend()
        canvas.tight_layout()
        canvas.savefig(results.PLOTS / f"scale-{name}.png", dpi=100, metadata={"Software": None})
        pyplot.close(canvas)


if __name__ == "__main__":
    parser = results.parser(__doc__)
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES, help="millions of names")
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=ENCODERS)
    parser.add_argument("--before", metavar="COMMIT", help="measure an earlier commit")
    parser.add_argument("--again", action="store_true", help="forget what is measured already")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    if not arguments.table:
        library = earlier.library(arguments.before) if arguments.before else None
        for millions in arguments.sizes:
            for name in arguments.encoders:
                print(json.dumps(measured(millions, name, library, arguments.again)), flush=True)
    table()
