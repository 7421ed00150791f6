"""What a service takes of a request, and how long it waits; the errors for what is too much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linker.errors import LinkerError
from linker.readers.records import MENTION_LIMIT


@dataclass(frozen=True, slots=True)
class Limits:
    """What a service takes of one request, and of all together."""

    body: int = 4_000_000  # bytes of a request's body
    documents: int = 1_000  # of a request
    mentions: int = 10_000  # of a request
    mention: int = MENTION_LIMIT  # characters of a mention
    text: int = 1_000_000  # characters of a request's documents together
    requests: int = 256  # that are worked on or wait at the same time
    batch: int = 16_000  # characters that are linked in one batch; 1: each request alone
    waiting: int = 4_000_000  # characters that may wait to be linked
    read_seconds: float = 20.0  # to receive the head of a request, and then its body
    seconds: float = 60.0  # to answer a request


class TooMuch(LinkerError):
    """A request that is larger than a limit (413).

    Args:
        what: that is counted ("characters in a mention").
        number: of them.
        limit: that are allowed.
        where: the field of the request.
    """

    def __init__(self, what: str, number: int, limit: int, where: str) -> None:
        super().__init__(f"{number:,} {what}; the service takes at most {limit:,}")
        self.where = where


class Busy(Exception):
    """The service cannot take a request now.

    Args:
        seconds: after which the client may try again.
    """

    def __init__(self, seconds: int = 1) -> None:
        super().__init__(f"the service is busy; try again in {seconds} s")
        self.seconds = seconds


class Failure(Exception):
    """An answer that is an error.

    Args:
        status: of HTTP.
        message: one sentence for the client.
        where: the field that it is about.
    """

    def __init__(self, status: int, message: str, where: Any = None) -> None:
        super().__init__(message)
        self.status, self.message, self.where = status, message, where
