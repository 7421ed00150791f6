"""Callers: in whose name a request acts, which its key says where it has a name."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from linker.desk.service.errors import Failure
from linker.desk.service.settings import Key
from linker.errors import shorten
from linker.records import Decision
from linker.text.normalize import person


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request."""

    reviewer: str = ""  # whom its key names; empty: who it says, but for those who have a key
    others: frozenset[str] = frozenset()  # who have keys of their own, see `text.normalize.person`


_CALLER: ContextVar[Caller] = ContextVar("caller", default=Caller())  # noqa: B039 (is frozen)
present = _CALLER.get


def enter(key: Key | None, keys: tuple[Key, ...]) -> None:
    """Let the present request act in the name of its key, of all keys of the service."""
    names = {person(key.reviewer) for key in keys if key.reviewer}
    reviewer = key.reviewer if key else ""
    _CALLER.set(Caller(reviewer, frozenset(names - {person(reviewer)})) if key else Caller())


def checked_name(name: str) -> str:
    """The name in which a request acts.

    Raises:
        Failure: its key is that of another, or another has a key.
    """
    caller, name = present(), name.strip()
    is_other = caller.reviewer and person(name) not in ("", person(caller.reviewer))
    if is_other or person(name) in caller.others:
        whose = f"that of {caller.reviewer}" if caller.reviewer else "not theirs"
        reason = f"the request is in the name of {shorten(name)}, and its key is {whose}"
        raise Failure(403, f"{reason}; send the key of who acts", "reviewer")
    return caller.reviewer or name


def may_say(decision: Decision) -> bool:
    """Whether a request may bring a decision with it, which may name somebody else."""
    caller, who = present(), person(decision.reviewer)
    is_free = not caller.reviewer and who not in caller.others
    return is_free or who == person(caller.reviewer)


ReviewerName = Annotated[
    str,
    Field(
        max_length=1_000,
        default_factory=lambda: present().reviewer,
        description="Who does it; where the key has a name, that one, and no other.",
    ),
    AfterValidator(checked_name),
]
"""A field, or a parameter, with the name of who acts."""
Settled = Annotated[
    tuple[Annotated[str, Field(max_length=1_000)], ...],
    Field(
        (),
        max_length=1_000,
        description="The reviewers whose earlier decisions on the mention, in this scope, count no "
        "more while this one holds.",
    ),
]
"""A field with those whom a decision settles."""
