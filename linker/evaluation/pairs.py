"""Pairs of an id and a label that people have, compared with a dictionary and a linker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from linker import matching
from linker.dictionary.columns import ALTERNATIVE
from linker.ids import parse_gold
from linker.linking.linker import Linker
from linker.outputs import decimals, joined_ids
from linker.types import Gold, Prediction

Verdict = Literal["right", "obsolete", "mismatched", "unsure", "unknown", ""]
COLUMNS = ("verdict", "current_id", "better_id", "better_name", "confidence")


class Checked(NamedTuple):
    """What is said of a pair; empty for a row with neither an id nor a label."""

    verdict: Verdict = ""
    current_id: str = ""  # what the id stands for now; several are joined by `|`
    better_id: str = ""  # what the label means, where that is another concept
    better_name: str = ""
    confidence: str = ""  # that the label means it, or what the id stands for


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
        old = self._dictionary.columns.old
        statuses = zip(old.ids, old.status.tolist(), strict=True)
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
        if not gold and prediction is None:
            return Checked()
        listed = [identifier for group in gold for identifier in group.ids]
        current = self._current(listed)
        agrees = bool(current) and self._agrees(gold, current, label, prediction)
        obsolete = self._obsolete.intersection(listed)
        verdict: Verdict
        if not listed or not all(self._dictionary.rows(i) or i in obsolete for i in listed):
            verdict = "unknown"
        elif obsolete:
            verdict = "obsolete"
        elif prediction is None:
            verdict = ""
        elif agrees:
            verdict = "right"
        else:
            verdict = "mismatched" if self._means_another(label, prediction) else "unsure"
        return _checked(verdict, current, agrees, prediction)

    def _current(self, ids: Sequence[str]) -> list[str]:
        """The ids of the concepts that ids stand for now."""
        rows = dict.fromkeys(row for identifier in ids for row in self._dictionary.rows(identifier))
        return [self._dictionary.ids[row] for row in rows]

    def _agrees(
        self, gold: Gold, current: Sequence[str], label: str, prediction: Prediction | None
    ) -> bool:
        """Whether a label is a name of one of the concepts, or is linked to all that are meant."""
        if prediction is None:
            return False
        if len(gold) == 1 and not self._named(label).isdisjoint(current):
            return True
        answers = [part.best for part in prediction.parts]
        ids = [[answer.concept_id] if answer else [] for answer in answers]
        return matching.strict_rank(ids, gold, self._dictionary.resolve) == 1

    def _named(self, label: str) -> frozenset[str]:
        """The concepts that a label is a name of."""
        table = self._linker.generator.table
        row = table.row(self._linker.normalize(label))
        rows = table.concepts_of(row).tolist() if row >= 0 else []
        return frozenset(self._dictionary.ids[row] for row in rows)

    def _means_another(self, label: str, prediction: Prediction) -> bool:
        """Whether a label is a name of a concept, or is linked to one with enough confidence."""
        confidences = [part.confidence for part in prediction.parts if part.best]
        is_linked = len(confidences) == len(prediction.parts) and all(
            confidence is not None and confidence >= self._threshold for confidence in confidences
        )
        return is_linked or bool(self._named(label))


def _checked(
    verdict: Verdict, current: Sequence[str], agrees: bool, prediction: Prediction | None
) -> Checked:
    """The record of a verdict."""
    answers = [part.best for part in prediction.parts] if prediction else []
    confidences = [part.confidence for part in prediction.parts] if prediction else []
    confidence = "|".join(map(decimals, confidences)) if any(confidences) else ""
    if agrees or prediction is None or not any(answers):
        is_first = [answer.concept_id for answer in answers if answer] == list(current)
        return Checked(verdict, "|".join(current), "", "", confidence if is_first else "")
    names = "|".join(answer.name if answer else "" for answer in answers)
    return Checked(verdict, "|".join(current), joined_ids(prediction), names, confidence)
