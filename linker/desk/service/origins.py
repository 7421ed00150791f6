"""Origins: which requests are of pages of other sites, by the headers Host and Origin.

A page of another site can send requests to this computer, of which a browser names its origin; and
it can let its own name lead to this computer (DNS rebinding), and then counts as ours. Commands
import this module, which therefore needs nothing of the extra `serve`.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^][:@/?#\s]*)(?::\d{0,5})?", re.ASCII)


def host_name(host: str) -> str | None:
    """The name, or the address, in a header Host, in lower case; None where it is malformed."""
    match = _HOST.fullmatch(host)
    return match["name"].strip("[]").lower().removesuffix(".") if match else None


def is_named(name: str, names: Iterable[str], origins: Iterable[str]) -> bool:
    """Whether a request calls us by a name that pages of other sites cannot have.

    Args:
        name: that `host_name` gave.
        names: by which we may be called, beside addresses.
        origins: of other sites that are allowed.
    """
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return name in {*names, *(urlsplit(origin).hostname for origin in origins)}


def is_ours(origin: str | None, host: str, origins: Iterable[str]) -> bool:
    """Whether no page of a site that is not allowed sends a request.

    Args:
        origin: the header Origin, which browsers send; None: there is none.
        host: the header Host.
        origins: of other sites that are allowed.
    """
    return origin is None or origin in {f"http://{host}", f"https://{host}", *origins}
