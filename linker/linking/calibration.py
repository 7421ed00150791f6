"""What calibrates promises: sets that hold the right answer, and how many answers are right.

Sets are those of split conformal prediction (Vovk et al. 2005) with the probability of the right
answer as the score, which gives the smallest sets on average (Sadinle et al. 2019). "None of these"
is one of the answers: it is right where none of the candidates is, and has the probability that
they leave. Each group of mentions is calibrated by itself, so that the promise holds in each.

What confidences are worth on mentions that the ranker has not learnt is their isotonic regression.

Both hold for texts like those that calibrate. Words that no name has, other scripts, codes and
sentences show in one number, how alike a text and the name found for it are; so it is kept how many
texts are names, resemble one, or none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linker.linking.lists import PLACE, Judged, MatchLists, Rows, largest
from linker.linking.matches import SHORT_FORM, TEXT_COLUMNS

if TYPE_CHECKING:
    from linker.linking.ranking import Order
    from linker.records import Prediction

GROUPS = ("name", "short form", "other")
"""A mention that is letter by letter a name, one short word in capitals, or neither."""
ENOUGH = 100  # mentions of a group by which it is calibrated alone
_ENOUGH_OF_ALL = 300  # mentions by which confidences are corrected
_KEPT = 1000  # probabilities of a group that are kept, as quantiles where it has more
_KNOTS = 30  # of the curve of what confidences are worth
_ALIKE = (1 - 1e-5, 0.5)  # similarities of characters from which a text is, or resembles, a name
_NO_TEXTS = (0,) * (len(_ALIKE) + 1)


@dataclass(frozen=True, slots=True)
class Group:
    """The mentions of a group that calibrate its sets.

    Attributes:
        probabilities: of what was right for each, in ascending order.
        found: the share for which a candidate was right.
    """

    probabilities: tuple[float, ...]
    found: float

    @classmethod
    def of(cls, probabilities: NDArray[Any], found: NDArray[np.bool_]) -> Group:
        """The group of some mentions; of many, quantiles of their probabilities are kept."""
        values = np.sort(probabilities)
        if len(values) > _KEPT:
            values = values[(np.arange(_KEPT) * len(values)) // _KEPT]
        return cls(tuple(values.round(5).tolist()), round(float(found.mean()), 4))

    def least(self, coverage: float) -> float:
        """The probability that an answer of a set has; 0, so that all are in it, of too few."""
        count = len(self.probabilities)
        place = min(count, int((1 - coverage) * (count + 1) + 1e-9))
        return self.probabilities[place - 1] if place else 0.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """By annotated mentions that the ranker has not learnt.

    Attributes:
        groups: what sets are made by.
        worth: confidences of first answers in ascending order, each with the share that is right.
        texts: how many distinct ones are a name, resemble one, and resemble none; all 0: an earlier
            release did not count them.
    """

    groups: Mapping[str, Group] = field(default_factory=dict)
    worth: tuple[tuple[float, float], ...] = ()
    texts: tuple[int, ...] = _NO_TEXTS

    @classmethod
    def of(cls, scored: Iterable[tuple[Judged, Order]]) -> Calibration:
        """The calibration by some lists, each with its order."""
        columns, texts = [], np.array(_NO_TEXTS)
        for judged, order in scored:
            confidence, right, similarity = first_answers(judged, order)
            of_mentions = probabilities(judged, order)
            columns.append((groups(judged.lists), *of_mentions, confidence, right))
            # a text is known by what depends on nothing else
            keys = largest(judged.lists.values[:, :TEXT_COLUMNS], judged.lists.starts)
            _, first = np.unique(keys, axis=0, return_index=True)
            below = np.sum([similarity[first] < least for least in _ALIKE], axis=0)
            texts += np.bincount(below, minlength=len(texts))
        group, probability, found, confidence, right = map(
            np.concatenate, zip(*columns, strict=True)
        )
        of_groups = {
            name: Group.of(probability[group == number], found[group == number])
            for number, name in enumerate(GROUPS)
            if (group == number).any()
        }
        return cls(of_groups, _curve(confidence, right), tuple(texts.tolist()))

    def expected(self, confidence: NDArray[Any]) -> NDArray[np.float64]:
        """The share of answers that is right, of each confidence."""
        x, y = np.array(self.worth).T
        share: NDArray[np.float64] = np.interp(confidence, x, y)
        return share

    def before(self, others: Calibration) -> Calibration:
        """These groups; one of few mentions is filled up with quantiles of the other calibration.

        Few mentions altogether do not correct confidences, nor say what texts are like.
        """
        groups, total = dict(others.groups), 0
        for name, own in self.groups.items():
            total += (count := len(own.probabilities))
            if count < ENOUGH and name in groups:
                more = np.array(groups[name].probabilities)
                places = (np.arange(ENOUGH - count) * len(more)) // (ENOUGH - count)
                every = sorted((*own.probabilities, *more[places].tolist()))
                share = count / ENOUGH
                found = share * own.found + (1 - share) * groups[name].found
                own = Group(tuple(every), round(found, 4))
            groups[name] = own
        of_all = self if total >= _ENOUGH_OF_ALL else others
        return replace(of_all, groups=groups)

    def reachable(self, mentions: Mapping[str, int]) -> float | None:
        """The share of some mentions whose right concept is a candidate, so that a set may name it.

        Args:
            mentions: how many are of each of `GROUPS`.

        Returns:
            The share among the mentions that calibrate; None where none of these are of a group.
        """
        known = {name: count for name, count in mentions.items() if name in self.groups and count}
        if not known:
            return None
        found = sum(count * self.groups[name].found for name, count in known.items())
        return found / sum(known.values())

    def least(self, group: int, coverage: float) -> float:
        """The probability that an answer in a set of a mention of this group has."""
        name = GROUPS[group]
        return self.groups[name].least(coverage) if name in self.groups else 0.0

    def to_dict(self) -> dict[str, Any]:
        """An object that `json` can write."""
        groups = {
            name: {"probabilities": list(group.probabilities), "found": group.found}
            for name, group in self.groups.items()
        }
        worth = [list(knot) for knot in self.worth]
        return {"groups": groups, "worth": worth, "texts": list(self.texts)}

    @classmethod
    def from_dict(cls, record: Any) -> Calibration:
        """What `to_dict` wrote.

        Raises:
            ValueError, LookupError, TypeError: it is something else.
        """
        groups, worth = {}, np.array(record["worth"], np.float64).reshape(-1, 2)
        if not (np.diff(worth, axis=0) >= 0).all() or not (abs(worth - 0.5) <= 0.5).all():
            raise ValueError("the calibration of the ranker is none")
        for name, group in record["groups"].items():
            values = np.array(group["probabilities"], np.float64)
            in_order = values.ndim == 1 and (np.diff([0.0, *values, 1.0]) >= 0).all()
            if name not in GROUPS or not in_order:
                raise ValueError("the calibration of the ranker is none")
            groups[name] = Group(tuple(values.tolist()), float(group["found"]))
        texts = record.get("texts", list(_NO_TEXTS))
        is_counts = isinstance(texts, list) and len(texts) == len(_NO_TEXTS)
        if not is_counts or not all(type(n) is int and n >= 0 for n in texts):
            raise ValueError("the calibration of the ranker is none")
        return cls(groups, tuple((x, y) for x, y in worth.tolist()), tuple(texts))


def _curve(confidence: NDArray[Any], right: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """The share of right answers as a function of the confidence that never falls."""
    from scipy.optimize import isotonic_regression  # seldom needed, and slow to import

    order = np.argsort(confidence, kind="stable")
    share = isotonic_regression(right[order].astype(np.float64)).x
    kept = np.unique(np.linspace(0, len(order) - 1, _KNOTS).astype(np.int64))
    knots = np.stack([confidence[order], share], axis=1)[kept]
    return tuple((x, y) for x, y in np.round(knots, 5).tolist())


def groups(lists: MatchLists) -> Rows:
    """The group of each mention, (mentions,), by its most usual reading: a place in `GROUPS`."""
    columns = lists.values[:, [PLACE["same_letters"], PLACE["short_form"]]]
    of_texts = largest(columns, lists.rows) > 0
    usual, starts = lists.readings[:-1], lists.lookups[:-1]
    is_name = np.logical_and.reduceat(of_texts[:, 0], starts)[usual]
    is_short = np.logical_or.reduceat(of_texts[:, 1], starts)[usual]
    return np.select([is_short, is_name], [1, 0], 2)


def probabilities(judged: Judged, order: Order) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How probable the model finds what is right for each mention, and whether it is a candidate.

    Args:
        judged: their lists.
        order: of these.

    Returns:
        (mentions,) the smallest probability over the parts of the reading that won, of a right
        candidate, or of "none of these"; and (mentions,) whether all parts have a right candidate.
    """
    lists, shares, found = judged.lists, list[float](), list[bool]()
    for reading in order.best.tolist():
        of_parts, are_found = list[float](), list[bool]()
        for lookup in range(*lists.lookups[reading : reading + 2].tolist()):
            rows = slice(*lists.rows[lookup : lookup + 2].tolist())
            confidence, is_right = order.confidence[rows], judged.right[rows]
            are_found.append(bool(is_right.any()))
            of_parts.append(confidence[is_right].max() if is_right.any() else rest(confidence))
        shares.append(min(of_parts))
        found.append(all(are_found))
    return np.array(shares), np.array(found, bool)


def first_answers(
    judged: Judged, order: Order
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """The confidence of the first answer of each mention, whether it is right, and how alike."""
    lists, right, similarity = judged.lists, list[bool](), list[float]()
    alike = lists.values[:, PLACE["sparse"]]
    for reading in order.best.tolist():
        lookups = slice(*lists.lookups[reading : reading + 2].tolist())
        starts, ends = lists.rows[:-1][lookups], lists.rows[1:][lookups]
        is_found = bool((starts < ends).all())
        right.append(is_found and bool(judged.right[order.order[starts]].all()))
        similarity.append(float(alike[order.order[starts]].min()) if is_found else 0.0)
    return order.readings[order.best], np.array(right, bool), np.array(similarity)


def unlikeness(prediction: Prediction) -> int:
    """0 for a mention that is a name, 1 where it, or a part of it, only resembles one, 2 none.

    One that people decided, or that is marks alone, counts as a name.
    """
    if prediction.state != "model" or not any(map(str.isalnum, prediction.mention.text)):
        return 0
    first = (part.best or part.rejected for part in prediction.parts)
    # where there are no vectors, the score is the similarity of characters
    alike = ((c.score if c.sparse_score is None else c.sparse_score) if c else 0.0 for c in first)
    similarity = min(alike, default=0.0)
    return sum(similarity < least for least in _ALIKE)


def group_of(prediction: Prediction) -> str:
    """The one of `GROUPS` that a mention is of, as `groups` has it."""
    if any(SHORT_FORM.fullmatch(part.expanded or part.text) for part in prediction.parts):
        return "short form"
    return "other" if unlikeness(prediction) else "name"


def rest(confidence: NDArray[np.float64]) -> float:
    """The probability of "none of these"."""
    return max(0.0, 1 - float(confidence.sum()))


def answers_of(
    ids: Sequence[str],
    confidence: NDArray[np.float64],
    least: float,
    given: Collection[str | None] = (),
) -> tuple[str | None, ...]:
    """The answers of a part that are as probable as `least`, the most probable first; one at least.

    Args:
        ids: of its candidates.
        confidence: of these, (candidates,).
        least: see `Calibration.least`.
        given: answers that are always in the set.

    Returns:
        Ids; None stands for "none of these".
    """
    every = [*zip(confidence.tolist(), ids, strict=True), (rest(confidence), None)]
    every.sort(key=lambda of_one: -of_one[0])
    least = min(least, every[0][0])
    return tuple(answer for share, answer in every if share >= least or answer in given)
