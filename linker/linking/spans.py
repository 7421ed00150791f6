"""The probability that a name found in a text is a mention there."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt, TypeAdapter
from scipy.special import expit

from linker.dictionary.lookup import DictionaryNames, Facts, Findings
from linker.records import Document, Mention, Span
from linker.text import find
from linker.text.find import Match, is_short_form, longest, running_text

TABLES = ("form", "before", "after", "first", "last")
"""What matches are counted by: their form, the words around them, their first and last word."""
FEATURES = (
    *TABLES,  # the log odds that a match is annotated in other documents, by each of these
    "times",  # log(1 + how often the form occurs in other documents)
    "inside",  # the highest log odds of the form of a longer match around it; 0 without one
    "is_inside",  # whether there is a longer match around it
    "outside",  # the highest log odds of the form of a shorter match inside it; 0 without one
    "is_outside",  # whether there is a shorter match inside it
    "is_name",  # whether the dictionary itself has the form, not only annotated mentions
    "is_short",  # whether it is written like a short form
    "is_exact",  # whether the dictionary has it exactly as it is written
    "is_recased",  # whether all names of the form are short forms, and written otherwise
    "is_defined",  # whether it is a short form that the document defines
    "is_other",  # whether the document defines it as something that is no name
    "is_long",  # whether it is the long form of a short form
    "is_coordinated",  # whether it is of several names that share words
    "words",  # how many it has
    "characters",  # log of how many it has
    "hyphen_before",  # whether a hyphen stands before it
    "hyphen_after",  # whether a hyphen stands behind it
    "concepts",  # log(1 + how many concepts have the form as a name)
)
_PRIOR = 0.5  # times that either outcome is taken to have been seen before
_EDGE = "|"  # in the place of a word around a match where a sentence or the like ends
_NEVER = -99.0  # below all log odds
_THRESHOLDS = np.arange(0.2, 0.71, 0.05).round(2)  # that are tried
_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of a feature's values, where its curve may bend
_DISTINCT = 10  # values from which on a feature has a curve; with fewer it has a line
_PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # inverse strengths of the L2 penalty to try
_FOLDS = 5  # by which the penalty is chosen

Floats = NDArray[np.float64]
Key = tuple[str, str]
"""A table and what is counted in it."""
Counts = dict[str, dict[str, list[int]]]
"""Of each table the keys, with how often each was seen, and how often it was annotated."""


def _count(counts: Counts, example: _Example, times: int = 1) -> None:
    """Count the matches of a document, or with -1 take back that they were counted."""
    for match, is_annotated in zip(example.findings.matches, example.annotated, strict=True):
        for table, key in _keys(example.findings, match):
            of_key = counts[table].setdefault(key, [0, 0])
            of_key[0] += times
            of_key[1] += times * is_annotated


def log_odds(counts: Counts, table: str, key: str) -> float:
    """The log odds that a match is annotated, by a table."""
    seen, annotated = counts[table].get(key, (0, 0))
    return math.log((annotated + _PRIOR) / (seen - annotated + _PRIOR))


@dataclass(frozen=True, slots=True)
class Logistic:
    """P = 1 / (1 + exp(-(bias + Σ w · x))), where x are features and their hinges max(0, f - knot).

    Attributes:
        features: the names of the features.
        knots: for each feature where its curve bends.
        weights: (features and hinges,), feature after feature: of itself, then of its hinges.
        bias: the log odds where all features are 0.
    """

    features: tuple[str, ...]
    knots: tuple[tuple[float, ...], ...]
    weights: Floats
    bias: float

    @classmethod
    def fit(
        cls, features: Sequence[str], values: Floats, right: NDArray[np.bool_], seed: int = 0
    ) -> Logistic:
        """Fit to answers of which it is known whether they are right.

        Args:
            features: their names.
            values: (answers, features), finite.
            right: (answers,), of which two at least are right, and two wrong.
            seed: of the folds by which the penalty is chosen.
        """
        knots = tuple(map(_knots, values.T))
        columns = _columns(values, knots)
        mean, scale = columns.mean(axis=0), columns.std(axis=0)
        scale[scale == 0] = np.inf  # what never changes says nothing
        scaled, fold = (columns - mean) / scale, _folds(right, seed)

        def held_out(penalty: float) -> float:
            """The mean loss of each fold under weights that were fitted to the others."""
            losses = []
            for number in np.unique(fold):
                known, held = fold != number, fold == number
                weights = _weights(scaled[known], right[known], penalty)
                losses.append(_loss(weights, scaled[held], right[held])[0] / held.sum())
            return float(np.mean(losses))

        weights = _weights(scaled, right, min(_PENALTIES, key=held_out))
        fitted = weights[:-1] / scale
        return cls(tuple(features), knots, fitted, float(weights[-1] - fitted @ mean))

    def probabilities(self, values: Floats) -> Floats:
        """The probability that each answer is right, (answers,), given (answers, features)."""
        probabilities: Floats = expit(_columns(values, self.knots) @ self.weights + self.bias)
        return probabilities


def _weights(values: Floats, right: NDArray[np.bool_], penalty: float) -> Floats:
    """The weights, and last the bias, of the least loss · `penalty` + |weights|² / 2."""
    from scipy.optimize import minimize  # which a model that is only used need not load

    def objective(weights: Floats) -> tuple[float, Floats]:
        loss, slope = _loss(weights, values, right)
        inner = np.append(weights[:-1], 0)  # the bias has no penalty
        return penalty * loss + inner @ inner / 2, penalty * slope + inner

    start = np.zeros(values.shape[1] + 1)
    found: Floats = minimize(objective, start, jac=True, method="L-BFGS-B").x
    return found


def _loss(weights: Floats, values: Floats, right: NDArray[np.bool_]) -> tuple[float, Floats]:
    """The sum of -log P of what is known, and its gradient."""
    odds = values @ weights[:-1] + weights[-1]
    miss = expit(odds) - right
    loss = np.logaddexp(0, np.where(right, -odds, odds)).sum()
    return float(loss), np.append(miss @ values, miss.sum())


def _folds(right: NDArray[np.bool_], seed: int) -> NDArray[np.int64]:
    """The fold of each answer; each has its share of the right ones and of the wrong ones."""
    random, fold = np.random.default_rng(seed), np.zeros(len(right), np.int64)
    count = min(_FOLDS, int(right.sum()), int((~right).sum()))
    for group in (right, ~right):
        fold[random.permutation(np.flatnonzero(group))] = np.arange(group.sum()) % count
    return fold


def _knots(values: Floats) -> tuple[float, ...]:
    """Where the curve of a feature may bend, given its values, (answers,)."""
    distinct = np.unique(values)
    if len(distinct) < _DISTINCT:
        return ()
    inner = (q for q in np.quantile(values, _QUANTILES) if distinct[0] < q < distinct[-1])
    return tuple(sorted(set(map(float, inner))))


def _columns(values: Floats, knots: Sequence[Sequence[float]]) -> Floats:
    """Each feature followed by its hinges, (answers, features and hinges)."""
    columns = []
    for feature, of_one in zip(values.T, knots, strict=True):
        columns.append(feature)
        columns += [np.maximum(0.0, feature - knot) for knot in of_one]
    return np.stack(columns, axis=1)


@dataclass(frozen=True, slots=True)
class SpanModel:
    """The probability that a name found in a text is a mention, learnt from annotated documents."""

    logistic: Logistic
    counts: Counts
    threshold: float  # the probability from which names are mentions: the best F1 of spans
    documents: int  # that it was fitted on
    type: str  # of their mentions; empty where they have several

    def probabilities(self, findings: Findings, names: DictionaryNames) -> Floats:
        """The probability of each match."""
        if not findings.matches:
            return np.zeros(0)
        return self.logistic.probabilities(features(findings, names, self.counts))

    def to_json(self) -> dict[str, Any]:
        """What `json` can write."""
        record = dataclasses.asdict(self)
        record["logistic"]["weights"] = self.logistic.weights.tolist()
        return record

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SpanModel:
        """Read what `to_json` made.

        Raises:
            LookupError, TypeError, ValueError: the object is not of this form.
        """
        of = record["logistic"]
        knots = tuple(tuple(map(float, of_one)) for of_one in of["knots"])
        weights, bias, least = np.array(of["weights"], float), of["bias"], record["threshold"]
        counts = _COUNTS.validate_python({table: record["counts"][table] for table in TABLES})
        numbers = np.concatenate([weights, [bias, least], *map(np.array, knots)]).astype(float)
        if not (
            tuple(of["features"]) == FEATURES
            and len(knots) == len(FEATURES)
            and weights.shape == (len(FEATURES) + sum(map(len, knots)),)
            and np.isfinite(numbers).all()
            and 0 <= least <= 1
            and all(a <= n for table in counts.values() for n, a in table.values())
        ):
            raise ValueError("it is no model of spans of this release")
        return cls(
            Logistic(FEATURES, knots, weights, float(bias)),
            {table: {key: [*pair] for key, pair in of.items()} for table, of in counts.items()},
            float(least),
            int(record["documents"]),
            str(record["type"]),
        )


_COUNTS = TypeAdapter(dict[str, dict[str, tuple[NonNegativeInt, NonNegativeInt]]])


def _keys(findings: Findings, match: Match) -> list[Key]:
    """What a match is counted by."""
    forms, joined = findings.words.forms, findings.words.joined
    first, last = match.first, match.last
    before = forms[first - 1] if first and joined[first] else _EDGE
    after = forms[last] if last < len(forms) and joined[last] else _EDGE
    values = match.key, before, after, forms[first], forms[last - 1]
    return list(zip(TABLES, values, strict=True))


def features(findings: Findings, names: DictionaryNames, counts: Counts) -> Floats:
    """The features of the matches of a text, (matches, features)."""
    keys = [_keys(findings, match) for match in findings.matches]
    odds = [[log_odds(counts, *key) for key in of_one] for of_one in keys]
    around, within = _nested(findings.matches, [of_one[0] for of_one in odds])
    rows = [
        (
            *of_tables,
            math.log1p(counts[TABLES[0]].get(match.key, (0,))[0]),
            *((0.0, 0.0) if longer == _NEVER else (longer, 1.0)),
            *((0.0, 0.0) if shorter == _NEVER else (shorter, 1.0)),
            *_features_of_name(findings, match, names.facts(match.key)),
        )
        for match, of_tables, longer, shorter in zip(
            findings.matches, odds, around, within, strict=True
        )
    ]
    return np.array(rows, np.float64).reshape(len(rows), len(FEATURES))


def _features_of_name(findings: Findings, match: Match, facts: Facts) -> tuple[float, ...]:
    """The features from `is_name` on."""
    text, written = findings.words.text, findings.written(match)
    return (
        bool(facts.written),
        is_short_form(written),
        written in facts.written,
        facts.is_recased(written),
        match.kind == "short",
        written in findings.others,
        match.kind == "long",
        match.kind == "coordinated",
        match.last - match.first,
        math.log(match.end - match.start),
        text[match.start - 1 : match.start] == "-",
        text[match.end : match.end + 1] == "-",
        math.log1p(len(facts.concepts)),
    )


def _nested(matches: Sequence[Match], odds: Sequence[float]) -> tuple[list[float], list[float]]:
    """The highest log odds of the matches around each match, and of those inside it.

    Args:
        matches: in the order of their starts, the longest first.
        odds: of each.
    """
    around, within = [_NEVER] * len(matches), [_NEVER] * len(matches)
    for i, outer in enumerate(matches):
        for j in range(i + 1, len(matches)):
            if matches[j].start >= outer.end:
                break
            if matches[j].end <= outer.end:
                around[j] = max(around[j], odds[i])
                within[i] = max(within[i], odds[j])
    return around, within


@dataclass(frozen=True, slots=True)
class _Example:
    """A document to learn from."""

    findings: Findings
    annotated: Sequence[bool]  # whether each match is an annotated mention
    mentions: int  # that are annotated


def fit(
    names: DictionaryNames, items: Iterable[Mention | Document], seed: int = 0
) -> SpanModel | None:
    """Fit to annotated documents; None where they cannot teach.

    What a model says of a document in training, it says without what that document says itself:
    its counts are taken back, and names that only its own mentions gave are not looked at.

    Args:
        names: of the dictionary, with the mentions of the documents among them.
        items: documents with annotated mentions; loose mentions are left out.
        seed: of the folds by which the strength of the penalty is chosen.
    """
    documents = [item for item in items if isinstance(item, Document) and item.passages]
    examples = _examples(names, documents)
    counts: Counts = {table: {} for table in TABLES}
    for example in examples:
        _count(counts, example)
    values = []
    for example in examples:
        _count(counts, example, -1)
        values.append(features(example.findings, names, counts))
        _count(counts, example)
    labels = np.array([label for example in examples for label in example.annotated], bool)
    if min(labels.sum(), (~labels).sum()) < 2:
        return None
    logistic = Logistic.fit(FEATURES, np.concatenate(values), labels, seed=seed)
    threshold = _threshold(examples, [logistic.probabilities(part) for part in values])
    types = {mention.type for document in documents for mention in document.mentions}
    return SpanModel(
        logistic, counts, threshold, len(documents), types.pop() if len(types) == 1 else ""
    )


def _examples(names: DictionaryNames, documents: Sequence[Document]) -> list[_Example]:
    """The matches in each document, without those that only its own mentions made findable."""
    examples = []
    annotators: dict[str, set[int]] = {}  # form -> numbers of the documents that annotate it
    for number, document in enumerate(documents):
        findings = names.find(running_text(document))
        spans = {m.spans[0] for m in document.mentions if len(m.spans) == 1}
        labels = [(match.start, match.end) in spans for match in findings.matches]
        for match, is_annotated in zip(findings.matches, labels, strict=True):
            if is_annotated:  # a short form that the document defines is a name by itself, too
                for form in {match.key, find.key(findings.written(match))}:
                    annotators.setdefault(form, set()).add(number)
        examples.append(_Example(findings, labels, len(spans)))
    return [_informed(example, n, annotators, names) for n, example in enumerate(examples)]


def _informed(
    example: _Example, number: int, annotators: Mapping[str, set[int]], names: DictionaryNames
) -> _Example:
    """A document without the names that only its own mentions gave.

    Args:
        example: the document.
        number: its number.
        annotators: for each form the numbers of the documents that annotate it.
        names: of the dictionary.
    """
    findings = example.findings
    kept = [
        (match, label)
        for match, label in zip(findings.matches, example.annotated, strict=True)
        if match.kind != "name"
        or names.facts(match.key).written
        or annotators.get(match.key, set()) - {number}
    ]
    matches, labels = [match for match, _ in kept], [label for _, label in kept]
    return _Example(dataclasses.replace(findings, matches=matches), labels, example.mentions)


def _threshold(examples: Sequence[_Example], probabilities: Sequence[Floats]) -> float:
    """The probability from which on matches are taken, so that the F1 of spans is highest."""

    def f1(threshold: float) -> float:
        right = taken = 0
        for example, of_one in zip(examples, probabilities, strict=True):
            labels: dict[Span, bool] = {
                (match.start, match.end): label
                for match, label, probability in zip(
                    example.findings.matches, example.annotated, of_one.tolist(), strict=True
                )
                if probability >= threshold
            }
            chosen = longest(labels)
            taken += len(chosen)
            right += sum(labels[span] for span in chosen)
        return 2 * right / max(1, taken + sum(example.mentions for example in examples))

    return float(max(_THRESHOLDS, key=f1))
