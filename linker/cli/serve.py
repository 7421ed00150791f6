"""linker serve: the service over HTTP, with its page."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from linker.cli import common

if TYPE_CHECKING:
    from linker.encoders.base import Device, Precision

logger = logging.getLogger(__name__)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _limit(flag: str, default: float, text: str) -> Callable[[_Command], _Command]:
    """An option for a limit; the default is that of `linker.service.settings.Limits`."""
    kind = click.FloatRange(0.1, 3600) if "seconds" in flag else click.IntRange(1, 2**40)
    text = f"{text} [default: {default:,}]"
    return click.option(flag, default=default, type=kind, metavar="N", hidden=True, help=text)


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
@_limit("--max-body", 4_000_000, "Most bytes of a request.")
@_limit("--max-mentions", 10_000, "Most mentions of a request.")
@_limit("--max-text", 1_000_000, "Most characters of the documents of a request.")
@_limit("--max-requests", 256, "Most requests worked on or waiting at the same time.")
@_limit("--batch", 16_000, "Characters of mentions linked together; 1: no batches.")
@_limit("--seconds", 60, "Time to answer a request.")
@_limit("--read-seconds", 20, "Time to receive the head of a request, and its body.")
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
    max_body: int,
    max_mentions: int,
    max_text: int,
    max_requests: int,
    batch: int,
    seconds: float,
    read_seconds: float,
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
    from linker.service.settings import Limits, Settings, is_loopback, own_names, read_keys
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
    limits = Limits(
        body=max_body,
        mentions=max_mentions,
        text=max_text,
        requests=max_requests,
        batch=batch,
        read_seconds=read_seconds,
        seconds=seconds,
    )
    names = own_names(host)
    service = Service(Settings(model, decisions, keys, cors, names, limits, precision, device))
    address = f"[{host}]" if ":" in host else host
    serving.serve(
        service, host, port, lambda chosen: common.say(f"serving at http://{address}:{chosen}/")
    )
