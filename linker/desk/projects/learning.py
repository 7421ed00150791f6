"""Learning: a trained model takes what people decided, and is measured on what it has not learnt.

The encoder stays as it is. Accepted decisions become names, as annotated mentions do, and the
ranker is fitted further to the candidates that the model, which has not learnt them yet, gives for
them. That takes seconds, and is as good as a training from the start (docs/workbench.md). Those
that hold in one document only are no names; the ranker is fitted to their mentions there.

For figures decisions are held out: each of five parts is answered by a model that has learnt the
other four. Parts are of decisions that were made one after another, since those of one text are
alike: were parts drawn by chance, they would promise several times what is gained in other texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linker.desk.decisions.exchange import taught
from linker.desk.projects import marks, store
from linker.desk.projects.linking import is_linked
from linker.errors import LinkerError
from linker.evaluation import metrics, protocols
from linker.ids import parse_gold
from linker.linking import ranker as rankers
from linker.linking import spans
from linker.linking.decided import Decided
from linker.linking.decisions import in_force
from linker.linking.linker import Linker
from linker.linking.lists import Judged
from linker.records import Activity, Decision, Document, Mention
from linker.text.mentions import definitions_of
from linker.training import fit_ranker
from linker.training.release import update

PARTS = 5
FEWEST = 30
"""Decisions that are held out for figures; of fewer nothing can be said."""
FEWEST_DOCUMENTS = 200
"""Documents that teach where mentions are; what fewer teach is worse than the rules without."""

_STEPS = PARTS + 2  # the candidates, each part, and all
_SHOWN = 5  # candidates of a mention that is measured


def figures_of(right: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """How many decisions that neither has learnt an old and a new model answer rightly, with the
    shares and their intervals of 95%.

    Args:
        right: of each decision whether the old and the new one answer it rightly.
    """
    figures: dict[str, Any] = {"held_out": len(right)}
    for name, of_model in zip(("old", "new"), zip(*right, strict=True), strict=True):
        interval = metrics.share_interval(sum(of_model), len(right))
        figures[name] = {
            "right": sum(of_model),
            "accuracy": round(sum(of_model) / len(right), 4),
            "interval": [round(end, 4) for end in interval],
        }
    # that only the new one answers rightly, or only the old one
    return figures | {"better": right.count((False, True)), "worse": right.count((True, False))}


def lessons_of(decisions: Iterable[Decision], linker: Linker) -> list[Mention]:
    """What decisions teach a model, in their order, with the ids that its dictionary has now.

    That is what `linker.desk.decisions.exchange.taught` says of those in force.

    Args:
        decisions: in force, in order of entry.
        linker: the model.
    """
    places = in_force(decisions, linker.dictionary)
    lessons = sorted(taught(places.values()), key=lambda decision: decision.id or 0)
    return [Mention(d.mention, gold=parse_gold(d.concept_id or "-1")) for d in lessons]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Documents of projects, as people reviewed them."""

    decided: Sequence[Document] = ()  # only mentions with a decision in their document have gold
    done: Sequence[Document] = ()  # of which somebody said that all their mentions are marked

    @classmethod
    def of(cls, connection: sqlite3.Connection, linker: Linker, decided: Decided) -> Reviewed:
        """The documents of all projects of a file.

        Args:
            connection: to the file.
            linker: the model.
            decided: the decisions in force, for this model.
        """
        here = {scope for _, scope in decided.places if scope}
        with_decisions, done = list[Document](), list[Document]()
        for project in store.projects(connection):
            of_project = marks.of_project(connection, project.id)
            for stored in store.documents(connection, project.id):
                said = of_project.get(stored.number, [])
                document = marks.marked(stored.document, said)
                mentions = [m for m in document.mentions if is_linked(project, m.type)]
                document = replace(
                    document, mentions=tuple(replace(m, gold=None) for m in mentions)
                )
                if document.id in here:
                    with_decisions.append(_judged(document, linker, decided))
                if marks.is_done(said):
                    done.append(document)
        return cls(with_decisions, done)


def _judged(document: Document, linker: Linker, decided: Decided) -> Document:
    """A document in which the mentions have gold on which was decided in it alone."""
    definitions = definitions_of(document, linker.options.text)

    def judged(mention: Mention) -> Mention:
        by = decided.on_mention(mention, document, definitions).by
        of = taught([[replace(d, scope="") for d in by if d.scope]])
        return replace(mention, gold=parse_gold(of[0].concept_id or "-1")) if of else mention

    return replace(document, mentions=tuple(map(judged, document.mentions)))


class Learner:
    """Makes models that have learnt decisions out of one that has not.

    Args:
        base: the model, which has learnt none of the decisions.
        lessons: the mentions with what was decided everywhere, one at least.
        decided: documents with decisions that hold in them alone; see `Reviewed`.
    """

    def __init__(
        self, base: Linker, lessons: Sequence[Mention], decided: Sequence[Document] = ()
    ) -> None:
        self._base, self._lessons = base, lessons
        self._lists = fit_ranker.judged(base, lessons)
        has_gold = any(m.gold is not None for document in decided for m in document.mentions)
        self._others = [fit_ranker.judged(base, decided)] if has_gold else []

    def learnt(self, is_taken: Sequence[bool]) -> Linker:
        """The model that has learnt some of the lessons, given which are taken."""
        numbers = np.flatnonzero(is_taken)
        if not len(numbers):
            return self._base
        mentions = [self._lessons[number] for number in numbers.tolist()]
        linker, _ = update(self._base, mentions=mentions)
        if len(numbers) < fit_ranker.FEWEST or linker.ranker is None:
            return linker
        seed, before = linker.options.training.seed, linker.ranker
        lists = Judged.joined([self._lists.only(numbers), *self._others])
        ranker = rankers.fit(lists, seed, before)
        known = before.described.removeprefix("fitted to ")
        facts = {"fitted_to": f"{len(numbers):,} decisions, and before that {known}"}
        return linker.with_ranker(replace(ranker, provenance=facts))

    def compared(self, say: Callable[[int], None]) -> dict[str, Any]:
        """Measure the base and a new model on decisions that neither has learnt.

        Args:
            say: is told the number of each part, from 0, before it is worked on.
        """
        pairs = list[tuple[bool, bool]]()
        count = len(self._lessons)
        for part in range(PARTS):
            say(part)
            held_out = range(part * count // PARTS, (part + 1) * count // PARTS)
            rest = [number not in held_out for number in range(count)]
            asked = [self._lessons[number] for number in held_out]
            models = self._base, self.learnt(rest)
            old, new = (protocols.strict(model, asked, _SHOWN) for model in models)
            pairs += [(a.rank == 1, b.rank == 1) for a, b in zip(old, new, strict=True)]
        return figures_of(pairs)


def learn(
    base: Linker,
    lessons: Sequence[Mention],
    report: Callable[[Activity], None],
    reviewed: Reviewed | None = None,
) -> tuple[Linker, dict[str, Any]]:
    """Let a model learn decisions, and measure what that is worth.

    Args:
        base: the model, which has learnt none of them.
        lessons: the decisions.
        report: is called with what begins, and how far it is.
        reviewed: documents of projects.

    Returns:
        The model that has learnt all; and the figures of five that have not learnt the part that
        they are measured on; none where there are fewer than `FEWEST` decisions.

    Raises:
        LinkerError: there is no decision to learn.
    """
    if not lessons:
        raise LinkerError(
            "there is nothing to learn: no concept is accepted everywhere, and of all parts of its "
            "mention, without disagreement"
        )

    def say(step: int, what: str) -> None:
        report(Activity(what, step / _STEPS))

    say(0, f"linking {len(lessons):,} mentions with decisions")
    reviewed = reviewed or Reviewed()
    learner = Learner(base, lessons, reviewed.decided)
    comparison: dict[str, Any] = {}
    if len(lessons) >= FEWEST:
        comparison = learner.compared(
            lambda part: say(1 + part, f"measuring part {part + 1} of {PARTS}")
        )
    say(1 + PARTS, f"learning {len(lessons):,} decisions")
    linker = learner.learnt([True] * len(lessons))
    return _finding(linker, reviewed.done), comparison


def _finding(linker: Linker, done: Sequence[Document]) -> Linker:
    """The model with what documents teach of where mentions are, if they are enough, and more than
    it was taught by before."""
    if len(done) < max(FEWEST_DOCUMENTS, linker.spans.documents if linker.spans else 0):
        return linker
    model = spans.fit(linker.found_names, done, linker.options.training.seed)
    return replace(linker, spans=model or linker.spans)
