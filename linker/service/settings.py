"""What a service is started with."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from linker import files
from linker.encoders.base import Precision
from linker.errors import LinkerError
from linker.service.limits import Limits


@dataclass(frozen=True, slots=True)
class Settings:
    """What a service is started with."""

    model: str  # folder
    decisions: str | None = None  # SQLite file; None: decisions are neither taken nor applied
    keys: tuple[bytes, ...] = ()  # one of which a request must have; none: the service is open
    origins: tuple[str, ...] = ()  # of pages of other sites that may send requests
    is_local: bool = False  # whether it listens for programs of this computer only
    limits: Limits = field(default_factory=Limits)
    precision: Precision = "fp32"  # in which mentions are encoded

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
