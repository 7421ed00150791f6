"""linker serve and mcp: the service over HTTP with its page, and tools for assistants."""

from __future__ import annotations

import logging
import socket
from types import SimpleNamespace

import click

from linker.cli import common
from linker.cli import options as o
from linker.desk.service.settings import Limits, Settings, is_loopback, own_names, read_keys
from linker.errors import LinkerError, needing
from linker.io.option_group import replaced
from linker.linking.decided import Decided
from linker.linking.linker import Linker

_PORT = click.IntRange(0, 65535)
_CORS = o.several("Allow this CORS origin, e.g. https://example.org; repeatable.", "ORIGIN")
_OPEN = "may {} without a key; let a proxy ask for one"  # what users of other computers may


@o.command(
    model=o.MODEL,
    host=o.option("Address to listen on; 0.0.0.0: all.", default="127.0.0.1"),
    port=o.option("0: any free.", default=8080, type=_PORT),
    decisions=o.option("Of decisions and projects; none: keep none. [beside the model]", "FILE"),
    before=o.option("The model people decided with before.", "DIR", type=click.Path(exists=True)),
    api_key_file=o.option("Require an API key; FILE has one on each line.", "FILE"),
    cors=_CORS,
    root_path=o.option(
        "Path that a proxy puts before the service, and takes away, e.g. /linker.",
        "PATH",
        callback=lambda _, __, value: f"/{path}" if (path := (value or "").strip("/")) else "",
    ),
    max_rows=o.number(Limits().rows, "Rows that a file of a project may have."),
    device=o.DEVICE,
    set=o.changes("A limit, e.g. limits.body=8000000."),
)
def serve(options: SimpleNamespace) -> None:
    """Answer over HTTP, with a page to link and decide on.

    SIGTERM stops it when it has answered what it took. Options may also be variables of the
    environment: LINKER_SERVE_PORT is --port.
    """
    with needing("linker serve", "serve"):
        from linker.desk.service import serving
        from linker.desk.service.state import Service
        from linker.integrations import label_studio
    host, port = options.host, options.port
    changes = o.of_group(options.set, "limits")
    try:
        limits = replaced(Limits(rows=options.max_rows), "limits", changes.get("limits", {}))
    except LinkerError as error:
        raise click.UsageError(f"--set: {error}") from None
    keys = read_keys(options.api_key_file) if options.api_key_file else ()
    names = own_names(host)
    risk = _OPEN.format("ask" if options.decisions == "none" else "ask and decide")
    _listening(host, port, "" if keys else f"{risk}, or give --api-key-file").close()
    decisions = None
    if options.decisions != "none":
        decisions = options.decisions or common.decisions_file(options.model)
        common.say(f"decisions are kept in {decisions}")
    service = Service(
        Settings(
            *(options.model, decisions, keys, options.cors, names, limits),
            *(options.device, options.before, options.root_path),
        )
    )

    def announce(chosen: int) -> None:
        common.say(f"serving at {_address(host, chosen)}/")

    serving.serve(service, host, port, announce, [label_studio])


serve.context_settings["auto_envvar_prefix"] = "LINKER_SERVE"


@o.command(
    model=o.MODEL,
    decisions=o.DECISIONS,
    host=o.option("With --port: address to listen on.", default="127.0.0.1"),
    port=o.option(
        "Serve at http://HOST:PORT/mcp, not on standard input and output; 0: any free.",
        type=_PORT,
    ),
    cors=_CORS,
)
def mcp(options: SimpleNamespace) -> None:
    """Offer tools to an assistant.

    It speaks the Model Context Protocol (MCP). An assistant starts it by itself; tell it the
    command: linker mcp --model DIR. Its tools link mentions, find them in texts, look concepts up
    and check labels.
    """
    from linker.integrations import mcp as assistants

    if options.port is None:
        assistants.server(*_linking(options)).run("stdio")
        return
    host = options.host
    names = own_names(host)
    with _listening(host, options.port, _OPEN.format("ask")) as listening:
        tools = assistants.server(*_linking(options))
        common.say(f"serving at {_address(host, listening.getsockname()[1])}/mcp")
        assistants.serve(tools, listening, names, options.cors)


def _linking(options: SimpleNamespace) -> tuple[Linker, Decided | None]:
    """The model of a command's options, and the decisions that win over it."""
    linker = Linker.load(options.model)
    return linker, Decided.of_file(options.decisions, linker)


def _address(host: str, port: int) -> str:
    """The address to type into a browser."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listening(host: str, port: int, risk: str) -> socket.socket:
    """Listen, before the model is loaded; warn of who reaches it.

    Args:
        host, port: where.
        risk: what users of other computers may do; empty: nothing that they should not.

    Raises:
        LinkerError: something else listens, or this user may not.
    """
    if risk and not is_loopback(host):
        logging.getLogger("linker").warning(
            "--host %s is reached from other computers, whose users %s", host, risk
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise LinkerError(
            f"port {port} of {host} cannot be listened on: {error.strerror}; "
            "stop what uses it, or choose another --port (0: any that is free)"
        ) from None
