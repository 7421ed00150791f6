"""Serving over HTTP: uvicorn with a limit on slow clients, and a graceful stop."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Iterable
from types import FrameType, ModuleType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from linker.desk.service.app import create
from linker.desk.service.state import Service
from linker.errors import LinkerError

_CONNECTIONS = 1_000  # open at the same time
_TURN = 0.0005  # seconds of Python that a thread does before others may; a request takes ten turns
_GRACE = 5.0  # seconds for the last answers beyond those that a request may take


class TimeoutProtocol(H11Protocol):
    """HTTP/1.1 in which a head must come in time, and an answer must be read in time."""

    head_seconds = 20.0
    reader_seconds = 60.0
    _timer: asyncio.TimerHandle | None = None  # ends the wait for a head

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # after which Linux cuts who does not read
            options = socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(1000 * self.reader_seconds)
            transport.get_extra_info("socket").setsockopt(*options)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        super().connection_lost(exc)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: clients in Java offer HTTP/2 with each request."""

    def _watch(self) -> None:
        """Wait for the head of a request, unless one is being answered."""
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering and self._timer:
            self._timer.cancel()
            self._timer = None
        elif not is_answering and self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self.transport.close)


class _Server(uvicorn.Server):
    """A server that says on which port it takes requests, and when it is told to stop."""

    announce: Callable[[int], None]
    stopping: Callable[[], None]

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.stopping()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.announce(self.servers[0].sockets[0].getsockname()[1])


def serve(
    service: Service,
    host: str,
    port: int,
    started: Callable[[int], None],
    rooms: Iterable[ModuleType] = (),
) -> None:
    """Serve until the process is told to stop (SIGTERM, SIGINT).

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
    times = {"head_seconds": limits.read_seconds, "reader_seconds": limits.seconds}
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
        timeout_keep_alive=int(limits.read_seconds) + 1,
        timeout_graceful_shutdown=int(limits.seconds + _GRACE),
    )
    server = _Server(config)
    server.announce = started
    server.stopping = service.ending.set
    try:
        asyncio.run(server.serve())
    except (SystemExit, KeyboardInterrupt):  # raised again for a signal, after the last answer
        if not server.started:  # else uvicorn has logged why
            reason = "cannot be listened on; choose another --host or --port"
            raise LinkerError(f"{host}:{port}: {reason}") from None
