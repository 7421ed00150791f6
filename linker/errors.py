"""What goes wrong and is not a bug: one sentence that says what, where, and what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable
from os import PathLike

_LONGEST_VALUE = 80  # characters of an offending value that a message repeats

logger = logging.getLogger(__name__)


class LinkerError(Exception):
    """A failure that the user can mend; its text is the whole message (exit code 1)."""


class InputError(LinkerError):
    """Bad content of a file.

    Args:
        path: the file as the user named it.
        problem: what is wrong, as a clause ("the concept id is empty").
        line: the 1-based line, where there is one.
        value: the offending text; shortened in the message.
        expected: what should stand there.
        remedy: what to do about it.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        problem: str,
        *,
        line: int | None = None,
        value: str | None = None,
        expected: str = "",
        remedy: str = "",
    ) -> None:
        self.path, self.line, self.problem = "standard input" if str(path) == "-" else str(path), line, problem
        where = self.path if line is None else f"{self.path}, line {line}"
        text = f"{where}: {problem}"
        if value is not None:
            text += f": {shorten(value)!r}"
        if expected:
            text += f"; expected {expected}"
        if remedy:
            text += f"; {remedy}"
        super().__init__(text)


OnError = Callable[[InputError], None]
"""What a reader does with a bad record: called with the error; returns to skip the record, raises to stop."""


def stop(error: InputError) -> None:
    """Stop at the first bad record (the default of every reader)."""
    raise error


def ignore(error: InputError) -> None:
    """Pass over a bad record without a word, where another reading of the same file reports it."""


class Skip:
    """Skip bad records, log each with its line, and count them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: InputError) -> None:  # an OnError
        self.count += 1
        logger.warning("skipped: %s", error)


def shorten(text: str, width: int = _LONGEST_VALUE) -> str:
    """Cut `text` to `width` characters for a message, marking the cut."""
    return text if len(text) <= width else text[:width] + "…"
