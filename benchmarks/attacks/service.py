"""Hostile requests to a service in this process, and what is no HTTP to one in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from linker import Dictionary, Linker
from linker.training.pipeline import train

from . import inputs
from .core import Attack, Failed
from .decisions import MENTIONS
from .judgements import Said, as_now, selected
from .service_requests import BODY, FOREIGN, FORM, HOST, MAKERS, ORIGINS, RAW, Sent, hostile

KEY = b"a-key-of-some-length"
_LIMITS = {"body": BODY, "mentions": 300, "documents": 30, "text": 20_000, "requests": 12}
_LIMITS |= {"read_seconds": 0.3, "seconds": 8.0}
_OVER_SOCKETS = 0.06  # share of the cases that are made over sockets


@dataclass(slots=True)
class Answer:
    """What came back."""

    status: int = 0
    body: bytes = b""


def prepared(shared: Path) -> Iterator[Attack]:
    """A few requests together, to a service that keeps decisions or to one that wants a key."""
    train(inputs.dictionary(shared), encoder="tfidf").save(shared / "model")
    from linker.service import app  # noqa: F401 - imported once for all processes

    made: list[_Services] = []  # in each process: its threads do not come along

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        if not made or made[0].process != os.getpid():
            made[:] = [_Services(shared)]
        if rng.random() < _OVER_SOCKETS:
            _raw(rng, made[0].socketed())
        elif rng.random() < 0.15:
            _without_key(rng, made[0])
        else:
            _several(rng, made[0])

    yield attack


class _Services:
    """The services of a process."""

    def __init__(self, shared: Path) -> None:
        from linker.service.settings import Key

        self.process, self._shared, self._numbers = os.getpid(), shared, itertools.count()
        self.loop = asyncio.new_event_loop()
        self._linker = Linker.load(shared / "model")
        self.dictionary = self._linker.dictionary
        self._socket: _SocketService | None = None
        self._open: tuple[Any, Any, Path] | None = None
        self.keyed, *_ = self._started(keys=(Key(KEY),))
        self.answers = {
            one.mention.text: [part.best and part.best.concept_id for part in one.parts]
            for one in self._linker.link(MENTIONS)
        }

    def _started(self, **settings: Any) -> tuple[Any, Any, Path]:
        from linker.service.app import create
        from linker.service.settings import Limits, Settings
        from linker.service.state import Service

        store = self._shared / f"{self.process}-{next(self._numbers)}.sqlite"
        settings |= {"names": frozenset(("localhost",)), "limits": Limits(**_LIMITS)}
        made = Settings(str(self._shared / "model"), str(store), **settings)
        service = Service(made, self._linker)
        return create(service), service, store

    def open(self) -> tuple[Any, Path]:
        """A service without a key in whose file nobody has decided, and the file."""
        if self._open is not None and selected(self._open[2], "SELECT 1 FROM decisions"):
            self.loop.run_until_complete(self._open[1].close())
            self._open = None
        self._open = self._open or self._started()
        return self._open[0], self._open[2]

    def ask(self, app: Any, requests: Sequence[Sent], *, together: bool) -> list[Answer]:
        """Send requests, one after the other or all at once."""

        async def all_of_them() -> list[Answer]:
            if together:
                return list(await asyncio.gather(*(_asked(app, one) for one in requests)))
            return [await _asked(app, one) for one in requests]

        return self.loop.run_until_complete(all_of_them())

    def socketed(self) -> _SocketService:
        """A service in a process of its own."""
        if self._socket is None or self._socket.process.poll() is not None:
            self._socket = _SocketService(self._shared)
        return self._socket


async def _asked(app: Any, sent: Sent) -> Answer:
    """Hand a request to an application as uvicorn does."""
    answer = Answer()
    size = max(1, -(-len(sent.body) // sent.chunks))
    pieces = [sent.body[at : at + size] for at in range(0, len(sent.body), size)] or [b""]
    waiting = iter(pieces)

    async def receive() -> dict[str, Any]:
        piece = next(waiting, None)
        if piece is None:
            if sent.end == "gone":
                return {"type": "http.disconnect"}
            await asyncio.Event().wait()
        more = sent.end != "whole" or piece is not pieces[-1]
        return {"type": "http.request", "body": piece, "more_body": more}

    async def send(message: dict[str, Any]) -> None:
        answer.status = message.get("status", answer.status)
        answer.body += message.get("body", b"")

    scope = {"type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "scheme": "http"}
    scope |= {"http_version": "1.1", "method": sent.method, "root_path": "", "state": {}}
    scope |= {"path": unquote(sent.path.decode("ascii")), "raw_path": sent.path}
    scope |= {"query_string": sent.query, "headers": sent.headers}
    scope |= {"client": ("127.0.0.1", 50_000), "server": ("127.0.0.1", 8080)}
    await app(scope, receive, send)
    return answer


def _several(rng: random.Random, services: _Services) -> None:
    """Some requests to the open service, of which some are hostile."""
    app, store = services.open()
    requests = [rng.choice(MAKERS)(rng) for _ in range(rng.choice((1, 1, 2, 4, 8)))]
    requests = [hostile(rng, sent) if rng.random() < 0.75 else sent for sent in requests]
    answers = services.ask(app, requests, together=rng.random() < 0.5)
    has_decisions = any(one.path.startswith(b"/decisions") for one in requests)
    for sent, answer in zip(requests, answers, strict=True):
        try:
            _check(sent, answer, {} if has_decisions else services.answers)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            what = f"{type(error).__name__} {error}, {answer.body[:200]!r} to {sent}"
            raise Failed(f"an answer that cannot be read: {what}") from error
    _check_stored(requests, answers, store, services.dictionary)


def _check_status(sent: Sent, answer: Answer) -> None:
    is_broken = answer.status >= 500 and answer.status != 503
    if is_broken or (answer.status == 0 and sent.end != "gone"):
        raise Failed(f"status {answer.status}: {answer.body[:100]!r} to {sent}")


def _check(sent: Sent, answer: Answer, known: dict[str, Any]) -> None:
    """Check one answer by itself."""
    _check_status(sent, answer)
    path, headers = unquote(sent.path.decode()), dict(reversed(sent.headers))  # the first counts
    is_changing = sent.method in ("POST", "DELETE") and not path.startswith("/reconcile")
    if answer.status < 400 and headers.get(b"host") in FOREIGN:
        raise Failed(f"a foreign Host was answered: {sent}")
    if answer.status < 400 and is_changing and headers.get(b"origin") in ORIGINS:
        raise Failed(f"a foreign Origin was answered: {sent}")
    is_described = sent.method != "HEAD" and not path.startswith("/reconcile/preview")
    if answer.status >= 400 and is_described and set(json.loads(answer.body)) != {"error", "where"}:
        what = f"{answer.status} {answer.body[:200]!r} to {sent}"
        raise Failed(f"an error that is not as documented: {what}")
    if answer.status == 200 and sent.method == "POST":
        _check_linked(sent, path, answer.body, known)
    if answer.status == 200 and path == "/reconcile":
        _check_reconciled(sent, answer.body)


def _check_linked(sent: Sent, path: str, text: bytes, known: dict[str, Any]) -> None:
    """Check that each answer is of the mention that was asked for."""
    record, wrong = sent.record, "an answer for another mention"
    if path == "/explain" and json.loads(text)["mention"] != record["mention"]:
        raise Failed(f"{wrong}: {text[:300]!r} to {sent}")
    form = parse_qs(sent.query.decode("latin-1")).get("format", ["json"])[-1]
    if path not in ("/link", "/annotate") or form != "json":
        return
    found = json.loads(text)["predictions"]
    documents = record.get("documents") or []
    marked = [one["text"] for document in documents for one in document.get("mentions") or []]
    if path == "/annotate":
        texts = {one["id"]: one.get("text") for one in documents}
        for one in found:
            whole, spans = texts.get(one["document_id"]), one["spans"] or []
            if len(texts) == len(documents) and whole and len(spans) == 1:
                is_there = whole[slice(*spans[0])] == one["mention"]
                if not is_there and one["mention"] not in marked:
                    raise Failed(f"{wrong}: {one} to {sent}")
        return
    asked = marked
    if record.get("mentions") is not None:
        asked = [one if isinstance(one, str) else one["text"] for one in record["mentions"]]
    if asked != [one["mention"] for one in found]:
        raise Failed(f"{wrong}: {[one['mention'] for one in found]} to {sent}")
    if set(record) - {"k"} == {"mentions"}:
        for mention, one in zip(asked, found, strict=True):
            best = [None if p["nil"] else p["candidates"][0]["concept_id"] for p in one["parts"]]
            if mention in known and best != known[mention]:
                raise Failed(f"{wrong}: {best} for {mention!r}, expected {known[mention]}")


def _check_reconciled(sent: Sent, text: bytes) -> None:
    given = sent.body if sent.method == "POST" else sent.query
    parameters = parse_qs(given.decode("latin-1"), keep_blank_values=True)
    if sent.method not in ("GET", "POST") or len(parameters) != 1:
        return
    if dict(sent.headers).get(b"content-type", FORM) != FORM:
        return  # the form is not read
    ((name, values),) = parameters.items()
    if name == "queries" and set(json.loads(text)) != set(json.loads(values[-1])):
        raise Failed(f"answers to other queries: {text[:300]!r} to {sent}")
    if name == "extend" and set(json.loads(text)["rows"]) != set(json.loads(values[-1])["ids"]):
        raise Failed(f"rows of other ids: {text[:300]!r} to {sent}")


def _check_stored(
    requests: Sequence[Sent], answers: Sequence[Answer], store: Path, dictionary: Dictionary
) -> None:
    """Check that the file holds what was acknowledged, and nothing else."""
    made, withdrawn = Counter[Said](), 0
    for sent, answer in zip(requests, answers, strict=True):
        if answer.status == 201 and sent.path.rstrip(b"/") == b"/decisions":
            given, stored = sent.record["decisions"], json.loads(answer.body)["decisions"]
            for one, kept in zip(given, stored, strict=True):
                accepted = one.get("accepted", True)
                accepted = accepted if isinstance(accepted, bool) else kept["accepted"]
                said = Said.of(one["mention"], one.get("concept_id") or "", accepted)
                made[as_now(said, dictionary)] += 1
        elif answer.status == 200 and sent.method == "DELETE":
            withdrawn += 1
    rows = selected(store, "SELECT mention, concept_id, accepted FROM decisions")
    there = Counter(as_now(Said.of(m, concept, bool(a)), dictionary) for m, concept, a in rows)
    sent_by = [str(one) for one in requests if b"decisions" in one.path]
    for which, what in (
        (there - made, "a decision was stored that no request made"),
        (made - there, "a decision was acknowledged and is not stored"),
    ):
        if which:
            raise Failed(f"{what}: {dict(which)}, {sent_by}"[:900])
    gone = len(selected(store, "SELECT 1 FROM withdrawals"))
    if gone != withdrawn:
        raise Failed(f"withdrawals: {gone} in the file, {withdrawn} were acknowledged")


# ------------------------------------------------------------------------------------ over sockets

_READ = 1  # seconds that the service waits for a request


class _SocketService:
    """linker serve in a process of its own."""

    def __init__(self, shared: Path) -> None:
        self.store = shared / f"{os.getpid()}-socket.sqlite"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        options = {"--model": shared / "model", "--port": self.port}
        options["--set"] = f"limits.read_seconds={_READ}"
        options["--decisions"] = self.store
        words = [str(word) for pair in options.items() for word in pair]
        log = shared / f"{os.getpid()}-socket.log"
        with open(log, "wb") as file:
            command = [sys.executable, "-m", "linker.cli", "serve", *words]
            self.process = subprocess.Popen(command, stderr=file, stdin=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while b"serving at" not in log.read_bytes():
            if self.process.poll() is not None or time.monotonic() > until:
                raise Failed(f"the service did not start: {log.read_bytes()[-300:]!r}")
            time.sleep(0.05)

    def talk(self, data: bytes, *, close: bool) -> tuple[bytes, bool]:
        """Send bytes; what came back, and whether the service closed the connection in time."""
        received, until = b"", time.monotonic() + 4 * _READ + 4
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(data)
                if close:
                    connection.shutdown(socket.SHUT_WR)
            try:
                while time.monotonic() < until:
                    connection.settimeout(max(0.01, until - time.monotonic()))
                    piece = connection.recv(1 << 16)
                    if not piece:
                        return received, True
                    received += piece
            except TimeoutError:
                return received, False
            except OSError:
                return received, True
        return received, False


def _raw(rng: random.Random, service: _SocketService) -> None:
    """A request that is no HTTP, breaks its rules, hides another one, or never ends."""
    before = selected(service.store, "SELECT count(*) FROM decisions")
    data, most, close, what = rng.choice(RAW)(rng)
    received, is_closed = service.talk(data, close=close)
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
    shown = f"{statuses} to {data[:300]!r}"
    is_stored = selected(service.store, "SELECT count(*) FROM decisions") != before
    for is_wrong, kind in (
        (service.process.poll() is not None, "the service died"),
        (any(one >= 500 and one != 503 for one in statuses), f"status {max(statuses, default=0)}"),
        (len([one for one in statuses if one >= 200]) > most, "a body was taken for a request"),
        (not is_closed, f"a connection was kept {what}"),
        (is_stored, "a decision was stored that no request made"),
    ):
        if is_wrong:
            raise Failed(f"{kind}: {shown}")
    health = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    alive, _ = service.talk(health, close=False)
    if b"200" not in alive[:20]:
        raise Failed(f"the service does not answer any more: {alive[:100]!r} after {shown}")


# -------------------------------------------------------------------------------------- wrong keys

_FREE = re.compile(r"/|/health|/static/[a-z]+\.(js|css|svg|html)")  # paths that need no key
_WRONG_KEYS = (
    KEY[:-1], KEY + b"x", KEY.upper(), b"", KEY + b"\0", b"\xff" + KEY, KEY[::-1], b"null",
    KEY + b"," + KEY, KEY * 2,
)  # fmt: skip
_WRONG_FORMS = (b"Basic %s", b"%s", b"Bearer\t%s", b"Token %s", b"Bearer%s")
_OF_KEYS = (b"authorization", b"x-api-key", b"host", b"origin")


def _without_key(rng: random.Random, services: _Services) -> None:
    """Requests to the service that wants a key, most of them with a wrong one."""
    requests, rights = [], []
    for _ in range(rng.choice((1, 2, 5))):
        sent = rng.choice(MAKERS)(rng)
        sent = hostile(rng, sent) if rng.random() < 0.4 else sent
        right = rng.random() < 0.2
        key = KEY if right else rng.choice(_WRONG_KEYS)
        form = rng.choice((b"Bearer %s", b"bearer  %s", b"Bearer %s "))
        form = form if right else rng.choice((form, *_WRONG_FORMS))
        sent.headers = [HOST, *(one for one in sent.headers if one[0] not in _OF_KEYS)]
        if right or rng.random() < 0.8:
            fields = ((b"authorization", form % key), (b"x-api-key", key))
            sent.headers.append(rng.choice(fields))
        if not right and rng.random() < 0.2:
            sent.query += b"&key=%s&api_key=%s" % (KEY, KEY)
        requests.append(sent)
        rights.append(right)
    answers = services.ask(services.keyed, requests, together=rng.random() < 0.5)
    for sent, answer, right in zip(requests, answers, rights, strict=True):
        _check_status(sent, answer)
        path = unquote(sent.path.decode())
        is_asked_first = sent.method == "OPTIONS" and path.startswith("/reconcile")
        is_free = _FREE.fullmatch(path) is not None or is_asked_first
        if not right and answer.status < 400 and not is_free:
            what = f"{answer.status} {answer.body[:100]!r} to {sent}"
            raise Failed(f"a request with a wrong key was answered: {what}")
        plain = {*_OF_KEYS[:3], b"content-type", b"content-length"}
        if right and answer.status == 401 and {name for name, _ in sent.headers} <= plain:
            raise Failed(f"a request with the right key was refused: {sent}")
