"""The higher-level DAN on the levels of taxonomies: similarity ranking, hypernym detection, relatedness (Fivez et al. 2021b, tables 4-7).

python benchmarks/encoders/levels.py            makes what is missing -> results/runs/levels/, results/levels.json
python benchmarks/encoders/levels.py --table    makes nothing, puts together what is kept

Four levels below each of three concepts of MEDIC (2017) and one of the Disease Ontology; the seed draws the test names, the network and
its training. "DAN concepts" is trained on the same names with their own concepts as classes, to see what comes from the bottom up.
"CCA + DAN" projects the word means first, fitted to those concepts, as `linker train` does; the paper's does not.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.encoders.name_encoders import YEAR, Encode, kept, related, slug, vectors
from benchmarks.lib.common import DATA, RESULTS, medic, save
from linker import Dictionary
from linker.candidates.dense import top_k
from linker.dictionary import classes
from linker.dictionary.classes import Classes
from linker.encoders.dan import DanEncoder
from linker.encoders.options import TransformerOptions
from linker.encoders.words import unit
from linker.evaluation.tasks import levels, synonyms
from linker.evaluation.tasks.levels import DEPTH, Level
from linker.options import preset
from linker.text.normalize import normalize
from linker.training import ground
from linker.training.loop import Epoch, Step

ROOTS = {  # the concepts that the levels are below: nervous system diseases, congenital abnormalities, symptoms; of DO: of the anatomy
    "MESH:D009422": "MEDIC",
    "MESH:D009358": "MEDIC",
    "MESH:D013568": "MEDIC",
    "DOID:7": "DO",
}
KINDS = ("DAN", "CCA + DAN")  # the paper's, and ours
ENCODERS = (
    "word mean",
    "MiniLM",
    "DAN concepts",
    *(f"{kind} level {k}" for kind in KINDS for k in range(1, DEPTH + 1)),
)
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
    return medic(YEAR) if name == "MEDIC" else Dictionary.read(DATA / "ontologies" / "doid.obo.gz")


@cache
def split(root: str, seed: int) -> Sequence[Level]:
    """The names of each level."""
    return levels.split(dictionary(ROOTS[root]), root, seed)


def own_concepts(root: str, names: Classes, judged: Classes) -> tuple[Classes, Classes]:
    """Names with their own concepts as classes, those that stand for one: to train on, and to judge by."""
    every = classes.of_concepts(dictionary(ROOTS[root]).table(normalize))
    label = dict(zip(every.texts, every.labels.tolist(), strict=True))
    own = [
        [text for text in dict.fromkeys(part.texts) if text in label] for part in (names, judged)
    ]
    codes = {code: i for i, code in enumerate(dict.fromkeys(label[text] for text in own[0]))}
    parts = [[text for text in part if label[text] in codes] for part in own]
    train, judging = (
        Classes(part, np.array([codes[label[text]] for text in part], np.int64)) for part in parts
    )
    return train, judging


def made(root: str, name: str, seed: int) -> dict[str, Any]:
    """Train an encoder on one level and judge it on each."""
    parts, options, history, seconds = (
        split(root, seed),
        preset("default", "dan-higher"),
        list[Mapping[str, float]](),
        0.0,
    )
    if name == "MiniLM":
        from linker.encoders.transformer import TransformerEncoder

        encode: Encode = TransformerEncoder.create(TransformerOptions()).eval().encode
    else:
        level = parts[int(name[-1]) - 1] if " level " in name else parts[-1]
        own = own_concepts(root, level.train, level.validation)
        names, judged = own if name == "DAN concepts" else (level.train, level.validation)
        dan = dataclasses.replace(
            options.dan,
            cca=name.startswith("CCA"),
            hidden=0 if name == "word mean" else options.dan.hidden,
        )
        encoder = DanEncoder.of(
            own[0] if dan.cca else names, dan, vectors("fastText"), seed
        )  # levels have too few classes to project to
        if dan.hidden:
            start = time.process_time()

            def keep(event: Step | Epoch) -> None:
                if isinstance(event, Epoch):
                    history.append(dict(event.record))

            ground.train(encoder, names, options.ground, seed, judged, keep)
            seconds = time.process_time() - start
        encode = encoder.eval().encode
    figures: dict[str, Any] = {
        "root": root,
        "encoder": name,
        "seed": seed,
        "ground": dataclasses.asdict(options.ground),
    }
    figures |= {
        "dan": dataclasses.asdict(options.dan),
        "cpu_seconds": round(seconds),
        "history": history,
    }
    figures["names"] = [
        {part: len(set(getattr(level, part).texts)) for part in ("train", "validation", "test")}
        for level in parts
    ]
    figures["classes"] = [level.train.count for level in parts]
    figures["map"] = [
        scored(synonyms.retrieved(encode, level.test, level.train))["map"] for level in parts
    ]
    figures["mrr"] = [
        scored(synonyms.retrieved(encode, level.test, level.above))["mrr"] for level in parts
    ]
    figures["relatedness"] = related(encode)
    figures["hypernyms"] = hypernyms(encode, parts[2])
    return figures


def scored(found: Sequence[NDArray[np.int64]]) -> dict[str, float]:
    """The means of what ranks are worth."""
    return {name: round(float(values.mean()), 5) for name, values in synonyms.scores(found).items()}


def hypernyms(encode: Encode, level: Level) -> dict[str, Any]:
    """The five nearest hypernyms of a test name of level 3 (table 6): the first that shares no word with those of its classes."""
    asked, names, right = classes.retrieval(level.test, level.above)
    words = [{word for row in rows for word in names[row].split()} for rows in right]
    place = next(
        i for i in np.argsort(asked) if len(right[i]) and words[i].isdisjoint(asked[i].split())
    )
    (rows,), _ = top_k(unit(encode([asked[place]])), unit(encode(names)), 5)
    wanted = {*right[place].tolist()}
    return {
        "mention": asked[place],
        "right": sorted(names[row] for row in wanted),
        "nearest": [[names[r], int(r) in wanted] for r in rows],
    }


def main() -> None:
    """Make the runs that are missing, and the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--root", action="append", choices=list(ROOTS), help="may be given again")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    runs = [
        (seed, root, encoder)
        for seed in range(given.seeds)
        for root in given.root or ROOTS
        for encoder in ENCODERS
    ]
    found = []
    for seed, root, encoder in runs:
        name = f"runs/levels/{slug(f'{root} {encoder} {seed}')}"
        if not given.table:
            kept(name, partial(made, root, encoder, seed), seed)
        if (RESULTS / f"{name}.json").exists():
            found.append(kept(name, dict))
    wanted = json.loads(json.dumps(dataclasses.asdict(preset("default", "dan-higher").ground)))
    if stale := [run for run in found if run["ground"] != wanted]:
        raise SystemExit(
            f"{len(stale)} runs of results/runs/levels are of other options than those of today; move them away"
        )
    rows = []
    for root in ROOTS:
        for encoder in ENCODERS:
            own = [run for run in found if (run["root"], run["encoder"]) == (root, encoder)]
            if own:
                rows.append(
                    {
                        "root": root,
                        "of": ROOTS[root],
                        "encoder": encoder,
                        "runs": len(own),
                        **mean(own),
                    }
                )
                print(
                    root,
                    encoder,
                    len(own),
                    rows[-1]["map"],
                    rows[-1]["mrr"],
                    rows[-1]["relatedness"],
                )
    save(
        "levels",
        {
            "rows": rows,
            "published": PUBLISHED,
            "names": {run["root"]: [run["names"], run["classes"]] for run in found},
        },
    )


def mean(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The mean of each figure over the seeds, and the least and the largest."""
    spread = lambda values: [round(float(f(values)), 5) for f in (np.mean, np.min, np.max)]  # noqa: E731
    made: dict[str, Any] = {
        part: [spread([run[part][k] for run in runs]) for k in range(DEPTH)]
        for part in ("map", "mrr")
    }
    made["relatedness"] = {
        name: spread([run["relatedness"][name] for run in runs]) for name in runs[0]["relatedness"]
    }
    return made | {
        "cpu_seconds": [run["cpu_seconds"] for run in runs],
        "hypernyms": runs[0]["hypernyms"],
    }


if __name__ == "__main__":
    main()
