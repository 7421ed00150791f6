"""Hostile requests to a service: in this process, and some over sockets to one of its own."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, quote_plus, unquote

from linker import Dictionary, Linker

from . import seeds
from .core import Attack, Failed
from .decisions import IDS, MENTIONS, OLD_IDS, WRONG_IDS
from .judgements import Said, as_now, selected
from .mutate import NUMBERS, changed, mutated, other
from .writers import text as hostile

KEY = b"a key of some length"[:20].replace(b" ", b"-")
_LIMITS = {"body": 200_000, "mentions": 300, "documents": 30, "text": 20_000, "requests": 12}
_LIMITS |= {"read_seconds": 0.3, "seconds": 8.0}
_RAW = 0.06  # share of the cases that are made over sockets
_READ = 1  # seconds that the service over sockets waits for a request
_FREE = ("/", "/health")  # paths that need no key, beside those of the page's files
_HOSTS = (b"localhost", b"127.0.0.1:8080", b"[::1]:80", b"LOCALHOST:1", b"10.0.0.1")
_FOREIGN = (
    *(
        b"evil.org",
        b"localhost.evil.org",
        b"evil.org:80",
        b"127.0.0.1.evil.org",
        b"",
        b"evil.org/localhost",
    ),
    *(
        b"evil.org@localhost.x",
        b"[::1].evil.org",
        b"localhost,evil.org",
        b"evil.org#localhost",
        b"\xff",
        b"x y",
    ),
)
_ORIGINS = (
    b"http://evil.org",
    b"null",
    b"http://localhost.evil.org",
    b"",
    b"http://localhost@evil.org",
    b"\xff",
)


@dataclass(slots=True)
class Sent:
    """A request."""

    method: str
    path: bytes  # as it is sent, with its signs escaped
    query: bytes = b""
    body: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    chunks: int = 1  # in which the body comes
    end: str = "whole"  # how the body ends: whole, slow (never), gone (the client left)

    @property
    def record(self) -> Any:
        """The JSON of its body; None for another one."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def __str__(self) -> str:
        end = "" if self.end == "whole" else f" ({self.end})"
        where = f"{self.method} {self.path[:100]!r}?{self.query[:200]!r}"
        return f"{where} {self.headers!r:.200} {self.body[:300]!r}{end}"


@dataclass(slots=True)
class Answer:
    """What came back."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@contextlib.contextmanager
def prepared(shared: Path) -> Iterator[Attack]:
    """A few requests together, to a service that keeps decisions or to one that wants a key."""
    shared.mkdir()
    (shared / "dict.tsv").write_bytes(seeds.TABLE)
    Linker.train(Dictionary.read(shared / "dict.tsv")).save(shared / "model")
    from linker.service import app  # noqa: F401 - imported once for all processes

    made: list[_Services] = []  # in each process: its threads do not come along

    def attack(rng: random.Random, case: int, folder: Path) -> None:
        if not made or made[0].process != os.getpid():
            made[:] = [_Services(shared)]
        if rng.random() < _RAW:
            _over_sockets(rng, made[0])
        elif rng.random() < 0.15:
            _without_key(rng, made[0])
        else:
            _several(rng, made[0])

    yield attack


class _Services:
    """The services of a process."""

    def __init__(self, shared: Path) -> None:
        from linker.service.app import create

        self.process, self._shared, self._create = os.getpid(), shared, create
        self.loop = asyncio.new_event_loop()
        self._linker = Linker.load(shared / "model")
        self.dictionary = self._linker.dictionary
        self._numbers = itertools.count()
        self._socket: _Socketed | None = None
        self._open: tuple[Any, Any, Path] | None = None
        self.keyed, *_ = self._started(keys=(KEY,))
        self.answers = {
            prediction.mention.text: [
                part.best and part.best.concept_id for part in prediction.parts
            ]
            for prediction in self._linker.link(MENTIONS)
        }

    def _started(self, **settings: Any) -> tuple[Any, Any, Path]:
        from linker.service.settings import Limits, Settings
        from linker.service.state import Service

        store = self._shared / f"{self.process}-{next(self._numbers)}.sqlite"
        model = str(self._shared / "model")
        names = frozenset(("localhost",))
        made = Settings(model, str(store), names=names, limits=Limits(**_LIMITS), **settings)
        service = Service(made, self._linker)
        return self._create(service), service, store

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

    def socketed(self) -> _Socketed:
        """A service in a process of its own."""
        if self._socket is None or self._socket.process.poll() is not None:
            self._socket = _Socketed(self._shared)
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
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {
                k.decode("latin-1").lower(): v.decode("latin-1") for k, v in message["headers"]
            }
        else:
            answer.body += message.get("body", b"")

    await app(
        {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": sent.method,
            "scheme": "http",
            "path": unquote(sent.path.decode("ascii")),
            "raw_path": sent.path,
            "query_string": sent.query,
            "root_path": "",
            "headers": sent.headers,
            "client": ("127.0.0.1", 50_000),
            "server": ("127.0.0.1", 8080),
            "state": {},
        },
        receive,
        send,
    )
    return answer


# ------------------------------------------------------------------------------------------------ requests in order

_JSON = [(b"host", b"localhost"), (b"content-type", b"application/json")]
_FORM = [(b"host", b"localhost"), (b"content-type", b"application/x-www-form-urlencoded")]


def _json_to(path: bytes, record: Any, query: bytes = b"") -> Sent:
    body = json.dumps(record).encode()
    return Sent("POST", path, query, body, [*_JSON, (b"content-length", b"%d" % len(body))])


def _get(path: bytes, **parameters: Any) -> Sent:
    query = "&".join(f"{name}={quote_plus(str(value))}" for name, value in parameters.items())
    return Sent("GET", path, query.encode(), headers=[(b"host", b"localhost")])


def _mention(rng: random.Random) -> str:
    return rng.choice((*MENTIONS, *MENTIONS, hostile(rng, 5)))


def _document(rng: random.Random) -> dict[str, Any]:
    text, marked = "", []
    for mention in rng.sample(MENTIONS, rng.randint(0, 3)):
        marked.append({"text": mention, "spans": [[len(text), len(text) + len(mention)]]})
        text += f"{mention} and "
    document: dict[str, Any] = {"id": rng.choice(("1", "2", hostile(rng, 2))), "text": text + "."}
    return document | ({"mentions": marked} if rng.random() < 0.7 else {})


def _link(rng: random.Random) -> Sent:
    record: dict[str, Any] = {"k": rng.choice((1, 5, 100))} if rng.random() < 0.3 else {}
    if rng.random() < 0.7:
        record["mentions"] = [_mention(rng) for _ in range(rng.choice((1, 2, 5)))]
        if rng.random() < 0.2:
            record["mentions"] = [{"text": one, "document_id": "1"} for one in record["mentions"]]
    else:
        record["documents"] = [_document(rng) for _ in range(rng.randint(1, 3))]
    form = rng.choice(
        (
            b"",
            b"",
            b"",
            b"format=tsv",
            b"format=bioc",
            b"format=pubtator",
            b"format=sssom",
            b"format=jsonl",
        )
    )
    return _json_to(b"/link", record, form)


def _decided(rng: random.Random) -> Sent:
    records = [
        {"mention": _mention(rng), "concept_id": rng.choice((*IDS, *OLD_IDS, None, *WRONG_IDS[:2]))}
        | ({"accepted": False} if rng.random() < 0.3 else {})
        | {
            key: rng.choice(("", "1", "Ada", hostile(rng, 2)))
            for key in ("scope", "reviewer")
            if rng.random() < 0.4
        }
        for _ in range(rng.choice((1, 1, 3)))
    ]
    return _json_to(b"/decisions", {"decisions": records})


def _reconciled(rng: random.Random) -> Sent:
    queries: dict[str, Any] = {}
    for number in range(rng.choice((1, 3, 10))):
        query: dict[str, Any] = {"query": _mention(rng)}
        more = {"limit": rng.choice((0, 1, 5)), "type": "Disease", "type_strict": "any"}
        more["properties"] = [
            {
                "pid": rng.choice(("parents", "id", "x")),
                "v": rng.choice(("MESH:D009369", ["a", 1], {"id": "x"})),
            }
        ]
        queries[f"q{number}"] = query | {key: more[key] for key in more if rng.random() < 0.2}
    return _parameter(rng, "queries", queries)


def _extended(rng: random.Random) -> Sent:
    ids = [rng.choice((*IDS, *OLD_IDS, *WRONG_IDS)) for _ in range(rng.choice((0, 1, 5)))]
    properties = [
        {
            "id": rng.choice(("parents", "names", "definition", "x")),
            "settings": rng.choice(({}, {"limit": "2"}, {"content": "id"}, None)),
        }
        for _ in range(rng.randint(0, 3))
    ]
    return _parameter(rng, "extend", {"ids": ids, "properties": properties})


def _parameter(rng: random.Random, name: str, value: Any) -> Sent:
    text = f"{name}={quote_plus(json.dumps(value))}".encode()
    if rng.random() < 0.4:
        return Sent("GET", b"/reconcile", text, headers=[(b"host", b"localhost")])
    return Sent(
        "POST", b"/reconcile", body=text, headers=[*_FORM, (b"content-length", b"%d" % len(text))]
    )


def _file(rng: random.Random) -> Sent:
    name, data = rng.choice(
        (
            ("a.csv", seeds.CSV),
            ("a.txt", seeds.PUBTATOR),
            ("a.xml", seeds.BIOC_XML),
            ("a.jsonl", seeds.JSONL),
            ("", seeds.TSV),
            ("a.json", seeds.BIOC_JSON),
        )
    )
    data = mutated(rng, data)[: _LIMITS["body"] + 10]
    length = (b"content-length", b"%d" % len(data))
    query = f"name={quote(name)}" + "&column=mention" * (rng.random() < 0.3)
    return Sent("POST", b"/parse", query.encode(), data, [(b"host", b"localhost"), length])


_PLAIN: tuple[tuple[bytes, dict[str, Any]], ...] = (
    *(
        (path, {})
        for path in (
            b"/",
            b"/health",
            b"/ready",
            b"/model",
            b"/metrics",
            b"/openapi.json",
            b"/static/page.js",
            b"/nowhere",
        )
    ),
    *((b"/search", {"q": text, "limit": 5}) for text in ("breast", "MESH:D001943", "β")),
    *(
        (b"/concepts/" + path, {})
        for path in (b"MESH:D001943", b"D001943", b"MESH%3AD000001", b"X:1", b"a/b")
    ),
    *((b"/decisions", {"mention": text}) for text in ("gout", "A-T")),
    *((b"/decisions/export", {"format": form}) for form in ("tsv", "sssom", "mentions", "x")),
    *(
        (b"/reconcile", {}),
        (b"/reconcile", {"query": "gout"}),
        (b"/reconcile", {"query": '{"query": "gout"}', "callback": "f"}),
    ),
    *(
        (b"/reconcile/suggest/" + what, {"prefix": "bre", "cursor": 1})
        for what in (b"entity", b"type", b"property", b"x")
    ),
    *(
        (b"/reconcile/flyout/" + what, {"id": "MESH:D001943"})
        for what in (b"entity", b"type", b"property")
    ),
    *(
        (b"/reconcile/properties", {"type": "x", "limit": 2}),
        (b"/reconcile/preview", {"id": "MESH:D001943"}),
    ),
)
_MAKERS: tuple[Callable[[random.Random], Sent], ...] = (
    *(_link, _link, _link, _decided, _decided, _reconciled, _reconciled, _extended, _file),
    lambda rng: _json_to(
        b"/annotate", {"documents": [_document(rng) for _ in range(rng.randint(1, 3))]}
    ),
    lambda rng: _json_to(
        b"/explain",
        {"mention": _mention(rng)} | ({"document": _document(rng)} if rng.random() < 0.3 else {}),
    ),
    lambda rng: Sent(
        "DELETE", b"/decisions/%d" % rng.choice((1, 1, 2, 3, 99)), headers=[(b"host", b"localhost")]
    ),
    *((lambda rng: (lambda path, parameters: _get(path, **parameters))(*rng.choice(_PLAIN)),) * 3),
    lambda rng: (
        Sent("POST", b"/reload", headers=[(b"host", b"localhost")])
        if rng.random() < 0.1
        else _get(b"/ready")
    ),
)


# ---------------------------------------------------------------------------------------------------- and out of order

_DEEP = (
    b"[",
    b'{"a":',
    b'{"mentions":[',
    b'[{"decisions":',
    b'"',
    b"\\u0000",
    b"1",
    b"-",
    b'{"documents":[{"passages":[',
)
_FIELDS = (
    *(
        (b"content-type", kind)
        for kind in (
            b"",
            b"text/plain",
            b"multipart/form-data",
            b"multipart/form-data; boundary=x",
            b"application/json; charset=utf-16",
            b"\xff",
            b"application/x-www-form-urlencoded; charset=x",
        )
    ),
    *(
        (b"content-length", n)
        for n in (b"-1", b"0", b"1", b"9" * 400, b"1e3", b" 5 ", b"\xd9\xa3", b"199999", b"")
    ),
    *((b"origin", origin) for origin in (*_ORIGINS, b"http://localhost")),
    *(
        (b"accept-encoding", b"gzip;q=\xff"),
        (b"content-encoding", b"gzip"),
        (b"expect", b"100-continue"),
        (b"range", b"bytes=-9999999999999"),
    ),
    *(
        (b"if-none-match", b'"\xff'),
        (b"if-modified-since", b"\xff 99"),
        (b"range", b"bytes=0-1,5-2,9-"),
        (b"transfer-encoding", b"chunked"),
    ),
    *(
        (b"authorization", b"\xff\xfe"),
        (b"x-forwarded-for", b"\xff"),
        (b"cookie", b"\xff;;="),
        (b"upgrade", b"websocket"),
        (b"x", b"y" * 70_000),
    ),
)


def _hostile(rng: random.Random, sent: Sent) -> Sent:
    """The request with something wrong; its length is said anew where its body is another one."""
    how = rng.randrange(9)
    if how == 0 and sent.record is not None:
        record = sent.record
        for _ in range(rng.choice((1, 1, 2, 3))):
            record = changed(rng, record)
        return _rewritten(sent, json.dumps(record).encode())
    if how == 1:
        return _rewritten(sent, mutated(rng, sent.body)[: _LIMITS["body"] + 50_000])
    if how == 2:
        piece = rng.choice(_DEEP)
        deep = piece * (rng.choice((50, 900, 5_000, 60_000)) // rng.choice((1, len(piece))))
        return _rewritten(sent, rng.choice((deep, sent.body + deep, sent.body[:10] + deep)))
    if how == 3:
        values = [
            rng.choice((*NUMBERS, hostile(rng, 4), "\ud800", "[" * 3000, str(other(rng))[:3_000]))
            for _ in range(2)
        ]
        value = quote_plus(values[0].encode("utf-8", "surrogatepass"))
        pairs = sent.query.split(b"&")
        at = rng.randrange(len(pairs))
        pairs[at] = pairs[at].partition(b"=")[0] + b"=" + value.encode()
        pairs += [
            rng.choice(
                (
                    b"",
                    b"&",
                    b"=",
                    b"%",
                    b"%ff=%ff",
                    b"callback=alert(1)",
                    b"callback=a.b",
                    b"format=tsv",
                    pairs[0],
                )
            )
        ]
        return dataclasses.replace(sent, query=b"&".join(pairs))
    if how == 4:
        tail = rng.choice(
            (
                b"/",
                b"//",
                b"/..",
                b"/%2e%2e/",
                b"%00",
                b"%ff",
                b"%F0%9F",
                b";x",
                b"%0d%0aX:y",
                b"/x" * 2_000,
                b"%",
                b"..%2f..%2fetc%2fpasswd",
                b"%ed%a0%80",
            )
        )
        front = rng.choice(
            (
                sent.path,
                sent.path,
                sent.path,
                b"/static",
                b"/static/..",
                b"/concepts/",
                b"/decisions/",
                b"/" + sent.path,
            )
        )
        return dataclasses.replace(sent, path=front + tail)
    if how == 5:
        fields = dict(sent.headers) | dict(rng.sample(_FIELDS, rng.choice((1, 1, 2, 3))))
        doubled = [rng.choice(_FIELDS)] if rng.random() < 0.2 else []
        return dataclasses.replace(sent, headers=[*fields.items(), *doubled])
    if how == 6:
        end = rng.choice(("slow", "gone", "whole"))
        return dataclasses.replace(sent, chunks=rng.choice((2, 7, 100)), end=end)
    if how == 7:
        return dataclasses.replace(
            sent,
            method=rng.choice(
                (
                    "PUT",
                    "PATCH",
                    "HEAD",
                    "OPTIONS",
                    "TRACE",
                    "get",
                    "X" * 300,
                    "DELETE",
                    "POST",
                    "GET",
                )
            ),
        )
    field_ = rng.choice(((b"host", rng.choice(_FOREIGN)), (b"origin", rng.choice(_ORIGINS))))
    return dataclasses.replace(sent, headers=[*(dict(sent.headers) | dict([field_])).items()])


def _rewritten(sent: Sent, body: bytes) -> Sent:
    headers = dict(sent.headers) | {b"content-length": b"%d" % len(body)}
    return dataclasses.replace(sent, body=body, headers=[*headers.items()])


def _several(rng: random.Random, services: _Services) -> None:
    """Some requests to the open service, of which some are hostile."""
    app, store = services.open()
    requests = []
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        sent = rng.choice(_MAKERS)(rng)
        requests.append(_hostile(rng, sent) if rng.random() < 0.75 else sent)
    answers = services.ask(app, requests, together=rng.random() < 0.5)
    has_decisions = any(one.path.startswith(b"/decisions") for one in requests)
    for sent, answer in zip(requests, answers, strict=True):
        try:
            _check(sent, answer, {} if has_decisions else services.answers)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            raise Failed(
                f"an answer that cannot be read: {type(error).__name__} {error}, {answer.body[:200]!r} to {sent}"
            ) from error
    _check_stored(requests, answers, store, services.dictionary)


def _check(sent: Sent, answer: Answer, known: dict[str, Any]) -> None:
    """Check one answer by itself."""
    text = answer.body
    if (answer.status >= 500 and answer.status != 503) or (
        answer.status == 0 and sent.end != "gone"
    ):
        raise Failed(f"status {answer.status}: {text[:100]!r} to {sent}")
    path, headers = unquote(sent.path.decode()), dict(reversed(sent.headers))  # the first counts
    is_foreign = headers.get(b"host") in _FOREIGN
    is_changing = sent.method in ("POST", "DELETE") and not path.startswith("/reconcile")
    if answer.status < 400 and is_foreign:
        raise Failed(f"a foreign Host was answered: {sent}")
    if answer.status < 400 and is_changing and headers.get(b"origin") in _ORIGINS:
        raise Failed(f"a foreign Origin was answered: {sent}")
    is_described = sent.method != "HEAD" and not path.startswith("/reconcile/preview")
    if answer.status >= 400 and is_described and set(json.loads(text)) != {"error", "where"}:
        raise Failed(
            f"an error that is not as documented: {answer.status} {text[:200]!r} to {sent}"
        )
    if answer.status == 200 and sent.method == "POST":
        _check_linked(sent, path, text, known)
    if answer.status == 200 and path == "/reconcile":
        _check_reconciled(sent, text)


def _check_linked(sent: Sent, path: str, text: bytes, known: dict[str, Any]) -> None:
    """Check that each answer is of the mention that was asked for."""
    record = sent.record
    if path == "/explain" and json.loads(text)["mention"] != record["mention"]:
        raise Failed(f"an answer for another mention: {text[:300]!r} to {sent}")
    form = parse_qs(sent.query.decode("latin-1")).get("format", ["json"])[-1]
    if path not in ("/link", "/annotate") or form != "json":
        return
    found = json.loads(text)["predictions"]
    if path == "/annotate":
        texts = {one["id"]: one.get("text") for one in record["documents"]}
        for one in found:
            whole = texts.get(one["document_id"])
            spans = one["spans"] or []
            if len(texts) == len(record["documents"]) and whole and len(spans) == 1:
                start, end = spans[0]
                marked = [m["text"] for d in record["documents"] for m in d.get("mentions") or []]
                if whole[start:end] != one["mention"] and one["mention"] not in marked:
                    raise Failed(f"an answer for another mention: {one} to {sent}")
        return
    if record.get("mentions") is not None:
        asked = [one if isinstance(one, str) else one["text"] for one in record["mentions"]]
    else:
        asked = [
            one["text"]
            for document in record["documents"]
            for one in document.get("mentions") or []
        ]
    if asked != [one["mention"] for one in found]:
        raise Failed(
            f"an answer for another mention: {[one['mention'] for one in found]} to {sent}"
        )
    if set(record) - {"k"} == {"mentions"}:
        for mention, one in zip(asked, found, strict=True):
            ids = [
                None if part["nil"] else part["candidates"][0]["concept_id"]
                for part in one["parts"]
            ]
            if mention in known and ids != known[mention]:
                raise Failed(
                    f"an answer for another mention: {ids} for {mention!r}, expected {known[mention]}"
                )


def _check_reconciled(sent: Sent, text: bytes) -> None:
    given = sent.query + b"&" + sent.body * (sent.method == "POST")
    parameters = parse_qs(given.decode("latin-1"), keep_blank_values=True)
    if sent.method not in ("GET", "POST") or len(parameters) != 1:
        return
    if dict(sent.headers).get(b"content-type", _FORM[1][1]) != _FORM[1][1]:
        return  # the form is not read
    if (queries := parameters.get("queries")) and set(json.loads(text)) != set(
        json.loads(queries[-1])
    ):
        raise Failed(f"answers to other queries: {text[:300]!r} to {sent}")
    if (extend := parameters.get("extend")) and set(json.loads(text)["rows"]) != set(
        json.loads(extend[-1])["ids"]
    ):
        raise Failed(f"rows of other ids: {text[:300]!r} to {sent}")


def _check_stored(
    requests: Sequence[Sent], answers: Sequence[Answer], store: Path, dictionary: Dictionary
) -> None:
    """Check that the file holds what was acknowledged, and nothing else."""
    made = Counter[Said]()
    withdrawn = 0
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
    there = Counter(
        as_now(Said.of(mention, concept, bool(accepted)), dictionary)
        for mention, concept, accepted in selected(
            store, "SELECT mention, concept_id, accepted FROM decisions"
        )
    )
    sent_by = [str(one) for one in requests if b"decisions" in one.path]
    if strange := there - made:
        raise Failed(
            f"a decision was stored that no request made: {dict(strange)}, {sent_by}"[:900]
        )
    if lost := made - there:
        raise Failed(
            f"a decision was acknowledged and is not stored: {dict(lost)}, {sent_by}"[:900]
        )
    gone = len(selected(store, "SELECT 1 FROM withdrawals"))
    if gone != withdrawn:
        raise Failed(f"withdrawals: {gone} in the file, {withdrawn} were acknowledged")


# ------------------------------------------------------------------------------------------------------- wrong keys

_PAGE = re.compile(r"/static/[a-z]+\.(js|css|svg|html)")


def _without_key(rng: random.Random, services: _Services) -> None:
    """Requests to the service that wants a key, most of them with a wrong one."""
    requests, is_right = [], []
    for _ in range(rng.choice((1, 2, 5))):
        sent = rng.choice(_MAKERS)(rng)
        sent = _hostile(rng, sent) if rng.random() < 0.4 else sent
        right = rng.random() < 0.2
        keys = (
            KEY[:-1],
            KEY + b"x",
            KEY.upper(),
            b"",
            KEY + b"\0",
            b"\xff" + KEY,
            KEY[::-1],
            b"null",
            KEY + b"," + KEY,
            KEY * 2,
        )
        key = KEY if right else rng.choice(keys)
        form = rng.choice((b"Bearer %s", b"bearer  %s", b"Bearer %s "))
        if not right:
            form = rng.choice(
                (form, b"Basic %s", b"%s", b"Bearer\t%s", b"Token %s", b"Bearer" + b"%s")
            )
        field_ = (b"authorization", form % key) if rng.random() < 0.6 else (b"x-api-key", key)
        headers = [
            (n, v)
            for n, v in sent.headers
            if n not in (b"authorization", b"x-api-key", b"host", b"origin")
        ]
        if right or rng.random() < 0.8:
            headers.append(field_)
        if not right and rng.random() < 0.2:
            sent.query += b"&key=%s&api_key=%s" % (KEY, KEY)
        sent.headers = [(b"host", b"localhost"), *headers]
        requests.append(sent)
        is_right.append(right)
    answers = services.ask(services.keyed, requests, together=rng.random() < 0.5)
    for sent, answer, right in zip(requests, answers, is_right, strict=True):
        path = unquote(sent.path.decode())
        if (answer.status >= 500 and answer.status != 503) or (
            answer.status == 0 and sent.end != "gone"
        ):
            raise Failed(f"status {answer.status}: {answer.body[:100]!r} to {sent}")
        is_free = path in _FREE or _PAGE.fullmatch(path) is not None
        is_asked_first = sent.method == "OPTIONS" and path.startswith("/reconcile")
        if not right and answer.status < 400 and not is_free and not is_asked_first:
            raise Failed(
                f"a request with a wrong key was answered: {answer.status} {answer.body[:100]!r} to {sent}"
            )
        plain = {b"host", b"authorization", b"x-api-key", b"content-type", b"content-length"}
        if right and answer.status == 401 and {name for name, _ in sent.headers} <= plain:
            raise Failed(f"a request with the right key was refused: {sent}")


# ---------------------------------------------------------------------------------------------------------- sockets


class _Socketed:
    """linker serve in a process of its own."""

    def __init__(self, shared: Path) -> None:
        self.store = shared / f"{os.getpid()}-socket.sqlite"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "linker.cli", "serve", "--model", shared / "model"]
        command += [
            "--port",
            str(self.port),
            "--read-seconds",
            str(_READ),
            "--decisions",
            self.store,
        ]
        log = shared / f"{os.getpid()}-socket.log"
        with open(log, "wb") as file:
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


_HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
_LINES = (
    *(
        b"GET / HTTP/1.1",
        b"POST /link HTTP/1.1",
        b"POST /decisions HTTP/1.1",
        b"GET http://x/ HTTP/1.1",
        b"\0\0",
        b"X" * 9_000,
        b"GET",
    ),
    *(
        b"GET /%ff%00 HTTP/1.1",
        b"GET /../../etc/passwd HTTP/1.1",
        b"PRI * HTTP/2.0",
        b"POST /reconcile HTTP/1.0",
        b"GET /health HTTP/1.1",
    ),
    *(
        b"DELETE /decisions/1 HTTP/1.1",
        b"POST /nowhere HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"CONNECT x:1 HTTP/1.1",
        b"POST /parse HTTP/1.1",
    ),
)
_HEADS = (
    *(
        b"Content-Length: -1",
        b"Content-Length: 9" + b"9" * 30,
        b"Transfer-Encoding: chunked",
        b"Content-Length: 3",
        b"Content-Length: 0",
    ),
    *(
        b"Host: localhost",
        b"Host: y",
        b": x",
        b"a\0: b",
        b"Authorization: \xff\xfe",
        b"Connection: upgrade",
        b"Upgrade: websocket",
    ),
    *(
        b"Expect: 100-continue",
        b"X: " + b"y" * 70_000,
        b"Content-Length : 5",
        b" Content-Length: 5",
        b"Transfer-Encoding: gzip, chunked",
    ),
    *(
        b"Transfer-Encoding: identity",
        b"transfer-encoding:\tchunked",
        b"Content-Length: 5, 5",
        b"Content-Length: +5",
        b"Host: localhost\r\nHost: evil.org",
    ),
)


def _over_sockets(rng: random.Random, services: _Services) -> None:
    """A request that is no HTTP, breaks its rules, hides another one, or never ends."""
    service = services.socketed()
    before = selected(service.store, "SELECT count(*) FROM decisions")
    data, most, close, what = rng.choice((_broken, _hidden, _unread, _slow))(rng)
    received, is_closed = service.talk(data, close=close)
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
    shown = f"{statuses} to {data[:300]!r}"
    if service.process.poll() is not None:
        raise Failed(f"the service died: {shown}")
    if any(status >= 500 and status != 503 for status in statuses):
        raise Failed(f"status {max(statuses)}: {shown}")
    if len([status for status in statuses if status >= 200]) > most:
        raise Failed(f"a body was taken for a request: {shown}")
    if not is_closed:
        raise Failed(f"a connection was kept {what}: {shown}")
    if selected(service.store, "SELECT count(*) FROM decisions") != before:
        raise Failed(f"a decision was stored that no request made: {shown}")
    alive, _ = service.talk(
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", close=False
    )
    if b"200" not in alive[:20]:
        raise Failed(f"the service does not answer any more: {alive[:100]!r} after {shown}")


_Raw = tuple[bytes, int, bool, str]
"""What is sent, how many answers there may be, whether the client ends it, what it is about."""


def _broken(rng: random.Random) -> _Raw:
    head = [rng.choice(_LINES), *rng.sample(_HEADS, rng.randint(0, 4))]
    return b"\r\n".join(head) + b"\r\n\r\nzz\r\n", 2, True, "whose client had ended it"


def _hidden(rng: random.Random) -> _Raw:
    """A request inside the body of another one, whose length is said in two ways or wrongly."""
    line = rng.choice(
        (
            b"POST /link",
            b"POST /nowhere",
            b"GET /health",
            b"POST /decisions",
            b"GET /",
            b"POST /reconcile",
            b"DELETE /decisions/1",
        )
    )
    lengths = (
        b"Content-Length: %d" % len(_HIDDEN),
        b"Content-Length: %d\r\nContent-Length: %d" % (len(_HIDDEN), len(_HIDDEN)),
        b"Content-Length: 0\r\nContent-Length: %d" % len(_HIDDEN),
        b"Content-Length: 0\r\nTransfer-Encoding: chunked",
        b"Content-Length: %d\r\nTransfer-Encoding: chunked" % len(_HIDDEN),
        b"Content-Length: %d\r\nTransfer-Encoding: identity" % len(_HIDDEN),
        b"Transfer-Encoding: chunked",
        b"Content-Length: %d\r\nHost: evil.org" % len(_HIDDEN),
    )
    length = rng.choice(lengths)
    body = _HIDDEN
    if b"chunked" in length:
        body = rng.choice(
            (
                b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body),
                b"0;%s\r\n\r\n" % (b"x" * 10),
                b'%x;a="\r\n%s\r\n0\r\n\r\n' % (len(body), body),
            )
        )
    head = b"%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n" % (line, length)
    return head + body, 1, True, "whose client had ended it"


def _unread(rng: random.Random) -> _Raw:
    """A body that is announced and does not come; nothing of it may be waited for long."""
    line = rng.choice(
        (
            b"GET /health",
            b"GET /",
            b"POST /nowhere",
            b"GET /model",
            b"POST /link",
            b"DELETE /decisions/1",
            b"PUT /link",
            b"GET /static/page.js",
            b"POST /reconcile",
        )
    )
    host = rng.choice((b"localhost", b"localhost", b"evil.org"))
    length = rng.choice(
        (b"Content-Length: 1000", b"Transfer-Encoding: chunked", b"Content-Length: 999999999999")
    )
    begun = rng.choice((b"", b"5\r\nab", b"{"))
    return (
        b"%s HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n%s" % (line, host, length, begun),
        1,
        False,
        "whose body was not read",
    )


def _slow(rng: random.Random) -> _Raw:
    """A head that does not end."""
    data = rng.choice(
        (b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: y")
    )
    return data, 1, False, "whose head never ends"
