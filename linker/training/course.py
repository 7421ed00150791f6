"""The course of a training: choose the encoder, train, train again on all mentions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary
from linker.training import lists, trial
from linker.training.plan import TrainingPlan
from linker.training.settings import RunSettings
from linker.training.trial import Items

if TYPE_CHECKING:
    pass


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
    right: Callable[[Items, _Linker], NDArray[np.bool_]]  # which mentions have the right concept

    def run(self) -> _Linker:
        """Train as the plan says."""
        plan = self._chosen() if self.plan.compare else self.plan
        linker = self.fit(plan, self.dictionary, self.mentions, self.settings, self.validate)
        linker = linker.with_ranker(
            lists.fitted(
                linker,
                self.dictionary,
                self.mentions,
                self.dev,
                plan.options.training.seed,
                self.settings.say,
                is_trained=linker.best_epoch > 0,
            )
        )
        self.settings.on_trained(linker)
        if not plan.refit:
            return linker
        history, epochs, ranker = linker.history, linker.best_epoch, linker.ranker
        del linker  # its vectors, while the next ones are made
        return self._refitted(plan, history, epochs).with_ranker(ranker)

    def _refitted(
        self, plan: TrainingPlan, history: Sequence[Mapping[str, Any]], epochs: int
    ) -> _Linker:
        """Train again on all mentions.

        Args:
            plan: of the first training.
            history: of the first training; that of this one follows it.
            epochs: of the list-wise phase, as many as were best.
        """
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

    def _chosen(self) -> TrainingPlan:
        """The plan with the encoder and λ that are right most often where they are asked.

        Development mentions decide, or else annotated mentions that are held out, or else names
        that are held out of the dictionary. What is held out is learnt in the end. Where nothing
        can be asked the encoder stays: it was better on all small dictionaries that were measured
        (benchmarks/accuracy/held_out.py).
        """
        plan = self.plan
        asked = self._trial()
        if asked is None:
            few = f"fewer than {trial.FEWEST} names can be held out to compare it with characters"
            self.settings.say(f"encoder: {plan.encoder} ({few}; --encoder tfidf takes these alone)")
            return plan
        encoder = self.fit(plan, asked.dictionary, asked.mentions, self.settings, None)
        choice = trial.choose(encoder, asked)
        for line in choice.lines:
            self.settings.say(line)
        if not choice.takes_encoder:
            self.settings.say(f"encoder: tfidf (with {plan.encoder} no more is found)")
            options = dataclasses.replace(plan.options, encoder=None)
            return dataclasses.replace(plan, encoder="tfidf", options=options)
        training = plan.options.training
        training = dataclasses.replace(
            training, sparse_weight=choice.factor * training.sparse_weight
        )
        weight = training.sparse_weight / training.scale(True)
        self.settings.say(
            f"encoder: {plan.encoder} (with λ = {weight:g}, the weight of characters)"
        )
        options = dataclasses.replace(plan.options, training=training)
        return dataclasses.replace(plan, options=options)

    def _trial(self) -> trial.Trial[Any] | None:
        """What is asked."""
        plan, seed = self.plan, self.plan.options.training.seed
        if trial.questions(self.dev):
            right = partial(self.right, self.dev)
            return trial.Trial("development mentions", self.dictionary, self.mentions, right)
        return trial.annotated(self.dictionary, self.mentions, self.right, seed) or trial.names(
            self.dictionary, self.mentions, plan.normalize, seed
        )
