"""BNE: normalization, coverage and t-SNE (Phan et al. 2019, table 3, figures 3 and 4).

python benchmarks/encoders/bne.py            with and without exact matches, and the plots
python benchmarks/encoders/bne.py --table    evaluates nothing; draws coverage.png of what is kept

Writes results/bne.json, results/plots/coverage.png and tsne.png. Takes the encoders that
name_encoders.py trained and kept on fine classes (seed 0), which have not seen 1,000 concepts and
two names of most others. A mention counts where its concept is in the dictionary; composites are
split and short forms expanded as linker does it. XM: a mention that the training set (for the test
set the development set too) holds word for word gets the concept that it has there; all others get
that of the nearest name of the dictionary.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.encoders.configurations import ENCODERS
from benchmarks.encoders.name_encoders import TABLE, Run, baselines, split
from benchmarks.lib import results, runs
from benchmarks.lib.data import medic
from benchmarks.lib.dense_runs import Task
from benchmarks.lib.vectors import YEAR, vectors
from linker import Linker, LinkerOptions, matching
from linker.candidates.hybrid import HybridGenerator
from linker.encoders.base import Encoder
from linker.encoders.bne import BneEncoder, BneOptions
from linker.encoders.dan import DanEncoder, DanOptions
from linker.encoders.words import unit
from linker.evaluation import protocols, report
from linker.text.normalize import normalize
from linker.training.pipeline import train

TRAINED = [name for name, (options, _, _) in ENCODERS.items() if isinstance(options, BneOptions)]
TASKS = {
    "NCBI Disease, test": Task("ncbi", "test"),
    "BC5CDR, diseases, development": Task("bc5cdr", "devel"),
}
PUBLISHED = {  # accuracy on NCBI Disease and BC5CDR (both test)
    "SG_W": (0.800, 0.725),
    "BNE + SG_W": (0.854, 0.829),
    "BNE + SG_S.C": (0.857, 0.829),
    "BNE + SG_W, XM": (0.873, 0.905),
    "BNE + SG_S.C, XM": (0.877, 0.906),
}
SHOWN = ("SG_W", "BNE + SG_W", "BNE + SG_S.C", "BNE")  # of the t-SNE
CONCEPTS = 10  # of the t-SNE, half of which were not trained on


def encoders() -> dict[str, Encoder]:
    """Those that are kept, and the mean of word vectors."""
    mean = DanEncoder(vectors("SG_W"), DanOptions(cca=False, hidden=0))
    folders = {name: Run("fine", name, 0).folder for name in TRAINED}
    kept = {name: BneEncoder.load(path) for name, path in folders.items() if path.exists()}
    return {"SG_W": mean, **kept}


@cache
def sparse(task: str, exact: bool) -> Linker:
    """The names to rank, with the mentions of the training set or without them."""
    known = TASKS[task].known if exact else []
    return train(medic(YEAR), encoder="tfidf", mentions=known, options=LinkerOptions())


def accuracy(
    encoder: Encoder, ranked: NDArray[np.float32], task: str
) -> dict[bool, dict[str, Any]]:
    """How often the nearest name is one of the mention's concept, without exact matches and with.

    Args:
        encoder: what is evaluated.
        ranked: vectors of the dictionary's names, which are the first of all names.
        task: a key of `TASKS`.
    """
    names, right = medic(YEAR), dict[bool, NDArray[np.bool_]]()
    for exact in (False, True):
        plain = sparse(task, exact)
        texts = list(plain.generator.table.texts)
        every = np.concatenate([ranked, unit(encoder.encode(texts[len(ranked) :]))])
        generator = HybridGenerator(plain.generator, encoder, every, 0.0, None)
        linker = Linker(plain.dictionary, generator, plain.options, plain.seen, {})
        outcomes = [
            outcome
            for outcome in protocols.strict(linker, TASKS[task].test, 1)
            if outcome.gold
            and all(names.rows(i) for i in matching.accepted(outcome.gold, names.resolve))
        ]
        right[exact] = np.array([outcome.rank == 1 for outcome in outcomes])
    seen = {id(outcome) for outcome in report.groups(linker, outcomes)["seen_mention"]}
    right[True] = np.where([id(outcome) in seen for outcome in outcomes], right[True], right[False])
    return {
        exact: {"n": len(hits), "accuracy": round(float(hits.mean()), 5)}
        for exact, hits in right.items()
    }


def coverage_plot() -> None:
    """Figure 4: the mean coverage at k on 1,000 unseen concepts, and on those of HPO."""
    from matplotlib import pyplot

    kept, plain = runs.figures(TABLE), baselines()
    names = {name: Run("fine", name, 0).name for name in ("word mean", "CCA + DAN", *TRAINED)}
    figures = {name: kept[run] for name, run in names.items() if run in kept}
    dashed = {"word mean", *plain}
    plain.pop("fastText", None)  # that is the word mean
    figures |= {name: run for name, run in plain.items() if "coverage" in run}
    titles = {"coverage": "MEDIC, unseen concepts", "hpo_coverage": "HPO (out of the domain)"}
    colors = pyplot.colormaps["tab20"].colors
    with results.plotted("coverage", ncols=2, figsize=(11, 4.5), sharey=True) as both:
        for axes, (part, title) in zip(both, titles.items(), strict=True):
            for (name, run), color in zip(figures.items(), colors, strict=False):
                points = {int(k): value for k, value in run[part].items() if k != "map"}
                line = "--" if name in dashed else "-"
                axes.plot([*points], [*points.values()], line, marker=".", label=name, color=color)
            axes.set(xlabel="k", title=title)
            axes.set_xscale("log", base=2)
        both[0].set_ylabel("mean coverage at k")
        both[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))


def sample() -> list[tuple[str, bool]]:
    """Ten concepts with 8 to 30 names, and whether each was not trained on, which half were not."""
    parts, random = split("fine", 0), np.random.default_rng(0)
    concepts: list[tuple[str, bool]] = []
    for part in (parts.train, parts.zero_shot):
        large = [label for label in range(part.count) if 8 <= part.sizes[label] <= 30]
        labels = sorted(random.choice(large, CONCEPTS // 2, replace=False))
        concepts += [(part.ids[label], part is parts.zero_shot) for label in labels]
    return concepts


def tsne_plot(encoders: Mapping[str, Encoder]) -> None:
    """Figure 3: the names of ten concepts under each encoder."""
    from sklearn.manifold import TSNE

    names, texts = medic(YEAR), dict[str, list[str]]()
    for concept, unseen in sample():
        row = names.rows(concept)[0]
        label = names.preferred_name(row) + " (*)" * unseen
        texts[label] = sorted({normalize(names.names[int(n)]) for n in names.name_rows(row)})
    ends = np.cumsum([len(of_concept) for of_concept in texts.values()])[:-1]
    size = (5 * len(encoders), 4.5)
    with results.plotted("tsne", ncols=len(encoders), figsize=size, squeeze=False) as every:
        for axes, (name, encoder) in zip(every[0], encoders.items(), strict=True):
            tsne = TSNE(metric="cosine", init="random", perplexity=15, random_state=0)
            vectors = encoder.encode([text for part in texts.values() for text in part])
            parts = np.split(tsne.fit_transform(unit(vectors)), ends)
            for label, (x, y) in zip(texts, (part.T for part in parts), strict=True):
                axes.scatter(x, y, s=14, marker="s" if label.endswith("*)") else "o", label=label)
            axes.set(title=name, xticks=[], yticks=[])
        about = {"fontsize": 7, "loc": "center left", "bbox_to_anchor": (1, 0.5)}
        every[0][-1].legend(title="(*) not trained on", **about)


def normalization(encoders: Mapping[str, Encoder]) -> list[dict[str, Any]]:
    """The rows of table 3."""
    rows = []
    for name, encoder in encoders.items():
        ranked = unit(encoder.encode(list(sparse(next(iter(TASKS)), False).generator.table.texts)))
        figures = {task: accuracy(encoder, ranked, task) for task in TASKS}
        for exact in (False, True):
            row: dict[str, Any] = {"encoder": name, "xm": exact}
            row["published"] = PUBLISHED.get(name + ", XM" * exact)
            rows.append(row | {task: of_task[exact] for task, of_task in figures.items()})
            print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    is_table = results.only_table(__doc__)
    coverage_plot()
    if not is_table:
        kept = encoders()
        tsne_plot({name: kept[name] for name in SHOWN if name in kept})
        results.save("bne", {"normalization": normalization(kept)})
