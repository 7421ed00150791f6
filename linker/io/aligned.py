"""Predictions as people read them on a terminal: columns that are aligned within its width.

The widths depend on the terminal alone, so that a line can be written as soon as it is known. What
is too long is cut; ids are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import wcwidth

from linker.errors import shown
from linker.io.outputs import Cell, Layout, cells_of
from linker.records import IN_BULK, Document, Part, Prediction

FOOTER = ""
_GAP = "  "  # between columns
_CONCEPT = 15  # columns of the terminal; as long as the longest id of MeSH
_CONFIDENCE = len("0.99 historical")
_DECIDED = len("accepted in bulk historical")
_LEAST = 16  # for mention and name together, however narrow the terminal is
_MOST = 100  # and however wide


def header(first: Document | None, layout: Layout) -> str:
    """The titles of the columns; see `linker.io.outputs.Writer`."""
    return _line("mention", "concept", "name", "confidence", layout)


def item(document: Document | None, predictions: Iterable[Prediction], layout: Layout) -> str:
    """A line for each candidate of each part of each mention; see `linker.io.outputs.Writer`.

    The mention stands in its first line. A further part of it stands in the first line of its own.
    """
    lines: list[str] = []
    for prediction in predictions:
        lines += _lines(document, prediction, layout)
    return "".join(lines)


def _lines(document: Document | None, prediction: Prediction, layout: Layout) -> Iterator[str]:
    part: Part | None = None  # of the line before
    for has_decisions, cell in cells_of(document, prediction):
        if part is None:
            text = prediction.mention.text
        elif cell.part is not part:
            text = f"{_GAP}{cell.part.text}"
        else:
            text = ""
        part = cell.part
        concept = cell.candidate.concept_id if cell.candidate else "-"
        name = cell.candidate.name if cell.candidate else "no concept"
        yield _line(text, concept, name, _confidence(cell, has_decisions), layout)


def _confidence(cell: Cell, has_decisions: bool) -> str:
    """How sure the model is, or what people decided; then what the text says of the mention."""
    words: list[str] = []
    state = _state(cell) if has_decisions else "model"
    if state != "model":
        words.append(state)
    confidence = cell.candidate.confidence if cell.candidate else None
    if confidence is not None and (state == "model" or cell.part.is_open):
        words.append(f"{confidence:.2f}")
    if cell.part.assertion != "present":
        words.append(cell.part.assertion)
    return " ".join(words)


def _state(cell: Cell) -> str:
    """What people said of the part."""
    prediction = cell.prediction
    if prediction.has_open_part and not cell.part.is_open:
        return "accepted" if cell.part.best else "no concept"
    if prediction.written_state == IN_BULK and cell.candidate is not cell.part.best:
        return "model"
    return prediction.written_state


def _line(mention: str, concept: str, name: str, confidence: str, layout: Layout) -> str:
    """A line of the table, with its end."""
    last = _DECIDED if layout.decisions else _CONFIDENCE
    left = layout.width - _CONCEPT - last - 3 * len(_GAP)
    left = min(max(left, _LEAST), _MOST)
    for_mention = left * 2 // 5
    concept = shown(concept)
    too_long = max(wcwidth.width(concept) - _CONCEPT, 0)
    cells = [
        _fitted(mention, for_mention),
        wcwidth.ljust(concept, _CONCEPT),
        _fitted(name, max(left - for_mention - too_long, 1)),
        confidence,
    ]
    return _GAP.join(cells).rstrip() + "\n"


def _fitted(text: str, width: int) -> str:
    """A text that takes as many columns of a terminal, cut or filled up with blanks."""
    text = shown(text)
    if wcwidth.width(text) > width:
        text = wcwidth.clip(text, 0, width - 1) + "…"
    return wcwidth.ljust(text, width)
