"""Serving over HTTP: uvicorn with a limit on slow clients, signals, and a graceful stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from linker.errors import LinkerError
from linker.service.app import create
from linker.service.state import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

logger = logging.getLogger(__name__)

_CONNECTIONS = 1_000  # open at the same time
_KEEP_ALIVE = 30  # seconds that a connection without a request stays open
_TURN = 0.0005  # seconds of Python that a thread does before others may; a request takes ten turns
_GRACE = 5.0  # seconds for the last answers beyond those that a request may take


class TimeoutProtocol(H11Protocol):
    """HTTP/1.1 with timeouts for the head of a request and for reading the answer."""

    seconds = 20.0  # for the head
    write_seconds = 60.0  # for the answer
    _timers: dict[str, asyncio.TimerHandle]  # that end the wait for a head, or for a reader

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timers = {}
        transport.set_write_buffer_limits(0)  # to be told of any byte that the client leaves unread
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._timers["reader"] = self.loop.call_later(self.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop("reader")
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.trailing_data[0]:  # a part of the next head came with the request
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop("head")
        self._stop("reader")
        super().connection_lost(exc)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: clients in Java offer HTTP/2 with each request."""

    def _watch(self) -> None:
        """Wait for a head, unless there is one already."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop("head")
        elif "head" not in self._timers:
            self._timers["head"] = self.loop.call_later(self.seconds, self.transport.close)

    def _stop(self, what: str) -> None:
        if what in self._timers:
            self._timers.pop(what).cancel()


def serve(
    service: Service,
    host: str,
    port: int,
    started: Callable[[int], None],
    rooms: Iterable[ModuleType] = (),
) -> None:
    """Serve until the process is told to stop (SIGTERM, SIGINT); SIGHUP loads the model anew.

    Proxies whose X-Forwarded-Proto and -For are believed are those of $FORWARDED_ALLOW_IPS, else
    127.0.0.1.

    Args:
        service: what answers.
        host: the address to listen on.
        port: 0: any that is free.
        started: is called with the port once requests are taken.
        rooms: modules with further routes.

    Raises:
        LinkerError: the address cannot be listened on.
    """
    limits = service.limits
    times = {"seconds": limits.read_seconds, "write_seconds": limits.seconds}
    protocol: Any = type("Protocol", (TimeoutProtocol,), times)
    app = create(service, rooms)
    app.openapi()  # what FastAPI makes of the routes, which else the first request would wait for
    sys.setswitchinterval(_TURN)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=protocol,
        ws="none",
        log_config=None,
        access_log=False,  # its lines hold what users search for
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=int(limits.seconds + _GRACE),
    )
    server = _Server(config, service, started)
    try:
        asyncio.run(server.serve())
    except (SystemExit, KeyboardInterrupt):  # raised again for a signal, after the last answer
        if not server.started:  # else uvicorn has logged why
            reason = "cannot be listened on; choose another --host or --port"
            raise LinkerError(f"{host}:{port}: {reason}") from None


class _Server(uvicorn.Server):
    """A server that says when requests are taken, and loads the model anew for SIGHUP."""

    def __init__(
        self, config: uvicorn.Config, service: Service, started: Callable[[int], None]
    ) -> None:
        super().__init__(config)
        self._service, self._announce = service, started
        self._reloads = set[asyncio.Task[None]]()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        with contextlib.suppress(NotImplementedError, AttributeError):  # there is none on Windows
            asyncio.get_running_loop().add_signal_handler(
                signal.SIGHUP, lambda: self._reloads.add(asyncio.create_task(self._reload()))
            )
        await super().startup(sockets)
        self._announce(self.servers[0].sockets[0].getsockname()[1])

    async def _reload(self) -> None:
        try:
            await self._service.reload()
        except Exception as error:  # whatever is wrong with the new model, the old one goes on
            logger.error("%s", error)
        self._reloads.discard(asyncio.current_task())
