"""Bars that show how far long work is, on a terminal alone."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

from linker.cli import common
from linker.records import Activity

_PAUSE = 0.1  # seconds between two states of a bar
_OF_SHARE = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
_UNKNOWN = "{desc}: {elapsed}{postfix}"


class Progress:
    """Shows activities one after another, the last one as a bar.

    Nothing is shown with -q, or where standard error is no terminal.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._what = ""  # the activity that the bar shows

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
        self._bar.set_postfix_str(activity.at, refresh=False)
        self._bar.update(round(100 * (activity.share or 0)) - self._bar.n)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
