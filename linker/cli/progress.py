"""The progress of a training: a line for each epoch and each minute, or a bar on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from linker.cli import common
from linker.records import Activity

_EVERY = 60  # seconds after which something is said of what goes on, without a terminal


class TrainingReporter:
    """Reports each epoch once, and how far long work is."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._spoke = time.monotonic()
        self._epochs: set[tuple[str, int]] = set()  # those that were reported

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Report the record of an epoch; those of an alignment come again with the refit."""
        epoch = record["phase"], record["epoch"]
        if epoch not in self._epochs:
            self._epochs.add(epoch)
            self.close()
            numbers = [f"{n.replace('_', ' ')} {v:.4f}" for n, v in [*record.items()][2:]]
            common.say(f"{epoch[0]}, epoch {epoch[1]}: {', '.join(numbers)}")

    def on_activity(self, part: Activity) -> None:
        """Report how far a part is."""
        share = None if part.share is None else round(100 * part.share)
        if not common.has_bars():
            if time.monotonic() - self._spoke >= _EVERY:
                self._spoke = time.monotonic()
                done = "" if share is None else f" {share}%"
                common.say(f"{part.what}:{done} {part.at}")
            return
        if self._bar is None or self._bar.desc != part.what:
            self.close()
            total = None if share is None else 100
            self._bar = tqdm(desc=part.what, total=total, leave=False, file=sys.stderr)
        self._bar.set_postfix_str(part.at, refresh=False)
        self._bar.update((share or 0) - self._bar.n)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
