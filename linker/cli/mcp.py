"""linker mcp: tools for assistants."""

from __future__ import annotations

import logging
from types import SimpleNamespace

from linker.cli import common
from linker.cli import options as o

logger = logging.getLogger(__name__)


@o.command(
    model=o.MODEL,
    decisions=o.DECISIONS,
    http=o.flag("Serve at http://HOST:PORT/mcp instead of standard input and output."),
    host=o.option("With --http: address to listen on.", default="127.0.0.1", show_default=True),
    port=o.option("With --http.", default=8080, show_default=True, type=int),
)
def mcp(options: SimpleNamespace) -> None:
    """Offer a model to assistants by the Model Context Protocol (MCP).

    An assistant starts it by itself; tell it the command: linker mcp --model DIR. Its tools link
    mentions, find them in texts, look concepts up and check labels.
    """
    from linker.decisions.applying import Decided
    from linker.integrations.mcp import server
    from linker.linking.linker import Linker

    if options.http:
        from linker.service.settings import is_loopback

        if not is_loopback(options.host):
            logger.warning(
                "--host %s is reached from other computers, and from pages of the web that a user "
                "opens; whoever reaches it may ask without a key, so let a proxy ask for one",
                options.host,
            )
        common.check_free(options.host, options.port)
    linker = Linker.load(options.model)
    tools = server(linker, Decided.of_file(options.decisions, linker))
    if not options.http:
        tools.run("stdio")
        return
    common.say(f"serving at http://{options.host}:{options.port}/mcp")
    tools.run("streamable-http", host=options.host, port=options.port, stateless_http=True)
