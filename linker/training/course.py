"""The course of a training: train, compare with characters, train again on all mentions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary
from linker.training import trial
from linker.training.plan import TrainingPlan
from linker.training.settings import RunSettings
from linker.types import Document, Mention

if TYPE_CHECKING:
    from typing_extensions import Self

Items = Sequence[Mention | Document]


class Trainable(trial.Trialled, Protocol):
    """What a course makes: a linker."""

    encoder: str
    history: list[Mapping[str, Any]]

    @property
    def best_epoch(self) -> int: ...

    def over(
        self, dictionary: Dictionary, mentions: Items = (), *, extend: bool = True
    ) -> Self: ...


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
    right: Callable[[_Linker], NDArray[np.bool_]]  # which of `dev` have the right concept first

    def run(self) -> _Linker:
        """Train as the plan says."""
        if self.plan.compare:
            return self._compared()
        linker = self._fit(self.plan, self.dictionary)
        self.settings.on_trained(linker)
        if not self.plan.refit:
            return linker
        history, epochs = linker.history, linker.best_epoch
        del linker  # its vectors, while the next ones are made
        return self._refitted(self.dictionary, history, epochs)

    def _fit(self, plan: TrainingPlan, dictionary: Dictionary) -> _Linker:
        """Train on the mentions, and validate each epoch."""
        return self.fit(plan, dictionary, self.mentions, self.settings, self.validate)

    @cached_property
    def _all_mentions(self) -> Items:
        return [*self.mentions, *self.dev] if self.plan.refit else self.mentions

    def _refitted(
        self, dictionary: Dictionary, history: Sequence[Mapping[str, Any]], epochs: int
    ) -> _Linker:
        """Train again on all mentions.

        Args:
            dictionary: the names.
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
        linker = self.fit(plan, dictionary, self._all_mentions, again, None)
        refit = [record for record in linker.history if record["phase"].startswith("refit")]
        linker.history = [*history, *refit]
        return linker

    def _compared(self) -> _Linker:
        """Train the encoder, and keep it where it is right more often than characters.

        Development mentions decide, or else names that are held out of the dictionary: they are not
        trained on, but linked to in the end.
        """
        plan, say = self.plan, self.settings.say
        held_out = None
        if not self.dev:
            seed = plan.options.training.seed
            held_out = trial.hold_out(self.dictionary, plan.normalize, seed)
            if held_out is None:
                return self._by_characters()
        learnt = held_out.dictionary if held_out else self.dictionary
        dense = self._fit(plan, learnt)
        comparison = trial.compare(dense, held_out.right if held_out else self.right)
        what = "names held out of the dictionary" if held_out else "development mentions"
        say(
            f"{what}: {comparison.mentions:,}; characters get {comparison.sparse:,} right, "
            f"{dense.encoder} {comparison.dense:,} (with λ multiplied by {comparison.factor:g})"
        )
        linker = comparison.linker
        say(f"encoder: {linker.encoder}")
        self.settings.on_trained(linker)
        if plan.refit and linker.encoder == dense.encoder:
            linker = self._refitted(learnt, dense.history, dense.best_epoch)
            linker = linker.weighted(comparison.factor)
        if held_out or plan.refit:
            return linker.over(self.dictionary, self._all_mentions, extend=plan.extend)
        return linker

    def _by_characters(self) -> _Linker:
        """Train the sparse encoder, if too few names can be held out to compare it with another."""
        encoder = self.plan.encoder
        self.settings.say(
            f"encoder: tfidf (fewer than {trial.FEWEST} names can be held out to compare it "
            f"with {encoder}; --encoder {encoder} trains {encoder} anyway)"
        )
        options = dataclasses.replace(self.plan.options, encoder=None)
        plan = dataclasses.replace(self.plan, encoder="tfidf", options=options)
        return self._fit(plan, self.dictionary)
