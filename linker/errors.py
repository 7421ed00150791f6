"""Errors that users can mend: one sentence that says what is wrong, where, and what to do."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import os
import re
from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, TypeVar

from linker.version import install_hint

_MEND = "mend it, or skip it, where the command has --on-error"
_LONGEST_VALUE = 80  # characters of an offending value that a message repeats
_LONGEST_CLAUSE = 500  # of a clause of a message, which may quote the file
_LONGEST_START, _LONGEST_END = 1_500, 500  # of a whole message
# how Python writes the bytes of a file name that it cannot decode
_BYTES = re.compile("[\udc80-\udcff]+")

logger = logging.getLogger(__name__)


class LinkerError(Exception):
    """A failure that the user can mend; its text is the whole message (exit code 1).

    Of a message that repeats a long input the middle is left out: it ends with what to do.
    """

    def __init__(self, message: str) -> None:
        if len(message) > _LONGEST_START + _LONGEST_END:
            message = f"{message[:_LONGEST_START]} … {message[-_LONGEST_END:]}"
        super().__init__(message)


@contextlib.contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Import packages of an extra of setup.cfg inside; where one is missing, say how to install it.

    Args:
        what: needs them, for the message.
        extra: the name of the extra.

    Raises:
        LinkerError: one is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        missing, hint = str(error.name).partition(".")[0], install_hint(extra)
        raise LinkerError(f"{what} needs {missing}, which is not installed: {hint}") from None


class UsageError(LinkerError):
    """Options or arguments that do not fit together (exit code 2)."""


class ArgumentError(LinkerError, TypeError):
    """A call of a function with an argument that it does not have, or cannot take."""


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

    is_of_file = False  # whether one of several files cannot be used at all

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
        self.path = "standard input" if str(path) == "-" else shown(path)
        self.line, self.problem = line, problem
        where = self.path if line is None else f"{self.path}, line {line}"
        text = f"{where}: {shorten(problem, _LONGEST_CLAUSE)}"
        if value is not None:
            text += f": {shorten(value)!r}"
        if expected:
            text += f"; expected {shorten(expected, _LONGEST_CLAUSE)}"
        if remedy:
            text += f"; {remedy}"
        super().__init__(text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the error to another process with its file and line."""
        return _restored, (type(self), str(self), self.__dict__)


def _restored(kind: type[InputError], message: str, fields: dict[str, Any]) -> InputError:
    error = kind.__new__(kind, message)
    error.__dict__.update(fields)
    return error


class RecordError(ValueError):
    """What is wrong with a record; who reads it adds file and line. See `InputError`.

    Without a remedy of its own, it is to be mended or skipped.
    """

    def __init__(
        self, problem: str, value: str | None = None, *, expected: str = "", remedy: str = ""
    ) -> None:
        super().__init__(problem)
        self._value, self._expected, self._remedy = value, expected, remedy or _MEND

    def at(self, path: str | PathLike[str], line: int | None) -> InputError:
        """The error with the place of the record."""
        expected, remedy = self._expected, self._remedy
        return InputError(
            path, str(self), line=line, value=self._value, expected=expected, remedy=remedy
        )


OnError = Callable[[InputError], None]
"""A function that a reader calls with the error of a bad record, before it skips the record.

To stop the reader, the function raises the error.
"""


def stop(error: InputError) -> None:
    """Stop at the first bad record (the default of every reader)."""
    try:
        raise error
    finally:
        del error  # it would hold itself through its traceback, and the files of its frames open


def of_package(what: str, error: LinkerError) -> LinkerError:
    """Say that a file which comes with linker cannot be used: it is not to be trained again."""
    problem = str(error).partition(";")[0]  # without its remedy
    return LinkerError(
        f"{what} that comes with linker cannot be used ({problem}); install linker again"
    )


def ignore(error: InputError) -> None:
    """Skip a bad record silently, where another reading of the same file reports it."""


class Skip:
    """An `OnError` that skips bad records and files, logs each with its place, and counts them."""

    def __init__(self) -> None:
        self.count = 0  # records
        self.files: list[str] = []

    def __call__(self, error: InputError) -> None:
        if error.is_of_file:
            self.files.append(error.path)
            logger.warning("passed over: %s", error)
        else:
            self.count += 1
            logger.warning("skipped: %s", error)


@contextlib.contextmanager
def of_file(on_error: OnError) -> Iterator[None]:
    """Report what makes one of several files unusable, which is done inside, as a bad file."""
    try:
        yield
    except InputError as error:
        error.is_of_file = True
        on_error(error)


def shown(text: str | PathLike[str]) -> str:
    r"""Write a path, or a message that holds one, as one line that any file or terminal can take.

    Bytes that the locale did not decode are read as UTF-8. What is not UTF-8 either, and what
    cannot be printed, is written as an escape such as `\xff` or `\n`.
    """

    def decoded(match: re.Match[str]) -> str:
        return match[0].encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")

    readable = _BYTES.sub(decoded, os.fspath(text))
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in readable
    )


def shorten(text: str, width: int = _LONGEST_VALUE) -> str:
    """Cut `text` to `width` characters for a message, marking the cut."""
    return text if len(text) <= width else text[:width] + "…"


_Result = TypeVar("_Result")

_is_given_up: contextvars.ContextVar[Callable[[], bool] | None] = contextvars.ContextVar(
    "is_given_up", default=None
)


class Cancelled(Exception):
    """Nobody waits for the result any longer."""


def check_wanted() -> None:
    """End work that nobody waits for; called between the steps of what may take long.

    Raises:
        Cancelled: what `call_while_wanted` was given says so.
    """
    is_given_up = _is_given_up.get()
    if is_given_up is not None and is_given_up():
        raise Cancelled


def call_while_wanted(is_given_up: Callable[[], bool], function: Callable[[], _Result]) -> _Result:
    """Call a function in this thread, which `check_wanted` ends where it is given up.

    Args:
        is_given_up: asked often, from this thread.
        function: the work.
    """

    def called() -> _Result:
        _is_given_up.set(is_given_up)
        return function()

    return contextvars.copy_context().run(called)
