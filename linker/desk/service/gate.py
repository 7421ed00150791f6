"""Gate: what every request passes: names and keys, limits of size and time, headers, figures."""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
import re
import time
import traceback
from typing import Any

from prometheus_client import Gauge, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linker.desk.service import callers, errors, origins
from linker.desk.service.errors import Failure
from linker.desk.service.settings import Key, Limits
from linker.desk.service.state import Service

logger = logging.getLogger(__name__)

_OPEN = ("/", "/review", "/docs", "/openapi.json", "/health", "/ready")  # paths that need no key
_OPEN_BELOW = ("/static/", "/swagger/")
_WRITING = ("/decisions", "/projects", "/training", "/label-studio/webhook", "/reload")
"""How the paths begin below which POST and DELETE have no time limit: cut off, they might still
write after an error was sent. They wait for others only for a limited time.
"""
_UNCOUNTED = ("/health", "/ready", "/metrics")  # paths that are answered however busy we are
_CHANGING = ("POST", "DELETE")  # methods that pages of other sites may not use
_GONE = 499  # the status of a request whose client left before the answer, as in nginx
_OF_FILES = re.compile(r"/projects(?:/preview|/[0-9]+/sources)?")
_METHODS = frozenset(("GET", "HEAD", "POST", "DELETE", "OPTIONS"))
_CLOSE = {"Connection": "close"}  # for a request whose body was not read to its end
PUBLIC = "/reconcile"  # changes nothing, and its protocol is for the pages of all sites
_HEADERS = {  # of every answer, unless its route has others
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Gate:
    """ASGI middleware that guards a service.

    Args:
        app: what answers the requests that pass.
        service: with its keys and limits.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service, self._settings = app, service, service.settings
        figures: Any = {"registry": service.figures}
        labels = ["route", "method", "status"]
        self._seconds = Histogram("linker_request_seconds", "Time to answer.", labels, **figures)
        self._active = Gauge("linker_active_requests", "Requests in progress.", **figures)
        self._number = 0  # of requests in progress

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # HEAD is GET, of whose answer the server sends the head alone
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        asked = {**scope, "method": method}
        exchange = _Exchange(asked, receive, send, self._service.limits)
        start = time.perf_counter()
        self._number += 1
        self._active.inc()
        try:
            if error := await self._failure(asked, exchange):
                await errors.respond(scope["path"], error)(asked, receive, exchange.send)
        finally:
            self._number -= 1
            self._active.dec()
            scope["route"] = asked.get("route")
            self._record(scope, exchange.status or _GONE, time.perf_counter() - start)

    async def _failure(self, scope: Scope, exchange: _Exchange) -> Failure | None:
        """Let the application answer a request; the error to answer where it fails."""
        is_writing = scope["method"] in _CHANGING and scope["path"].startswith(_WRITING)
        seconds = None if is_writing else self._service.limits.seconds
        error = None
        try:
            self._check(scope)
            await exchange.answered(self._app(scope, exchange.receive, exchange.send), seconds)
        except Failure as failure:
            error = failure
        except asyncio.TimeoutError:
            again = {"Retry-After": "5"}
            error = Failure(503, "the answer took too long; ask for less at once", headers=again)
        except ClientDisconnect:  # in the midst of its body
            pass
        except Exception as bug:  # its text may hold what a user wrote, and is not logged
            place = traceback.extract_tb(bug.__traceback__)[-1]
            logger.error("%s in %s:%s", type(bug).__name__, place.filename, place.lineno)
            error = Failure(500, "a bug in linker; its log says where")
        return None if exchange.status else error  # the server cuts an answer that is not whole

    def _check(self, scope: Scope) -> None:
        """Check that a request may be looked at, and let it act in the name of its key.

        Raises:
            Failure: it may not.
        """
        path, headers, settings = scope["path"], Headers(scope=scope), self._settings
        is_public = path.startswith(PUBLIC)
        if "content-length" in headers and "transfer-encoding" in headers:
            raise Failure(
                400, "Content-Length and Transfer-Encoding exclude each other", None, _CLOSE
            )
        name = origins.host_name(headers.get("host", ""))
        if name is None:
            raise Failure(400, "the header Host is malformed; expected: NAME:PORT")
        any_name = settings.names is None or settings.keys
        if not any_name and not origins.is_named(name, settings.names or (), settings.origins):
            reason = "this Host is not allowed; use an address, or start linker serve with --cors"
            raise Failure(403, reason)
        key = self._key(headers)
        is_open = path in _OPEN or path.startswith(_OPEN_BELOW)
        if settings.keys and key is None and not is_open:
            reason = "the API key is missing or wrong; send it as Authorization: Bearer KEY"
            raise Failure(401, reason, headers={"WWW-Authenticate": "Bearer"})
        if scope["method"] in _CHANGING and not (is_public or self._is_ours(headers)):
            raise Failure(403, "this origin is not allowed; start linker serve with --cors ORIGIN")
        callers.enter(key, settings.keys)
        if self._number > self._service.limits.requests and path not in _UNCOUNTED:
            raise Failure(503, "too many requests at the same time", headers={"Retry-After": "1"})

    def _key(self, headers: Headers) -> Key | None:
        """Which of the keys a request has; compared in constant time. None: none of them."""
        kind, _, sent = headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":  # Label Studio sends no other kind; the key is the password
            try:
                sent = base64.b64decode(sent).decode().partition(":")[2]
            except ValueError:
                sent = ""
        elif kind.lower() != "bearer":
            sent = headers.get("x-api-key", "")
        given = sent.strip().encode()
        known = [key for key in self._settings.keys if hmac.compare_digest(given, key.secret)]
        return known[0] if known else None

    def _is_ours(self, headers: Headers) -> bool:
        """Whether no page of another site sends a request."""
        origin = headers.get("origin")
        host = headers.get("host", "")
        return origins.is_ours(origin, host, self._settings.origins)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request, and log it by the pattern of its path, which holds no user's text."""
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._seconds.labels(route, method, status).observe(seconds)
        logger.info("%s %s %d %.0f ms", method, route, status, seconds * 1000)


class _Exchange:
    """A request and its answer: what comes in is limited, what goes out gets headers.

    Args:
        scope, receive, send: of ASGI.
        limits: of the service.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        is_file = scope["method"] == "POST" and _OF_FILES.fullmatch(scope["path"])
        self._left = self._most = limits.file if is_file else limits.body  # bytes
        self._deadline = time.monotonic() + limits.read_seconds
        self._receive, self._send = receive, send
        self._is_read = asyncio.Event()  # once the whole body was received
        self.status = 0

    async def receive(self) -> Message:
        """Receive a part of the body.

        Raises:
            Failure: the body is too long, or comes too slowly.
        """
        if self._is_read.is_set():
            return await self._receive()
        try:
            seconds = max(0.001, self._deadline - time.monotonic())
            message = await asyncio.wait_for(self._receive(), seconds)
        except asyncio.TimeoutError:
            raise Failure(408, "the body of the request came too slowly", None, _CLOSE) from None
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            reason = f"the body is too long; the service takes at most {self._most:,} bytes at once"
            raise Failure(413, reason, None, _CLOSE)
        if not message.get("more_body"):
            self._is_read.set()
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with headers that its route need not name."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def answered(self, answer: Any, seconds: float | None) -> None:
        """Wait for an answer as long as its client does; then the work on it is given up.

        Raises:
            TimeoutError: of asyncio; the answer took longer than the seconds.
        """
        tasks = [asyncio.ensure_future(work) for work in (answer, self._left_alone())]
        try:
            done, _ = await asyncio.wait(
                tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                raise asyncio.TimeoutError
            if tasks[0] in done:
                tasks[0].result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _left_alone(self) -> None:
        """Wait until the client has left, which is looked for once the body is there."""
        await self._is_read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
