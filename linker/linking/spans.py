"""The probability that a name found in a text is a mention there."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linker.dictionary.lookup import DictionaryNames, Facts, Findings
from linker.linking.logistic import Floats, Logistic
from linker.text import find
from linker.text.find import Match, is_short_form, longest, running_text
from linker.types import Document, Mention, Span

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
_MOST = 1 << 53  # times that anything is seen: a float holds them
_THRESHOLDS = np.arange(0.2, 0.71, 0.05).round(2)  # that are tried

Key = tuple[str, str]
"""A table and what is counted in it."""


class Counts:
    """How often matches occur in documents, and how often they are annotated."""

    def __init__(self) -> None:
        self.seen: Counter[Key] = Counter()
        self.annotated: Counter[Key] = Counter()

    def add(self, keys: Sequence[Key], is_annotated: bool, times: int = 1) -> None:
        """Count a match, or with -1 take back that it was counted."""
        for key in keys:
            self.seen[key] += times
            self.annotated[key] += times * is_annotated

    def log_odds(self, keys: Sequence[Key]) -> list[float]:
        """The log odds that a match is annotated, by each table."""
        annotated, seen = self.annotated, self.seen
        return [
            math.log((annotated[key] + _PRIOR) / (seen[key] - annotated[key] + _PRIOR))
            for key in keys
        ]

    def to_json(self) -> dict[str, dict[str, list[int]]]:
        """For each table its keys with their two counts."""
        tables: dict[str, dict[str, list[int]]] = {table: {} for table in TABLES}
        for (table, key), times in self.seen.items():
            if times:
                tables[table][key] = [times, self.annotated[table, key]]
        return tables

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Counts:
        """Read what `to_json` made.

        Raises:
            ValueError: a table is missing, or a count is none.
        """
        counts = cls()
        for table in TABLES:
            for key, (times, right) in record[table].items():
                if not (type(times) is type(right) is int and 0 <= right <= times <= _MOST):
                    raise ValueError(f"{key!r} is counted {times} and {right} times")
                counts.seen[table, key], counts.annotated[table, key] = times, right
        return counts


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
        return {
            "logistic": self.logistic.to_json(),
            "counts": self.counts.to_json(),
            "threshold": self.threshold,
            "documents": self.documents,
            "type": self.type,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SpanModel:
        """Read what `to_json` made.

        Raises:
            LookupError, TypeError, ValueError: the object is not of this form.
        """
        threshold = float(record["threshold"])
        if not 0 <= threshold <= 1:
            raise ValueError(f"the threshold of spans is {threshold}")
        return cls(
            Logistic.from_json(record["logistic"], FEATURES),
            Counts.from_json(record["counts"]),
            threshold,
            int(record["documents"]),
            str(record["type"]),
        )


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
    odds = [counts.log_odds(of_one) for of_one in keys]
    around, within = _nested(findings.matches, [of_one[0] for of_one in odds])
    rows = [
        (
            *of_tables,
            math.log1p(counts.seen[TABLES[0], match.key]),
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
    counts = Counts()
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
    return [_without(example, n, annotators, names) for n, example in enumerate(examples)]


def _without(
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


def _count(counts: Counts, example: _Example, times: int = 1) -> None:
    for match, is_annotated in zip(example.findings.matches, example.annotated, strict=True):
        counts.add(_keys(example.findings, match), is_annotated, times)


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
