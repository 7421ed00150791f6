"""What a service is started with."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass, field
from pathlib import Path

from linker import files
from linker.encoders.base import Device, Precision
from linker.errors import LinkerError
from linker.service.limits import Limits

_LISTENING = socket.AI_PASSIVE  # the addresses to listen on, not those to call


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service is started with."""

    model: str  # folder
    decisions: str | None = None  # SQLite file; None: decisions are neither taken nor applied
    keys: tuple[bytes, ...] = ()  # one of which a request must have; none: the service is open
    origins: tuple[str, ...] = ()  # of pages of other sites that may send requests
    names: frozenset[str] | None = None  # by which it may be called, and addresses; None: any
    limits: Limits = field(default_factory=Limits)
    precision: Precision = "fp32"  # in which mentions are encoded
    device: Device = "auto"  # where they are, and names are searched

    @property
    def name(self) -> str:
        """The name of the model."""
        return Path(self.model).resolve().name


def read_keys(path: str) -> tuple[bytes, ...]:
    """Read the API keys of a file, one a line; blank lines and those that begin with # are none.

    Raises:
        LinkerError: the file cannot be read, or a key is short or cannot be sent in a header.
    """
    lines = [line.strip() for line in files.read_text(path).splitlines()]
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise LinkerError(f"{path}: holds no key; write one a line")
    for number, key in enumerate(keys, 1):
        if len(key) < 16 or not key.isascii() or not key.isprintable() or " " in key:
            raise LinkerError(
                f"{path}: key {number} is no key; expected 16 or more letters, digits and signs "
                "of ASCII without blanks"
            )
    return tuple(key.encode() for key in keys)


def is_loopback(host: str) -> bool:
    """Whether all addresses that a host stands for are reached from this computer only.

    Raises:
        LinkerError: it stands for no address.
    """
    try:
        places = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=_LISTENING)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LinkerError(
            f"--host {host} stands for no address ({reason}); "
            "expected: an address or a name of this computer, such as 127.0.0.1"
        ) from None
    return all(_is_loopback(str(place[4][0])) for place in places)


def _is_loopback(address: str) -> bool:
    parsed = ipaddress.ip_address(address)
    return (getattr(parsed, "ipv4_mapped", None) or parsed).is_loopback


def own_names(host: str) -> frozenset[str]:
    """The names, in lower case, by which what listens on a host may be called.

    Raises:
        LinkerError: the host stands for no address.
    """
    names = ["localhost", host]
    if not is_loopback(host):
        names += [socket.gethostname(), socket.getfqdn()]
    return frozenset(name.lower().removesuffix(".") for name in names if name)
