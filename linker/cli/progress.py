"""Bars that show how far long work is, on a terminal alone."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any, TypeVar

from tqdm import tqdm

from linker.cli import common
from linker.errors import shown
from linker.io import files
from linker.io.files import Pathlike
from linker.records import Activity

_Item = TypeVar("_Item")
_PAUSE = 0.1  # seconds between two states of a bar
_OF_SHARE = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
_UNKNOWN = "{desc}: {elapsed}{postfix}"
_TICK = 0.5  # seconds between two states of the time, where nothing else is new


class Progress:
    """Shows activities one after another, the last one as a bar.

    Nothing is shown with -q, or where standard error is no terminal. Within a `with` block the last
    bar is removed at its end.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._what = ""  # the activity that the bar shows
        self._is_over = Event()
        self._clock: Thread | None = None  # shows its time anew until it is over

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, activity: Activity) -> None:
        """Show how far an activity is; another one takes the place of the one before."""
        if not common.has_bars():
            return
        is_known = activity.share is not None
        if self._bar is None or self._what != activity.what:
            self.close()
            self._what = activity.what
            self._bar = tqdm(
                desc=activity.what,
                total=100 if is_known else None,
                bar_format=_OF_SHARE if is_known else _UNKNOWN,
                mininterval=_PAUSE,
                miniters=0,
                leave=False,
                dynamic_ncols=True,
                file=sys.stderr,
            )
            self._is_over = Event()
            self._clock = Thread(target=_tick, args=(self._bar, self._is_over), daemon=True)
            self._clock.start()
        self._bar.set_postfix_str(activity.at, refresh=False)
        self._bar.update(round(100 * (activity.share or 0)) - self._bar.n)

    def watched(self, path: Pathlike) -> Pathlike:
        """A path for a reader, whose progress is shown where it is that of a plain file."""
        what = f"reading {shown(Path(path).name)}"
        return files.watched(path, lambda share: self.show(Activity(what, share)))

    def close(self) -> None:
        """Remove the bar."""
        self._is_over.set()
        if self._clock is not None:
            self._clock.join()
            self._clock = None
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class InputBar:
    """A bar that counts what is done of an input, and how much is left.

    How many there are is reckoned by the share of the bytes that was read for those that are done.
    Of what can be read only once, or is no plain file, nothing is known but the count.

    Args:
        unit: what is counted.
        source: what readers are given for the input; see `files.watched`.
        output: the path that is written to; there is no bar where it is this terminal.
        total: how many there are, where that is known before.
    """

    def __init__(self, unit: str, source: Pathlike, output: str, total: int | None = None) -> None:
        self._file = source if isinstance(source, files.WatchedFile) else None
        self._shares = deque[float]()  # of the bytes, behind each that was read and is not done
        is_hidden = not common.has_bars() or (output == "-" and sys.stdout.isatty())
        self._bar = tqdm(
            unit=f" {unit}",
            total=total,
            dynamic_ncols=True,
            disable=is_hidden,
            file=sys.stderr,
        )

    def __enter__(self) -> InputBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    @property
    def total(self) -> float | None:
        """How many there are, as far as is known."""
        return self._bar.total

    def read(self, items: Iterable[_Item]) -> Iterator[_Item]:
        """Pass on what is read: chunks, or rows."""
        for item in items:
            self._shares.append(self._file.share if self._file else 0.0)
            yield item

    def done(self, count: int = 1) -> None:
        """Count what is done of the next one that was read."""
        share = self._shares.popleft()
        if share:
            self._bar.total = max(self._bar.n + count, round((self._bar.n + count) / share))
        self._bar.update(count)


def _tick(bar: Any, is_over: Event) -> None:
    """Show the time of a bar anew until it is over."""
    while not is_over.wait(_TICK):
        bar.refresh()
