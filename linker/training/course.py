"""The course of a training: train, fit the ranker, train again on all mentions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from linker.dictionary import Dictionary
from linker.training import lists
from linker.training.lists import Items
from linker.training.plan import TrainingPlan
from linker.training.settings import RunSettings


class Trainable(lists.Ranked, Protocol):
    """What a course makes: a linker."""

    history: list[Mapping[str, Any]]

    @property
    def best_epoch(self) -> int: ...


_Linker = TypeVar("_Linker", bound=Trainable)


@dataclass(frozen=True)
class Course(Generic[_Linker]):
    """A training, from its plan to a linker."""

    plan: TrainingPlan
    dictionary: Dictionary
    mentions: Items
    dev: Items
    settings: RunSettings
    fit: Callable[..., _Linker]  # trains once: plan, dictionary, mentions, settings, validate
    validate: Callable[[_Linker], Mapping[str, float]] | None  # measures epochs before a refit

    def run(self) -> _Linker:
        """Train as the plan says."""
        linker = self.fit(self.plan, self.dictionary, self.mentions, self.settings, self.validate)
        linker = linker.with_ranker(
            lists.fitted(
                linker,
                self.dictionary,
                self.mentions,
                self.dev,
                self.plan.options.training.seed,
                self.settings.say,
                is_trained=linker.best_epoch > 0,
                extend=self.plan.extend,
            )
        )
        self.settings.on_trained(linker)
        if not self.plan.refit:
            return linker
        history, epochs, ranker = linker.history, linker.best_epoch, linker.ranker
        del linker  # its vectors, while the next ones are made
        return self._refitted(history, epochs).with_ranker(ranker)

    def _refitted(self, history: Sequence[Mapping[str, Any]], epochs: int) -> _Linker:
        """Train again on all mentions.

        Args:
            history: of the first training; that of this one follows it.
            epochs: of the list-wise phase, as many as were best.
        """
        plan = self.plan
        if epochs:
            times = f"{epochs} epoch{'s' if epochs > 1 else ''}"
            self.settings.say(f"refit: {times} on the training and the development mentions")
            training = dataclasses.replace(plan.options.training, epochs=epochs)
            options = dataclasses.replace(plan.options, training=training)
            plan = dataclasses.replace(plan, options=options)
        again = dataclasses.replace(self.settings, refit=True, resume=True)  # aligned already
        mentions = [*self.mentions, *self.dev]
        linker = self.fit(plan, self.dictionary, mentions, again, None)
        refit = [record for record in linker.history if record["phase"].startswith("refit")]
        linker.history = [*history, *refit]
        return linker
