"""What commands say on standard error: lines for people, or an object of JSON on each line."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Sequence

import click

from linker.errors import InputError, shown

_OPTION = "--log-format"
_JSON = "json"
FORMATS = ("text", _JSON)
_LOGGER = logging.getLogger("linker.cli")


class TextFormatter(logging.Formatter):
    """Writes a record of the log as one line that any terminal can take."""

    def __init__(self) -> None:
        super().__init__("linker: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return shown(super().format(record))


class JsonFormatter(logging.Formatter):
    """Writes a record of the log as an object of JSON, with the file and the line where known."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, str | int] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        arguments = record.args if isinstance(record.args, tuple) else ()
        for error in (*arguments, getattr(record, "error", None)):
            if isinstance(error, InputError):
                fields["file"] = error.path
                if error.line is not None:
                    fields["line"] = error.line
            elif isinstance(error, OSError) and error.filename is not None:
                fields["file"] = shown(str(error.filename))
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether a command line asks for JSON, which may be too wrong to be parsed."""
    pairs = itertools.pairwise(arguments)
    return f"{_OPTION}={_JSON}" in arguments or (_OPTION, _JSON) in pairs


def write_json() -> None:
    """Write JSON from here on, for all that is logged, said and warned."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, TextFormatter):  # not those of whoever runs the command
            handler.setFormatter(JsonFormatter())
    logging.captureWarnings(True)


def is_json() -> bool:
    """Whether JSON is written."""
    handlers = logging.getLogger().handlers
    return any(isinstance(handler.formatter, JsonFormatter) for handler in handlers)


def say(message: str) -> None:
    """Write a message, whatever is logged."""
    if is_json():
        _write(logging.INFO, message, None)
    else:
        click.echo("\n".join(map(shown, message.split("\n"))), err=True)


def fail(message: str, error: BaseException | None = None, *, traceback: bool = False) -> None:
    """Write why the command ends.

    Args:
        message: a sentence.
        error: what was raised, which may know the place.
        traceback: whether JSON shows that of the error.
    """
    if is_json():
        _write(logging.ERROR, message, error, traceback=traceback)
    else:
        click.echo(f"linker: {shown(message)}", err=True)


def _write(
    level: int, message: str, error: BaseException | None, *, traceback: bool = False
) -> None:
    """Write a record, also one that the level of the log would leave out."""
    info = (type(error), error, error.__traceback__) if error and traceback else None
    place = {"error": error}
    record = _LOGGER.makeRecord(
        _LOGGER.name, level, __file__, 0, "%s", (message,), info, extra=place
    )
    _LOGGER.handle(record)
