"""Which loss and which model the list-wise ranker should have.

python benchmarks/accuracy/ranker_losses.py

Writes results/ranker_losses.json. Each row is fitted to the training mentions of one corpus, by the
dictionary alone and by one that learnt the other folds, and judged on development mentions of both
corpora, over the lists: a mention is right where the first candidates of its chosen reading all
are. Static vectors, the MEDIC of 2017 with the names of DOID and HPO; three seeds. The network of
the ranker by several losses, and two kinds of trees; LambdaMART wants `pip install lightgbm`.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.ranker_weights import SEED, of_names
from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents
from benchmarks.lib.linkers import with_lent
from linker import Linker, matching, metrics
from linker.evaluation.report import rounded
from linker.linking.ranking import DescribedBatch, by_probability
from linker.ranker import ranker as rankers
from linker.ranker.ranker import Judged, MatchLists, Probabilities
from linker.training import fit_ranker, release
from linker.types import Mention

SEEDS = range(3)
Array = np.ndarray[Any, Any]
Answer = tuple[Array, Array, Array | None]  # rows in order, reading of each mention, confidences
Model = Callable[[DescribedBatch], Answer]
RIGHT, PARENT, ANCESTOR = 3, 2, 1  # what a candidate is; 0: nothing of these
RELEVANCE = np.array([0, 0, matching.HYPERNYM, matching.SYNONYM])  # of these, in BCNH
FIRST = "marginal"
_right = fit_ranker._judged


def levels(linker: Linker, mentions: list[Mention], batch: DescribedBatch) -> tuple[Array, Array]:
    """What each candidate of a batch is, (rows,), and which mentions have a concept."""
    right, known = _right(linker, mentions, batch)
    concepts, starts, names = batch.found.concepts, batch.lists.starts, linker.dictionary
    level = np.zeros(len(concepts), np.int8)
    for mention, start, end in zip(mentions, starts[:-1], starts[1:], strict=True):
        ids = matching.accepted(mention.gold or (), names.resolve)
        wanted = sorted({row for identifier in ids for row in names.rows(identifier)})
        for above in (names.hierarchy.ancestors(wanted), names.hierarchy.parents(wanted)):
            level[start:end] += np.isin(concepts[start:end], np.concatenate([[], *above]))
    level[right] = RIGHT
    return level, known


def judged(corpus: str) -> Judged:
    """The lists that rows are fitted to, with the relevance of each candidate."""
    names, train = of_names("static"), documents(corpus, "train")
    with mock.patch.object(fit_ranker, "_judged", levels):
        alone = fit_ranker.judged(names, train)
        both = [alone, fit_ranker.folds(names, with_lent(), train, SEED)]
    whole = Judged.joined(both)
    return dataclasses.replace(whole, right=RELEVANCE[whole.right])


def gradients(
    probability: Probabilities, judged: Judged, gains: Array, is_target: bool
) -> tuple[Array, Array]:
    """The gradients of a loss for the scores of candidates and slots, as the ranker wants them.

    Where no reading is right, one of the slots is, and has the relevance of a right candidate.

    Args:
        probability: what the network says.
        judged: the lists, with the relevance of each candidate.
        gains: of each relevance.
        is_target: whether gains are the target themselves; else the loss is -log Σ gain · p.
    """
    of, count = judged.lists, len(judged.weight)
    lookup, reading, mention = map(owners, (of.rows, of.lookups, of.readings))
    lookups, parts = len(of.rows) - 1, np.diff(of.lookups)
    wanted = gains[judged.right] * (1 if is_target else probability.rows)
    of_lookup = np.bincount(lookup, wanted, lookups)
    with np.errstate(divide="ignore"):
        of_reading = np.bincount(reading, np.log(of_lookup), len(parts))
    if is_target:
        of_reading = np.exp(of_reading / parts)
    else:
        of_reading = probability.readings * np.exp(of_reading)
    has_none = np.bincount(lookup, judged.right == matching.SYNONYM, lookups) == 0
    is_right = np.bincount(reading, has_none, len(parts)) == 0
    is_found = np.bincount(mention, is_right, count) > 0
    slots = np.stack([probability.none, probability.missed], axis=1)
    is_slot = ~is_found[:, None] & np.stack([~judged.is_known, judged.is_known], axis=1)
    of_slots = gains[matching.SYNONYM * is_slot] * (1 if is_target else slots)
    total = np.bincount(mention, of_reading, count) + of_slots.sum(axis=1)
    q, t = of_reading / total[mention], wanted / np.where(of_lookup > 0, of_lookup, 1)[lookup]
    row, each = reading[lookup], judged.weight / judged.weight.sum()
    d_scores = ((probability.readings - q) / parts)[row] * probability.rows
    d_scores += q[row] * (probability.rows - t)
    d_slots = slots - of_slots / total[:, None]
    return (
        (d_scores * each[mention[row]]).astype(np.float32),
        (d_slots * each[:, None]).astype(np.float32),
    )


def owners(indptr: Array) -> Array:
    """The number of the list that each item is of."""
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def network(
    judged: Judged, seed: int, gains: Sequence[float] = (), is_target: bool = False
) -> Model:
    """The ranker's own network, with its own loss or by `gradients`."""
    if gains:
        way = partial(gradients, gains=np.array(gains), is_target=is_target)
        with mock.patch.object(rankers, "_gradients_of_scores", way):
            ranker = rankers.fit(judged, seed)
    else:
        is_right = judged.right == matching.SYNONYM
        ranker = rankers.fit(dataclasses.replace(judged, right=is_right), seed)

    def answer(batch: DescribedBatch) -> Answer:
        ranking = by_probability(batch, ranker.probabilities(batch.lists))
        return ranking.order, ranking.best, ranking.readings[ranking.best]

    return answer


def lambdamart(judged: Judged, seed: int) -> Model:
    """Trees that order the candidates of a mention (Burges 2010); no probabilities."""
    import lightgbm

    model = lightgbm.LGBMRanker(
        **{"n_estimators": 100, "learning_rate": 0.05, "num_leaves": 15, "min_child_samples": 50},
        **{"colsample_bytree": 0.6, "subsample": 0.7, "subsample_freq": 1, "reg_lambda": 5},
        **{"lambdarank_truncation_level": 5, "random_state": seed, "n_jobs": 1, "verbose": -1},
    )
    sizes = np.diff(judged.lists.starts)
    model.fit(judged.lists.inputs, judged.right, group=sizes[sizes > 0])
    return lambda batch: (*by_mean(model.booster_.predict(batch.lists.inputs), batch), None)


def trees(judged: Judged, seed: int) -> Model:
    """Trees that give the probability of each candidate by itself."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    settings: Any = {"max_iter": 100, "early_stopping": False, "random_state": seed}
    model = HistGradientBoostingClassifier(**settings)
    model.fit(judged.lists.inputs, judged.right == matching.SYNONYM)

    def answer(batch: DescribedBatch) -> Answer:
        scores = model.predict_proba(batch.lists.inputs)[:, 1]
        order, best = by_mean(scores, batch)
        return order, best, means(scores[order], batch.lists)[best]

    return answer


def by_mean(scores: Array, batch: DescribedBatch) -> tuple[Array, Array]:
    """The rows in order, and the reading of each mention with the best mean over its parts."""
    of = batch.lists
    order = np.lexsort((-scores, owners(of.rows)))
    return order, np.lexsort((-means(scores[order], of), owners(of.readings)))[of.readings[:-1]]


def means(ordered: Array, of: MatchLists) -> Array:
    """The mean over the parts of each reading of the score that comes first; 0 where none is."""
    return np.add.reduceat(firsts(ordered, of, -np.inf), of.lookups[:-1]) / np.diff(of.lookups)


def firsts(ordered: Array, of: MatchLists, nothing: float) -> Array:
    """What stands first in each list, (lookups,)."""
    result, is_filled = np.full(len(of.rows) - 1, nothing), np.diff(of.rows) > 0
    result[is_filled] = ordered[of.rows[:-1][is_filled]]
    return result


FITS: dict[str, Callable[[Judged, int], Model]] = {
    FIRST: network,
    "marginal, parents": partial(network, gains=(0, 0.1, 1)),
    "list-wise, shares": partial(network, gains=(0, 1, 2), is_target=True),
    "list-wise, softmax": partial(network, gains=tuple(np.exp([0, 1, 2])), is_target=True),
    "LambdaMART": lambdamart,
    "trees": trees,
}


def found(model: Model, asked: list[tuple[DescribedBatch, Array]]) -> tuple[Array, Array | None]:
    """What the answer to each mention is (the worst of its parts), and confidences."""
    every, sure = [], []
    for batch, level in asked:
        order, best, confidence = model(batch)
        first = firsts(level[order], batch.lists, 0)
        every.append(np.minimum.reduceat(first, batch.lists.lookups[:-1])[best])
        if confidence is not None:
            sure.append(confidence)
    return np.concatenate(every), np.concatenate(sure) if sure else None


def figures(runs: list[tuple[Array, Array | None]], first: Array, is_new: Array) -> dict[str, Any]:
    """The figures of a model: means over its seeds.

    Args:
        runs: what `found` gave for each seed.
        first: (seeds, mentions) whether the ranker's own loss is right.
        is_new: (mentions,) whether no training mention is written alike.
    """
    level = np.stack([level for level, _ in runs])
    right, wrong = level == RIGHT, level[level < RIGHT]
    row = {"acc": right.mean(), "acc_new": right[:, is_new].mean(), "hypernym": (wrong > 0).mean()}
    pairs = [(sure, of_one) for (_, sure), of_one in zip(runs, right, strict=True)]
    if pairs[0][0] is not None:
        row["auroc"] = np.mean([metrics.auroc(*pair) for pair in pairs])
        row["ece"] = np.mean([metrics.calibration_error(*pair) for pair in pairs])
    row = {name: rounded(value) for name, value in row.items()}
    if not np.array_equal(first, right):
        row["gain"] = [round(value, 5) for value in metrics.paired_difference(right, first)]
    return row


def rows() -> Iterator[dict[str, Any]]:
    """Every model, fitted to each corpus and judged on each, by both dictionaries."""
    asked = {}
    for corpus, learnt in itertools.product(TITLES, (False, True)):
        linker = of_names("static")
        if learnt:
            linker = release.with_dictionary(linker, with_lent(), documents(corpus, "train"))
        asked[corpus, learnt] = [
            (batch, levels(linker, mentions, batch)[0])
            for mentions, batch in linker.lists(documents(corpus, "devel"))
        ]
    for fitted_to in TITLES:
        of, base = judged(fitted_to), {}
        known = set(texts(fitted_to, "train"))
        is_new = {c: np.array([t not in known for t in texts(c, "devel")]) for c in TITLES}
        for loss, fit in FITS.items():
            if fit is lambdamart and find_spec("lightgbm") is None:
                print(f"{loss}: lightgbm is not installed")
                continue
            models = [fit(of, seed) for seed in SEEDS]
            for (corpus, learnt), batches in asked.items():
                runs = [found(model, batches) for model in models]
                if loss == FIRST:
                    base[corpus, learnt] = np.stack([level == RIGHT for level, _ in runs])
                row = {"loss": loss, "fitted_to": fitted_to, "corpus": corpus, "learnt": learnt}
                row |= figures(runs, base[corpus, learnt], is_new[corpus])
                print(*row.values(), flush=True)
                yield row


def texts(corpus: str, split: str) -> list[str]:
    """The mentions of a split, in small letters."""
    return [m.text.lower() for document in documents(corpus, split) for m in document.mentions]


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    results.save("ranker_losses", {"rows": list(rows())}, seed=SEEDS[0])
