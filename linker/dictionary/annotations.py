"""Adding annotated mentions to the names of a dictionary, and counting them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from linker.dictionary.columns import NameColumns
from linker.persistence import Strings
from linker.types import NAME_KINDS

Annotations = Counter[tuple[str, int]]  # (text of a mention, row of its concept) -> how often

_Number = TypeVar("_Number", bound=np.generic)


def add_annotations(
    names: NameColumns, annotations: Annotations, form: Callable[[str], str]
) -> NameColumns:
    """Add annotated mentions as names of kind `training`, and count them with the names there are.

    Args:
        names: the names of a dictionary.
        annotations: how often each mention was annotated with each concept.
        form: the normal form of a name; mentions of the same form are counted together.
    """
    known = set(zip(names.texts, names.concept.tolist(), strict=True))
    added = _append(names, [mention for mention in annotations if mention not in known])
    times: Annotations = Counter()
    for (text, concept), count in annotations.items():
        times[form(text), concept] += count
    before = np.empty(0, np.int32) if names.annotated is None else names.annotated
    annotated = np.pad(before, (0, len(added.texts) - len(before)))
    concepts = [concept for _, concept in annotations]
    for row in np.flatnonzero(np.isin(added.concept, concepts)).tolist():
        annotated[row] += times[form(added.texts[row]), int(added.concept[row])]
    return dataclasses.replace(added, annotated=annotated)


def _append(names: NameColumns, mentions: Sequence[tuple[str, int]]) -> NameColumns:
    """The names, and behind them mentions, of which source and language are not known."""
    texts, concepts = [text for text, _ in mentions], [concept for _, concept in mentions]
    return NameColumns(
        Strings.of([*names.texts, *texts]),
        np.concatenate([names.concept, np.array(concepts, names.concept.dtype)]),
        _padded(names.kind, len(texts), NAME_KINDS.index("training")),
        _padded(names.source, len(texts), 0),
        _padded(names.language, len(texts), 0),
        _padded(names.case, len(texts), False),
    )


def _padded(column: NDArray[_Number], count: int, value: int) -> NDArray[_Number]:
    """A column with one value so many times behind it."""
    return np.pad(column, (0, count), constant_values=value)
