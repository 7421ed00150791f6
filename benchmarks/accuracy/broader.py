"""The broader concept of mentions whose concept is missing: the weights, and how often it is right.

python benchmarks/accuracy/broader.py    5 minutes

Writes linker/linking/weights/broader.json and results/broader.json. Concepts are taken out of MEDIC
2017 (with names lent by DOID and HPO) and of HPO, as EvaNIL does it: leaves, any concepts, whole
branches. A mention of one of them has a right broader concept where that is one of the concepts
above it; the nearest of these that are left are counted, too. Weights are fitted to the mentions of
one corpus and judged on the other; those that ship are fitted to both, and judged on names of HPO.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import held_out, promises, ranker_weights
from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents
from benchmarks.lib.linkers import ONTOLOGIES
from linker import Document, Linker, Mention, matching
from linker.dictionary.hierarchy import Hierarchy
from linker.io import outputs, persistence
from linker.linking.broader import COLUMNS, Above, Ancestors, Weights
from linker.linking.ranker import SHIPPED
from linker.linking.ranking import by_probability
from linker.records import GoldGroup
from linker.training import fit_ranker
from linker.training.pipeline import train

SHARE = 0.3  # of the concepts that are taken out
BRANCH = 40  # concepts that a branch has, at most
NAMES = 2_000  # of HPO that are asked
WEIGHT_NONE = 0.5  # what a text counts that means no concept of the dictionary
INVERSE_PENALTY = 0.05
LEAST_SCALE = 0.05
KINDS = ("leaves", "any", "branches")
THRESHOLDS = (None, 0.5)
Mask = NDArray[np.bool_]
Items = Sequence[Document | Mention]


def taken_out(hierarchy: Hierarchy, kind: str, seed: int) -> Mask:
    """The concepts that a dictionary lacks, (concepts,)."""
    random, size = np.random.default_rng(seed), hierarchy.size
    if kind == "any":
        return random.random(size) < SHARE
    if kind == "leaves":
        is_leaf = np.array([not len(below) for below in hierarchy.children(range(size))])
        return is_leaf & (random.random(size) < SHARE)
    down = hierarchy.under(range(size)).T.tocsr()
    is_out = np.zeros(size, bool)
    for row in random.permutation(size).tolist():
        below = down.indices[down.indptr[row] : down.indptr[row + 1]]
        if 1 < len(below) <= BRANCH:
            is_out[below] = True
            if is_out.mean() >= SHARE:
                break
    return is_out


def lacking(linker: Linker, kind: str, seed: int = 1) -> Linker:
    """The linker without some concepts."""
    is_out = taken_out(linker.dictionary.hierarchy, kind, seed)
    return ranker_weights.without_names(linker, np.zeros(0, np.int64), is_out)


def meant(linker: Linker, mention: Mention) -> set[int]:
    """The rows of the concepts that a mention means."""
    dictionary = linker.dictionary
    ids = matching.accepted(mention.gold or (), dictionary.resolve)
    return {row for identifier in ids for row in dictionary.rows(identifier)}


def described(linker: Linker, items: Items) -> Iterator[tuple[str, Above, Mask]]:
    """Mentions, what is above their candidates, and whether they are under it.

    Those of several concepts, and those that are sure and whose concept is there, are left out.
    """
    assert linker.ranker
    dictionary, linkable = linker.dictionary, set(linker.linkable.tolist())
    ancestors, up = Ancestors(dictionary.hierarchy, linker.linkable), dictionary.hierarchy.ancestors
    for mentions, batch in linker.lists(items):
        ranking = by_probability(batch, linker.ranker.probabilities(batch.lists))
        for mention, best in zip(mentions, ranking.best.tolist(), strict=True):
            rows, is_sure = meant(linker, mention), ranking.readings[best] >= outputs.UNSURE
            is_out = mention.gold is None or len(mention.gold) > 1
            if is_out or (is_sure and not rows.isdisjoint(linkable)):
                continue
            above = ancestors.describe(ranking, np.array([ranking.lookup(best)]))
            under = rows.union(*(of_one.tolist() for of_one in up(sorted(rows))))
            yield mention.text, above, np.isin(above.concepts, sorted(under))


def lists(corpus: str) -> Iterator[tuple[str, Above, Mask, float]]:
    """What weights are fitted to, with how much each mention counts."""
    names = promises.alone(corpus)
    items = [*documents(corpus, "train"), *documents(corpus, "devel")]
    for linker in [names, *(lacking(names, kind) for kind in KINDS)]:
        for of_mention in described(linker, items):
            yield *of_mention, 1.0
    for of_text in described(names, others(corpus, names)):
        yield *of_text, WEIGHT_NONE


def others(corpus: str, linker: Linker) -> list[Mention]:
    """Texts that are no disease: phrases of the documents, and chemicals."""
    items = [*documents(corpus, "train"), *documents(corpus, "devel")]
    phrases = fit_ranker.no_disease(items, linker.engine.is_name, np.random.default_rng(0))
    chemicals = ranker_weights.substances(corpus, linker)
    return [*phrases, *(Mention(text, gold=()) for text in chemicals)]


def fit(*corpora: str) -> Weights:
    """The weights that are fitted to corpora; of a text that comes n times each counts 1/√n."""
    every = [of_one for corpus in corpora for of_one in lists(corpus)]
    times = Counter(text.lower() for text, *_ in every)
    values = np.concatenate([above.values for _, above, *_ in every])
    centre, scale = values.mean(axis=0), values.std(axis=0) + LEAST_SCALE
    weights = Weights(centre, scale, np.zeros(len(COLUMNS)), 0.0)
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=500).fit(
        weights.scaled(values),
        np.concatenate([is_under for *_, is_under, _ in every]),
        np.concatenate(
            [np.full(len(a.values), w * times[t.lower()] ** -0.5) for t, a, _, w in every]
        ),
    )
    return Weights(centre, scale, model.coef_[0], float(model.intercept_[0]))


def save(weights: Weights) -> None:
    """Write the weights that ship."""
    rows = np.stack([weights.centre, weights.scale, weights.weights], axis=1).round(6).tolist()
    columns = dict(zip(COLUMNS, rows, strict=True))  # each: centre, scale, weight
    record = {"columns": columns, "bias": round(weights.bias, 6)}
    persistence.save_json(SHIPPED / "broader.json", record)


def nearest(linker: Linker, rows: set[int]) -> set[int]:
    """The nearest concepts above some rows that are left."""
    linkable, found = set(linker.linkable.tolist()), set[int]()
    waiting, seen = [*rows], set(rows)
    while waiting:
        for row in linker.dictionary.hierarchy.parents([waiting.pop()])[0].tolist():
            if row in linkable:
                found.add(row)
            elif row not in seen:
                waiting.append(row)
            seen.add(row)
    return found


def judged(linker: Linker, items: Items, threshold: float | None) -> dict[str, Any]:
    """How mentions are answered whose concept is missing, and those whose concept is there."""
    dictionary, linkable = linker.dictionary, set(linker.linkable.tolist())
    ids, missing, there = dictionary.ids, Counter[str](), Counter[str]()
    for prediction in linker.link(iter(items), k=1, threshold=threshold):
        gold, rows = prediction.mention.gold, meant(linker, prediction.mention)
        if not gold or len(gold) > 1 or not rows or len(prediction.parts) > 1:
            continue
        part, count = prediction.parts[0], missing if rows.isdisjoint(linkable) else there
        count["mentions"] += 1
        right = matching.accepted(gold, dictionary.resolve)
        count["exact"] += part.best is not None
        count["exact_right"] += part.best is not None and part.best.concept_id in right
        if part.broader:
            above = dictionary.hierarchy.ancestors(sorted(rows))
            hypernyms = {ids[row] for of_one in above for row in of_one.tolist()}
            of_broader = matching.relevance([part.broader.concept_id], right, hypernyms)
            near = {ids[row] for row in nearest(linker, rows)}
            count["broader"] += 1
            count["broader_right"] += of_broader == matching.HYPERNYM
            count["broader_nearest"] += part.broader.concept_id in near
            count["broader_exact"] += of_broader == matching.SYNONYM
    return {"missing": dict(missing), "there": dict(there)}


def using(weights: Weights) -> Any:
    """A context in which these weights are those that ship."""
    return mock.patch.object(Weights, "shipped", return_value=weights)


def of_hpo() -> Iterator[tuple[Linker, Items, str]]:
    """HPO without some concepts, and their names."""
    linker = train(held_out.of_file(ONTOLOGIES[1]).dictionary)
    dictionary = linker.dictionary
    for kind in ("leaves", "branches"):
        fewer, names = lacking(linker, kind), dictionary.columns.names
        missing = np.setdiff1d(np.arange(len(dictionary)), fewer.linkable)
        rows = np.flatnonzero(np.isin(names.concept, missing))
        asked = np.random.default_rng(0).permutation(rows)[:NAMES].tolist()
        golds = [(GoldGroup((dictionary.ids[names.concept[row]],)),) for row in asked]
        texts = [names.texts[row] for row in asked]
        yield fewer, [Mention(t, gold=g) for t, g in zip(texts, golds, strict=True)], kind


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    rows: list[dict[str, Any]] = []

    def judge(asked: str, out: str, linker: Linker, items: Items) -> None:
        for threshold in THRESHOLDS:
            row = {"asked": asked, "taken_out": out, "threshold": threshold}
            rows.append(row | judged(linker, items, threshold))
            print(rows[-1], flush=True)

    for corpus, title in TITLES.items():
        with using(fit(promises.OTHER[corpus])):
            names, devel = promises.alone(corpus), documents(corpus, "devel")
            for kind in KINDS:
                both = [*documents(corpus, "train"), *devel]
                judge(title, kind, lacking(names, kind, seed=2), both)
            learnt = promises.learnt(corpus, corpus)
            judge(f"{title}, learnt", "any", lacking(learnt, "any", seed=2), devel)
            texts = others(corpus, names)
            answers = [p.parts[0] for p in names.link(iter(texts), k=1)]
            given = sum(part.broader is not None for part in answers)
            exact = sum(part.best is not None for part in answers)
            rows.append({"asked": f"{title}, no disease", "texts": len(texts)})
            rows[-1] |= {"broader": given, "exact": exact}
            print(rows[-1], flush=True)
    save(fit(*TITLES))
    Weights.shipped.cache_clear()
    for linker, names_asked, kind in of_hpo():
        judge("HPO", kind, linker, names_asked)
    results.save("broader", {"rows": rows}, seed=0)
