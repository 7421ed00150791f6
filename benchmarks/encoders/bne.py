"""BNE: normalization with and without exact matches, coverage and t-SNE (Phan et al. 2019, table 3, figures 3 and 4).

python benchmarks/encoders/bne.py            results/bne.json, results/plots/coverage.png, results/plots/tsne.png
python benchmarks/encoders/bne.py --table    judges nothing; draws coverage.png of the runs that there are by now

Takes the encoders that name_encoders.py trained and kept on fine classes (seed 0), which have not seen 1,000 concepts and two names of
most others. A mention counts where its concept is in the dictionary; composites are split and short forms expanded as linker does it. XM:
a mention that the training set (for the test set the development set too) holds word for word gets the concept that it has there; all
others get that of the nearest name of the dictionary.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.encoders.name_encoders import ENCODERS, WORK, YEAR, Run, baselines, split, vectors
from benchmarks.lib.common import RESULTS, medic, save
from benchmarks.lib.dense_accuracy import Task
from linker import Linker, LinkerOptions, matching
from linker.candidates.hybrid import HybridGenerator
from linker.encoders.base import Encoder
from linker.encoders.bne import BneEncoder
from linker.encoders.dan import DanEncoder
from linker.encoders.options import BneOptions, DanOptions
from linker.encoders.words import unit
from linker.evaluation import breakdown, protocols
from linker.text.normalize import normalize

TRAINED = [name for name, (options, _, _) in ENCODERS.items() if isinstance(options, BneOptions)]
TASKS = {
    "NCBI Disease, test": Task("ncbi", "test"),
    "BC5CDR, diseases, development": Task("bc5cdr", "devel"),
}
PUBLISHED = {  # accuracy on NCBI Disease and BC5CDR (both test)
    "SG_W": (0.800, 0.725),
    "BNE + SG_W": (0.854, 0.829),
    "BNE + SG_S.C": (0.857, 0.829),
    "Wieting": (0.822, 0.813),
    "BNE + SG_W, XM": (0.873, 0.905),
    "BNE + SG_S.C, XM": (0.877, 0.906),
}
CONCEPTS = 10  # of the t-SNE, half of which were not trained on


def encoders() -> dict[str, Encoder]:
    """Those that are kept, and the mean of word vectors."""
    found: dict[str, Encoder] = {
        "SG_W": DanEncoder(vectors("SG_W"), DanOptions(cca=False, hidden=0)).eval()
    }
    for name in TRAINED:
        folder = WORK / "encoders" / Run("fine", name, 0).name.rpartition("/")[2]
        if folder.exists():
            found[name] = BneEncoder.load(folder)
    return found


@cache
def sparse(task: str, exact: bool) -> Linker:
    """The names to rank, with the mentions of the training set or without them."""
    return Linker.train(
        medic(YEAR), mentions=TASKS[task].known if exact else [], options=LinkerOptions()
    )


def accuracy(
    encoder: Encoder, ranked: NDArray[np.float32], task: str
) -> dict[bool, dict[str, Any]]:
    """How often the nearest name is one of the mention's concept, without exact matches and with them.

    Args:
        ranked: vectors of the dictionary's names, which are the first of all names.
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
            for outcome in protocols.strict(linker, TASKS[task].judged, 1)
            if outcome.gold
            and all(names.rows(i) for i in matching.accepted(outcome.gold, names.resolve))
        ]
        right[exact] = np.array([outcome.rank == 1 for outcome in outcomes])
    seen = {id(outcome) for outcome in breakdown.groups(linker, outcomes)["seen_mention"]}
    right[True] = np.where([id(outcome) in seen for outcome in outcomes], right[True], right[False])
    return {
        exact: {"n": len(own), "accuracy": round(float(own.mean()), 5)}
        for exact, own in right.items()
    }


def coverage_plot() -> dict[str, dict[str, float]]:
    """Figure 4: the mean coverage at k on 1,000 concepts that were not trained on, and on those of HPO."""
    from matplotlib import pyplot

    made: dict[str, dict[str, Any]] = {}
    for name in ("word mean", "CCA + DAN", *TRAINED):
        path = RESULTS / f"{Run('fine', name, 0).name}.json"
        if path.exists():
            made[name] = json.loads(path.read_text(encoding="utf-8"))["figures"]
    plain = {
        name: own for name, own in baselines().items() if "coverage" in own and name != "fastText"
    }  # that is the word mean
    made |= plain
    canvas, both = pyplot.subplots(1, 2, figsize=(11, 4.5), sharey=True)
    for axes, part, title in zip(
        both,
        ("coverage", "hpo_coverage"),
        ("MEDIC, unseen concepts", "HPO (out of the domain)"),
        strict=True,
    ):
        for (name, figures), color in zip(
            made.items(), pyplot.colormaps["tab20"].colors, strict=False
        ):
            points = {int(k): value for k, value in figures[part].items() if k != "map"}
            line = "--" if name in {*plain, "word mean"} else "-"
            axes.plot([*points], [*points.values()], line, marker=".", label=name, color=color)
        axes.set(xscale="log", xlabel="k", title=title)
        axes.set_xscale("log", base=2)
    both[0].set_ylabel("mean coverage at k")
    both[1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    canvas.savefig(RESULTS / "plots" / "coverage.png", dpi=120, bbox_inches="tight")
    return {name: figures["coverage"] for name, figures in made.items()}


def tsne_plot(found: Mapping[str, Encoder]) -> list[str]:
    """Figure 3: the names of ten concepts, five of which were not trained on, under the mean of word vectors and two encoders."""
    from matplotlib import pyplot
    from sklearn.manifold import TSNE

    names, parts, random = medic(YEAR), split("fine", 0), np.random.default_rng(0)
    drawn = []
    for part in (parts.train, parts.zero_shot):
        large = [label for label in range(part.count) if 8 <= part.sizes[label] <= 30]
        drawn += [
            (part.ids[label], part is parts.zero_shot)
            for label in sorted(random.choice(large, CONCEPTS // 2, replace=False))
        ]
    texts, owner = [], []
    for place, (concept, _) in enumerate(drawn):
        own = sorted(
            {normalize(names.names[int(row)]) for row in names.name_rows(names.rows(concept)[0])}
        )
        texts += own
        owner += [place] * len(own)
    labels = [
        names.preferred_name(names.rows(concept)[0]) + " (*)" * unseen for concept, unseen in drawn
    ]
    canvas, every = pyplot.subplots(1, len(found), figsize=(5 * len(found), 4.5))
    for axes, (name, encoder) in zip(np.atleast_1d(every), found.items(), strict=True):
        points = TSNE(metric="cosine", init="random", perplexity=15, random_state=0).fit_transform(
            unit(encoder.encode(texts))
        )
        for place, label in enumerate(labels):
            rows = np.flatnonzero(np.array(owner) == place)
            axes.scatter(
                points[rows, 0],
                points[rows, 1],
                s=14,
                marker="s" if drawn[place][1] else "o",
                label=label,
                color=f"C{place}",
            )
        axes.set(title=name, xticks=[], yticks=[])
    every[-1].legend(
        fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5), title="(*) not trained on"
    )
    canvas.savefig(RESULTS / "plots" / "tsne.png", dpi=120, bbox_inches="tight")
    return labels


def main() -> None:
    """Judge the encoders that are there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="store_true", help="run nothing")
    if parser.parse_args().table:
        kept = json.loads((RESULTS / "bne.json").read_text(encoding="utf-8"))["figures"]
        save("bne", kept | {"coverage": coverage_plot()})
        return
    found, rows = encoders(), []
    for name, encoder in found.items():
        ranked = unit(encoder.encode(list(sparse(next(iter(TASKS)), False).generator.table.texts)))
        judged = {task: accuracy(encoder, ranked, task) for task in TASKS}
        for exact in (False, True):
            row: dict[str, Any] = {
                "encoder": name,
                "xm": exact,
                "published": PUBLISHED.get(name + ", XM" * exact),
            }
            row |= {task: own[exact] for task, own in judged.items()}
            print(row, flush=True)
            rows.append(row)
    shown = {
        name: found[name] for name in ("SG_W", "BNE + SG_W", "BNE + SG_S.C", "BNE") if name in found
    }
    save("bne", {"normalization": rows, "coverage": coverage_plot(), "tsne": tsne_plot(shown)})


if __name__ == "__main__":
    main()
