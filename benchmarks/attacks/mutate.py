"""Mutations of bytes, drawn from a seeded generator: small faults, hostile values, and what is far too much."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable
from typing import Any

LARGE = 300_000  # bytes that a mutation adds at most
NUMBERS = (
    "0", "-1", "1", "-0", "0.5", "1e400", "-1e400", "1e-400", "Infinity", "-Infinity", "NaN",
    "inf", "nan", "1e999999999", "127", "255", "256", "32768", "65536", "2147483647",
    "2147483648", "4294967296", "2500000000", "999999999", "9223372036854775807",
    "9223372036854775808", "1" + "0" * 20, "-1" + "0" * 20, "9" * 400, "-" + "9" * 400,
    "9" * 5000, "007", "1_0", "0x10", "٣", "²", "½", " 5", "", "true", "text",
)  # fmt: skip
TOKENS = (
    b"\t", b"|", b"||", b"+", b'"', b"'", b"\\", b"/", b",", b";", b":", b" ", b"<", b">", b"&",
    b"{", b"}", b"[", b"]", b"#", b"!", b"\n", b"\r", b"\r\n", b"\n\n", b"\x00", b"\x0b",
    b"\x0c", b"\x1a", b"\x7f", b"\x80", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\xc2\x85", b"\xe2\x80\xa8", b"\xf0\x9f\xa6\xa0", b"\xcc\x81",
    b"\xe2\x80\xae", b"\xf4\x90\x80\x80", b"\\ud800", b"\\udfff", b"\\u0000", b"&#0;",
    b"&#xd800;", b"&a;", b"]]>", b"<![CDATA[", b"<!--", b"<?x?>", b"\x1f\x8b", b"PK\x03\x04",
    b"|t|", b"|a|", b"[Term]\n", b"id:", b"is_a: X:1\n", b"MESH:", b"-1", b"null", b"[]", b"{}",
    b'""', b'{"schema": 2}', b"mention\tid\n",
)  # fmt: skip
ENTITIES = (
    b'<!DOCTYPE collection [<!ENTITY a "aaaaaaaaaa">%s<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    % b"".join(
        b'<!ENTITY %c "%s">' % (name, b"&%c;" % (name - 1) * 10)
        for name in range(ord("b"), ord("k"))
    )
)
NESTED = (b"[", b'{"a":', b"<a>", b"(", b'[{"a":', b"<passage>", b"a.")
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")


def mutated(rng: random.Random, data: bytes) -> bytes:
    """One to four mutations of some bytes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(_WEIGHTED)(rng, data)
    return data


def packed(rng: random.Random, data: bytes) -> tuple[bytes, bool]:
    """The bytes as they are or in gzip, and whether they can be taken out again."""
    choice = rng.random()
    if choice < 0.85:
        return data, True
    packed = gzip.compress(data, mtime=0)
    if choice < 0.92:
        return packed, True
    if choice < 0.95:
        return packed[: rng.randrange(2, len(packed))], False
    return b"\x1f\x8b" + _flip(rng, packed)[2:], False


def _place(rng: random.Random, data: bytes) -> int:
    return rng.randint(0, len(data))


def _chunk(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = _place(rng, data)
    return start, min(len(data), start + rng.choice((1, 2, 4, 10, 40, 200)))


def _flip(rng: random.Random, data: bytes) -> bytes:
    flipped = bytearray(data)
    for _ in range(min(len(data), rng.choice((1, 1, 2, 8)))):
        flipped[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def _set(rng: random.Random, data: bytes) -> bytes:
    start, end = _chunk(rng, data)
    return data[:start] + rng.randbytes(end - start) + data[end:]


def _delete(rng: random.Random, data: bytes) -> bytes:
    start, end = _chunk(rng, data)
    return data[:start] + data[end:]


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 2, 10)) + data[at:]


def _duplicate(rng: random.Random, data: bytes) -> bytes:
    start, end = _chunk(rng, data)
    at = _place(rng, data)
    return data[:at] + data[start:end] + data[at:]


def _truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: _place(rng, data)]


def _number(rng: random.Random, data: bytes) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    at = rng.choice(found)
    return data[: at.start()] + rng.choice(NUMBERS).encode() + data[at.end() :]


def _repeat(rng: random.Random, data: bytes) -> bytes:
    """A chunk many times: long lines, many cells, many records."""
    start, end = _chunk(rng, data)
    times = min(rng.choice((50, 2_000, 20_000, 200_000)), LARGE // max(1, end - start))
    return data[:start] + data[start:end] * times + data[end:]


def _count(rng: random.Random, data: bytes) -> bytes:
    """A number with what stands around it, many times, counted up: many distinct ids or words in a line."""
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    at = rng.choice(found)
    start = data.rfind(rng.choice((b"|", b" ", b"\t", b"\n", b",", b";")), 0, at.start()) + 1
    sign = rng.choice((b"|", b"||", b" ", b"\t", b",", b";", b"\n"))
    before = rng.choice((data[start : at.start()][:20], b""))
    times = rng.choice((50, 2_000, 9_000, 16_000))
    return (
        data[:start] + b"".join(b"%s%d%s" % (before, n, sign) for n in range(times)) + data[start:]
    )


def _lines(rng: random.Random, data: bytes) -> bytes:
    """Lines in another order, lost or doubled."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return data
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    change = rng.randrange(3)
    if change == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif change == 1:
        del lines[one]
    else:
        lines.insert(other, lines[one])
    return b"".join(lines)


def _line_ends(rng: random.Random, data: bytes) -> bytes:
    end = rng.choice((b"\r", b"\r\n", b"\n\n", b"\n\r", b"\x85", b"\x00\n", b" \n"))
    return (
        data.replace(b"\n", end)
        if rng.random() < 0.5
        else data.replace(b"\n", end, rng.randint(1, 3))
    )


def _encoding(rng: random.Random, data: bytes) -> bytes:
    how = rng.randrange(4)
    if how == 0:
        return b"\xef\xbb\xbf" + data
    return data.decode("utf-8", "replace").encode(("utf-16", "utf-16-le", "utf-32")[how - 1])


def _nest(rng: random.Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + rng.choice(NESTED) * rng.choice((100, 2_000, 100_000)) + data[at:]


def _entities(rng: random.Random, data: bytes) -> bytes:
    """XML entities: one within the other, and a file."""
    at = data.find(b"<", rng.choice((0, 1))) if b"<" in data else 0
    text = data.find(b"</", _place(rng, data))
    entity = rng.choice((b"&a;", b"&c;", b"&j;", b"&f;"))
    return (
        data[:at] + ENTITIES + data[at:text] + entity + data[text:]
        if text > at
        else data[:at] + ENTITIES + data[at:]
    )


def _json(rng: random.Random, data: bytes) -> bytes:
    """A value of a JSON text, or of a line of one, changed."""
    try:
        return _changed_json(rng, data)
    except (ValueError, RecursionError):
        pass
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    try:
        lines[at] = _changed_json(rng, lines[at])
    except (ValueError, RecursionError):
        return _insert(rng, data)
    return b"\n".join(lines)


def _changed_json(rng: random.Random, data: bytes) -> bytes:
    return json.dumps(changed(rng, json.loads(data))).encode()


def changed(rng: random.Random, value: Any) -> Any:
    """A JSON value of which one value, somewhere in it, is another."""
    holders = [holder for holder in _holders(value) if holder]
    if not holders:
        return other(rng)
    holder = rng.choice(holders)
    key = rng.choice(sorted(holder) if isinstance(holder, dict) else range(len(holder)))
    how = rng.randrange(6)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[key + rng.choice(("", "x", "\ud800", "\0"))] = holder.pop(key)
    elif how == 2:
        holder[key] = rng.choice(
            ([holder[key]], {"a": holder[key]}, str(holder[key]), [holder[key]] * 1000)
        )
    else:
        holder[key] = other(rng)
    return value


def _holders(value: Any) -> list[Any]:
    if not isinstance(value, dict | list):
        return []
    inner = value.values() if isinstance(value, dict) else value
    return [value, *(holder for one in inner for holder in _holders(one))]


def other(rng: random.Random) -> Any:
    """A value that is not expected."""
    if rng.random() < 0.1:
        nested: Any = []
        for _ in range(rng.choice((10, 200))):
            nested = rng.choice(([nested], {"a": nested}))
        return nested
    return rng.choice(
        (
            None, True, False, 0, -1, 1, 0.5, 1e308, float("inf"), float("-inf"), float("nan"),
            2**31, 2**63, 10**20, int("9" * 400), "", " ", "a", "-1", "null", "\ud800",
            "a\udfffb", "\0", "\n", "a\tb", '"', "x" * 2_000, "x" * 200_000, "😀", "../../x",
            "/", [], {}, [[]], [None], ["a"], [1, 2], [[1, 2]], [[0, float("inf")]], [[-1, 0]],
            {"a": 1}, {"": {}}, [1.5] * 3, [[0, 10**20]],
        )
    )  # fmt: skip


_MUTATIONS: dict[Callable[[random.Random, bytes], bytes], int] = {
    **dict.fromkeys(
        (_flip, _set, _delete, _duplicate, _truncate, _lines, _line_ends, _encoding), 2
    ),
    **dict.fromkeys((_repeat, _count, _nest, _entities), 1),
    **dict.fromkeys((_insert, _number, _json), 6),
}
_WEIGHTED = [mutation for mutation, weight in _MUTATIONS.items() for _ in range(weight)]
