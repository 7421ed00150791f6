"""Checks of mentions that several readers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linker.errors import InputError, shorten
from linker.files import Pathlike
from linker.types import SELECTION, Selection, Span

MENTION_LIMIT = 1_000  # characters; a longer "name" is a paragraph or a damaged line


def check_mention(path: Pathlike, line: int | None, text: str) -> str:
    """Strip a loose mention and return it.

    Raises:
        InputError: it is empty, or longer than `MENTION_LIMIT`.
    """
    text = text.strip()
    if not text:
        raise InputError(
            path, "the mention is empty", line=line, expected="a name", remedy="delete the line"
        )
    if len(text) > MENTION_LIMIT:
        raise InputError(
            path,
            f"the mention has {len(text):,} characters",
            line=line,
            value=text,
            expected=f"a name of at most {MENTION_LIMIT:,}",
            remedy="give one mention a line",
        )
    return text


def check_spans(
    path: Pathlike, line: int | None, text: str, spans: Sequence[Span], whole: str, *, owner: str
) -> None:
    """Check that the text of a mention stands in the document at its offsets.

    White space may differ (NCBI Disease has mentions with blanks behind them). The pieces of a
    discontinuous mention are compared by letters and digits alone, since files join them in several
    ways.

    Args:
        path: the file, for the message.
        line: its line, for the message.
        text: the mention as the file writes it.
        spans: its offsets in characters.
        whole: the document's text.
        owner: the document's id, for the message.

    Raises:
        InputError: the texts differ, or a span is empty or lies outside the text.
    """
    inside = all(0 <= start < end <= len(whole) for start, end in spans)
    if inside and sum(end - start for start, end in spans) <= len(whole):
        pieces = [whole[start:end] for start, end in spans]
        if len(pieces) == 1 and pieces[0].split() == text.split():
            return
        if len(pieces) > 1 and _letters("".join(pieces)) == _letters(text):
            return
    where = shorten(", ".join(f"{start}-{end}" for start, end in spans))
    there = " … ".join(shorten(whole[start:end]) for start, end in spans)
    raise InputError(
        path,
        f"the text of document {owner} at {where} is {there!r}, not the mention",
        line=line,
        value=text,
        expected="offsets in characters from the start of the document, "
        "one for the break after the title",
        remedy="mend the offsets, or skip such mentions with --on-error skip",
    )


def parse_selection(lists: Mapping[str, Any]) -> Selection | None:
    """Read the selection of a document or a mention.

    Args:
        lists: a text or a list of texts for each of `under`, `not_under`, `types` and `namespaces`
            that is there; null is none, and other keys are ignored.

    Raises:
        ValueError: a value is something else, or a text is blank.
    """
    selection = {}
    for name in SELECTION:
        value = lists.get(name)
        texts = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(texts, list) or not all(
            isinstance(text, str) and text.strip() for text in texts
        ):
            raise ValueError(f"{name!r} is neither a text nor a list of texts")
        selection[name] = tuple(text.strip() for text in texts)
    return Selection(**selection) or None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
