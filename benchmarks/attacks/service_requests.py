"""Requests to a service: in order, with something wrong, and what is no HTTP or breaks its rules."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, quote_plus

from . import inputs
from .decisions import IDS, MENTIONS, OLD_IDS, WRONG_IDS
from .inputs import NUMBERS, changed, mutated, other
from .writers import text as hostile_text

BODY = 200_000  # bytes that a body may have
FOREIGN = (
    b"evil.org", b"localhost.evil.org", b"evil.org:80", b"127.0.0.1.evil.org", b"",
    b"evil.org/localhost", b"evil.org@localhost.x", b"[::1].evil.org", b"localhost,evil.org",
    b"evil.org#localhost", b"\xff", b"x y",
)  # fmt: skip
ORIGINS = (
    b"http://evil.org", b"null", b"http://localhost.evil.org", b"", b"http://localhost@evil.org",
    b"\xff",
)  # fmt: skip
Field = tuple[bytes, bytes]
HOST = (b"host", b"localhost")
FORM = b"application/x-www-form-urlencoded"


@dataclass(slots=True)
class Sent:
    """A request."""

    method: str
    path: bytes  # as it is sent, with its signs escaped
    query: bytes = b""
    body: bytes = b""
    headers: list[Field] = field(default_factory=lambda: [HOST])
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


# ------------------------------------------------------------------------------- requests in order


def _post(path: bytes, body: bytes, kind: bytes, query: bytes = b"") -> Sent:
    fields = [HOST, (b"content-type", kind), (b"content-length", b"%d" % len(body))]
    return Sent("POST", path, query, body, fields)


def _json(path: bytes, record: Any, query: bytes = b"") -> Sent:
    return _post(path, json.dumps(record).encode(), b"application/json", query)


def _mention(rng: random.Random) -> str:
    return rng.choice((*MENTIONS, *MENTIONS, hostile_text(rng, 5)))


def _document(rng: random.Random) -> dict[str, Any]:
    text, marked = "", []
    for mention in rng.sample(MENTIONS, rng.randint(0, 3)):
        marked.append({"text": mention, "spans": [[len(text), len(text) + len(mention)]]})
        text += f"{mention} and "
    document: dict[str, Any] = {"id": rng.choice(("1", "2", hostile_text(rng, 2)))}
    return document | {"text": text + "."} | ({"mentions": marked} if rng.random() < 0.7 else {})


def _documents(rng: random.Random) -> dict[str, Any]:
    return {"documents": [_document(rng) for _ in range(rng.randint(1, 3))]}


def _link(rng: random.Random) -> Sent:
    record = _documents(rng)
    if rng.random() < 0.7:
        mentions = [_mention(rng) for _ in range(rng.choice((1, 2, 5)))]
        of_document = [{"text": mention, "document_id": "1"} for mention in mentions]
        record = {"mentions": rng.choice((mentions, mentions, mentions, of_document))}
    if rng.random() < 0.3:
        record["k"] = rng.choice((1, 5, 100))
    form = rng.choice((b"", b"", b"", b"tsv", b"bioc", b"pubtator", b"sssom", b"jsonl"))
    return _json(b"/link", record, b"format=" + form if form else b"")


def _decided(rng: random.Random) -> Sent:
    records = []
    for _ in range(rng.choice((1, 1, 3))):
        concept = rng.choice((*IDS, *OLD_IDS, None, *WRONG_IDS[:2]))
        more = {"accepted": False, "scope": "101", "reviewer": hostile_text(rng, 2)}
        chosen = {key: more[key] for key in more if rng.random() < 0.3}
        records.append({"mention": _mention(rng), "concept_id": concept} | chosen)
    return _json(b"/decisions", {"decisions": records})


def _reconciled(rng: random.Random) -> Sent:
    queries: dict[str, Any] = {}
    for number in range(rng.choice((1, 3, 10))):
        value = rng.choice(("MESH:D009369", ["a", 1], {"id": "x"}))
        more = {"limit": rng.choice((0, 1, 5)), "type": "Disease", "type_strict": "any"}
        more["properties"] = [{"pid": rng.choice(("parents", "id", "x")), "v": value}]
        chosen = {key: more[key] for key in more if rng.random() < 0.2}
        queries[f"q{number}"] = {"query": _mention(rng)} | chosen
    return _parameter(rng, "queries", queries)


def _extended(rng: random.Random) -> Sent:
    ids = [rng.choice((*IDS, *OLD_IDS, *WRONG_IDS)) for _ in range(rng.choice((0, 1, 5)))]
    settings = rng.choice(({}, {"limit": "2"}, {"content": "id"}, None))
    names = rng.sample(("parents", "names", "definition", "x"), rng.randint(0, 3))
    properties = [{"id": name, "settings": settings} for name in names]
    return _parameter(rng, "extend", {"ids": ids, "properties": properties})


def _parameter(rng: random.Random, name: str, value: Any) -> Sent:
    text = f"{name}={quote_plus(json.dumps(value))}".encode()
    is_get = rng.random() < 0.4
    return Sent("GET", b"/reconcile", text) if is_get else _post(b"/reconcile", text, FORM)


def _file(rng: random.Random) -> Sent:
    files = {
        "a.csv": inputs.CSV,
        "a.txt": inputs.PUBTATOR,
        "a.xml": inputs.BIOC_XML,
        "": inputs.TSV,
    }
    name, data = rng.choice(list(files.items()))
    query = f"name={quote(name)}" + "&column=mention" * (rng.random() < 0.3)
    sent = _post(b"/parse", mutated(rng, data)[: BODY + 10], b"", query.encode())
    return replace(sent, headers=[one for one in sent.headers if one[1]])


_GET = b"""/ /health /ready /model /metrics /openapi.json /static/page.js /nowhere
/search?q=breast&limit=5 /search?q=MESH%3AD001943 /search?q=%CE%B2 /concepts/MESH:D001943
/concepts/MESH%3AD000001 /concepts/X:1 /concepts/a/b /decisions?mention=gout
/decisions/export?format=tsv /decisions/export?format=sssom
/decisions/export?format=mentions /reconcile /decisions/export?format=x
/reconcile/suggest/entity?prefix=bre&cursor=1 /reconcile/suggest/type?prefix=bre
/reconcile/suggest/property?prefix=bre /reconcile/suggest/x?prefix=bre
/reconcile/flyout/entity?id=MESH:D001943 /reconcile/flyout/type?id=x /reconcile/flyout/property?id=x
/reconcile/properties?type=x&limit=2 /reconcile/preview?id=MESH:D001943""".split()


def _get(rng: random.Random) -> Sent:
    path, _, query = rng.choice(_GET).partition(b"?")
    return Sent("GET", path, query)


def _explained(rng: random.Random) -> Sent:
    record: dict[str, Any] = {"mention": _mention(rng)}
    return _json(b"/explain", record | rng.choice(({}, {}, {"document": _document(rng)})))


MAKERS: tuple[Callable[[random.Random], Sent], ...] = (
    *(_link, _link, _link, _decided, _decided, _reconciled, _reconciled, _extended, _file),
    *(_explained, _get, _get, _get),
    lambda rng: _json(b"/annotate", _documents(rng)),
    lambda rng: Sent("DELETE", b"/decisions/%d" % rng.choice((1, 1, 2, 3, 99))),
    lambda rng: Sent("POST", b"/reload") if rng.random() < 0.1 else Sent("GET", b"/ready"),
)


# ---------------------------------------------------------------------------------- and out of order

_DEEP = (
    b"[", b'{"a":', b'{"mentions":[', b'[{"decisions":', b'"', b"\\u0000", b"1", b"-",
    b'{"documents":[{"passages":[',
)  # fmt: skip
_KINDS = (
    b"", b"text/plain", b"multipart/form-data", b"multipart/form-data; boundary=x", b"\xff",
    b"application/json; charset=utf-16", FORM + b"; charset=x",
)  # fmt: skip
_LENGTHS = (b"-1", b"0", b"1", b"9" * 400, b"1e3", b" 5 ", b"\xd9\xa3", b"199999", b"")
_FIELDS: tuple[Field, ...] = (
    *((b"content-type", kind) for kind in _KINDS),
    *((b"content-length", length) for length in _LENGTHS),
    *((b"origin", origin) for origin in (*ORIGINS, b"http://localhost")),
    *((b"accept-encoding", b"gzip;q=\xff"), (b"content-encoding", b"gzip")),
    *((b"expect", b"100-continue"), (b"range", b"bytes=-9999999999999")),
    *((b"if-none-match", b'"\xff'), (b"if-modified-since", b"\xff 99")),
    *((b"range", b"bytes=0-1,5-2,9-"), (b"transfer-encoding", b"chunked")),
    *((b"authorization", b"\xff\xfe"), (b"x-forwarded-for", b"\xff"), (b"cookie", b"\xff;;=")),
    *((b"upgrade", b"websocket"), (b"x", b"y" * 70_000)),
)
_QUERIES = (
    b"", b"&", b"=", b"%", b"%ff=%ff", b"callback=alert(1)", b"format=tsv",
)  # fmt: skip
_TAILS = (
    b"/", b"//", b"/..", b"/%2e%2e/", b"%00", b"%ff", b"%F0%9F", b";x", b"%0d%0aX:y",
    b"/x" * 2_000, b"%", b"..%2f..%2fetc%2fpasswd", b"%ed%a0%80",
)  # fmt: skip
_METHODS = (
    "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "get", "X" * 300, "DELETE", "POST", "GET",
)  # fmt: skip


def hostile(rng: random.Random, sent: Sent) -> Sent:
    """The request with something wrong; its length is said anew where its body is another one."""
    how = rng.randrange(9)
    if how == 0 and (record := sent.record) is not None:
        for _ in range(rng.choice((1, 1, 2, 3))):
            record = changed(rng, record)
        return _with_body(sent, json.dumps(record).encode())
    if how == 1:
        return _with_body(sent, mutated(rng, sent.body)[: BODY + 50_000])
    if how == 2:
        piece = rng.choice(_DEEP)
        deep = piece * (rng.choice((50, 900, 5_000, 60_000)) // rng.choice((1, len(piece))))
        return _with_body(sent, rng.choice((deep, sent.body + deep, sent.body[:10] + deep)))
    if how == 3:
        odd = (*NUMBERS, hostile_text(rng, 4), "\ud800", "[" * 3000, str(other(rng))[:3_000])
        value = quote_plus(rng.choice(odd).encode("utf-8", "surrogatepass"))
        pairs = sent.query.split(b"&")
        at = rng.randrange(len(pairs))
        pairs[at] = pairs[at].partition(b"=")[0] + b"=" + value.encode()
        pairs.append(rng.choice((*_QUERIES, pairs[0])))
        return replace(sent, query=b"&".join(pairs))
    if how == 4:
        fronts = (b"/static", b"/static/..", b"/concepts/", b"/decisions/", b"/" + sent.path)
        front = rng.choice((*[sent.path] * 3, *fronts))
        return replace(sent, path=front + rng.choice(_TAILS))
    if how == 5:
        changed_sent = _with(sent, *rng.sample(_FIELDS, rng.choice((1, 1, 2, 3))))
        changed_sent.headers += [rng.choice(_FIELDS)] if rng.random() < 0.2 else []
        return changed_sent
    if how == 6:
        end = rng.choice(("slow", "gone", "whole"))
        return replace(sent, chunks=rng.choice((2, 7, 100)), end=end)
    if how == 7:
        return replace(sent, method=rng.choice(_METHODS))
    return _with(
        sent, rng.choice(((b"host", rng.choice(FOREIGN)), (b"origin", rng.choice(ORIGINS))))
    )


def _with(sent: Sent, *fields: Field) -> Sent:
    """With other headers."""
    return replace(sent, headers=[*(dict(sent.headers) | dict(fields)).items()])


def _with_body(sent: Sent, body: bytes) -> Sent:
    return replace(_with(sent, (b"content-length", b"%d" % len(body))), body=body)


# ------------------------------------------------------------------------------------ over sockets

_LINES = (
    b"GET / HTTP/1.1", b"POST /link HTTP/1.1", b"POST /decisions HTTP/1.1", b"GET",
    b"GET http://x/ HTTP/1.1", b"\0\0", b"X" * 9_000, b"GET /%ff%00 HTTP/1.1",
    b"GET /../../etc/passwd HTTP/1.1", b"PRI * HTTP/2.0", b"POST /reconcile HTTP/1.0",
    b"GET /health HTTP/1.1", b"DELETE /decisions/1 HTTP/1.1", b"POST /nowhere HTTP/1.1",
    b"OPTIONS * HTTP/1.1", b"CONNECT x:1 HTTP/1.1", b"POST /parse HTTP/1.1",
)  # fmt: skip
_HEADS = (
    b"Content-Length: -1", b"Content-Length: 9" + b"9" * 30, b"Transfer-Encoding: chunked",
    b"Content-Length: 3", b"Content-Length: 0", b"Host: localhost", b"Host: y", b": x",
    b"a\0: b", b"Authorization: \xff\xfe", b"Connection: upgrade", b"Upgrade: websocket",
    b"Expect: 100-continue", b"X: " + b"y" * 70_000, b"Content-Length : 5",
    b" Content-Length: 5", b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: identity",
    b"transfer-encoding:\tchunked", b"Content-Length: 5, 5", b"Content-Length: +5",
    b"Host: localhost\r\nHost: evil.org",
)  # fmt: skip
_STARTS = (
    b"POST /link", b"POST /nowhere", b"GET /health", b"POST /decisions", b"GET /", b"GET /model",
    b"POST /reconcile", b"DELETE /decisions/1", b"PUT /link", b"GET /static/page.js",
)  # fmt: skip
_HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
_HIDING = (  # heads that say the length of a body, {n}, in two ways or wrongly
    b"Content-Length: {n}", b"Content-Length: {n}\r\nContent-Length: {n}",
    b"Content-Length: 0\r\nContent-Length: {n}", b"Content-Length: {n}\r\nHost: evil.org",
    b"Content-Length: 0\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked",
    b"Content-Length: {n}\r\nTransfer-Encoding: chunked",
    b"Content-Length: {n}\r\nTransfer-Encoding: identity",
)  # fmt: skip
Bytes = tuple[bytes, int, bool, str]
"""What is sent, how many answers there may be, whether the client ends it, what it is about."""


def _broken(rng: random.Random) -> Bytes:
    head = [rng.choice(_LINES), *rng.sample(_HEADS, rng.randint(0, 4))]
    return b"\r\n".join(head) + b"\r\n\r\nzz\r\n", 2, True, "whose client had ended it"


def _hidden(rng: random.Random) -> Bytes:
    """A request inside the body of another one, whose length is said in two ways or wrongly."""
    body, length = _HIDDEN, rng.choice(_HIDING).replace(b"{n}", b"%d" % len(_HIDDEN))
    if b"chunked" in length:
        chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        quoted = b'%x;a="\r\n%s\r\n0\r\n\r\n' % (len(body), body)
        body = rng.choice((chunked, quoted, b"0;%s\r\n\r\n" % (b"x" * 10)))
    head = b"%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n" % (rng.choice(_STARTS), length)
    return head + body, 1, True, "whose client had ended it"


def _unread(rng: random.Random) -> Bytes:
    """A body that is announced and does not come; nothing of it may be waited for long."""
    host = rng.choice((b"localhost", b"localhost", b"evil.org"))
    lengths = (b"Content-Length: 1000", b"Transfer-Encoding: chunked")
    lengths += (b"Content-Length: 999999999999",)
    begun = rng.choice((b"", b"5\r\nab", b"{"))
    parts = (rng.choice(_STARTS), host, rng.choice(lengths), begun)
    return b"%s HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n%s" % parts, 1, False, "whose body was not read"


def _slow(rng: random.Random) -> Bytes:
    """A head that does not end."""
    starts = b"", b"G", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: y"
    return rng.choice(starts), 1, False, "whose head never ends"


RAW = (_broken, _hidden, _unread, _slow)
