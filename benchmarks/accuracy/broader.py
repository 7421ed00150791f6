"""The broader concept of mentions whose concept is missing: how often it is given, and right.

python benchmarks/accuracy/broader.py    5 minutes

Writes results/broader.json. Concepts are taken out of MEDIC 2017 (with names lent by DOID and HPO)
and of HPO, as EvaNIL does it: leaves, any concepts, whole branches. A mention of one of them has a
right broader concept where that stands above the missing one, one level or two; all that stand
above, and the nearest of those that are left, are counted, too. Weights know nothing of the corpus
that is asked; names of HPO are asked of those that ship.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import held_out, promises
from benchmarks.lib import ranker_lists, results
from benchmarks.lib.data import TITLES, documents
from benchmarks.lib.linkers import ONTOLOGIES
from benchmarks.lib.vocabularies import of_cdr
from linker import Document, Linker, Mention, matching
from linker.dictionary.hierarchy import Hierarchy
from linker.records import GoldGroup
from linker.training import fit_ranker
from linker.training.pipeline import train

SHARE = 0.3  # of the concepts that are taken out
BRANCH = 40  # concepts that a branch has, at most
NAMES = 2_000  # of HPO that are asked
LEVELS = 2  # above the missing concept, at most, where a broader one is right
KINDS = ("leaves", "any", "branches")
THRESHOLDS = (None, 0.5)
Mask = NDArray[np.bool_]
Items = Sequence[Document | Mention]


def taken_out(hierarchy: Hierarchy, kind: str, seed: int) -> Mask:
    """The concepts that a dictionary lacks, (concepts,)."""
    random = np.random.default_rng(seed)
    size = hierarchy.size
    if kind == "any":
        return random.random(size) < SHARE
    if kind == "leaves":
        is_leaf = np.array([not len(below) for below in hierarchy.children(range(size))])
        return is_leaf & (random.random(size) < SHARE)
    down = hierarchy.closure.T.tocsr()
    is_out = np.zeros(size, bool)
    for row in random.permutation(size).tolist():
        below = down.indices[down.indptr[row] : down.indptr[row + 1]]
        if 1 < len(below) <= BRANCH:
            is_out[below] = True
            if is_out.mean() >= SHARE:
                break
    return is_out


def lacking(linker: Linker, kind: str, seed: int = 2) -> Linker:
    """The linker without some concepts."""
    is_out = taken_out(linker.dictionary.hierarchy, kind, seed)
    return ranker_lists.without_names(linker, np.zeros(0, np.int64), is_out)


def meant(linker: Linker, mention: Mention) -> set[int]:
    """The rows of the concepts that a mention means."""
    dictionary = linker.dictionary
    rows = set[int]()
    for identifier in matching.accepted(mention.gold or (), dictionary.resolve):
        rows.update(dictionary.rows(identifier))
    return rows


def above(linker: Linker, rows: set[int]) -> dict[int, int]:
    """The concepts above some rows, with the levels up to each."""
    levels: dict[int, int] = {}
    level = 0
    waiting = sorted(rows)
    while waiting:
        level += 1
        parents = linker.dictionary.hierarchy.parents(waiting)
        waiting = []
        for row in np.unique(np.concatenate(parents)).tolist():
            if row not in levels and row not in rows:
                levels[row] = level
                waiting.append(row)
    return levels


def judged(linker: Linker, items: Items, threshold: float | None) -> dict[str, Any]:
    """How mentions are answered whose concept is missing, and those whose concept is there."""
    dictionary = linker.dictionary
    linkable = set(linker.linkable.tolist())
    missing = Counter[str]()
    there = Counter[str]()
    for prediction in linker.link(iter(items), k=1, threshold=threshold):
        gold = prediction.mention.gold
        rows = meant(linker, prediction.mention)
        if not gold or len(gold) > 1 or not rows or len(prediction.parts) > 1:
            continue
        part = prediction.parts[0]
        count = missing if rows.isdisjoint(linkable) else there
        right = matching.accepted(gold, dictionary.resolve)
        count["mentions"] += 1
        count["exact"] += part.best is not None
        count["exact_right"] += part.best is not None and part.best.concept_id in right
        levels = above(linker, rows)
        left = [level for row, level in levels.items() if row in linkable]
        count["has_nearest"] += any(level <= LEVELS for level in left)
        if part.broader:
            (row,) = dictionary.rows(part.broader.concept_id)
            level = levels.get(row, 0)
            count["broader"] += 1
            count["broader_right"] += level > 0
            count["broader_close"] += 0 < level <= LEVELS
            count["broader_nearest"] += level > 0 and level == min(left)
            count["broader_exact"] += part.broader.concept_id in right
    return {"missing": dict(missing), "there": dict(there)}


def no_disease(corpus: str, linker: Linker) -> list[Mention]:
    """Texts that are no disease: phrases of the documents, and chemicals."""
    items = [*documents(corpus, "train"), *documents(corpus, "devel")]
    phrases = fit_ranker.no_disease(items, linker.engine.is_name, np.random.default_rng(0))
    if corpus != "bc5cdr":
        return phrases
    for text in dict.fromkeys(mention.text for mention in of_cdr("train", "dev")):
        if not fit_ranker.holds_name(text, linker.engine.is_name):
            phrases.append(Mention(text, gold=()))
    return phrases


def of_hpo() -> Iterator[tuple[str, Linker, Items]]:
    """HPO without some concepts, and their names."""
    linker = train(held_out.of_file(ONTOLOGIES[1]).dictionary)
    dictionary = linker.dictionary
    names = dictionary.columns.names
    for kind in ("leaves", "branches"):
        fewer = lacking(linker, kind)
        missing = np.setdiff1d(np.arange(len(dictionary)), fewer.linkable)
        rows = np.flatnonzero(np.isin(names.concept, missing))
        asked = np.random.default_rng(0).permutation(rows)[:NAMES].tolist()
        golds = [(GoldGroup((dictionary.ids[names.concept[row]],)),) for row in asked]
        texts = [names.texts[row] for row in asked]
        mentions = [Mention(t, gold=gold) for t, gold in zip(texts, golds, strict=True)]
        yield kind, fewer, mentions


def asked() -> Iterator[tuple[str, str, Linker, Items]]:
    """What is asked, what is taken out, the model without that, and the mentions."""
    for corpus, title in TITLES.items():
        names = promises.alone(corpus)
        devel = documents(corpus, "devel")
        for kind in KINDS:
            yield title, kind, lacking(names, kind), [*documents(corpus, "train"), *devel]
        learnt = promises.learnt(corpus, corpus)
        yield f"{title}, learnt", "any", lacking(learnt, "any"), devel
    for kind, linker, names_of_hpo in of_hpo():
        yield "HPO", kind, linker, names_of_hpo


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    rows: list[dict[str, Any]] = []
    for title, kind, linker, items in asked():
        for threshold in THRESHOLDS:
            row = {"asked": title, "taken_out": kind, "threshold": threshold}
            rows.append(row | judged(linker, items, threshold))
            print(rows[-1], flush=True)
    for corpus, title in TITLES.items():
        names = promises.alone(corpus)
        texts = no_disease(corpus, names)
        answers = [prediction.parts[0] for prediction in names.link(iter(texts), k=1)]
        given = sum(part.broader is not None for part in answers)
        exact = sum(part.best is not None for part in answers)
        rows.append({"asked": f"{title}, no disease", "texts": len(texts)})
        rows[-1] |= {"broader": given, "exact": exact}
        print(rows[-1], flush=True)
    results.save("broader", {"rows": rows}, seed=0)
