"""Adding annotated mentions to the names of a dictionary, and counting them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable

import numpy as np

from linker.dictionary.columns import NameColumns
from linker.types import NAME_KINDS

Annotations = Counter[tuple[str, int]]  # (text of a mention, row of its concept) -> how often


def add_annotations(
    names: NameColumns, annotations: Annotations, form: Callable[[str], str]
) -> NameColumns:
    """Add annotated mentions as names of kind `training`, and count them with the names there are.

    Args:
        names: the names of a dictionary.
        annotations: how often each mention was annotated with each concept.
        form: the normal form of a name; mentions of the same form are counted together.
    """
    pairs = zip(names.texts, names.concept.tolist(), strict=True)
    known = {pair for pair in pairs if pair in annotations}
    new = [mention for mention in annotations if mention not in known]
    texts, rows = [text for text, _ in new], [concept for _, concept in new]
    added = names.append(texts, rows, NAME_KINDS.index("training"))
    times: Annotations = Counter()
    for (text, concept), count in annotations.items():
        times[form(text), concept] += count
    annotated = added.annotated
    if annotated is None:
        annotated = np.zeros(len(added.texts), np.int32)
    concepts = [concept for _, concept in annotations]
    for row in np.flatnonzero(np.isin(added.concept, concepts)).tolist():
        annotated[row] += times[form(added.texts[row]), int(added.concept[row])]
    return dataclasses.replace(added, annotated=annotated)
