"""linker mcp: tools for assistants."""

from __future__ import annotations

from types import SimpleNamespace

from linker.cli import common
from linker.cli import options as o
from linker.linking.decided import Decided
from linker.linking.linker import Linker


@o.command(
    model=o.MODEL,
    decisions=o.DECISIONS,
    host=o.option("With --port: address to listen on.", default="127.0.0.1"),
    port=o.option("Serve at http://HOST:PORT/mcp, not on standard input and output.", type=int),
)
def mcp(options: SimpleNamespace) -> None:
    """Offer tools to an assistant.

    It speaks the Model Context Protocol (MCP). An assistant starts it by itself; tell it the
    command: linker mcp --model DIR. Its tools link mentions, find them in texts, look concepts up
    and check labels.
    """
    from linker.integrations.mcp import server

    host, port = options.host, options.port
    if port is not None:
        common.check_free(host, port)
    linker = Linker.load(options.model)
    tools = server(linker, Decided.of_file(options.decisions, linker))
    if port is None:
        tools.run("stdio")
        return
    common.say(f"serving at http://{host}:{port}/mcp")
    tools.run("streamable-http", host=host, port=port, stateless_http=True)
