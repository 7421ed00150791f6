"""What the benchmarks of name encoders share: word vectors and relatedness."""

from __future__ import annotations

import csv
import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.lib import results, runs
from benchmarks.lib.data import locate, medic
from linker.encoders.base import Encoder
from linker.encoders.words import (
    WordsOptions,
    WordVectors,
    dictionary_names,
    read_texts,
    tokens,
    train,
)

YEAR = "2017"  # the release of MEDIC
TEXTS = (  # of the word vectors
    *("asreview_sr", "chemical_exposure", "craft_fulltext", "hallmarks_of_cancer", "med1250"),
    *("medical_abstracts_test", "medquad_answers", "ohsumed_first20000", "pubmedqa_pqal"),
)
WORDS = {
    "fastText": WordsOptions(),
    "SG_W": WordsOptions(buckets=0),
}
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


@cache
def vectors(kind: str) -> WordVectors:
    """Word vectors of the texts and the names of the dictionary; kept for the next call."""
    folder, options = results.WORK / f"words-{kind.lower()}", WORDS[kind]
    fingerprint = json.dumps(dataclasses.asdict(options))
    if not folder.exists():
        start = time.process_time()
        words = _trained(options)
        words.save(folder, fingerprint)
        figures = {"options": dataclasses.asdict(options), "words": len(words.words)}
        figures["cpu_seconds"] = round(time.process_time() - start)
        run = f"words-{kind.lower()}"
        runs.append("names", run, results.record(f"runs/names/{run}", figures, 0))
    if WordVectors.provenance_of(folder) != fingerprint:
        raise SystemExit(
            f"{folder} was made with other options than those of now; move it away to make it again"
        )
    return WordVectors.read(folder)


def _trained(options: WordsOptions) -> WordVectors:
    names = dictionary_names(medic(YEAR))
    sentences = list(read_texts([locate(f"text/{name}.txt.gz") for name in TEXTS]))
    return train([*sentences, *map(tokens, names)], options)


def related(encode: Encode) -> dict[str, float]:
    """Spearman's correlation with human judgement on each file of pairs of names."""
    return {
        name: round(correlation(encode, locate(f"relatedness/{name}.tsv")), 4)
        for name in ("mayosrs", "umnsrs_relatedness", "umnsrs_similarity")
    }


def correlation(encode: Encode, path: Path) -> float:
    """Spearman's rank correlation of cosines with human judgement.

    A name that the encoder knows nothing of has the zero vector, and the cosine 0 to any other.

    Args:
        encode: makes vectors of names.
        path: lines `term1<TAB>term2<TAB>score` under such a header; a higher score: more related.
    """
    with path.open(encoding="utf-8", newline="") as file:
        pairs = [*csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    left, right = (encode([pair[term] for pair in pairs]) for term in ("term1", "term2"))
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines = (left * right).sum(1) / np.where(lengths, lengths, 1)
    return float(stats.spearmanr(cosines, [float(pair["score"]) for pair in pairs]).statistic)


def spread(values: Sequence[float], digits: int = 5) -> list[float]:
    """The mean of some values, the minimum and the maximum."""
    return [round(float(of(values)), digits) for of in (np.mean, np.min, np.max)]


def spreads(
    rows: Sequence[Mapping[str, Mapping[str, float]]], group: str, digits: int = 5
) -> dict[str, list[float]]:
    """The spread of each figure of a group over the runs."""
    return {name: spread([row[group][name] for row in rows], digits) for name in rows[0][group]}


def minilm() -> Encoder:
    """MiniLM as it was published."""
    from linker.encoders.transformer import TransformerEncoder, TransformerOptions

    return TransformerEncoder.pretrained(TransformerOptions()).eval()
