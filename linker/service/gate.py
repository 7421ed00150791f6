"""Gate: what every request passes: the API key, the limits of size and time, headers, figures."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import ipaddress
import logging
import re
import time
import traceback
from collections.abc import Awaitable, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linker.service import callers, errors
from linker.service.callers import Caller
from linker.service.errors import Failure
from linker.service.settings import Key
from linker.service.state import Service

logger = logging.getLogger(__name__)

CLOSE = {"Connection": "close"}  # for a request whose body was not read to its end
_OPEN = ("/", "/review", "/docs", "/health", "/ready")  # paths that need no key
_OPEN_BELOW = ("/static/", "/swagger/")
_LISTS = 20  # lists and objects of JSON for each mention that a request may have
_WRITING = (
    "/decisions",
    "/projects",
    "/training",
    "/label-studio/webhook",
    "/reload",
)
"""How the paths begin below which POST and DELETE have no time limit: cut off, they might still
write after an error was sent. They wait for others only for a limited time.
"""
_UNCOUNTED = ("/health", "/ready", "/metrics")  # paths that are answered however busy we are
_CHANGING = ("POST", "DELETE")  # methods that pages of other sites may not use
_GONE = 499  # the status of a request whose client left before the answer, as in nginx
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^][:@/?#\s]*)(?::\d{0,5})?", re.ASCII)
_OF_FILES = re.compile(r"/projects(?:/[0-9]+/sources)?")
_METHODS = frozenset(("GET", "HEAD", "POST", "DELETE", "OPTIONS"))
PUBLIC = "/reconcile"  # changes nothing, and its protocol is for the pages of all sites
_HEADERS = {  # of every answer, unless its route has others
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}


class Gate:
    """ASGI middleware that guards a service.

    Args:
        app: what answers the requests that pass.
        service: with its keys, limits and metrics.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limits = self._service.limits
        is_file = scope["method"] == "POST" and _OF_FILES.fullmatch(scope["path"])
        most = limits.file if is_file else limits.body
        headers = Headers(scope=scope)
        lists = _LISTS * limits.mentions if "json" in headers.get("content-type", "") else None
        body = _LimitedBody(receive, most, lists, limits.read_seconds)
        has_body = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        answer = _Answer(send, scope["path"].startswith(PUBLIC), body if has_body else None)
        # HEAD is GET, of whose answer the server sends the head alone
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        asked = {**scope, "method": method}
        start = time.perf_counter()
        self._active += 1
        self._service.metrics.active.inc()
        try:
            error = self._refusal(asked) or await self._error(asked, body, answer)
            if error and not answer.is_complete:
                if answer.status:  # a part of it is sent: the connection is cut
                    raise ConnectionAbortedError("an answer could not be finished") from None
                await errors.in_form(error, scope["path"])(asked, body, answer)
        finally:
            self._active -= 1
            self._service.metrics.active.dec()
            scope["route"] = asked.get("route")
            self._record(scope, answer.status or _GONE, time.perf_counter() - start)

    async def _error(self, scope: Scope, body: _LimitedBody, answer: _Answer) -> Response | None:
        """Let the application answer a request; an answer in its place where it fails."""
        is_writing = scope["method"] in _CHANGING and scope["path"].startswith(_WRITING)
        seconds = None if is_writing else self._service.limits.seconds
        try:
            await _while_awaited(self._app(scope, body, answer), body, seconds)
        except asyncio.TimeoutError:
            again = {"Retry-After": "5"}
            return _failed(503, "the answer took too long; ask for less at once", again)
        except ClientDisconnect:  # in the midst of its body
            return None
        except Exception as error:  # its text may hold what a user wrote, and is not logged
            place = traceback.extract_tb(error.__traceback__)[-1]
            logger.error("%s in %s:%s", type(error).__name__, place.filename, place.lineno)
            return _failed(500, "a bug in linker; its log says where")
        return None

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that is not even looked at; None: it is."""
        path, headers, limits = scope["path"], Headers(scope=scope), self._service.limits
        is_public = path.startswith(PUBLIC)
        if "content-length" in headers and "transfer-encoding" in headers:
            return _failed(400, "Content-Length and Transfer-Encoding exclude each other")
        match = _HOST.fullmatch(headers.get("host", ""))
        if match is None:
            return _failed(400, "the header Host is malformed; expected: NAME:PORT")
        if not self._is_named(match["name"].strip("[]").lower().removesuffix(".")):
            reason = "this Host is not allowed; use an address, or start linker serve with --cors"
            return _failed(403, reason)
        if scope["method"] == "OPTIONS" and is_public:
            return None  # browsers send no key with it
        keys, key = self._service.settings.keys, self._key(headers)
        is_open = not keys or path in _OPEN or path.startswith(_OPEN_BELOW)
        if key is None and not is_open:
            reason = "the API key is missing or wrong; send it as Authorization: Bearer KEY"
            return _failed(401, reason, {"WWW-Authenticate": "Bearer"})
        if scope["method"] in _CHANGING and not (is_public or self._is_ours(headers)):
            return _failed(403, "this origin is not allowed; start linker serve with --cors ORIGIN")
        callers.enter(Caller.of(key, keys))
        if self._active > limits.requests and path not in _UNCOUNTED:
            return _failed(503, "too many requests at the same time", {"Retry-After": "1"})
        return None

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
        keys = self._service.settings.keys
        known = [key for key in keys if hmac.compare_digest(given, key.secret)]
        return known[0] if known else None

    def _is_named(self, name: str) -> bool:
        """Whether a request calls the service by a name that pages of other sites cannot have.

        A page can let its own name lead to this computer (DNS rebinding), and then counts as ours.
        """
        settings = self._service.settings
        if settings.names is None or settings.keys:
            return True
        with contextlib.suppress(ValueError):
            return bool(ipaddress.ip_address(name))
        return name in {*settings.names, *(urlsplit(o).hostname for o in settings.origins)}

    def _is_ours(self, headers: Headers) -> bool:
        """Whether no page of another site, which a browser names as the origin, sends a request."""
        origin = headers.get("origin")
        own = (f"{scheme}://{headers.get('host')}" for scheme in ("http", "https"))
        return origin is None or origin in {*own, *self._service.settings.origins}

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request, and log it by the pattern of its path, which holds no user's text."""
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._service.metrics.request(route, method, status, seconds)
        logger.info("%s %s %d %.0f ms", method, route, status, seconds * 1000)


class _Answer:
    """Sends an answer, with headers that its route need not name.

    Args:
        send: of ASGI.
        is_public: whether pages of all sites may read it.
        body: of the request; the connection is closed where it was not read. None: there is none.
    """

    def __init__(self, send: Send, is_public: bool, body: _LimitedBody | None) -> None:
        self._send, self._body = send, body
        self._headers = _HEADERS | (_ANY_ORIGIN if is_public else {})
        self.status, self.is_complete = 0, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
            if self._body and not self._body.completed.is_set():
                headers.update(CLOSE)
        elif message["type"] == "http.response.body":
            self.is_complete = not message.get("more_body")
        await self._send(message)


class _LimitedBody:
    """Receives a body, as long as it is neither too long nor too slow.

    Args:
        receive: of ASGI.
        most: bytes that it may have.
        lists: how many lists and objects its JSON may have; all others wait while a million of
            them are made. None: it is no JSON.
        seconds: that it may take.
    """

    def __init__(self, receive: Receive, most: int, lists: int | None, seconds: float) -> None:
        self._receive, self._most, self._lists = receive, most, lists
        self._size = self._begun = 0
        self.completed = asyncio.Event()  # once all of it was received
        self._deadline = time.monotonic() + seconds

    async def __call__(self) -> Message:
        if self.completed.is_set():
            return await self._receive()
        try:
            left = max(0.001, self._deadline - time.monotonic())
            message = await asyncio.wait_for(self._receive(), left)
        except asyncio.TimeoutError:
            raise Failure(408, "the body of the request came too slowly", headers=CLOSE) from None
        content = message.get("body", b"")
        self._size += len(content)
        self._begun += content.count(b"[") + content.count(b"{")
        if not message.get("more_body"):
            self.completed.set()
        if self._size > self._most:
            reason = f"the body is too long; the service takes at most {self._most:,} bytes at once"
            raise Failure(413, reason, headers=CLOSE)
        if self._lists is not None and self._begun > self._lists:
            reason = f"the body has more than {self._lists:,} lists and objects"
            raise Failure(413, reason, headers=CLOSE)
        return message

    async def disconnected(self) -> None:
        """Wait until the client has left, which is looked for once the body is there."""
        await self.completed.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def _while_awaited(
    answer: Awaitable[None], body: _LimitedBody, seconds: float | None
) -> None:
    """Let a request be answered as long as its client waits; then the work on it is given up.

    Raises:
        TimeoutError: of asyncio; the answer took longer than the seconds.
    """
    answering, leaving = asyncio.ensure_future(answer), asyncio.ensure_future(body.disconnected())
    try:
        done, _ = await asyncio.wait(
            {answering, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        if answering in done:
            answering.result()
        elif not done:
            raise asyncio.TimeoutError
    finally:
        answering.cancel()
        leaving.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)


def _failed(status: int, reason: str, headers: Mapping[str, str] = {}) -> Response:
    """An answer that is an error, after which the connection is closed."""
    return errors.answer(status, reason, headers={**headers, **CLOSE})
