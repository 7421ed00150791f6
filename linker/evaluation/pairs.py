"""Pairs of an id and a label that people have, compared with a dictionary and a linker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from linker import matching
from linker.dictionary.columns import ALTERNATIVE
from linker.ids import parse_gold
from linker.io.outputs import decimals, joined_ids
from linker.linking.linker import Linker
from linker.records import Prediction

Verdict = Literal["right", "obsolete", "mismatched", "unsure", "unknown", ""]


class Checked(NamedTuple):
    """What is said of a pair; empty for a row with neither an id nor a label."""

    verdict: Verdict = ""
    current_id: str = ""  # what the id stands for now; several are joined by `|`
    better_id: str = ""  # what the label means, where that is another concept
    better_name: str = ""
    confidence: str = ""  # that the label means it, or what the id stands for


COLUMNS = Checked._fields


class PairChecker:
    """Says which pairs are right.

    - `right`: the label is a name of the concept, or is linked to it.
    - `obsolete`: the id is obsolete or merged.
    - `mismatched`: the label is a name of another concept only, or is linked to one with enough
      confidence.
    - `unsure`: neither; the label is no name of the concept.
    - `unknown`: the dictionary does not have the id, or there is none.

    A pair with an id alone has no verdict but `obsolete` or `unknown`.

    Args:
        linker: links the labels.
        threshold: the confidence that is enough.
    """

    def __init__(self, linker: Linker, threshold: float = 0.5) -> None:
        self._linker, self._dictionary, self._threshold = linker, linker.dictionary, threshold
        columns = self._dictionary.columns
        statuses = zip(columns.old_ids, columns.old_status.tolist(), strict=True)
        self._obsolete = {
            identifier
            for identifier, status in statuses
            if status != ALTERNATIVE and identifier not in self._current([identifier])
        }

    def check(self, ids: str, label: str, prediction: Prediction | None) -> Checked:
        """Compare a pair.

        Args:
            ids: the id; those of a composite are joined by `|`.
            label: the label.
            prediction: what the label is linked to; None for a blank one.
        """
        gold = parse_gold(ids, self._dictionary.identify)
        if gold is None:  # a part of it is open
            return Checked("unsure")
        if not gold and prediction is None:
            return Checked()
        listed = [identifier for group in gold for identifier in group.ids]
        current, obsolete = self._current(listed), self._obsolete.intersection(listed)
        verdict: Verdict = "obsolete" if obsolete else ""
        if not listed or not all(self._dictionary.rows(i) or i in obsolete for i in listed):
            verdict = "unknown"
        if prediction is None:
            return Checked(verdict, "|".join(current))
        parts, named = prediction.parts, self._named(label)
        answers = [[part.best.concept_id] if part.best else [] for part in parts]
        agrees = bool(current) and (
            (len(gold) == 1 and not named.isdisjoint(current))
            or matching.strict_rank(answers, gold, self._dictionary.resolve) == 1
        )
        confidences = [part.confidence for part in parts]
        is_sure = all(answers) and all(c is not None and c >= self._threshold for c in confidences)
        if not verdict:
            verdict = "right" if agrees else "mismatched" if is_sure or named else "unsure"
        confidence = "|".join(map(decimals, confidences)) if any(confidences) else ""
        if agrees or not any(answers):
            is_first = [identifier for ids in answers for identifier in ids] == current
            return Checked(verdict, "|".join(current), confidence=confidence if is_first else "")
        names = "|".join(part.best.name if part.best else "" for part in parts)
        return Checked(verdict, "|".join(current), joined_ids(prediction), names, confidence)

    def _current(self, ids: Sequence[str]) -> list[str]:
        """The ids of the concepts that ids stand for now."""
        rows = dict.fromkeys(row for identifier in ids for row in self._dictionary.rows(identifier))
        return [self._dictionary.ids[row] for row in rows]

    def _named(self, label: str) -> frozenset[str]:
        """The concepts that a label is a name of."""
        table = self._linker.generator.table
        row = table.row(self._linker.normalize(label))
        rows = table.concepts_of(row).tolist() if row >= 0 else []
        return frozenset(self._dictionary.ids[row] for row in rows)
