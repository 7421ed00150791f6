"""Which documents a curator should review next: keys against the accuracy of the whole, simulated.

python benchmarks/workbench/order.py

Writes results/order.json and results/plots/order.png. A curator, whose keys curator.py counts,
reviews the first 200 development documents of BC5CDR until all is decided,

* document by document, in their order or by doubt (as the page has them), and decides on each
  mention whose form was not decided before; where a decision on a form is wrong for a mention, on
  this mention alone;
* or form by form, on the first mention of each: by doubt, by doubt times the mentions of the form,
  and so after all answers from a confidence of 0.98 on were accepted at once, by two keys.

Each without learning, and with a model that has learnt all decisions after each hundred, which
gives the answers, the doubts and the order from then on. The accuracy of the whole is the share of
all mentions that are right, by a decision or by the model. The model is that of learning.py.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy import ranker_weights
from benchmarks.lib import results
from benchmarks.lib.data import documents, medic
from benchmarks.workbench.curator import Curator, Place, places
from linker import Linker
from linker.desk.projects.learning import Learner
from linker.records import Document, Gold, Prediction

DOCUMENTS, EACH, SURE, BULK_KEYS = 200, 100, 0.98, 2
STEP = 100  # keys between two points of the curve in the results
REACHED = (0.85, 0.9, 0.95)

Point = tuple[int, float]
"""Keys, and the share of all mentions that are right."""


class Review:
    """Documents under review: what was decided, with how many keys, and what the model says.

    Args:
        base: the model before any decision.
        items: the documents.
        learns: whether the model learns after each hundred decisions.
    """

    def __init__(self, base: Linker, items: Sequence[Document], learns: bool) -> None:
        self._base, self._items, self._learns = base, items, learns
        self.places = places(items, base)
        self.curator = Curator(base)
        self.decided: dict[str, Place] = {}  # the place of each form on which was decided
        self._here: dict[int, Gold] = {}  # decisions on one mention alone, by its number
        self._bulk: dict[int, Prediction] = {}  # answers that were accepted at once
        self.keys, self._learnt = 0, 0
        self.answers = self._linked(base)
        self.curve: list[Point] = [(0, self._accuracy())]

    def _linked(self, linker: Linker) -> list[Prediction]:
        return [p for p in linker.link(self._items) if p.mention.gold is not None]

    def doubtful(self, number: int) -> bool:
        """Whether a mention is not decided."""
        return self.places[number].form not in self.decided and number not in self._bulk

    def decide(self, number: int) -> None:
        """Decide on a mention, unless it was decided rightly before."""
        place = self.places[number]
        before = self.decided.get(place.form)
        if before and before.gold == place.gold:
            return
        self.keys += self.curator.decides(self.answers[number], place.gold)[1]
        if before:
            self._here[number] = place.gold
        else:
            self.decided[place.form] = place

    def accept(self, least: float) -> None:
        """Accept all answers from a confidence on at once."""
        of = enumerate(self.answers)
        self._bulk = {n: answer for n, answer in of if (answer.confidence or 0.0) >= least}
        self.keys += BULK_KEYS

    def go_on(self) -> bool:
        """Note where the review is; whether the model has learnt, so that the order may change."""
        count = len(self.decided) // EACH
        is_due = self._learns and count > self._learnt
        if is_due:
            self._learnt = count
            lessons = [place.taught for place in self.decided.values()]
            linker = Learner(self._base, lessons).learnt([True] * len(lessons))
            self.answers = self._linked(linker)
        self.curve.append((self.keys, self._accuracy()))
        return is_due

    def _accuracy(self) -> float:
        right = 0
        for number, place in enumerate(self.places):
            if place.form in self.decided:
                gold = self._here.get(number, self.decided[place.form].gold)
                right += gold == place.gold
            else:
                answer = self._bulk.get(number, self.answers[number])
                right += self.curator.is_right(answer, place.gold)
        return right / len(self.places)


def by_document(review: Review, doubt: bool) -> None:
    """Review document by document, in their order or by doubt."""
    of: list[list[int]] = [[] for _ in range(DOCUMENTS)]
    for number, place in enumerate(review.places):
        of[place.document].append(number)

    def ordered(left: Sequence[int]) -> Iterator[int]:
        if not doubt:
            return iter(left)

        def wrong(document: int) -> float:
            doubtful = (review.answers[n] for n in of[document] if review.doubtful(n))
            return sum(1 - (answer.confidence or 0.0) for answer in doubtful)

        return iter(sorted(left, key=wrong, reverse=True))

    left = set(range(DOCUMENTS))
    order = ordered(sorted(left))
    while left:
        document = next(order)
        left.remove(document)
        for number in of[document]:
            review.decide(number)
        if review.go_on():
            order = ordered(sorted(left))


def by_form(review: Review, counts: bool, bulk: bool) -> None:
    """Review form by form.

    Args:
        review: to go on with.
        counts: whether the doubt of a form counts as often as the form occurs.
        bulk: whether all sure answers are accepted at once, before.
    """
    if bulk:
        review.accept(SURE)
    times = Counter(place.form for place in review.places)

    def worth(number: int) -> float:
        doubt = 1 - (review.answers[number].confidence or 0.0)
        return doubt * times[review.places[number].form] if counts else doubt

    while True:
        first: dict[str, int] = {}
        for number, place in enumerate(review.places):
            if review.doubtful(number):
                first.setdefault(place.form, number)
        if not first:
            return
        for number in sorted(first.values(), key=worth, reverse=True):
            review.decide(number)
            if review.go_on():
                break


WAYS: dict[str, Callable[[Review], None]] = {
    "documents in order": partial(by_document, doubt=False),
    "documents by doubt": partial(by_document, doubt=True),
    "forms by doubt": partial(by_form, counts=False, bulk=False),
    "forms by doubt times mentions": partial(by_form, counts=True, bulk=False),
    "the same, sure ones at once": partial(by_form, counts=True, bulk=True),
}


def figures_of(review: Review) -> dict[str, Any]:
    """The figures of a review that has ended."""
    keys = [point[0] for point in review.curve]
    grid = range(0, keys[-1] + STEP, STEP)
    return {
        "keys": keys[-1],
        "decisions": len(review.decided),
        "accuracy": round(review.curve[-1][1], 4),
        "keys_to": {
            str(goal): next((at for at, share in review.curve if share >= goal), None)
            for goal in REACHED
        },
        "curve": [round(review.curve[max(0, bisect_right(keys, at) - 1)][1], 4) for at in grid],
    }


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    items = documents("bc5cdr", "devel")[:DOCUMENTS]
    base = ranker_weights.trained("bc5cdr", medic("2026"), "static", say=lambda _: None)
    found: dict[str, Any] = {}
    with results.plotted("order", figsize=(8, 5)) as axes:
        for number, (way, go) in enumerate(WAYS.items()):
            for learns in (False, True):
                review = Review(base, items, learns)
                go(review)
                name = way + ", learning" * learns
                found[name] = figures_of(review)
                print(name, found[name], flush=True)
                line = "-" if learns else ":"
                axes.plot(*zip(*review.curve, strict=True), line, color=f"C{number}", label=name)
        axes.set(xlabel="keys", ylabel="share of all mentions that are right")
        axes.legend()
    facts = {"documents": DOCUMENTS, "mentions": len(review.places), "step": STEP}
    results.save("order", facts | {"ways": found}, seed=0)
