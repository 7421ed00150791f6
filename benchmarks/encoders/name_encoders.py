"""Encoders of names on two tasks of their papers: synonym retrieval, and BM25's candidates.

python benchmarks/encoders/name_encoders.py            makes what is missing
python benchmarks/encoders/name_encoders.py --table    makes nothing, puts together what is kept

Writes results/name_encoders.json; runs are kept in results/runs/names.jsonl.gz. Fivez et al. 2021a
(table 4) and Phan et al. 2019 (table 2). Word vectors are trained once and shared by all seeds; the
seed draws the split, the network and its training.
"""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.encoders import tasks
from benchmarks.encoders.tasks import Split
from benchmarks.lib import results, runs
from benchmarks.lib.data import CORPORA, documents, medic
from benchmarks.lib.vectors import YEAR, Encode, related, spread, spreads, vectors
from linker import LinkerOptions, matching
from linker.dictionary.classes import Classes
from linker.encoders.base import EncoderContext
from linker.encoders.bne import BneEncoder, BneOptions
from linker.encoders.dan import DanEncoder, DanOptions
from linker.encoders.trainable import GroundedEncoder, TrainableDan
from linker.linking.options import preset
from linker.text.mentions import expanded, grouped
from linker.text.normalize import normalize
from linker.training import ground
from linker.training.loop import run as run_phase
from linker.training.plan import RunSettings

TABLE, SEEDS = "names", range(3)
ZERO_SHOT = 1000  # concepts


def _grounding(options: LinkerOptions, epochs: int) -> LinkerOptions:
    """Other epochs: retrieval gains from more, linking does not."""
    ground = dataclasses.replace(options.ground, epochs=epochs)
    return dataclasses.replace(options, ground=ground)


_GROUND = _grounding(preset("default", "dan"), epochs=20)
_BNE, _BNE_WORDS = preset("default", "bne"), preset("default", "bne-words")
ENCODERS: dict[str, tuple[DanOptions | BneOptions, LinkerOptions]] = {
    # name -> the network, how it is grounded
    "word mean": (DanOptions(cca=False, hidden=0), _GROUND),
    "CCA": (DanOptions(hidden=0), _GROUND),
    "DAN": (DanOptions(cca=False), _GROUND),
    "CCA + DAN": (DanOptions(), _GROUND),
    "BNE": (_BNE.encoder, _BNE),
    "BNE words": (_BNE_WORDS.encoder, _BNE_WORDS),
}
BASELINES = ("fastText", "SG_W")
EVERYWHERE = ("word mean", "CCA", "DAN", "CCA + DAN")  # the others are trained once
EFFECTS = (  # an encoder, and what it is compared with
    ("CCA", "word mean"),
    ("CCA + DAN", "word mean"),
    ("CCA + DAN", "DAN"),
    ("CCA + DAN", "BNE words"),
)
PARTS = ("train", "test", "zero_shot")
DATA = "fine"  # the names of each concept; in the paper those of SNOMED-CT
PUBLISHED = {  # mAP on train, test and zero-shot names
    "word mean": (0.59, 0.56, 0.71),
    "CCA": (0.62, 0.59, 0.73),
    "CCA + DAN": (0.99, 0.84, 0.81),
    "DAN": (0.94, 0.78, 0.79),
    "BNE words": (0.68, 0.63, 0.75),
}


class Run(NamedTuple):
    """An encoder, what it is trained on, and a seed."""

    data: str  # `DATA`
    encoder: str  # a key of `ENCODERS`
    seed: int

    @property
    def name(self) -> str:
        """Its name in its table."""
        return f"{runs.slug(f'{self.data} {self.encoder}')}-{self.seed}"


@cache
def split(seed: int) -> Split:
    """The names of the task."""
    return tasks.split(tasks.fine(medic(YEAR)), ZERO_SHOT, seed)


def find(run: Run) -> dict[str, Any]:
    """Train an encoder and evaluate it."""
    names = split(run.seed)
    asked, options = ENCODERS[run.encoder]
    words, start = vectors("fastText"), time.process_time()
    encoder: GroundedEncoder
    if isinstance(asked, BneOptions):
        encoder = BneEncoder.create(EncoderContext(asked, names.train, words, run.seed))
    else:
        encoder = TrainableDan(DanEncoder.fitted(names.train, asked, words, run.seed))
    if asked.hidden:
        training = dataclasses.replace(options.training, seed=run.seed)
        seeded = dataclasses.replace(options, training=training)
        grounding = ground.Grounding(encoder, names.train, seeded, encoder.encode, names.validation)
        run_phase(grounding.phase(encoder), RunSettings(), {})
    seconds = time.process_time() - start
    encode = encoder.eval().encode
    figures: dict[str, Any] = run._asdict() | {"asked": dataclasses.asdict(asked)}
    figures |= {"ground": dataclasses.asdict(options.recipe), "cpu_seconds": round(seconds)}
    figures |= {
        "train": scores(encode, names.train),
        "test": scores(encode, names.test, names.train),
        "zero_shot": scores(encode, names.zero_shot),
    }
    return figures | {"relatedness": related(encode), "reranking": reranked(encode)}


def scores(encode: Encode, asked: Classes, among: Classes | None = None) -> dict[str, float]:
    """Scores of synonym retrieval."""
    ranks = tasks.retrieved(encode, asked, among)
    return {"names": len(ranks)} | tasks.scores(ranks)


@cache
def questions(corpus: str) -> list[tasks.Question]:
    """The distinct development mentions of one concept with BM25's candidates.

    Short forms are expanded.
    """
    dictionary, options = medic(YEAR), LinkerOptions()
    asked: dict[tuple[str, frozenset[int]], None] = {}
    for _, mentions, definitions in grouped(documents(corpus, "devel"), options.text):
        for mention in mentions:
            if mention.gold and len(mention.gold) == 1:
                ids = matching.accepted(mention.gold, dictionary.resolve)
                if right := frozenset(row for i in ids for row in dictionary.rows(i)):
                    asked[normalize(expanded(mention, definitions, options.text)), right] = None
    return tasks.questions(list(asked), dictionary.table(normalize))


def reranked(encode: Encode) -> dict[str, float]:
    """MAP over BM25's candidates."""
    similarity = tasks.cosine(encode)
    return {c: tasks.mean_average_precision(questions(c), similarity) for c in CORPORA}


def baseline(name: str) -> dict[str, Any]:
    """Means of word vectors."""
    return {"reranking": reranked(vectors(name).named)}


def differences(figures: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """How much more mAP an encoder has than another: the spread over the seeds of both."""
    by_key = {(run["encoder"], run["seed"]): run for run in figures}
    for of, over in EFFECTS:
        pairs = [
            (by_key[of, seed], by_key[over, seed])
            for seed in SEEDS
            if {(of, seed), (over, seed)} <= {*by_key}
        ]
        row: dict[str, Any] = {"data": DATA, "of": of, "over": over, "runs": len(pairs)}
        for place, part in enumerate(PARTS):
            row[part] = spread([a[part]["map"] - b[part]["map"] for a, b in pairs])
            gain = round(PUBLISHED[of][place] - PUBLISHED[over][place], 2)
            row.setdefault("published", {})[part] = gain
        if pairs:
            yield row


def mean(row_runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The spread of each figure over the seeds."""
    groups = {group: spreads(row_runs, group) for group in (*PARTS, "relatedness", "reranking")}
    return groups | {"cpu_seconds": [run["cpu_seconds"] for run in row_runs]}


if __name__ == "__main__":
    wanted = {
        run.name: run
        for seed, encoder in product(SEEDS, ENCODERS)
        if encoder in EVERYWHERE or seed == 0
        for run in [Run(DATA, encoder, seed)]
    }
    makers: dict[str, Any] = {name: partial(find, run) for name, run in wanted.items()}
    of_baselines = {f"baseline-{runs.slug(name)}": name for name in BASELINES}
    makers |= {run: partial(baseline, name) for run, name in of_baselines.items()}
    kept = runs.made(TABLE, makers, is_table=results.only_table(__doc__))
    figures = [kept[name] for name in wanted if name in kept]
    rows = []
    for encoder in ENCODERS:
        if of_one := [run for run in figures if run["encoder"] == encoder]:
            row = {"data": DATA, "encoder": encoder, "runs": len(of_one)}
            rows.append(row | mean(of_one))
    baselines = {name: kept[run] for run, name in of_baselines.items() if run in kept}
    table = {"rows": rows, "differences": [*differences(figures)], "baselines": baselines}
    results.save("name_encoders", table)
