"""DecisionStore: decisions in an SQLite file that many threads and processes write to."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from linker.decisions.records import Conflict, Decision
from linker.files import Pathlike


class DecisionStore:
    """Decisions in an SQLite file; a context manager.

    Many threads may use one store, and many processes a store each on the same file.

    Args:
        path: the file; it is made if it is not there.
        read_only: whether nothing is written; the file must be there.

    Raises:
        LinkerError: the file is something else, damaged, locked, or cannot be opened.
    """

    def __init__(self, path: Pathlike, *, read_only: bool = False) -> None:
        raise NotImplementedError

    def add(self, decisions: Iterable[Decision]) -> list[Decision]:
        """Write decisions in one transaction, and return them with their ids and times.

        They are on the disk when this returns.
        """
        raise NotImplementedError

    def withdraw(self, ids: Iterable[int], reviewer: str = "") -> int:
        """Take decisions out of force, which stay in the history.

        Returns:
            How many were in the store and had not been withdrawn.
        """
        raise NotImplementedError

    def list(
        self,
        *,
        mention: str | None = None,
        scope: str | None = None,
        reviewer: str | None = None,
        limit: int | None = None,
    ) -> list[Decision]:
        """The decisions in force, in order of entry (see `records.in_force`)."""
        raise NotImplementedError

    def conflicts(self) -> list[Conflict]:
        """The mentions on which reviewers disagree."""
        raise NotImplementedError

    @property
    def version(self) -> int:
        """A number that grows with every write, also with those of other processes."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the file."""
        raise NotImplementedError

    def __enter__(self) -> DecisionStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
