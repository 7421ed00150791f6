"""Encoders of names on the tasks of their papers: retrieval, relatedness, coverage, tasks.

python benchmarks/encoders/name_encoders.py            makes what is missing
python benchmarks/encoders/name_encoders.py --table    makes nothing, puts together what is kept

Writes results/name_encoders.json; runs are kept in results/runs/names.jsonl.gz. Fivez et al. 2021a
(tables 3, 4, 5, 8) and Phan et al. 2019 (figure 4, table 2). Word vectors are trained once and
shared by all seeds; the seed draws the split, the network and its training.
"""

from __future__ import annotations

import dataclasses
import gzip
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.encoders import tasks
from benchmarks.encoders.configurations import (
    BASELINES,
    EFFECTS,
    ENCODERS,
    EVERYWHERE,
    PARTS,
    PUBLISHED,
    SCORES,
)
from benchmarks.encoders.tasks import Split
from benchmarks.lib import results, runs
from benchmarks.lib.data import CORPORA, documents, locate, medic
from benchmarks.lib.vectors import (
    YEAR,
    Encode,
    nearest_of_class,
    related,
    spread,
    spreads,
    vectors,
)
from linker import Dictionary, LinkerOptions, matching
from linker.dictionary.classes import Classes
from linker.encoders.base import EncoderContext
from linker.encoders.bne import BneEncoder, BneOptions
from linker.encoders.dan import DanEncoder
from linker.encoders.trainable import GroundedEncoder, TrainableDan
from linker.text.mentions import expanded, grouped
from linker.text.normalize import normalize
from linker.training import ground
from linker.training.loop import run as run_phase
from linker.training.plan import RunSettings

TABLE, SEEDS = "names", range(3)
ZERO_SHOT = 1000  # concepts
EXAMPLE = "cariogenesis"  # the mention of table 7
COVERAGE = (1, 4, 16, 64, 256, 1024)


class Run(NamedTuple):
    """An encoder, what it is trained on, and a seed."""

    data: str  # a key of `PUBLISHED`
    encoder: str  # a key of `ENCODERS`
    seed: int

    @property
    def name(self) -> str:
        """Its name in its table."""
        return f"{runs.slug(f'{self.data} {self.encoder}')}-{self.seed}"

    @property
    def folder(self) -> Path:
        """Where the encoder is kept for other scripts."""
        return results.WORK / "encoders" / self.name


@cache
def split(data: str, seed: int) -> Split:
    """The names of a task."""
    if data == "MedMentions":
        return tasks.medmentions(_pairs("dev"), _pairs("test"), seed)
    names = tasks.fine(medic(YEAR)) if data == "fine" else tasks.coarse(medic(YEAR))
    return tasks.split(names, ZERO_SHOT, seed)


def _pairs(part: str) -> Iterator[tuple[str, str]]:
    with gzip.open(locate(f"medmentions/{part}.txt.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            _, name, concept = line.rstrip("\n").split("\t")
            yield name, concept


def find(run: Run) -> dict[str, Any]:
    """Train an encoder and evaluate it."""
    names = split(run.data, run.seed)
    asked, options, kind = ENCODERS[run.encoder]
    words, start = vectors(kind), time.process_time()
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
    figures |= retrieved(encode, names)
    figures["coverage"] = covered(encode, names.zero_shot)
    figures["hpo_coverage"] = covered(encode, phenotypes(run.seed))
    figures["relatedness"] = related(encode)
    figures["reranking"] = reranked(tasks.cosine(encode))
    figures["nearest"] = nearest(encode, names)
    if encoder.options.group == "bne":
        shutil.rmtree(run.folder, ignore_errors=True)
        encoder.save(run.folder)  # for the tasks of other scripts
    return figures


def retrieved(encode: Encode, names: Split) -> dict[str, dict[str, float]]:
    """Scores of synonym retrieval for each part of the names."""
    ranks = {
        "train": tasks.retrieved(encode, names.train),
        "test": tasks.retrieved(encode, names.test, names.train),
        "zero_shot": tasks.retrieved(encode, names.zero_shot),
    }
    if names.repeated:
        repeated = tasks.retrieved(encode, names.repeated, names.train)
        ranks["with_repeated"] = [*ranks["test"], *repeated]
    return {
        part: {"names": len(of_part)} | tasks.scores(of_part) for part, of_part in ranks.items()
    }


@cache
def phenotypes(seed: int) -> Classes:
    """Names of 1,000 concepts of HPO, signs and symptoms, without those that MEDIC has too."""
    names = tasks.fine(Dictionary.read(locate("ontologies/hp.obo.gz")))
    sample = tasks.split(names, ZERO_SHOT, seed).zero_shot
    known = {*medic(YEAR).table(normalize).texts}
    new = [row for row, text in enumerate(sample.texts) if text not in known]
    return sample.relabelled(np.array(new, np.int64))


def covered(encode: Encode, names: Classes) -> dict[str, float]:
    """The mean coverage at k (Phan et al. 2019, figure 4), and mAP.

    Coverage is the share of a concept's other names that are among the k nearest.
    """
    ranks = tasks.retrieved(encode, names)
    coverage = {str(k): tasks.coverage(ranks, k) for k in COVERAGE}
    return coverage | {"map": tasks.scores(ranks)["map"]}


def nearest(encode: Encode, names: Split) -> dict[str, Any]:
    """The ten nearest training names of a test name (Fivez et al. 2021a, tables 6 and 7).

    The name is theirs, or the first with five names to find.
    """
    asked, ranked = names.test, names.train
    labels = zip(asked.texts, asked.labels, strict=True)
    five = [text for text, label in labels if ranked.sizes[label] == 5]
    mention = EXAMPLE if EXAMPLE in asked.texts else min(five)
    label = asked.labels[asked.texts.index(mention)]
    right = sorted(ranked.texts[row] for row in ranked.of(np.array([label]))[0])
    names_found = nearest_of_class(encode, mention, ranked, label)
    return {"mention": mention, "right": right, "nearest": names_found}


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


def reranked(similarity: tasks.Similarity) -> dict[str, float]:
    """MAP over BM25's candidates."""
    return {c: tasks.mean_average_precision(questions(c), similarity) for c in CORPORA}


def baseline(name: str) -> dict[str, Any]:
    """Jaccard, or the word vectors of BNE, alone and with the word mover's distance."""
    if name == "Jaccard":
        return {"reranking": reranked(tasks.jaccard)}
    if name == "SG_W + WMD":
        return {"reranking": reranked(tasks.word_mover(vectors("SG_W")))}
    encode = vectors(name).named
    return {
        "reranking": reranked(tasks.cosine(encode)),
        "relatedness": related(encode),
        "coverage": covered(encode, split("fine", 0).zero_shot),
        "hpo_coverage": covered(encode, phenotypes(0)),
    }


def baselines() -> dict[str, dict[str, Any]]:
    """The figures of the baselines that are kept."""
    figures = runs.figures(TABLE)
    names = {name: f"baseline-{runs.slug(name)}" for name in BASELINES}
    return {name: figures[run] for name, run in names.items() if run in figures}


def rows_of(figures: Sequence[dict[str, Any]], data: str, encoder: str) -> Iterator[dict[str, Any]]:
    """The row of an encoder on some data; two rows where test names were trained on too."""
    row_runs = [run for run in figures if (run["data"], run["encoder"]) == (data, encoder)]
    if not row_runs:
        return
    row = {"data": data, "encoder": encoder, "runs": len(row_runs)} | mean(row_runs)
    if "with_repeated" in row:  # the papers' test names hold those that were trained on
        yield row | {"data": f"{data}, new names", "published": None}
        row |= {"data": f"{data}, all names", "test": row["with_repeated"]}
    yield row | {"published": published(data, encoder)}


def published(data: str, encoder: str) -> dict[str, dict[str, float]] | None:
    """What the paper has: part -> score -> value."""
    values = iter(PUBLISHED[data].get(encoder, ()))
    threes = zip(PARTS, zip(values, values, values, strict=True), strict=False)
    return {part: dict(zip(SCORES, three, strict=True)) for part, three in threes} or None


def differences(figures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """How much more mAP an encoder has than another: the spread over the seeds of both."""
    by_key = {(run["data"], run["encoder"], run["seed"]): run for run in figures}
    rows = []
    for data in PUBLISHED:
        for of, over in EFFECTS:
            pairs = [
                (by_key[data, of, seed], by_key[data, over, seed])
                for seed in range(100)
                if {(data, of, seed), (data, over, seed)} <= {*by_key}
            ]
            if pairs:
                row = {"data": data, "of": of, "over": over, "runs": len(pairs)}
                gains = {
                    part: spread([a[part]["map"] - b[part]["map"] for a, b in pairs])
                    for part in ("test", "zero_shot")
                }
                rows.append(row | gains | {"published": published_gain(data, of, over)})
    return rows


def published_gain(data: str, of: str, over: str) -> dict[str, float] | None:
    """How much more mAP an encoder has than another in the paper."""
    high, low = published(data, of), published(data, over)
    if not high or not low:
        return None
    return {p: round(high[p]["map"] - low[p]["map"], 2) for p in ("test", "zero_shot")}


def mean(row_runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The spread of each figure over the seeds."""
    groups = [*PARTS, *{"with_repeated"} & {*row_runs[0]}]
    groups += ["coverage", "hpo_coverage", "relatedness", "reranking"]
    row: dict[str, Any] = {group: spreads(row_runs, group) for group in groups}
    return row | {
        "cpu_seconds": [run["cpu_seconds"] for run in row_runs],
        "nearest": row_runs[0]["nearest"],
    }


if __name__ == "__main__":
    wanted = {
        run.name: run
        for seed, data, encoder in product(SEEDS, PUBLISHED, ENCODERS)
        if encoder in EVERYWHERE or (data, seed) == ("fine", 0)
        for run in [Run(data, encoder, seed)]
    }
    makers: dict[str, Any] = {name: partial(find, run) for name, run in wanted.items()}
    makers |= {f"baseline-{runs.slug(name)}": partial(baseline, name) for name in BASELINES}
    kept = runs.made(TABLE, makers, is_table=results.only_table(__doc__))
    figures = [kept[name] for name in wanted if name in kept]
    rows = [row for pair in product(PUBLISHED, ENCODERS) for row in rows_of(figures, *pair)]
    table = {"rows": rows, "differences": differences(figures), "baselines": baselines()}
    results.save("name_encoders", table)
