"""linker serve: the service over HTTP, with its page."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from linker.cli import common
from linker.cli.groups import group

if TYPE_CHECKING:
    from linker.encoders.base import Device, Precision
    from linker.service.limits import Limits

logger = logging.getLogger(__name__)

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclasses.dataclass(frozen=True)
class _Given:
    """The limits that have options; those that are not given have the defaults of the service."""

    max_body: int | None
    max_mentions: int | None
    max_text: int | None
    max_requests: int | None
    batch: int | None
    seconds: float | None
    read_seconds: float | None

    def limits(self) -> Limits:
        """The limits of the service."""
        from linker.service.limits import Limits

        given = {name.removeprefix("max_"): value for name, value in vars(self).items()}
        return Limits(**{name: value for name, value in given.items() if value is not None})


def _limit(flag: str, default: str, text: str) -> Callable[[_Command], _Command]:
    kind = click.FloatRange(0.1, 3600) if "seconds" in flag else click.IntRange(1, 2**40)
    return click.option(flag, type=kind, metavar="N", help=f"{text} [default: {default}]")


_limits = group(
    "given",
    _Given,
    _limit("--max-body", "4,000,000", "Most bytes of a request."),
    _limit("--max-mentions", "10,000", "Most mentions of a request."),
    _limit("--max-text", "1,000,000", "Most characters of the documents of a request."),
    _limit("--max-requests", "256", "Most requests worked on or waiting at the same time."),
    _limit("--batch", "16,000", "Characters of mentions linked together; 1: no batches."),
    _limit("--seconds", "60", "Time to answer a request."),
    _limit("--read-seconds", "20", "Time to receive the head of a request, and its body."),
)


@click.command()
@common.model_option
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0: all."
)
@click.option(
    "--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0: any free."
)
@click.option(
    "--decisions",
    metavar="FILE",
    help="Keep the decisions of reviewers here, and apply them.  [default: beside the model]",
)
@click.option("--no-decisions", is_flag=True, help="Take no decisions, and apply none.")
@click.option(
    "--api-key-file", metavar="FILE", help="Require an API key; FILE has one on each line."
)
@click.option(
    "--cors",
    multiple=True,
    metavar="ORIGIN",
    help="Allow this CORS origin, e.g. https://example.org; may be given again.",
)
@common.device_options
@_limits
@common.logs
def serve(
    model: str,
    host: str,
    port: int,
    decisions: str | None,
    no_decisions: bool,
    api_key_file: str | None,
    cors: tuple[str, ...],
    device: Device,
    precision: Precision,
    given: _Given,
) -> None:
    """Answer requests over HTTP, and show a page to link and decide on.

    SIGTERM stops it when it has answered what it took; SIGHUP loads the model anew.
    """
    from linker.errors import LinkerError
    from linker.version import install_hint

    try:
        from linker.service import serving
    except ModuleNotFoundError as error:
        raise LinkerError(
            f"{error.name} is not installed, which linker serve needs: {install_hint('serve')}"
        ) from None
    from linker.service.settings import Settings, is_loopback, own_names, read_keys
    from linker.service.state import Service

    if decisions and no_decisions:
        raise click.UsageError("give --decisions or --no-decisions, not both")
    if not no_decisions:
        decisions = decisions or f"{Path(model).absolute()}.decisions.sqlite"
        common.say(f"decisions are kept in {decisions}")
    keys = read_keys(api_key_file) if api_key_file else ()
    if not keys and not is_loopback(host):
        logger.warning(
            "--host %s is reached from other computers, whose users may link and decide without "
            "a key; give --api-key-file, or --host 127.0.0.1",
            host,
        )
    limits, names = given.limits(), own_names(host)
    service = Service(Settings(model, decisions, keys, cors, names, limits, precision, device))
    address = f"[{host}]" if ":" in host else host
    serving.serve(
        service, host, port, lambda chosen: common.say(f"serving at http://{address}:{chosen}/")
    )
