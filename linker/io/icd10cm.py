"""ICD-10-CM in the order file of CDC and CMS: lines of a code and its descriptions, of fixed width.

A line holds a number, a code without its dot, 1 for a code that can be billed and 0 for others, a
short description of 60 characters, and the long one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from linker.errors import OnError, RecordError, stop
from linker.io.files import Pathlike, read_lines
from linker.io.parsing import make_concept, parse_each
from linker.records import Concept

_LINE = re.compile(r"\d{5} (?=.{7} )([A-Z]\d[0-9A-Z]{1,5}) +[01] (.{60}) (.*)")


def recognises(path: Pathlike, head: list[str]) -> bool:
    """Tell whether the first line is one of an order file."""
    return bool(head) and bool(_LINE.fullmatch(head[0]))


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Concept]:
    """Read the codes of an order file; the parent is the longest code above that it begins with."""
    codes: set[str] = set()

    def parse(number: int, line: str) -> Concept | None:
        if not line.strip():
            return None
        if not (match := _LINE.fullmatch(line)):
            expected = "a number, a code, 0 or 1, a short and a long description, of fixed width"
            raise RecordError("the line is none of an order file", line, expected=expected)
        code, short, name = match[1], match[2].strip(), match[3].strip()
        codes.add(code)
        above = (code[:end] for end in range(len(code) - 1, 2, -1))
        parents = tuple(map(_identifier, [c for c in above if c in codes][:1]))
        return make_concept(_identifier(code), name, {short: "exact"}, parents=parents, line=number)

    yield from parse_each(path, read_lines(path, on_error=on_error), parse, on_error)


def _identifier(code: str) -> str:
    return f"ICD10CM:{code[:3]}{'.' * (len(code) > 3)}{code[3:]}"
