"""Text with one mention a line."""

from __future__ import annotations

from collections.abc import Iterator

from linker.errors import OnError, stop
from linker.files import Pathlike, read_lines
from linker.readers.records import check_mention, parse_each
from linker.types import Mention


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Mention]:
    """Yield the mention of each line, without gold ids.

    A blank line is an empty mention, so that the output has a row for each line.
    """

    def parse(_: int, line: str) -> Mention:
        return Mention(check_mention(line) if line.strip() else "")

    return parse_each(path, read_lines(path, on_error=on_error), parse, on_error)
