"""What a model learns from decisions: accuracy and confidence on what was not decided.

python benchmarks/workbench/learning.py

Writes results/learning.json. A curator goes through the development documents of a corpus in their
order, and decides on each form (a mention with its short form written out, in normal form) as the
annotators did. After so many decisions the mentions of the other forms are linked,

* by the model as it was ("decisions only": they answer their own mentions alone),
* with the decisions as names ("names"),
* with the ranker fitted further to them, too, as `linker review learn` does ("learnt"),
* by a model trained from the start with them ("trained", after 100, 300 and 600).

The model is the default of `linker train` (static) on the MEDIC of 2026; its ranker is fitted to
the other corpus. Differences to the first way are those of the means of forms, with an interval of
95% by a paired bootstrap of forms. "held_out" is what `linker review learn` says of the old and
the new model: of the decisions, by parts that neither has learnt.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import ranker_weights
from benchmarks.lib import results
from benchmarks.lib.data import TITLES, documents, medic
from benchmarks.lib.measure import timed
from benchmarks.workbench.curator import first_of_forms, places
from linker import Linker
from linker.desk.projects.learning import Learner, learn
from linker.evaluation import metrics, protocols
from linker.records import Mention
from linker.training.release import update

NUMBERS = range(100, 601, 100)
TRAINED = (100, 300, 600)
ONLY, NAMES, LEARNT, ALL = "decisions only", "names", "learnt", "trained"
LEAST = 100  # forms that are left, at least


def silent(*_: object) -> None:
    """Say nothing."""


class Session:
    """The decisions of a curator on a corpus, in order, and the model before them."""

    def __init__(self, corpus: str) -> None:
        self.corpus, self.dictionary = corpus, medic("2026")
        self.model = ranker_weights.trained(corpus, self.dictionary, "static", say=silent)
        self.documents = documents(corpus, "devel")
        self.places = places(self.documents, self.model)
        self.decided = first_of_forms(self.places)

    def lessons(self, count: int) -> list[Mention]:
        """The first decisions, to learn from."""
        return [place.taught for place in self.decided[:count]]

    def models(self, count: int) -> Iterator[tuple[str, float, Linker]]:
        """The ways to learn from the first decisions, the seconds of each, and their models."""
        lessons = self.lessons(count)
        yield ONLY, 0.0, self.model
        yield NAMES, *timed(lambda: update(self.model, mentions=lessons)[0])
        yield LEARNT, *timed(lambda: Learner(self.model, lessons).learnt([True] * count))
        if count in TRAINED:
            start = self.corpus, self.dictionary, "static", lessons
            yield ALL, *timed(lambda: ranker_weights.trained(*start, say=silent))

    def measured(self, linker: Linker, count: int) -> tuple[dict[str, float], list[float]]:
        """The figures of a model on the forms that are left; Acc@1 of each of these forms."""
        left = {place.form for place in self.decided[count:]}
        outcomes = protocols.outcomes(linker.link(self.documents), linker)
        found = [
            (place.form, outcome)
            for place, outcome in zip(self.places, outcomes, strict=True)
            if place.form in left
        ]
        right: dict[str, list[bool]] = defaultdict(list)
        for form, outcome in found:
            right[form].append(outcome.rank == 1)
        confidences = [outcome.confidence or 0.0 for _, outcome in found]
        is_first_right = [outcome.first_is_right for _, outcome in found]
        of_forms = [float(np.mean(right[form])) for form in sorted(right)]
        figures = {
            "acc1": np.mean([outcome.rank == 1 for _, outcome in found]),
            "acc1_of_forms": np.mean(of_forms),
            "first_right": np.mean(is_first_right),  # also candidates that were too unsure
            "expected": np.mean(confidences),  # of these, by their confidence
            "calibration_error": metrics.calibration_error(confidences, is_first_right),
        }
        return {name: rounded(value) for name, value in figures.items()}, of_forms

    def row(self, count: int) -> dict[str, Any]:
        """The figures of all ways after so many decisions."""
        row: dict[str, Any] = {"decisions": count, "forms_left": len(self.decided) - count}
        before: list[float] = []
        for way, seconds, linker in self.models(count):
            figures, of_forms = self.measured(linker, count)
            before = before or of_forms
            difference = [*map(rounded, metrics.paired_difference([of_forms], [before]))]
            row[way] = figures | {"difference": difference, "seconds": round(seconds, 1)}
            print(self.corpus, count, way, row[way], flush=True)
        _, compared = learn(self.model, self.lessons(count), silent)
        return row | {"held_out": compared or None}


def rounded(value: Any) -> float:
    """A figure with four decimals."""
    return round(float(value), 4)


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    found = {}
    for corpus in TITLES:
        session = Session(corpus)
        counts = [count for count in NUMBERS if len(session.decided) - count >= LEAST]
        rows = [session.row(count) for count in counts]
        facts = {"mentions": len(session.places), "forms": len(session.decided)}
        found[corpus] = facts | {"rows": rows}
    results.save("learning", found, seed=0)
