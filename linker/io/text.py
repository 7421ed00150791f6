"""Plain text: a mention a line, or running text, which is a file or a folder of files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from linker.errors import InputError, LinkerError, OnError, stop
from linker.io.files import Pathlike, as_utf8, is_folder, read_lines, read_text
from linker.io.parsing import check_mention, parse_each
from linker.records import Document, Mention, Passage

_ENDINGS = (".txt", ".txt.gz")


def read(
    path: Pathlike, *, on_error: OnError = stop, encoding: str | None = None
) -> Iterator[Document]:
    """Yield each text as one document, whose id is the name of its file without the ending.

    The text is as in the file, with its line ends, but without a byte order mark.

    Args:
        path: a file, plain or gzip; a folder, of whose files those that end in .txt or .txt.gz are
            read in the order of their names; or "-" for standard input, whose document is "stdin".
        on_error: what to do with a text that cannot be read; returns to skip it.
        encoding: of the texts; None: see `linker.io.files.as_utf8`.

    Raises:
        LinkerError: a folder has no such file.
    """
    for file in paths_of(path):
        try:
            text = read_text(as_utf8(file, encoding)[0], keep_ends=True)
            name = "stdin" if str(file) == "-" else Path(file).name
            identifier = name.removesuffix(".gz").removesuffix(".txt")
            yield Document(identifier, (Passage(text),))
        except InputError as error:
            on_error(error)


def paths_of(path: Pathlike) -> Sequence[Pathlike]:
    """The texts of a folder, in the order of their names; of anything else itself.

    Raises:
        LinkerError: a folder has no such file.
    """
    if not is_folder(path):
        return [path]
    paths = sorted(file for file in Path(path).iterdir() if file.name.endswith(_ENDINGS))
    if not paths:
        raise LinkerError(f"{path}: has no texts; expected: files that end in .txt")
    return paths


def read_mentions(path: Pathlike, *, on_error: OnError = stop) -> Iterator[Mention]:
    """Yield the mention of each line, without gold ids.

    A blank line is an empty mention, so that the output has a row for each line.
    """

    def parse(_: int, line: str) -> Mention:
        return Mention(check_mention(line) if line.strip() else "")

    return parse_each(path, read_lines(path, on_error=on_error), parse, on_error)
