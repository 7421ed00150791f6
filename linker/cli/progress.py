"""The progress of a training: a line for each epoch and each minute, or a bar on a terminal."""

from __future__ import annotations

import contextlib
import io
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tqdm import tqdm

from linker.cli import common
from linker.types import Activity

_EVERY = 60  # seconds after which something is said of what goes on
_METER = "{desc}: {n_fmt} of {total_fmt} [{elapsed}<{remaining}]{postfix}"


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

    def __init__(self) -> None:
        self._phase, self._epochs = "", 0
        self._bar: Any = None
        self._spoke = time.monotonic()
        self._said: set[tuple[str, int]] = set()

    def __call__(self, event: Any) -> None:
        """Report a step, or the record of an epoch."""
        if not isinstance(event, Mapping):
            done = (event.epoch - 1) * event.steps + event.step
            self._show(self._phase, done, self._epochs * event.steps, f"loss {event.loss:.4f}")
            return
        epoch = event["phase"], event["epoch"]
        if epoch not in self._said:  # the epochs of an alignment come again with the refit
            self._said.add(epoch)
            numbers = ", ".join(
                f"{name.replace('_', ' ')} {value:.4f}"
                for name, value in event.items()
                if name not in ("phase", "epoch")
            )
            self.close()
            common.say(f"{epoch[0]}, epoch {epoch[1]} of {self._epochs}: {numbers}")

    def on_activity(self, part: Activity) -> None:
        """Report how far a part is; a phase of the training reports its own steps."""
        if part.epochs:
            self._phase, self._epochs = part.what, part.epochs
        else:
            total = None if part.share is None else 100
            self._show(part.what, round(100 * (part.share or 0)), total, part.at)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _show(self, what: str, done: int, total: int | None, at: str) -> None:
        has_bars = common.has_bars()
        if self._bar is None or self._bar.desc != what:
            self.close()
            shape: Any = {"leave": False, "initial": max(0, done - 1), "file": sys.stderr}
            if not has_bars:  # only counts
                shape |= {"file": io.StringIO(), "mininterval": _EVERY, "bar_format": _METER}
            self._bar = tqdm(desc=what, total=total, **shape)
        self._bar.total = total
        self._bar.set_postfix_str(at, refresh=False)
        self._bar.update(done - self._bar.n)
        if not has_bars and time.monotonic() - self._spoke >= _EVERY:
            self._spoke = time.monotonic()
            common.say(str(self._bar))
