"""linker serve: the service over HTTP, with its page."""

from __future__ import annotations

import ipaddress
import json
import logging
from copy import copy
from datetime import datetime, timezone
from types import SimpleNamespace
from typing import Any

import click
from click.core import ParameterSource

from linker.cli import common
from linker.cli import options as o
from linker.errors import needing

logger = logging.getLogger(__name__)


class _Json(logging.Formatter):
    """A record as a JSON object in one line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _json_log() -> Any:
    """Write the log as JSON from here on; a function that says what else is said on stderr."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_Json())
    logger.setLevel(logging.ERROR if common.is_quiet() else logging.INFO)
    return logger.info


def _checked_proxies(_: Any, __: Any, value: str) -> str:
    """Addresses of proxies; uvicorn would silently believe none that it cannot read."""
    for proxy in value.split(","):
        try:
            if proxy.strip() != "*":
                ipaddress.ip_network(proxy.strip())
        except ValueError as error:
            raise click.BadParameter(f"{error}; expected: addresses, networks, or *") from None
    return value


def _limit(default: float, text: str, flags: str = "") -> Any:
    """An option for a limit; the default is that of `linker.service.settings.Limits`."""
    kind = click.IntRange(1, 2**40) if isinstance(default, int) else click.FloatRange(0.1, 3600)
    text = f"{text} [default: {default:,.0f}]"
    return o.option(text, "N", flags=flags, default=default, type=kind, hidden=True)


@o.command(
    model=o.MODEL,
    host=o.option("Address to listen on; 0.0.0.0: all.", default="127.0.0.1", show_default=True),
    port=o.option("0: any free.", default=8080, show_default=True, type=click.IntRange(0, 65535)),
    decisions=o.option(
        "Keep decisions and projects of reviewers here, and apply them.  "
        "[default: beside the model]",
        "FILE",
        flags="--decisions --projects",
    ),
    no_decisions=o.flag("Take no decisions, and apply none."),
    api_key_file=o.option("Require an API key; FILE has one on each line.", "FILE"),
    cors=o.several(
        "Allow this CORS origin, e.g. https://example.org; may be given again.", metavar="ORIGIN"
    ),
    root_path=o.option(
        "Path below which a proxy shows the service, and which it takes away, e.g. /linker.",
        "PATH",
        default="",
        callback=lambda _, __, value: value.strip("/") and f"/{value.strip('/')}",
    ),
    forwarded_allow_ips=o.option(
        "Proxies whose X-Forwarded-Proto and X-Forwarded-For are believed: addresses or networks "
        "with commas between them; *: all.",
        "A,B",
        default="127.0.0.1",
        show_default=True,
        callback=_checked_proxies,
    ),
    log_format=o.choice(("text", "json"), "json: an object of JSON on each line."),
    device=o.DEVICE,
    precision=o.PRECISION,
    body=_limit(4_000_000, "Most bytes of a request.", flags="--max-body"),
    mentions=_limit(10_000, "Most mentions of a request.", flags="--max-mentions"),
    file=_limit(64_000_000, "Most bytes of a file of a project.", flags="--max-file"),
    text=_limit(1_000_000, "Most characters of the documents of a request.", flags="--max-text"),
    requests=_limit(
        256, "Most requests worked on or waiting at the same time.", flags="--max-requests"
    ),
    batch=_limit(16_000, "Characters of mentions linked together; 1: no batches."),
    seconds=_limit(60.0, "Time to answer a request."),
    read_seconds=_limit(20.0, "Time to receive the head of a request, and its body."),
)
def serve(options: SimpleNamespace) -> None:
    """Answer requests over HTTP, and show a page to link and decide on.

    SIGTERM stops it when it has answered what it took; SIGHUP loads the model anew.
    """
    say = _json_log() if options.log_format == "json" else common.say
    with needing("linker serve", "serve"):
        from linker.integrations import label_studio
        from linker.service import serving
    from linker.service.settings import Limits, Settings, is_loopback, own_names, read_keys
    from linker.service.state import Service

    host, port = options.host, options.port
    decisions = _chosen_decisions(options.decisions, options.no_decisions)
    keys = read_keys(options.api_key_file) if options.api_key_file else ()
    names = own_names(host)
    common.check_free(host, port)
    if decisions is not None:
        decisions = decisions or common.decisions_file(options.model)
        say(f"decisions are kept in {decisions}")
    if not keys and not is_loopback(host):
        logger.warning(
            "--host %s is reached from other computers, whose users may link and decide without "
            "a key; give --api-key-file, or --host 127.0.0.1",
            host,
        )
    limits, computing = o.picked(Limits, options), (options.precision, options.device)
    service = Service(
        Settings(
            options.model,
            decisions,
            keys,
            options.cors,
            names,
            limits,
            *computing,
            options.root_path,
        )
    )
    address = f"[{host}]" if ":" in host else host
    base = f"http://{address}:{{}}/"

    def started(chosen: int) -> None:
        say(f"serving at {base.format(chosen)}")

    serving.serve(service, host, port, started, [label_studio], options.forwarded_allow_ips)


def _chosen_decisions(file: str | None, is_without: bool) -> str | None:
    """The file of decisions, "" for that of the model, None for none; what is typed wins."""
    source = click.get_current_context().get_parameter_source
    is_typed = [source(n) is ParameterSource.COMMANDLINE for n in ("decisions", "no_decisions")]
    if all(is_typed):
        raise click.UsageError("give --decisions or --no-decisions, not both")
    return None if is_without and not is_typed[0] else file or ""


def _with_variable(option: click.Parameter) -> click.Parameter:
    """The option, which can also be given as LINKER_SERVE_ and its name in the environment."""
    option = copy(option)  # -v and -q are those of all commands
    if isinstance(option, click.Option) and option.name not in ("model", "debug", "help_all"):
        flag = next(flag for flag in option.opts if flag.startswith("--"))
        option.envvar = f"LINKER_SERVE_{flag[2:].replace('-', '_').upper()}"
        option.show_envvar = True
    return option


serve.params = [_with_variable(option) for option in serve.params]
