"""Cancelling: long work asks between its steps whether anybody still waits for it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")

_is_given_up: contextvars.ContextVar[Callable[[], bool] | None] = contextvars.ContextVar(
    "is_given_up", default=None
)


class Cancelled(Exception):
    """Nobody waits for the result any longer."""


def check() -> None:
    """End work that nobody waits for; called between the steps of what may take long.

    Raises:
        Cancelled: what `call` was given says so.
    """
    is_given_up = _is_given_up.get()
    if is_given_up is not None and is_given_up():
        raise Cancelled


def call(is_given_up: Callable[[], bool], function: Callable[[], _Result]) -> _Result:
    """Call a function in this thread, which `check` ends where it is given up.

    Args:
        is_given_up: asked often, from this thread.
        function: the work.
    """

    def called() -> _Result:
        _is_given_up.set(is_given_up)
        return function()

    return contextvars.copy_context().run(called)
