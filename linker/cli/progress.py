"""The progress of a training: a line for each epoch and each minute, or a bar on a terminal."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linker.cli import common

if TYPE_CHECKING:
    from linker.types import Activity

_EVERY = 60  # seconds after which something is said of what goes on

_LABELS = {
    "gold_share": "lists with gold",
    "synonym_loss": "synonyms",
    "prototype_loss": "prototypes",
    "context_loss": "to names' own vectors",
    "concept_loss": "to their classes' vectors",
    "between_loss": "to half way between",
    "dev_map": "mAP of held-out names",
    "dev_loss": "loss on other names",
    "list_loss": "list loss",
    "norm_loss": "norm loss",
    "sparse_weight": "λ",
    "dev_acc1": "development Acc@1",
    "dev_acc5": "Acc@5",
    "candidate_recall": "candidate recall@20",
}


@contextlib.contextmanager
def reported(checkpoints: Path) -> Iterator[TrainingReporter]:
    """Report what a training does; if it is interrupted, say how to go on."""
    reporter = TrainingReporter()
    try:
        yield reporter
    except (KeyboardInterrupt, SystemExit):  # of SIGTERM
        reporter.close()
        if checkpoints.is_dir():
            common.say(
                f"{checkpoints} holds the training up to its last checkpoint; go on with --resume"
            )
        raise
    finally:
        reporter.close()


class TrainingReporter:
    """Reports each epoch once, and how far it is: a bar on a terminal, else a line a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._spoke = clock, clock()
        self._began: dict[str, float] = {}  # the time when each part began
        self._phase, self._epochs = "", 0
        self._first = 0  # steps of the phase that an earlier run did
        self._done = 0  # steps of the phase until now
        self._steps = 0  # of an epoch
        self._bar: Any = None
        self._said: set[tuple[str, int]] = set()

    def __call__(self, event: Any) -> None:
        if not isinstance(event, Mapping):
            self._step(event)
            return
        epoch = event["phase"], event["epoch"]
        if epoch not in self._said:  # the epochs of an alignment come again with the refit
            self._said.add(epoch)
            numbers = [
                f"{_LABELS.get(name, name)} {value:.4f}"
                for name, value in event.items()
                if name not in ("phase", "epoch")
            ]
            numbers += self._times()
            self._say(f"{epoch[0]}, epoch {epoch[1]} of {self._epochs}: {', '.join(numbers)}")
        self.close()

    def on_activity(self, part: Activity) -> None:
        """Note the start of a part; once a minute, report one that has no steps."""
        if part.epochs:
            self._phase, self._epochs, self._first, self._done = part.what, part.epochs, 0, 0
        if part.share == 0:
            self._began[part.what] = self._clock()
        elif self._is_time():
            so_far = self._clock() - self._began[part.what]
            left = [f"about {_duration(so_far * (1 / part.share - 1))} left"] if part.share else []
            self._say(", ".join([part.what, part.at, f"{_duration(so_far)} so far", *left]))

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _step(self, step: Any) -> None:
        done = (step.epoch - 1) * step.steps + step.step
        if not self._done:
            self._first = done - 1
        self._done, self._steps = done, step.steps
        if self._is_time() and not common.has_bars():
            epoch = f"{self._phase}, epoch {step.epoch} of {self._epochs}"
            place = f"{epoch}, step {step.step:,} of {step.steps:,}"
            self._say(f"{place}: {', '.join([f'loss {step.loss:.4f}', *self._times()])}")
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                desc=f"epoch {step.epoch}",
                total=step.steps,
                initial=step.step - 1,
                unit=" steps",
                leave=False,
                disable=not common.has_bars(),
            )
        self._bar.update()

    def _times(self) -> list[str]:
        """How long the phase has taken, and how long it still may; it may also end early."""
        if not self._done:
            return []
        so_far, total = self._clock() - self._began[self._phase], self._epochs * self._steps
        left = so_far / (self._done - self._first) * (total - self._done)
        return [
            f"{_duration(so_far)} so far",
            *[f"at most {_duration(left)} left"] * (total > self._done),
        ]

    def _is_time(self) -> bool:
        return self._clock() - self._spoke >= _EVERY

    def _say(self, text: str) -> None:
        self.close()
        self._spoke = self._clock()
        common.say(text)


def _duration(seconds: float) -> str:
    """Seconds as 0:07, 12:40 or 1:02:40."""
    return str(timedelta(seconds=round(seconds))).removeprefix("0:").removeprefix("0")
