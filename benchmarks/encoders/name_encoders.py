"""Encoders of names on the tasks of their papers: synonym retrieval, relatedness, coverage, BM25's candidates.

python benchmarks/encoders/name_encoders.py            makes what is missing -> results/runs/names/, results/name_encoders.json
python benchmarks/encoders/name_encoders.py --table    makes nothing, puts together what is kept

Fivez et al. 2021a (tables 3, 4, 5, 8) and Phan et al. 2019 (figure 4, table 2). Word vectors are trained once and shared by all seeds; the
seed draws the split, the network and its training. Every run is kept; a second call goes on with what is missing.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib.common import DATA, RESULTS, ROOT, medic, save
from linker import Dictionary, matching, metrics
from linker.candidates.dense import top_k
from linker.dictionary.classes import Classes
from linker.encoders.bne import BneEncoder
from linker.encoders.dan import DanEncoder
from linker.encoders.grounded import GroundedEncoder
from linker.encoders.options import BneOptions, DanOptions, WordsOptions
from linker.encoders.words import WordVectors, dictionary_names, marked, read_texts, tokens, unit
from linker.evaluation.tasks import relatedness, reranking, synonyms
from linker.evaluation.tasks.synonyms import Split
from linker.options import GroundOptions, LinkerOptions, preset
from linker.readers import mentions
from linker.text.mentions import expanded, grouped
from linker.text.normalize import normalize
from linker.training import ground
from linker.training.loop import Epoch

YEAR = "2017"
WORK = ROOT / "benchmarks" / "work"  # word vectors, not in version control
ZERO_SHOT = 1000  # concepts
EXAMPLE = "cariogenesis"  # the mention of table 7
COVERAGE = (1, 4, 16, 64, 256, 1024)
EFFECTS = (  # an encoder, and what it is compared with
    ("CCA", "word mean"),
    ("CCA + DAN", "word mean"),
    ("CCA + DAN", "DAN"),
    ("CCA + DAN", "BNE words"),
    ("CCA + DAN", "BNE words, triplets"),
    ("CCA + DAN, triplets", "BNE words, triplets"),
)
JUDGED = sorted(
    path.stem for path in (DATA / "relatedness").glob("*.tsv")
)  # whatever pairs there are
WORDS = {
    "fastText": WordsOptions(),
    "SG_W": WordsOptions(subwords=False),
    "SG_S": WordsOptions(subwords=False, tokens="names"),
    "SG_S.C": WordsOptions(subwords=False, tokens="concepts"),
}
_GROUND = dataclasses.replace(
    preset("default", "dan").ground, epochs=20
)  # retrieval gains from more, linking does not
_TRIPLETS = dataclasses.replace(
    _GROUND,
    loss="triplet",
    prototype_weight=1,
    batch_size=64,
    learning_rate=1e-3,
    warmup=0,
    prototype_names=2,
    epochs=10,
)
_SHORT = dataclasses.replace(_GROUND, epochs=3, patience=0)
_BNE, _BNE_WORDS = preset("default", "bne"), preset("default", "bne-words")
_PAPER_BNE_WORDS = dataclasses.replace(
    _TRIPLETS, prototype_weight=0, context_weight=1, concept_weight=1, clip=_BNE_WORDS.ground.clip
)
_PAPER_BNE = dataclasses.replace(preset("paper-bne").ground, epochs=8)
_SYN = dataclasses.replace(_PAPER_BNE, context_weight=0, concept_weight=0)
_PLAIN = BneOptions(normalize=False)
ENCODERS: dict[
    str, tuple[DanOptions | BneOptions, GroundOptions, str]
] = {  # network, how it is grounded, word vectors
    "word mean": (DanOptions(cca=False, hidden=0), _GROUND, "fastText"),
    "CCA": (DanOptions(hidden=0), _GROUND, "fastText"),
    "DAN": (DanOptions(cca=False), _GROUND, "fastText"),
    "CCA + DAN": (DanOptions(), _GROUND, "fastText"),
    "CCA + DAN, triplets": (DanOptions(), _TRIPLETS, "fastText"),  # the paper's loss
    "CCA + DAN, 3 epochs": (DanOptions(), _SHORT, "fastText"),
    "CCA + DAN, 3 epochs, 38,400 units": (
        DanOptions(hidden=38_400),
        _SHORT,
        "fastText",
    ),  # the paper's width
    "BNE": (_BNE.bne, _BNE.ground, "fastText"),
    "BNE words": (_BNE_WORDS.bne, _BNE_WORDS.ground, "fastText"),
    "BNE words, triplets": (
        _BNE_WORDS.bne,
        _PAPER_BNE_WORDS,
        "fastText",
    ),  # as Fivez et al. compare with
    "BNE + SG_W": (_PLAIN, _PAPER_BNE, "SG_W"),  # the paper's losses
    "BNE + SG_S.C": (dataclasses.replace(_PLAIN, targets="tokens"), _PAPER_BNE, "SG_S.C"),
    "BNE + SG_S.C, L_syn": (dataclasses.replace(_PLAIN, targets="tokens"), _SYN, "SG_S.C"),
    "Wieting": (
        dataclasses.replace(_PLAIN, characters=False, train_words=True),
        dataclasses.replace(_SYN, weight_decay=1e-3),
        "SG_W",
    ),
}
BASELINES = ("Jaccard", *WORDS, "SG_W + WMD")
EVERYWHERE = (
    "word mean",
    "CCA",
    "DAN",
    "CCA + DAN",
)  # the others are trained on fine classes only, once
PARTS, SCORES = ("train", "test", "zero_shot"), ("map", "acc", "mrr")
PUBLISHED = {  # mAP, Acc and MRR on train, test and zero-shot names; the papers' coarse and fine classes are those of ICD-10 and SNOMED-CT
    "coarse": {
        "word mean": (0.38, 0.56, 0.65, 0.43, 0.66, 0.74, 0.56, 0.83, 0.87),
        "CCA": (0.42, 0.59, 0.68, 0.47, 0.70, 0.76, 0.61, 0.85, 0.89),
        "CCA + DAN": (0.99, 0.99, 0.99, 0.79, 0.77, 0.80, 0.67, 0.87, 0.90),
        "DAN": (0.98, 0.97, 0.98, 0.76, 0.75, 0.79, 0.65, 0.86, 0.89),
    },
    "fine": {
        "word mean": (0.59, 0.55, 0.64, 0.56, 0.68, 0.76, 0.71, 0.75, 0.82),
        "CCA": (0.62, 0.57, 0.67, 0.59, 0.70, 0.78, 0.73, 0.76, 0.83),
        "CCA + DAN": (0.99, 0.99, 0.99, 0.84, 0.81, 0.85, 0.81, 0.85, 0.89),
        "DAN": (0.94, 0.91, 0.94, 0.78, 0.78, 0.83, 0.79, 0.84, 0.88),
        "BNE words": (0.68, 0.63, 0.72, 0.63, 0.73, 0.80, 0.75, 0.80, 0.85),
    },
    "MedMentions": {
        "word mean": (0.41, 0.51, 0.61, 0.51, 0.70, 0.76, 0.43, 0.61, 0.68),
        "CCA": (0.44, 0.53, 0.63, 0.53, 0.72, 0.77, 0.45, 0.62, 0.70),
        "CCA + DAN": (0.88, 0.89, 0.93, 0.70, 0.73, 0.77, 0.45, 0.60, 0.67),
        "DAN": (0.83, 0.85, 0.90, 0.67, 0.71, 0.76, 0.43, 0.59, 0.67),
    },
}
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Run:
    """An encoder, what it is trained on, and a seed."""

    data: str  # of `splits`
    encoder: str  # of `ENCODERS`
    seed: int

    @property
    def name(self) -> str:
        """Where the result is kept."""
        return f"runs/names/{slug(f'{self.data} {self.encoder}')}-{self.seed}"


def slug(name: str) -> str:
    """A name for a file."""
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


@cache
def vectors(kind: str) -> WordVectors:
    """Word vectors, trained on the texts and on the names of the dictionary; kept for the next call."""
    folder, options = WORK / f"words-{kind.lower()}", WORDS[kind]
    made_of = json.dumps(dataclasses.asdict(options))
    if not folder.exists():
        start, names = time.process_time(), dictionary_names(medic(YEAR))
        sentences = list(read_texts(sorted((DATA / "text").glob("*.txt.gz"))))
        if options.tokens != "words":
            sentences = list(marked(sentences, names, options.tokens))
        made = WordVectors.train([*sentences, *map(tokens, names)], options)
        made.save(folder, made_of)
        figures = {
            "options": dataclasses.asdict(options),
            "words": len(made.words),
            "cpu_seconds": round(time.process_time() - start),
        }
        save(f"runs/names/words-{kind.lower()}", figures, seed=options.seed)
    if WordVectors.was_made_of(folder) != made_of:
        raise SystemExit(
            f"{folder}: is of other options than those of today; move it away to make it again"
        )
    return WordVectors.read(folder)


@cache
def split(data: str, seed: int) -> Split:
    """The names of a task."""
    if data == "MedMentions":
        return synonyms.medmentions(_pairs("dev"), _pairs("test"), seed)
    names = synonyms.fine(medic(YEAR)) if data == "fine" else synonyms.coarse(medic(YEAR))
    return synonyms.split(names, ZERO_SHOT, seed)


def _pairs(part: str) -> Iterator[tuple[str, str]]:
    with gzip.open(DATA / "medmentions" / f"{part}.txt.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            _, name, concept = line.rstrip("\n").split("\t")
            yield name, concept


def made(run: Run) -> dict[str, Any]:
    """Train an encoder and judge it."""
    names, history = split(run.data, run.seed), list[Any]()
    asked, options, kind = ENCODERS[run.encoder]
    words, start = vectors(kind), time.process_time()
    encoder: GroundedEncoder
    if isinstance(asked, BneOptions):
        encoder = BneEncoder.of(names.train.texts, asked, words, run.seed)
    else:
        encoder = DanEncoder.of(names.train, asked, words, run.seed)
    if asked.hidden:

        def keep(event: object) -> None:
            if isinstance(event, Epoch):
                history.append(dict(event.record))

        ground.train(encoder, names.train, options, run.seed, names.validation, keep)
    seconds = time.process_time() - start
    encode = encoder.eval().encode
    found = {
        "train": synonyms.retrieved(encode, names.train),
        "test": synonyms.retrieved(encode, names.test, names.train),
        "zero_shot": synonyms.retrieved(encode, names.zero_shot),
    }
    if names.repeated:
        found["with_repeated"] = [
            *found["test"],
            *synonyms.retrieved(encode, names.repeated, names.train),
        ]
    figures: dict[str, Any] = dataclasses.asdict(run) | {"asked": dataclasses.asdict(asked)}
    figures |= {
        encoder.group: dataclasses.asdict(encoder.options),
        "ground": dataclasses.asdict(options),
    }  # small data goes without CCA
    figures |= {"cpu_seconds": round(seconds), "history": history}
    for part, ranks in found.items():
        figures[part] = {"names": len(ranks)} | {
            name: round(float(values.mean()), 5) for name, values in synonyms.scores(ranks).items()
        }
    figures["coverage"], figures["hpo_coverage"] = (
        covered(encode, names.zero_shot),
        covered(encode, phenotypes(run.seed)),
    )
    figures["relatedness"] = related(encode)
    figures["reranking"] = reranked(reranking.cosine(encode))
    figures["nearest"] = nearest(encode, names)
    if encoder.group == "bne":
        shutil.rmtree(folder := WORK / "encoders" / run.name.rpartition("/")[2], ignore_errors=True)
        encoder.save(folder)  # for the tasks of other scripts
    return figures


@cache
def phenotypes(seed: int) -> Classes:
    """Names of 1,000 concepts of HPO, signs and symptoms; those that MEDIC has too are left out."""
    drawn = synonyms.split(
        synonyms.fine(Dictionary.read(DATA / "ontologies" / "hp.obo.gz")), ZERO_SHOT, seed
    ).zero_shot
    known = {*medic(YEAR).table(normalize).texts}
    return drawn.relabelled(
        np.array([row for row, text in enumerate(drawn.texts) if text not in known], np.int64)
    )


def covered(encode: Encode, names: Classes) -> dict[str, float]:
    """The mean coverage at k, the share of a concept's other names that are among the k nearest (Phan et al. 2019, figure 4), and mAP."""
    ranks = synonyms.retrieved(encode, names)
    coverage = {str(k): round(float(metrics.coverage(ranks, k).mean()), 5) for k in COVERAGE}
    return coverage | {"map": round(float(synonyms.scores(ranks)["map"].mean()), 5)}


def nearest(encode: Encode, names: Split) -> dict[str, Any]:
    """The ten nearest training names of a test name (Fivez et al. 2021a, tables 6 and 7): theirs, or the first with five names to find."""
    asked, ranked = names.test, names.train
    five = [
        text
        for text, label in zip(asked.texts, asked.labels, strict=True)
        if ranked.sizes[label] == 5
    ]
    mention = EXAMPLE if EXAMPLE in asked.texts else min(five)
    label = asked.labels[asked.texts.index(mention)]
    (rows,), _ = top_k(unit(encode([mention])), unit(encode(ranked.texts)), 10)
    right = sorted(ranked.texts[row] for row in ranked.of(np.array([label]))[0])
    return {
        "mention": mention,
        "right": right,
        "nearest": [[ranked.texts[row], bool(ranked.labels[row] == label)] for row in rows],
    }


def related(encode: Encode) -> dict[str, float]:
    """Spearman's correlation on each of the judged files."""
    return {
        name: round(
            relatedness.correlation(encode, relatedness.read(DATA / "relatedness" / f"{name}.tsv")),
            4,
        )
        for name in JUDGED
    }


@cache
def questions(corpus: str) -> list[reranking.Question]:
    """The development mentions of a corpus with BM25's candidates: distinct ones of one concept, short forms expanded."""
    path = {
        "ncbi": "ncbi-disease/NCBI_devel.pubtator.txt.gz",
        "bc5cdr": "bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz",
    }[corpus]
    dictionary, options = medic(YEAR), LinkerOptions()
    table = dictionary.table(normalize)
    asked: dict[tuple[str, frozenset[int]], None] = {}
    for _, some, definitions in grouped(
        mentions.read(DATA / path, type=None if corpus == "ncbi" else "Disease"), options.text
    ):
        for mention in some:
            if mention.gold and len(mention.gold) == 1:
                right = frozenset(
                    row
                    for i in matching.accepted(mention.gold, dictionary.resolve)
                    for row in dictionary.rows(i)
                )
                if right:
                    asked[normalize(expanded(mention, definitions, options.text)), right] = None
    return reranking.questions(list(asked), table)


def reranked(similarity: reranking.Similarity) -> dict[str, float]:
    """MAP over BM25's candidates."""
    return {
        c: round(float(reranking.mean_average_precisions(questions(c), similarity).mean()), 4)
        for c in ("ncbi", "bc5cdr")
    }


def baseline(name: str) -> dict[str, Any]:
    """Jaccard, or the word vectors of BNE, alone and with the word mover's distance."""
    if name == "Jaccard":
        return {"reranking": reranked(reranking.jaccard)}
    if name == "SG_W + WMD":
        return {"reranking": reranked(reranking.word_mover(vectors("SG_W")))}
    encode = vectors(name).named
    figures: dict[str, Any] = {
        "reranking": reranked(reranking.cosine(encode)),
        "relatedness": related(encode),
    }
    return figures | {
        "coverage": covered(encode, split("fine", 0).zero_shot),
        "hpo_coverage": covered(encode, phenotypes(0)),
    }


def baselines() -> dict[str, dict[str, Any]]:
    """Those that are kept."""
    paths = {name: f"runs/names/baseline-{slug(name)}" for name in BASELINES}
    return {
        name: kept(path, dict)
        for name, path in paths.items()
        if (RESULTS / f"{path}.json").exists()
    }


def kept(name: str, make: Callable[[], dict[str, Any]], seed: int | None = None) -> dict[str, Any]:
    """The figures of a run, made where they are missing."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        print(name, flush=True)
        save(name, make(), seed=seed)
    figures: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return figures


def checked(run: Run) -> dict[str, Any]:
    """The figures of a run that is kept; one of other options stops the program."""
    figures = kept(run.name, dict)
    asked, options, _ = ENCODERS[run.encoder]
    ground = (
        GroundOptions(**figures["ground"]) if asked.hidden else options
    )  # fields that came later are at their defaults
    if (ground, type(asked)(**figures["asked"])) != (options, asked):
        raise SystemExit(
            f"{RESULTS / run.name}.json: is of other options than those of today; move it away to run it again"
        )
    return figures


def main() -> None:
    """Make the runs that are missing, and the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--data", action="append", choices=list(PUBLISHED), help="may be given again"
    )
    parser.add_argument(
        "--encoder", action="append", choices=list(ENCODERS), help="may be given again"
    )
    parser.add_argument(
        "--baseline",
        action="append",
        choices=BASELINES,
        help="nothing but these; may be given again",
    )
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    runs = [
        Run(data, encoder, seed)
        for seed in range(given.seeds)
        for data in PUBLISHED
        for encoder in ENCODERS
        if encoder in EVERYWHERE or (data, seed) == ("fine", 0)
    ]
    if not given.table:
        for run in runs:
            if (
                run.data in (given.data or PUBLISHED)
                and run.encoder in (given.encoder or ENCODERS)
                and not given.baseline
            ):
                kept(run.name, partial(made, run), run.seed)
        for name in given.baseline or (() if given.data or given.encoder else BASELINES):
            kept(f"runs/names/baseline-{slug(name)}", partial(baseline, name), 0)
    there = [checked(run) for run in runs if (RESULTS / f"{run.name}.json").exists()]
    rows = []
    for data in PUBLISHED:
        for encoder in ENCODERS:
            own = [
                figures
                for figures in there
                if (figures["data"], figures["encoder"]) == (data, encoder)
            ]
            if own:
                theirs, row = (
                    published(data, encoder),
                    {"data": data, "encoder": encoder, "runs": len(own)} | mean(own),
                )
                if "with_repeated" in row:  # the papers' test names hold those that were trained on
                    rows.append(row | {"data": f"{data}, new names", "published": None})
                    row |= {"data": f"{data}, all names", "test": row["with_repeated"]}
                rows.append(row | {"published": theirs})
    save(
        "name_encoders", {"rows": rows, "differences": differences(there), "baselines": baselines()}
    )
    for row in rows:
        theirs = row["published"] or {}
        scores = {
            part: {name: (row[part][name][0], theirs.get(part, {}).get(name)) for name in SCORES}
            for part in PARTS
        }
        print(
            row["data"],
            row["encoder"],
            "(ours, published)",
            scores,
            row["relatedness"],
            row["reranking"],
        )


def published(data: str, encoder: str) -> dict[str, dict[str, float]] | None:
    """What the paper has: part -> score -> value."""
    values = iter(PUBLISHED[data].get(encoder, ()))
    return {
        part: dict(zip(SCORES, three, strict=True))
        for part, three in zip(PARTS, zip(values, values, values, strict=True), strict=False)
    } or None


def differences(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """How much more mAP an encoder has than another, with the same seeds: the mean, the least and the largest."""
    by_key = {(made["data"], made["encoder"], made["seed"]): made for made in runs}
    found = []
    for data in PUBLISHED:
        for of, over in EFFECTS:
            pairs = [
                (by_key[data, of, seed], by_key[data, over, seed])
                for seed in range(100)
                if {(data, of, seed), (data, over, seed)} <= {*by_key}
            ]
            if pairs:
                gains = {
                    part: [a[part]["map"] - b[part]["map"] for a, b in pairs]
                    for part in ("test", "zero_shot")
                }
                spread = {
                    part: [round(float(f(own)), 5) for f in (np.mean, np.min, np.max)]
                    for part, own in gains.items()
                }
                high, low = published(data, of), published(data, over)
                paper = (
                    {part: round(high[part]["map"] - low[part]["map"], 2) for part in gains}
                    if high and low
                    else None
                )
                found.append(
                    {
                        "data": data,
                        "of": of,
                        "over": over,
                        "runs": len(pairs),
                        **spread,
                        "published": paper,
                    }
                )
    return found


def mean(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean of each figure over the seeds, and the least and the largest."""
    made: dict[str, Any] = {}
    for group in (
        *PARTS,
        *{"with_repeated"} & {*runs[0]},
        "coverage",
        "hpo_coverage",
        "relatedness",
        "reranking",
    ):
        made[group] = {
            name: [
                round(float(f([run[group][name] for run in runs])), 5)
                for f in (np.mean, np.min, np.max)
            ]
            for name in runs[0][group]
        }
    return made | {
        "cpu_seconds": [run["cpu_seconds"] for run in runs],
        "nearest": runs[0]["nearest"],
    }


if __name__ == "__main__":
    main()
