"""The `.concept` files of BioSyn: `document||start|end||type||mention||ids`, one mention a line.

The processed files hold normalised mentions: a composite mention that was split has `|` in its
text, and `|` or `+` in its ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from linker.errors import InputError, OnError, stop
from linker.files import Pathlike, is_folder, read_lines
from linker.ids import Identify, curie, not_known, parse_gold
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
    for file in concept_files(path) if is_folder(path) else [path]:
        for identifier, mentions in groupby(
            _mentions(file, on_error, identify), key=lambda mention: mention.document_id
        ):
            yield Document(str(identifier), mentions=tuple(mentions))


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


def _mentions(path: Pathlike, on_error: OnError, identify: Identify) -> Iterator[Mention]:
    for number, line in read_lines(path, on_error=on_error):
        columns = line.split("||")
        offsets = _OFFSETS.fullmatch(columns[1]) if len(columns) == 5 else None
        if offsets is None or not columns[3].strip():
            expected = "document||start|end||type||mention||ids"
            problem = "the mention is empty" if offsets else "the line is not a mention"
            on_error(
                InputError(
                    path,
                    problem,
                    line=number,
                    value=line,
                    expected=expected,
                    remedy="mend or delete the line",
                )
            )
            continue
        document, _, kind, text, ids = columns
        yield Mention(
            text,
            ((int(offsets[1]), int(offsets[2])),),
            parse_gold(ids, identify, curie),
            kind,
            document,
            metadata={"concept:ids": ids},
        )
