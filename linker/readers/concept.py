"""The `.concept` files of BioSyn: `document||start|end||type||mention||ids`, one mention a line.

The processed files hold normalised mentions: a composite mention that was split has `|` in its
text, and `|` or `+` in its ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from linker.errors import InputError, OnError, RecordError, stop
from linker.files import Pathlike, is_folder, read_lines
from linker.ids import Identify, curie, not_known, parse_gold
from linker.readers.records import parse_each
from linker.types import Document, Mention

_OFFSETS = re.compile(r"(\d{1,9})\|(\d{1,9})")


def read(
    path: Pathlike, *, on_error: OnError = stop, identify: Identify = not_known
) -> Iterator[Document]:
    """Yield a document, without text, for each run of lines of one document id.

    Args:
        path: a `.concept` file, or a folder with such files, read by name.
        on_error: what to do with a bad line.
        identify: see `linker.ids.split_ids`.

    Raises:
        InputError: the folder holds no such file.
    """

    def parse(_: int, line: str) -> Mention:
        return _mention(line, identify)

    for file in concept_files(path) if is_folder(path) else [path]:
        mentions = parse_each(file, read_lines(file, on_error=on_error), parse, on_error)
        for identifier, of_document in groupby(mentions, key=lambda mention: mention.document_id):
            yield Document(str(identifier), mentions=tuple(of_document))


def concept_files(folder: Pathlike) -> list[Path]:
    """List the `*.concept` files of a folder by name.

    Raises:
        InputError: there is none.
    """
    files = sorted(Path(folder).glob("*.concept"))
    if not files:
        raise InputError(
            folder,
            "the folder holds no *.concept file",
            expected="a BioSyn folder",
            remedy="name a file to read another format",
        )
    return files


def _mention(line: str, identify: Identify) -> Mention:
    columns = line.split("||")
    offsets = _OFFSETS.fullmatch(columns[1]) if len(columns) == 5 else None
    if offsets is None or not columns[3].strip():
        raise RecordError(
            "the mention is empty" if offsets else "the line is not a mention",
            line,
            expected="document||start|end||type||mention||ids",
            remedy="mend or delete the line",
        )
    document, _, kind, text, ids = columns
    return Mention(
        text,
        ((int(offsets[1]), int(offsets[2])),),
        parse_gold(ids, identify, curie),
        kind,
        document,
        metadata={"concept:ids": ids},
    )
