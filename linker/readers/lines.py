"""Text with one mention a line."""

from __future__ import annotations

from collections.abc import Iterator

from linker.errors import InputError, OnError, stop
from linker.files import Pathlike, read_lines
from linker.readers.checks import check_mention
from linker.types import Mention


def read(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Mention]:
    """Yield the mention of each line, without gold ids.

    A blank line is an empty mention, so that the output has a row for each line.
    """
    for number, line in read_lines(path, on_error=on_error):
        try:
            mention = Mention(check_mention(path, number, line) if line.strip() else "")
        except InputError as error:
            on_error(error)
        else:
            yield mention
