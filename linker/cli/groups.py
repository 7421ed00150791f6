"""Groups of options: declared once, and handed to a command as one record."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

_Command = TypeVar("_Command", bound=Callable[..., Any])


def group(
    name: str, record: type[Any], *options: Callable[[_Command], _Command]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add options to a command that gets their values as one record.

    Args:
        name: of the command's parameter for the record.
        record: a dataclass whose fields are called as the options' parameters are.
        options: decorators of click, in the order of --help.
    """
    fields = [field.name for field in dataclasses.fields(record)]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_record(**values: Any) -> Any:
            values[name] = record(**{field: values.pop(field) for field in fields})
            return command(**values)

        decorated: Any = with_record
        for option in reversed(options):
            decorated = option(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate
