"""What a service is started with: the model, who may ask, and what it takes of a request.

Commands import this module, which therefore needs nothing of the extra `serve`.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from linker.encoders.base import Device
from linker.errors import LinkerError
from linker.io import files
from linker.io.files import MENTION_LIMIT

_Count = Annotated[int, Field(ge=1, le=2**40)]
_Seconds = Annotated[float, Field(ge=0.1, le=3600)]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a service takes of one request, and of all together, and how long it waits."""

    body: _Count = 4_000_000  # bytes of a request's body
    file: _Count = 64_000_000  # bytes of a file of a project
    rows: _Count = 200_000  # of such a file, or its documents with the mentions marked in them
    mentions: _Count = 10_000  # of a request
    mention: _Count = MENTION_LIMIT  # characters of a mention
    text: _Count = 1_000_000  # characters of a request's documents together
    requests: _Count = 256  # that are worked on or wait at the same time
    batch: _Count = 4_000  # characters that are linked in one batch; 1: each request alone
    waiting: _Count = 4_000_000  # characters that may wait to be linked
    read_seconds: _Seconds = 20.0  # to receive the head of a request, and then its body
    seconds: _Seconds = 60.0  # to answer a request


@dataclass(frozen=True, slots=True)
class Key:
    """An API key, and whose it is."""

    secret: bytes
    reviewer: str = ""  # in whose name requests with it act; empty: in that which they say


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service is started with."""

    model: str  # folder
    decisions: str | None = None  # SQLite file; None: decisions are neither taken nor applied
    keys: tuple[Key, ...] = ()  # one of which a request must have; none: the service is open
    origins: tuple[str, ...] = ()  # of pages of other sites that may send requests
    names: frozenset[str] | None = None  # by which it may be called, and addresses; None: any
    limits: Limits = field(default_factory=Limits)
    device: Device = "auto"  # where mentions are encoded, and names are searched
    before: str | None = None  # folder of the dictionary that people decided with before
    root_path: str = ""  # that a proxy puts before all paths, and takes away from those it sends

    @property
    def name(self) -> str:
        """The name of the model."""
        return Path(self.model).resolve().name


def read_keys(path: str) -> tuple[Key, ...]:
    """Read the API keys of a file, one a line; blank lines and those that begin with # are none.

    Behind a key may stand the name of its reviewer.

    Raises:
        LinkerError: the file cannot be read or holds no key, or a line is wrong.
    """
    keys = []
    for number, line in enumerate(files.read_text(path).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        secret, *owner = line.split(maxsplit=1)
        name = "".join(owner).strip()
        is_key = len(secret) >= 16 and secret.isascii() and secret.isprintable()
        if not is_key or not name.isprintable() or ";" in name:
            raise LinkerError(
                f"{path}, line {number}: expected a key of 16 or more ASCII characters without "
                "blanks, and then perhaps the name of a reviewer, without a semicolon"
            )
        keys.append(Key(secret.encode(), name))
    if not keys:
        raise LinkerError(f"{path}: holds no key; write one a line")
    return tuple(keys)


def is_loopback(host: str) -> bool:
    """Whether all addresses that a host stands for are reached from this computer only.

    Raises:
        LinkerError: it stands for no address.
    """
    stream, listening = socket.SOCK_STREAM, socket.AI_PASSIVE
    try:
        places = socket.getaddrinfo(host or None, 0, type=stream, flags=listening)
    except (OSError, UnicodeError) as error:
        raise LinkerError(
            f"--host {host} stands for no address ({error}); "
            "expected: an address or a name of this computer, such as 127.0.0.1"
        ) from None
    addresses = [ipaddress.ip_address(str(place[4][0])) for place in places]
    return all((getattr(a, "ipv4_mapped", None) or a).is_loopback for a in addresses)


def own_names(host: str) -> frozenset[str]:
    """The names, in lower case, by which what listens on a host may be called.

    Raises:
        LinkerError: the host stands for no address.
    """
    names = ["localhost", host]
    if not is_loopback(host):
        names += [socket.gethostname(), socket.getfqdn()]
    return frozenset(name.lower().removesuffix(".") for name in names if name)
