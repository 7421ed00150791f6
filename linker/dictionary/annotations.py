"""Annotated mentions among the names of a dictionary: adding, counting and finding them."""

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


def annotations_of(names: NameColumns, form: Callable[[str], str]) -> Annotations:
    """Find the annotated mentions that `add_annotations` has counted with names.

    Mentions of one normal form and concept were counted together: those that no name of kind
    `training` shows count for a name that a source gives.

    Args:
        names: the names of a dictionary.
        form: the normal form of a name.
    """
    training = NAME_KINDS.index("training")
    annotated = np.empty(0, np.int32) if names.annotated is None else names.annotated
    rows: dict[tuple[str, int], list[int]] = {}  # of the names of each normal form and concept
    for row in np.flatnonzero(annotated).tolist():
        key = form(names.texts[row]), int(names.concept[row])
        rows.setdefault(key, []).append(row)
    result: Annotations = Counter()
    for (_, concept), alike in rows.items():
        texts = [names.texts[row] for row in alike if names.kind[row] == training]
        texts = texts or [names.texts[alike[0]]]
        result.update((text, concept) for text in texts)
        result[texts[0], concept] += max(0, int(annotated[alike].max()) - len(texts))
    return result
